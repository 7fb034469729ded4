//! Two ends against each other, and one end against a hostile peer.
#![allow(clippy::unwrap_used)]

use super::*;
use crate::presentation::error::Code;
use crate::presentation::host::Millis;
use crate::presentation::protocol::Kind;
use crate::presentation::secret::Secret;
use proptest::prelude::*;

const T0: Millis = Millis(0);
const SUPPORTS: &str = r#"[{"apiVersion":"presentation.dsh/v1alpha1","kind":"OpenExternal"}]"#;

/// Carries what `from` sends to `to` and gives everything else that happened at `from`.
fn carry(from: &mut Link, to: &mut Link) -> Vec<Output> {
    let mut happened = Vec::new();
    while let Some(output) = from.poll_output() {
        match output {
            Output::Send(text) => to.handle_message(T0, Some(&text)),
            other => happened.push(other),
        }
    }
    happened
}

fn events(link: &mut Link) -> Vec<Output> {
    std::iter::from_fn(|| link.poll_output())
        .filter(|output| !matches!(output, Output::Send(_)))
        .collect()
}

fn opened() -> (Link, Link) {
    let mut host = Link::host(T0, LinkLimits::default());
    let mut provider = Link::provider(T0, LinkLimits::default(), "tui", SUPPORTS).unwrap();
    carry(&mut provider, &mut host);
    let hello = carry(&mut host, &mut provider);
    assert!(
        matches!(&hello[..], [Output::Hello { participant, supports }] if participant == "tui" && supports == SUPPORTS)
    );
    host.welcome();
    carry(&mut host, &mut provider);
    assert!(matches!(
        carry(&mut provider, &mut host)[..],
        [Output::Welcome]
    ));
    (host, provider)
}

