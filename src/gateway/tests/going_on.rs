//! A person who writes on while calls are open, fillings of runtimes, and what peers of 1.0 learn of open calls (X7).

use std::time::Duration;

use serde_json::{Value, json};

use super::agent::Answer;
use super::world::{World, merged, result, user, with_tool};
use crate::gateway::{Code, FileKind, ReaderId};

/// The client's copy of the message that makes these calls.
fn making(calls: &[String]) -> Value {
    let calls: Vec<Value> = calls
        .iter()
        .map(|id| json!({"id":id,"type":"function","function":{"name":"pick","arguments":"{\"a\":1}"}}))
        .collect();
    json!({"id":"copy","role":"assistant","toolCalls":calls})
}

/// A thread whose turn waits for two calls, and what else its first request says.
fn parked_by(first: Value) -> (World, Vec<String>) {
    let mut world = World::new(json!({}));
    let mut question = with_tool("r1", &[user("m1", "a")]);
    question
        .as_object_mut()
        .unwrap()
        .extend(first.as_object().unwrap().clone());
    let reader = world.send(&question).unwrap();
    world.settle_with(&Answer::Calls(vec!["pick".into(), "pick".into()]));
    let calls = world.responses[&reader].calls();
    assert_eq!(calls.len(), 2);
    (world, calls)
}

fn parked() -> (World, Vec<String>) {
    parked_by(json!({}))
}

/// Results and person's messages of the log, in order.
fn said(world: &World) -> Vec<String> {
    let agent = world.agents.values().next().unwrap();
    let records = agent
        .log
        .iter()
        .map(|record| serde_json::from_str(record).unwrap());
    records
        .filter_map(|record: Value| match record["type"].as_str().unwrap() {
            "turn/start" => Some(format!("turn {}", record["data"]["turn"])),
            "user/message" => Some(record["data"]["id"].as_str().unwrap().to_owned()),
            "tool/result" => {
                let block = &record["data"]["message"]["content"][0];
                Some(block["content"][0]["text"].as_str().unwrap().to_owned())
            }
            _ => None,
        })
        .collect()
}

const PASSED_OVER: &str =
    "Error: the browser did not answer; the person went on with a new message";

#[test]
fn words_behind_open_calls_end_them_and_join_their_turn() {
    let (mut world, calls) = parked();
    let reader = world
        .send(&with_tool(
            "r2",
            &[user("m1", "a"), making(&calls), user("m2", "b")],
        ))
        .unwrap();
    world.settle();
    assert_eq!(
        said(&world),
        ["turn 1", "m1", PASSED_OVER, PASSED_OVER, "m2"]
    );
    let events = world.events(reader);
    let results: Vec<&Value> = events
        .iter()
        .filter(|event| event["type"] == "TOOL_CALL_RESULT")
        .collect();
    assert_eq!(results.len(), 2);
    assert_eq!(results[0]["messageId"], format!("result-{}", calls[0]));
    assert_eq!(results[0]["content"], PASSED_OVER);
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
    let history = events[events.len() - 2]["messages"].as_array().unwrap();
    let ids: Vec<&str> = history
        .iter()
        .map(|message| message["id"].as_str().unwrap())
        .collect();
    let expected = [
        "m1",
        ids[1],
        &format!("result-{}", calls[0]),
        &format!("result-{}", calls[1]),
        "m2",
        ids[5],
    ];
    assert_eq!(ids, expected);
    // What the client now holds is history.
    let again = world.send(&with_tool("r3", history)).unwrap();
    assert_eq!(
        world.types(again),
        ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    );
}

