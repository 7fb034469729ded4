#![allow(clippy::unwrap_used)]
use super::*;

fn result(json: &str) -> ToolResult {
    match parse_record(json).unwrap().event {
        SessionEvent::ToolResult(result) => result,
        other => panic!("not a result: {other:?}"),
    }
}

#[test]
fn tool_results_read_alike_in_every_generation() {
    let nested = result(
        r#"{"type":"tool/result","seq":4,"data":{"turn":1,"step":1,"message":{"role":"user","id":"x","source":{"kind":"tool","callId":"c"},"content":[{"type":"tool-result","toolCallId":"c","content":[{"type":"text","text":"ok"}],"isError":true}]},"meta":{"a":1}},"card":null}"#,
    );
    let flat = result(
        r#"{"type":"tool/result","seq":4,"data":{"turn":1,"step":1,"message":{"role":"tool","id":"x","toolCallId":"c","source":{"kind":"tool","callId":"c"},"content":[{"type":"text","text":"ok"}],"isError":true},"meta":{"a":1}},"card":null}"#,
    );
    for found in [nested, flat] {
        assert_eq!(found.call_id, "c");
        assert_eq!(found.text, "ok");
        assert!(found.is_error);
        assert_eq!(found.meta.unwrap()["a"], 1);
        assert_eq!(found.card, Card::Generic);
    }
}

#[test]
fn a_missing_card_is_not_a_null_card() {
    let call = |card: &str| {
        let json = format!(
            r#"{{"type":"tool/call","seq":1,"data":{{"turn":1,"step":1,"callId":"c","name":"n","arguments":"{{}}"}}{card}}}"#
        );
        match parse_record(&json).unwrap().event {
            SessionEvent::ToolCall(call) => call.card,
            other => panic!("not a call: {other:?}"),
        }
    };
    assert_eq!(call(""), Card::Unknown);
    assert_eq!(call(r#","card":null"#), Card::Generic);
    assert_eq!(
        call(r#","card":{"card":"generic"}"#),
        Card::View(r#"{"card":"generic"}"#.into())
    );
}

#[test]
fn every_turn_end_has_a_meaning() {
    let reason = |json: &str| {
        let json = format!(r#"{{"type":"turn/end","seq":1,"data":{{"turn":2,"reason":{json}}}}}"#);
        match parse_record(&json).unwrap().event {
            SessionEvent::TurnEnd { turn: 2, reason } => reason,
            other => panic!("not an end: {other:?}"),
        }
    };
    assert_eq!(reason(r#"{"kind":"completed"}"#), TurnEnd::Completed);
    assert_eq!(reason(r#"{"kind":"max-tokens"}"#), TurnEnd::MaxTokens);
    assert_eq!(
        reason(r#"{"kind":"aborted","reason":{"kind":"user"}}"#),
        TurnEnd::Aborted
    );
    assert_eq!(reason(r#"{"kind":"blocked"}"#), TurnEnd::Blocked);
    assert_eq!(reason(r#"{"kind":"interrupted"}"#), TurnEnd::Interrupted);
    assert_eq!(
        reason(r#"{"kind":"error","error":{"code":"NO_ADAPTER","message":"m"}}"#),
        TurnEnd::Failed {
            code: "NO_ADAPTER".into(),
            message: "m".into()
        }
    );
    assert_eq!(reason(r#"{"kind":"forked"}"#), TurnEnd::Unknown);
}

#[test]
fn unknown_types_are_left_alone() {
    let record = parse_record(r#"{"type":"todo/write","seq":9,"data":{"todos":[]}}"#).unwrap();
    assert_eq!(record.seq, 9);
    assert!(matches!(record.event, SessionEvent::Other));
    assert!(parse_record(r#"{"type":"turn/start","seq":9,"data":{}}"#).is_err());
}

#[test]
fn half_a_surrogate_pair_is_read_and_a_strange_record_is_left_out() {
    let cut = r#"{"type":"user/message","seq":1,"data":{"id":"m","role":"user","source":{"kind":"user"},"content":[{"type":"text","text":"cut \ud83d"}]}}"#;
    match parse_record(cut).unwrap().event {
        SessionEvent::UserMessage(message) => assert_eq!(message.texts, ["cut \u{fffd}"]),
        other => panic!("not a message: {other:?}"),
    }
    let strange = r#"{"type":"turn/start","seq":2,"data":{}}"#;
    let history = parse_history(&format!("[{cut},{strange},{cut}]")).unwrap();
    assert_eq!(history.len(), 2);
    assert!(parse_history("{}").is_err());
}
