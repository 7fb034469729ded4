//! Clients that come back: exactly the rest, and a grace in which the run goes on (X1, X10).

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::agent::{Answer, ESCALATE};
use super::world::{World, ask, merged, resolve, resume};
use crate::gateway::config::RunLimits;
use crate::gateway::event_id::{EventId, RecordTag};
use crate::gateway::run::log::{Cursor, RunLog, StreamKey};
use crate::gateway::{Code, Principal, ReaderId};

const GRACE: Duration = Duration::from_secs(5);

fn world() -> World {
    World::new(json!({"reconnectGraceMs": 5_000, "flushIntervalMs": 0}))
}

/// A run that has said something and goes on: its agent waits for the next step.
fn speaking(world: &mut World) -> ReaderId {
    let reader = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    world.open_next();
    world.drive();
    world.step_agent(0, Answer::Text(vec![]));
    world.step_agent(0, Answer::Retry);
    reader
}

fn code(result: Result<ReaderId, crate::gateway::GatewayError>) -> Code {
    result.unwrap_err().code
}

#[test]
fn a_client_that_comes_back_gets_exactly_the_rest() {
    let mut world = world();
    let first = speaking(&mut world);
    world.leave(first);
    world.step_agent(0, Answer::Retry);
    let second = world.come_back(first).unwrap();
    world.leave(second);
    world.settle();
    let third = world.come_back(second).unwrap();
    assert_eq!(world.last(third)["type"], "RUN_FINISHED");
    let whole = world.reconnect("t", "r", None).unwrap();
    assert_eq!(
        merged(&world.received(third)),
        merged(&world.received(whole))
    );
    // Who has it all is told that it is over, and nothing else.
    let nothing = world.come_back(third).unwrap();
    assert!(world.responses[&nothing].ended);
    assert_eq!(world.responses[&nothing].text, "");
}

#[test]
fn without_a_grace_the_rest_is_the_error_that_ended_the_run() {
    let mut world = World::new(json!({}));
    let first = speaking(&mut world);
    world.leave(first);
    let second = world.come_back(first).unwrap();
    assert_eq!(
        world.responses[&second].run_error().as_deref(),
        Some("CLIENT_DISCONNECTED")
    );
    assert_eq!(world.gateway.poll_timeout(), None);
}

#[test]
fn the_last_reader_that_leaves_begins_the_grace_and_the_next_one_ends_it() {
    let mut world = world();
    let first = speaking(&mut world);
    let second = world.reconnect("t", "r", None).unwrap();
    world.leave(first);
    world.advance(GRACE * 3);
    world.leave(second);
    world.advance(GRACE - Duration::from_millis(1));
    let third = world.come_back(second).unwrap();
    world.advance(GRACE * 3);
    assert!(!world.responses[&third].ended);
    world.leave(third);
    world.advance(GRACE - Duration::from_millis(1));
    assert!(world.agents.values().all(|agent| !agent.is_cancelled()));
    world.advance(Duration::from_millis(1));
    assert!(world.agents.values().all(|agent| agent.is_cancelled()));
    world.settle();
    let late = world.come_back(third).unwrap();
    assert_eq!(
        world.responses[&late].run_error().as_deref(),
        Some("CLIENT_DISCONNECTED")
    );
}

#[test]
fn a_run_may_end_in_its_grace() {
    let mut world = world();
    let first = speaking(&mut world);
    world.leave(first);
    world.settle();
    let second = world.come_back(first).unwrap();
    assert_eq!(world.last(second)["type"], "RUN_FINISHED");
    world.advance(GRACE * 2);
    let log = world.agents.values().next().unwrap().log.join("\n");
    assert!(!log.contains("aborted"));
}

#[test]
fn a_queued_run_keeps_its_place_in_its_grace_only() {
    let mut world = world();
    speaking(&mut world);
    let second = world.send(&ask("t", "r2", &[("m2", "b")])).unwrap();
    let third = world.send(&ask("t", "r3", &[("m3", "c")])).unwrap();
    world.leave(second);
    world.leave(third);
    world.advance(GRACE - Duration::from_millis(1));
    let back = world.come_back(second).unwrap();
    world.advance(GRACE);
    assert_eq!(code(world.come_back(third)), Code::NotFound);
    world.settle();
    assert_eq!(world.last(back)["type"], "RUN_FINISHED");
    let log = world.agents.values().next().unwrap().log.join("\n");
    assert!(log.contains("\"m2\"") && !log.contains("\"m3\""));
}

