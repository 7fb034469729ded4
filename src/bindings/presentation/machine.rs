//! The Host's machine: each call is one text in and one text out.
//!
//! What comes out is `[due, value, effects]`: milliseconds until `timeout()` is due or -1, the call's own value, and what
//! is to be done, in order. After an error the effects wait for `drain()`.

use std::hash::{BuildHasher, RandomState};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use napi_derive::napi;

use super::crossing::{Coded, SecretIn, TextOut};
use super::effects::write_effect;
use super::validate::{connection_limits, parse_kind};
use crate::presentation::error::{Code, Error};
use crate::presentation::host::{
    ConsumerKey, Deadline, Detach, Host, HostConfig, InvocationKey, Millis, Novelty, Opening,
    Presenting, parse_requirements, parse_supports,
};
use crate::presentation::negotiate::issues_json;
use crate::presentation::protocol::{Kind, Operation, Operations};
use crate::presentation::request::{Epoch, ProviderKey, RequestKey};
use crate::presentation::validate::date_time;

/// How a provider says that it shows a request: `on-offer`, whenever it is offered; `explicit`, by asking first.
#[napi(string_enum = "kebab-case")]
pub enum PresentationPresenting {
    OnOffer,
    Explicit,
}

/// How a provider goes: `lease-ended` in good order, `lost` with its endpoint.
#[napi(string_enum = "kebab-case")]
pub enum PresentationDetach {
    LeaseEnded,
    Lost,
}

/// The machine behind `createPresentationHost`.
#[napi]
pub struct PresentationMachine {
    host: Host,
    started: Instant,
}

/// Makes a machine from the JSON of its options. Throws with `code` and `path`.
#[napi(catch_unwind, ts_return_type = "PresentationMachine")]
pub fn create_presentation_machine(options: String) -> Coded<PresentationMachine> {
    let random = |salt: u8| RandomState::new().hash_one(salt);
    let config = HostConfig::parse(&options, (random(0), random(1)));
    Coded(config.map(|config| PresentationMachine {
        host: Host::new(config),
        started: Instant::now(),
    }))
}

