//! What one durable record changes, for the run that shows it live.

use std::sync::Arc;

use super::frontend_result::FrontendResult;

/// What one record changed, for the run that shows it live.
#[derive(Debug)]
pub enum Change {
    /// A person's message entered the conversation.
    User {
        /// Message id.
        id: String,
        /// Its text parts.
        texts: Vec<String>,
        /// The AG-UI parts that were accepted, JSON, where they are more than texts.
        parts: Option<String>,
    },
    /// What a person did on a rendered surface was told to the model; nothing to show.
    Action {
        /// Message id.
        id: String,
        /// What the model reads.
        text: String,
    },
    /// A model message was committed.
    Assistant(AssistantView),
    /// A call was dispatched.
    CallStarted(StartedView),
    /// A call has its result.
    CallSettled(SettledView),
    /// Nothing to show.
    Nothing,
}

/// A committed model message.
#[derive(Debug)]
pub struct AssistantView {
    /// Message id, as streamed.
    pub id: String,
    /// All of its text.
    pub text: String,
    /// All of its calls, hidden ones included.
    pub calls: Vec<CallView>,
}

/// A call of a committed model message.
#[derive(Debug, Clone)]
pub struct CallView {
    /// The provider's id.
    pub call_id: String,
    /// The id on the wire.
    pub wire_id: String,
    /// Tool name.
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
}

/// A dispatched call.
#[derive(Debug)]
pub struct StartedView {
    /// The provider's id.
    pub call_id: String,
    /// The id on the wire.
    pub wire_id: String,
    /// Its card event.
    pub card: Option<Arc<str>>,
}

/// A settled call.
#[derive(Debug)]
pub struct SettledView {
    /// The provider's id.
    pub call_id: String,
    /// The id on the wire.
    pub wire_id: String,
    /// Id of the Tool message.
    pub message_id: String,
    /// The result as text.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// Whether it belongs to shared state and is not shown.
    pub hidden: bool,
    /// What the browser's own message said, where it was one.
    pub frontend: Option<FrontendResult>,
    /// Its card event.
    pub card: Option<Arc<str>>,
}
