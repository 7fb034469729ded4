//! The Host of presentation requests as a deterministic value (spec: presentation, Common invocation model; P2-P7).
//!
//! It owns no socket, no clock, no thread and no JavaScript object. Events go in through `handle_*`, each with the
//! current time of a monotonic clock; afterwards [`Host::poll_effect`] is drained, and [`Host::poll_timeout`] says when
//! [`Host::handle_timeout`] is due. A handler that returns an error has changed nothing, except that deadlines which had
//! passed by `now` have been applied first: a submit that arrives at or after its deadline has lost.
//!
//! ```text
//! attach provider, admit consumer -> open invocation (binds one provider) -> request -> Offer
//!                                                          present, progress, submit -> Settle
//! ```

mod admission;
mod authority;
mod config;
mod invocation;
mod lane;
mod participants;
mod settle;

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;

pub use admission::{Admitted, Novelty};
pub use config::HostConfig;
pub use invocation::{Opened, Opening};
pub use participants::{Detach, Presenting, parse_requirements, parse_supports};
pub use settle::{check_announcement, not_ready};

use super::authority::{Requirements, Supports};
use super::error::{Code, Error};
use super::limits::InteractionLimits;
use super::notification::MergeKey;
use super::protocol::{Kind, Operation, Operations};
use super::request::{Epoch, Lifecycle, ProviderKey, RequestKey, Terminal};
use super::secret::Secret;
use super::validate::schema::AnswerSchema;
use crate::presentation::limits::Measure;
use lane::Lane;
use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

/// A reading of a monotonic clock, in milliseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Millis(pub u64);

impl Millis {
    /// This many milliseconds later.
    #[must_use]
    pub const fn after(self, ms: u64) -> Millis {
        Millis(self.0.saturating_add(ms))
    }
}

/// Names an admitted consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ConsumerKey(pub u64);

/// Names an open invocation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct InvocationKey(pub u64);

/// What the driver must do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Effect {
    /// Hand the request to the provider, with the epoch by which it answers.
    Offer {
        /// The request.
        request: RequestKey,
        /// The provider.
        provider: ProviderKey,
        /// Its authority.
        epoch: Epoch,
    },
    /// Tell the provider that the request is no longer its own.
    Withdraw {
        /// The request.
        request: RequestKey,
        /// The authority that has ended.
        epoch: Epoch,
        /// Why.
        reason: Withdrawal,
    },
    /// Answer the consumer. For a submitted secret the value is fetched with [`Host::take_secret`].
    Settle {
        /// The request.
        request: RequestKey,
        /// How it ended.
        terminal: Terminal,
    },
    /// Forward the `ready` event that was just validated.
    Progress {
        /// The request.
        request: RequestKey,
    },
    /// The holder gave the request back: transfer it, or call [`Host::handle_unassigned`].
    Released {
        /// The request.
        request: RequestKey,
        /// Who gave it back.
        provider: ProviderKey,
    },
    /// The invocation has ended or lost its binding; its clients are dead.
    Unbound {
        /// The invocation.
        invocation: InvocationKey,
        /// What its later requests are told.
        code: Code,
    },
}

/// Why a provider loses a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Withdrawal {
    /// It was cancelled.
    Cancelled,
    /// It expired.
    Expired,
    /// It moves to another provider.
    Transferred,
}

impl Withdrawal {
    /// The text that crosses to JavaScript.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Withdrawal::Cancelled => "cancelled",
            Withdrawal::Expired => "expired",
            Withdrawal::Transferred => "transferred",
        }
    }
}

struct Provider {
    id: Box<str>,
    supports: Supports,
    connection: InteractionLimits,
    presenting: Presenting,
    lanes: [Lane; 5],
}

struct Consumer {
    id: Box<str>,
    requirements: Requirements,
}

struct Invocation {
    consumer: ConsumerKey,
    id: Box<str>,
    origin: Box<str>,
    deadline: Option<Deadline>,
    /// The provider and the agreed operations, or what the binding ended with.
    binding: Result<Binding, Code>,
    permitted: Operations,
    /// Every request id of the invocation; payloads are not kept.
    used: HashMap<Box<str>, Used>,
    live: BTreeSet<RequestKey>,
}

/// The deadline of an invocation: on the Host's clock, and as it is written into requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deadline {
    /// When it passes.
    pub at: Millis,
    /// RFC 3339 date-time.
    pub text: Box<str>,
}

#[derive(Clone, Copy)]
struct Binding {
    provider: ProviderKey,
    agreed: Operations,
}

struct Used {
    digest: u128,
    key: RequestKey,
    /// What a reuse of the id is told once the request is over.
    over: Option<Code>,
}

struct Request {
    invocation: InvocationKey,
    id: Box<str>,
    operation: Operation,
    answer: AnswerSchema,
    measure: Measure,
    max_text: Option<u64>,
    expires: Millis,
    lifecycle: Lifecycle,
    /// Whose lane it waits or runs in; none while it is released or merged.
    lane: Option<ProviderKey>,
    merge: Option<MergeKey>,
    /// Notifications that this one replaced, oldest first.
    replaced: Vec<RequestKey>,
    announcement: Announcement,
}

/// Whether a redirect receiver has been announced.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Announcement {
    Pending,
    Made,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Timer {
    Request(RequestKey),
    Invocation(InvocationKey),
}

/// The machine. See the module's documentation for the order of calls.
pub struct Host {
    config: HostConfig,
    next: u64,
    providers: BTreeMap<ProviderKey, Provider>,
    consumers: BTreeMap<ConsumerKey, Consumer>,
    invocations: BTreeMap<InvocationKey, Invocation>,
    requests: HashMap<RequestKey, Request>,
    secrets: HashMap<RequestKey, Secret>,
    timers: BTreeSet<(Millis, Timer)>,
    effects: VecDeque<Effect>,
}

impl Host {
    /// A Host without participants.
    #[must_use]
    pub fn new(config: HostConfig) -> Host {
        Host {
            config,
            next: 0,
            providers: BTreeMap::new(),
            consumers: BTreeMap::new(),
            invocations: BTreeMap::new(),
            requests: HashMap::new(),
            secrets: HashMap::new(),
            timers: BTreeSet::new(),
            effects: VecDeque::new(),
        }
    }

    /// The next thing to do.
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// When [`Host::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Millis> {
        self.timers.first().map(|(at, _)| *at)
    }

    /// Applies every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Millis) {
        while let Some((at, timer)) = self.timers.first().copied() {
            if at > now {
                return;
            }
            self.timers.pop_first();
            match timer {
                Timer::Request(key) => {
                    // Whoever settles a request removes its timer, so that this one is live.
                    let _ = self.settle(key, Terminal::Expired, settle::Tell::Holder);
                }
                Timer::Invocation(key) => self.end_invocation(key, &Terminal::Expired),
            }
        }
    }

    /// Takes the secret of a settled request, once.
    pub fn take_secret(&mut self, request: RequestKey) -> Option<Secret> {
        self.secrets.remove(&request)
    }

    /// How many requests are not settled.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.requests.len()
    }

    fn next_key(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// The limits of `provider` for `kind`: the strictest of agreement, connection and product.
    fn limits_of(&self, provider: &Provider, kind: Kind) -> InteractionLimits {
        let agreement = provider
            .supports
            .get(kind)
            .map_or_else(InteractionLimits::default, |support| support.limits);
        agreement
            .strictest(provider.connection)
            .strictest(self.config.limits.interaction())
    }
}

fn ended() -> Error {
    Error::new(Code::InvalidScope, "the presentation invocation has ended")
}
