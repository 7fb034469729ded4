//! `events.jsonl` through the schema, and every event that a gateway emits through it too.

use serde_json::{Value, json};

use crate::agui::{
    ActivityMode, EncryptedTarget, Event, EventType, Interrupt, Interrupts, Json, Outcome,
    SubagentOutcome, Tags, TextRole, validate_event,
};

const EVENTS: &str = include_str!("../../../__test__/vectors/events.jsonl");

fn paths(event: &Value) -> Vec<String> {
    validate_event(event)
        .err()
        .unwrap_or_default()
        .iter()
        .map(|issue| issue.path.to_string())
        .collect()
}

#[test]
fn every_row() {
    let mut rows = 0;
    for line in EVENTS.lines() {
        rows += 1;
        let row: Value = serde_json::from_str(line).unwrap();
        let expected: Vec<&str> = row["issuePaths"]
            .as_array()
            .unwrap()
            .iter()
            .map(|path| path.as_str().unwrap())
            .collect();
        assert_eq!(paths(&row["event"]), expected, "{}", row["name"]);
        assert_eq!(row["valid"] == true, expected.is_empty());
    }
    assert_eq!(rows, 90);
}

#[test]
fn what_the_rows_leave_out() {
    let cases: [(Value, &[&str]); 17] = [
        (json!([]), &[""]),
        (json!({"type": "STATE_DELTA"}), &["delta"]),
        (
            json!({"type": "STEP_STARTED", "stepName": null}),
            &["stepName"],
        ),
        (
            json!({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "x"}),
            &["subtype", "entityId", "encryptedValue"],
        ),
        (json!({"type": "REASONING_MESSAGE_CHUNK"}), &[]),
        (
            json!({"type": "RUN_ERROR", "message": "m", "subagentRunId": 1, "threadId": 1}),
            &[],
        ),
        (
            json!({"type": "CUSTOM", "name": "n", "metadata": null, "timestamp": null}),
            &["timestamp", "metadata"],
        ),
        (
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": "success"}),
            &["outcome"],
        ),
        (
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "usage": [{"inputTokens": -1.5, "outputTokens": 1.0}]}),
            &["usage.0.inputTokens", "usage.0.inputTokens"],
        ),
        (
            json!({"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "outcome": {"type": "interrupt", "interrupts": [{}]}}),
            &["outcome.interrupts.0.id", "outcome.interrupts.0.reason"],
        ),
        (
            json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {"type": "success", "x": 1}}),
            &["outcome"],
        ),
        (
            json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {"type": "suspended", "interruptIds": [1]}}),
            &["outcome.interruptIds.0"],
        ),
        (
            json!({"type": "SUBAGENT_FINISHED", "subagentRunId": "s", "outcome": {"type": "interrupt"}}),
            &["outcome.type"],
        ),
        (
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": null}),
            &["input"],
        ),
        (
            json!({"type": "RUN_STARTED", "threadId": "t", "runId": "r", "input": {"threadId": "t", "runId": "r", "messages": []}}),
            &["input.tools", "input.context"],
        ),
        (
            json!({"type": "MESSAGES_SNAPSHOT", "messages": [{"id": "t", "role": "tool", "toolCallId": "c", "content": [], "error": null}]}),
            &["messages.0.content", "messages.0.error"],
        ),
        (
            json!({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": null}),
            &[],
        ),
    ];
    for (event, expected) in cases {
        assert_eq!(paths(&event), expected, "{event}");
    }
}

#[test]
fn names_are_read_back() {
    for event_type in EventType::ALL {
        assert_eq!(EventType::from_name(event_type.as_str()), Some(event_type));
    }
    assert_eq!(EventType::from_name("run_started"), None);
}

