//! What chunk expansion and the sequence rules need to know of an event that fits the schema.

use std::borrow::Cow;

use serde_json::Value;

use crate::agui::EventType;

/// Kind of a thing that chunks can assemble.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkKind {
    Text,
    Tool,
    Reasoning,
}

/// What an event does to the things that the rules are about.
#[derive(Debug, Clone)]
pub(super) enum Action<'e> {
    RunStarted {
        history: &'e [Value],
    },
    RunFinished,
    RunError,
    OpenMessage {
        id: Cow<'e, str>,
    },
    ContinueMessage {
        id: Cow<'e, str>,
    },
    CloseMessage {
        id: Cow<'e, str>,
    },
    OpenToolCall {
        id: Cow<'e, str>,
        parent: Option<&'e str>,
    },
    ContinueToolCall {
        id: Cow<'e, str>,
    },
    CloseToolCall {
        id: Cow<'e, str>,
    },
    ToolResult {
        message_id: &'e str,
    },
    StartStep {
        name: &'e str,
    },
    FinishStep {
        name: &'e str,
    },
    ReplaceActivity {
        id: &'e str,
    },
    KeepActivity {
        id: &'e str,
    },
    ContinueActivity {
        id: &'e str,
    },
    OpenReasoning {
        id: Cow<'e, str>,
    },
    ContinueReasoning {
        id: Cow<'e, str>,
    },
    EncryptToolCall {
        id: &'e str,
    },
    EncryptMessage {
        id: &'e str,
    },
    StartSubagent {
        parent: Option<&'e str>,
    },
    CloseSubagent,
    ReplaceHistory {
        messages: &'e [Value],
    },
    Thinking,
    Chunk(Chunk<'e>),
    /// Concerns no rule but those about the run as a whole.
    Other,
}

/// A `*_CHUNK` event.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chunk<'e> {
    pub(super) kind: ChunkKind,
    pub(super) id: Option<&'e str>,
    /// Of Tool calls only.
    pub(super) name: Option<&'e str>,
    /// Of Tool calls only.
    pub(super) parent: Option<&'e str>,
    /// Whether it becomes a content event when it continues something.
    pub(super) payload: Payload,
}

/// What a chunk carries beside names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Payload {
    Delta,
    Metadata,
    Nothing,
}

/// An event, reduced.
#[derive(Debug, Clone)]
pub(super) struct Step<'e> {
    pub(super) event_type: EventType,
    /// `subagentRunId`; absent for the parent agent.
    pub(super) tag: Option<Cow<'e, str>>,
    /// An untyped `subagentRunId` that is `null`, on events whose schema does not mention it.
    pub(super) null_tag: bool,
    pub(super) action: Action<'e>,
}

impl<'e> Step<'e> {
    /// Reduces an event; `None` when it is none. Expects that the schema has been checked.
    pub(super) fn of(event: &'e Value) -> Option<Self> {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        let event_type = EventType::from_name(text("type")?)?;
        Some(Self {
            event_type,
            tag: text("subagentRunId").map(Cow::Borrowed),
            null_tag: event.get("subagentRunId").is_some_and(Value::is_null),
            action: Action::of(event, event_type)?,
        })
    }
}

impl<'e> Action<'e> {
    fn of(event: &'e Value, event_type: EventType) -> Option<Self> {
        use EventType as T;
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        let id = |name: &str| text(name).map(Cow::Borrowed);
        let messages = |value: Option<&'e Value>| {
            value
                .and_then(Value::as_array)
                .map_or(&[][..], Vec::as_slice)
        };
        Some(match event_type {
            T::RunStarted => Self::RunStarted {
                history: messages(event.get("input").and_then(|input| input.get("messages"))),
            },
            T::RunFinished => Self::RunFinished,
            T::RunError => Self::RunError,
            T::TextMessageStart => Self::OpenMessage {
                id: id("messageId")?,
            },
            T::TextMessageContent => Self::ContinueMessage {
                id: id("messageId")?,
            },
            T::TextMessageEnd => Self::CloseMessage {
                id: id("messageId")?,
            },
            T::ToolCallStart => Self::OpenToolCall {
                id: id("toolCallId")?,
                parent: text("parentMessageId"),
            },
            T::ToolCallArgs => Self::ContinueToolCall {
                id: id("toolCallId")?,
            },
            T::ToolCallEnd => Self::CloseToolCall {
                id: id("toolCallId")?,
            },
            T::ToolCallResult => Self::ToolResult {
                message_id: text("messageId")?,
            },
            T::StepStarted => Self::StartStep {
                name: text("stepName")?,
            },
            T::StepFinished => Self::FinishStep {
                name: text("stepName")?,
            },
            T::ActivitySnapshot if event.get("replace").and_then(Value::as_bool) == Some(false) => {
                Self::KeepActivity {
                    id: text("messageId")?,
                }
            }
            T::ActivitySnapshot => Self::ReplaceActivity {
                id: text("messageId")?,
            },
            T::ActivityDelta => Self::ContinueActivity {
                id: text("messageId")?,
            },
            T::ReasoningStart | T::ReasoningMessageStart => Self::OpenReasoning {
                id: id("messageId")?,
            },
            T::ReasoningMessageContent | T::ReasoningMessageEnd | T::ReasoningEnd => {
                Self::ContinueReasoning {
                    id: id("messageId")?,
                }
            }
            T::ReasoningEncryptedValue if text("subtype") == Some("tool-call") => {
                Self::EncryptToolCall {
                    id: text("entityId")?,
                }
            }
            T::ReasoningEncryptedValue => Self::EncryptMessage {
                id: text("entityId")?,
            },
            T::SubagentStarted => Self::StartSubagent {
                parent: text("parentSubagentRunId"),
            },
            T::SubagentFinished | T::SubagentError => Self::CloseSubagent,
            T::MessagesSnapshot => Self::ReplaceHistory {
                messages: messages(event.get("messages")),
            },
            T::ThinkingStart
            | T::ThinkingEnd
            | T::ThinkingTextMessageStart
            | T::ThinkingTextMessageContent
            | T::ThinkingTextMessageEnd => Self::Thinking,
            T::TextMessageChunk => Self::Chunk(Chunk::of(event, ChunkKind::Text, "messageId")),
            T::ToolCallChunk => Self::Chunk(Chunk::of(event, ChunkKind::Tool, "toolCallId")),
            T::ReasoningMessageChunk => {
                Self::Chunk(Chunk::of(event, ChunkKind::Reasoning, "messageId"))
            }
            T::StateSnapshot | T::StateDelta | T::Custom | T::Raw => Self::Other,
        })
    }
}

impl<'e> Chunk<'e> {
    fn of(event: &'e Value, kind: ChunkKind, id: &str) -> Self {
        let text = |name: &str| event.get(name).and_then(Value::as_str);
        Self {
            kind,
            id: text(id),
            name: text("toolCallName"),
            parent: text("parentMessageId"),
            payload: if event.get("delta").is_some() {
                Payload::Delta
            } else if event.get("metadata").is_some() {
                Payload::Metadata
            } else {
                Payload::Nothing
            },
        }
    }
}
