//! `requests.jsonl`: verdicts, issue paths and normalised form of the 0.0.59 schema; and what the rows do not
//! cover.

use serde_json::{Value, json};

use crate::agui::surrogate::replace_lone_surrogates;
use crate::agui::{Content, InputError, Message, Part, RunAgentInput, Source, State};

pub(super) const REQUESTS: &str = include_str!("../../../__test__/vectors/requests.jsonl");

/// Rows that 0.0.59 refuses and the gateway accepts on purpose (`ag-ui.md` §2.1, §6).
const LENIENT: [(&str, &str); 12] = [
    ("missing_tools", "optional since 1.0, defaults to none"),
    ("tools_null", "null for an optional member reads as absent"),
    ("missing_context", "optional since 1.0, defaults to none"),
    ("user_content_file_source_1_0", "a shape of 1.0"),
    (
        "assistant_content_null",
        "null for an optional member reads as absent",
    ),
    (
        "assistant_toolCalls_null",
        "null for an optional member reads as absent",
    ),
    ("tool_message_content_parts_1_0", "a shape of 1.0"),
    (
        "tool_message_error_null",
        "null for an optional member reads as absent",
    ),
    (
        "message_metadata_null",
        "null for an optional member reads as absent",
    ),
    (
        "message_subagentRunId_null",
        "null for an optional member reads as absent",
    ),
    (
        "message_name_null",
        "null for an optional member reads as absent",
    ),
    (
        "resume_metadata_null",
        "null for an optional member reads as absent",
    ),
];

/// Rows whose normalised form keeps a member of 1.0 that 0.0.59 drops: JSON pointer and value.
const KEPT: [(&str, &str, &str); 2] = [
    ("unknown_top_level_key_stripped", "/protocolVersion", "1.0"),
    (
        "user_content_text_part_unknown_keys_stripped",
        "/messages/0/content/0/id",
        "p1",
    ),
];

fn paths(error: &InputError) -> Vec<String> {
    error
        .issues
        .iter()
        .map(|issue| issue.path.to_string())
        .collect()
}

fn normalised(body: &Value) -> Value {
    let body = body.to_string();
    serde_json::from_str(&RunAgentInput::parse(body.as_bytes()).unwrap().to_json()).unwrap()
}

#[test]
fn every_row() {
    let (mut rows, mut lenient_rows) = (0, 0);
    for line in REQUESTS.lines() {
        rows += 1;
        let row: Value = serde_json::from_str(line).unwrap();
        let name = row["name"].as_str().unwrap();
        let body = row["body"].to_string();
        let result = RunAgentInput::parse(body.as_bytes());
        if row["valid"] == true {
            let mut expected = row["parsed"].clone();
            if let Some((_, pointer, value)) = KEPT.iter().find(|(kept, _, _)| *kept == name) {
                let (parent, key) = pointer.rsplit_once('/').unwrap();
                expected.pointer_mut(parent).unwrap()[key] = json!(value);
            }
            let normalised: Value = serde_json::from_str(&result.unwrap().to_json()).unwrap();
            assert_eq!(normalised, expected, "{name}");
        } else if LENIENT.iter().any(|(lenient, _)| *lenient == name) {
            lenient_rows += 1;
            assert!(result.is_ok(), "{name}: {result:?}");
        } else {
            let expected: Vec<&str> = row["issuePaths"]
                .as_array()
                .unwrap()
                .iter()
                .map(|path| path.as_str().unwrap())
                .collect();
            assert_eq!(paths(&result.unwrap_err()), expected, "{name}");
        }
    }
    assert_eq!((rows, lenient_rows), (85, LENIENT.len()));
}

fn body(extra: Value) -> Value {
    let mut body = json!({"threadId": "t", "runId": "r", "messages": []});
    body.as_object_mut()
        .unwrap()
        .extend(extra.as_object().unwrap().clone());
    body
}

#[test]
fn absent_members_have_defaults() {
    let text = body(json!({})).to_string();
    let input = RunAgentInput::parse(text.as_bytes()).unwrap();
    assert_eq!(input.state, State::Absent);
    assert_eq!(
        (
            input.tools.len(),
            input.context.len(),
            input.resume,
            input.forwarded_props
        ),
        (0, 0, None, None)
    );
    assert_eq!(
        normalised(&body(json!({}))),
        json!({"threadId": "t", "runId": "r", "messages": [], "tools": [], "context": []})
    );
}

