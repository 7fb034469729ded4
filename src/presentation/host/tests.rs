//! One rule a test, against the machine with a simulated clock.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::presentation::authority::Rule;
use crate::presentation::error::Code;

const T0: Millis = Millis(1_000);
const KINDS: &str = r#"[{"apiVersion":"presentation.dsh/v1alpha1","kind":"Notification"},
    {"apiVersion":"presentation.dsh/v1alpha1","kind":"ExternalRedirect"},
    {"apiVersion":"presentation.dsh/v1alpha1","kind":"UserInteraction","spec":{"operations":["question","approval","secret-input"]}}]"#;

struct World {
    host: Host,
    provider: ProviderKey,
    consumer: ConsumerKey,
    invocation: InvocationKey,
    serial: u32,
}

fn world(config: HostConfig, presenting: Presenting) -> World {
    let mut host = Host::new(config);
    let provider = host
        .handle_provider_attached(
            "tui",
            parse_supports(KINDS).unwrap(),
            InteractionLimits::default(),
            presenting,
        )
        .unwrap();
    let consumer = host
        .handle_consumer_admitted("plugin", parse_requirements(KINDS).unwrap())
        .unwrap();
    let opened = open(&mut host, consumer, "inv", None);
    assert_eq!(opened.provider, Some(provider));
    World {
        host,
        provider,
        consumer,
        invocation: opened.key,
        serial: 0,
    }
}

fn open(host: &mut Host, consumer: ConsumerKey, id: &str, deadline: Option<Deadline>) -> Opened {
    let opening = Opening {
        consumer,
        id,
        deadline,
        permitted: Operations::all(),
        provider: None,
    };
    host.handle_invocation_opened(T0, opening).unwrap()
}

fn narrow(concurrent: u64) -> HostConfig {
    let mut config = HostConfig::default();
    config.limits.max_concurrent_requests = concurrent;
    config
}

