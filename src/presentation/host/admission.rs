//! Admission of requests: everything is checked, then the request is taken in (P2, P9, P10).

use super::{Announcement, Host, InvocationKey, Millis, Request, Timer, Used, ended};
use crate::presentation::error::{Code, Error};
use crate::presentation::json::Json;
use crate::presentation::notification::{MergeKey, replace, superseded};
use crate::presentation::protocol::{Kind, Operation};
use crate::presentation::request::{Lifecycle, ProviderKey, RequestKey};
use crate::presentation::shown::{self, Applied};
use crate::presentation::validate::{self, interaction_label, schema};
use siphasher::sip128::{Hasher128, SipHasher13};

/// UTF-8 bytes of a request id; ids are remembered as long as the invocation lives.
const MAX_ID_BYTES: usize = 256;

/// An admitted request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Admitted {
    /// Its key.
    pub key: RequestKey,
    /// Whether it is new.
    pub novelty: Novelty,
    /// What is asked.
    pub operation: Operation,
    /// The request as the provider sees it, if the text policy changed it.
    pub rewritten: Option<String>,
}

/// Whether a request was seen before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Novelty {
    /// First use of its id.
    New,
    /// The same request is pending; this call shares its result.
    Joined,
}

impl Host {
    /// A consumer asks. `text` is the JSON of the whole request, its context included.
    ///
    /// # Errors
    /// `invalid-scope`, `not-negotiated`, `permission-denied`, `provider-unavailable`, `provider-disconnected`,
    /// `invalid-request`, `request-conflict`, `already-settled`, `request-cancelled`, `request-expired`, `size-limit`,
    /// `request-limit`, `queue-limit`, `concurrency-limit`. Nothing is changed.
    pub fn handle_request(
        &mut self,
        now: Millis,
        invocation: InvocationKey,
        kind: Kind,
        text: &str,
    ) -> Result<Admitted, Error> {
        self.handle_timeout(now);
        let found = self.invocations.get(&invocation).ok_or_else(ended)?;
        let binding = found.binding.map_err(|code| {
            Error::new(code, "the presentation binding of the invocation is gone")
        })?;
        if binding.agreed.intersection(kind.operations()).is_empty() {
            return Err(Error::new(
                Code::NotNegotiated,
                format!("{} is not negotiated", kind.as_str()),
            ));
        }
        if text.len() as u64 > self.config.limits.max_request_bytes {
            let limit = self.config.limits.max_request_bytes;
            return Err(Error::new(
                Code::SizeLimit,
                format!(
                    "{} request must not have more than {limit} bytes",
                    kind.as_str()
                ),
            ));
        }
        let mut value = validate::parse_request(kind, text)?;
        let request = validate::request(kind, &value)?;
        let operation = request.operation;
        if !binding.agreed.contains(operation) {
            return Err(Error::new(
                Code::NotNegotiated,
                format!("{} is not negotiated", operation.as_str()),
            ));
        }
        if !found.permitted.contains(operation) {
            return Err(Error::new(
                Code::PermissionDenied,
                format!("{} is not permitted", operation.as_str()),
            ));
        }
        let context = validate::context(kind, &value)?;
        let deadline = found.deadline.as_ref().map(|deadline| &*deadline.text);
        if context.invocation_id != &*found.id
            || context.origin != &*found.origin
            || context.deadline != deadline
        {
            return Err(Error::new(
                Code::InvalidScope,
                "the request does not carry the context that the Host bound",
            ));
        }
        if context.request_id.len() > MAX_ID_BYTES {
            return Err(Error::new(
                Code::SizeLimit,
                format!(
                    "{}.requestId must not have more than {MAX_ID_BYTES} bytes",
                    label(operation)
                ),
            ));
        }
        let id: Box<str> = context.request_id.into();
        let digest = self.digest(&value);
        if let Some(used) = found.used.get(&id) {
            return reuse(used, digest, operation);
        }
        if found.used.len() as u64 >= self.config.limits.max_requests_per_invocation {
            return Err(Error::new(
                Code::RequestLimit,
                "the invocation has used up its requests",
            ));
        }
        let provider = self.providers.get(&binding.provider).ok_or_else(|| {
            Error::new(
                Code::ProviderUnavailable,
                "the presentation provider is not attached",
            )
        })?;
        let limits = self.limits_of(provider, kind);
        limits.admit(request.measure, label(operation))?;
        let applied = shown::apply(self.config.text, operation, &mut value)?;
        let merge = request.deduplication_key.as_ref().map(|key| MergeKey {
            invocation: invocation.0,
            key: key.clone(),
        });
        let old = merge
            .as_ref()
            .and_then(|merge| self.superseded_by(binding.provider, merge));
        if old.is_none() {
            self.check_room(binding.provider, kind)?;
        }
        let rewritten = (applied == Applied::Rewritten).then(|| value.to_text());
        let arrival = Arrival {
            now,
            invocation,
            provider: binding.provider,
            id,
            digest,
            merge,
            max_text: limits.max_text_length,
        };
        let key = self.take_in(arrival, request, old);
        Ok(Admitted {
            key,
            novelty: Novelty::New,
            operation,
            rewritten,
        })
    }