#[test]
fn a_null_state_is_a_baseline_and_normalises_to_absent() {
    let text = body(json!({"state": null})).to_string();
    let input = RunAgentInput::parse(text.as_bytes()).unwrap();
    assert_eq!(input.state, State::Null);
    assert_eq!(input.state.json().map(|state| state.as_str()), Some("null"));
    assert!(
        normalised(&body(json!({"state": null})))
            .get("state")
            .is_none()
    );
}

#[test]
fn lenient_rows_read_as_if_the_member_were_absent() {
    let text = body(
        json!({"tools": null, "context": null, "resume": null, "parentRunId": null, "protocolVersion": null,
        "messages": [{"id": "a", "role": "assistant", "content": null, "name": null, "toolCalls": null, "metadata": null,
                      "encryptedValue": null, "subagentRunId": null},
                     {"id": "t", "role": "tool", "toolCallId": "c", "content": "x", "error": null}]}),
    );
    assert_eq!(
        normalised(&text),
        json!({"threadId": "t", "runId": "r", "tools": [], "context": [],
               "messages": [{"id": "a", "role": "assistant"}, {"id": "t", "role": "tool", "toolCallId": "c", "content": "x"}]})
    );
}

#[test]
fn shapes_of_1_0_are_kept() {
    let messages = json!([
        {"id": "u", "role": "user", "content": [
            {"type": "text", "text": "x", "id": "p1", "metadata": {"k": null}},
            {"type": "document", "source": {"type": "file", "value": "file-1", "provider": "openai", "mimeType": "text/plain"}, "id": "p2"}]},
        {"id": "t", "role": "tool", "toolCallId": "c", "content": [{"type": "text", "text": "y"}]}
    ]);
    let text = body(json!({"messages": messages, "protocolVersion": "1.0"}));
    assert_eq!(normalised(&text)["messages"], messages);
    assert_eq!(normalised(&text)["protocolVersion"], "1.0");
    // 0.0.59 does not look at these members, so wrong types are no ground for a refusal.
    let text = body(json!({"protocolVersion": 1, "messages": [
        {"id": "u", "role": "user", "content": [{"type": "text", "text": "x", "id": 1}]}]}));
    assert_eq!(
        normalised(&text)["messages"][0]["content"][0],
        json!({"type": "text", "text": "x"})
    );
    assert!(normalised(&text).get("protocolVersion").is_none());
}

#[test]
fn members_may_come_in_any_order_and_the_last_duplicate_counts() {
    let text = r#"{"messages":1,"runId":{"deep":[1]},"runId":"r","threadId":"t",
        "messages":[{"content":[{"text":"x","type":"binary","type":"text"}],"toolCallId":1,"id":"a","role":"tool","role":"user"}]}"#;
    let input = RunAgentInput::parse(text.as_bytes()).unwrap();
    assert_eq!(input.run_id, "r");
    let Message::User(user) = &input.messages[0] else {
        panic!("{:?}", input.messages)
    };
    assert_eq!(
        user.content,
        Content::Parts(vec![Part::Text {
            text: "x".into(),
            id: None,
            metadata: None
        }])
    );
    let text = r#"{"threadId":"t","threadId":1,"runId":"r","messages":[]}"#;
    assert_eq!(
        paths(&RunAgentInput::parse(text.as_bytes()).unwrap_err()),
        ["threadId"]
    );
}

#[test]
fn text_is_borrowed_unless_it_has_escapes() {
    use std::borrow::Cow;
    let text = r#"{"threadId":"té","runId":"a\u00e9\n","messages":[{"id":"m","role":"user","content":[
        {"type":"image","source":{"type":"url","value":"https:\/\/x"}}]}]}"#;
    let input = RunAgentInput::parse(text.as_bytes()).unwrap();
    assert!(matches!(input.thread_id, Cow::Borrowed("té")));
    assert_eq!(input.run_id, "aé\n");
    let Message::User(user) = &input.messages[0] else {
        panic!()
    };
    let Content::Parts(parts) = &user.content else {
        panic!()
    };
    assert!(
        matches!(&parts[0], Part::Media { source: Source::Url { value, mime_type: None }, .. } if value == "https://x")
    );
}

#[test]
fn every_escape_is_decoded() {
    let text = r#"{"threadId":"\"\\\/\b\f\n\r\t\u00e9\u4E2d\ud83d\ude00\u0041\uD83D\uDE00","runId":"x\u000012","messages":[]}"#;
    let input = RunAgentInput::parse(text.as_bytes()).unwrap();
    assert_eq!(input.thread_id, "\"\\/\u{8}\u{c}\n\r\té中😀A😀");
    assert_eq!(input.run_id, "x\u{0}12");
}