#[napi]
impl PresentationMachine {
    /// Attaches a provider: JSON of its supports and of its connection's limits. The value is its key.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn attach_provider(
        &mut self,
        participant: String,
        supports: String,
        limits: Option<String>,
        presenting: PresentationPresenting,
    ) -> Coded<String> {
        let presenting = match presenting {
            PresentationPresenting::OnOffer => Presenting::OnOffer,
            PresentationPresenting::Explicit => Presenting::Explicit,
        };
        let attached = parse_supports(&supports).and_then(|supports| {
            let limits = connection_limits(limits.as_deref())?;
            self.host
                .handle_provider_attached(&participant, supports, limits, presenting)
        });
        self.answer(attached.map(|key| key.0.to_string()))
    }

    /// Replaces what a provider supports.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn update_provider(&mut self, provider: i64, supports: String) -> Coded<String> {
        let now = self.now();
        let updated = parse_supports(&supports).and_then(|supports| {
            self.host
                .handle_provider_updated(now, ProviderKey(key(provider)), supports)
        });
        self.answer(updated.map(nothing))
    }

    /// Detaches a provider.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn detach_provider(&mut self, provider: i64, how: PresentationDetach) -> Coded<String> {
        let how = match how {
            PresentationDetach::LeaseEnded => Detach::LeaseEnded,
            PresentationDetach::Lost => Detach::Lost,
        };
        self.host
            .handle_provider_detached(self.now(), ProviderKey(key(provider)), how);
        self.answer(Ok(nothing(())))
    }

    /// Admits a consumer: JSON of its requirements. The value is its key.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn admit_consumer(&mut self, participant: String, requirements: String) -> Coded<String> {
        let admitted = parse_requirements(&requirements).and_then(|requirements| {
            self.host
                .handle_consumer_admitted(&participant, requirements)
        });
        self.answer(admitted.map(|key| key.0.to_string()))
    }

    /// Replaces what a consumer requires.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn update_consumer(&mut self, consumer: i64, requirements: String) -> Coded<String> {
        let now = self.now();
        let updated = parse_requirements(&requirements).and_then(|requirements| {
            self.host
                .handle_consumer_updated(now, ConsumerKey(key(consumer)), requirements)
        });
        self.answer(updated.map(nothing))
    }

    /// Stops a consumer.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn stop_consumer(&mut self, consumer: i64) -> Coded<String> {
        self.host
            .handle_consumer_stopped(self.now(), ConsumerKey(key(consumer)));
        self.answer(Ok(nothing(())))
    }

    /// Opens an invocation. `permitted` names operations. The value is `{key, provider, contracts, issues}`.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn open_invocation(
        &mut self,
        consumer: i64,
        id: String,
        deadline: Option<String>,
        permitted: Option<Vec<String>>,
        provider: Option<String>,
    ) -> Coded<String> {
        let opened = self.open(consumer, &id, deadline, permitted, provider.as_deref());
        self.answer(opened)
    }

    /// Ends an invocation.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn end_invocation(&mut self, invocation: i64) -> Coded<String> {
        self.host
            .handle_invocation_ended(self.now(), InvocationKey(key(invocation)));
        self.answer(Ok(nothing(())))
    }

    /// Withdraws permissions. The value is the kinds that remain.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn withdraw_permission(
        &mut self,
        invocation: i64,
        operations: Vec<String>,
    ) -> Coded<String> {
        let invocation = InvocationKey(key(invocation));
        let withdrawn = parse_operations(&operations).map(|operations| {
            self.host
                .handle_permission_withdrawn(self.now(), invocation, operations);
            kinds_json(&self.host.contracts(invocation))
        });
        self.answer(withdrawn)
    }

    /// Admits a request: its JSON, context included. The value is `[key, operation, "new" | "joined", rewritten | null]`.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn request(&mut self, invocation: i64, kind: String, request: String) -> Coded<String> {
        let now = self.now();
        let admitted = parse_kind(&kind).and_then(|kind| {
            self.host
                .handle_request(now, InvocationKey(key(invocation)), kind, &request)
        });
        let value = admitted.map(|admitted| {
            let novelty = match admitted.novelty {
                Novelty::New => "new",
                Novelty::Joined => "joined",
            };
            let mut value = format!(
                "[{},\"{}\",\"{novelty}\",",
                admitted.key.0,
                admitted.operation.as_str()
            );
            // The rewritten request is JSON already.
            value.push_str(admitted.rewritten.as_deref().unwrap_or("null"));
            value.push(']');
            value
        });
        self.answer(value)
    }

    /// Cancels a request for its consumer.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn cancel(&mut self, request: i64) -> Coded<String> {
        let done = self
            .host
            .handle_cancel(self.now(), RequestKey(key(request)));
        self.answer(done.map(nothing))
    }

    /// The holder asks whether it may show the request.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn present(&mut self, request: i64, epoch: u32) -> Coded<String> {
        let done = self
            .host
            .handle_present(self.now(), RequestKey(key(request)), Epoch(epoch));
        self.answer(done.map(nothing))
    }

    /// The holder gives the request back.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn release(&mut self, request: i64, epoch: u32) -> Coded<String> {
        let done = self
            .host
            .handle_released(self.now(), RequestKey(key(request)), Epoch(epoch));
        self.answer(done.map(nothing))
    }

    /// Moves a request to another provider.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn transfer(&mut self, request: i64, provider: i64) -> Coded<String> {
        let done = self.host.handle_transfer(
            self.now(),
            RequestKey(key(request)),
            ProviderKey(key(provider)),
        );
        self.answer(done.map(nothing))
    }

    /// Nobody takes a released request over.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn unassigned(&mut self, request: i64) -> Coded<String> {
        let done = self
            .host
            .handle_unassigned(self.now(), RequestKey(key(request)));
        self.answer(done.map(nothing))
    }

    /// The holder announces progress, as JSON.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn progress(&mut self, request: i64, epoch: u32, value: String) -> Coded<String> {
        let done =
            self.host
                .handle_progress(self.now(), RequestKey(key(request)), Epoch(epoch), &value);
        self.answer(done.map(nothing))
    }

    /// The holder submits its result, as JSON, with a secret beside it.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn submit(
        &mut self,
        request: i64,
        epoch: u32,
        result: String,
        #[napi(ts_arg_type = "string | undefined | null")] secret: Option<SecretIn>,
    ) -> Coded<String> {
        let secret = secret.map(|secret| secret.0);
        let done = self.host.handle_submit(
            self.now(),
            RequestKey(key(request)),
            Epoch(epoch),
            &result,
            secret,
        );
        self.answer(done.map(nothing))
    }

    /// The holder's implementation failed with `code`; an unknown one counts as `implementation-failed`.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn fail(&mut self, request: i64, epoch: u32, code: String) -> Coded<String> {
        let code = Code::parse(&code).unwrap_or(Code::ImplementationFailed);
        let done =
            self.host
                .handle_failed(self.now(), RequestKey(key(request)), Epoch(epoch), code);
        self.answer(done.map(nothing))
    }

    /// Takes the secret of a settled request, once.
    #[napi(catch_unwind, ts_return_type = "string | null")]
    pub fn take_secret(&mut self, request: i64) -> Option<TextOut> {
        self.host
            .take_secret(RequestKey(key(request)))
            .map(TextOut::from)
    }

    /// Applies the deadlines that have passed.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn timeout(&mut self) -> Coded<String> {
        self.host.handle_timeout(self.now());
        self.answer(Ok(nothing(())))
    }

    /// What is still to be done after an error.
    #[napi(catch_unwind, ts_return_type = "string")]
    pub fn drain(&mut self) -> Coded<String> {
        self.answer(Ok(nothing(())))
    }
}

