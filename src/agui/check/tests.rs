//! The real client's verdicts on whole streams (`sequences.jsonl`), and the rules that no row covers.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};

use super::*;

const SEQUENCES: &str = include_str!("../../../__test__/vectors/sequences.jsonl");

/// Streams that the client takes although no terminal event came: it reports success (ag-ui#2300), a gateway
/// must not.
const WITHOUT_TERMINAL: [&str; 4] = [
    "empty_stream",
    "start_only_no_terminal",
    "text_then_eof_without_terminal",
    "chunk_then_eof_without_terminal",
];

fn check(events: &[Value]) -> Option<Violation> {
    check_event_stream(&Value::from(events).to_string()).unwrap()
}

#[test]
fn verdicts_and_messages_are_those_of_the_client() {
    let mut without_terminal = Vec::new();
    let mut rows = 0;
    for line in SEQUENCES.lines() {
        rows += 1;
        let row: Value = serde_json::from_str(line).unwrap();
        let name = row["name"].as_str().unwrap();
        let events = row["events"].as_array().unwrap();
        let violation = check(events);
        match (row["v0_0_59"]["ok"].as_bool().unwrap(), violation) {
            (true, None) => {}
            (true, Some(violation)) => {
                assert_eq!(
                    (violation.rule, violation.index),
                    (Rule::MissingTerminal, events.len()),
                    "{name}"
                );
                without_terminal.push(name.to_owned());
            }
            (false, None) => panic!("{name}: accepted"),
            (false, Some(violation)) => match row["v0_0_59"]["error"]
                .as_str()
                .unwrap()
                .strip_prefix("ZodError ")
            {
                None => {
                    assert_eq!(
                        violation.message,
                        row["v0_0_59"]["error"].as_str().unwrap(),
                        "{name}"
                    );
                    assert_ne!(violation.rule, Rule::InvalidEvent, "{name}");
                }
                Some(zod) => {
                    let path = zod.split_once(": ").map_or(zod, |(path, _)| path);
                    assert_eq!(violation.rule, Rule::InvalidEvent, "{name}");
                    assert!(
                        violation.message.starts_with(path),
                        "{name}: {}",
                        violation.message
                    );
                }
            },
        }
    }
    assert_eq!(rows, 78);
    assert_eq!(without_terminal, WITHOUT_TERMINAL);
}

fn start() -> Value {
    json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r"})
}

fn finish() -> Value {
    json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"})
}

/// The rule that the events of one run break, and the position of the breaking event among them.
fn broken(events: &[Value]) -> Option<(usize, &'static str)> {
    let stream: Vec<Value> = [start()]
        .into_iter()
        .chain(events.iter().cloned())
        .chain([finish()])
        .collect();
    check(&stream).map(|violation| (violation.index - 1, violation.rule.as_str()))
}

