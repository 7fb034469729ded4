//! What a browser's history says about calls that are open (X7).
//!
//! Chat clients go on without answering: a person writes although a form is open, a failed handler's error arrives with
//! the next words, a runtime in between invents results when it was stopped.

use serde_json::Value;

use super::effect::CallOutcome;
use super::plan::NewUser;
use super::request::Request;
use super::run::Answer;
use super::thread::Thread;
use crate::agui::{Content, Message, ToolMessage};

/// What the model is told of a call that nobody will answer.
const GIVEN_UP: &str = "the browser gave no result: the person sent a new message instead";
/// Stands for "no result yet" in some clients.
const FORWARDED: &str = "Forwarded to client";

/// Whether a Tool message is a runtime's own filling, and nobody's answer.
pub(super) fn is_filling(message: &ToolMessage<'_>) -> bool {
    let Content::Text(text) = &message.content else {
        return false;
    };
    if **text == *FORWARDED {
        return true;
    }
    if message.id.strip_suffix("-result") != Some(&*message.tool_call_id) {
        return false;
    }
    let Ok(Value::Object(told)) = serde_json::from_str::<Value>(text) else {
        return false;
    };
    let member = |name: &str| told.get(name).and_then(Value::as_str);
    matches!(
        (member("status"), member("reason")),
        (Some("stopped"), Some("stop_requested")) | (Some("error"), Some("missing_terminal_event"))
    )
}

/// Whether the client knows every open call, and the person wrote on behind them: each new message stands behind an
/// assistant message that makes the call.
pub(super) fn wrote_on(thread: &Thread, request: &Request<'_>, users: &[NewUser]) -> bool {
    let messages = &request.input.messages;
    let first_new = messages.iter().position(|message| {
        matches!(message, Message::User(user) if users.iter().any(|new| new.id == *user.id))
    });
    let Some(history) = first_new.and_then(|at| messages.get(..at)) else {
        return false;
    };
    let makes = |call: &str| {
        history.iter().any(|message| match message {
            Message::Assistant(assistant) => assistant
                .tool_calls
                .iter()
                .flatten()
                .any(|made| *made.id == *call),
            _ => false,
        })
    };
    thread.calls.owed().all(makes)
}

/// The end of an open call that its client has passed over.
pub(super) fn give_up(call: &str) -> Answer {
    Answer {
        call: call.into(),
        own: None,
        outcome: CallOutcome::Rejected {
            message: GIVEN_UP.into(),
        },
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::agui::RunAgentInput;
    use serde_json::json;

    fn filling(message: &Value) -> bool {
        let body = json!({"threadId":"t","runId":"r","messages":[message]}).to_string();
        let input = RunAgentInput::parse(body.as_bytes()).unwrap();
        let [Message::Tool(message)] = &input.messages[..] else {
            panic!("a Tool message");
        };
        is_filling(message)
    }

    #[test]
    fn what_a_runtime_invents_is_no_answer() {
        let of = |id: &str, content: &str| json!({"id":id,"role":"tool","toolCallId":"c","content":content});
        let stopped =
            r#"{"status":"stopped","reason":"stop_requested","message":"Run stopped by user"}"#;
        let missing = r#"{"status":"error","reason":"missing_terminal_event","message":"x"}"#;
        assert!(filling(&of("c-result", stopped)));
        assert!(filling(&of("c-result", missing)));
        assert!(filling(&of("x", "Forwarded to client")));
        assert!(!filling(&of("x", stopped)));
        assert!(!filling(&of("c-result", r#"{"status":"stopped"}"#)));
        assert!(!filling(&of("c-result", "done")));
    }
}