#[test]
fn a_queued_run_is_admitted_in_its_grace_like_any_other() {
    let mut world = world();
    speaking(&mut world);
    let second = world.send(&ask("t", "r2", &[("m2", "b")])).unwrap();
    world.leave(second);
    world.settle();
    let back = world.come_back(second).unwrap();
    assert_eq!(world.last(back)["type"], "RUN_FINISHED");
}

#[test]
fn a_queued_run_that_is_refused_in_its_grace_is_gone() {
    let mut world = world();
    speaking(&mut world);
    let second = world
        .send(&ask("t", "r2", &[("m", "other words")]))
        .unwrap();
    world.leave(second);
    world.settle();
    assert_eq!(code(world.come_back(second)), Code::NotFound);
    world.advance(GRACE);
}

#[test]
fn what_nobody_has_is_not_found_and_opens_nothing() {
    let mut world = world();
    assert_eq!(code(world.reconnect("t", "r", None)), Code::NotFound);
    let again = world.send_after(&ask("t", "r", &[("m", "hi")]), Some("00000000-3"));
    assert_eq!(code(again), Code::NotFound);
    assert_eq!(world.gateway.thread_count(), 0);
    speaking(&mut world);
    for (thread, run) in [("t", "r2"), ("t2", "r"), ("T", "r")] {
        assert_eq!(code(world.reconnect(thread, run, None)), Code::NotFound);
    }
    for (tenant, user) in [("t", "other"), ("other", "u")] {
        let principal = Principal {
            tenant: tenant.into(),
            user: user.into(),
        };
        let foreign = world
            .gateway
            .handle_reconnect(world.now, principal, "t", "r", None);
        assert_eq!(code(foreign), Code::NotFound);
    }
    assert_eq!(world.gateway.thread_count(), 1);
}

#[test]
fn ids_that_no_frame_had_are_refused() {
    let mut world = world();
    let first = speaking(&mut world);
    let (entry, offset) = {
        let mut lines = world.responses[&first].text.lines();
        let id = lines.rfind(|line| line.starts_with("id: ") && line.contains('.'));
        let (entry, offset) = id.unwrap()["id: ".len()..].split_once('.').unwrap();
        (entry.to_owned(), offset.parse::<usize>().unwrap())
    };
    let (record, _) = entry.split_once('-').unwrap();
    let beyond = format!("{entry}.{}", offset + 1);
    let before = world.reconnect("t", "r", Some(&format!("{entry}.1")));
    assert!(before.is_ok(), "a boundary of what was sent");
    let of_it = ["99", "0.1"].map(|place| format!("{record}-{place}"));
    let [late, no_delta] = [&of_it[0], &of_it[1]];
    for bad in ["x", late, no_delta, &entry, &beyond, "00000000-0"] {
        let refused = world.reconnect("t", "r", Some(bad));
        assert_eq!(code(refused), Code::InvalidAguiInput, "{bad}");
    }
    let body = ask("t", "r", &[("m", "hi")]);
    assert_eq!(
        code(world.send_after(&body, Some(late))),
        Code::InvalidAguiInput
    );
}

#[test]
fn an_id_reads_on_in_the_record_that_had_it() {
    // Another run has the same run id once the first is forgotten.
    let mut world = World::new(json!({"reconnectGraceMs": 5_000, "maxRunsPerThread": 1}));
    let body = ask("t", "r", &[("m", "hi")]);
    let first = world.send(&body).unwrap();
    world.settle();
    world.send(&ask("t", "s", &[("m", "hi")])).unwrap();
    let id = world.last_id(first).unwrap().to_owned();
    assert_eq!(code(world.send_after(&body, Some(&id))), Code::NotFound);
    let again = world.send(&body).unwrap();
    assert_eq!(world.last(again)["type"], "RUN_FINISHED");
    for refused in [
        world.reconnect("t", "r", Some(&id)),
        world.send_after(&body, Some(&id)),
    ] {
        assert_eq!(code(refused), Code::InvalidAguiInput);
    }
}

