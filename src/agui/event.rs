//! The events that a gateway emits, borrowed from where their text lives, and their encoding.
//!
//! [`Event::write_json`] writes `type` first, camelCase names, and no member for what is absent: `null` in
//! place of an optional member is fatal for the 0.0.59 client (`RUN_FINISHED.outcome`, metadata, ...).
//! Members whose type is "any" are always written, as 1.0 asks.

mod encode;

use super::Json;

/// An event to emit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Event<'a> {
    /// First event of a run.
    RunStarted {
        /// Thread of the run.
        thread_id: &'a str,
        /// The run.
        run_id: &'a str,
        /// The run that this one continues.
        parent_run_id: Option<&'a str>,
        /// Version of the protocol, `<major>.<minor>`. Not in the schema of 0.0.59, which lets it pass.
        protocol_version: Option<&'a str>,
    },
    /// Terminal event of a run that did not fail. Every message, call, step and subagent is closed before.
    RunFinished {
        /// Thread of the run.
        thread_id: &'a str,
        /// The run.
        run_id: &'a str,
        /// Absent reads as success.
        outcome: Option<Outcome<'a>>,
        /// Value of the run, for a success only.
        result: Option<Json<'a>>,
    },
    /// Terminal event of a run that failed. Needs nothing closed before, and may be the only event.
    RunError {
        /// Text for the person at the client; no internals.
        message: &'a str,
        /// Stable code.
        code: Option<&'a str>,
        /// Not in the schema of 0.0.59, which lets it pass; tells multiplexing peers what failed.
        thread_id: Option<&'a str>,
        /// As `thread_id`.
        run_id: Option<&'a str>,
    },
    /// A step opens. One open step a name and owner.
    StepStarted {
        /// Name, the key of the step.
        step_name: &'a str,
    },
    /// A step closes.
    StepFinished {
        /// Name given at the start.
        step_name: &'a str,
    },
    /// A text message opens.
    TextMessageStart {
        /// The id that later snapshots use too.
        message_id: &'a str,
        /// Who speaks.
        role: TextRole,
        /// Name of the speaker.
        name: Option<&'a str>,
    },
    /// Text is appended to an open message.
    TextMessageContent {
        /// The open message.
        message_id: &'a str,
        /// Not empty: older clients refuse an empty delta.
        delta: &'a str,
    },
    /// A text message closes.
    TextMessageEnd {
        /// The open message.
        message_id: &'a str,
    },
    /// A Tool call opens.
    ToolCallStart {
        /// The call.
        tool_call_id: &'a str,
        /// Name of the Tool.
        tool_call_name: &'a str,
        /// The assistant message that carries the call; the same for all calls of one step of the model.
        parent_message_id: Option<&'a str>,
    },
    /// Text is appended to the arguments of an open call.
    ToolCallArgs {
        /// The open call.
        tool_call_id: &'a str,
        /// Not empty. All deltas together are the JSON of an object.
        delta: &'a str,
    },
    /// The arguments are complete.
    ToolCallEnd {
        /// The open call.
        tool_call_id: &'a str,
    },
    /// A Tool result, as a message of its own. Never for a frontend Tool.
    ToolCallResult {
        /// Id of the result's message.
        message_id: &'a str,
        /// The call that it answers.
        tool_call_id: &'a str,
        /// Text for the client; a failure is told here.
        content: &'a str,
    },
    /// The whole shared state.
    StateSnapshot {
        /// An object in practice: 0.0.59 ignores falsy snapshots.
        snapshot: Json<'a>,
    },
    /// A change of the shared state.
    StateDelta {
        /// Array of RFC 6902 operations.
        delta: Json<'a>,
    },
    /// The whole history.
    MessagesSnapshot {
        /// The messages, each encoded.
        messages: &'a [Json<'a>],
    },
    /// An activity message appears or is replaced.
    ActivitySnapshot {
        /// Id among all messages.
        message_id: &'a str,
        /// Kind of activity.
        activity_type: &'a str,
        /// An object.
        content: Json<'a>,
        /// What happens to an activity that is already there.
        mode: ActivityMode,
    },
    /// A change of an activity's content.
    ActivityDelta {
        /// The activity.
        message_id: &'a str,
        /// Kind of activity.
        activity_type: &'a str,
        /// Array of RFC 6902 operations.
        patch: Json<'a>,
    },
    /// An application's own event.
    Custom {
        /// Name known to the application.
        name: &'a str,
        /// Any value.
        value: Json<'a>,
    },
    /// An event of a foreign protocol.
    Raw {
        /// Any value.
        event: Json<'a>,
        /// Where it comes from.
        source: Option<&'a str>,
    },
    /// A span of reasoning opens.
    ReasoningStart {
        /// The span.
        message_id: &'a str,
    },
    /// A reasoning message opens.
    ReasoningMessageStart {
        /// The message.
        message_id: &'a str,
    },
    /// Text is appended to a reasoning message.
    ReasoningMessageContent {
        /// The open message.
        message_id: &'a str,
        /// Not empty.
        delta: &'a str,
    },
    /// A reasoning message closes.
    ReasoningMessageEnd {
        /// The open message.
        message_id: &'a str,
    },
    /// A span of reasoning closes. 1.0 wants it before `RUN_FINISHED`.
    ReasoningEnd {
        /// The open span.
        message_id: &'a str,
    },
    /// An opaque value that the client stores with a call or a message and sends back.
    ReasoningEncryptedValue {
        /// What it belongs to.
        target: EncryptedTarget<'a>,
        /// The opaque value.
        encrypted_value: &'a str,
    },
    /// A subagent starts. Fatal for clients before 0.0.59.
    SubagentStarted {
        /// The invocation, never used again in this run.
        subagent_run_id: &'a str,
        /// Name of the subagent.
        name: &'a str,
        /// What it does.
        description: Option<&'a str>,
        /// The subagent that called it, started before.
        parent_subagent_run_id: Option<&'a str>,
        /// The call that delegates to it.
        parent_tool_call_id: Option<&'a str>,
        /// The message that carries that call.
        parent_message_id: Option<&'a str>,
    },
    /// A subagent ends well.
    SubagentFinished {
        /// The invocation.
        subagent_run_id: &'a str,
        /// Value of the invocation.
        result: Option<Json<'a>>,
        /// Absent reads as success.
        outcome: Option<SubagentOutcome<'a>>,
    },
    /// A subagent fails.
    SubagentError {
        /// The invocation.
        subagent_run_id: &'a str,
        /// Text for the person at the client.
        message: &'a str,
        /// Stable code.
        code: Option<&'a str>,
    },
}

