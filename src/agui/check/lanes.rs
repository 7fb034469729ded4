//! Chunk expansion (`ag-ui.md` §3.2): `*_CHUNK` events become start, content and end of what they assemble.
//!
//! There is one lane a subagent, and one for the parent agent; a lane assembles at most one thing at a time.

use std::borrow::Cow;

use super::step::{Action, Chunk, ChunkKind, Payload, Step};
use super::{Broken, Rule};
use crate::agui::EventType;

/// What a lane is assembling.
#[derive(Debug)]
struct Open {
    owner: Option<String>,
    kind: ChunkKind,
    id: String,
}

/// The lanes that have something open, in the order in which they opened it.
#[derive(Debug, Default)]
pub(super) struct Lanes(Vec<Open>);

/// Which lanes an event ends before it takes effect.
enum Ends {
    Nothing,
    OwnLane,
    AllLanes,
}

impl Lanes {
    /// The steps that the event stands for.
    pub(super) fn expand<'e>(&mut self, step: Step<'e>) -> Result<Vec<Step<'e>>, Broken> {
        if let Action::Chunk(chunk) = step.action {
            return self.chunk(&step, chunk);
        }
        let mut steps = match ends(step.event_type) {
            Ends::Nothing => Vec::new(),
            Ends::OwnLane => self.close(step.tag.as_deref()).into_iter().collect(),
            Ends::AllLanes => std::mem::take(&mut self.0)
                .into_iter()
                .map(Open::into_close)
                .collect(),
        };
        steps.push(step);
        Ok(steps)
    }

    fn close(&mut self, owner: Option<&str>) -> Option<Step<'static>> {
        let position = self
            .0
            .iter()
            .position(|open| open.owner.as_deref() == owner)?;
        Some(self.0.remove(position).into_close())
    }

    fn chunk<'e>(&mut self, step: &Step<'e>, chunk: Chunk<'e>) -> Result<Vec<Step<'e>>, Broken> {
        let tag = step.tag.as_deref();
        if let Some(open) = self.continued(step.event_type, tag, chunk)? {
            return Ok(match chunk.payload {
                Payload::Nothing => Vec::new(),
                Payload::Delta | Payload::Metadata => vec![open.content()],
            });
        }
        let mut steps: Vec<Step<'e>> = self.close(tag).into_iter().collect();
        let missing = |member| {
            Broken::new(
                Rule::IncompleteChunk,
                format!("First {} must have a {member}", step.event_type.as_str()),
            )
        };
        let id = chunk.id.ok_or_else(|| missing(id_member(chunk.kind)))?;
        if chunk.kind == ChunkKind::Tool && chunk.name.is_none() {
            return Err(missing("toolCallName"));
        }
        let open = Open {
            owner: tag.map(str::to_owned),
            kind: chunk.kind,
            id: id.to_owned(),
        };
        steps.push(open.start(chunk.parent));
        if chunk.payload == Payload::Delta {
            steps.push(open.content());
        }
        self.0.push(open);
        Ok(steps)
    }

    /// What the chunk continues, if it does not begin something.
    fn continued(
        &self,
        event_type: EventType,
        tag: Option<&str>,
        chunk: Chunk<'_>,
    ) -> Result<Option<&Open>, Broken> {
        let of_kind = || self.0.iter().filter(|open| open.kind == chunk.kind);
        let own = |owner: Option<&str>| of_kind().find(|open| open.owner.as_deref() == owner);
        if let Some(id) = chunk.id {
            let holder = of_kind().find(|open| open.id == id);
            return match holder {
                Some(open) if tag.is_some() && tag != open.owner.as_deref() => Err(Broken::new(
                    Rule::SubagentMismatch,
                    format!(
                        "Cannot continue {} '{id}': chunk subagentRunId '{}' does not match the open stream's subagent '{}'.",
                        entity(chunk.kind),
                        tag.unwrap_or_default(),
                        open.owner.as_deref().unwrap_or("(the parent agent)"),
                    ),
                )),
                holder => Ok(holder),
            };
        }
        if tag.is_some() {
            return Ok(own(tag));
        }
        if let Some(open) = own(None) {
            return Ok(Some(open));
        }
        match of_kind().count() {
            0 | 1 => Ok(of_kind().next()),
            count => Err(Broken::new(
                Rule::AmbiguousChunk,
                format!(
                    "Ambiguous {}: it carries neither a {} nor a subagentRunId, but {count} lanes have an open {}. \
                     Attribute the chunk to the subagent it belongs to.",
                    event_type.as_str(),
                    id_member(chunk.kind),
                    entity(chunk.kind),
                ),
            )),
        }
    }
}

