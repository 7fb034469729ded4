//! TypeScript faces of the normalised input. They exist for `index.d.ts` only: the object itself is built by `JSON.parse`.
#![allow(dead_code)]

use napi::Either;
use napi::bindgen_prelude::Either7;
use napi_derive::napi;

/// A run request, normalised.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiRunAgentInput {
    pub thread_id: String,
    pub run_id: String,
    pub parent_run_id: Option<String>,
    /// Sent by clients since 1.0.
    pub protocol_version: Option<String>,
    /// Any value but `null`.
    #[napi(ts_type = "unknown")]
    pub state: Option<()>,
    pub messages: Vec<AgUiMessage>,
    pub tools: Vec<AgUiTool>,
    pub context: Vec<AgUiContext>,
    #[napi(ts_type = "unknown")]
    pub forwarded_props: Option<()>,
    pub resume: Option<Vec<AgUiResume>>,
}

/// A frontend Tool.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiTool {
    pub name: String,
    pub description: String,
    #[napi(ts_type = "unknown")]
    pub parameters: Option<()>,
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Option<()>,
}

/// One fact about the client's situation.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiContext {
    pub description: String,
    pub value: String,
}

/// The answer to one interrupt.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiResume {
    pub interrupt_id: String,
    #[napi(ts_type = "'resolved' | 'cancelled'")]
    pub status: String,
    #[napi(ts_type = "unknown")]
    pub payload: Option<()>,
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Option<()>,
}

/// A message, told apart by `role`.
#[napi]
pub type AgUiMessage = Either7<
    AgUiDeveloperMessage,
    AgUiSystemMessage,
    AgUiAssistantMessage,
    AgUiUserMessage,
    AgUiToolMessage,
    AgUiActivityMessage,
    AgUiReasoningMessage,
>;

/// Instructions of the application.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiDeveloperMessage {
    pub id: String,
    #[napi(ts_type = "'developer'")]
    pub role: String,
    pub content: String,
    pub name: Option<String>,
    pub encrypted_value: Option<String>,
    pub subagent_run_id: Option<String>,
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Option<()>,
}

/// Instructions of the application, older name.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiSystemMessage {
    pub id: String,
    #[napi(ts_type = "'system'")]
    pub role: String,
    pub content: String,
    pub name: Option<String>,
    pub encrypted_value: Option<String>,
    pub subagent_run_id: Option<String>,
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Option<()>,
}

/// What the Agent said and called.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiAssistantMessage {
    pub id: String,
    #[napi(ts_type = "'assistant'")]
    pub role: String,
    pub content: Option<String>,
    pub name: Option<String>,
    pub tool_calls: Option<Vec<AgUiToolCall>>,
    pub encrypted_value: Option<String>,
    pub subagent_run_id: Option<String>,
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Option<()>,
}

/// What the person said.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiUserMessage {
    pub id: String,
    #[napi(ts_type = "'user'")]
    pub role: String,
    pub content: Either<String, Vec<AgUiPart>>,
    pub name: Option<String>,
    pub encrypted_value: Option<String>,
    pub subagent_run_id: Option<String>,
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Option<()>,
}

/// Result of a Tool call.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiToolMessage {
    pub id: String,
    #[napi(ts_type = "'tool'")]
    pub role: String,
    pub tool_call_id: String,
    /// Parts since 1.0.
    pub content: Either<String, Vec<AgUiPart>>,
    pub error: Option<String>,
    pub encrypted_value: Option<String>,
    pub subagent_run_id: Option<String>,
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Option<()>,
}

/// A card of the client's history.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiActivityMessage {
    pub id: String,
    #[napi(ts_type = "'activity'")]
    pub role: String,
    pub activity_type: String,
    #[napi(ts_type = "Record<string, unknown>")]
    pub content: (),
    pub subagent_run_id: Option<String>,
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Option<()>,
}

/// What the Agent thought.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiReasoningMessage {
    pub id: String,
    #[napi(ts_type = "'reasoning'")]
    pub role: String,
    pub content: String,
    pub encrypted_value: Option<String>,
    pub subagent_run_id: Option<String>,
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Option<()>,
}

/// A call in an assistant message.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiToolCall {
    pub id: String,
    #[napi(ts_type = "'function'")]
    pub r#type: String,
    /// `arguments` is text, not checked to be JSON.
    #[napi(ts_type = "{ name: string; arguments: string }")]
    pub function: (),
    pub encrypted_value: Option<String>,
    #[napi(ts_type = "Record<string, unknown>")]
    pub metadata: Option<()>,
}

/// One part of a content, told apart by `type`.
#[napi]
pub type AgUiPart = napi::bindgen_prelude::Either3<AgUiTextPart, AgUiMediaPart, AgUiBinaryPart>;

/// Text.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiTextPart {
    #[napi(ts_type = "'text'")]
    pub r#type: String,
    /// Since 1.0.
    pub id: Option<String>,
    pub text: String,
    /// Since 1.0.
    #[napi(ts_type = "unknown")]
    pub metadata: Option<()>,
}

/// Image, audio, video or document.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiMediaPart {
    #[napi(ts_type = "'image' | 'audio' | 'video' | 'document'")]
    pub r#type: String,
    /// Since 1.0.
    pub id: Option<String>,
    /// Base64, an address, or since 1.0 a file at a provider.
    #[napi(
        ts_type = "{ type: 'data'; value: string; mimeType: string } | { type: 'url'; value: string; mimeType?: string } | { type: 'file'; value: string; provider?: string; mimeType?: string }"
    )]
    pub source: (),
    #[napi(ts_type = "unknown")]
    pub metadata: Option<()>,
}

/// The older form of media. At least one of `id`, `url` and `data` is there and not empty.
#[napi(object, object_from_js = false, object_to_js = false)]
pub struct AgUiBinaryPart {
    #[napi(ts_type = "'binary'")]
    pub r#type: String,
    pub mime_type: String,
    pub id: Option<String>,
    pub url: Option<String>,
    pub data: Option<String>,
    pub filename: Option<String>,
}
