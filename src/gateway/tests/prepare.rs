//! Runs that need something of the Host before they are admitted: presets and files (G16, G17).

use std::time::Duration;

use serde_json::{Value, json};

use super::world::{World, ask};
use crate::gateway::{Code, FileKind, ReaderId};

fn world() -> World {
    World::new(json!({"selectableAgentPresets": {"t": ["alpha", "beta"]}, "maxFilesPerMessage": 2}))
}

fn choose(run: &str, message: &str, preset: &str) -> Value {
    let mut body = ask("a", run, &[(message, "hi")]);
    body["forwardedProps"] = json!({"agentPreset": preset});
    body
}

fn carry(run: &str, message: &str, content: Value) -> Value {
    json!({"threadId":"a","runId":run,"messages":[{"id":message,"role":"user","content":content}],"tools":[],"context":[]})
}

fn code(world: &World, reader: ReaderId) -> Option<Code> {
    world.responses[&reader]
        .error
        .as_ref()
        .map(|error| error.code)
}

#[test]
fn a_preset_is_selected_before_anything_is_decided() {
    let mut world = world();
    let reader = world.send(&choose("r1", "m1", "beta")).unwrap();
    world.open_next();
    assert_eq!(world.preparing.len(), 1);
    assert_eq!(world.responses[&reader].text, "", "the head is not out");
    world.prepare_next(Ok(()));
    assert_eq!(world.types(reader), ["RUN_STARTED", "MESSAGES_SNAPSHOT"]);
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    // The same one needs nothing; another one is too late.
    let same = world.send(&choose("r2", "m2", "beta")).unwrap();
    assert!(world.preparing.is_empty());
    world.settle();
    assert_eq!(world.last(same)["type"], "RUN_FINISHED");
    let refused =
        |world: &mut World, preset| world.send(&choose("r3", "m3", preset)).unwrap_err().code;
    assert_eq!(refused(&mut world, "alpha"), Code::PresetLocked);
    assert_eq!(refused(&mut world, "gamma"), Code::PresetNotAllowed);
    // Also after a restart.
    world.advance(Duration::from_secs(1801));
    world.settle();
    let cold = world.send(&choose("r4", "m4", "beta")).unwrap();
    world.settle();
    assert_eq!(world.last(cold)["type"], "RUN_FINISHED");
    assert_eq!(refused(&mut world, "alpha"), Code::PresetLocked);
}