#[test]
fn runs_that_share_an_id_are_read_each_from_its_own_record() {
    let mut world = world();
    let first = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    world.settle_with(&Answer::Calls(vec![ESCALATE.into()]));
    let [(_, told)] = &world.interrupts("t").into_iter().collect::<Vec<_>>()[..] else {
        panic!("an interrupt");
    };
    let answer = resume("t", "r", vec![resolve(&told[0], true)]);
    let second = world.send(&answer).unwrap();
    world.settle();
    for reader in [first, second] {
        let start = world.responses[&reader].text.lines().next().unwrap();
        let start = start.strip_prefix("id: ").unwrap().to_owned();
        let rest = world.reconnect("t", "r", Some(&start)).unwrap();
        let (whole, rest) = (world.received(reader), world.received(rest));
        assert_eq!(merged(&rest), merged(&whole)[1..]);
    }
}

#[test]
fn a_repeated_request_goes_on_from_where_it_was() {
    let mut world = world();
    let body = ask("t", "r", &[("m", "hi")]);
    let first = speaking(&mut world);
    world.leave(first);
    let last = world.responses[&first].last_id().unwrap().to_owned();
    let second = world.send_after(&body, Some(&last)).unwrap();
    world.responses.get_mut(&second).unwrap().continues = Some(first);
    world.settle();
    let whole = world.send(&body).unwrap();
    assert_eq!(
        merged(&world.received(second)),
        merged(&world.received(whole))
    );
    let other = world.send_after(&ask("t", "r", &[("m", "ho")]), Some(&last));
    assert_eq!(code(other), Code::RunIdConflict);
}

#[test]
fn the_end_of_everything_releases_what_waits_in_its_grace() {
    let mut world = world();
    let first = speaking(&mut world);
    let second = world.send(&ask("t", "r2", &[("m2", "b")])).unwrap();
    let third = world.send(&ask("t2", "r", &[("m", "b")])).unwrap();
    for reader in [first, second, third] {
        world.leave(reader);
    }
    world.gateway.shutdown(world.now);
    world.settle();
    assert!(world.gateway.is_drained());
    world.gateway.assert_released();
}

#[test]
fn a_run_that_overflows_in_its_grace_is_cancelled_and_keeps_no_timer() {
    let mut world = World::new(json!({"reconnectGraceMs": 5_000, "maxRunEventBytes": 2_500}));
    let first = speaking(&mut world);
    world.leave(first);
    world.step_agent(0, Answer::Text(vec!["x".repeat(3_000)]));
    world.settle();
    let back = world.come_back(first).unwrap();
    assert_eq!(
        world.responses[&back].run_error().as_deref(),
        Some("AG_UI_EVENT_BUFFER_OVERFLOW")
    );
}

#[test]
fn reasoning_goes_to_runs_that_asked_for_it_and_survives_a_break() {
    let mut world = world();
    let asked = |run: &str, message: &str| {
        let mut body = ask("t", run, &[(message, "hi")]);
        body["forwardedProps"] = json!({"dsh": {"reasoning": true}});
        body
    };
    let reader = world.send(&asked("r1", "m1")).unwrap();
    world.settle();
    let types = world.types(reader);
    assert_eq!(
        types[2..8],
        [
            "REASONING_START",
            "REASONING_MESSAGE_START",
            "REASONING_MESSAGE_CONTENT",
            "REASONING_MESSAGE_END",
            "REASONING_END",
            "TEXT_MESSAGE_START",
        ]
    );
    let plain = world.send(&ask("t", "r2", &[("m2", "hi")])).unwrap();
    world.settle();
    let silent = world.types(plain);
    assert!(silent.iter().all(|name| !name.starts_with("REASONING")));
    let snapshot = &world.events(plain)[1]["messages"];
    assert!(!snapshot.to_string().contains("reasoning"));
}

#[test]
fn the_driver_is_told_whether_reasoning_is_wanted() {
    let mut world = world();
    let mut body = ask("t", "r1", &[("m1", "hi")]);
    body["forwardedProps"] = json!({"dsh": {"reasoning": true}});
    world.send(&body).unwrap();
    world.open_next();
    let thread = *world.agents.keys().next().unwrap();
    assert!(!world.gateway.wants_reasoning(thread));
    world.drive();
    world.step_agent(0, Answer::Text(vec![]));
    assert!(world.gateway.wants_reasoning(thread));
    world.settle();
    assert!(!world.gateway.wants_reasoning(thread));
}

/// One thing that happens to a record.
#[derive(Debug, Clone)]
enum Happens {
    Event,
    Delta(u32, String),
    /// The live reader takes what there is.
    Read,
}

