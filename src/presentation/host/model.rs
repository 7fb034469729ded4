//! Random schedules against the machine. Whatever the order, each request has exactly one terminal state, authority has at
//! most one holder, nothing that was shown as an approval or a secret is shown elsewhere without an explicit release, limits
//! hold, and everything is released at the end.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::presentation::error::Code;
use crate::presentation::request::State;
use proptest::prelude::*;
use std::collections::HashMap;

impl Host {
    /// Structural invariants of the machine.
    pub(super) fn check(&self) {
        for (key, provider) in &self.providers {
            for kind in Kind::ALL {
                let lane = &provider.lanes[kind.index()];
                let held = self.requests.values().filter(|request| {
                    request.operation.kind() == kind
                        && request
                            .lifecycle
                            .holder()
                            .is_some_and(|holder| holder.provider == *key)
                });
                assert_eq!(
                    lane.active,
                    held.count() as u64,
                    "a lane counts what its provider holds"
                );
                let room = self
                    .limits_of(provider, kind)
                    .max_concurrent_requests
                    .unwrap();
                assert!(lane.active <= room, "concurrency is bounded");
                assert!(
                    lane.queue.is_empty() || lane.active == room,
                    "nothing waits while there is room"
                );
                for queued in &lane.queue {
                    let request = &self.requests[queued];
                    assert_eq!(request.lifecycle.state(), &State::Queued);
                    assert_eq!(request.lane, Some(*key));
                }
            }
        }
        for (key, request) in &self.requests {
            match request.lifecycle.state() {
                State::Queued => {
                    let lane = &self.providers[&request.lane.unwrap()].lanes
                        [request.operation.kind().index()];
                    assert_eq!(lane.queue.iter().filter(|queued| *queued == key).count(), 1);
                }
                State::Merged { into } => assert!(self.requests[into].replaced.contains(key)),
                State::Offered(holder) | State::Presented(holder) => {
                    assert_eq!(request.lane, Some(holder.provider))
                }
                State::Released => assert_eq!(request.lane, None),
                State::Settled(_) => panic!("a settled request is not kept"),
            }
            assert!(
                self.timers
                    .contains(&(request.expires, Timer::Request(*key)))
            );
            assert!(self.invocations[&request.invocation].live.contains(key));
        }
        let timers = self
            .timers
            .iter()
            .filter(|(_, timer)| matches!(timer, Timer::Request(_)))
            .count();
        assert_eq!(timers, self.requests.len(), "no timer outlives its request");
    }
}