    fn digest(&self, value: &Json<'_>) -> u128 {
        let (first, second) = self.config.digest_keys;
        let mut hasher = SipHasher13::new_with_keys(first, second);
        value.digest(&mut hasher);
        hasher.finish128().as_u128()
    }

    fn superseded_by(&self, provider: ProviderKey, merge: &MergeKey) -> Option<RequestKey> {
        let lane = &self.providers.get(&provider)?.lanes[Kind::Notification.index()];
        superseded(&lane.queue, merge, |key| {
            self.requests
                .get(&key)
                .and_then(|request| request.merge.as_ref())
        })
    }

    /// Whether one more request fits the lane.
    pub(super) fn check_room(&self, provider: ProviderKey, kind: Kind) -> Result<(), Error> {
        let Some(found) = self.providers.get(&provider) else {
            return Ok(());
        };
        let lane = &found.lanes[kind.index()];
        let busy = self
            .limits_of(found, kind)
            .max_concurrent_requests
            .is_some_and(|room| lane.active >= room);
        let waiting = self.config.limits.max_queued_requests;
        if !busy || (lane.queue.len() as u64) < waiting {
            return Ok(());
        }
        Err(match waiting {
            0 => Error::new(
                Code::ConcurrencyLimit,
                format!("{} has as many requests as it takes at once", kind.as_str()),
            ),
            _ => Error::new(
                Code::QueueLimit,
                format!("{} has {waiting} requests waiting", kind.as_str()),
            ),
        })
    }

    /// Takes in a request that has been checked. Nothing here can fail.
    fn take_in(
        &mut self,
        arrival: Arrival,
        request: schema::Request,
        old: Option<RequestKey>,
    ) -> RequestKey {
        let key = RequestKey(self.next_key());
        let kind = request.operation.kind();
        let expires = arrival.now.after(self.config.limits.max_request_ms);
        let mut replaced = Vec::new();
        if let Some(old) = old
            && let Some(earlier) = self.requests.get_mut(&old)
            && earlier.lifecycle.merge(key).is_ok()
        {
            earlier.lane = None;
            replaced = std::mem::take(&mut earlier.replaced);
            replaced.push(old);
            for partner in &replaced[..replaced.len() - 1] {
                if let Some(partner) = self.requests.get_mut(partner) {
                    // From one leader to the next.
                    let _ = partner
                        .lifecycle
                        .unmerge()
                        .and_then(|()| partner.lifecycle.merge(key));
                }
            }
        }
        if let Some(lane) = self.lane_mut(arrival.provider, kind) {
            match old {
                Some(old) => replace(&mut lane.queue, old, key),
                None => lane.queue.push_back(key),
            }
        }
        if let Some(invocation) = self.invocations.get_mut(&arrival.invocation) {
            invocation.used.insert(
                arrival.id.clone(),
                Used {
                    digest: arrival.digest,
                    key,
                    over: None,
                },
            );
            invocation.live.insert(key);
        }
        self.timers.insert((expires, Timer::Request(key)));
        self.requests.insert(
            key,
            Request {
                invocation: arrival.invocation,
                id: arrival.id,
                operation: request.operation,
                answer: request.answer,
                measure: request.measure,
                max_text: arrival.max_text,
                expires,
                lifecycle: Lifecycle::new(request.operation),
                lane: Some(arrival.provider),
                merge: arrival.merge,
                replaced,
                announcement: Announcement::Pending,
            },
        );
        self.dispatch(arrival.provider, kind);
        key
    }
}

/// What is known of a request when it is taken in.
struct Arrival {
    now: Millis,
    invocation: InvocationKey,
    provider: ProviderKey,
    id: Box<str>,
    digest: u128,
    merge: Option<MergeKey>,
    max_text: Option<u64>,
}

fn reuse(used: &Used, digest: u128, operation: Operation) -> Result<Admitted, Error> {
    if used.digest != digest {
        return Err(Error::new(
            Code::RequestConflict,
            "the request id was used before with another payload",
        ));
    }
    match used.over {
        None => Ok(Admitted {
            key: used.key,
            novelty: Novelty::Joined,
            operation,
            rewritten: None,
        }),
        Some(code) => Err(Error::new(
            code,
            "the request id was used before, and its request is over",
        )),
    }
}

pub(super) const fn label(operation: Operation) -> &'static str {
    match operation {
        Operation::OpenExternal => "OpenExternal request",
        Operation::CopyText => "CopyText request",
        Operation::Notification => "Notification request",
        Operation::ExternalRedirect => "ExternalRedirect request",
        interaction => interaction_label(interaction),
    }
}
