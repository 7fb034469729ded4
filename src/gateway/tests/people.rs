//! Approvals and questions of the Host, each rule as a short story (G18, X7).

use std::time::Duration;

use serde_json::{Value, json};

use super::agent::{ASK, Answer, ESCALATE, GUARDED};
use super::world::{World, ask, pick, resolve, result, resume};
use crate::gateway::Code;

/// A thread whose turn makes these calls, and what its clients are told of them.
fn asked(config: Value, calls: &[&str]) -> (World, Vec<Value>) {
    let mut world = World::new(config);
    let mut body = ask("t", "r1", &[("m1", "a")]);
    body["tools"] = json!([pick()]);
    world.send(&body).unwrap();
    let calls = calls.iter().map(|name| (*name).to_owned()).collect();
    world.settle_with(&Answer::Calls(calls));
    let told = told(&world);
    (world, told)
}

/// The interrupts that clients of the thread were told last.
fn told(world: &World) -> Vec<Value> {
    world
        .interrupts("t")
        .map(|(_, told)| told)
        .unwrap_or_default()
}

fn ids(interrupts: &[Value]) -> Vec<&str> {
    interrupts
        .iter()
        .map(|one| one["id"].as_str().unwrap())
        .collect()
}

/// Sends a request that must be refused, which changes nothing.
fn refused(world: &mut World, body: &Value) -> Code {
    let before = (told(world), world.log());
    let code = world.send(body).unwrap_err().code;
    world.settle();
    assert_eq!((told(world), world.log()), before);
    code
}

#[test]
fn an_approval_ends_the_run_and_its_answer_continues_the_turn() {
    for (yes, result) in [(true, "done"), (false, "Error: rejected")] {
        let (mut world, told) = asked(json!({}), &[GUARDED]);
        assert_eq!(told.len(), 1);
        assert_eq!(told[0]["reason"], "approval");
        assert_eq!(told[0]["toolCallId"], "call-1-1");
        assert_eq!(told[0]["metadata"], json!({"dsh": {"toolName": "guarded"}}));
        assert_eq!(told[0].get("expiresAt"), None);
        let id = told[0]["id"].as_str().unwrap();
        assert!(id.starts_with("interrupt-") && id.len() == 42, "{id}");
        let reader = world
            .send(&resume("t", "r2", vec![resolve(&told[0], yes)]))
            .unwrap();
        world.settle();
        let events = world.events(reader);
        assert!(events.iter().any(|event| event["content"] == result));
        assert_eq!(events.last().unwrap().get("outcome"), None);
        assert!(world.log().contains("\"completed\""));
    }
}