/// Who speaks in a streamed text message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum TextRole {
    Developer,
    System,
    Assistant,
    User,
}

impl TextRole {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Developer => "developer",
            Self::System => "system",
            Self::Assistant => "assistant",
            Self::User => "user",
        }
    }
}

/// What an activity snapshot does to an activity with the same id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActivityMode {
    /// Takes its place (the default of the wire).
    Replace,
    /// Changes nothing.
    KeepExisting,
}

/// What an encrypted value belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EncryptedTarget<'a> {
    /// A Tool call.
    ToolCall(&'a str),
    /// A message.
    Message(&'a str),
}

/// How a run ended.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Outcome<'a> {
    /// Done.
    Success {
        /// Calls that the client still has to answer (1.0). Anything but none is fatal for 0.0.59.
        pending_tool_call_ids: &'a [&'a str],
    },
    /// Waits for answers in the `resume` of the next run.
    Interrupt(Interrupts<'a>),
}

/// At least one interrupt.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interrupts<'a>(&'a [Interrupt<'a>]);

impl<'a> Interrupts<'a> {
    /// `None` when there is none: an empty list is fatal for the client.
    #[must_use]
    pub const fn new(interrupts: &'a [Interrupt<'a>]) -> Option<Self> {
        if interrupts.is_empty() {
            None
        } else {
            Some(Self(interrupts))
        }
    }
}

/// One question that a later `resume[]` must answer.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Interrupt<'a> {
    /// The handle that `resume[].interruptId` names.
    pub id: &'a str,
    /// `tool_call`, `input_required`, `confirmation` or `<framework>:<name>`.
    pub reason: &'a str,
    /// Text for the person at the client.
    pub message: Option<&'a str>,
    /// The call that waits; set when `reason` is `tool_call`.
    pub tool_call_id: Option<&'a str>,
    /// JSON Schema of the payload, an object; set when `reason` is `input_required`.
    pub response_schema: Option<Json<'a>>,
    /// ISO time. Leave it out: an expired interrupt can never be answered by the 0.0.59 client.
    pub expires_at: Option<&'a str>,
    /// An object.
    pub metadata: Option<Json<'a>>,
    /// The subagent that asks.
    pub subagent_run_id: Option<&'a str>,
}

/// How a subagent ended without failing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubagentOutcome<'a> {
    /// Done.
    Success,
    /// Waits for the answers to these interrupts.
    Suspended {
        /// Ids of the interrupts, may be empty.
        interrupt_ids: &'a [&'a str],
    },
}

/// Optional members that every event may carry.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Tags<'a> {
    /// Milliseconds since the epoch. An integer, as 1.0 demands.
    pub timestamp: Option<u64>,
    /// The provider's event.
    pub raw_event: Option<Json<'a>>,
    /// An object; merged key by key into the message or call that the event concerns.
    pub metadata: Option<Json<'a>>,
    /// Attribution. Not on `RUN_*` and `MESSAGES_SNAPSHOT`, and not on `SUBAGENT_*`, which have a member of
    /// their own.
    pub subagent_run_id: Option<&'a str>,
}
