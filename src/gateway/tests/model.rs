//! Random schedules of requests, disconnects, host events, timeouts and disposals, holding the invariants of
//! `design.md`: one terminal per run and nothing after it, each accepted message admitted once, each parked call
//! settled once, no effect for a disposed thread, limits never exceeded, everything released at the end.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::agent::Answer;
use super::world::{World, ask, merged, pick};
use crate::gateway::{Code, ReaderId};

const MAX_RUNS: usize = 3;
const MAX_EVENTS: usize = 64;
const MAX_BYTES: usize = 4096;

/// One move of the schedule. Indices are taken modulo what there is.
#[derive(Debug, Clone)]
enum Move {
    /// A request on a thread with some of a small pool of messages, so that ids meet again.
    Ask {
        thread: u8,
        run: u8,
        messages: Vec<u8>,
        state: Option<u8>,
        extras: bool,
    },
    /// A browser answers some of the calls that it has seen.
    Answer {
        thread: u8,
        run: u8,
        calls: Vec<u8>,
        error: bool,
    },
    Leave(u8),
    /// A client that left comes back; with `twice` another one reads the run from its start.
    Return {
        which: u8,
        twice: bool,
    },
    Open,
    FailOpen,
    Close,
    Drive,
    Step(u8, Answer),
    Advance(u32),
    /// The Host gets a Tool of a browser Tool's name, or loses it.
    Collide(bool),
    /// Somebody else disposes an agent.
    Gone(u8),
}

fn answers() -> impl Strategy<Value = Answer> {
    prop_oneof![
        4 => prop::collection::vec("[a-z\"]{1,8}", 0..4).prop_map(Answer::Text),
        4 => prop::collection::vec(
            prop_oneof![3 => Just("pick"), 1 => Just("backend"), 1 => Just("ag_ui_update_state")],
            1..4,
        )
        .prop_map(|names| Answer::Calls(names.into_iter().map(Into::into).collect())),
        1 => Just(Answer::Fail),
        1 => Just(Answer::Retry),
    ]
}

fn moves() -> impl Strategy<Value = Move> {
    let messages = prop::collection::vec(0u8..6, 0..3);
    prop_oneof![
        6 => (0u8..3, 0u8..12, messages, prop::option::of(0u8..4), any::<bool>())
            .prop_map(|(thread, run, messages, state, extras)| Move::Ask { thread, run, messages, state, extras }),
        5 => (0u8..3, 0u8..12, prop::collection::vec(any::<u8>(), 1..3), any::<bool>())
            .prop_map(|(thread, run, calls, error)| Move::Answer { thread, run, calls, error }),
        3 => any::<u8>().prop_map(Move::Leave),
        3 => (any::<u8>(), any::<bool>()).prop_map(|(which, twice)| Move::Return { which, twice }),
        5 => Just(Move::Open),
        1 => Just(Move::FailOpen),
        2 => Just(Move::Close),
        5 => Just(Move::Drive),
        12 => (any::<u8>(), answers()).prop_map(|(agent, answer)| Move::Step(agent, answer)),
        3 => prop_oneof![Just(0u32), 1u32..50, 1_000u32..20_000, Just(400_000), Just(2_000_000)]
            .prop_map(Move::Advance),
        1 => any::<bool>().prop_map(Move::Collide),
        1 => any::<u8>().prop_map(Move::Gone),
    ]
}

fn schedule() -> impl Strategy<Value = (u32, Vec<Move>)> {
    let grace = prop_oneof![Just(0u32), Just(5_000)];
    (grace, prop::collection::vec(moves(), 1..80))
}

fn world(grace: u32) -> World {
    World::new(json!({
        "reconnectGraceMs": grace,
        "maxRunsPerThread": MAX_RUNS,
        "maxThreads": 2,
        "maxRunEvents": MAX_EVENTS,
        "maxRunEventBytes": MAX_BYTES,
        "maxStateBytes": 64,
    }))
}

impl World {
    fn apply(&mut self, step: &Move) {
        match step {
            Move::Ask {
                thread,
                run,
                messages,
                state,
                extras,
            } => {
                let texts: Vec<(String, String)> = messages
                    .iter()
                    .map(|n| (format!("m{}", n / 2), format!("text {n}")))
                    .collect();
                let texts: Vec<(&str, &str)> = texts
                    .iter()
                    .map(|(id, text)| (id.as_str(), text.as_str()))
                    .collect();
                let mut body = ask(&format!("t{thread}"), &format!("r{run}"), &texts);
                body["tools"] = json!([pick()]);
                if let Some(n) = state {
                    body["state"] = json!({"n": n});
                }
                if *extras {
                    body["forwardedProps"] =
                        json!({"dsh": {"reasoning": true, "stateDelta": true}});
                }
                let _ = self.send(&body);
            }
            Move::Answer {
                thread,
                run,
                calls,
                error,
            } => {
                let thread = format!("t{thread}");
                let seen = self.seen_calls(&thread);
                if seen.is_empty() {
                    return;
                }
                let results: Vec<Value> = calls
                    .iter()
                    .map(|n| {
                        let call = &seen[usize::from(*n) % seen.len()];
                        let mut result =
                            json!({"id":format!("for-{call}"),"role":"tool","toolCallId":call,"content":"yes"});
                        if *error {
                            result["error"] = "no".into();
                        }
                        result
                    })
                    .collect();
                let body = json!({"threadId":thread,"runId":format!("a{run}"),"messages":results,"tools":[pick()]});
                let _ = self.send(&body);
            }
            Move::Leave(n) => {
                let open: Vec<ReaderId> = self
                    .responses
                    .iter()
                    .filter(|(_, response)| !response.ended && !response.left)
                    .map(|(reader, _)| *reader)
                    .collect();
                if !open.is_empty() {
                    self.leave(open[usize::from(*n) % open.len()]);
                }
            }
            Move::Return { which, twice } => self.go_back(usize::from(*which), *twice),
            Move::Open => drop(self.open_next()),
            Move::FailOpen => drop(self.fail_open()),
            Move::Close => drop(self.close_next()),
            Move::Drive => drop(self.drive()),
            Move::Step(n, answer) => drop(self.step_agent(usize::from(*n), answer.clone())),
            Move::Advance(ms) => self.advance(Duration::from_millis((*ms).into())),
            Move::Collide(on) => self.set_inherited(if *on {
                &["backend", "pick"]
            } else {
                &["backend"]
            }),
            Move::Gone(n) => self.lose_agent(usize::from(*n)),
        }
        self.check_limits();
    }