#[test]
fn the_history_precedes_the_end_that_tells_of_interrupts() {
    let (world, _) = asked(json!({}), &[ASK]);
    let types = world.responses.values().next().unwrap().types();
    assert_eq!(
        types[types.len() - 2..],
        ["MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    );
}

#[test]
fn a_question_carries_what_the_host_asked_and_gets_the_answer() {
    let (mut world, told) = asked(json!({}), &[ASK]);
    assert_eq!(told[0]["reason"], "user_question");
    assert_eq!(told[0]["message"], "?");
    assert_eq!(told[0]["metadata"]["dsh"]["questions"][0]["id"], "q");
    world
        .send(&resume("t", "r2", vec![resolve(&told[0], false)]))
        .unwrap();
    world.settle();
    assert!(world.log().contains("\"text\":\"y\""));
}

#[test]
fn everything_that_waits_is_told_together_and_answered_together() {
    let (mut world, told) = asked(json!({}), &[ASK, ESCALATE, "pick"]);
    assert_eq!(ids(&told).len(), 2);
    let first = || vec![resolve(&told[0], true)];
    assert_eq!(
        refused(&mut world, &resume("t", "r2", first())),
        Code::IncompleteInterruptResponse
    );
    let mut bad = first();
    bad.push(
        json!({"interruptId": told[1]["id"], "status": "resolved", "payload": {"approved": 1}}),
    );
    assert_eq!(
        refused(&mut world, &resume("t", "r3", bad)),
        Code::InvalidInterruptResponse
    );
    let all = vec![resolve(&told[0], true), resolve(&told[1], true)];
    let mut body = resume("t", "r4", all);
    body["messages"] = json!([{"id":"x","role":"tool","toolCallId":"call-1-3","content":"picked"}]);
    let reader = world.send(&body).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    for result in [
        "\"text\":\"x\"",
        "\"text\":\"allowed\"",
        "\"text\":\"picked\"",
    ] {
        assert!(world.log().contains(result), "{result}");
    }
}

#[test]
fn a_browser_call_may_wait_on_after_the_people_have_answered() {
    let (mut world, told) = asked(json!({}), &["pick", GUARDED]);
    let reader = world
        .send(&resume("t", "r2", vec![resolve(&told[0], true)]))
        .unwrap();
    world.settle();
    // The turn still waits for the browser.
    let end = world.last(reader);
    assert_eq!(
        (&end["type"], end.get("outcome")),
        (&"RUN_FINISHED".into(), None)
    );
    let mut body = resume("t", "r3", Vec::new());
    body["messages"] = json!([{"id":"x","role":"tool","toolCallId":"call-1-1","content":"picked"}]);
    world.send(&body).unwrap();
    world.settle();
    assert!(world.log().contains("\"completed\""));
}

#[test]
fn new_work_waits_until_people_have_answered() {
    let (mut world, told) = asked(json!({}), &[ASK, "pick"]);
    let user = |resume: Vec<Value>| {
        let mut body = ask("t", "r2", &[("m2", "b")]);
        body["resume"] = resume.into();
        body
    };
    assert_eq!(
        refused(&mut world, &user(vec![])),
        Code::IncompleteInterruptResponse
    );
    assert_eq!(
        refused(&mut world, &user(vec![resolve(&told[0], true)])),
        Code::InvalidMessageBatch
    );
    let mut result = resume("t", "r3", Vec::new());
    result["messages"] = json!([{"id":"x","role":"tool","toolCallId":"call-1-2","content":"p"}]);
    assert_eq!(
        refused(&mut world, &result),
        Code::IncompleteInterruptResponse
    );
}

#[test]
fn reading_the_history_tells_the_same_again_and_nothing_that_came_later() {
    let (mut world, told) = asked(json!({}), &[ASK]);
    world.ask_loosely(0);
    world.settle();
    let reader = world.send(&ask("t", "r2", &[("m1", "a")])).unwrap();
    assert_eq!(
        world.types(reader),
        ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    );
    assert_eq!(world.last(reader)["outcome"]["interrupts"], json!(told));
    // The answers are for what was told; what came later is told by the run that brings them.
    world
        .send(&resume("t", "r3", vec![resolve(&told[0], true)]))
        .unwrap();
    world.drive();
    world.advance(Duration::ZERO);
    let later = self::told(&world);
    assert_eq!(later.len(), 1);
    assert_ne!(ids(&later), ids(&told));
}

#[test]
fn what_is_asked_after_the_run_ended_is_told_by_the_next_history() {
    let (mut world, told) = asked(json!({}), &["pick"]);
    assert_eq!(told.len(), 0);
    world.ask_loosely(0);
    let busy = world.send(&ask("t", "r2", &[("m2", "b")])).unwrap_err();
    assert_eq!(busy.code, Code::AgentBusy);
    let reader = world.send(&ask("t", "r3", &[("m1", "a")])).unwrap();
    let told = self::told(&world);
    assert_eq!(told.len(), 1);
    assert_eq!(world.last(reader)["outcome"]["type"], "interrupt");
    world
        .send(&resume("t", "r4", vec![resolve(&told[0], true)]))
        .unwrap();
    world.settle();
    assert!(world.agents.values().all(|agent| !agent.is_asking()));
}

#[test]
fn nobody_is_overdue_before_being_asked() {
    let mut world = World::new(json!({}));
    let mut body = ask("t", "r1", &[("m1", "a")]);
    body["tools"] = json!([pick()]);
    let reader = world.send(&body).unwrap();
    world.open_next();
    world.drive();
    world.make_calls(&["slow", ESCALATE]);
    world.advance(Duration::from_secs(1000));
    assert!(!world.responses[&reader].ended, "a Tool of the Host's runs");
    world.settle();
    world.advance(Duration::from_secs(299));
    let told = told(&world);
    let answer = resume("t", "r2", vec![resolve(&told[0], true)]);
    let reader = world.send(&answer).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    assert!(world.log().contains("\"completed\""));
}

#[test]
fn time_runs_out_once_and_reading_does_not_prolong_it() {
    let (mut world, told) = asked(json!({"humanInteractionTimeoutMs": 1000}), &[ASK]);
    world.advance(Duration::from_millis(900));
    world.send(&ask("t", "r2", &[("m1", "a")])).unwrap();
    world.advance(Duration::from_millis(100));
    world.settle();
    assert!(
        world
            .log()
            .contains("the user did not answer within 1000 ms")
    );
    assert!(world.log().contains("\"completed\""));
    let late = vec![resolve(&told[0], true)];
    assert_eq!(
        world.send(&resume("t", "r3", late)).unwrap_err().code,
        Code::InterruptUnavailable
    );
    // Giving it up clears the client's gate, and a message may come along.
    let mut body = ask("t", "r4", &[("m2", "b")]);
    body["resume"] = json!([{"interruptId": told[0]["id"], "status": "cancelled"}]);
    let reader = world.send(&body).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn what_expired_of_several_may_be_given_up_beside_the_answers_to_the_others() {
    let (mut world, _) = asked(json!({"humanInteractionTimeoutMs": 1000}), &["pick"]);
    world.ask_loosely(0);
    world.advance(Duration::from_millis(500));
    world.ask_loosely(0);
    world.send(&ask("t", "r2", &[("m1", "a")])).unwrap();
    let both = told(&world);
    world.advance(Duration::from_millis(500));
    world.send(&ask("t", "r3", &[("m1", "a")])).unwrap();
    assert_eq!(ids(&told(&world)), [both[1]["id"].as_str().unwrap()]);
    let entries = vec![resolve(&both[0], true), resolve(&both[1], true)];
    assert_eq!(
        world.send(&resume("t", "r4", entries)).unwrap_err().code,
        Code::InterruptUnavailable
    );
    let given_up = json!({"interruptId": both[0]["id"], "status": "cancelled"});
    let entries = vec![given_up, resolve(&both[1], true)];
    world.send(&resume("t", "r5", entries)).unwrap();
    world.settle();
    assert!(world.agents.values().all(|agent| !agent.is_asking()));
}

#[test]
fn an_answer_repeated_word_for_word_is_no_second_answer() {
    let (mut world, told) = asked(json!({}), &[ASK]);
    let yes = vec![resolve(&told[0], true)];
    world.send(&resume("t", "r2", yes.clone())).unwrap();
    // While the first is on its way, and afterwards.
    for run in ["r3", "r4"] {
        let reader = world.send(&resume("t", run, yes.clone())).unwrap();
        world.settle();
        let end = world.last(reader);
        assert_eq!(
            (&end["type"], end.get("outcome")),
            (&"RUN_FINISHED".into(), None)
        );
    }
    let no = vec![resolve(&told[0], false)];
    assert_eq!(
        refused(&mut world, &resume("t", "r5", no)),
        Code::InterruptUnavailable
    );
    assert_eq!(world.log().matches("\"text\":\"x\"").count(), 1);
}

#[test]
fn an_answer_outlives_its_tool_until_the_call_has_it() {
    let (mut world, told) = asked(json!({}), &["pick", GUARDED, "pick"]);
    let mut body = resume("t", "r2", vec![resolve(&told[0], true)]);
    body["messages"] = json!([
        result("x1", "call-1-1", "one"),
        result("x3", "call-1-3", "three")
    ]);
    body["tools"] = json!([]);
    let reader = world.send(&body).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    let events = world.events(reader);
    let history = events[events.len() - 2]["messages"].clone();
    let said = |at: usize| (history[at]["id"].clone(), history[at]["content"].clone());
    assert_eq!(said(2), ("x1".into(), "one".into()));
    assert_eq!(said(4), ("x3".into(), "three".into()));
    // The next run takes the Tool away.
    world.send(&ask("t", "r3", &[("m3", "c")])).unwrap();
    world.settle();
    assert!(world.agents.values().all(|agent| agent.tools.is_empty()));
}

#[test]
fn foreign_interrupts_are_ignored() {
    let (mut world, told) = asked(json!({}), &[ASK]);
    let foreign = json!({"interruptId":"interrupt-0","status":"resolved","payload":1});
    let reader = world
        .send(&resume("t", "r2", vec![foreign.clone()]))
        .unwrap();
    assert_eq!(world.last(reader)["outcome"]["interrupts"], json!(told));
    let entries = vec![foreign, resolve(&told[0], true)];
    world.send(&resume("t", "r3", entries)).unwrap();
    world.settle();
    assert!(world.log().contains("\"completed\""));
}

#[test]
fn answers_that_never_reached_the_host_may_be_given_again() {
    let (mut world, told) = asked(json!({}), &[ASK]);
    let yes = || vec![resolve(&told[0], true)];
    let reader = world.send(&resume("t", "r2", yes())).unwrap();
    world.leave(reader);
    let reader = world.send(&ask("t", "r3", &[("m1", "a")])).unwrap();
    assert_eq!(world.last(reader)["outcome"]["interrupts"], json!(told));
    world
        .send(&resume("t", "r4", vec![resolve(&told[0], false)]))
        .unwrap();
    world.settle();
    assert!(world.log().contains("\"text\":\"y\""));
}

#[test]
fn an_answer_that_was_given_back_still_has_its_deadline() {
    let (mut world, told) = asked(json!({"humanInteractionTimeoutMs": 1000}), &[ASK]);
    world.advance(Duration::from_millis(900));
    let reader = world
        .send(&resume("t", "r2", vec![resolve(&told[0], true)]))
        .unwrap();
    // Taken: its time cannot run out now.
    world.advance(Duration::from_millis(200));
    assert!(world.agents.values().all(|agent| agent.is_asking()));
    world.leave(reader);
    world.advance(Duration::ZERO);
    assert!(world.agents.values().all(|agent| !agent.is_asking()));
}

#[test]
fn more_requests_than_allowed_end_at_once() {
    let (mut world, told) = asked(json!({"maxPendingInterrupts": 1}), &[ASK, ESCALATE]);
    assert_eq!(told.len(), 1);
    let two = vec![
        resolve(&told[0], true),
        json!({"interruptId":"x","status":"cancelled"}),
    ];
    assert_eq!(
        refused(&mut world, &resume("t", "r2", two)),
        Code::InterruptLimitExceeded
    );
    world
        .send(&resume("t", "r3", vec![resolve(&told[0], true)]))
        .unwrap();
    world.settle();
    assert!(world.log().contains("1 requests already wait for the user"));
    assert!(world.log().contains("\"text\":\"x\""));
}

#[test]
fn interrupts_that_do_not_fit_the_record_cancel_the_turn() {
    let mut world = World::new(json!({"maxRunEventBytes": 2400}));
    let reader = world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.settle_with(&Answer::Calls(vec![ASK.into(), ASK.into()]));
    assert_eq!(
        world.responses[&reader].run_error().as_deref(),
        Some("AG_UI_EVENT_BUFFER_OVERFLOW")
    );
    assert!(world.log().contains("\"aborted\""));
    assert!(world.agents.values().all(|agent| !agent.is_asking()));
}

#[test]
fn a_history_that_cannot_hold_the_interrupts_fails_alone_and_publishes_nothing() {
    let mut world = World::new(json!({"maxRunEventBytes": 2400}));
    let mut body = ask("t", "r1", &[("m1", "a")]);
    body["tools"] = json!([pick()]);
    world.send(&body).unwrap();
    world.settle_with(&Answer::Calls(vec!["pick".into()]));
    for _ in 0..3 {
        world.ask_loosely(0);
    }
    let reader = world.send(&ask("t", "r2", &[("m1", "a")])).unwrap();
    assert_eq!(
        world.responses[&reader].run_error().as_deref(),
        Some("AG_UI_EVENT_BUFFER_OVERFLOW")
    );
    assert!(!world.log().contains("\"aborted\""));
    assert!(world.agents.values().all(|agent| agent.is_asking()));
    let busy = world.send(&ask("t", "r3", &[("m2", "b")])).unwrap_err();
    assert_eq!(busy.code, Code::AgentBusy);
}

#[test]
fn a_restart_forgets_what_waited_and_says_that_the_turn_is_gone() {
    let (world, told) = asked(json!({}), &[ASK]);
    let (thread, agent) = world.agents.into_iter().next().unwrap();
    let session = world.session_of[&thread].clone();
    let mut world = World::new(json!({}));
    world
        .sessions
        .insert(session, super::agent::repaired(agent.log));
    let entries = || vec![resolve(&told[0], true)];
    let reader = world.send(&resume("t", "r2", entries())).unwrap();
    world.settle();
    assert_eq!(
        world.responses[&reader].run_error().as_deref(),
        Some("THREAD_INTERRUPTED")
    );
    // The client's gate is still shut: the next try clears it.
    let reader = world.send(&resume("t", "r3", entries())).unwrap();
    world.settle();
    let end = world.last(reader);
    assert_eq!(
        (&end["type"], end.get("outcome")),
        (&"RUN_FINISHED".into(), None)
    );
}

#[test]
fn a_resume_may_come_under_the_run_id_of_the_run_that_asked() {
    let (mut world, told) = asked(json!({}), &[ESCALATE]);
    let again = resume("t", "r1", vec![resolve(&told[0], true)]);
    world.send(&again).unwrap();
    world.settle_with(&Answer::Calls(vec!["pick".into()]));
    // Its follow-up keeps the id, too.
    let mut follow_up = resume("t", "r1", Vec::new());
    follow_up["messages"] = json!([{"id":"x","role":"tool","toolCallId":"call-1-2","content":"p"}]);
    let reader = world.send(&follow_up).unwrap();
    world.settle();
    assert!(world.log().contains("\"completed\""));
    // Each of them is answered from its own record, and the id is taken for everything else.
    let replay = world.send(&follow_up).unwrap();
    world.settle();
    assert_eq!(world.types(replay), world.types(reader));
    assert!(world.send(&again).is_ok());
    let other = ask("t", "r1", &[("m2", "b")]);
    assert_eq!(refused(&mut world, &other), Code::RunIdConflict);
}

#[test]
fn a_run_id_is_not_repeated_without_an_answer() {
    let (mut world, _) = asked(json!({}), &[ESCALATE]);
    let other = ask("t", "r1", &[("m1", "a"), ("m2", "b")]);
    assert_eq!(refused(&mut world, &other), Code::RunIdConflict);
    // A run that only waits for the browser keeps its id to itself.
    let (mut world, _) = asked(json!({}), &["pick"]);
    let mut result = resume("t", "r1", Vec::new());
    result["messages"] = json!([{"id":"x","role":"tool","toolCallId":"call-1-1","content":"p"}]);
    assert_eq!(refused(&mut world, &result), Code::RunIdConflict);
}

#[test]
fn a_client_s_own_note_of_its_answer_is_no_tool_result() {
    let (mut world, told) = asked(json!({}), &[ESCALATE]);
    let note = json!([{"id":"note","role":"tool","toolCallId":"call-1-1","content":"{\"approved\":true}"}]);
    let mut body = resume("t", "r2", vec![resolve(&told[0], true)]);
    body["messages"] = note.clone();
    let reader = world.send(&body).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    assert!(world.log().contains("\"text\":\"allowed\""));
    let mut body = ask("t", "r3", &[]);
    body["messages"] = note;
    assert!(world.send(&body).is_ok());
}

#[test]
fn a_host_that_takes_its_request_back_ends_it() {
    let (mut world, told) = asked(json!({}), &[ASK]);
    // The one who reads a parked turn cancels nothing; a driving one does.
    let reader = world
        .send(&resume("t", "r2", vec![resolve(&told[0], true)]))
        .unwrap();
    world.drive();
    world.leave(reader);
    world.settle();
    assert!(world.log().contains("\"aborted\""));
    assert!(world.agents.values().all(|agent| !agent.is_asking()));
}

#[test]
fn nobody_is_asked_outside_a_turn() {
    let mut world = World::new(json!({}));
    world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.settle();
    // It is told at once that nobody answers.
    world.ask_loosely(0);
    assert!(world.agents.values().all(|agent| !agent.is_asking()));
}

#[test]
fn a_request_that_belongs_to_no_call_ends_with_its_turn() {
    let (mut world, _) = asked(json!({}), &["pick"]);
    world.ask_loosely(0);
    let mut body = resume("t", "r2", Vec::new());
    body["messages"] = json!([{"id":"x","role":"tool","toolCallId":"call-1-1","content":"p"}]);
    world.send(&body).unwrap();
    world.settle();
    assert!(world.log().contains("\"completed\""));
    assert!(world.agents.values().all(|agent| !agent.is_asking()));
}

#[test]
fn disposal_ends_what_waits_before_the_agent_goes() {
    let (mut world, _) = asked(json!({}), &[ASK]);
    world.gateway.shutdown(world.now);
    world.drain();
    world.settle();
    assert!(world.gateway.is_drained());
    world.gateway.assert_released();
}
