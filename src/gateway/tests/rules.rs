//! Rules of the document, each as a short story.

use std::time::Duration;

use serde_json::json;

use super::agent::{Answer, repaired};
use super::world::{World, ask, result, user, with_tool};
use crate::gateway::{Code, ContentBlock, HostMessage, MessageSource};

fn world() -> World {
    World::new(json!({}))
}

#[test]
fn a_message_becomes_a_stream_with_one_terminal() {
    let mut world = world();
    let reader = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    world.settle();
    assert_eq!(
        world.types(reader),
        [
            "RUN_STARTED",
            "MESSAGES_SNAPSHOT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "MESSAGES_SNAPSHOT",
            "RUN_FINISHED"
        ]
    );
    assert!(world.responses[&reader].ended);
}

#[test]
fn the_opening_goes_out_before_the_agent_is_told() {
    let mut world = world();
    let reader = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    world.open_next();
    assert_eq!(world.types(reader), ["RUN_STARTED", "MESSAGES_SNAPSHOT"]);
    assert!(world.agents.values().all(|agent| !agent.has_work()));
    assert!(world.drive());
    assert!(world.agents.values().all(|agent| agent.has_work()));
}

#[test]
fn no_agent_starts_while_others_are_being_opened() {
    let mut world = world();
    world.send(&ask("a", "r", &[("m", "hi")])).unwrap();
    world.send(&ask("b", "r", &[("m", "hi")])).unwrap();
    world.open_next();
    assert!(!world.drive());
    world.open_next();
    assert!(world.drive() && world.drive() && !world.drive());
}

#[test]
fn deltas_are_paced_and_the_first_is_not() {
    let mut world = world();
    let reader = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    world.open_next();
    world.drive();
    world.step_agent(0, Answer::Retry);
    let thread = *world.agents.keys().next().unwrap();
    world.gateway.handle_attempt_start(world.now, thread, 1, 1);
    world.drain();
    let before = world.types(reader).len();
    for text in ["a", "b", "c"] {
        world.gateway.handle_text(world.now, thread, text);
        world.drain();
    }
    assert_eq!(
        world.types(reader).len(),
        before + 2,
        "start and first delta"
    );
    world.advance(Duration::from_millis(8));
    let events = world.events(reader);
    assert_eq!(events.last().unwrap()["delta"], "bc");
}

#[test]
fn an_abandoned_attempt_is_taken_back_by_a_snapshot() {
    let mut world = world();
    let reader = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    world.open_next();
    world.drive();
    world.step_agent(0, Answer::Text(vec![]));
    world.step_agent(0, Answer::Retry);
    world.settle();
    let types = world.types(reader);
    let retracted = types
        .windows(2)
        .any(|pair| pair == ["TEXT_MESSAGE_END", "MESSAGES_SNAPSHOT"]);
    assert!(retracted, "{types:?}");
    assert_eq!(types.last().unwrap(), "RUN_FINISHED");
}

#[test]
fn a_finished_duplicate_gets_the_same_events_and_another_body_conflicts() {
    let mut world = world();
    let body = ask("t", "r", &[("m", "hi")]);
    let first = world.send(&body).unwrap();
    world.settle();
    let second = world.send(&body).unwrap();
    world.settle();
    // Adjacent deltas may be merged in a replay.
    assert_eq!(
        world.types(second),
        [
            "RUN_STARTED",
            "MESSAGES_SNAPSHOT",
            "TEXT_MESSAGE_START",
            "TEXT_MESSAGE_CONTENT",
            "TEXT_MESSAGE_END",
            "MESSAGES_SNAPSHOT",
            "RUN_FINISHED"
        ]
    );
    let last = |reader| world.events(reader).pop();
    assert_eq!(last(first), last(second));
    let other = ask("t", "r", &[("m2", "ho")]);
    assert_eq!(world.send(&other).unwrap_err().code, Code::RunIdConflict);
}

#[test]
fn a_duplicate_attaches_to_a_live_run_and_the_last_reader_to_leave_cancels() {
    let mut world = world();
    let body = ask("t", "r", &[("m", "hi")]);
    let first = world.send(&body).unwrap();
    world.open_next();
    world.drive();
    world.step_agent(0, Answer::Retry);
    let second = world.send(&body).unwrap();
    world.leave(first);
    assert!(!world.responses[&second].ended);
    world.leave(second);
    world.settle();
    let replay = world.send(&body).unwrap();
    world.settle();
    assert_eq!(
        world.responses[&replay].run_error().as_deref(),
        Some("CLIENT_DISCONNECTED")
    );
}