#[test]
fn encoded_members_keep_their_text() {
    let text = "{\"threadId\":\"t\",\"runId\":\"r\",\"messages\":[],\"state\":{ \"a\" : 1.50 },\"forwardedProps\": [\n1]}";
    let input = RunAgentInput::parse(text.as_bytes()).unwrap();
    assert_eq!(input.state.json().unwrap().as_str(), "{ \"a\" : 1.50 }");
    assert_eq!(input.forwarded_props.unwrap().as_str(), "[\n1]");
}

fn whole_document(body: &[u8]) -> String {
    let error = RunAgentInput::parse(body).unwrap_err();
    assert_eq!(paths(&error), [""]);
    error.issues[0].message.clone()
}

#[test]
fn what_is_not_json_is_one_issue_without_content() {
    assert_eq!(whole_document(b"\xff{}"), "Body is not UTF-8");
    assert_eq!(
        whole_document(b""),
        "Invalid JSON: EOF while parsing a value at line 1 column 0"
    );
    assert_eq!(
        whole_document(b"{\"threadId\":\"secret"),
        "Invalid JSON: EOF while parsing a string at line 1 column 19"
    );
    assert_eq!(
        whole_document(b"{\"secret\":1}x"),
        "Invalid JSON: trailing characters at line 1 column 13"
    );
    assert_eq!(
        whole_document(b"{\"secret\":1e999}"),
        "Invalid JSON: number out of range at line 1 column 15"
    );
    assert_eq!(
        whole_document(b"\"secret\""),
        "Expected object, received string"
    );
    assert_eq!(
        whole_document("\u{feff}{}".as_bytes()),
        "Invalid JSON: expected value at line 1 column 1"
    );
    let reserved = br#"{"threadId":"t","runId":"r","messages":[],"state":{"$serde_json::private::RawValue":"1"}}"#;
    assert!(whole_document(reserved).starts_with("Invalid JSON: reserved member name"));
}

#[test]
fn nesting_is_limited_wherever_it_hides() {
    let deep = |inner: usize| format!("{}{}", "[".repeat(inner), "]".repeat(inner));
    for (template, around) in [
        (r#"{"threadId":"t","runId":"r","messages":[],"state":$}"#, 1),
        (
            r#"{"threadId":"t","runId":"r","messages":[],"unknown":$}"#,
            1,
        ),
        (
            r#"{"threadId":"t","runId":"r","messages":[],"tools":[{"name":"n","description":"","parameters":$}]}"#,
            3,
        ),
        (
            r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"","error":$}]}"#,
            3,
        ),
        (
            r#"{"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":[{"type":"text","text":"","x":$}]}]}"#,
            5,
        ),
    ] {
        let body = |inner| template.replace('$', &deep(inner));
        assert!(
            RunAgentInput::parse(body(127 - around).as_bytes()).is_ok(),
            "{template}"
        );
        assert!(
            whole_document(body(128 - around).as_bytes()).contains("recursion limit exceeded"),
            "{template}"
        );
        assert!(
            whole_document(body(100_000).as_bytes()).contains("recursion limit exceeded"),
            "{template}"
        );
    }
}

#[test]
fn lone_surrogates_are_refused_until_they_are_replaced() {
    for template in [
        r#"{"threadId":"$","runId":"r","messages":[]}"#,
        r#"{"threadId":"t","runId":"r","messages":[],"state":{"$":1}}"#,
        r#"{"threadId":"t","runId":"r","messages":[],"$":"\ud83d\ude00"}"#,
    ] {
        let body = template.replace('$', r"a\uD83d");
        assert_eq!(
            whole_document(body.as_bytes()),
            "Lone surrogate in a string escape"
        );
        assert!(
            RunAgentInput::parse(&replace_lone_surrogates(body.as_bytes())).is_ok(),
            "{template}"
        );
    }
    let body = replace_lone_surrogates(br#"{"threadId":"a\ud83d","runId":"r","messages":[]}"#);
    assert_eq!(RunAgentInput::parse(&body).unwrap().thread_id, "a\u{fffd}");
}

#[test]
fn issues_name_places_and_never_values() {
    let body = body(
        json!({"resume": [{"interruptId": "i", "status": "secret"}, 1], "messages": ["secret", {"role": "secret"}]}),
    );
    let error = RunAgentInput::parse(body.to_string().as_bytes()).unwrap_err();
    assert_eq!(
        paths(&error),
        [
            "messages.0",
            "messages.1.role",
            "resume.0.status",
            "resume.1"
        ]
    );
    assert_eq!(
        error.to_string(),
        "Invalid AG-UI input: messages.0: Expected object, received string (and 3 more)"
    );
    assert!(
        error
            .issues
            .iter()
            .all(|issue| !issue.message.contains("secret"))
    );
}
