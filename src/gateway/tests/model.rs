//! Random schedules of requests, disconnects, host events, timeouts and disposals, holding the invariants of
//! `design.md`: one terminal per run and nothing after it, each accepted message admitted once, each parked call
//! settled once, no effect for a disposed thread, limits never exceeded, an interruption told once, everything released
//! at the end. The Host writes its logs when the schedule lets it, and its process may die.

use std::time::Duration;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::agent::{ASK, Answer, ESCALATE, GUARDED};
use super::world::{Disk, World, ask, merged, pick, resolve, resume};
use crate::gateway::{Code, Errand, ErrandEnd, FileKind, ReaderId};

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
        preset: Option<u8>,
        /// The last message carries a file.
        file: bool,
        extras: bool,
        /// The A2UI middleware renders the browser's Tool.
        render: bool,
    },
    /// A browser answers some of the calls that it has seen.
    Answer {
        thread: u8,
        run: u8,
        calls: Vec<u8>,
        error: bool,
    },
    /// A person writes on or acts on a surface, behind the calls that clients have seen or not, with answers to some.
    GoOn {
        thread: u8,
        run: u8,
        words: Words,
        known: bool,
        calls: Vec<u8>,
    },
    /// A person answers what a client was told last, all of it or not, well or badly, sometimes twice.
    Resume {
        thread: u8,
        run: u8,
        reply: Reply,
        yes: bool,
    },
    /// A part of the Host asks a person on an agent's behalf.
    Nag(u8),
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
    /// The Host has prepared a run, or has not.
    Prepare(bool),
    /// A file of the next message is not staged any more.
    Undeliverable,
    /// Somebody uploads, or asks for a deliverable.
    Errand {
        thread: u8,
        upload: bool,
    },
    EndErrand {
        errand: u8,
        kept: bool,
    },
    /// The Host has written a log.
    Flush,
    /// The process dies.
    Crash,
}

/// What a person says who goes on, of a small pool.
#[derive(Debug, Clone, Copy)]
enum Words {
    Text(u8),
    File(u8),
    Action(u8),
}

#[derive(Debug, Clone, Copy)]
enum Reply {
    Whole,
    /// Under the run id that the interrupts came with.
    SameRun,
    Cancelled,
    Partial,
    Invalid,
    /// Beside a Tool message for a call that is named.
    Doubled,
}

fn answers() -> impl Strategy<Value = Answer> {
    prop_oneof![
        4 => prop::collection::vec("[a-z\"]{1,8}", 0..4).prop_map(Answer::Text),
        4 => prop::collection::vec(
            prop_oneof![
                3 => Just("pick"), 1 => Just("backend"), 1 => Just("ag_ui_update_state"),
                1 => Just(ASK), 1 => Just(GUARDED), 1 => Just(ESCALATE),
            ],
            1..4,
        )
        .prop_map(|names| Answer::Calls(names.into_iter().map(Into::into).collect())),
        1 => Just(Answer::Fail),
        1 => Just(Answer::Retry),
    ]
}

fn replies() -> impl Strategy<Value = Reply> {
    prop_oneof![
        4 => Just(Reply::Whole),
        2 => Just(Reply::SameRun),
        1 => Just(Reply::Cancelled),
        1 => Just(Reply::Partial),
        1 => Just(Reply::Invalid),
        1 => Just(Reply::Doubled),
    ]
}

fn words() -> impl Strategy<Value = Words> {
    prop_oneof![
        3 => (0u8..8).prop_map(Words::Text),
        1 => (0u8..8).prop_map(Words::File),
        1 => (0u8..4).prop_map(Words::Action),
    ]
}

