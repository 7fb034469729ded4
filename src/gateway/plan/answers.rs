//! What the Tool messages of a browser mean for its thread (spec: gateway, Client-provided Tools, HTTP 与 run 语义; G11),
//! and what its history says of calls that nobody will answer (X7).
//!
//! Chat clients go on without answering: a person writes although a form is open, a failed handler's error arrives with
//! the next words, a runtime in between invents results for what it has stopped.

use serde_json::Value;

use super::messages::{NewResult, NewUser};
use super::resume;
use crate::agui::{Content, Message, ToolMessage};
use crate::gateway::digest::{Digest, DigestKey};
use crate::gateway::effect::CallOutcome;
use crate::gateway::error::{Code, GatewayError};
use crate::gateway::refusal::conflict;
use crate::gateway::request::Request;
use crate::gateway::request::a2ui;
use crate::gateway::run::work::Answer;
use crate::gateway::thread::Thread;
use crate::gateway::thread::seen::{Verdict, metadata_of, original, result_text};
use crate::projection::{FrontendResult, Transcript, frontend_result_meta};

/// What the model is told of a call that nobody will answer.
const PASSED_OVER: &str = "the browser did not answer; the person went on with a new message";
/// Stands for "no result yet" in some clients.
const FORWARDED: &str = "Forwarded to client";

/// Judges one Tool message: an answer that is new, or history (`None`). `earlier` are the answers before it.
///
/// # Errors
/// When it answers nothing that waits, answers it twice, or changes what was accepted.
pub(crate) fn judge(
    key: DigestKey,
    thread: &Thread,
    request: &Request<'_>,
    earlier: &[NewResult],
    message: &ToolMessage<'_>,
) -> Result<Option<NewResult>, GatewayError> {
    let call = &*message.tool_call_id;
    let owed = thread.calls.is_owed(call);
    // A client may have been shown the call by an attempt that came to nothing, so that nobody knows it any more.
    if is_filling(message) || !owed && a2ui::is_rendered(message) {
        return Ok(None);
    }
    if !owed && Transcript::is_server_result(&message.id, call) {
        // The server's own result, as the stream or a snapshot gave it.
        return Ok(None);
    }
    let digest = key.result(message);
    match thread.seen.compare_result(digest, message) {
        Verdict::Known => return Ok(None),
        Verdict::Conflict => return Err(conflict("Tool result")),
        Verdict::New => {}
    }
    if !owed {
        let settled = thread
            .transcript
            .call(call)
            .is_some_and(|(_, settled)| settled);
        return if settled
            || thread.calls.answer_of(call).is_some()
            || resume::speaks_for(thread, request, call)
        {
            // History: the call has its result, whatever this client calls it.
            Ok(None)
        } else if thread.lost.knows(call) || was_shown(thread, request, call) {
            // The client holds a call that no log has: its attempt failed, or the log was lost. Nothing waits for it.
            Ok(None)
        } else {
            Err(GatewayError::new(
                Code::UnknownToolResult,
                "a Tool result answers no call that waits for the browser",
            ))
        };
    }
    if let Some(twin) = earlier.iter().find(|twin| twin.call == call) {
        return if twin.own.id == *message.id && twin.digest == digest {
            Ok(None)
        } else {
            Err(GatewayError::new(
                Code::InvalidToolResultBatch,
                "a call is answered twice",
            ))
        };
    }
    if earlier.iter().any(|twin| twin.own.id == *message.id) {
        return Err(GatewayError::new(
            Code::InvalidToolResultBatch,
            "two Tool results share an id",
        ));
    }
    Ok(Some(answer(call, digest, message)))
}

/// Whether the client's copy of a message of this session makes the call.
fn was_shown(thread: &Thread, request: &Request<'_>, call: &str) -> bool {
    let messages = request.input.messages.iter();
    let mut own = messages.filter(|message| thread.transcript.is_own_id(message.id()));
    own.any(|message| makes(message, call))
}

/// Whether a message of the client's copy makes the call.
fn makes(message: &Message<'_>, call: &str) -> bool {
    let Message::Assistant(assistant) = message else {
        return false;
    };
    let mut made = assistant.tool_calls.iter().flatten();
    made.any(|made| *made.id == *call)
}

fn answer(call: &str, digest: Digest, message: &ToolMessage<'_>) -> NewResult {
    let own = FrontendResult {
        id: message.id.clone().into_owned(),
        encrypted_value: message.encrypted_value.as_deref().map(Into::into),
        subagent_run_id: message.subagent_run_id.as_deref().map(Into::into),
        metadata: metadata_of(message),
        original: Some(original(message)),
    };
    let text = result_text(message);
    let outcome = match message.error.as_deref() {
        Some(error) if !error.is_empty() => CallOutcome::Rejected {
            message: error.into(),
        },
        _ => CallOutcome::Resolved {
            text: text.clone(),
            meta: Some(frontend_result_meta(&own)),
        },
    };
    NewResult {
        call: call.into(),
        digest,
        own,
        text,
        outcome,
    }
}

/// Whether a Tool message is a runtime's own filling, and nobody's answer (`ag-ui.md` §4.1, §4.3).
fn is_filling(message: &ToolMessage<'_>) -> bool {
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

/// Wire ids of the open calls that nobody will answer, where the client knows every open call and the person wrote on:
/// all of them stand in the history before the first new words. Those that `results` answer are left out. `None` where
/// the client may not know of them yet.
pub(crate) fn passed_over(
    thread: &Thread,
    request: &Request<'_>,
    users: &[NewUser],
    results: &[NewResult],
) -> Option<Vec<String>> {
    let messages = &request.input.messages;
    let is_new = |message: &Message<'_>| match message {
        Message::User(user) => users.iter().any(|new| new.id == *user.id),
        _ => false,
    };
    let history = &messages[..messages.iter().position(is_new)?];
    let tells = |message: &Message<'_>, call: &str| match message {
        Message::Assistant(_) => makes(message, call),
        // Clients that keep assistant messages to themselves send a runtime's fillings all the same.
        Message::Tool(tool) => *tool.tool_call_id == *call && is_filling(tool),
        _ => false,
    };
    let is_known = |call: &str| history.iter().any(|message| tells(message, call));
    if !thread.calls.any_owed() || !thread.calls.owed().all(is_known) {
        return None;
    }
    let is_answered = |call: &str| results.iter().any(|result| result.call == call);
    let open = thread.calls.owed().filter(|call| !is_answered(call));
    Some(open.map(ToOwned::to_owned).collect())
}

/// The end of an open call that its client has passed over.
pub(crate) fn pass_over(call: String) -> Answer {
    Answer {
        call,
        own: None,
        outcome: CallOutcome::Rejected {
            message: PASSED_OVER.into(),
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