#[test]
fn results_may_come_with_the_next_words_and_the_other_calls_are_passed_over() {
    let (mut world, calls) = parked();
    let messages = [
        making(&calls),
        result("x2", &calls[1], "Error: the handler failed"),
        user("m2", "b"),
        user("m3", "c"),
    ];
    let reader = world.send(&with_tool("r2", &messages)).unwrap();
    world.settle();
    assert_eq!(
        said(&world),
        [
            "turn 1",
            "m1",
            PASSED_OVER,
            "Error: the handler failed",
            "m2",
            "m3"
        ]
    );
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn a_client_that_may_not_know_every_open_call_is_told_to_wait() {
    let (mut world, calls) = parked();
    let new = user("m2", "b");
    let one = making(&calls[..1]);
    let busy = [
        vec![new.clone()],
        vec![one.clone(), new.clone()],
        // The words came first.
        vec![new.clone(), making(&calls)],
    ];
    for messages in busy {
        let refused = world.send(&with_tool("r2", &messages)).unwrap_err();
        assert_eq!(refused.code, Code::AgentBusy, "{messages:?}");
    }
    let mixed = [one, result("x1", &calls[0], "one"), new];
    let refused = world.send(&with_tool("r2", &mixed)).unwrap_err();
    assert_eq!(refused.code, Code::InvalidMessageBatch);
    assert_eq!(said(&world), ["turn 1", "m1"]);
}

#[test]
fn what_a_runtime_invents_for_a_call_is_no_answer() {
    let (mut world, calls) = parked();
    let stopped = |call: &str| {
        let content =
            r#"{"status":"stopped","reason":"stop_requested","message":"Run stopped by user"}"#;
        result(&format!("{call}-result"), call, content)
    };
    let forwarded = result("f", &calls[0], "Forwarded to client");
    // Of open calls, and of one that nobody knows any more.
    let fillings = [stopped(&calls[0]), stopped("abandoned"), forwarded];
    let reader = world.send(&with_tool("r2", &fillings)).unwrap();
    assert_eq!(world.types(reader).len(), 3);
    assert_eq!(said(&world), ["turn 1", "m1"]);
    // They show that the client knows the calls.
    let on = [stopped(&calls[0]), stopped(&calls[1]), user("m2", "b")];
    world.send(&with_tool("r3", &on)).unwrap();
    world.settle();
    assert_eq!(
        said(&world),
        ["turn 1", "m1", PASSED_OVER, PASSED_OVER, "m2"]
    );
    // Of calls that are over.
    let reader = world.send(&with_tool("r4", &fillings)).unwrap();
    assert_eq!(world.types(reader).len(), 3);
}

#[test]
fn calls_that_end_otherwise_leave_the_words_for_the_next_turn() {
    let (mut world, calls) = parked();
    let messages = [
        making(&calls),
        result("x1", &calls[0], "one"),
        user("m2", "b"),
    ];
    let reader = world.send(&with_tool("r2", &messages)).unwrap();
    // Admitted, and before it is driven the time of both calls is over.
    world.advance(Duration::from_secs(300));
    world.settle();
    let timeout = "Error: the browser did not answer within 300000 ms";
    assert_eq!(
        said(&world),
        ["turn 1", "m1", timeout, timeout, "turn 2", "m2"]
    );
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    // The answer that came too late is history, as any other.
    let again = world.send(&with_tool("r3", &messages)).unwrap();
    assert_eq!(world.types(again).len(), 3);
}

#[test]
fn words_that_the_agent_had_not_taken_may_be_sent_again() {
    let (mut world, calls) = parked();
    let messages = [making(&calls), user("m2", "b")];
    let reader = world.send(&with_tool("r2", &messages)).unwrap();
    world.drive();
    world.leave(reader);
    world.settle();
    assert_eq!(said(&world)[..2], ["turn 1", "m1"]);
    assert!(!said(&world).contains(&"m2".to_owned()));
    let again = world.send(&with_tool("r3", &messages)).unwrap();
    world.settle();
    assert_eq!(said(&world)[4..], ["turn 2", "m2"]);
    assert_eq!(world.last(again)["type"], "RUN_FINISHED");
}

#[test]
fn words_whose_file_is_gone_end_their_turn_and_may_come_again() {
    let (mut world, calls) = parked();
    let file = world.file_part("t", FileKind::File, Some("r-1"));
    let carry = json!({"id":"m2","role":"user","content":[file]});
    world.undeliverable = true;
    let messages = [making(&calls), result("x1", &calls[0], "one"), carry];
    let reader = world.send(&with_tool("r2", &messages)).unwrap();
    world.settle();
    assert_eq!(
        world.responses[&reader].run_error().as_deref(),
        Some("FILE_NOT_STAGED")
    );
    assert!(!said(&world).contains(&"m2".to_owned()));
    let again = world
        .send(&with_tool("r3", &[making(&calls), user("m2", "without")]))
        .unwrap();
    world.settle();
    assert_eq!(said(&world)[4..], ["turn 2", "m2"]);
    assert_eq!(world.last(again)["type"], "RUN_FINISHED");
}

fn pending(world: &World, reader: ReaderId) -> Value {
    world.last(reader)["outcome"].clone()
}

#[test]
fn a_call_that_came_to_nothing_is_taken_back_and_its_answer_means_nothing() {
    let mut world = World::new(json!({}));
    let first = user("m1", "a");
    let reader = world
        .send(&with_tool("r1", std::slice::from_ref(&first)))
        .unwrap();
    world.settle_with(&Answer::Fail);
    let types = world.types(reader);
    let end = ["TOOL_CALL_END", "MESSAGES_SNAPSHOT", "RUN_ERROR"];
    assert_eq!(types[types.len() - 3..], end);
    let call = world.responses[&reader].calls().remove(0);
    let events = world.events(reader);
    let start = events
        .iter()
        .find(|event| event["type"] == "TOOL_CALL_START");
    let shown = start.unwrap()["parentMessageId"].clone();
    let answer = result("x1", &call, "red");
    // A page that answers all the same, and a client that keeps the model's messages to itself.
    let refused = |world: &mut World, run, messages: &[Value]| {
        let reader = world.send(&with_tool(run, messages)).unwrap();
        world.settle();
        assert_eq!(world.last(reader)["type"], "RUN_FINISHED", "{run}");
        world.types(reader).len() == 3
    };
    assert!(refused(&mut world, "r2", std::slice::from_ref(&answer)));
    let next = [first.clone(), answer.clone(), user("m2", "b")];
    assert!(!refused(&mut world, "r3", &next));
    // Another process knows nothing of it, but its client's copy does.
    world.crash();
    let mut made = making(std::slice::from_ref(&call));
    let copy = [first.clone(), made.clone(), answer.clone()];
    let foreign = world.send(&with_tool("r4", &copy)).unwrap();
    world.settle();
    let error = world.responses[&foreign].error.as_ref().unwrap();
    assert_eq!(error.code, Code::UnknownToolResult);
    made["id"] = shown.clone();
    assert!(refused(&mut world, "r4", &[first, made, answer]));
    let unknown = world.send(&with_tool("r5", &[result("x1", "c9", "red")]));
    assert_eq!(unknown.unwrap_err().code, Code::UnknownToolResult);
}

#[test]
fn a_call_that_an_overflow_cut_off_is_no_question_either() {
    let mut world = World::new(json!({"maxRunEvents": 8}));
    let first = user("m1", "a");
    let reader = world.send(&with_tool("r1", &[first])).unwrap();
    world.open_next();
    world.drive();
    world.step_agent(0, Answer::Text(vec![]));
    let thread = *world.agents.keys().next().unwrap();
    let calls: Vec<String> = (0..8).map(|call| format!("c{call}")).collect();
    world.gateway.handle_attempt_start(world.now, thread, 1, 1);
    for call in &calls {
        let gateway = &mut world.gateway;
        gateway.handle_tool_call(world.now, thread, call, Some("pick"), "{");
        world.drain();
    }
    assert_eq!(world.last(reader)["code"], "AG_UI_EVENT_BUFFER_OVERFLOW");
    world.settle();
    let call = world.responses[&reader].calls().remove(0);
    let answer = result("x1", &call, "red");
    let reader = world.send(&with_tool("r2", &[answer])).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn what_waits_behind_a_run_that_cannot_tell_what_it_waits_for_is_admitted_when_that_turn_is_over() {
    let mut world = World::new(json!({"maxRunEvents": 12}));
    let first = world.send(&with_tool("r1", &[user("m1", "a")])).unwrap();
    world.open_next();
    world.drive();
    let second = world.send(&with_tool("r2", &[user("m2", "b")])).unwrap();
    world.make_calls(&["pick", "pick"]);
    world.settle();
    let types = world.types(first);
    assert_eq!(types[types.len() - 2..], ["TOOL_CALL_END", "RUN_ERROR"]);
    assert_eq!(world.last(first)["code"], "AG_UI_EVENT_BUFFER_OVERFLOW");
    assert_eq!(world.last(second)["type"], "RUN_FINISHED");
}

#[test]
fn a_peer_of_1_0_learns_which_calls_wait() {
    let (mut world, calls) = parked_by(json!({"protocolVersion":"1.0"}));
    let first = *world.responses.keys().next().unwrap();
    let outcome = |ids: &[String]| json!({"type":"success","pendingToolCallIds":ids});
    assert_eq!(world.events(first)[0]["protocolVersion"], "1.0");
    assert_eq!(pending(&world, first), outcome(&calls));
    let strict = |run: &str, messages: &[Value]| {
        let mut body = with_tool(run, messages);
        body["protocolVersion"] = "1.0".into();
        body
    };
    // Also one that only reads the history, and one that answers a part.
    let reader = world.send(&strict("r2", &[])).unwrap();
    assert_eq!(pending(&world, reader), outcome(&calls));
    let reader = world
        .send(&strict("r3", &[result("x2", &calls[1], "two")]))
        .unwrap();
    world.settle();
    assert_eq!(pending(&world, reader), outcome(&calls[..1]));
    let reader = world
        .send(&strict("r4", &[result("x1", &calls[0], "one")]))
        .unwrap();
    // Beside a run that drives, that one tells.
    let beside = world.send(&strict("r5", &[])).unwrap();
    assert_eq!(pending(&world, beside), Value::Null);
    world.settle();
    assert_eq!(pending(&world, reader), Value::Null);
}

#[test]
fn an_early_peer_gets_nothing_that_it_does_not_know() {
    let (world, _) = parked();
    let reader = *world.responses.keys().next().unwrap();
    assert_eq!(pending(&world, reader), Value::Null);
    assert_eq!(world.events(reader)[0].get("protocolVersion"), None);
}

/// The first run of a thread whose turn waits for many calls.
fn parked_within(bytes: usize) -> (World, ReaderId) {
    let mut world = World::new(json!({"maxRunEventBytes": bytes, "maxIdentityBytes": 64}));
    let mut question = with_tool("r1", &[user("m1", "a")]);
    question["protocolVersion"] = "1.0".into();
    let reader = world.send(&question).unwrap();
    world.settle_with(&Answer::Calls(vec!["pick".into(); 30]));
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    (world, reader)
}

#[test]
fn calls_that_do_not_fit_the_end_of_a_record_are_left_out() {
    let (world, reader) = parked_within(100_000);
    let ids = pending(&world, reader)["pendingToolCallIds"].clone();
    assert_eq!(ids.as_array().unwrap().len(), 30);
    let events = merged(&world.received(reader));
    let before_its_end: usize = events[..events.len() - 1]
        .iter()
        .map(|event| event.to_string().len())
        .sum();
    // Room for an end that names the longest thread and run, and no more.
    let (world, reader) = parked_within(before_its_end + 256 + 2 * 64);
    assert_eq!(pending(&world, reader), Value::Null);
    assert_eq!(world.responses[&reader].calls().len(), 30);
}

#[test]
fn a_client_whose_copy_lacks_something_gets_the_history_before_what_it_sent() {
    let mut world = World::new(json!({}));
    for (run, id) in [("r1", "m1"), ("r2", "m2")] {
        world.send(&with_tool(run, &[user(id, "a")])).unwrap();
        world.settle();
    }
    let copy = json!({"id":"copy","role":"assistant","content":"Hello there"});
    let openings = |world: &World, reader: ReaderId| -> Vec<Vec<String>> {
        let is_text = |event: &Value| event["type"] == "TEXT_MESSAGE_START";
        let events = world.events(reader);
        let text = events.iter().position(is_text).unwrap_or(events.len());
        let histories = events[..text]
            .iter()
            .filter_map(|event| event["messages"].as_array());
        let ids = |messages: &Vec<Value>| {
            messages
                .iter()
                .map(|m| m["id"].as_str().unwrap().to_owned())
                .collect()
        };
        histories.map(ids).collect()
    };
    // The last exchange was dropped, and other words were said instead.
    let reader = world
        .send(&with_tool(
            "r3",
            &[user("m1", "a"), copy.clone(), user("m3", "c")],
        ))
        .unwrap();
    world.settle();
    let [history, whole] = &openings(&world, reader)[..] else {
        panic!("two histories");
    };
    assert_eq!(whole.last().unwrap(), "m3");
    assert_eq!(whole[..whole.len() - 1], history[..]);
    assert_eq!((history.len(), history[2].as_str()), (4, "m2"));
    // Whoever sends no copy, or nothing new, gets one.
    let reader = world.send(&with_tool("r4", &[user("m4", "d")])).unwrap();
    world.settle();
    assert_eq!(openings(&world, reader).len(), 1);
    let reader = world
        .send(&with_tool("r5", &[user("m1", "a"), copy]))
        .unwrap();
    assert_eq!(openings(&world, reader).len(), 1);
}