impl PresentationMachine {
    fn now(&self) -> Millis {
        Millis(u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX))
    }

    fn open(
        &mut self,
        consumer: i64,
        id: &str,
        deadline: Option<String>,
        permitted: Option<Vec<String>>,
        provider: Option<&str>,
    ) -> Result<String, Error> {
        let now = self.now();
        let permitted =
            permitted.map_or(Ok(Operations::all()), |names| parse_operations(&names))?;
        let deadline = deadline.map(|text| on_the_clock(now, text)).transpose()?;
        let opening = Opening {
            consumer: ConsumerKey(key(consumer)),
            id,
            deadline,
            permitted,
            provider,
        };
        let opened = self.host.handle_invocation_opened(now, opening)?;
        let provider = opened
            .provider
            .map_or_else(|| "null".to_owned(), |provider| provider.0.to_string());
        Ok(format!(
            "{{\"key\":{},\"provider\":{provider},\"contracts\":{},\"issues\":{}}}",
            opened.key.0,
            kinds_json(&opened.contracts),
            issues_json(&opened.issues)
        ))
    }

    fn answer(&mut self, value: Result<String, Error>) -> Coded<String> {
        let value = match value {
            Ok(value) => value,
            Err(error) => return Coded(Err(error)),
        };
        let mut effects = String::with_capacity(64);
        while let Some(effect) = self.host.poll_effect() {
            effects.push(if effects.is_empty() { '[' } else { ',' });
            write_effect(&effect, &mut effects);
        }
        if effects.is_empty() {
            effects.push('[');
        }
        // After the effects, so that what they settled is no longer due.
        let due = self.host.poll_timeout().map_or(-1, |at| {
            i64::try_from(at.0.saturating_sub(self.now().0)).unwrap_or(i64::MAX)
        });
        Coded(Ok(format!("[{due},{value},{effects}]]")))
    }
}

/// The deadline on the machine's clock, whatever becomes of the wall clock later.
fn on_the_clock(now: Millis, text: String) -> Result<Deadline, Error> {
    let at = date_time::parse(&text).ok_or_else(|| {
        Error::at(
            Code::InvalidRequest,
            "Presentation invocation scope.deadline",
            "must be an RFC 3339 date-time",
        )
    })?;
    let wall = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| {
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        });
    let left = u64::try_from(at.saturating_sub(wall)).unwrap_or(0);
    Ok(Deadline {
        at: now.after(left),
        text: text.into(),
    })
}

fn parse_operations(names: &[String]) -> Result<Operations, Error> {
    names.iter().try_fold(Operations::NONE, |all, name| {
        // A kind stands for all its operations.
        let operations = match (Operation::parse(name), Kind::parse(name)) {
            (Some(operation), _) => Operations::NONE.with(operation),
            (None, Some(kind)) => kind.operations(),
            (None, None) => {
                return Err(Error::at(
                    Code::InvalidRequest,
                    "Presentation permission",
                    "must name a presentation operation or kind",
                ));
            }
        };
        Ok(all.union(operations))
    })
}

fn kinds_json(kinds: &[Kind]) -> String {
    let names: Vec<String> = kinds
        .iter()
        .map(|kind| format!("\"{}\"", kind.as_str()))
        .collect();
    format!("[{}]", names.join(","))
}

fn nothing((): ()) -> String {
    "null".to_owned()
}

/// Keys are counted from 1; whatever else JavaScript sends names nothing.
fn key(number: i64) -> u64 {
    u64::try_from(number).unwrap_or(0)
}
