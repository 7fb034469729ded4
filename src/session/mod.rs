//! What a DSH Host reports of one session: the durable event log, in every generation's shape.
//!
//! Live deltas do not pass through here: they reach the machine as bare strings
//! (`Gateway::handle_text` and its siblings).

mod content;
mod error;
mod presented;
mod record;

pub use error::RecordError;
pub use presented::{Presented, PresentedFile};
pub use record::{
    AssistantMessage, Card, Record, SessionEvent, ToolCall, ToolCallBlock, ToolResult, TurnEnd,
    UserMessage, parse_history, parse_record,
};