fn moves() -> impl Strategy<Value = Move> {
    let messages = prop::collection::vec(0u8..6, 0..3);
    prop_oneof![
        6 => (
            (0u8..3, 0u8..12, messages, prop::option::of(0u8..4)),
            (prop::option::weighted(0.2, 0u8..3), prop::bool::weighted(0.2), any::<bool>(), prop::bool::weighted(0.2)),
        )
            .prop_map(|((thread, run, messages, state), (preset, file, extras, render))| Move::Ask {
                thread, run, messages, state, preset, file, extras, render,
            }),
        3 => (0u8..3, 0u8..12, words(), prop::bool::weighted(0.8), prop::collection::vec(any::<u8>(), 0..2))
            .prop_map(|(thread, run, words, known, calls)| Move::GoOn { thread, run, words, known, calls }),
        5 => (0u8..3, 0u8..12, prop::collection::vec(any::<u8>(), 1..3), any::<bool>())
            .prop_map(|(thread, run, calls, error)| Move::Answer { thread, run, calls, error }),
        4 => (0u8..3, 0u8..12, replies(), any::<bool>())
            .prop_map(|(thread, run, reply, yes)| Move::Resume { thread, run, reply, yes }),
        1 => any::<u8>().prop_map(Move::Nag),
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
        3 => prop::bool::weighted(0.8).prop_map(Move::Prepare),
        1 => Just(Move::Undeliverable),
        1 => (0u8..3, any::<bool>()).prop_map(|(thread, upload)| Move::Errand { thread, upload }),
        1 => (any::<u8>(), any::<bool>()).prop_map(|(errand, kept)| Move::EndErrand { errand, kept }),
        5 => Just(Move::Flush),
        1 => Just(Move::Crash),
    ]
}

fn schedule() -> impl Strategy<Value = (u32, Vec<Move>)> {
    let grace = prop_oneof![Just(0u32), Just(5_000)];
    (grace, prop::collection::vec(moves(), 1..80))
}

/// Schedules that begin with a turn that waits for people, and keep to its thread.
fn people_schedule() -> impl Strategy<Value = (u32, Vec<Move>)> {
    let calls = prop::collection::vec(
        prop_oneof![
            Just(ASK),
            Just(GUARDED),
            Just(ESCALATE),
            Just("pick"),
            Just("backend")
        ],
        1..4,
    );
    let step = |answer| Move::Step(0, answer);
    let more = prop_oneof![
        4 => (0u8..12, replies(), any::<bool>())
            .prop_map(|(run, reply, yes)| Move::Resume { thread: 0, run, reply, yes }),
        2 => Just(Move::Advance(0)),
        3 => Just(Move::Drive),
        4 => answers().prop_map(step),
        1 => (0u8..12).prop_map(|run| Move::Answer { thread: 0, run, calls: vec![0, 1], error: false }),
        1 => (0u8..12).prop_map(|run| Move::Ask { thread: 0, run, messages: Vec::new(), state: None, preset: None, file: false, extras: false, render: false }),
        1 => Just(Move::Nag(0)),
        2 => moves(),
    ];
    let grace = prop_oneof![Just(0u32), Just(5_000)];
    (grace, calls, prop::collection::vec(more, 1..60)).prop_map(move |(grace, calls, more)| {
        let calls = Answer::Calls(calls.into_iter().map(Into::into).collect());
        let begin = [
            opening(false),
            Move::Open,
            Move::Drive,
            step(Answer::Fail),
            step(calls),
        ];
        (grace, begin.into_iter().chain(more).collect())
    })
}

/// The first request of such a schedule.
fn opening(render: bool) -> Move {
    Move::Ask {
        thread: 0,
        run: 0,
        messages: vec![0],
        state: None,
        preset: None,
        file: false,
        extras: false,
        render,
    }
}

/// Schedules that begin with a turn that waits for the browser, and keep to its thread.
fn browser_schedule() -> impl Strategy<Value = (u32, Vec<Move>)> {
    let step = |answer| Move::Step(0, answer);
    let calls = || {
        prop::collection::vec(
            prop_oneof![3 => Just("pick"), 1 => Just("backend"), 1 => Just(ASK)],
            1..4,
        )
        .prop_map(|names| Answer::Calls(names.into_iter().map(Into::into).collect()))
    };
    let more = prop_oneof![
        5 => (0u8..12, words(), prop::bool::weighted(0.9), prop::collection::vec(any::<u8>(), 0..2))
            .prop_map(|(run, words, known, calls)| Move::GoOn { thread: 0, run, words, known, calls }),
        2 => (0u8..12).prop_map(|run| Move::Answer { thread: 0, run, calls: vec![0, 1], error: false }),
        2 => prop_oneof![Just(0u32), Just(400_000)].prop_map(Move::Advance),
        4 => Just(Move::Drive),
        2 => Just(Move::Flush),
        2 => prop::bool::weighted(0.9).prop_map(Move::Prepare),
        1 => Just(Move::Undeliverable),
        2 => calls().prop_map(step),
        4 => answers().prop_map(step),
        2 => moves(),
    ];
    let grace = prop_oneof![Just(0u32), Just(5_000)];
    (
        grace,
        any::<bool>(),
        calls(),
        prop::collection::vec(more, 1..60),
    )
        .prop_map(move |(grace, render, calls, more)| {
            let begin = [
                opening(render),
                Move::Open,
                Move::Drive,
                step(Answer::Fail),
                step(calls),
                Move::Advance(0),
                Move::Flush,
            ];
            (grace, begin.into_iter().chain(more).collect())
        })
}

