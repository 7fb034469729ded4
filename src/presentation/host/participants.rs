//! Providers and consumers come, change and go (spec: presentation, Roles, Connection binding).

use super::lane::Lane;
use super::settle::Tell;
use super::{Consumer, ConsumerKey, Host, InvocationKey, Millis, Provider};
use crate::presentation::authority::{Requirements, Supports};
use crate::presentation::error::{Code, Error};
use crate::presentation::json::{Json, member};
use crate::presentation::limits::InteractionLimits;
use crate::presentation::negotiate::Necessity;
use crate::presentation::protocol::{API_VERSION, Kind};
use crate::presentation::request::{ProviderKey, RequestKey, State, Terminal};
use crate::presentation::text_policy::{TextClass, is_blank, is_clean};
use crate::presentation::validate::record::{Path, array, exact, flag, text};
use crate::presentation::validate::spec;

/// How a provider says that it shows a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presenting {
    /// It may show a request as soon as it is offered; the Host takes it as shown from then on.
    OnOffer,
    /// It asks with [`Host::handle_present`] before it shows a request, so that an unshown one can still move.
    Explicit,
}

/// How a provider goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detach {
    /// Its publication ended in good order: what is pending is cancelled.
    LeaseEnded,
    /// Its endpoint is gone: what was shown is cancelled, what was not is unavailable.
    Lost,
}

impl Host {
    /// A provider publishes what it supports.
    ///
    /// # Errors
    /// `invalid-request` when the identity is blank, deceptive or taken.
    pub fn handle_provider_attached(
        &mut self,
        id: &str,
        supports: Supports,
        connection: InteractionLimits,
        presenting: Presenting,
    ) -> Result<ProviderKey, Error> {
        check_identity("Presentation provider", id)?;
        if self.providers.values().any(|provider| *provider.id == *id) {
            return Err(Error::new(
                Code::InvalidRequest,
                "Presentation provider is attached already",
            ));
        }
        let key = ProviderKey(self.next_key());
        let lanes: [Lane; 5] = Default::default();
        self.providers.insert(
            key,
            Provider {
                id: id.into(),
                supports,
                connection,
                presenting,
                lanes,
            },
        );
        Ok(key)
    }

    /// A provider replaces what it supports. Its agreements are void: what is pending is cancelled, bound invocations
    /// lose their clients.
    ///
    /// # Errors
    /// `provider-unavailable` when it is not attached.
    pub fn handle_provider_updated(
        &mut self,
        now: Millis,
        provider: ProviderKey,
        supports: Supports,
    ) -> Result<(), Error> {
        self.handle_timeout(now);
        if !self.providers.contains_key(&provider) {
            return Err(Error::new(
                Code::ProviderUnavailable,
                "the presentation provider is not attached",
            ));
        }
        self.unbind(Code::NotNegotiated, |invocation| {
            invocation
                .binding
                .is_ok_and(|binding| binding.provider == provider)
        });
        self.settle_lanes(provider, &|_| Terminal::Cancelled);
        if let Some(found) = self.providers.get_mut(&provider) {
            found.supports = supports;
        }
        Ok(())
    }

    /// A provider goes.
    pub fn handle_provider_detached(&mut self, now: Millis, provider: ProviderKey, how: Detach) {
        self.handle_timeout(now);
        let (code, terminal): (Code, &dyn Fn(&State) -> Terminal) = match how {
            Detach::LeaseEnded => (Code::ProviderUnavailable, &|_| Terminal::Cancelled),
            Detach::Lost => (Code::ProviderDisconnected, &|state| match state {
                State::Presented(_) => Terminal::Cancelled,
                _ => Terminal::Unavailable(Some(Code::ProviderDisconnected.as_str().into())),
            }),
        };
        self.settle_lanes(provider, terminal);
        self.unbind(code, |invocation| {
            invocation
                .binding
                .is_ok_and(|binding| binding.provider == provider)
        });
        self.providers.remove(&provider);
    }

    /// Settles everything that waits or runs in the lanes of `provider`; the waiting first, so that nothing is offered meanwhile.
    fn settle_lanes(&mut self, provider: ProviderKey, terminal: &dyn Fn(&State) -> Terminal) {
        let Some(found) = self.providers.get_mut(&provider) else {
            return;
        };
        for lane in &mut found.lanes {
            lane.queue.clear();
        }
        let mut keys: Vec<RequestKey> = self
            .requests
            .iter()
            .filter(|(_, request)| request.lane == Some(provider))
            .flat_map(|(key, request)| request.replaced.iter().copied().chain([*key]))
            .collect();
        keys.sort_unstable();
        for key in self.waiting_first(keys) {
            if let Some(request) = self.requests.get(&key) {
                let terminal = terminal(request.lifecycle.state());
                // Live, as it was just found.
                let _ = self.settle(key, terminal, Tell::Holder);
            }
        }
    }

    /// The same keys: replaced ones first, then waiting ones, then those that a provider holds.
    pub(super) fn waiting_first(&self, mut keys: Vec<RequestKey>) -> Vec<RequestKey> {
        keys.sort_by_key(|key| {
            match self
                .requests
                .get(key)
                .map(|request| request.lifecycle.state())
            {
                Some(State::Merged { .. }) => 0,
                Some(State::Queued | State::Released) => 1,
                _ => 2,
            }
        });
        keys
    }

