//! Invocations: the only source of the right to ask (spec: presentation, Request identity and scope; P2, P5).

use super::settle::Tell;
use super::{
    Binding, ConsumerKey, Deadline, Effect, Host, Invocation, InvocationKey, Millis, Timer,
};
use crate::presentation::authority::{Candidate, select};
use crate::presentation::error::{Code, Error};
use crate::presentation::negotiate::Issue;
use crate::presentation::protocol::{Kind, Operations};
use crate::presentation::request::{ProviderKey, RequestKey, Terminal};
use std::collections::{BTreeSet, HashMap};

/// How an invocation is opened.
#[derive(Clone, Debug)]
pub struct Opening<'o> {
    /// For whom.
    pub consumer: ConsumerKey,
    /// The opaque reference, unpredictable and unique.
    pub id: &'o str,
    /// When all of it expires.
    pub deadline: Option<Deadline>,
    /// What policy permits.
    pub permitted: Operations,
    /// The opener's own choice of provider; it goes before every rule.
    pub provider: Option<&'o str>,
}

/// An open invocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// Its key.
    pub key: InvocationKey,
    /// Its provider, if policy found exactly one.
    pub provider: Option<ProviderKey>,
    /// Kinds with a live binding.
    pub contracts: Vec<Kind>,
    /// What was found wanting.
    pub issues: Vec<Issue>,
}

impl Host {
    /// Opens an invocation and binds it to the one provider that policy selects. Without one it is open and can ask nothing.
    ///
    /// # Errors
    /// `invalid-scope` when the consumer is not admitted, the id is taken, or the deadline has passed.
    pub fn handle_invocation_opened(
        &mut self,
        now: Millis,
        opening: Opening<'_>,
    ) -> Result<Opened, Error> {
        self.handle_timeout(now);
        let Some(consumer) = self.consumers.get(&opening.consumer) else {
            return Err(Error::new(
                Code::InvalidScope,
                "the presentation consumer is not admitted",
            ));
        };
        if self
            .invocations
            .values()
            .any(|invocation| *invocation.id == *opening.id)
        {
            return Err(Error::new(
                Code::InvalidScope,
                "the presentation invocation id is in use",
            ));
        }
        if opening
            .deadline
            .as_ref()
            .is_some_and(|deadline| deadline.at <= now)
        {
            return Err(Error::new(
                Code::InvalidScope,
                "the deadline of the presentation invocation has passed",
            ));
        }
        let candidates: Vec<Candidate<'_>> = self
            .providers
            .iter()
            .map(|(key, provider)| Candidate {
                key: *key,
                id: &provider.id,
                supports: &provider.supports,
            })
            .collect();
        let selection = select(
            &consumer.id,
            &consumer.requirements,
            &candidates,
            &self.config.rules,
            opening.provider,
        );
        let origin = consumer.id.clone();
        let binding = match selection.chosen {
            Some((provider, agreed)) => Ok(Binding { provider, agreed }),
            None => Err(Code::ProviderUnavailable),
        };
        let key = InvocationKey(self.next_key());
        if let Some(deadline) = &opening.deadline {
            self.timers.insert((deadline.at, Timer::Invocation(key)));
        }
        let invocation = Invocation {
            consumer: opening.consumer,
            id: opening.id.into(),
            origin,
            deadline: opening.deadline,
            binding,
            permitted: opening.permitted,
            used: HashMap::new(),
            live: BTreeSet::new(),
        };
        let contracts = contracts(&invocation);
        self.invocations.insert(key, invocation);
        Ok(Opened {
            key,
            provider: binding.ok().map(|binding| binding.provider),
            contracts,
            issues: selection.issues,
        })
    }

    /// Ends an invocation: what is pending is cancelled, its clients die.
    pub fn handle_invocation_ended(&mut self, now: Millis, invocation: InvocationKey) {
        self.handle_timeout(now);
        self.end_invocation(invocation, &Terminal::Cancelled);
    }

    /// Withdraws permissions: what is pending of them is cancelled.
    pub fn handle_permission_withdrawn(
        &mut self,
        now: Millis,
        invocation: InvocationKey,
        operations: Operations,
    ) {
        self.handle_timeout(now);
        let Some(found) = self.invocations.get_mut(&invocation) else {
            return;
        };
        found.permitted = found.permitted.difference(operations);
        let live: Vec<RequestKey> = found.live.iter().copied().collect();
        let hit = live
            .into_iter()
            .filter(|key| {
                self.requests
                    .get(key)
                    .is_some_and(|request| operations.contains(request.operation))
            })
            .collect();
        for key in self.waiting_first(hit) {
            // Live when it was listed; a merge partner may have ended with it.
            let _ = self.settle(key, Terminal::Cancelled, Tell::Holder);
        }
    }

    /// The kinds that have a live binding and a permitted operation.
    #[must_use]
    pub fn contracts(&self, invocation: InvocationKey) -> Vec<Kind> {
        self.invocations
            .get(&invocation)
            .map_or_else(Vec::new, contracts)
    }

    pub(super) fn end_invocation(&mut self, key: InvocationKey, terminal: &Terminal) {
        let Some(invocation) = self.invocations.get_mut(&key) else {
            return;
        };
        invocation.binding = Err(Code::InvalidScope);
        if let Some(deadline) = &invocation.deadline {
            self.timers.remove(&(deadline.at, Timer::Invocation(key)));
        }
        let live = invocation.live.iter().copied().collect();
        for request in self.waiting_first(live) {
            // Live when it was listed; a merge partner may have ended with it.
            let _ = self.settle(request, terminal.clone(), Tell::Holder);
        }
        self.invocations.remove(&key);
        self.effects.push_back(Effect::Unbound {
            invocation: key,
            code: Code::InvalidScope,
        });
    }

    /// Voids the bindings of the invocations that `of` selects: what is pending is cancelled, later requests get `code`.
    pub(super) fn unbind(&mut self, code: Code, of: impl Fn(&Invocation) -> bool) {
        let keys: Vec<InvocationKey> = self
            .invocations
            .iter()
            .filter(|(_, found)| of(found))
            .map(|(key, _)| *key)
            .collect();
        for key in keys {
            let Some(invocation) = self.invocations.get_mut(&key) else {
                continue;
            };
            if invocation.binding.is_err() {
                continue;
            }
            invocation.binding = Err(code);
            let live = invocation.live.iter().copied().collect();
            for request in self.waiting_first(live) {
                // As above.
                let _ = self.settle(request, Terminal::Cancelled, Tell::Holder);
            }
            self.effects.push_back(Effect::Unbound {
                invocation: key,
                code,
            });
        }
    }
}

fn contracts(invocation: &Invocation) -> Vec<Kind> {
    let usable = invocation.binding.map_or(Operations::NONE, |binding| {
        binding.agreed.intersection(invocation.permitted)
    });
    Kind::ALL
        .into_iter()
        .filter(|kind| !usable.intersection(kind.operations()).is_empty())
        .collect()
}