fn text(id: &str, payload: &str) -> String {
    format!(r#"{{"requestId":"{id}","invocationId":"inv","origin":"plugin",{payload}}}"#)
}

const APPROVAL: &str = r#""kind":"approval","action":"a","summary":"s""#;
const SECRET: &str = r#""kind":"secret-input","label":"Token""#;
const APPROVED: &str = r#"{"status":"submitted","value":{"decision":"approved"}}"#;
const RECEIPT: &str = r#"{"status":"submitted","value":{"accepted":true}}"#;

impl World {
    fn ask(&mut self, kind: Kind, payload: &str) -> RequestKey {
        self.serial += 1;
        let text = text(&format!("r{}", self.serial), payload);
        self.host
            .handle_request(T0, self.invocation, kind, &text)
            .unwrap()
            .key
    }

    fn notify(&mut self, key: &str, content: &str) -> RequestKey {
        self.ask(
            Kind::Notification,
            &format!(r#""text":"{content}","deduplicationKey":"{key}""#),
        )
    }

    fn drain(&mut self) -> Vec<Effect> {
        std::iter::from_fn(|| self.host.poll_effect()).collect()
    }

    fn settled(&mut self) -> Vec<(RequestKey, Terminal)> {
        self.drain()
            .into_iter()
            .filter_map(|effect| match effect {
                Effect::Settle { request, terminal } => Some((request, terminal)),
                _ => None,
            })
            .collect()
    }
}

#[test]
fn an_approval_is_offered_and_answered_once() {
    let mut w = world(HostConfig::default(), Presenting::Explicit);
    let key = w.ask(Kind::UserInteraction, APPROVAL);
    let epoch = Epoch(1);
    assert_eq!(
        w.drain(),
        [Effect::Offer {
            request: key,
            provider: w.provider,
            epoch
        }]
    );
    assert_eq!(w.host.handle_present(T0, key, epoch), Ok(()));
    assert_eq!(w.host.handle_submit(T0, key, epoch, APPROVED, None), Ok(()));
    assert_eq!(
        w.drain(),
        [Effect::Settle {
            request: key,
            terminal: Terminal::Submitted
        }]
    );
    let again = w
        .host
        .handle_submit(T0, key, epoch, APPROVED, None)
        .unwrap_err();
    assert_eq!(again.code, Code::AlreadySettled);
    assert_eq!(
        w.host.handle_cancel(T0, key).unwrap_err().code,
        Code::AlreadySettled
    );
    assert_eq!((w.host.pending(), w.host.poll_timeout()), (0, None));
}

#[test]
fn cancel_and_submit_the_first_commit_wins() {
    let mut w = world(HostConfig::default(), Presenting::OnOffer);
    let key = w.ask(Kind::UserInteraction, APPROVAL);
    w.host.handle_cancel(T0, key).unwrap();
    assert_eq!(
        w.host
            .handle_submit(T0, key, Epoch(1), APPROVED, None)
            .unwrap_err()
            .code,
        Code::AlreadySettled
    );
    let effects = w.drain();
    assert_eq!(
        effects[1],
        Effect::Withdraw {
            request: key,
            epoch: Epoch(1),
            reason: Withdrawal::Cancelled
        }
    );
    assert_eq!(
        effects[2],
        Effect::Settle {
            request: key,
            terminal: Terminal::Cancelled
        }
    );
    assert_eq!(effects.len(), 3);
}

#[test]
fn a_submit_at_the_deadline_has_lost_even_before_the_timer_fires() {
    let mut w = world(HostConfig::default(), Presenting::OnOffer);
    let at = Millis(2_000);
    let opened = open(
        &mut w.host,
        w.consumer,
        "late",
        Some(Deadline {
            at,
            text: "2026-01-01T00:00:00Z".into(),
        }),
    );
    let body = r#"{"requestId":"r","invocationId":"late","origin":"plugin","deadline":"2026-01-01T00:00:00Z","kind":"approval","action":"a","summary":"s"}"#;
    let key = w
        .host
        .handle_request(T0, opened.key, Kind::UserInteraction, body)
        .unwrap()
        .key;
    assert_eq!(w.host.poll_timeout(), Some(at));
    assert_eq!(
        w.host
            .handle_submit(at, key, Epoch(1), APPROVED, None)
            .unwrap_err()
            .code,
        Code::AlreadySettled
    );
    assert_eq!(w.settled(), [(key, Terminal::Expired)]);
    let after = w
        .host
        .handle_request(at, opened.key, Kind::UserInteraction, body)
        .unwrap_err();
    assert_eq!(after.code, Code::InvalidScope);
}

#[test]
fn the_product_bounds_every_request_in_time() {
    let mut config = HostConfig::default();
    config.limits.max_request_ms = 50;
    let mut w = world(config, Presenting::OnOffer);
    let key = w.ask(Kind::UserInteraction, APPROVAL);
    assert_eq!(w.host.poll_timeout(), Some(T0.after(50)));
    w.host.handle_timeout(T0.after(49));
    assert_eq!(w.settled(), []);
    w.host.handle_timeout(T0.after(50));
    assert_eq!(w.settled(), [(key, Terminal::Expired)]);
}

#[test]
fn the_context_is_the_hosts_own() {
    let mut w = world(HostConfig::default(), Presenting::OnOffer);
    for body in [
        text("r", APPROVAL).replace(r#""inv""#, r#""other""#),
        text("r", APPROVAL).replace("plugin", "admin"),
        text(
            "r",
            &format!(r#"{APPROVAL},"deadline":"2099-01-01T00:00:00Z""#),
        ),
    ] {
        let error = w
            .host
            .handle_request(T0, w.invocation, Kind::UserInteraction, &body)
            .unwrap_err();
        assert_eq!(error.code, Code::InvalidScope);
    }
    assert_eq!(w.host.pending(), 0);
}

#[test]
fn the_same_request_joins_and_another_payload_conflicts() {
    let mut w = world(HostConfig::default(), Presenting::OnOffer);
    let body = text("same", APPROVAL);
    let first = w
        .host
        .handle_request(T0, w.invocation, Kind::UserInteraction, &body)
        .unwrap();
    let reordered = r#"{"summary":"s","action":"a","kind":"approval","origin":"plugin","invocationId":"inv","requestId":"same"}"#;
    let second = w
        .host
        .handle_request(T0, w.invocation, Kind::UserInteraction, reordered)
        .unwrap();
    assert_eq!((second.key, second.novelty), (first.key, Novelty::Joined));
    let other = text("same", r#""kind":"approval","action":"b","summary":"s""#);
    assert_eq!(
        w.host
            .handle_request(T0, w.invocation, Kind::UserInteraction, &other)
            .unwrap_err()
            .code,
        Code::RequestConflict
    );
    w.host
        .handle_submit(T0, first.key, Epoch(1), APPROVED, None)
        .unwrap();
    assert_eq!(
        w.host
            .handle_request(T0, w.invocation, Kind::UserInteraction, &body)
            .unwrap_err()
            .code,
        Code::AlreadySettled
    );
    assert_eq!(
        w.host
            .handle_request(T0, w.invocation, Kind::UserInteraction, &other)
            .unwrap_err()
            .code,
        Code::RequestConflict
    );
    assert_eq!(w.settled().len(), 1);
}

#[test]
fn what_is_not_agreed_or_permitted_is_refused() {
    let mut host = Host::new(HostConfig::default());
    let only = r#"[{"apiVersion":"presentation.dsh/v1alpha1","kind":"UserInteraction","spec":{"operations":["question"]}}]"#;
    host.handle_provider_attached(
        "tui",
        parse_supports(KINDS).unwrap(),
        InteractionLimits::default(),
        Presenting::OnOffer,
    )
    .unwrap();
    let consumer = host
        .handle_consumer_admitted("plugin", parse_requirements(only).unwrap())
        .unwrap();
    let opened = open(&mut host, consumer, "inv", None);
    assert_eq!(opened.contracts, [Kind::UserInteraction]);
    let code = |host: &mut Host, kind, payload| {
        host.handle_request(T0, opened.key, kind, &text("r", payload))
            .unwrap_err()
            .code
    };
    assert_eq!(
        code(&mut host, Kind::UserInteraction, APPROVAL),
        Code::NotNegotiated
    );
    assert_eq!(
        code(&mut host, Kind::Notification, r#""text":"x""#),
        Code::NotNegotiated
    );
    host.handle_permission_withdrawn(T0, opened.key, Operations::NONE.with(Operation::Question));
    let question = r#""kind":"question","fields":[{"id":"a","kind":"confirm","label":"A"}]"#;
    assert_eq!(
        code(&mut host, Kind::UserInteraction, question),
        Code::PermissionDenied
    );
    assert_eq!(host.contracts(opened.key), []);
}

#[test]
fn the_end_of_anything_cancels_what_hangs_on_it() {
    type End = fn(&mut World);
    let ends: [(&str, End, Code); 6] = [
        (
            "invocation",
            |w| w.host.handle_invocation_ended(T0, w.invocation),
            Code::InvalidScope,
        ),
        (
            "consumer",
            |w| w.host.handle_consumer_stopped(T0, w.consumer),
            Code::InvalidScope,
        ),
        (
            "lease",
            |w| {
                w.host
                    .handle_provider_detached(T0, w.provider, Detach::LeaseEnded)
            },
            Code::ProviderUnavailable,
        ),
        (
            "requirement",
            |w| {
                w.host
                    .handle_consumer_updated(T0, w.consumer, parse_requirements(KINDS).unwrap())
                    .unwrap()
            },
            Code::NotNegotiated,
        ),
        (
            "support",
            |w| {
                w.host
                    .handle_provider_updated(T0, w.provider, parse_supports(KINDS).unwrap())
                    .unwrap()
            },
            Code::NotNegotiated,
        ),
        (
            "permission",
            |w| {
                w.host
                    .handle_permission_withdrawn(T0, w.invocation, Operations::all())
            },
            Code::PermissionDenied,
        ),
    ];
    for (name, end, code) in ends {
        let mut w = world(narrow(1), Presenting::OnOffer);
        let held = w.ask(Kind::UserInteraction, APPROVAL);
        let queued = w.ask(Kind::UserInteraction, SECRET);
        end(&mut w);
        let mut settled = w.settled();
        settled.sort_by_key(|(key, _)| *key);
        assert_eq!(
            settled,
            [(held, Terminal::Cancelled), (queued, Terminal::Cancelled)],
            "{name}"
        );
        let error = w
            .host
            .handle_request(
                T0,
                w.invocation,
                Kind::UserInteraction,
                &text("z", APPROVAL),
            )
            .unwrap_err();
        assert_eq!(error.code, code, "{name}");
        assert_eq!(w.host.pending(), 0);
        w.host.check();
    }
}

#[test]
fn a_lost_endpoint_cancels_what_was_shown_and_makes_the_rest_unavailable() {
    let mut w = world(HostConfig::default(), Presenting::Explicit);
    let shown = w.ask(Kind::UserInteraction, APPROVAL);
    let unseen = w.ask(Kind::UserInteraction, APPROVAL);
    w.host.handle_present(T0, shown, Epoch(1)).unwrap();
    w.host
        .handle_provider_detached(T0, w.provider, Detach::Lost);
    let gone = Terminal::Unavailable(Some("provider-disconnected".into()));
    assert_eq!(w.settled(), [(shown, Terminal::Cancelled), (unseen, gone)]);
    let error = w
        .host
        .handle_request(
            T0,
            w.invocation,
            Kind::UserInteraction,
            &text("z", APPROVAL),
        )
        .unwrap_err();
    assert_eq!(error.code, Code::ProviderDisconnected);
}

#[test]
fn an_unshown_request_moves_and_its_former_holder_is_refused() {
    let mut w = world(HostConfig::default(), Presenting::Explicit);
    let web = w
        .host
        .handle_provider_attached(
            "web",
            parse_supports(KINDS).unwrap(),
            InteractionLimits::default(),
            Presenting::Explicit,
        )
        .unwrap();
    let key = w.ask(Kind::UserInteraction, SECRET);
    w.drain();
    w.host.handle_transfer(T0, key, web).unwrap();
    assert_eq!(
        w.drain(),
        [
            Effect::Withdraw {
                request: key,
                epoch: Epoch(1),
                reason: Withdrawal::Transferred
            },
            Effect::Offer {
                request: key,
                provider: web,
                epoch: Epoch(2)
            },
        ]
    );
    assert_eq!(
        w.host.handle_present(T0, key, Epoch(1)).unwrap_err().code,
        Code::AuthorityConflict
    );
    let stale = w
        .host
        .handle_submit(T0, key, Epoch(1), r#"{"status":"cancelled"}"#, None)
        .unwrap_err();
    assert_eq!(stale.code, Code::AuthorityConflict);
    w.host.handle_present(T0, key, Epoch(2)).unwrap();
    assert_eq!(
        w.host
            .handle_transfer(T0, key, w.provider)
            .unwrap_err()
            .code,
        Code::AuthorityConflict
    );
    assert_eq!(w.drain(), []);
}

#[test]
fn release_frees_an_approval_and_ends_a_shown_secret() {
    let mut w = world(HostConfig::default(), Presenting::OnOffer);
    let (approval, secret) = (
        w.ask(Kind::UserInteraction, APPROVAL),
        w.ask(Kind::UserInteraction, SECRET),
    );
    w.drain();
    w.host.handle_released(T0, approval, Epoch(1)).unwrap();
    assert_eq!(
        w.drain(),
        [Effect::Released {
            request: approval,
            provider: w.provider
        }]
    );
    w.host.handle_unassigned(T0, approval).unwrap();
    assert_eq!(
        w.settled(),
        [(
            approval,
            Terminal::Unavailable(Some("authority-released".into()))
        )]
    );
    w.host.handle_released(T0, secret, Epoch(1)).unwrap();
    assert_eq!(w.settled(), [(secret, Terminal::Cancelled)]);
}

#[test]
fn the_strictest_concurrency_holds_and_the_queue_is_bounded() {
    let mut config = narrow(2);
    config.limits.max_queued_requests = 1;
    let mut w = world(config, Presenting::OnOffer);
    let keys: Vec<_> = (0..3)
        .map(|_| w.ask(Kind::UserInteraction, APPROVAL))
        .collect();
    assert_eq!(w.drain().len(), 2);
    let full = w
        .host
        .handle_request(
            T0,
            w.invocation,
            Kind::UserInteraction,
            &text("z", APPROVAL),
        )
        .unwrap_err();
    assert_eq!(full.code, Code::QueueLimit);
    // Another kind has its own lane.
    w.notify("k", "x");
    assert_eq!(w.drain().len(), 1);
    w.host
        .handle_submit(T0, keys[0], Epoch(1), APPROVED, None)
        .unwrap();
    assert!(w.drain().contains(&Effect::Offer {
        request: keys[2],
        provider: w.provider,
        epoch: Epoch(1)
    }));
    w.host.check();

    let mut config = narrow(1);
    config.limits.max_queued_requests = 0;
    let mut w = world(config, Presenting::OnOffer);
    w.ask(Kind::UserInteraction, APPROVAL);
    let full = w
        .host
        .handle_request(
            T0,
            w.invocation,
            Kind::UserInteraction,
            &text("z", APPROVAL),
        )
        .unwrap_err();
    assert_eq!(full.code, Code::ConcurrencyLimit);
}

#[test]
fn a_waiting_notification_gives_way_and_shares_the_receipt() {
    let mut w = world(narrow(1), Presenting::OnOffer);
    let shown = w.notify("k", "one");
    let (second, third, fourth) = (
        w.notify("k", "two"),
        w.notify("k", "three"),
        w.notify("k", "four"),
    );
    w.drain();
    w.host
        .handle_submit(T0, shown, Epoch(1), RECEIPT, None)
        .unwrap();
    let effects = w.drain();
    assert_eq!(
        effects[1],
        Effect::Offer {
            request: fourth,
            provider: w.provider,
            epoch: Epoch(1)
        }
    );
    assert_eq!(effects.len(), 2);
    w.host
        .handle_submit(T0, fourth, Epoch(1), RECEIPT, None)
        .unwrap();
    let settled: Vec<_> = w.settled().into_iter().map(|(key, _)| key).collect();
    assert_eq!(settled, [fourth, second, third]);
    w.host.check();
}

#[test]
fn a_withdrawn_notification_gives_the_place_back() {
    let mut w = world(narrow(1), Presenting::OnOffer);
    let shown = w.notify("k", "one");
    let (second, third, fourth) = (
        w.notify("k", "two"),
        w.notify("k", "three"),
        w.notify("k", "four"),
    );
    w.host.handle_cancel(T0, fourth).unwrap();
    w.host.handle_cancel(T0, second).unwrap();
    w.host.check();
    assert_eq!(
        w.settled()
            .into_iter()
            .map(|(key, _)| key)
            .collect::<Vec<_>>(),
        [fourth, second]
    );
    w.host
        .handle_submit(T0, shown, Epoch(1), RECEIPT, None)
        .unwrap();
    assert!(w.drain().contains(&Effect::Offer {
        request: third,
        provider: w.provider,
        epoch: Epoch(1)
    }));
}

#[test]
fn notifications_do_not_merge_across_invocations() {
    let mut w = world(narrow(1), Presenting::OnOffer);
    w.notify("k", "one");
    let waiting = w.notify("k", "two");
    let other = open(&mut w.host, w.consumer, "inv2", None).key;
    let body = text("r", r#""text":"x","deduplicationKey":"k""#).replace(r#""inv""#, r#""inv2""#);
    let third = w
        .host
        .handle_request(T0, other, Kind::Notification, &body)
        .unwrap()
        .key;
    w.host.handle_cancel(T0, waiting).unwrap();
    assert_eq!(w.settled(), [(waiting, Terminal::Cancelled)]);
    w.host.handle_cancel(T0, third).unwrap();
    w.host.check();
}

#[test]
fn a_redirect_is_announced_once_exactly_and_before_its_result() {
    let mut w = world(HostConfig::default(), Presenting::OnOffer);
    let exact = "http://127.0.0.1:1455/cb";
    let payload = format!(r#""mode":"http-get","exactRedirectUri":"{exact}""#);
    let result = r#"{"status":"submitted","value":{"query":{"code":["a"]}}}"#;
    let early = w.ask(Kind::ExternalRedirect, &payload);
    let error = w
        .host
        .handle_submit(T0, early, Epoch(1), result, None)
        .unwrap_err();
    assert_eq!(error.code, Code::RedirectNotReady);
    assert_eq!(
        w.settled(),
        [(early, Terminal::Failed(Code::RedirectNotReady))]
    );
    let key = w.ask(Kind::ExternalRedirect, &payload);
    w.drain();
    let wrong = r#"{"type":"ready","redirectUri":"http://127.0.0.1:1456/cb"}"#;
    assert_eq!(
        w.host
            .handle_progress(T0, key, Epoch(1), wrong)
            .unwrap_err()
            .code,
        Code::RedirectUriRejected
    );
    let ready = format!(r#"{{"type":"ready","redirectUri":"{exact}"}}"#);
    w.host.handle_progress(T0, key, Epoch(1), &ready).unwrap();
    assert_eq!(
        w.host
            .handle_progress(T0, key, Epoch(1), &ready)
            .unwrap_err()
            .code,
        Code::RedirectUsed
    );
    w.host
        .handle_submit(T0, key, Epoch(1), result, None)
        .unwrap();
    assert_eq!(
        w.drain(),
        [
            Effect::Progress { request: key },
            Effect::Settle {
                request: key,
                terminal: Terminal::Submitted
            }
        ]
    );
}

#[test]
fn an_invalid_answer_is_the_providers_failure_not_the_users_answer() {
    let mut w = world(HostConfig::default(), Presenting::OnOffer);
    let key = w.ask(Kind::UserInteraction, APPROVAL);
    let error = w
        .host
        .handle_submit(
            T0,
            key,
            Epoch(1),
            r#"{"status":"submitted","value":{"decision":"always"}}"#,
            None,
        )
        .unwrap_err();
    assert_eq!(
        (error.code, error.path.as_str()),
        (Code::InvalidAnswer, "Approval value.decision")
    );
    assert_eq!(w.settled(), [(key, Terminal::Failed(Code::InvalidAnswer))]);
}

#[test]
fn a_secret_is_held_once_and_shown_nowhere() {
    let mut w = world(HostConfig::default(), Presenting::OnOffer);
    let key = w.ask(Kind::UserInteraction, SECRET);
    let submitted = r#"{"status":"submitted","value":{}}"#;
    w.host
        .handle_submit(
            T0,
            key,
            Epoch(1),
            submitted,
            Some(Secret::new("hunter2".into())),
        )
        .unwrap();
    let effects = format!("{:?}", w.drain());
    assert!(!effects.contains("hunter2"));
    assert_eq!(w.host.take_secret(key).unwrap().expose(), "hunter2");
    assert!(w.host.take_secret(key).is_none());

    let key = w.ask(
        Kind::UserInteraction,
        r#""kind":"secret-input","label":"Token","minLength":20"#,
    );
    let error = w
        .host
        .handle_submit(
            T0,
            key,
            Epoch(1),
            submitted,
            Some(Secret::new("hunter2".into())),
        )
        .unwrap_err();
    assert!(!format!("{error} {error:?} {}", error.to_json()).contains("hunter2"));
    assert!(w.host.take_secret(key).is_none());
}

#[test]
fn deceptive_text_reaches_the_provider_visible() {
    let mut w = world(HostConfig::default(), Presenting::OnOffer);
    let body = text(
        "r",
        r#""kind":"approval","action":"run\u001b[8m","summary":"s""#,
    );
    let admitted = w
        .host
        .handle_request(T0, w.invocation, Kind::UserInteraction, &body)
        .unwrap();
    assert!(
        admitted
            .rewritten
            .unwrap()
            .contains(r#""action":"run\\u{1b}[8m""#)
    );
    let plain = w
        .host
        .handle_request(
            T0,
            w.invocation,
            Kind::UserInteraction,
            &text("q", APPROVAL),
        )
        .unwrap();
    assert_eq!(plain.rewritten, None);
}

#[test]
fn sizes_are_bounded_by_the_strictest_party() {
    let mut config = HostConfig::default();
    config.limits.max_text_length = 100;
    config.limits.max_request_bytes = 400;
    let mut host = Host::new(config);
    let supports = r#"[{"apiVersion":"presentation.dsh/v1alpha1","kind":"UserInteraction","spec":{"operations":["question"],"limits":{"maxFields":1}}}]"#;
    let connection = InteractionLimits {
        max_text_length: Some(5),
        ..InteractionLimits::default()
    };
    host.handle_provider_attached(
        "tui",
        parse_supports(supports).unwrap(),
        connection,
        Presenting::OnOffer,
    )
    .unwrap();
    let wanted = r#"[{"apiVersion":"presentation.dsh/v1alpha1","kind":"UserInteraction","spec":{"operations":["question"]}}]"#;
    let consumer = host
        .handle_consumer_admitted("plugin", parse_requirements(wanted).unwrap())
        .unwrap();
    let key = open(&mut host, consumer, "inv", None).key;
    let field =
        |id: &str, label: &str| format!(r#"{{"id":"{id}","kind":"confirm","label":"{label}"}}"#);
    let ask = |host: &mut Host, id: &str, fields: &[String]| {
        let body = text(
            id,
            &format!(r#""kind":"question","fields":[{}]"#, fields.join(",")),
        );
        host.handle_request(T0, key, Kind::UserInteraction, &body)
            .map(|_| ())
            .map_err(|error| error.code)
    };
    assert_eq!(ask(&mut host, "a", &[field("a", "12345")]), Ok(()));
    assert_eq!(
        ask(&mut host, "b", &[field("a", "123456")]),
        Err(Code::SizeLimit)
    );
    assert_eq!(
        ask(&mut host, "c", &[field("a", "1"), field("b", "1")]),
        Err(Code::SizeLimit)
    );
    assert_eq!(
        ask(&mut host, "d", &[field("a", &"1".repeat(400))]),
        Err(Code::SizeLimit)
    );
    assert_eq!(
        ask(&mut host, &"e".repeat(257), &[field("a", "1")]),
        Err(Code::SizeLimit)
    );
}

#[test]
fn an_invocation_without_a_provider_is_open_and_says_why_it_can_ask_nothing() {
    let mut config = HostConfig::default();
    config.rules.push(Rule {
        consumer: None,
        providers: vec!["web".into()],
    });
    let mut host = Host::new(config);
    host.handle_provider_attached(
        "tui",
        parse_supports(KINDS).unwrap(),
        InteractionLimits::default(),
        Presenting::OnOffer,
    )
    .unwrap();
    let consumer = host
        .handle_consumer_admitted("plugin", parse_requirements(KINDS).unwrap())
        .unwrap();
    let opened = open(&mut host, consumer, "inv", None);
    assert_eq!(
        (opened.provider, opened.contracts.len(), opened.issues.len()),
        (None, 0, 3)
    );
    let error = host
        .handle_request(T0, opened.key, Kind::UserInteraction, &text("r", APPROVAL))
        .unwrap_err();
    assert_eq!(error.code, Code::ProviderUnavailable);
}
