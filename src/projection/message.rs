//! Messages of the history as AG-UI clients see them, encoded.

use serde::Serialize;
use serde_json::{Map, Value};

use super::change::CallView;
use super::frontend_result::FrontendResult;
use crate::agui::json::write_string;
use crate::tools::STATE_TOOL;

#[derive(Serialize)]
struct WireUser<'a> {
    id: &'a str,
    role: &'static str,
    content: WireContent<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireContent<'a> {
    Text(&'a str),
    Parts(Vec<WirePart<'a>>),
}

#[derive(Serialize)]
struct WirePart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireAssistant<'a> {
    id: &'a str,
    role: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireTool<'a> {
    id: &'a str,
    role: &'static str,
    content: &'a str,
    tool_call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted_value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subagent_run_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Map<String, Value>>,
}

/// The encoded AG-UI user message.
#[must_use]
pub(crate) fn encode_user(id: &str, texts: &[String]) -> String {
    let content = match texts {
        [text] => WireContent::Text(text),
        texts => WireContent::Parts(
            texts
                .iter()
                .map(|text| WirePart { kind: "text", text })
                .collect(),
        ),
    };
    encode(&WireUser {
        id,
        role: "user",
        content,
    })
}

/// The encoded AG-UI user message of parts that are encoded already.
#[must_use]
pub(crate) fn encode_user_parts(id: &str, parts: &str) -> String {
    let mut message = String::from(r#"{"id":"#);
    write_string(id, &mut message);
    message.push_str(r#","role":"user","content":"#);
    message.push_str(parts);
    message.push('}');
    message
}

/// The encoded AG-UI Tool message of a browser's result.
#[must_use]
pub(crate) fn encode_result(result: &FrontendResult, wire_call: &str, text: &str) -> String {
    encode(&WireTool {
        id: &result.id,
        role: "tool",
        content: text,
        tool_call_id: wire_call,
        encrypted_value: result.encrypted_value.as_deref(),
        subagent_run_id: result.subagent_run_id.as_deref(),
        metadata: result.metadata.as_ref(),
    })
}

/// The encoded Tool message of a result whose message nobody named.
#[must_use]
pub(super) fn encode_server_result(id: &str, wire_call: &str, text: &str) -> String {
    encode(&WireTool {
        id,
        role: "tool",
        content: text,
        tool_call_id: wire_call,
        encrypted_value: None,
        subagent_run_id: None,
        metadata: None,
    })
}

/// The encoded AG-UI assistant message, or `None` where it would show nothing. Calls of shared state are left out.
#[must_use]
pub(super) fn encode_assistant(id: &str, text: &str, calls: &[CallView]) -> Option<String> {
    let tool_calls: Vec<WireCall<'_>> = calls
        .iter()
        .filter(|call| call.name != STATE_TOOL)
        .map(|call| WireCall {
            id: &call.wire_id,
            kind: "function",
            function: WireFunction {
                name: &call.name,
                arguments: &call.arguments,
            },
        })
        .collect();
    let shows = !text.is_empty() || !tool_calls.is_empty();
    shows.then(|| {
        encode(&WireAssistant {
            id,
            role: "assistant",
            content: text,
            tool_calls,
        })
    })
}

fn encode(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}