fn happenings() -> impl Strategy<Value = Vec<Happens>> {
    let piece = prop::sample::select(vec![
        "a",
        "\"",
        "\\",
        "\n",
        "\u{1}",
        "é",
        "漢",
        "👩‍👩‍👧",
        "u0041",
        "/",
        "\u{7f}",
        "\\n",
        "\u{2028}",
    ]);
    let text = prop::collection::vec(piece, 1..6).prop_map(|pieces| pieces.concat());
    prop::collection::vec(
        prop_oneof![
            1 => Just(Happens::Event),
            6 => (0u32..3, text).prop_map(|(stream, text)| Happens::Delta(stream, text)),
            3 => Just(Happens::Read),
        ],
        1..40,
    )
}

fn read(log: &RunLog, cursor: &mut Cursor) -> String {
    let mut frames = String::new();
    log.read(cursor, &mut frames);
    frames
}

fn id(text: &str) -> EventId {
    EventId::read(Some(text)).unwrap().unwrap()
}

/// Ids of frames, with the frames up to each.
fn cuts(frames: &str) -> Vec<(String, String)> {
    let mut seen = String::new();
    let mut cuts = Vec::new();
    for frame in frames.split_inclusive("\n\n") {
        seen.push_str(frame);
        let id = frame.lines().find_map(|line| line.strip_prefix("id: "));
        cuts.push((id.unwrap().to_owned(), seen.clone()));
    }
    cuts
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_000, ..ProptestConfig::default() })]

    #[test]
    fn every_cut_of_a_live_stream_is_followed_by_exactly_the_rest(happenings in happenings()) {
        let mut log = RunLog::new(RecordTag(1), RunLimits { events: 256, bytes: 65_536 }, 16);
        let mut live = (Cursor::default(), String::new());
        // Readers that came back at some frame while the run was under way, and what they have with it.
        let mut back: Vec<(Cursor, String)> = Vec::new();
        for (at, happens) in happenings.iter().chain([&Happens::Read]).enumerate() {
            match happens {
                Happens::Event => log.event(format!(r#"{{"type":"E","n":{at}}}"#)).unwrap(),
                Happens::Delta(stream, text) => {
                    let head = || format!(r#"{{"type":"D","messageId":"{stream}","delta":""#);
                    log.delta(StreamKey(*stream), head, text).unwrap();
                }
                Happens::Read => {
                    live.1.push_str(&read(&log, &mut live.0));
                    for (last, seen) in cuts(&live.1) {
                        let cursor = log.cursor_after(id(&last)).expect("a frame that was sent");
                        back.push((cursor, seen));
                    }
                }
            }
            for (cursor, seen) in &mut back {
                // They read now and then, as their sockets take it.
                if at % 3 == 0 {
                    seen.push_str(&read(&log, cursor));
                }
            }
        }
        log.terminate(|_| r#"{"type":"Z"}"#.into());
        let whole = merged(&read(&log, &mut Cursor::default()));
        live.1.push_str(&read(&log, &mut live.0));
        prop_assert_eq!(&merged(&live.1), &whole);
        for (mut cursor, mut seen) in back {
            seen.push_str(&read(&log, &mut cursor));
            prop_assert_eq!(&merged(&seen), &whole);
        }
    }

    #[test]
    fn every_boundary_is_a_cut_and_nothing_else_is(text in "[a\"\\\\\n\u{1}é漢👩u/]{1,12}") {
        let mut log = RunLog::new(RecordTag(1), RunLimits { events: 16, bytes: 4096 }, 16);
        log.event("{}").unwrap();
        log.delta(StreamKey(0), || r#"{"type":"D","delta":""#.into(), &text).unwrap();
        let frames = read(&log, &mut Cursor::default());
        let (_, delta) = frames.split_once("\"delta\":\"").unwrap();
        let inside = delta.strip_suffix("\"}\n\n").unwrap();
        let parse = |part: &str| serde_json::from_str::<String>(&format!("\"{part}\"")).ok();
        for offset in 1..=inside.len() + 1 {
            let cursor = log.cursor_after(id(&format!("00000001-1.{offset}")));
            let first = inside.get(..offset).and_then(parse);
            prop_assert_eq!(cursor.is_some(), first.is_some(), "{} of {}", offset, inside);
            if let (Some(mut cursor), Some(first)) = (cursor, first) {
                let rest = merged(&read(&log, &mut cursor));
                let rest = rest.first().and_then(|event: &Value| event["delta"].as_str());
                prop_assert_eq!(first + rest.unwrap_or_default(), text.clone());
            }
        }
    }
}
