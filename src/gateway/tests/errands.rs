//! Errands: what uploads and downloads do to the life of a thread, and deliverables in runs (G15, G16).

use std::time::Duration;

use serde_json::json;

use super::world::{SimErrand, World, ask};
use crate::gateway::{Code, Errand, ErrandEnd};

const DELIVERABLE: Errand = Errand::Deliverable {
    event_seq: 3,
    index: 0,
};

fn world() -> World {
    World::new(json!({"maxThreads": 2}))
}

fn refused(code: Code) -> SimErrand {
    SimErrand::Refused(code.as_str().into())
}

/// A world whose thread `a` has had a turn that declared `out.txt` at position 3 of its log.
fn delivered() -> World {
    let mut world = world();
    world.send(&ask("a", "r1", &[("m1", "hi")])).unwrap();
    world.settle();
    let (thread, agent) = world.agents.iter_mut().next().unwrap();
    let record = json!({"type":"deliverables/presented","seq":3,"data":{
        "turn":1,"callId":"c1","files":[{"path":"out.txt"}]}})
    .to_string();
    agent.log.push(record.clone());
    let thread = *thread;
    world.gateway.handle_record(world.now, thread, &record);
    world.drain();
    world
}

#[test]
fn an_upload_opens_its_thread_and_keeps_it_until_it_is_idle() {
    let mut world = world();
    let upload = world.errand("a", Errand::Upload).unwrap();
    assert_eq!(world.errands[&upload], SimErrand::Waiting);
    world.settle();
    assert_eq!(world.errands[&upload], SimErrand::Begun(None));
    // However long it takes, the agent stays.
    world.advance(Duration::from_secs(4000));
    assert_eq!(world.gateway.thread_count(), 1);
    world.end_errand(upload, ErrandEnd::Kept);
    world.settle();
    assert_eq!(
        world.gateway.thread_count(),
        1,
        "what is staged is not lost"
    );
    world.advance(Duration::from_secs(1801));
    world.settle();
    assert_eq!(world.gateway.thread_count(), 0);
}

#[test]
fn an_upload_that_brought_nothing_lets_its_thread_go() {
    for open_first in [true, false] {
        let mut world = world();
        let upload = world.errand("a", Errand::Upload).unwrap();
        if open_first {
            world.settle();
        }
        world.end_errand(upload, ErrandEnd::Over);
        world.settle();
        assert_eq!(world.gateway.thread_count(), 0);
    }
}

#[test]
fn threads_are_limited_for_errands_too() {
    let mut world = world();
    world.errand("a", Errand::Upload).unwrap();
    world.errand("b", Errand::Upload).unwrap();
    let refusal = world.errand("c", Errand::Upload).unwrap_err();
    assert_eq!(refusal.code, Code::ThreadLimitReached);
    world.errand("a", Errand::Upload).unwrap();
}

#[test]
fn a_deliverable_is_read_by_its_declaration() {
    let mut world = delivered();
    let download = world.errand("a", DELIVERABLE).unwrap();
    assert_eq!(
        world.errands[&download],
        SimErrand::Begun(Some("out.txt".into()))
    );
    for (event_seq, index) in [(3, 1), (2, 0), (u64::MAX, u64::MAX)] {
        let other = world
            .errand("a", Errand::Deliverable { event_seq, index })
            .unwrap();
        assert_eq!(world.errands[&other], refused(Code::FileNotFound));
    }
    world.end_errand(download, ErrandEnd::Over);
    // The thread has had a run: it stays as it was.
    assert_eq!(world.gateway.thread_count(), 1);
}

#[test]
fn a_deliverable_opens_a_stored_thread_and_lets_it_go() {
    let mut world = delivered();
    world.advance(Duration::from_secs(1801));
    world.settle();
    assert_eq!(world.gateway.thread_count(), 0);
    let download = world.errand("a", DELIVERABLE).unwrap();
    world.settle();
    assert_eq!(
        world.errands[&download],
        SimErrand::Begun(Some("out.txt".into()))
    );
    world.end_errand(download, ErrandEnd::Over);
    world.settle();
    assert_eq!(world.gateway.thread_count(), 0);
}

#[test]
fn a_deliverable_of_a_thread_that_never_was_begins_none() {
    let mut world = world();
    let download = world.errand("a", DELIVERABLE).unwrap();
    world.settle();
    assert_eq!(world.errands[&download], refused(Code::FileNotFound));
    assert_eq!(world.gateway.thread_count(), 0);
    assert!(world.agents.is_empty());
}

#[test]
fn a_run_that_comes_meanwhile_begins_the_thread() {
    let mut world = world();
    let download = world.errand("a", DELIVERABLE).unwrap();
    let run = world.send(&ask("a", "r1", &[("m1", "hi")])).unwrap();
    let upload = world.errand("a", Errand::Upload).unwrap();
    world.settle();
    assert_eq!(world.errands[&download], refused(Code::FileNotFound));
    assert_eq!(world.errands[&upload], SimErrand::Begun(None));
    assert_eq!(world.last(run)["type"], "RUN_FINISHED");
}

#[test]
fn an_errand_of_a_thread_that_is_going_waits_for_its_next_life() {
    let mut world = delivered();
    world.advance(Duration::from_secs(1801));
    // The agent is being disposed, the Host has not said so yet.
    let download = world.errand("a", DELIVERABLE).unwrap();
    assert_eq!(world.errands[&download], SimErrand::Waiting);
    world.settle();
    assert_eq!(
        world.errands[&download],
        SimErrand::Begun(Some("out.txt".into()))
    );
}

#[test]
fn whatever_ends_the_thread_ends_its_errands() {
    let mut world = world();
    let upload = world.errand("a", Errand::Upload).unwrap();
    world.settle();
    world.lose_agent(0);
    world.settle();
    assert_eq!(world.errands[&upload], refused(Code::AgentNotAvailable));

    let waiting = world.errand("a", Errand::Upload).unwrap();
    world.fail_open();
    assert_eq!(world.errands[&waiting], refused(Code::AgentExecutionError));

    let begun = world.errand("a", Errand::Upload).unwrap();
    world.settle();
    let opening = world.errand("b", Errand::Upload).unwrap();
    world.gateway.shutdown(world.now);
    world.drain();
    for errand in [begun, opening] {
        assert_eq!(world.errands[&errand], refused(Code::AgentNotAvailable));
    }
    world.settle();
    assert!(world.gateway.is_drained());
    world.gateway.assert_released();
    let late = world.errand("a", Errand::Upload).unwrap_err();
    assert_eq!(late.code, Code::AgentNotAvailable);
}

#[test]
fn deliverables_follow_the_history_of_every_run() {
    let mut world = delivered();
    let live = world.send(&ask("a", "r2", &[])).unwrap();
    let types = world.types(live);
    assert_eq!(
        types,
        [
            "RUN_STARTED",
            "MESSAGES_SNAPSHOT",
            "ACTIVITY_SNAPSHOT",
            "RUN_FINISHED"
        ]
    );
    let activity = world.events(live)[2].clone();
    assert_eq!(activity["activityType"], "dsh-deliverables");
    assert_eq!(
        activity["content"]["files"][0]["url"],
        "/ag-ui/threads/a/deliverables/3/files/0"
    );
    world.advance(Duration::from_secs(1801));
    world.settle();
    let cold = world.send(&ask("a", "r3", &[])).unwrap();
    world.settle();
    assert_eq!(world.events(cold)[2], activity);
}
