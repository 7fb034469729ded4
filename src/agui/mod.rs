//! AG-UI wire types, observed on the official clients 0.0.59 and 1.0.0. Pure: bytes in, typed values or
//! issues out.
//!
//! - [`request`], [`message`], [`content`]: the request body, borrowed from its bytes
//! - [`event`], [`event_type`]: the events that a gateway emits, and the closed set of types
//! - [`sse`]: how an event becomes a frame of the response
//! - [`schema`]: the official schemas, used to explain what is wrong with a request or an event
//! - [`check`]: the official client's rules about the order of events
//! - [`issue`], [`json`], [`surrogate`]: paths of issues, encoded JSON text, and unpaired surrogates
//! - `json_patch`: the difference between two states
//! - `read`: the borrowing reader under the request types
#![allow(clippy::module_name_repetitions)]

pub mod check;
pub mod content;
pub mod event;
pub mod event_type;
pub mod issue;
pub mod json;
pub(crate) mod json_patch;
pub mod message;
mod read;
pub mod request;
pub mod schema;
pub mod sse;
pub mod surrogate;

pub use check::{Checker, Rule, Violation, check_event_stream};
pub use content::{Content, Part, Source};
pub use event::{
    ActivityMode, EncryptedTarget, Event, Interrupt, Interrupts, Outcome, SubagentOutcome, Tags,
    TextRole,
};
pub use event_type::EventType;
pub use issue::{InputError, Issue, Path, PathSegment};
pub use json::Json;
pub use message::{
    ActivityMessage, AssistantMessage, Message, ReasoningMessage, Role, TextMessage, ToolCall,
    ToolMessage, UserMessage,
};
pub use request::{Context, Resume, ResumeStatus, RunAgentInput, State, Tool};
pub use schema::validate_event;

#[cfg(test)]
mod tests;