fn world(grace: u32) -> World {
    World::new(json!({
        "reconnectGraceMs": grace,
        "maxRunsPerThread": MAX_RUNS,
        "maxThreads": 2,
        "maxRunEvents": MAX_EVENTS,
        "maxRunEventBytes": MAX_BYTES,
        "maxStateBytes": 64,
        "selectableAgentPresets": {"t": ["p0", "p1"]},
        "maxPendingInterrupts": 2,
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
                preset,
                file,
                extras,
                render,
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
                let mut props = json!({});
                if let Some(n) = preset {
                    props["agentPreset"] = format!("p{n}").into();
                }
                if *extras {
                    props["dsh"] = json!({"reasoning": true, "stateDelta": true});
                    body["protocolVersion"] = "1.0".into();
                }
                if *render {
                    props["injectA2UITool"] = "pick".into();
                }
                body["forwardedProps"] = props;
                if *file && let Some(last) = body["messages"].as_array_mut().unwrap().last_mut() {
                    let part = self.file_part(&format!("t{thread}"), FileKind::File, Some("r"));
                    last["content"] = json!([{"type":"text","text":last["content"]}, part]);
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
            Move::GoOn {
                thread,
                run,
                words,
                known,
                calls,
            } => {
                let body = self.going_on(&format!("t{thread}"), *run, *words, *known, calls);
                let _ = self.send(&body);
            }
            Move::Resume {
                thread,
                run,
                reply,
                yes,
            } => {
                if let Some(body) = self.reply(&format!("t{thread}"), *run, *reply, *yes) {
                    let _ = self.send(&body);
                }
            }
            Move::Nag(n) => self.ask_loosely(usize::from(*n)),
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
            Move::Prepare(well) => {
                let outcome = if *well {
                    Ok(())
                } else {
                    Err(Code::FileNotStaged)
                };
                self.prepare_next(outcome);
            }
            Move::Undeliverable => self.undeliverable = true,
            Move::Errand { thread, upload } => {
                let errand = if *upload {
                    Errand::Upload
                } else {
                    Errand::Deliverable {
                        event_seq: 0,
                        index: 0,
                    }
                };
                let _ = self.errand(&format!("t{thread}"), errand);
            }
            Move::EndErrand { errand, kept } => {
                let known: Vec<_> = self.errands.keys().copied().collect();
                let end = if *kept {
                    ErrandEnd::Kept
                } else {
                    ErrandEnd::Over
                };
                if let Some(id) = known.get(usize::from(*errand) % known.len().max(1)) {
                    self.end_errand(*id, end);
                }
            }
            Move::Flush => drop(self.flush_next()),
            Move::Crash => self.crash(),
        }
        self.check_limits();
    }

    /// A request of a person who goes on.
    fn going_on(&self, thread: &str, run: u8, words: Words, known: bool, calls: &[u8]) -> Value {
        let seen = self.seen_calls(thread);
        let mut messages = Vec::new();
        if known {
            let made: Vec<Value> = seen
                .iter()
                .map(|call| json!({"id":call,"type":"function","function":{"name":"pick","arguments":"{}"}}))
                .collect();
            messages.push(json!({"id":"copy","role":"assistant","toolCalls":made}));
        }
        for n in calls {
            if let Some(call) = seen.get(usize::from(*n) % seen.len().max(1)) {
                messages.push(json!({"id":format!("for-{call}"),"role":"tool","toolCallId":call,"content":"yes"}));
            }
        }
        let mut body = ask(thread, &format!("g{run}"), &[]);
        match words {
            Words::Text(n) => messages.push(
                json!({"id":format!("m{}", n / 2),"role":"user","content":format!("text {n}")}),
            ),
            Words::File(n) => {
                let file = self.file_part(thread, FileKind::File, Some("r"));
                messages.push(json!({"id":format!("m{}", n / 2),"role":"user","content":[file]}));
            }
            Words::Action(n) => {
                let action = json!({"name":"go","surfaceId":"s","context":{"n":n}});
                let told = format!(
                    "User performed action \"go\" on surface \"s\". Context: {{\"n\":{n}}}"
                );
                messages.push(json!({"id":"asks","role":"assistant","toolCalls":[{"id":"log","type":"function","function":{"name":"log_a2ui_event","arguments":action.to_string()}}]}));
                messages.push(json!({"id":format!("act{}", n / 2),"role":"tool","toolCallId":"log","content":told}));
                body["forwardedProps"] = json!({"a2uiAction":{"userAction":action}});
            }
        }
        body["messages"] = messages.into();
        body["tools"] = json!([pick()]);
        body
    }

    /// A request that answers what a client of the thread was told last.
    fn reply(&self, thread: &str, run: u8, reply: Reply, yes: bool) -> Option<Value> {
        let (interrupted, told) = self.interrupts(thread)?;
        let mut entries: Vec<Value> = told.iter().map(|one| resolve(one, yes)).collect();
        let mut run = format!("p{run}");
        let mut messages = json!([]);
        match reply {
            Reply::Whole => {}
            Reply::SameRun => run = interrupted,
            Reply::Cancelled => entries[0]["status"] = "cancelled".into(),
            Reply::Partial => drop(entries.pop()),
            Reply::Invalid => entries[0]["payload"] = json!({"approved": 1}),
            Reply::Doubled => {
                messages = told
                    .iter()
                    .filter_map(|one| one["toolCallId"].as_str())
                    .map(|call| json!({"id":format!("note-{call}"),"role":"tool","toolCallId":call,"content":"yes"}))
                    .collect();
            }
        }
        let mut body = resume(thread, &run, entries);
        body["messages"] = messages;
        Some(body)
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
            .chain(&self.past)
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

    /// An interruption is told by one run at most.
    fn check_interruptions(&self) {
        let is = |event: &Value, kind: &str| event["data"]["reason"]["kind"] == kind;
        let happened = self
            .sessions
            .values()
            .flatten()
            .map(|record| serde_json::from_str::<Value>(record).unwrap())
            .filter(|record| record["type"] == "turn/end" && is(record, "interrupted"))
            .count();
        let mut told: Vec<(usize, Value)> = Vec::new();
        let past = self.past.iter().zip(1..);
        for (response, life) in past.chain(self.responses.values().zip(std::iter::repeat(0))) {
            if response.run_error().as_deref() == Some("THREAD_INTERRUPTED") {
                let started = response.events().remove(0);
                told.push((life, json!([started["threadId"], started["runId"]])));
            }
        }
        told.dedup();
        assert!(told.len() <= happened, "{happened} interruptions: {told:?}");
    }

    /// Every response is a valid stream, or an error, or was left.
    fn check_responses(&self) {
        let live = self
            .responses
            .keys()
            .map(|reader| (&self.responses[reader], self.received(*reader)));
        let past = self
            .past
            .iter()
            .map(|response| (response, response.text.clone()));
        for (response, received) in live.chain(past) {
            if response.left {
                continue;
            }
            assert!(response.ended, "never ended: {response:?}");
            if response.error.is_some() {
                assert_eq!(response.text, "");
                continue;
            }
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

/// Runs a schedule to its end, where everyone finishes and nobody waits for ever.
fn hold(grace: u32, schedule: &[Move]) {
    let mut world = world(grace);
    world.disk = Disk::Slow;
    for step in schedule {
        world.apply(step);
    }
    world.undeliverable = false;
    // Everyone finishes, nobody waits for ever.
    world.settle();
    for id in world.errands.keys().copied().collect::<Vec<_>>() {
        world.end_errand(id, ErrandEnd::Over);
    }
    world.settle();
    // A call that waits for a person may hold others back, which then wait for theirs.
    for _ in 0..4 {
        world.advance(Duration::from_secs(400));
        world.settle();
    }
    assert!(
        world.agents.values().all(|agent| !agent.is_asking()),
        "somebody still waits for a person"
    );
    world.gateway.shutdown(world.now);
    world.drain();
    world.settle();
    world.check_responses();
    world.check_interruptions();
    assert!(world.gateway.is_drained());
    world.gateway.assert_released();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_500, ..ProptestConfig::default() })]

    #[test]
    fn every_schedule_holds_the_invariants((grace, schedule) in schedule()) {
        hold(grace, &schedule);
    }

    #[test]
    fn every_schedule_of_people_holds_the_invariants((grace, schedule) in people_schedule()) {
        hold(grace, &schedule);
    }

    #[test]
    fn every_schedule_of_browsers_holds_the_invariants((grace, schedule) in browser_schedule()) {
        hold(grace, &schedule);
    }
}