#[derive(Clone, Debug)]
enum Step {
    Open {
        deadline: Option<u64>,
    },
    Ask {
        invocation: usize,
        payload: usize,
        reuse: bool,
    },
    Cancel(usize),
    Present {
        request: usize,
        stale: bool,
    },
    Release(usize),
    Transfer {
        request: usize,
        provider: usize,
    },
    Submit {
        request: usize,
        stale: bool,
        answer: usize,
    },
    Fail(usize),
    Announce(usize),
    Unassign(usize),
    Detach {
        provider: usize,
        lost: bool,
    },
    Attach(usize),
    Update(usize),
    Revoke {
        invocation: usize,
        operation: usize,
    },
    End(usize),
    StopConsumer,
    Advance(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let n = || 0usize..8;
    prop_oneof![
        2 => proptest::option::of(1u64..40).prop_map(|deadline| Step::Open { deadline }),
        10 => (n(), 0usize..PAYLOADS.len(), any::<bool>()).prop_map(|(invocation, payload, reuse)| Step::Ask { invocation, payload, reuse }),
        3 => n().prop_map(Step::Cancel),
        5 => (n(), prop::bool::weighted(0.2)).prop_map(|(request, stale)| Step::Present { request, stale }),
        3 => n().prop_map(Step::Release),
        4 => (n(), 0usize..3).prop_map(|(request, provider)| Step::Transfer { request, provider }),
        6 => (n(), prop::bool::weighted(0.2), 0usize..5).prop_map(|(request, stale, answer)| Step::Submit { request, stale, answer }),
        1 => n().prop_map(Step::Fail),
        2 => n().prop_map(Step::Announce),
        1 => n().prop_map(Step::Unassign),
        1 => (0usize..3, any::<bool>()).prop_map(|(provider, lost)| Step::Detach { provider, lost }),
        2 => (0usize..3).prop_map(Step::Attach),
        1 => (0usize..3).prop_map(Step::Update),
        1 => (n(), 0usize..7).prop_map(|(invocation, operation)| Step::Revoke { invocation, operation }),
        1 => n().prop_map(Step::End),
        1 => Just(Step::StopConsumer),
        4 => (0u64..20).prop_map(Step::Advance),
    ]
}

const PAYLOADS: [(Kind, &str); 7] = [
    (
        Kind::UserInteraction,
        r#""kind":"approval","action":"a","summary":"s""#,
    ),
    (
        Kind::UserInteraction,
        r#""kind":"secret-input","label":"L""#,
    ),
    (
        Kind::UserInteraction,
        r#""kind":"question","fields":[{"id":"a","kind":"confirm","label":"A"}]"#,
    ),
    (Kind::Notification, r#""text":"x","deduplicationKey":"k""#),
    (Kind::Notification, r#""text":"y""#),
    (Kind::ExternalRedirect, r#""mode":"http-get""#),
    (Kind::OpenExternal, r#""uri":"https://a.test""#),
];

const KINDS: &str = r#"[{"apiVersion":"presentation.dsh/v1alpha1","kind":"OpenExternal"},
    {"apiVersion":"presentation.dsh/v1alpha1","kind":"Notification"},
    {"apiVersion":"presentation.dsh/v1alpha1","kind":"ExternalRedirect"},
    {"apiVersion":"presentation.dsh/v1alpha1","kind":"UserInteraction","spec":{"operations":["question","approval","secret-input"]}}]"#;

const IDS: [&str; 3] = ["tui", "web", "bot"];

/// What an outside observer has seen of one request.
#[derive(Default)]
struct Seen {
    sealed: bool,
    is_secret: bool,
    holder: Option<(ProviderKey, Epoch)>,
    presented: bool,
    announced: bool,
    /// Shown as an approval or secret, or announced, and not released since.
    shown_sealed: bool,
    epochs: Vec<Epoch>,
    terminal: Option<Terminal>,
}

struct Model {
    host: Host,
    now: Millis,
    consumer: ConsumerKey,
    providers: [Option<ProviderKey>; 3],
    presenting: HashMap<ProviderKey, Presenting>,
    invocations: Vec<(InvocationKey, String, Option<String>)>,
    unbound: Vec<InvocationKey>,
    requests: Vec<RequestKey>,
    seen: HashMap<RequestKey, Seen>,
    serial: u32,
}

impl Model {
    fn new() -> Model {
        let mut config = HostConfig::default();
        config.limits.max_concurrent_requests = 2;
        config.limits.max_queued_requests = 3;
        config.limits.max_request_ms = 30;
        config.rules.push(crate::presentation::authority::Rule {
            consumer: None,
            providers: IDS.map(Into::into).to_vec(),
        });
        let mut host = Host::new(config);
        let consumer = host
            .handle_consumer_admitted("plugin", parse_requirements(KINDS).unwrap())
            .unwrap();
        let mut model = Model {
            host,
            now: Millis(100),
            consumer,
            providers: [None; 3],
            presenting: HashMap::new(),
            invocations: Vec::new(),
            unbound: Vec::new(),
            requests: Vec::new(),
            seen: HashMap::new(),
            serial: 0,
        };
        model.attach(0);
        model.attach(1);
        model
    }

    fn attach(&mut self, index: usize) {
        if self.providers[index].is_some() {
            return;
        }
        let presenting = if index == 1 {
            Presenting::OnOffer
        } else {
            Presenting::Explicit
        };
        let supports = parse_supports(KINDS).unwrap();
        let key = self
            .host
            .handle_provider_attached(
                IDS[index],
                supports,
                InteractionLimits::default(),
                presenting,
            )
            .unwrap();
        self.providers[index] = Some(key);
        self.presenting.insert(key, presenting);
    }

    fn request(&self, index: usize) -> Option<RequestKey> {
        let recent = self.requests.len().saturating_sub(8);
        self.requests[recent..].get(index).copied()
    }

    fn epoch(&self, key: RequestKey, stale: bool) -> Epoch {
        let last = self.seen[&key].epochs.last().map_or(0, |epoch| epoch.0);
        Epoch(if stale { last.saturating_sub(1) } else { last })
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Open { deadline } => {
                self.serial += 1;
                let id = format!("inv{}", self.serial);
                let text = deadline.map(|_| "2030-01-01T00:00:00Z".to_owned());
                let deadline = deadline.map(|ms| Deadline {
                    at: self.now.after(ms),
                    text: "2030-01-01T00:00:00Z".into(),
                });
                let opening = Opening {
                    consumer: self.consumer,
                    id: &id,
                    deadline,
                    permitted: Operations::all(),
                    provider: None,
                };
                let opened = self
                    .host
                    .handle_invocation_opened(self.now, opening)
                    .unwrap();
                self.invocations.push((opened.key, id, text));
            }
            Step::Ask {
                invocation,
                payload,
                reuse,
            } => self.ask(invocation, payload, reuse),
            Step::Advance(ms) => {
                self.now = self.now.after(ms);
                if ms % 2 == 0 {
                    self.host.handle_timeout(self.now);
                }
            }
            Step::Attach(provider) => self.attach(provider),
            Step::Update(provider) => {
                if let Some(key) = self.providers[provider] {
                    self.host
                        .handle_provider_updated(self.now, key, parse_supports(KINDS).unwrap())
                        .unwrap();
                }
            }
            Step::Detach { provider, lost } => {
                if let Some(key) = self.providers[provider].take() {
                    let how = if lost {
                        Detach::Lost
                    } else {
                        Detach::LeaseEnded
                    };
                    self.host.handle_provider_detached(self.now, key, how);
                }
            }
            Step::Revoke {
                invocation,
                operation,
            } => {
                if let Some((key, _, _)) = self.invocations.get(invocation) {
                    let operations = Operations::NONE.with(Operation::ALL[operation]);
                    self.host
                        .handle_permission_withdrawn(self.now, *key, operations);
                }
            }
            Step::End(invocation) => {
                if let Some((key, _, _)) = self.invocations.get(invocation) {
                    self.host.handle_invocation_ended(self.now, *key);
                }
            }
            Step::StopConsumer => {
                self.host.handle_consumer_stopped(self.now, self.consumer);
                self.consumer = self
                    .host
                    .handle_consumer_admitted("plugin", parse_requirements(KINDS).unwrap())
                    .unwrap();
            }
            other => self.act(other),
        }
        self.observe();
        self.host.check();
    }

    fn ask(&mut self, invocation: usize, payload: usize, reuse: bool) {
        let Some((key, id, deadline)) = self.invocations.get(invocation).cloned() else {
            return;
        };
        if !reuse {
            self.serial += 1;
        }
        let (kind, payload) = PAYLOADS[payload];
        let deadline = deadline.map_or(String::new(), |deadline| {
            format!(r#""deadline":"{deadline}","#)
        });
        let text = format!(
            r#"{{"requestId":"r{}","invocationId":"{id}","origin":"plugin",{deadline}{payload}}}"#,
            self.serial
        );
        let before = self.host.pending();
        match self.host.handle_request(self.now, key, kind, &text) {
            Ok(admitted) if admitted.novelty == Novelty::New => {
                assert!(
                    !self.unbound.contains(&key),
                    "a dead invocation asks nothing"
                );
                self.requests.push(admitted.key);
                self.seen.insert(
                    admitted.key,
                    Seen {
                        sealed: admitted.operation.is_sealed_when_presented(),
                        is_secret: admitted.operation == Operation::SecretInput,
                        ..Seen::default()
                    },
                );
            }
            Ok(admitted) => assert!(
                self.seen[&admitted.key].terminal.is_none(),
                "only a pending request is joined"
            ),
            Err(_) => assert!(
                self.host.pending() <= before,
                "a refused request leaves nothing behind"
            ),
        }
    }

    fn act(&mut self, step: Step) {
        let (Step::Cancel(index)
        | Step::Present { request: index, .. }
        | Step::Release(index)
        | Step::Transfer { request: index, .. }
        | Step::Submit { request: index, .. }
        | Step::Fail(index)
        | Step::Announce(index)
        | Step::Unassign(index)) = step
        else {
            return;
        };
        let Some(key) = self.request(index) else {
            return;
        };
        let now = self.now;
        // Deadlines that have passed come first, as they do in the machine.
        self.host.handle_timeout(now);
        self.observe();
        let over = self.seen[&key].terminal.is_some();
        let code = match step {
            Step::Cancel(_) => self.host.handle_cancel(now, key).err(),
            Step::Present { stale, .. } => {
                let (epoch, holder) = (self.epoch(key, stale), self.seen[&key].holder);
                let result = self.host.handle_present(now, key, epoch);
                if result.is_ok() {
                    assert_eq!(
                        holder.map(|(_, epoch)| epoch),
                        Some(epoch),
                        "only the holder presents"
                    );
                    let seen = self.seen.get_mut(&key).unwrap();
                    assert!(!seen.presented);
                    seen.presented = true;
                    seen.shown_sealed = seen.sealed;
                }
                result.err()
            }
            Step::Release(_) => {
                let epoch = self.epoch(key, false);
                let held = self.seen[&key].holder.is_some();
                let result = self.host.handle_released(now, key, epoch);
                assert_eq!(result.is_ok(), held, "exactly the holder releases");
                result.err()
            }
            Step::Transfer { provider, .. } => {
                let Some(to) = self.providers[provider] else {
                    return;
                };
                let presented = self.seen[&key].presented;
                let result = self.host.handle_transfer(now, key, to);
                assert!(
                    !(presented && result.is_ok()),
                    "a shown request does not move"
                );
                result.err().filter(|error| error.code != Code::QueueLimit)
            }
            Step::Submit { stale, answer, .. } => {
                let epoch = self.epoch(key, stale);
                let text = [
                    r#"{"status":"submitted","value":{"decision":"approved"}}"#,
                    r#"{"status":"submitted","value":{}}"#,
                    r#"{"status":"submitted","value":{"accepted":true}}"#,
                    r#"{"status":"cancelled"}"#,
                    "nonsense",
                ][answer];
                let holder = self.seen[&key].holder;
                let result = self.host.handle_submit(
                    now,
                    key,
                    epoch,
                    text,
                    Some(Secret::new("s3cret".into())),
                );
                match &result {
                    Ok(()) => assert_eq!(
                        holder.map(|(_, epoch)| epoch),
                        Some(epoch),
                        "only the holder submits"
                    ),
                    Err(error) => assert!(!error.message.contains("s3cret")),
                }
                result.err().filter(|error| {
                    matches!(error.code, Code::AlreadySettled | Code::AuthorityConflict)
                })
            }
            Step::Fail(_) => self
                .host
                .handle_failed(now, key, self.epoch(key, false), Code::ImplementationFailed)
                .err(),
            Step::Announce(_) => {
                let ready = r#"{"type":"ready","redirectUri":"http://127.0.0.1:9/x"}"#;
                let result = self
                    .host
                    .handle_progress(now, key, self.epoch(key, false), ready);
                result
                    .err()
                    .filter(|error| error.code == Code::AlreadySettled)
            }
            _ => self.host.handle_unassigned(now, key).err(),
        };
        match code.map(|error| error.code) {
            Some(Code::AlreadySettled) => {
                assert!(over, "already-settled is said of a settled request only")
            }
            _ if over => assert!(
                matches!(step, Step::Transfer { .. }),
                "a settled request answers already-settled"
            ),
            _ => {}
        }
    }

    fn observe(&mut self) {
        while let Some(effect) = self.host.poll_effect() {
            let (Effect::Offer { request, .. }
            | Effect::Withdraw { request, .. }
            | Effect::Settle { request, .. }
            | Effect::Progress { request }
            | Effect::Released { request, .. }) = effect
            else {
                if let Effect::Unbound { invocation, .. } = effect {
                    self.unbound.push(invocation);
                }
                continue;
            };
            let seen = self.seen.get_mut(&request).unwrap();
            assert_eq!(
                seen.terminal, None,
                "nothing follows the terminal state: {effect:?}"
            );
            match effect {
                Effect::Offer {
                    provider, epoch, ..
                } => {
                    assert_eq!(seen.holder, None, "one holder at a time");
                    assert!(!seen.shown_sealed, "what was shown is not shown elsewhere");
                    assert!(
                        !(seen.is_secret && seen.presented),
                        "a secret prompt is never replayed"
                    );
                    assert!(seen.epochs.last().is_none_or(|last| *last < epoch));
                    seen.holder = Some((provider, epoch));
                    seen.epochs.push(epoch);
                    seen.presented = self.presenting[&provider] == Presenting::OnOffer;
                    seen.shown_sealed = seen.presented && seen.sealed;
                }
                Effect::Withdraw { epoch, .. } => {
                    assert_eq!(seen.holder.map(|(_, epoch)| epoch), Some(epoch));
                    seen.holder = None;
                }
                Effect::Released { provider, .. } => {
                    assert_eq!(seen.holder.map(|(provider, _)| provider), Some(provider));
                    assert!(
                        !(seen.is_secret && seen.presented),
                        "a shown secret is not released"
                    );
                    assert!(!seen.announced, "an announced receiver is not released");
                    (seen.holder, seen.presented, seen.shown_sealed) = (None, false, false);
                }
                Effect::Progress { .. } => {
                    assert!(!seen.announced, "a receiver is announced once");
                    (seen.announced, seen.presented, seen.shown_sealed) = (true, true, true);
                }
                Effect::Settle { terminal, .. } => {
                    if terminal == Terminal::Submitted && seen.is_secret {
                        assert_eq!(self.host.take_secret(request).unwrap().expose(), "s3cret");
                    }
                    seen.holder = None;
                    seen.terminal = Some(terminal);
                }
                _ => {}
            }
        }
    }

    fn finish(mut self) {
        self.host.handle_consumer_stopped(self.now, self.consumer);
        self.observe();
        self.host.check();
        assert!(
            self.seen.values().all(|seen| seen.terminal.is_some()),
            "every request has its terminal state"
        );
        assert_eq!((self.host.pending(), self.host.poll_timeout()), (0, None));
        assert!(self.host.secrets.is_empty() && self.host.invocations.is_empty());
        for provider in self.host.providers.values() {
            assert!(
                provider
                    .lanes
                    .iter()
                    .all(|lane| lane.active == 0 && lane.queue.is_empty())
            );
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_keeps_the_invariants(steps in prop::collection::vec(step(), 1..70)) {
        let mut model = Model::new();
        model.run(Step::Open { deadline: None });
        for step in steps {
            model.run(step);
        }
        model.finish();
    }
}

/// The races that the specification names, each in every order.
#[test]
fn named_races_in_every_order() {
    let races: [(&str, [Step; 2]); 4] = [
        (
            "cancel and submit",
            [
                Step::Cancel(0),
                Step::Submit {
                    request: 0,
                    stale: false,
                    answer: 0,
                },
            ],
        ),
        (
            "deadline and submit",
            [
                Step::Advance(30),
                Step::Submit {
                    request: 0,
                    stale: false,
                    answer: 0,
                },
            ],
        ),
        (
            "detach and present",
            [
                Step::Detach {
                    provider: 0,
                    lost: true,
                },
                Step::Present {
                    request: 0,
                    stale: false,
                },
            ],
        ),
        (
            "transfer and release",
            [
                Step::Transfer {
                    request: 0,
                    provider: 1,
                },
                Step::Release(0),
            ],
        ),
    ];
    for (name, race) in races {
        for payload in 0..3 {
            for order in [[0, 1], [1, 0]] {
                let mut model = Model::new();
                model.run(Step::Open { deadline: None });
                model.run(Step::Ask {
                    invocation: 0,
                    payload,
                    reuse: false,
                });
                for index in order {
                    model.run(race[index].clone());
                }
                assert_eq!(model.requests.len(), 1, "{name}");
                model.finish();
            }
        }
    }
}