#[test]
fn ids_come_round_without_meeting_those_in_use() {
    let mut world = world();
    world.send(&ask("kept", "r", &[("m", "hi")])).unwrap();
    world.settle();
    let gateway = &mut world.gateway;
    let mut used: Vec<u32> = gateway.threads.keys().map(|thread| thread.0).collect();
    used.extend(gateway.runs.keys().map(|run| run.0));
    assert_eq!(used, [0, 1], "a thread and the run that it retains");
    gateway.next_id = u32::MAX;
    assert_eq!([gateway.take_id(), gateway.take_id()], [u32::MAX, 2]);
}

#[test]
fn runs_wait_in_order_and_a_client_that_leaves_is_never_admitted() {
    let mut world = World::new(json!({"maxRunsPerThread":3}));
    let first = world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.open_next();
    let second = world.send(&ask("t", "r2", &[("m2", "b")])).unwrap();
    let third = world.send(&ask("t", "r3", &[("m3", "c")])).unwrap();
    world.send(&ask("t", "r4", &[("m4", "d")])).unwrap();
    assert_eq!(
        world
            .send(&ask("t", "r5", &[("m5", "e")]))
            .unwrap_err()
            .code,
        Code::RunQueueFull
    );
    world.leave(second);
    world.send(&ask("t", "r5", &[("m5", "e")])).unwrap();
    world.settle();
    assert_eq!(world.last(first)["type"], "RUN_FINISHED");
    assert_eq!(world.last(third)["type"], "RUN_FINISHED");
    let log = world.agents.values().next().unwrap().log.join("\n");
    assert!(!log.contains("\"m2\""));
    let at = |id: &str| log.find(&format!("\"id\":\"{id}\"")).unwrap();
    assert!(at("m1") < at("m3") && at("m3") < at("m4") && at("m4") < at("m5"));
}

#[test]
fn every_entry_of_the_ledger_active_refuses_the_next_run() {
    let mut world = World::new(json!({"maxRunsPerThread":1}));
    world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.open_next();
    assert_eq!(
        world
            .send(&ask("t", "r2", &[("m1", "a")]))
            .unwrap_err()
            .code,
        Code::RunLedgerFull
    );
    world.settle();
    assert!(world.send(&ask("t", "r2", &[("m1", "a")])).is_ok());
}

#[test]
fn a_history_run_is_served_beside_an_active_one() {
    let mut world = world();
    world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.open_next();
    world.drive();
    let reader = world.send(&ask("t", "r2", &[("m1", "a")])).unwrap();
    assert_eq!(
        world.types(reader),
        ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    );
}

#[test]
fn a_message_id_is_accepted_once() {
    let mut world = world();
    world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.settle();
    let other = world.send(&ask("t", "r2", &[("m1", "b")]));
    assert_eq!(other.unwrap_err().code, Code::MessageIdConflict);
    let twice = world.send(&ask("t", "r3", &[("m2", "x"), ("m2", "y")]));
    assert_eq!(twice.unwrap_err().code, Code::MessageIdConflict);
    world
        .send(&ask("t", "r4", &[("m2", "x"), ("m2", "x")]))
        .unwrap();
    world.settle();
    let log = world.agents.values().next().unwrap().log.join("\n");
    assert_eq!(log.matches("\"id\":\"m2\"").count(), 1);
}

#[test]
fn empty_parts_of_a_message_are_left_out() {
    let mut world = world();
    let empty = json!({"type":"text","text":""});
    let mut body = ask("t", "r1", &[("m1", "")]);
    body["messages"][0]["content"] = json!([empty, {"type":"text","text":"hi"}, empty]);
    for life in 0..2 {
        body["runId"] = format!("r{life}").into();
        let reader = world.send(&body).unwrap();
        world.settle();
        assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
        let history = world.events(reader).swap_remove(1);
        assert_eq!(history["messages"][0]["content"], "hi", "life {life}");
        assert!(!world.log().contains("\"text\":\"\""));
        world.crash();
    }
}