#[test]
fn every_rule_has_a_stream_that_breaks_it() {
    let message =
        |tag: &str| json!({"type": "TEXT_MESSAGE_START", "messageId": tag, "subagentRunId": tag});
    let chunk = |tag: &str| json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": tag, "subagentRunId": tag, "delta": "x"});
    let cases: [(&str, usize, &[Value]); 25] = [
        ("invalid-event", 0, &[json!({"type": "HEARTBEAT"})]),
        (
            "invalid-event",
            0,
            &[json!({"type": "THINKING_START", "subagentRunId": null})],
        ),
        ("run-active", 0, &[start()]),
        (
            "after-run-finished",
            1,
            &[finish(), json!({"type": "CUSTOM", "name": "n", "value": 1})],
        ),
        (
            "after-run-error",
            1,
            &[json!({"type": "RUN_ERROR", "message": "m"}), finish()],
        ),
        ("message-open", 1, &[message("a"), message("a")]),
        (
            "message-not-open",
            0,
            &[json!({"type": "TEXT_MESSAGE_END", "messageId": "m"})],
        ),
        (
            "tool-call-open",
            1,
            &[
                json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}),
                json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}),
            ],
        ),
        (
            "tool-call-not-open",
            0,
            &[json!({"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"})],
        ),
        (
            "step-open",
            2,
            &[
                json!({"type": "STEP_STARTED", "stepName": "s"}),
                json!({"type": "STEP_STARTED", "stepName": "s", "subagentRunId": "a"}),
                json!({"type": "STEP_STARTED", "stepName": "s", "subagentRunId": "a"}),
            ],
        ),
        (
            "step-not-open",
            1,
            &[
                json!({"type": "STEP_STARTED", "stepName": "s"}),
                json!({"type": "STEP_FINISHED", "stepName": "s", "subagentRunId": "a"}),
            ],
        ),
        (
            "unfinished-steps",
            1,
            &[json!({"type": "STEP_STARTED", "stepName": "s"})],
        ),
        ("unfinished-messages", 1, &[message("a")]),
        (
            "unfinished-tool-calls",
            1,
            &[json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"})],
        ),
        (
            "unfinished-subagents",
            1,
            &[json!({"type": "SUBAGENT_STARTED", "subagentRunId": "a", "name": "n"})],
        ),
        (
            "subagent-active",
            1,
            &[
                json!({"type": "SUBAGENT_STARTED", "subagentRunId": "a", "name": "n"}),
                json!({"type": "SUBAGENT_STARTED", "subagentRunId": "a", "name": "n"}),
            ],
        ),
        (
            "subagent-reused",
            2,
            &[
                json!({"type": "SUBAGENT_STARTED", "subagentRunId": "a", "name": "n"}),
                json!({"type": "SUBAGENT_ERROR", "subagentRunId": "a", "message": "m"}),
                json!({"type": "SUBAGENT_STARTED", "subagentRunId": "a", "name": "n"}),
            ],
        ),
        (
            "subagent-not-active",
            0,
            &[json!({"type": "SUBAGENT_ERROR", "subagentRunId": "a", "message": "m"})],
        ),
        (
            "unknown-parent-subagent",
            0,
            &[
                json!({"type": "SUBAGENT_STARTED", "subagentRunId": "a", "name": "n", "parentSubagentRunId": "b"}),
            ],
        ),
        (
            "subagent-mismatch",
            1,
            &[
                message("a"),
                json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "a", "subagentRunId": "b"}),
            ],
        ),
        (
            "subagent-mismatch",
            1,
            &[
                json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "r", "role": "reasoning", "content": "", "subagentRunId": "a"}]}),
                json!({"type": "REASONING_START", "messageId": "r", "subagentRunId": "b"}),
            ],
        ),
        (
            "subagent-mismatch",
            1,
            &[
                chunk("a"),
                json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "a", "subagentRunId": "b"}),
            ],
        ),
        (
            "incomplete-chunk",
            0,
            &[json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "c"})],
        ),
        (
            "ambiguous-chunk",
            2,
            &[
                chunk("a"),
                chunk("b"),
                json!({"type": "TEXT_MESSAGE_CHUNK", "delta": "x"}),
            ],
        ),
        (
            "thinking-order",
            0,
            &[json!({"type": "THINKING_TEXT_MESSAGE_END"})],
        ),
    ];
    let mut seen = vec![Rule::FirstEvent.as_str(), Rule::MissingTerminal.as_str()];
    for (rule, index, events) in cases {
        assert_eq!(broken(events), Some((index, rule)), "{events:?}");
        seen.push(rule);
    }
    assert_eq!(
        check(&[finish()]).map(|violation| (violation.index, violation.rule)),
        Some((0, Rule::FirstEvent))
    );
    assert_eq!(
        check(&[]).map(|violation| (violation.index, violation.rule)),
        Some((0, Rule::MissingTerminal))
    );
    for rule in Rule::ALL {
        assert!(seen.contains(&rule.as_str()), "{rule}");
    }
}

