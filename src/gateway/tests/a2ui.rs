//! A2UI: render calls that end in their run, and what a person does on a surface (G19).

use std::time::Duration;

use serde_json::{Value, json};

use super::agent::Answer;
use super::world::{World, pick, result, user};
use crate::gateway::{Code, GatewayError, ReaderId};

const RENDERED: &str = r#"{"status":"rendered"}"#;

fn render() -> Value {
    json!({"name":"render_a2ui","description":"Render.","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}})
}

fn body(run: &str, messages: &[Value]) -> Value {
    json!({"threadId":"t","runId":run,"messages":messages,"tools":[pick(), render()],"context":[],"forwardedProps":{"injectA2UITool":true}})
}

/// A request with an action; its pair stands behind `messages`.
fn act(run: &str, id: &str, n: u32, messages: &[Value]) -> Value {
    let action = json!({"name":"book","surfaceId":"s1","context":{"n":n},"timestamp":"2026-01-01T00:00:00Z"});
    let mut body = body(run, messages);
    let call = format!("call-of-{run}");
    let messages = body["messages"].as_array_mut().unwrap();
    messages.push(json!({"id":format!("asks-{run}"),"role":"assistant","content":"","toolCalls":[{"id":call,"type":"function","function":{"name":"log_a2ui_event","arguments":action.to_string()}}]}));
    let sentence =
        format!("User performed action \"book\" on surface \"s1\". Context: {{\"n\":{n}}}");
    messages.push(result(id, &call, &sentence));
    body["forwardedProps"]["a2uiAction"] = json!({ "userAction": action });
    body
}

fn world() -> World {
    World::new(json!({}))
}

fn is_history(world: &World, reader: ReaderId) -> bool {
    world.types(reader) == ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
}

/// The first request, and the model's calls in its turn.
fn begun(mut world: World, first: &Value, calls: &[&str]) -> (World, ReaderId, Vec<String>) {
    let reader = world.send(first).unwrap();
    let names = calls.iter().map(|name| (*name).to_owned()).collect();
    world.settle_with(&Answer::Calls(names));
    let calls = world.responses[&reader].calls();
    (world, reader, calls)
}

fn refused(world: &mut World, body: &Value) -> Code {
    let before = world.log();
    let refused: Result<_, GatewayError> = world.send(body);
    let code = refused.unwrap_err().code;
    world.settle();
    assert_eq!(world.log(), before);
    code
}

#[test]
fn a_render_call_ends_in_its_run_and_the_turn_goes_on() {
    let first = body("r1", &[user("m1", "a")]);
    let (world, reader, calls) = begun(world(), &first, &["render_a2ui"]);
    let events = world.events(reader);
    let from = |kind: &str| {
        events
            .iter()
            .position(|event| event["type"] == kind)
            .unwrap()
    };
    let settled = &events[from("TOOL_CALL_RESULT")];
    assert_eq!(settled["content"], RENDERED);
    assert_eq!(settled["toolCallId"], calls[0]);
    assert_eq!(settled["messageId"], format!("result-{}", calls[0]));
    assert!(from("TOOL_CALL_END") < from("TOOL_CALL_RESULT"));
    assert!(events.iter().all(|event| event["type"] != "CUSTOM"));
    assert!(world.log().contains("\"completed\""));
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
}

#[test]
fn the_injected_tool_may_have_another_name() {
    let mut first = body("r1", &[user("m1", "a")]);
    first["forwardedProps"]["injectA2UITool"] = "pick".into();
    let (ended, ..) = begun(world(), &first, &["pick"]);
    assert!(ended.log().contains("\"completed\""));
    // The client's own render Tool waits for it, as any other.
    let (waits, ..) = begun(world(), &first, &["render_a2ui"]);
    assert!(!waits.log().contains("\"completed\""));
}

#[test]
fn a_render_call_behind_one_that_waits_is_never_owed() {
    let mut first = body("r1", &[user("m1", "a")]);
    first["protocolVersion"] = "1.0".into();
    let (mut world, reader, calls) = begun(world(), &first, &["pick", "render_a2ui"]);
    let outcome = world.last(reader)["outcome"].clone();
    assert_eq!(outcome["pendingToolCallIds"], json!([calls[0]]));
    // The middleware has ended the call in its own way; that is history, before and after the result is in the log.
    let own = result("uuid", &calls[1], RENDERED);
    let reader = world.send(&body("r2", std::slice::from_ref(&own))).unwrap();
    assert!(is_history(&world, reader));
    let answers = [result("x", &calls[0], "red"), own];
    let reader = world.send(&body("r3", &answers)).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    let reader = world.send(&body("r4", &answers)).unwrap();
    assert!(is_history(&world, reader));
    assert_eq!(world.log().matches("rendered").count(), 1);
}

#[test]
fn an_action_opens_a_turn_as_context_and_only_once() {
    let first = body("r1", &[user("m1", "a")]);
    let (mut world, ..) = begun(world(), &first, &["render_a2ui"]);
    let reader = world
        .send(&act("r2", "done-1", 7, &[user("m1", "a")]))
        .unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    let told: Value = world
        .agents
        .values()
        .next()
        .unwrap()
        .log
        .iter()
        .map(|record| serde_json::from_str::<Value>(record).unwrap())
        .find(|record| record["data"]["id"] == "done-1")
        .unwrap()["data"]
        .clone();
    assert_eq!(
        told["source"],
        json!({"kind":"ag-ui","form":"a2ui-action","sections":[]})
    );
    assert_eq!(
        told["content"][0]["text"],
        "User performed action \"book\" on surface \"s1\". Context: {\"n\":7}\n\n{\"context\":{\"n\":7},\"name\":\"book\",\"surfaceId\":\"s1\",\"timestamp\":\"2026-01-01T00:00:00Z\"}"
    );
    // No client sees it, neither while it is pending nor later.
    for event in world.events(reader) {
        assert!(!event.to_string().contains("done-1"), "{event}");
    }
    // The same action again is history, another one under its id is a conflict, under another id it is new.
    let again = world
        .send(&act("r3", "done-1", 7, &[user("m1", "a")]))
        .unwrap();
    assert!(is_history(&world, again));
    assert_eq!(
        refused(&mut world, &act("r4", "done-1", 8, &[user("m1", "a")])),
        Code::MessageIdConflict
    );
    let next = world
        .send(&act("r5", "done-2", 7, &[user("m1", "a")]))
        .unwrap();
    world.settle();
    assert_eq!(world.last(next)["type"], "RUN_FINISHED");
    assert_eq!(world.log().matches("\"turn/start\"").count(), 3);
    // Later requests need not hold the pair.
    let later = world
        .send(&body("r6", &[user("m1", "a"), user("m2", "a")]))
        .unwrap();
    world.settle();
    assert_eq!(world.last(later)["type"], "RUN_FINISHED");
}

#[test]
fn actions_are_remembered_over_a_restart() {
    let mut world = world();
    world.send(&act("r1", "done-1", 7, &[])).unwrap();
    world.settle();
    world.crash();
    let again = world.send(&act("r1", "done-1", 7, &[])).unwrap();
    world.settle();
    assert!(is_history(&world, again));
    let refused = world.send(&act("r2", "done-1", 8, &[]));
    assert_eq!(refused.unwrap_err().code, Code::MessageIdConflict);
}

#[test]
fn an_action_that_no_turn_took_may_be_sent_again() {
    let mut world = world();
    let reader = world.send(&act("r1", "done-1", 7, &[])).unwrap();
    world.open_next();
    world.leave(reader);
    let again = world.send(&act("r2", "done-1", 8, &[])).unwrap();
    world.settle();
    assert_eq!(world.last(again)["type"], "RUN_FINISHED");
}

#[test]
fn an_action_comes_alone_or_with_answers() {
    let mut first = body("r1", &[user("m1", "a")]);
    first["forwardedProps"] = json!({});
    let (mut world, _, calls) = begun(world(), &first, &["render_a2ui", "pick"]);
    assert_eq!(
        refused(&mut world, &act("r2", "done-1", 7, &[user("m1", "a")])),
        Code::AgentBusy
    );
    assert_eq!(
        refused(&mut world, &act("r3", "done-1", 7, &[user("m2", "a")])),
        Code::InvalidMessageBatch
    );
    assert_eq!(
        refused(
            &mut world,
            &act("r4", "done-1", 7, &[result("done-1", &calls[0], "x")])
        ),
        Code::MessageIdConflict
    );
    // With the result of one call it joins the turn, which still waits for the other.
    let answers = [result("x", &calls[0], RENDERED)];
    let reader = world.send(&act("r5", "done-1", 7, &answers)).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    assert!(!world.log().contains("done-1"));
    let again = world.send(&act("r6", "done-1", 7, &answers)).unwrap();
    assert!(is_history(&world, again));
    world
        .send(&body("r7", &[result("y", &calls[1], "red")]))
        .unwrap();
    world.settle();
    assert_eq!(world.log().matches("\"done-1\"").count(), 1);
    assert_eq!(world.log().matches("\"turn/start\"").count(), 1);
}

#[test]
fn an_action_does_not_answer_what_people_are_asked() {
    let first = body("r1", &[user("m1", "a")]);
    let (mut world, ..) = begun(world(), &first, &["ask"]);
    let refused = refused(&mut world, &act("r2", "done-1", 7, &[user("m1", "a")]));
    assert_eq!(refused, Code::IncompleteInterruptResponse);
}

#[test]
fn calls_of_a_render_tool_that_nobody_injects_time_out() {
    let mut first = body("r1", &[user("m1", "a")]);
    first["forwardedProps"]["injectA2UITool"] = false.into();
    let (mut world, ..) = begun(world(), &first, &["render_a2ui"]);
    assert!(!world.log().contains("rendered"));
    world.advance(Duration::from_secs(300));
    world.settle();
    assert!(world.log().contains("did not answer within 300000 ms"));
}