#[test]
fn a_request_crosses_is_shown_and_answered() {
    let (mut host, mut provider) = opened();
    let id = host
        .request(Kind::UserInteraction, r#"{"kind":"secret-input"}"#)
        .unwrap();
    carry(&mut host, &mut provider);
    assert!(
        matches!(&events(&mut provider)[..], [Output::Request { id: 1, kind: Kind::UserInteraction, input }] if input.contains("secret-input"))
    );
    provider.present(id).unwrap();
    carry(&mut provider, &mut host);
    assert!(matches!(events(&mut host)[..], [Output::Present { id: 1 }]));
    host.answer_present(id, None);
    carry(&mut host, &mut provider);
    assert!(matches!(
        events(&mut provider)[..],
        [Output::Presented {
            id: 1,
            refusal: None
        }]
    ));
    provider
        .answer(
            id,
            r#"{"status":"submitted","value":{}}"#,
            Some(Secret::new("pä\"ss".into())),
        )
        .unwrap();
    carry(&mut provider, &mut host);
    let answered = events(&mut host);
    assert!(
        !format!("{answered:?}").contains("ss"),
        "outputs do not show secrets"
    );
    assert!(
        matches!(&answered[..], [Output::Result { id: 1, secret: Some(secret), .. }] if secret.expose() == "pä\"ss")
    );
    assert_eq!((host.pending(), provider.pending()), (0, 0));
    assert_eq!(
        provider.answer(id, "{}", None).unwrap_err().code,
        Code::AlreadySettled
    );
}

#[test]
fn cancel_and_answer_cross_on_the_way() {
    let (mut host, mut provider) = opened();
    let id = host.request(Kind::OpenExternal, "{}").unwrap();
    carry(&mut host, &mut provider);
    events(&mut provider);
    provider
        .answer(id, r#"{"status":"cancelled"}"#, None)
        .unwrap();
    host.cancel(id, Reason::Expired);
    carry(&mut host, &mut provider);
    carry(&mut provider, &mut host);
    assert!(events(&mut provider).is_empty(), "its request was over");
    carry(&mut host, &mut provider);
    assert!(
        events(&mut host).is_empty(),
        "the late answer settles nothing"
    );
    assert!(matches!(
        events(&mut provider)[..],
        [Output::Refused {
            id: 1,
            code: Code::AlreadySettled
        }]
    ));
}

fn hostile(messages: &[&str]) -> (Link, Vec<Output>) {
    let (mut host, mut provider) = opened();
    host.request(Kind::OpenExternal, "{}").unwrap();
    host.request(Kind::OpenExternal, "{}").unwrap();
    carry(&mut host, &mut provider);
    for message in messages {
        host.handle_message(T0, Some(message));
    }
    let happened = std::iter::from_fn(|| host.poll_output()).collect();
    (host, happened)
}

#[test]
fn each_misdeed_has_its_end() {
    let big = format!(
        r#"{{"t":"progress","id":1,"value":"{}"}}"#,
        "x".repeat(4 << 20)
    );
    for (messages, code) in [
        (&["{"][..], Code::MalformedMessage),
        (&[r#"{"t":"result","id":1}"#], Code::MalformedMessage),
        (&[&big], Code::MessageTooLarge),
        (
            &[r#"{"t":"hello","v":1,"participant":"x","supports":[]}"#],
            Code::MessageOutOfOrder,
        ),
        (&[r#"{"t":"welcome","v":1}"#], Code::MessageOutOfOrder),
        (&[r#"{"t":"granted","id":1}"#], Code::MessageOutOfOrder),
        (
            &[r#"{"t":"present","id":1}"#, r#"{"t":"present","id":1}"#],
            Code::MessageOutOfOrder,
        ),
        (
            &[
                r#"{"t":"progress","id":1,"value":1}"#,
                r#"{"t":"progress","id":1,"value":1}"#,
            ],
            Code::MessageOutOfOrder,
        ),
        (
            &[r#"{"t":"result","id":3,"result":{}}"#],
            Code::UnknownRequest,
        ),
        (
            &[r#"{"t":"bye","code":"channel-closed"}"#],
            Code::ChannelClosed,
        ),
    ] {
        let (host, happened) = hostile(messages);
        let failed = happened
            .iter()
            .filter(|output| {
                matches!(
                    output,
                    Output::Failed {
                        code: Code::ProviderDisconnected,
                        ..
                    }
                )
            })
            .count();
        assert_eq!(failed, 2, "{code}");
        assert!(
            matches!(happened.last(), Some(Output::Closed { code: last }) if *last == code),
            "{code}: {happened:?}"
        );
        assert_eq!((host.pending(), host.poll_timeout()), (0, None));
    }
}

#[test]
fn a_second_answer_is_told_and_nothing_else() {
    let answer = r#"{"t":"result","id":1,"result":{"status":"cancelled"}}"#;
    let (host, happened) = hostile(&[
        answer,
        answer,
        r#"{"t":"failed","id":1,"code":"implementation-failed"}"#,
    ]);
    let results = happened
        .iter()
        .filter(|output| matches!(output, Output::Result { .. } | Output::Failed { .. }))
        .count();
    assert_eq!((results, host.pending()), (1, 1));
    let told = happened
        .iter()
        .filter(|output| matches!(output, Output::Send(text) if text.contains("already-settled")))
        .count();
    assert_eq!(told, 2);
}

#[test]
fn a_half_open_channel_is_pinged_and_then_given_up() {
    let (mut host, mut provider) = opened();
    host.request(Kind::OpenExternal, "{}").unwrap();
    carry(&mut host, &mut provider);
    assert_eq!(host.poll_timeout(), Some(Millis(15_000)));
    host.handle_timeout(Millis(15_000));
    assert!(matches!(host.poll_output(), Some(Output::Send(text)) if *text == r#"{"t":"ping"}"#));
    assert_eq!(host.poll_timeout(), Some(Millis(30_000)));
    host.handle_message(Millis(16_000), Some(r#"{"t":"pong"}"#));
    assert_eq!(host.poll_timeout(), Some(Millis(31_000)));
    for at in [31_000, 46_000] {
        host.handle_timeout(Millis(at));
        assert!(matches!(host.poll_output(), Some(Output::Send(_))));
    }
    host.handle_timeout(Millis(61_000));
    assert!(matches!(
        events(&mut host)[..],
        [
            Output::Failed { id: 1, .. },
            Output::Closed {
                code: Code::ChannelTimeout
            }
        ]
    ));
    let mut silent = Link::host(T0, LinkLimits::default());
    silent.handle_timeout(Millis(10_000));
    assert!(matches!(
        events(&mut silent)[..],
        [Output::Closed {
            code: Code::ChannelTimeout
        }]
    ));
}

#[test]
fn a_lost_channel_cancels_at_the_providers_end() {
    let (mut host, mut provider) = opened();
    host.request(Kind::OpenExternal, "{}").unwrap();
    carry(&mut host, &mut provider);
    events(&mut provider);
    provider.handle_lost();
    assert!(matches!(
        events(&mut provider)[..],
        [
            Output::Cancelled {
                id: 1,
                reason: Reason::Cancelled
            },
            Output::Closed {
                code: Code::ChannelLost
            }
        ]
    ));
    host.close(Code::ChannelClosed);
    assert_eq!(
        host.request(Kind::OpenExternal, "{}").unwrap_err().code,
        Code::ProviderDisconnected
    );
}

#[test]
fn pending_requests_are_bounded_at_both_ends() {
    let limits = LinkLimits {
        max_pending: 1,
        ..LinkLimits::default()
    };
    let mut host = Link::host(T0, LinkLimits::default());
    let mut provider = Link::provider(T0, limits, "tui", SUPPORTS).unwrap();
    carry(&mut provider, &mut host);
    host.welcome();
    events(&mut host);
    provider.handle_message(T0, Some(r#"{"t":"welcome","v":1}"#));
    for id in 1..=2 {
        provider.handle_message(
            T0,
            Some(&format!(
                r#"{{"t":"request","id":{id},"kind":"OpenExternal","input":{{}}}}"#
            )),
        );
    }
    assert_eq!(provider.pending(), 1);
    let refused = std::iter::from_fn(|| provider.poll_output())
        .any(|output| matches!(output, Output::Send(text) if text.contains("concurrency-limit")));
    assert!(refused);
}

/// Messages near to what a peer may say: whole ones, cut ones, mutated ones, noise.
fn message() -> impl Strategy<Value = String> {
    let frame = prop_oneof![
        Just(r#"{"t":"present","id":I}"#),
        Just(r#"{"t":"release","id":I}"#),
        Just(r#"{"t":"progress","id":I,"value":{"type":"ready"}}"#),
        Just(r#"{"t":"result","id":I,"result":{"status":"cancelled"}}"#),
        Just(r#"{"t":"result","id":I,"result":{"status":"submitted","value":{}},"secret":"6869"}"#),
        Just(r#"{"t":"failed","id":I,"code":"implementation-failed"}"#),
        Just(r#"{"t":"hello","v":1,"participant":"tui","supports":[]}"#),
        Just(r#"{"t":"welcome","v":1}"#),
        Just(r#"{"t":"request","id":I,"kind":"CopyText","input":{}}"#),
        Just(r#"{"t":"granted","id":I}"#),
        Just(r#"{"t":"denied","id":I,"code":"already-settled"}"#),
        Just(r#"{"t":"cancel","id":I,"reason":"cancelled"}"#),
        Just(r#"{"t":"settled","id":I,"code":"already-settled"}"#),
        Just(r#"{"t":"ping"}"#),
        Just(r#"{"t":"bye","code":"channel-closed"}"#),
    ];
    let id = prop_oneof![6 => "[1-6]", 1 => "0|-1|1.5|1e400|9007199254740993|\"1\"|null"];
    (
        frame,
        id,
        any::<prop::sample::Index>(),
        0u8..24,
        any::<char>(),
    )
        .prop_map(|(frame, id, place, damage, noise)| {
            let mut text = frame.replace('I', &id);
            let mut at = place.index(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            match damage {
                0 => text.truncate(at),
                1 => text.insert(at, noise),
                2 => text.insert_str(at, "\\ud800"),
                3 => text.push_str(&frame[..0]),
                4 => text = "[".repeat(200),
                5 => text.insert_str(at, "\"id\":1,"),
                6 => text.clear(),
                _ => {}
            }
            text
        })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    // 4,000 links of 1 to 60 messages: about 120,000 messages.
    #[test]
    fn no_message_of_any_peer_leaves_a_request_without_its_one_end(
        role in prop_oneof![Just(Role::Host), Just(Role::Provider)],
        script in prop::collection::vec((message(), 0u8..12), 1..60),
        lost in any::<bool>(),
    ) {
        let (mut host, mut provider) = opened();
        let link = if role == Role::Host { &mut host } else { &mut provider };
        let (mut begun, mut ended, mut closed) = (Vec::new(), Vec::new(), 0);
        let mut watch = |link: &mut Link, begun: &mut Vec<u64>, ended: &mut Vec<u64>| {
            while let Some(output) = link.poll_output() {
                assert_eq!(closed, 0, "nothing follows the end");
                match output {
                    Output::Request { id, .. } => begun.push(id),
                    Output::Result { id, .. } | Output::Failed { id, .. } | Output::Released { id } | Output::Cancelled { id, .. } => ended.push(id),
                    Output::Closed { .. } => closed += 1,
                    _ => {}
                }
            }
        };
        let mut now = 0;
        for (text, turn) in script {
            now += 500;
            link.handle_message(Millis(now), Some(&text));
            match (role, turn) {
                (Role::Host, 0..=3) => begun.extend(link.request(Kind::CopyText, "{}").ok()),
                (Role::Host, 4) => {
                    if link.pending.contains_key(&2) {
                        ended.push(2);
                    }
                    link.cancel(2, Reason::Cancelled);
                }
                (Role::Host, 5) => link.answer_present(1, None),
                (Role::Provider, 0) => {
                    ended.extend(link.answer(1, r#"{"status":"cancelled"}"#, None).ok().map(|()| 1));
                }
                (Role::Provider, 1) => drop(link.present(2)),
                (Role::Provider, 2) => {
                    ended.extend(link.fail(3, Code::ImplementationFailed).ok().map(|()| 3));
                }
                (_, 6) => link.handle_message(Millis(now), None),
                _ => {}
            }
            watch(link, &mut begun, &mut ended);
        }
        if lost { link.handle_lost() } else { link.close(Code::ChannelClosed) }
        watch(link, &mut begun, &mut ended);
        begun.sort_unstable();
        ended.sort_unstable();
        prop_assert_eq!(begun, ended);
        prop_assert_eq!((closed, link.pending(), link.poll_timeout()), (1, 0, None));
    }
}