const fn id_member(kind: ChunkKind) -> &'static str {
    match kind {
        ChunkKind::Text | ChunkKind::Reasoning => "messageId",
        ChunkKind::Tool => "toolCallId",
    }
}

const fn entity(kind: ChunkKind) -> &'static str {
    match kind {
        ChunkKind::Text => "text message",
        ChunkKind::Tool => "tool call",
        ChunkKind::Reasoning => "reasoning message",
    }
}

impl Open {
    fn step<'e>(&self, event_type: EventType, action: Action<'e>) -> Step<'e> {
        Step {
            event_type,
            tag: self.owner.clone().map(Cow::Owned),
            null_tag: false,
            action,
        }
    }

    fn start<'e>(&self, parent: Option<&'e str>) -> Step<'e> {
        let id = Cow::Owned(self.id.clone());
        match self.kind {
            ChunkKind::Text => self.step(EventType::TextMessageStart, Action::OpenMessage { id }),
            ChunkKind::Tool => self.step(
                EventType::ToolCallStart,
                Action::OpenToolCall { id, parent },
            ),
            ChunkKind::Reasoning => self.step(
                EventType::ReasoningMessageStart,
                Action::OpenReasoning { id },
            ),
        }
    }

    fn content<'e>(&self) -> Step<'e> {
        let id = Cow::Owned(self.id.clone());
        match self.kind {
            ChunkKind::Text => self.step(
                EventType::TextMessageContent,
                Action::ContinueMessage { id },
            ),
            ChunkKind::Tool => self.step(EventType::ToolCallArgs, Action::ContinueToolCall { id }),
            ChunkKind::Reasoning => self.step(
                EventType::ReasoningMessageContent,
                Action::ContinueReasoning { id },
            ),
        }
    }

    fn into_close<'e>(self) -> Step<'e> {
        let id = Cow::Owned(self.id.clone());
        match self.kind {
            ChunkKind::Text => self.step(EventType::TextMessageEnd, Action::CloseMessage { id }),
            ChunkKind::Tool => self.step(EventType::ToolCallEnd, Action::CloseToolCall { id }),
            ChunkKind::Reasoning => self.step(
                EventType::ReasoningMessageEnd,
                Action::ContinueReasoning { id },
            ),
        }
    }
}

fn ends(event_type: EventType) -> Ends {
    use EventType as T;
    match event_type {
        T::RunStarted | T::RunFinished | T::RunError | T::MessagesSnapshot => Ends::AllLanes,
        T::Raw
        | T::ActivitySnapshot
        | T::ActivityDelta
        | T::ReasoningEncryptedValue
        | T::SubagentStarted => Ends::Nothing,
        // Chunks decide for themselves.
        T::TextMessageChunk | T::ToolCallChunk | T::ReasoningMessageChunk => Ends::Nothing,
        T::StepStarted
        | T::StepFinished
        | T::TextMessageStart
        | T::TextMessageContent
        | T::TextMessageEnd
        | T::ToolCallStart
        | T::ToolCallArgs
        | T::ToolCallEnd
        | T::ToolCallResult
        | T::StateSnapshot
        | T::StateDelta
        | T::Custom
        | T::ReasoningStart
        | T::ReasoningEnd
        | T::ReasoningMessageStart
        | T::ReasoningMessageContent
        | T::ReasoningMessageEnd
        | T::ThinkingStart
        | T::ThinkingEnd
        | T::ThinkingTextMessageStart
        | T::ThinkingTextMessageContent
        | T::ThinkingTextMessageEnd
        | T::SubagentFinished
        | T::SubagentError => Ends::OwnLane,
    }
}