#[test]
fn chunks_of_several_subagents_are_assembled_side_by_side() {
    let chunk = |tag: &str, id: &str| json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": id, "subagentRunId": tag, "delta": "x"});
    assert_eq!(
        broken(&[
            chunk("a", "m1"),
            chunk("b", "m2"),
            json!({"type": "TEXT_MESSAGE_CHUNK", "subagentRunId": "a", "delta": "y"}),
            json!({"type": "CUSTOM", "name": "n", "value": 1, "subagentRunId": "a"}),
            json!({"type": "TEXT_MESSAGE_CHUNK", "delta": "y"}),
            json!({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m3", "delta": "y"}),
            json!({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "m3"}),
            json!({"type": "TOOL_CALL_CHUNK", "delta": "{}"}),
            json!({"type": "REASONING_MESSAGE_CHUNK", "messageId": "r", "delta": "z"}),
            json!({"type": "REASONING_MESSAGE_CHUNK", "metadata": {}}),
        ]),
        None
    );
    let ended = json!({"type": "CUSTOM", "name": "n", "value": 1, "subagentRunId": "a"});
    assert_eq!(
        broken(&[
            chunk("a", "m1"),
            ended,
            json!({"type": "TEXT_MESSAGE_CHUNK", "subagentRunId": "a", "delta": "y"})
        ]),
        Some((2, "incomplete-chunk"))
    );
}

#[test]
fn a_new_run_forgets_the_one_before() {
    assert_eq!(
        broken(&[
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "a"}),
            json!({"type": "RUN_ERROR", "message": "m"}),
            start(),
            json!({"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "b"}),
            json!({"type": "TEXT_MESSAGE_END", "messageId": "m"}),
        ]),
        None
    );
}

#[test]
fn history_in_run_started_seeds_owners() {
    let start = json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {
        "threadId": "t", "runId": "r", "tools": [], "context": [],
        "messages": [{"id": "m", "role": "assistant", "subagentRunId": "a", "toolCalls": [
            {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}]}]}});
    let reopened = json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "subagentRunId": "b"});
    let violation = check(&[start, reopened]).unwrap();
    assert_eq!(
        (violation.index, violation.rule),
        (1, Rule::SubagentMismatch)
    );
    assert_eq!(
        violation.message,
        "Cannot send 'TOOL_CALL_START': subagentRunId 'b' does not match the tool call 'c' opener's subagent 'a'."
    );
}

#[test]
fn the_first_violation_is_final() {
    let mut checker = Checker::new();
    assert_eq!(checker.feed(&start()), Ok(()));
    let violation = checker.feed_json("{").unwrap_err();
    assert_eq!((violation.index, violation.rule), (1, Rule::InvalidEvent));
    assert_eq!(checker.feed(&finish()), Err(violation.clone()));
    assert_eq!(checker.finish(), Err(violation));
}

#[test]
fn the_three_forms_of_an_event_are_one() {
    let mut checker = Checker::new();
    checker
        .feed_event(&Event::RunStarted {
            thread_id: "t",
            run_id: "r",
            parent_run_id: None,
            protocol_version: None,
        })
        .unwrap();
    assert_eq!(checker.finish().unwrap_err().rule, Rule::MissingTerminal);
    checker.feed_json(&finish().to_string()).unwrap();
    assert_eq!(checker.finish(), Ok(()));
    checker.feed(&start()).unwrap();
    assert_eq!(
        checker.finish().unwrap_err(),
        Violation {
            index: 3,
            rule: Rule::MissingTerminal,
            message: "The stream ends without 'RUN_FINISHED' or 'RUN_ERROR'.".to_owned(),
        }
    );
}

#[test]
fn a_stream_is_an_array() {
    assert!(check_event_stream("{}").is_err());
    assert!(check_event_stream("[").is_err());
    assert_eq!(
        check_event_stream("[1]")
            .unwrap()
            .map(|violation| violation.rule),
        Some(Rule::InvalidEvent)
    );
}

#[test]
fn a_stream_that_says_its_version_may_name_the_calls_that_wait() {
    let end = |protocol_version, ids: &[&str]| {
        let mut checker = Checker::new();
        let started = Event::RunStarted {
            thread_id: "t",
            run_id: "r",
            parent_run_id: None,
            protocol_version,
        };
        checker.feed_event(&started).unwrap();
        let finished = Event::RunFinished {
            thread_id: "t",
            run_id: "r",
            outcome: Some(crate::agui::Outcome::Success {
                pending_tool_call_ids: ids,
            }),
            result: None,
        };
        checker
            .feed_event(&finished)
            .map_err(|violation| violation.rule)
    };
    assert_eq!(end(Some("1.0"), &["a", "b"]), Ok(()));
    assert_eq!(end(Some("1.0"), &[]), Ok(()));
    assert_eq!(end(None, &["a"]), Err(Rule::InvalidEvent));
}