#[test]
fn what_the_host_shows_of_its_own_messages_may_come_back() {
    let mut world = world();
    world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.settle();
    let thread = *world.agents.keys().next().unwrap();
    for (seq, id, content) in [
        (90, "h1", json!([{"type":"image","attachment":{}}])),
        (91, "h2", json!([])),
    ] {
        let own = json!({"type":"user/message","seq":seq,"data":{
            "id":id,"role":"user","content":content,"source":{"kind":"user"}}});
        let record = own.to_string();
        world.gateway.handle_record(world.now, thread, &record);
        world.drain();
    }
    let reader = world.send(&ask("t", "r2", &[])).unwrap();
    let history = world.last_history(reader);
    let mut messages = history.as_array().unwrap().clone();
    assert_eq!(messages.last().unwrap()["content"], "[image]");
    messages.push(user("m2", "b"));
    let reader = world.send(&with_tool("r3", &messages)).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn a_message_that_the_agent_never_got_may_be_sent_again() {
    let mut world = world();
    let reader = world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.open_next();
    world.leave(reader);
    let again = world.send(&ask("t", "r2", &[("m1", "changed")])).unwrap();
    world.settle();
    assert_eq!(world.last(again)["type"], "RUN_FINISHED");
}

/// A thread whose turn waits for two browser calls.
fn parked() -> (World, Vec<String>) {
    let mut world = world();
    let reader = world.send(&with_tool("r1", &[user("m1", "a")])).unwrap();
    world.settle_with(&Answer::Calls(vec!["pick".into(), "pick".into()]));
    let calls = world.responses[&reader].calls();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    (world, calls)
}

#[test]
fn browser_calls_park_and_are_answered_in_any_number_of_rounds() {
    let (mut world, calls) = parked();
    assert_eq!(calls.len(), 2);
    let busy = world.send(&ask("t", "r2", &[("m2", "b")]));
    assert_eq!(busy.unwrap_err().code, Code::AgentBusy);
    let second = with_tool("r3", &[result("x2", &calls[1], "two")]);
    let reader = world.send(&second).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    let first = with_tool("r4", &[result("x1", &calls[0], "one")]);
    let reader = world.send(&first).unwrap();
    world.settle();
    let events = world.events(reader);
    assert!(
        events
            .iter()
            .all(|event| event["type"] != "TOOL_CALL_RESULT")
    );
    assert!(
        events
            .iter()
            .any(|event| event["type"] == "TEXT_MESSAGE_CONTENT")
    );
    let snapshot = &events[events.len() - 2]["messages"];
    let tool_ids: Vec<_> = snapshot
        .as_array()
        .unwrap()
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| message["id"].as_str().unwrap())
        .collect();
    assert_eq!(tool_ids, ["x1", "x2"]);
}