    /// A consumer declares what it requires.
    ///
    /// # Errors
    /// `invalid-request` when the identity is blank, deceptive or taken.
    pub fn handle_consumer_admitted(
        &mut self,
        id: &str,
        requirements: Requirements,
    ) -> Result<ConsumerKey, Error> {
        check_identity("Presentation consumer", id)?;
        if self.consumers.values().any(|consumer| *consumer.id == *id) {
            return Err(Error::new(
                Code::InvalidRequest,
                "Presentation consumer is admitted already",
            ));
        }
        let key = ConsumerKey(self.next_key());
        self.consumers.insert(
            key,
            Consumer {
                id: id.into(),
                requirements,
            },
        );
        Ok(key)
    }

    /// A consumer replaces what it requires. Its agreements are void: what is pending is cancelled, its clients die.
    ///
    /// # Errors
    /// `invalid-scope` when it is not admitted.
    pub fn handle_consumer_updated(
        &mut self,
        now: Millis,
        consumer: ConsumerKey,
        requirements: Requirements,
    ) -> Result<(), Error> {
        self.handle_timeout(now);
        let Some(found) = self.consumers.get_mut(&consumer) else {
            return Err(Error::new(
                Code::InvalidScope,
                "the presentation consumer is not admitted",
            ));
        };
        found.requirements = requirements;
        self.unbind(Code::NotNegotiated, |invocation| {
            invocation.consumer == consumer
        });
        Ok(())
    }

    /// A consumer stops: its invocations end, what is pending is cancelled.
    pub fn handle_consumer_stopped(&mut self, now: Millis, consumer: ConsumerKey) {
        self.handle_timeout(now);
        let keys: Vec<InvocationKey> = self
            .invocations
            .iter()
            .filter(|(_, invocation)| invocation.consumer == consumer)
            .map(|(key, _)| *key)
            .collect();
        for key in keys {
            self.end_invocation(key, &Terminal::Cancelled);
        }
        self.consumers.remove(&consumer);
    }
}

fn check_identity(subject: &str, id: &str) -> Result<(), Error> {
    if is_blank(id) {
        return Err(Error::at(
            Code::InvalidRequest,
            format!("{subject}.participantId"),
            "must be a non-empty string",
        ));
    }
    // It is shown as the origin of requests.
    if !is_clean(id, TextClass::Line) {
        let problem = "must not contain control or bidirectional override characters";
        return Err(Error::at(
            Code::InvalidRequest,
            format!("{subject}.participantId"),
            problem,
        ));
    }
    Ok(())
}

/// Reads `[{apiVersion, kind, spec?}]`.
///
/// # Errors
/// `invalid-request` when a row is malformed, of another version, or a kind stands twice.
pub fn parse_supports(value: &str) -> Result<Supports, Error> {
    let mut supports = Supports::default();
    each_row(
        value,
        "Presentation supports",
        &["apiVersion", "kind", "spec"],
        |path, kind, row| {
            if supports.get(kind).is_some() {
                return Err(Error::at(
                    Code::InvalidRequest,
                    path,
                    "must not be a duplicate support",
                ));
            }
            supports.set(kind, spec::support(kind, row.get("spec"))?);
            Ok(())
        },
    )?;
    Ok(supports)
}

/// Reads `[{apiVersion, kind, optional?, spec?}]`.
///
/// # Errors
/// As [`parse_supports`].
pub fn parse_requirements(value: &str) -> Result<Requirements, Error> {
    let mut requirements = Requirements::default();
    each_row(
        value,
        "Presentation requirements",
        &["apiVersion", "kind", "optional", "spec"],
        |path, kind, row| {
            if requirements.get(kind).is_some() {
                return Err(Error::at(
                    Code::InvalidRequest,
                    path,
                    "must not be a duplicate requirement",
                ));
            }
            let need = match row {
                Json::Object(members) if flag(path, members, "optional")? => Necessity::Optional,
                _ => Necessity::Required,
            };
            requirements.set(kind, need, spec::requirement(kind, row.get("spec"))?);
            Ok(())
        },
    )?;
    Ok(requirements)
}

fn each_row(
    value: &str,
    name: &'static str,
    allowed: &[&str],
    mut read: impl FnMut(&Path<'_>, Kind, &Json<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let root = Path::Root(name);
    let value = Json::parse(value, name)?;
    for (index, row) in array(&root, &value, "must be an array")?.iter().enumerate() {
        let path = root.index(index);
        let members = exact(&path, row, allowed, &["apiVersion", "kind"])?;
        if text(&path, members, "apiVersion")? != API_VERSION {
            return Err(Error::at(
                Code::InvalidRequest,
                path.field("apiVersion"),
                format!("must be \"{API_VERSION}\""),
            ));
        }
        let kind = member(members, "kind")
            .and_then(Json::as_str)
            .and_then(Kind::parse);
        let kind = kind.ok_or_else(|| {
            Error::at(
                Code::InvalidRequest,
                path.field("kind"),
                "must be a presentation kind",
            )
        })?;
        read(&path, kind, row)?;
    }
    Ok(())
}
