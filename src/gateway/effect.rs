//! What the machine asks the world to do. The driver carries effects out in order.

use serde::Serialize;
use serde_json::value::RawValue;

use super::ids::{ThreadId, Token};
use super::interrupts::PersonOutcome;

/// One effect. As JSON it is `{"type": ..., ...}` with camelCase members.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum Effect {
    /// Resume or create the thread's agent, then call `Gateway::handle_opened` or `Gateway::handle_open_failed`.
    Open {
        /// The thread.
        thread: ThreadId,
        /// Its durable session id, also the name of its workspace directory.
        session_id: String,
        /// Whose it is.
        tenant_id: String,
        /// Whose it is.
        user_id: String,
        /// The client's thread id.
        thread_id: String,
    },
    /// Dispose the agent, then call `Gateway::handle_closed`.
    Close {
        /// The thread.
        thread: ThreadId,
    },
    /// Replace the browser's Tool set, then call `Gateway::handle_tools_synced`.
    SyncTools {
        /// The thread.
        thread: ThreadId,
        /// Names to take back, before anything is registered.
        unregister: Vec<String>,
        /// Tools to register.
        register: Vec<ToolEffect>,
    },
    /// Queue messages for the agent.
    Deliver {
        /// The thread.
        thread: ThreadId,
        /// In order.
        messages: Vec<HostMessage>,
        /// Whether the last one opens a turn of its own.
        wake: bool,
    },
    /// Cancel the running turn and drop what is queued.
    Cancel {
        /// The thread.
        thread: ThreadId,
    },
    /// Settle a Tool body that waits.
    Settle {
        /// The body.
        token: Token,
        /// How.
        outcome: CallOutcome,
    },
    /// End a request to a person.
    Answer {
        /// The request.
        token: Token,
        /// How.
        outcome: PersonOutcome,
    },
    /// Note in the log that a client answered interrupts that its thread does not know.
    UnknownInterrupts {
        /// The thread.
        thread: ThreadId,
        /// How many.
        count: usize,
    },
}

/// A Tool to register in the agent's own scope.
#[derive(Debug, Serialize)]
pub struct ToolEffect {
    /// Name.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Box<RawValue>,
    /// Whether calls of one step may run at the same time.
    pub concurrent: bool,
}

/// A user-role message for the agent.
#[derive(Debug, Clone, Serialize)]
pub struct HostMessage {
    /// Kept through inbox, log and requests; the Host mints one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Text parts.
    pub content: Vec<TextPart>,
    /// Where it comes from.
    pub source: MessageSource,
}

/// A text block.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename = "text")]
pub struct TextPart {
    /// The text.
    pub text: String,
}

/// Provenance of a message.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MessageSource {
    /// The person's own words.
    User,
    /// Context that this gateway injects (spec: gateway, 注入的 AG-UI context).
    AgUi {
        /// Always `snapshot`: it replaces what was said before.
        form: &'static str,
        /// Titles of its sections.
        sections: Vec<String>,
    },
}

/// How a Tool body settles.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum CallOutcome {
    /// With a result.
    Resolved {
        /// What the model sees.
        text: String,
        /// Presentation metadata, durable beside the result.
        #[serde(skip_serializing_if = "Option::is_none")]
        meta: Option<serde_json::Map<String, serde_json::Value>>,
    },
    /// With an error.
    Rejected {
        /// What the model sees behind `Error: `.
        message: String,
    },
}

/// What becomes of a Tool body that has just begun.
#[derive(Debug, Clone)]
pub enum CallDecision {
    /// It waits for [`Effect::Settle`].
    Park,
    /// It is done.
    Settle(CallOutcome),
}

impl Serialize for ThreadId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

impl Serialize for Token {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}