    /// A client that left comes back, unless its run is gone.
    fn go_back(&mut self, which: usize, twice: bool) {
        let taken: Vec<ReaderId> = self
            .responses
            .values()
            .filter_map(|r| r.continues)
            .collect();
        let left: Vec<ReaderId> = self
            .responses
            .iter()
            .filter(|(reader, response)| response.left && !taken.contains(reader))
            .map(|(reader, _)| *reader)
            .collect();
        if left.is_empty() {
            return;
        }
        let left = left[which % left.len()];
        let (thread, run) = self.responses[&left].run.clone();
        match self.come_back(left) {
            Ok(back) if self.responses[&back].key != self.responses[&left].key => {
                // The id names another run by now: what the client has is no part of it.
                self.leave(back);
                let back = self.responses.get_mut(&back).unwrap();
                (back.left, back.continues) = (true, None);
            }
            Ok(back) if twice => {
                let whole = self.reconnect(&thread, &run, None).unwrap();
                self.twins.push((back, whole));
            }
            Ok(_) => {}
            Err(error) => assert!(
                matches!(error.code, Code::NotFound | Code::InvalidAguiInput),
                "{error}"
            ),
        }
    }

    /// Wire ids of the browser calls that clients of a thread were shown.
    fn seen_calls(&self, thread: &str) -> Vec<String> {
        let mut calls: Vec<String> = self
            .responses
            .values()
            .map(super::world::Response::events)
            .filter(|events| {
                events
                    .first()
                    .is_some_and(|event| event["threadId"] == thread)
            })
            .flatten()
            .filter(|event| event["type"] == "TOOL_CALL_START" && event["toolCallName"] == "pick")
            .map(|event| event["toolCallId"].as_str().unwrap().to_owned())
            .collect();
        calls.dedup();
        calls
    }

    fn check_limits(&self) {
        self.gateway
            .assert_limits(2, MAX_RUNS, MAX_EVENTS, MAX_BYTES);
    }

    /// Every response is a valid stream, or an error, or was left.
    fn check_responses(&self) {
        for (reader, response) in &self.responses {
            if response.left {
                continue;
            }
            assert!(response.ended, "{reader:?} never ended");
            if response.error.is_some() {
                assert_eq!(response.text, "");
                continue;
            }
            let received = self.received(*reader);
            let events = merged(&received);
            let violation =
                crate::agui::check_event_stream(&Value::Array(events.clone()).to_string()).unwrap();
            assert_eq!(violation, None, "{received}");
            check_reasoning(&events);
        }
        // Whoever came back has what whoever read it all has.
        for (back, whole) in &self.twins {
            if [back, whole]
                .iter()
                .all(|reader| !self.responses[reader].left)
            {
                assert_eq!(
                    merged(&self.received(*back)),
                    merged(&self.received(*whole))
                );
            }
        }
    }
}

/// What 1.0 asks of reasoning, and this gateway promises beyond: nothing of the attempt goes on inside of it.
fn check_reasoning(events: &[Value]) {
    let mut open: Vec<&str> = Vec::new();
    let mut ids: Vec<&str> = Vec::new();
    for event in events {
        let id = event["messageId"].as_str().unwrap_or_default();
        match event["type"].as_str().unwrap() {
            "REASONING_START" => {
                assert!(open.is_empty() && !ids.contains(&id), "{event}");
                ids.push(id);
                open.push("span");
            }
            "REASONING_MESSAGE_START" => {
                assert_eq!((open.as_slice(), ids.last()), (&["span"][..], Some(&id)));
                open.push("message");
            }
            "REASONING_MESSAGE_CONTENT" => assert_eq!(open, ["span", "message"]),
            "REASONING_MESSAGE_END" => assert_eq!(open.pop(), Some("message")),
            "REASONING_END" => assert_eq!(open.pop(), Some("span")),
            "RUN_ERROR" => {}
            other => assert!(open.is_empty(), "{other} inside of reasoning"),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_500, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_holds_the_invariants((grace, schedule) in schedule()) {
        let mut world = world(grace);
        for step in &schedule {
            world.apply(step);
        }
        // Everyone finishes, nobody waits for ever.
        world.settle();
        world.advance(Duration::from_secs(400));
        world.settle();
        world.gateway.shutdown(world.now);
        world.drain();
        world.settle();
        world.check_responses();
        prop_assert!(world.gateway.is_drained());
        world.gateway.assert_released();
    }
}
