#![allow(clippy::unwrap_used)]
use std::collections::HashSet;

use super::*;
use crate::projection::frontend_result::{
    FRONTEND_RESULT_KEY, FrontendResult, Original, ResultFields, frontend_result_meta,
};
use crate::session::parse_record;

use serde_json::{Map, Value, json};

struct Pick;

impl BrowserSide for Pick {
    fn is_frontend(&self, name: &str) -> bool {
        name == "pick"
    }
    fn answer_of(&self, _: &str) -> Option<&FrontendResult> {
        None
    }
}

fn feed(transcript: &mut Transcript, records: &[Value]) {
    for (seq, record) in records.iter().enumerate() {
        let mut record = record.clone();
        record["seq"] = seq.into();
        let event = parse_record(&record.to_string()).unwrap().event;
        transcript.apply(event, &Pick);
    }
}

fn messages(transcript: &mut Transcript, pending: &[&str]) -> Vec<Value> {
    let event: String = transcript
        .snapshot(pending.iter().copied())
        .iter()
        .map(|piece| piece.to_string())
        .collect();
    let event: Value = serde_json::from_str(&event).unwrap();
    assert_eq!(event["type"], "MESSAGES_SNAPSHOT");
    event["messages"].as_array().unwrap().clone()
}

fn user(id: &str, text: &str, kind: &str) -> Value {
    json!({"type":"user/message","data":{"id":id,"role":"user","source":{"kind":kind},"content":[{"type":"text","text":text}]}})
}

fn assistant(turn: u64, content: Value) -> Value {
    json!({"type":"assistant/message","data":{"turn":turn,"step":1,"message":{"id":"x","role":"assistant","source":{"kind":"model"},"content":content}}})
}

fn call(turn: u64, id: &str, name: &str) -> Value {
    json!({"type":"tool/call","data":{"turn":turn,"step":1,"callId":id,"name":name,"arguments":"{}"},"card":null})
}

fn result(turn: u64, id: &str, text: &str, meta: Value) -> Value {
    json!({"type":"tool/result","data":{"turn":turn,"step":1,"message":{"role":"user","id":"y","source":{"kind":"tool","callId":id},"content":[{"type":"tool-result","toolCallId":id,"content":[{"type":"text","text":text}]}]},"meta":meta},"card":null})
}

fn call_block(id: &str, name: &str) -> Value {
    json!({"type":"tool-call","id":id,"name":name,"arguments":"{}"})
}

