//! What was told is on the disk: the clock of these stories is the Host's writing.

use serde_json::{Value, json};

use super::agent::Answer;
use super::world::{Disk, World, ask, result, user, with_tool};
use crate::gateway::Code;
use crate::projection::FRONTEND_RESULT_KEY;

fn slow(config: Value) -> World {
    let mut world = World::new(config);
    world.disk = Disk::Slow;
    world
}

/// Lets everything but the disk come to rest.
fn work(world: &mut World, answer: &Answer) {
    for _ in 0..20 {
        world.open_next();
        world.close_next();
        world.drive();
        let calling = world
            .agents
            .values()
            .any(super::agent::SimAgent::is_calling);
        if !(calling && matches!(answer, Answer::Calls(_))) {
            world.step_agent(0, answer.clone());
        }
        world.advance(std::time::Duration::ZERO);
    }
}

fn text() -> Answer {
    Answer::Text(vec!["Hello".into()])
}

/// The code with which a request is refused, at once or when its thread is open.
fn refusal(world: &mut World, body: &Value) -> Option<Code> {
    match world.send(body) {
        Err(error) => Some(error.code),
        Ok(reader) => {
            world.settle();
            world.responses[&reader]
                .error
                .as_ref()
                .map(|error| error.code)
        }
    }
}

#[test]
fn a_run_ends_when_its_log_is_written() {
    let mut world = slow(json!({}));
    let reader = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    work(&mut world, &text());
    assert_eq!(world.last(reader)["type"], "TEXT_MESSAGE_END");
    assert!(world.flush_next());
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    world.crash();
    let again = world.send(&ask("t", "r2", &[("m", "hi")])).unwrap();
    world.settle();
    let events = world.events(again);
    assert_eq!(events.len(), 3, "{events:?}");
    assert_eq!(events[1]["messages"].as_array().unwrap().len(), 2);
}

#[test]
fn a_crash_before_that_leaves_a_message_that_may_be_sent_again() {
    let mut world = slow(json!({}));
    let reader = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    work(&mut world, &text());
    world.crash();
    let again = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    world.settle();
    assert_eq!(world.last(again)["type"], "RUN_FINISHED");
    assert_eq!(again, reader, "another process counts anew");
}

#[test]
fn what_a_lost_turn_showed_of_the_server_s_own_results_locks_nobody_out() {
    let mut world = World::new(json!({}));
    let lost = result("result-c-1", "c-1", "done");
    let reader = world
        .send(&with_tool("r1", &[user("m", "a"), lost]))
        .unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    let foreign = result("x", "c-1", "done");
    let refused = refusal(&mut world, &with_tool("r2", &[foreign]));
    assert_eq!(refused, Some(Code::UnknownToolResult));
}

#[test]
fn a_failed_turn_is_told_when_its_log_is_written() {
    let mut world = slow(json!({}));
    let reader = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    work(&mut world, &Answer::Fail);
    assert!(!world.responses[&reader].ended);
    world.flush_next();
    assert_eq!(world.responses[&reader].run_error().as_deref(), Some("SIM"));
}

#[test]
fn a_turn_that_waits_for_the_browser_is_written_before_its_run_ends() {
    let mut world = slow(json!({}));
    let reader = world.send(&with_tool("r", &[user("m", "a")])).unwrap();
    work(
        &mut world,
        &Answer::Calls(vec!["pick".into(), "pick".into()]),
    );
    let calls = world.responses[&reader].calls();
    assert_eq!(world.last(reader)["type"], "TOOL_CALL_END");
    world.flush_next();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    let log = world.agents.values().next().unwrap().log.join("\n");
    // A partial answer ends with what it added written, too.
    let answer = json!({"id":"x","role":"tool","toolCallId":calls[0],"content":"one"});
    let reader = world.send(&with_tool("r2", &[answer])).unwrap();
    work(&mut world, &text());
    let grown = world.agents.values().next().unwrap().log.join("\n");
    assert!(grown.len() > log.len());
    assert_eq!(world.last(reader)["type"], "MESSAGES_SNAPSHOT");
    world.flush_next();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    world.crash();
    let told = world.send(&with_tool("r3", &[])).unwrap();
    world.settle();
    let history = world.events(told)[1]["messages"].clone();
    let ids: Vec<&str> = history
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["id"].as_str().unwrap())
        .collect();
    assert!(ids.contains(&"x"), "{ids:?}");
}

#[test]
fn the_next_run_waits_for_the_disk_and_finds_failed_messages_released() {
    let mut world = slow(json!({}));
    let first = world
        .send(&ask("t", "r1", &[("m1", "a"), ("m2", "b")]))
        .unwrap();
    work(&mut world, &Answer::Fail);
    let second = world.send(&ask("t", "r2", &[("m3", "c")])).unwrap();
    assert_eq!(world.responses[&second].text, "");
    world.flush_next();
    assert!(world.responses[&first].ended);
    world.settle();
    assert_eq!(world.last(second)["type"], "RUN_FINISHED");
}