#[test]
fn bad_continuations_consume_nothing() {
    let (mut world, calls) = parked();
    let mixed = [user("m9", "a"), result("x1", &calls[0], "one")];
    let refused = world.send(&with_tool("r2", &mixed));
    assert_eq!(refused.unwrap_err().code, Code::InvalidMessageBatch);
    let unknown = [result("x1", "nobody", "one")];
    let refused = world.send(&with_tool("r3", &unknown));
    assert_eq!(refused.unwrap_err().code, Code::UnknownToolResult);
    let twice = [
        result("x1", &calls[0], "one"),
        result("x2", &calls[0], "two"),
    ];
    let refused = world.send(&with_tool("r4", &twice));
    assert_eq!(refused.unwrap_err().code, Code::InvalidToolResultBatch);
    let good = [
        result("x1", &calls[0], "one"),
        result("x2", &calls[1], "two"),
    ];
    let reader = world.send(&with_tool("r5", &good)).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn a_call_is_not_overdue_while_nobody_can_answer_it() {
    let mut world = world();
    let reader = world.send(&with_tool("r1", &[user("m1", "a")])).unwrap();
    world.open_next();
    world.drive();
    world.make_calls(&["slow", "pick"]);
    world.advance(Duration::from_secs(1000));
    assert!(!world.responses[&reader].ended, "a Tool of the Host's runs");
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    // From here on the browser has its time, all of it.
    world.advance(Duration::from_secs(299));
    let answer = result("x1", &world.responses[&reader].calls()[1], "red");
    let reader = world.send(&with_tool("r2", &[answer])).unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    assert!(world.log().contains("red"));
}

#[test]
fn an_overdue_call_fails_and_the_turn_goes_on() {
    let (mut world, calls) = parked();
    world.advance(Duration::from_secs(300));
    world.settle();
    let log = world.agents.values().next().unwrap().log.join("\n");
    assert!(log.contains("did not answer within 300000 ms"));
    assert!(log.contains("\"completed\""));
    // The late answer is history by now.
    let late = with_tool("r2", &[result("x1", &calls[0], "late")]);
    let reader = world.send(&late).unwrap();
    assert_eq!(
        world.types(reader),
        ["RUN_STARTED", "MESSAGES_SNAPSHOT", "RUN_FINISHED"]
    );
}

#[test]
fn a_thread_that_somebody_reads_is_not_idle() {
    let mut world = world();
    world.send(&ask("t", "r0", &[("m", "hi")])).unwrap();
    world.settle();
    for round in 1..5 {
        world.advance(Duration::from_secs(1000));
        if round % 2 == 0 {
            world.send(&ask("t", &format!("r{round}"), &[])).unwrap();
        } else {
            world.reconnect("t", "r0", None).unwrap();
        }
        world.settle();
        assert_eq!(world.gateway.thread_count(), 1, "round {round}");
    }
    world.advance(Duration::from_secs(1801));
    world.settle();
    assert_eq!(world.gateway.thread_count(), 0);
}

#[test]
fn an_idle_thread_is_let_go_and_comes_back_from_its_log() {
    let mut world = World::new(json!({"maxThreads":1}));
    world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.settle();
    assert_eq!(
        world
            .send(&ask("other", "r1", &[("m1", "a")]))
            .unwrap_err()
            .code,
        Code::ThreadLimitReached
    );
    world.advance(Duration::from_secs(1800));
    world.settle();
    assert_eq!(world.gateway.thread_count(), 0);
    let reader = world.send(&ask("t", "r2", &[("m1", "a")])).unwrap();
    world.settle();
    let events = world.events(reader);
    assert_eq!(events[1]["messages"].as_array().unwrap().len(), 2);
    assert_eq!(events.len(), 3);
}

#[test]
fn a_thread_interrupted_by_a_restart_says_so_once_and_keeps_the_client_s_message() {
    let (world, _) = parked();
    let session = repaired(world.agents.into_values().next().unwrap().log);
    let mut world = World::new(json!({}));
    let key = crate::gateway::ThreadKey {
        principal: crate::gateway::Principal {
            tenant: "t".into(),
            user: "u".into(),
        },
        thread_id: "t".into(),
    };
    world.sessions.insert(key.session_id(), session);
    let reader = world
        .send(&ask("t", "r2", &[("m1", "a"), ("m2", "b")]))
        .unwrap();
    world.settle();
    let response = &world.responses[&reader];
    assert_eq!(response.run_error().as_deref(), Some("THREAD_INTERRUPTED"));
    let messages = response.events()[1]["messages"].as_array().unwrap().clone();
    assert_eq!(messages.last().unwrap()["id"], "m2");
    let reader = world
        .send(&ask("t", "r3", &[("m1", "a"), ("m2", "b")]))
        .unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn overflow_ends_the_run_and_cancels_its_turn() {
    let mut world = World::new(json!({"maxRunEventBytes":2000}));
    let reader = world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.settle_with(&Answer::Text(vec!["x".repeat(500); 10]));
    let response = &world.responses[&reader];
    assert_eq!(
        response.run_error().as_deref(),
        Some("AG_UI_EVENT_BUFFER_OVERFLOW")
    );
    assert!(response.text.len() < 2400);
    // The history no longer fits, so the thread cannot be shown at this limit; its agent is idle all the same.
    assert!(world.agents.values().all(|agent| !agent.has_work()));
}

#[test]
fn nothing_follows_what_did_not_fit_however_small() {
    // Some of these limits lie between the start of a call and its arguments; a record that a client could not read fails
    // its own check.
    for bytes in (1400..2400).step_by(10) {
        let mut world = World::new(json!({"maxRunEventBytes":bytes,"maxIdentityBytes":32}));
        let body = with_tool("r", &[user("m", "a")]);
        let reader = world.send(&body).unwrap();
        world.settle_with(&Answer::Calls(vec!["pick".into(); 6]));
        assert!(world.responses[&reader].ended, "{bytes}");
    }
}

#[test]
fn silence_is_broken_by_comments_also_before_the_decision() {
    let mut world = world();
    let reader = world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.advance(Duration::from_secs(15));
    assert_eq!(world.responses[&reader].text, ": keep-alive\n\n");
    world.fail_open();
    let response = &world.responses[&reader];
    assert_eq!(response.error, None);
    assert_eq!(
        response.run_error().as_deref(),
        Some("AGENT_EXECUTION_ERROR")
    );
}

#[test]
fn a_failed_opening_is_an_http_error_and_leaves_nothing() {
    let mut world = world();
    let reader = world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.fail_open();
    let error = world.responses[&reader].error.clone().unwrap();
    assert_eq!(error.code, Code::AgentExecutionError);
    assert_eq!(world.gateway.thread_count(), 0);
}

#[test]
fn shutdown_ends_every_run_and_waits_for_every_agent() {
    let (mut world, _) = parked();
    let running = world.send(&ask("u", "r1", &[("m1", "a")])).unwrap();
    world.open_next();
    world.drive();
    let opening = world.send(&ask("v", "r1", &[("m1", "a")])).unwrap();
    world.gateway.shutdown(world.now);
    world.drain();
    assert_eq!(
        world.responses[&running].run_error().as_deref(),
        Some("AGENT_NOT_AVAILABLE")
    );
    assert_eq!(
        world.responses[&opening]
            .error
            .as_ref()
            .map(|error| error.code),
        Some(Code::AgentNotAvailable)
    );
    assert!(!world.gateway.is_drained());
    world.settle();
    assert!(world.gateway.is_drained());
    assert_eq!(
        world.send(&ask("t", "r9", &[("m", "a")])).unwrap_err().code,
        Code::AgentNotAvailable
    );
}

#[test]
fn shared_state_is_a_baseline_then_a_tool() {
    let mut world = world();
    let mut body = ask("t", "r1", &[("m1", "a")]);
    body["state"] = json!({"n":1});
    let reader = world.send(&body).unwrap();
    world.settle();
    assert_eq!(
        world.types(reader)[..3],
        ["RUN_STARTED", "STATE_SNAPSHOT", "MESSAGES_SNAPSHOT"]
    );
    let agent = world.agents.values().next().unwrap();
    assert_eq!(agent.tools, ["ag_ui_update_state"]);
    assert!(
        agent
            .log
            .join("\n")
            .contains("## Current Shared State\\n{\\\"n\\\":1}")
    );
}

#[test]
fn a_thread_is_told_of_an_interruption_only_while_it_is_the_last_thing_that_happened() {
    let mut world = World::new(json!({"threadIdleMs":1000}));
    world.send(&ask("t", "r1", &[("m1", "a")])).unwrap();
    world.open_next();
    world.drive();
    world.step_agent(0, Answer::Text(vec![]));
    world.lose_agent(0);
    world.settle();
    let told = world.send(&ask("t", "r2", &[("m2", "b")])).unwrap();
    world.settle();
    assert_eq!(
        world.responses[&told].run_error().as_deref(),
        Some("THREAD_INTERRUPTED")
    );
    world.send(&ask("t", "r3", &[("m2", "b")])).unwrap();
    world.settle();
    world.advance(Duration::from_secs(2));
    world.settle();
    assert!(world.agents.is_empty());
    let next = world.send(&ask("t", "r4", &[("m3", "c")])).unwrap();
    world.settle();
    assert_eq!(world.last(next)["type"], "RUN_FINISHED");
}

#[test]
fn agents_that_are_slow_to_open_hold_nobody_up_for_long() {
    let mut world = world();
    let reader = world.send(&ask("a", "r", &[("m", "hi")])).unwrap();
    world.open_next();
    world.send(&ask("slow", "r", &[("m", "hi")])).unwrap();
    assert!(!world.drive());
    world.advance(Duration::from_millis(50));
    assert!(world.drive());
    for _ in 0..2 {
        world.step_agent(0, Answer::Text(vec!["x".into()]));
    }
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn a_message_that_does_not_fit_its_opening_is_not_accepted() {
    let mut world = World::new(json!({"maxRunEventBytes":4096}));
    world.send(&ask("t", "r0", &[("m0", "hi")])).unwrap();
    world.settle();
    let big = "x".repeat(4000);
    let reader = world.send(&ask("t", "r1", &[("big", &big)])).unwrap();
    world.settle();
    assert_eq!(
        world.responses[&reader].run_error().as_deref(),
        Some("AG_UI_EVENT_BUFFER_OVERFLOW")
    );
    let reader = world
        .send(&ask("t", "r2", &[("big", "short now")]))
        .unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn a_turn_of_the_host_s_own_is_not_taken_for_the_run_s() {
    let mut world = world();
    let reader = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    world.open_next();
    let now = world.now;
    let agent = world.agents.values_mut().next().unwrap();
    let native = HostMessage {
        id: Some("native".into()),
        content: vec![ContentBlock::Text { text: "n".into() }],
        receipts: Vec::new(),
        source: MessageSource::User {
            ag_ui_content: None,
        },
    };
    agent.deliver(now, &mut world.gateway, vec![native], true);
    world.drain();
    assert!(!world.drive());
    world.step_agent(0, Answer::Text(vec![]));
    world.step_agent(0, Answer::Text(vec!["NATIVE".into()]));
    world.settle_with(&Answer::Text(vec!["MINE".into()]));
    let events = world.events(reader);
    let streamed: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "TEXT_MESSAGE_CONTENT")
        .map(|event| event["delta"].as_str().unwrap())
        .collect();
    assert_eq!(streamed, ["MINE"]);
    assert_eq!(events.last().unwrap()["type"], "RUN_FINISHED");
}