#[test]
fn the_history_shows_people_models_and_results_only() {
    let mut transcript = Transcript::new("agui-0123456789abcdef", 256);
    feed(
        &mut transcript,
        &[
            user("u1", "hi", "user"),
            user("ctx", "## Page", "ag-ui"),
            assistant(
                1,
                json!([{"type":"reasoning","text":"hm"},{"type":"text","text":"Let me"},call_block("c1","read"),call_block("s1",STATE_TOOL)]),
            ),
            call(1, "c1", "read"),
            result(1, "c1", "42", Value::Null),
            call(1, "s1", STATE_TOOL),
            result(1, "s1", "{}", Value::Null),
        ],
    );
    assert_eq!(
        messages(&mut transcript, &[]),
        vec![
            json!({"id":"u1","role":"user","content":"hi"}),
            json!({"id":"0123456789ab-1-1","role":"assistant","content":"Let me","toolCalls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}),
            json!({"id":"result-c1","role":"tool","content":"42","toolCallId":"c1"}),
        ]
    );
    assert_eq!(transcript.cards().settled().len(), 2);
}

#[test]
fn a_model_message_with_nothing_to_show_is_not_in_the_history() {
    let mut transcript = Transcript::new("s", 256);
    feed(
        &mut transcript,
        &[
            assistant(1, json!([])),
            assistant(2, json!([call_block("s", STATE_TOOL)])),
        ],
    );
    assert_eq!(messages(&mut transcript, &[]), Vec::<Value>::new());
}

#[test]
fn a_repeated_call_id_names_another_call() {
    let mut transcript = Transcript::new("s", 256);
    for turn in [1, 2] {
        feed(
            &mut transcript,
            &[
                assistant(turn, json!([call_block("c", "read")])),
                call(turn, "c", "read"),
                result(turn, "c", &format!("r{turn}"), Value::Null),
            ],
        );
    }
    let ids: Vec<_> = messages(&mut transcript, &[])
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| (message["toolCallId"].clone(), message["id"].clone()))
        .collect();
    assert_eq!(
        ids,
        [
            (json!("c"), json!("result-c")),
            (json!("c~2.1"), json!("result-c~2.1"))
        ]
    );
}

/// Pairs of the call and the id of each result in the history.
fn results_of(transcript: &mut Transcript) -> Vec<(String, String)> {
    let text = |message: &Value, key: &str| message[key].as_str().unwrap().to_owned();
    messages(transcript, &[])
        .iter()
        .filter(|message| message["role"] == "tool")
        .map(|message| (text(message, "toolCallId"), text(message, "id")))
        .collect()
}

#[test]
fn calls_of_one_step_that_share_an_id_are_told_apart() {
    let mut transcript = Transcript::new("s", 256);
    let twins = json!([
        call_block("c", "read"),
        call_block("c", "read"),
        call_block("c", "read")
    ]);
    feed(
        &mut transcript,
        &[
            assistant(1, twins),
            call(1, "c", "read"),
            result(1, "c", "first", Value::Null),
            result(1, "c", "second", Value::Null),
            result(1, "c", "third", Value::Null),
        ],
    );
    let made = messages(&mut transcript, &[]).remove(0);
    let ids: Vec<_> = results_of(&mut transcript);
    let calls: Vec<_> = ids.iter().map(|(call, _)| call.clone()).collect();
    let shown = made["toolCalls"].as_array().unwrap().iter();
    let shown: Vec<_> = shown
        .map(|call| call["id"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(calls, shown);
    assert_eq!(calls[..2], ["c", "c~1.1"]);
    assert!(ids.iter().all(|(call, id)| *id == format!("result-{call}")));
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 3);
}

#[test]
fn what_clients_send_back_is_never_longer_than_they_may_send() {
    let long = "x".repeat(250);
    for id in [&long, "", "call_abcdefghijklmnopqrstuvwx"] {
        let mut transcript = Transcript::new("s", 32);
        for turn in [1, 2] {
            feed(
                &mut transcript,
                &[
                    assistant(turn, json!([call_block(id, "read")])),
                    call(turn, id, "read"),
                    result(turn, id, "done", Value::Null),
                ],
            );
        }
        let results = results_of(&mut transcript);
        assert_eq!(results.len(), 2);
        assert_ne!(results[0].0, results[1].0);
        for (call, id) in results {
            assert!(!call.is_empty() && id.len() <= 32, "{id}");
        }
    }
}

#[test]
fn a_browser_s_result_keeps_its_identity() {
    for metadata in [
        None,
        Some(Map::new()),
        json!({"a":{"b":1}}).as_object().cloned(),
    ] {
        let own = FrontendResult {
            id: "tm1".into(),
            encrypted_value: Some("ev".into()),
            subagent_run_id: Some("sub".into()),
            metadata: metadata.clone(),
            original: Some(Original::of(ResultFields {
                call: "c",
                text: "much longer than blue",
                encrypted_value: Some("ev"),
                subagent_run_id: Some("sub"),
                metadata: metadata.as_ref(),
            })),
        };
        let meta = Value::Object(frontend_result_meta(&own));
        let mut transcript = Transcript::new("s", 256);
        feed(
            &mut transcript,
            &[
                assistant(1, json!([call_block("c", "pick")])),
                call(1, "c", "pick"),
                result(1, "c", "blue", meta),
            ],
        );
        let mut expected = json!({"id":"tm1","role":"tool","content":"blue","toolCallId":"c","encryptedValue":"ev","subagentRunId":"sub"});
        if let Some(metadata) = metadata {
            expected["metadata"] = Value::Object(metadata);
        }
        assert_eq!(messages(&mut transcript, &[])[1], expected);
        assert!(transcript.cards().settled().is_empty());
    }
}

#[test]
fn a_client_cannot_forge_the_private_key() {
    let own = FrontendResult {
        id: "real".into(),
        encrypted_value: None,
        subagent_run_id: None,
        metadata: json!({FRONTEND_RESULT_KEY: {"id":"forged"}})
            .as_object()
            .cloned(),
        original: None,
    };
    let read = frontend_result_of(Some(frontend_result_meta(&own))).unwrap();
    assert_eq!(read.id, "real");
    assert_eq!(read.metadata, Some(Map::new()));
}

#[test]
fn pending_messages_follow_the_log() {
    let mut transcript = Transcript::new("s", 256);
    let pending = encode_user("p", &["one".into(), "two".into()]);
    let part = |text: &str| json!({"type":"text","text":text});
    let expected = json!({"id":"p","role":"user","content":[part("one"),part("two")]});
    assert_eq!(
        messages(&mut transcript, &[&pending]),
        std::slice::from_ref(&expected)
    );
    feed(&mut transcript, &[user("u", "x", "user")]);
    assert_eq!(messages(&mut transcript, &[&pending])[1], expected);
}

#[test]
fn snapshots_share_few_pieces() {
    let mut transcript = Transcript::new("s", 256);
    for n in 0..2000 {
        feed(
            &mut transcript,
            &[user(&format!("u{n}"), "some text here", "user")],
        );
        transcript.snapshot(std::iter::empty());
    }
    assert_eq!(messages(&mut transcript, &[]).len(), 2000);
    assert!(transcript.pieces.len() < 16, "{}", transcript.pieces.len());
}