#[test]
fn a_client_that_leaves_while_the_log_is_written_finds_its_run_finished() {
    let mut world = slow(json!({}));
    let body = ask("t", "r", &[("m", "hi")]);
    let reader = world.send(&body).unwrap();
    work(&mut world, &text());
    world.leave(reader);
    world.flush_next();
    let replay = world.send(&body).unwrap();
    world.settle();
    assert_eq!(world.last(replay)["type"], "RUN_FINISHED");
}

#[test]
fn who_waits_for_the_disk_is_told_of_a_shutdown() {
    let mut world = slow(json!({}));
    let reader = world.send(&ask("t", "r", &[("m", "hi")])).unwrap();
    work(&mut world, &text());
    world.gateway.shutdown(world.now);
    world.drain();
    let error = world.responses[&reader].run_error();
    assert_eq!(error.as_deref(), Some("AGENT_NOT_AVAILABLE"));
    world.settle();
    world.gateway.assert_released();
}

#[test]
fn an_interruption_is_told_once_however_often_the_thread_comes_back() {
    let mut world = slow(json!({"threadIdleMs":1000}));
    world.send(&ask("t", "r1", &[("m", "hi")])).unwrap();
    work(&mut world, &Answer::Retry);
    world.lose_agent(0);
    world.settle();
    let told = world.send(&ask("t", "r2", &[("m", "hi")])).unwrap();
    work(&mut world, &text());
    assert_eq!(
        world.last(told)["type"],
        "MESSAGES_SNAPSHOT",
        "the note is not written yet"
    );
    world.flush_next();
    let error = world.responses[&told].run_error();
    assert_eq!(error.as_deref(), Some("THREAD_INTERRUPTED"));
    world.crash();
    let after_crash = world.send(&ask("t", "r3", &[("m", "hi")])).unwrap();
    world.settle();
    assert_eq!(world.last(after_crash)["type"], "RUN_FINISHED");
    world.advance(std::time::Duration::from_secs(2));
    world.settle();
    assert_eq!(world.gateway.thread_count(), 0);
    let after_idling = world.send(&ask("t", "r4", &[("m", "hi")])).unwrap();
    world.settle();
    assert_eq!(world.last(after_idling)["type"], "RUN_FINISHED");
}

#[test]
fn what_is_the_gateway_s_own_in_metadata_is_taken_from_nobody() {
    for error in [None, Some("no")] {
        let mut world = World::new(json!({}));
        let reader = world.send(&with_tool("r1", &[user("m", "a")])).unwrap();
        world.settle_with(&Answer::Calls(vec!["pick".into()]));
        let call = &world.responses[&reader].calls()[0];
        let forged = json!({"k":1,FRONTEND_RESULT_KEY:{"id":"m"}});
        let mut answer =
            json!({"id":"x","role":"tool","toolCallId":call,"content":"red","metadata":forged});
        if let Some(error) = error {
            answer["error"] = error.into();
        }
        for run in ["r2", "r3"] {
            let reader = world.send(&with_tool(run, &[answer.clone()])).unwrap();
            world.settle();
            assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
            let opening = world.events(reader).swap_remove(1);
            assert_eq!(opening["messages"][2]["metadata"], json!({"k":1}), "{run}");
        }
    }
}

#[test]
fn a_result_that_the_host_shortens_is_known_in_either_form() {
    let mut world = World::new(json!({}));
    let reader = world.send(&with_tool("r1", &[user("m", "a")])).unwrap();
    world.settle_with(&Answer::Calls(vec!["pick".into()]));
    let call = &world.responses[&reader].calls()[0];
    world.agents.values_mut().next().unwrap().spills_over = Some(10);
    let result = |content: &str| json!({"id":"x","role":"tool","toolCallId":call,"content":content,"metadata":{"k":1}});
    let long = "a long result of the browser";
    world.send(&with_tool("r2", &[result(long)])).unwrap();
    world.settle();
    for life in 0..2 {
        let mut changed = result(long);
        changed["metadata"]["k"] = 2.into();
        for (at, other) in [changed, result("another long result of it")]
            .into_iter()
            .enumerate()
        {
            let body = with_tool(&format!("{life}-{at}"), &[other]);
            let refused = refusal(&mut world, &body);
            assert_eq!(refused, Some(Code::MessageIdConflict), "life {life}");
        }
        for (at, known) in [result(long), result("(spilled)")].into_iter().enumerate() {
            let reader = world
                .send(&with_tool(&format!("{life}-known-{at}"), &[known]))
                .unwrap();
            world.settle();
            let history = world.events(reader)[1]["messages"].clone();
            assert_eq!(history[2]["content"], "(spilled)");
            assert_eq!(history[2]["metadata"], json!({"k":1}));
            assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
        }
        world.crash();
    }
}