#[test]
fn history_selects_nothing_and_a_malformed_id_is_no_request() {
    let mut world = world();
    let mut body = ask("a", "r1", &[]);
    for preset in ["beta", "gamma"] {
        body["forwardedProps"] = json!({"agentPreset": preset});
        body["runId"] = preset.into();
        let reader = world.send(&body).unwrap();
        world.settle();
        assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    }
    body["forwardedProps"] = json!({"agentPreset": 1});
    assert_eq!(world.send(&body).unwrap_err().code, Code::InvalidAguiInput);
    let reader = world.send(&choose("r2", "m1", "beta")).unwrap();
    assert_eq!(world.preparing.len(), 1);
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn tools_are_held_against_the_composition_that_is_selected() {
    let mut world = world();
    let with_tool = |run: &str, message: &str, preset: &str, tool: &str| {
        let mut body = choose(run, message, preset);
        body["tools"] =
            json!([{"name":tool,"description":"d","parameters":{"type":"object","properties":{}}}]);
        body
    };
    let reader = world
        .send(&with_tool("r1", "m1", "beta", "of_beta"))
        .unwrap();
    world.settle();
    assert_eq!(code(&world, reader), Some(Code::FrontendToolNameCollision));
    // The selection stays, and the thread with it; no turn has begun, so that another may follow.
    assert_eq!(world.gateway.thread_count(), 1);
    let same = world
        .send(&with_tool("r2", "m1", "beta", "of_beta"))
        .unwrap_err();
    assert_eq!(same.code, Code::FrontendToolNameCollision);
    // The Tool of the composition that is left does not count.
    let reader = world
        .send(&with_tool("r3", "m1", "alpha", "of_beta"))
        .unwrap();
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn a_host_that_refuses_decides_the_status_and_keeps_nothing() {
    for refusal in [
        Code::PresetLocked,
        Code::FileNotStaged,
        Code::HostServiceMissing,
    ] {
        let mut world = world();
        let reader = world.send(&choose("r1", "m1", "beta")).unwrap();
        let waiting = world.send(&ask("a", "r2", &[("m2", "hi")])).unwrap();
        world.open_next();
        world.prepare_next(Err(refusal));
        assert_eq!(code(&world, reader), Some(refusal));
        // The next one goes on.
        world.settle();
        assert_eq!(world.last(waiting)["type"], "RUN_FINISHED");
        assert_eq!(world.last_history(waiting)[0]["id"], "m2");
    }
    let mut world = world();
    let reader = world.send(&choose("r1", "m1", "beta")).unwrap();
    world.open_next();
    world.prepare_next(Err(Code::FileNotStaged));
    world.settle();
    assert_eq!(code(&world, reader), Some(Code::FileNotStaged));
    assert_eq!(
        world.gateway.thread_count(),
        0,
        "an unused thread is let go"
    );
}

#[test]
fn a_client_that_leaves_meanwhile_frees_the_thread_for_the_next() {
    let mut world = world();
    let reader = world.send(&choose("r1", "m1", "beta")).unwrap();
    world.open_next();
    let next = world.send(&ask("a", "r2", &[("m2", "hi")])).unwrap();
    world.leave(reader);
    assert_eq!(
        world.responses[&next].text, "",
        "the selection is under way"
    );
    world.settle();
    assert_eq!(world.last(next)["type"], "RUN_FINISHED");
    assert_eq!(world.last_history(next).as_array().unwrap().len(), 2);
    // What was selected stays.
    assert_eq!(
        world.send(&choose("r3", "m3", "alpha")).unwrap_err().code,
        Code::PresetLocked
    );
    let same = world.send(&choose("r4", "m4", "beta")).unwrap();
    world.settle();
    assert_eq!(world.last(same)["type"], "RUN_FINISHED");
}

#[test]
fn a_duplicate_joins_a_run_that_is_being_prepared() {
    let mut world = world();
    let first = world.send(&choose("r1", "m1", "beta")).unwrap();
    world.open_next();
    let second = world.send(&choose("r1", "m1", "beta")).unwrap();
    assert_eq!(
        world.send(&choose("r1", "m2", "beta")).unwrap_err().code,
        Code::RunIdConflict
    );
    world.leave(first);
    // Whoever comes while nobody reads has the run, too.
    world.leave(second);
    let third = world.send(&choose("r1", "m1", "beta")).unwrap();
    assert_eq!(world.preparing.len(), 1);
    world.settle();
    assert_eq!(world.last(third)["type"], "RUN_FINISHED");
}

#[test]
fn silence_is_broken_while_a_run_is_prepared() {
    let mut world = world();
    let reader = world.send(&choose("r1", "m1", "beta")).unwrap();
    world.open_next();
    world.advance(Duration::from_secs(16));
    assert_eq!(world.responses[&reader].text, ": keep-alive\n\n");
    world.prepare_next(Err(Code::PresetLocked));
    assert_eq!(
        world.responses[&reader].run_error().as_deref(),
        Some("PRESET_LOCKED")
    );
}

#[test]
fn whatever_ends_the_thread_refuses_the_run_that_is_prepared() {
    let mut world = world();
    let lost = world.send(&choose("r1", "m1", "beta")).unwrap();
    world.open_next();
    world.lose_agent(0);
    assert_eq!(code(&world, lost), Some(Code::AgentNotAvailable));
    world.settle();
    let left = world.send(&choose("r2", "m1", "beta")).unwrap();
    world.open_next();
    world.leave(left);
    world.gateway.shutdown(world.now);
    world.drain();
    world.settle();
    world.gateway.assert_released();
}

#[test]
fn a_turn_of_the_host_s_own_lets_the_prepared_run_wait() {
    let mut world = world();
    let reader = world.send(&choose("r1", "m1", "beta")).unwrap();
    world.open_next();
    let thread = world.preparing[0].0;
    let now = world.now;
    world
        .gateway
        .handle_status(now, thread, crate::gateway::AgentStatus::Running);
    world.prepare_next(Ok(()));
    assert_eq!(world.responses[&reader].text, "");
    world
        .gateway
        .handle_status(now, thread, crate::gateway::AgentStatus::Idle);
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
}

#[test]
fn files_go_to_the_agent_in_order_and_stay_in_every_history() {
    let mut world = world();
    let image = world.file_part("a", FileKind::Image, None);
    let mut file = world.file_part("a", FileKind::File, Some("r-1"));
    // A proxy in front of the gateway has its own prefix; the client may say more about the part.
    let url = file["source"]["value"]
        .as_str()
        .unwrap()
        .replace("/ag-ui/", "https://app/api/");
    file["source"]["value"] = url.into();
    file["metadata"]["note"] = json!({"b": 1.50, "a": [1, 2]});
    let content = json!([{"type":"text","text":"see"}, image, {"type":"text","text":"and"}, file]);
    let reader = world.send(&carry("r1", "m1", content.clone())).unwrap();
    world.open_next();
    assert_eq!(world.preparing.len(), 1);
    world.settle();
    assert_eq!(world.last(reader)["type"], "RUN_FINISHED");
    for at in [1, 2] {
        let events = world.events(reader);
        let snapshots: Vec<_> = events
            .iter()
            .filter(|event| event["type"] == "MESSAGES_SNAPSHOT")
            .collect();
        assert_eq!(snapshots[at - 1]["messages"][0]["content"], content);
    }
    let record = world
        .agents
        .values()
        .next()
        .unwrap()
        .log
        .iter()
        .find(|record| record.contains("user/message"))
        .unwrap();
    let record: Value = serde_json::from_str(record).unwrap();
    let attachment = json!({"attachmentId":"sha256:ab"});
    assert_eq!(
        record["data"]["content"],
        json!([
            {"type":"text","text":"see"}, {"type":"image","attachment":attachment},
            {"type":"text","text":"and"}, {"type":"file","attachment":attachment}
        ])
    );
    assert_eq!(record["data"]["receipts"], json!(["r-1"]));
    // Sent again, live and cold, it is known: under another prefix, too.
    for run in ["r2", "r3"] {
        let again = world.send(&carry(run, "m1", content.clone())).unwrap();
        world.settle();
        assert_eq!(world.last(again)["type"], "RUN_FINISHED");
        assert_eq!(world.last_history(again), world.last_history(reader));
        let mut moved = content.clone();
        moved[1]["source"]["value"] = format!(
            "https://elsewhere{}",
            content[1]["source"]["value"].as_str().unwrap()
        )
        .into();
        let moved = world
            .send(&carry(&format!("{run}-moved"), "m1", moved))
            .unwrap();
        world.settle();
        assert_eq!(world.last(moved)["type"], "RUN_FINISHED");
        let fewer = json!([content[0], content[1], content[2]]);
        assert_eq!(
            world
                .send(&carry(&format!("{run}-fewer"), "m1", fewer))
                .map_err(|error| error.code),
            Err(Code::MessageIdConflict)
        );
        world.advance(Duration::from_secs(1801));
        world.settle();
        assert_eq!(world.gateway.thread_count(), 0);
        let open = world.send(&ask("a", &format!("{run}-open"), &[])).unwrap();
        world.settle();
        assert_eq!(world.last_history(open), world.last_history(reader));
    }
}

#[test]
fn what_is_no_signed_file_of_the_thread_is_refused() {
    let mut world = world();
    world.send(&ask("a", "r0", &[("m0", "hi")])).unwrap();
    world.settle();
    let mine = world.file_part("a", FileKind::Image, None);
    let other = world.file_part("b", FileKind::Image, None);
    let url = |value: &str| json!({"type":"image","source":{"type":"url","value":value}});
    let mut moved = other.clone();
    moved["source"]["value"] = other["source"]["value"]
        .as_str()
        .unwrap()
        .replace("/threads/b/", "/threads/a/")
        .into();
    let cases = [
        (
            json!([{"type":"image","source":{"type":"data","value":"AA==","mimeType":"image/png"}}]),
            Code::UnsupportedMessageContent,
        ),
        (
            json!([{"type":"binary","mimeType":"image/png","url":mine["source"]["value"]}]),
            Code::UnsupportedMessageContent,
        ),
        (
            json!([{"type":"image","source":{"type":"file","value":"x"}}]),
            Code::UnsupportedMessageContent,
        ),
        (
            json!([url("https://example.com/cat.png")]),
            Code::UnsupportedMessageContent,
        ),
        (json!([mine, mine, mine]), Code::MessageLimitExceeded),
        (json!([other]), Code::FileForbidden),
        (json!([moved]), Code::FileForbidden),
        (
            json!([url("/threads/a/files/ab?file=e30&sig=e30")]),
            Code::FileForbidden,
        ),
    ];
    for (content, expected) in cases {
        let refused = world.send(&carry("r1", "m1", content.clone())).unwrap_err();
        assert_eq!(refused.code, expected, "{content}");
    }
    let alone = world.send(&carry("r1", "m1", json!([mine]))).unwrap();
    world.settle();
    assert_eq!(world.last(alone)["type"], "RUN_FINISHED");
}

#[test]
fn what_text_parts_say_of_themselves_is_kept_too() {
    let mut world = world();
    let content = json!([{"type":"text","id":"p1","text":"see","metadata":{"a":1}}, {"type":"text","text":""}]);
    let reader = world.send(&carry("r1", "m1", content.clone())).unwrap();
    world.settle();
    assert_eq!(world.last_history(reader)[0]["content"], content);
    // A client that knows neither sends less back: it is the same message.
    let plain = json!([{"type":"text","text":"see"}, {"type":"text","text":""}]);
    let again = world.send(&carry("r2", "m1", plain)).unwrap();
    world.settle();
    assert_eq!(world.last(again)["type"], "RUN_FINISHED");
}

#[test]
fn a_delivery_that_the_host_refuses_gives_the_message_back() {
    let mut world = world();
    let file = world.file_part("a", FileKind::File, Some("r-1"));
    world.undeliverable = true;
    let reader = world.send(&carry("r1", "m1", json!([file]))).unwrap();
    let next = world.send(&ask("a", "r2", &[("m2", "hi")])).unwrap();
    world.settle();
    assert_eq!(
        world.responses[&reader].run_error().as_deref(),
        Some("FILE_NOT_STAGED")
    );
    assert_eq!(world.last(next)["type"], "RUN_FINISHED");
    assert_eq!(world.last_history(next)[0]["id"], "m2");
    // Its id is free again.
    let again = world.send(&ask("a", "r3", &[("m1", "without")])).unwrap();
    world.settle();
    assert_eq!(world.last(again)["type"], "RUN_FINISHED");
}
