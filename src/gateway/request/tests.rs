#![allow(clippy::unwrap_used)]
use serde_json::{Value, json};

use super::*;

fn read(config: Value, change: impl FnOnce(&mut Value)) -> Result<(), Code> {
    let mut config = config;
    config["sharedSecret"] = "0123456789abcdef".into();
    let (config, _) = Config::parse(&config.to_string()).unwrap();
    let mut body = json!({"threadId":"t","runId":"r","messages":[{"id":"m","role":"user","content":"hi"}],"tools":[],"context":[]});
    change(&mut body);
    Request::read(&config, body.to_string().as_bytes(), |_| {
        Catalogue::default()
    })
    .map(|_| ())
    .map_err(|error| error.code)
}

fn code(config: Value, change: impl FnOnce(&mut Value)) -> Code {
    read(config, change).unwrap_err()
}

fn tool(name: &str) -> Value {
    json!({"name":name,"description":"d","parameters":{"type":"object"}})
}

#[test]
fn a_plain_request_is_read() {
    assert_eq!(read(json!({}), |_| {}), Ok(()));
}

#[test]
fn ids_follow_the_grammar() {
    for id in ["", "-x", "a b", "é"] {
        assert_eq!(
            code(json!({}), |b| b["threadId"] = id.into()),
            Code::InvalidIdentity
        );
        assert_eq!(
            code(json!({}), |b| b["runId"] = id.into()),
            Code::InvalidIdentity
        );
        assert_eq!(
            code(json!({}), |b| b["parentRunId"] = id.into()),
            Code::InvalidIdentity
        );
    }
    let long = "x".repeat(9);
    let config = json!({"maxIdentityBytes":8});
    assert_eq!(
        code(config.clone(), |b| b["messages"][0]["id"] =
            long.clone().into()),
        Code::InvalidIdentity
    );
    assert_eq!(
        code(
            config,
            |b| b["messages"][0] = json!({"id":"m","role":"tool","toolCallId":long,"content":""})
        ),
        Code::InvalidIdentity
    );
}

#[test]
fn every_limit_has_its_code() {
    let message = json!({"id":"m2","role":"user","content":"x"});
    assert_eq!(
        code(json!({"maxMessages":1}), |b| b["messages"] =
            json!([message, message])),
        Code::MessageLimitExceeded
    );
    assert_eq!(
        code(
            json!({"maxMessageBytes":40}),
            |b| b["messages"][0]["content"] = "long enough".into()
        ),
        Code::MessageLimitExceeded
    );
    let entry = json!({"description":"d","value":"v"});
    assert_eq!(
        code(json!({"maxContexts":1}), |b| b["context"] =
            json!([entry, entry])),
        Code::ContextLimitExceeded
    );
    assert_eq!(
        code(json!({"maxContextBytes":20}), |b| b["context"] =
            json!([entry])),
        Code::ContextLimitExceeded
    );
    assert_eq!(
        code(json!({"maxTools":1}), |b| b["tools"] =
            json!([tool("a"), tool("b")])),
        Code::ToolLimitExceeded
    );
    assert_eq!(
        code(json!({"maxToolBytes":20}), |b| b["tools"] =
            json!([tool("a")])),
        Code::ToolLimitExceeded
    );
    assert_eq!(
        code(
            json!({"maxForwardedPropsBytes":8}),
            |b| b["forwardedProps"] = json!({"key":1})
        ),
        Code::ForwardedPropsLimitExceeded
    );
    assert_eq!(
        code(json!({"maxStateBytes":8}), |b| b["state"] =
            json!({"key":1})),
        Code::StateLimitExceeded
    );
    assert_eq!(
        code(json!({"maxRequestBytes":8}), |_| {}),
        Code::RequestTooLarge
    );
}

#[test]
fn limits_count_utf8_bytes_of_compact_json() {
    assert_eq!(
        json_bytes("{ \"a b\" : [ 1 , \"\\\" \" ] }"),
        "{\"a b\":[1,\"\\\" \"]}".len()
    );
    assert_eq!(json_bytes("\"é\""), 4);
    assert_eq!(
        array_bytes(&["a", "b"], |item, out| out.push_str(item)),
        "[a,b]".len()
    );
}

#[test]
fn content_is_text_or_urls_that_an_upload_answers() {
    for content in [
        json!(""),
        json!([]),
        json!([{"type":"text","text":""}]),
        json!([{"type":"image","source":{"type":"url","value":"x"}}]),
    ] {
        assert_eq!(
            code(json!({}), |b| b["messages"][0]["content"] = content),
            Code::UnsupportedMessageContent
        );
    }
}

#[test]
fn context_needs_a_description_and_interrupts_are_answered_once() {
    assert_eq!(
        code(json!({}), |b| b["context"] =
            json!([{"description":" ","value":"v"}])),
        Code::InvalidContext
    );
    let entry = json!({"interruptId":"i","status":"cancelled"});
    assert_eq!(
        code(json!({}), |b| b["resume"] = json!([entry, entry])),
        Code::DuplicateInterruptResponse
    );
    assert_eq!(
        code(json!({}), |b| b["resume"] =
            json!([{"interruptId":"","status":"cancelled"}])),
        Code::InvalidInterruptResponse
    );
}

#[test]
fn metadata_that_the_log_cannot_keep_is_refused() {
    let with = |metadata: &str| {
        let body = format!(
            r#"{{"threadId":"t","runId":"r","messages":[{{"id":"m","role":"tool","toolCallId":"c","content":"","metadata":{metadata}}}]}}"#
        );
        let (config, _) = Config::parse(r#"{"sharedSecret":"0123456789abcdef"}"#).unwrap();
        Request::read(&config, body.as_bytes(), |_| Catalogue::default())
            .map(|_| ())
            .map_err(|error| error.code)
    };
    assert_eq!(with("{}"), Ok(()));
    assert_eq!(with(r#"{"a":0}"#), Ok(()));
    assert_eq!(with(r#"{"a":-0.0}"#), Err(Code::InvalidToolResultMetadata));
    for kept in ["9007199254740992", "-12345678901234567000", "0.1", "1e300"] {
        assert_eq!(with(&format!(r#"{{"a":{kept}}}"#)), Ok(()), "{kept}");
    }
    for lost in ["9007199254740993", "12345678901234567890"] {
        let refused = with(&format!(r#"{{"a":[{lost}]}}"#));
        assert_eq!(refused, Err(Code::InvalidToolResultMetadata), "{lost}");
    }
    let deep = format!("{}1{}", r#"{"a":"#.repeat(40), "}".repeat(40));
    assert_eq!(with(&deep), Err(Code::InvalidToolResultMetadata));
}