#[test]
fn emitted_events_fit_the_schema_and_hold_no_null() {
    let interrupts = [
        Interrupt {
            id: "i1",
            reason: "confirmation",
            ..Interrupt::default()
        },
        Interrupt {
            id: "i2",
            reason: "tool_call",
            message: Some("m"),
            tool_call_id: Some("c"),
            response_schema: Some(Json::encoded("{}")),
            expires_at: Some("2026-01-01T00:00:00Z"),
            metadata: Some(Json::encoded("{}")),
            subagent_run_id: Some("s"),
        },
    ];
    let messages = [
        Json::encoded(r#"{"id":"u","role":"user","content":"x"}"#),
        Json::encoded(r#"{"id":"a","role":"assistant"}"#),
    ];
    let encoded = Json::encoded;
    let cases: [(Event<'_>, &str); 37] = [
        (
            Event::RunStarted {
                thread_id: "t",
                run_id: "r",
                parent_run_id: None,
                protocol_version: None,
            },
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r"}"#,
        ),
        (
            Event::RunStarted {
                thread_id: "t",
                run_id: "r",
                parent_run_id: Some("p"),
                protocol_version: Some("1.0"),
            },
            r#"{"type":"RUN_STARTED","threadId":"t","runId":"r","parentRunId":"p","protocolVersion":"1.0"}"#,
        ),
        (
            Event::RunFinished {
                thread_id: "t",
                run_id: "r",
                outcome: None,
                result: None,
            },
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r"}"#,
        ),
        (
            Event::RunFinished {
                thread_id: "t",
                run_id: "r",
                outcome: Some(Outcome::Success {
                    pending_tool_call_ids: &[],
                }),
                result: Some(encoded("1")),
            },
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","result":1,"outcome":{"type":"success"}}"#,
        ),
        (
            Event::RunFinished {
                thread_id: "t",
                run_id: "r",
                outcome: Interrupts::new(&interrupts).map(Outcome::Interrupt),
                result: None,
            },
            r#"{"type":"RUN_FINISHED","threadId":"t","runId":"r","outcome":{"type":"interrupt","interrupts":[{"id":"i1","reason":"confirmation"},{"id":"i2","reason":"tool_call","message":"m","toolCallId":"c","responseSchema":{},"expiresAt":"2026-01-01T00:00:00Z","metadata":{},"subagentRunId":"s"}]}}"#,
        ),
        (
            Event::RunError {
                message: "m",
                code: None,
                thread_id: None,
                run_id: None,
            },
            r#"{"type":"RUN_ERROR","message":"m"}"#,
        ),
        (
            Event::RunError {
                message: "m",
                code: Some("C"),
                thread_id: Some("t"),
                run_id: Some("r"),
            },
            r#"{"type":"RUN_ERROR","message":"m","code":"C","threadId":"t","runId":"r"}"#,
        ),
        (
            Event::StepStarted { step_name: "s" },
            r#"{"type":"STEP_STARTED","stepName":"s"}"#,
        ),
        (
            Event::StepFinished { step_name: "s" },
            r#"{"type":"STEP_FINISHED","stepName":"s"}"#,
        ),
        (
            Event::TextMessageStart {
                message_id: "m",
                role: TextRole::Assistant,
                name: None,
            },
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"assistant"}"#,
        ),
        (
            Event::TextMessageStart {
                message_id: "m",
                role: TextRole::Developer,
                name: Some("n"),
            },
            r#"{"type":"TEXT_MESSAGE_START","messageId":"m","role":"developer","name":"n"}"#,
        ),
        (
            Event::TextMessageContent {
                message_id: "m",
                delta: "a\"\n",
            },
            r#"{"type":"TEXT_MESSAGE_CONTENT","messageId":"m","delta":"a\"\n"}"#,
        ),
        (
            Event::TextMessageEnd { message_id: "m" },
            r#"{"type":"TEXT_MESSAGE_END","messageId":"m"}"#,
        ),
        (
            Event::ToolCallStart {
                tool_call_id: "c",
                tool_call_name: "f",
                parent_message_id: None,
            },
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f"}"#,
        ),
        (
            Event::ToolCallStart {
                tool_call_id: "c",
                tool_call_name: "f",
                parent_message_id: Some("m"),
            },
            r#"{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"f","parentMessageId":"m"}"#,
        ),
        (
            Event::ToolCallArgs {
                tool_call_id: "c",
                delta: "{}",
            },
            r#"{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{}"}"#,
        ),
        (
            Event::ToolCallEnd { tool_call_id: "c" },
            r#"{"type":"TOOL_CALL_END","toolCallId":"c"}"#,
        ),
        (
            Event::ToolCallResult {
                message_id: "t",
                tool_call_id: "c",
                content: "x",
            },
            r#"{"type":"TOOL_CALL_RESULT","messageId":"t","toolCallId":"c","content":"x","role":"tool"}"#,
        ),
        (
            Event::StateSnapshot {
                snapshot: encoded("{\"a\":null}"),
            },
            r#"{"type":"STATE_SNAPSHOT","snapshot":{"a":null}}"#,
        ),
        (
            Event::StateDelta {
                delta: encoded("[]"),
            },
            r#"{"type":"STATE_DELTA","delta":[]}"#,
        ),
        (
            Event::MessagesSnapshot {
                messages: &messages,
            },
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[{"id":"u","role":"user","content":"x"},{"id":"a","role":"assistant"}]}"#,
        ),
        (
            Event::MessagesSnapshot { messages: &[] },
            r#"{"type":"MESSAGES_SNAPSHOT","messages":[]}"#,
        ),
        (
            Event::ActivitySnapshot {
                message_id: "a",
                activity_type: "P",
                content: encoded("{}"),
                mode: ActivityMode::Replace,
            },
            r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"P","content":{}}"#,
        ),
        (
            Event::ActivitySnapshot {
                message_id: "a",
                activity_type: "P",
                content: encoded("{}"),
                mode: ActivityMode::KeepExisting,
            },
            r#"{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"P","content":{},"replace":false}"#,
        ),
        (
            Event::ActivityDelta {
                message_id: "a",
                activity_type: "P",
                patch: encoded("[]"),
            },
            r#"{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"P","patch":[]}"#,
        ),
        (
            Event::Custom {
                name: "n",
                value: Json::NULL,
            },
            r#"{"type":"CUSTOM","name":"n","value":null}"#,
        ),
        (
            Event::Raw {
                event: encoded("1"),
                source: None,
            },
            r#"{"type":"RAW","event":1}"#,
        ),
        (
            Event::Raw {
                event: encoded("1"),
                source: Some("s"),
            },
            r#"{"type":"RAW","event":1,"source":"s"}"#,
        ),
        (
            Event::ReasoningStart { message_id: "r" },
            r#"{"type":"REASONING_START","messageId":"r"}"#,
        ),
        (
            Event::ReasoningMessageStart { message_id: "r" },
            r#"{"type":"REASONING_MESSAGE_START","messageId":"r","role":"reasoning"}"#,
        ),
        (
            Event::ReasoningMessageContent {
                message_id: "r",
                delta: "d",
            },
            r#"{"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"d"}"#,
        ),
        (
            Event::ReasoningMessageEnd { message_id: "r" },
            r#"{"type":"REASONING_MESSAGE_END","messageId":"r"}"#,
        ),
        (
            Event::ReasoningEnd { message_id: "r" },
            r#"{"type":"REASONING_END","messageId":"r"}"#,
        ),
        (
            Event::ReasoningEncryptedValue {
                target: EncryptedTarget::ToolCall("c"),
                encrypted_value: "e",
            },
            r#"{"type":"REASONING_ENCRYPTED_VALUE","subtype":"tool-call","entityId":"c","encryptedValue":"e"}"#,
        ),
        (
            Event::SubagentStarted {
                subagent_run_id: "s",
                name: "n",
                description: Some("d"),
                parent_subagent_run_id: Some("p"),
                parent_tool_call_id: Some("c"),
                parent_message_id: Some("m"),
            },
            r#"{"type":"SUBAGENT_STARTED","subagentRunId":"s","name":"n","description":"d","parentSubagentRunId":"p","parentToolCallId":"c","parentMessageId":"m"}"#,
        ),
        (
            Event::SubagentFinished {
                subagent_run_id: "s",
                result: Some(encoded("{}")),
                outcome: Some(SubagentOutcome::Suspended {
                    interrupt_ids: &["i1"],
                }),
            },
            r#"{"type":"SUBAGENT_FINISHED","subagentRunId":"s","result":{},"outcome":{"type":"suspended","interruptIds":["i1"]}}"#,
        ),
        (
            Event::SubagentError {
                subagent_run_id: "s",
                message: "m",
                code: None,
            },
            r#"{"type":"SUBAGENT_ERROR","subagentRunId":"s","message":"m"}"#,
        ),
    ];
    for (event, expected) in cases {
        let json = event.to_json();
        assert_eq!(json, expected);
        assert_eq!(
            paths(&serde_json::from_str(&json).unwrap()),
            [""; 0],
            "{json}"
        );
    }
    assert_eq!(Interrupts::new(&[]), None);
}

#[test]
fn tags_follow_the_type() {
    let tags = Tags {
        timestamp: Some(1_700_000_000_000),
        raw_event: Some(Json::encoded("[]")),
        metadata: Some(Json::encoded("{}")),
        subagent_run_id: Some("s"),
    };
    let mut out = String::new();
    Event::TextMessageEnd { message_id: "m" }.write_json_tagged(&tags, &mut out);
    assert_eq!(
        out,
        r#"{"type":"TEXT_MESSAGE_END","timestamp":1700000000000,"rawEvent":[],"metadata":{},"subagentRunId":"s","messageId":"m"}"#
    );
    assert_eq!(paths(&serde_json::from_str(&out).unwrap()), [""; 0]);
}
