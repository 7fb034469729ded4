//! The JSON of events: `type` first, then the common members, then those of the type.

use super::{
    ActivityMode, EncryptedTarget, Event, Interrupt, Interrupts, Outcome, SubagentOutcome, Tags,
};
use crate::agui::EventType;
use crate::agui::json::{Json, ObjectWriter, write_array, write_string};

impl Event<'_> {
    /// The type on the wire.
    #[must_use]
    pub const fn event_type(&self) -> EventType {
        match self {
            Self::RunStarted { .. } => EventType::RunStarted,
            Self::RunFinished { .. } => EventType::RunFinished,
            Self::RunError { .. } => EventType::RunError,
            Self::StepStarted { .. } => EventType::StepStarted,
            Self::StepFinished { .. } => EventType::StepFinished,
            Self::TextMessageStart { .. } => EventType::TextMessageStart,
            Self::TextMessageContent { .. } => EventType::TextMessageContent,
            Self::TextMessageEnd { .. } => EventType::TextMessageEnd,
            Self::ToolCallStart { .. } => EventType::ToolCallStart,
            Self::ToolCallArgs { .. } => EventType::ToolCallArgs,
            Self::ToolCallEnd { .. } => EventType::ToolCallEnd,
            Self::ToolCallResult { .. } => EventType::ToolCallResult,
            Self::StateSnapshot { .. } => EventType::StateSnapshot,
            Self::StateDelta { .. } => EventType::StateDelta,
            Self::MessagesSnapshot { .. } => EventType::MessagesSnapshot,
            Self::ActivitySnapshot { .. } => EventType::ActivitySnapshot,
            Self::ActivityDelta { .. } => EventType::ActivityDelta,
            Self::Custom { .. } => EventType::Custom,
            Self::Raw { .. } => EventType::Raw,
            Self::ReasoningStart { .. } => EventType::ReasoningStart,
            Self::ReasoningMessageStart { .. } => EventType::ReasoningMessageStart,
            Self::ReasoningMessageContent { .. } => EventType::ReasoningMessageContent,
            Self::ReasoningMessageEnd { .. } => EventType::ReasoningMessageEnd,
            Self::ReasoningEnd { .. } => EventType::ReasoningEnd,
            Self::ReasoningEncryptedValue { .. } => EventType::ReasoningEncryptedValue,
            Self::SubagentStarted { .. } => EventType::SubagentStarted,
            Self::SubagentFinished { .. } => EventType::SubagentFinished,
            Self::SubagentError { .. } => EventType::SubagentError,
        }
    }

    /// Appends the JSON of the event.
    pub fn write_json(&self, out: &mut String) {
        self.write_json_tagged(&Tags::default(), out);
    }

    /// Appends the JSON of the event with optional common members.
    pub fn write_json_tagged(&self, tags: &Tags<'_>, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.string("type", self.event_type().as_str());
        if let Some(timestamp) = tags.timestamp {
            object.key("timestamp").push_str(&timestamp.to_string());
        }
        object.json_if("rawEvent", tags.raw_event);
        object.json_if("metadata", tags.metadata);
        object.string_if("subagentRunId", tags.subagent_run_id);
        self.write_members(&mut object);
        object.close();
    }

    /// The JSON of the event.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut out = String::with_capacity(128);
        self.write_json(&mut out);
        out
    }

    fn write_members(&self, object: &mut ObjectWriter<'_>) {
        match *self {
            Self::RunStarted {
                thread_id,
                run_id,
                parent_run_id,
                protocol_version,
            } => {
                object.string("threadId", thread_id);
                object.string("runId", run_id);
                object.string_if("parentRunId", parent_run_id);
                object.string_if("protocolVersion", protocol_version);
            }
            Self::RunFinished {
                thread_id,
                run_id,
                outcome,
                result,
            } => {
                object.string("threadId", thread_id);
                object.string("runId", run_id);
                object.json_if("result", result);
                if let Some(outcome) = outcome {
                    outcome.write_json(object.key("outcome"));
                }
            }
            Self::RunError {
                message,
                code,
                thread_id,
                run_id,
            } => {
                object.string("message", message);
                object.string_if("code", code);
                object.string_if("threadId", thread_id);
                object.string_if("runId", run_id);
            }
            Self::StepStarted { step_name } | Self::StepFinished { step_name } => {
                object.string("stepName", step_name)
            }
            Self::TextMessageStart {
                message_id,
                role,
                name,
            } => {
                object.string("messageId", message_id);
                object.string("role", role.as_str());
                object.string_if("name", name);
            }
            Self::TextMessageContent { message_id, delta }
            | Self::ReasoningMessageContent { message_id, delta } => {
                object.string("messageId", message_id);
                object.string("delta", delta);
            }
            Self::TextMessageEnd { message_id }
            | Self::ReasoningStart { message_id }
            | Self::ReasoningMessageEnd { message_id }
            | Self::ReasoningEnd { message_id } => object.string("messageId", message_id),
            Self::ReasoningMessageStart { message_id } => {
                object.string("messageId", message_id);
                object.string("role", "reasoning");
            }
            Self::ToolCallStart {
                tool_call_id,
                tool_call_name,
                parent_message_id,
            } => {
                object.string("toolCallId", tool_call_id);
                object.string("toolCallName", tool_call_name);
                object.string_if("parentMessageId", parent_message_id);
            }
            Self::ToolCallArgs {
                tool_call_id,
                delta,
            } => {
                object.string("toolCallId", tool_call_id);
                object.string("delta", delta);
            }
            Self::ToolCallEnd { tool_call_id } => object.string("toolCallId", tool_call_id),
            Self::ToolCallResult {
                message_id,
                tool_call_id,
                content,
            } => {
                object.string("messageId", message_id);
                object.string("toolCallId", tool_call_id);
                object.string("content", content);
                object.string("role", "tool");
            }
            Self::StateSnapshot { snapshot } => object.json("snapshot", snapshot),
            Self::StateDelta { delta } => object.json("delta", delta),
            Self::MessagesSnapshot { messages } => {
                write_array(messages, object.key("messages"), |message, out| {
                    out.push_str(message.as_str())
                });
            }
            Self::ActivitySnapshot {
                message_id,
                activity_type,
                content,
                mode,
            } => {
                object.string("messageId", message_id);
                object.string("activityType", activity_type);
                object.json("content", content);
                if mode == ActivityMode::KeepExisting {
                    object.json("replace", Json::encoded("false"));
                }
            }
            Self::ActivityDelta {
                message_id,
                activity_type,
                patch,
            } => {
                object.string("messageId", message_id);
                object.string("activityType", activity_type);
                object.json("patch", patch);
            }
            Self::Custom { name, value } => {
                object.string("name", name);
                object.json("value", value);
            }
            Self::Raw { event, source } => {
                object.json("event", event);
                object.string_if("source", source);
            }
            Self::ReasoningEncryptedValue {
                target,
                encrypted_value,
            } => {
                let (subtype, entity) = match target {
                    EncryptedTarget::ToolCall(id) => ("tool-call", id),
                    EncryptedTarget::Message(id) => ("message", id),
                };
                object.string("subtype", subtype);
                object.string("entityId", entity);
                object.string("encryptedValue", encrypted_value);
            }
            Self::SubagentStarted {
                subagent_run_id,
                name,
                description,
                parent_subagent_run_id,
                parent_tool_call_id,
                parent_message_id,
            } => {
                object.string("subagentRunId", subagent_run_id);
                object.string("name", name);
                object.string_if("description", description);
                object.string_if("parentSubagentRunId", parent_subagent_run_id);
                object.string_if("parentToolCallId", parent_tool_call_id);
                object.string_if("parentMessageId", parent_message_id);
            }
            Self::SubagentFinished {
                subagent_run_id,
                result,
                outcome,
            } => {
                object.string("subagentRunId", subagent_run_id);
                object.json_if("result", result);
                if let Some(outcome) = outcome {
                    outcome.write_json(object.key("outcome"));
                }
            }
            Self::SubagentError {
                subagent_run_id,
                message,
                code,
            } => {
                object.string("subagentRunId", subagent_run_id);
                object.string("message", message);
                object.string_if("code", code);
            }
        }
    }
}

impl Outcome<'_> {
    fn write_json(self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        match self {
            Self::Success {
                pending_tool_call_ids,
            } => {
                object.string("type", "success");
                write_ids(&mut object, "pendingToolCallIds", pending_tool_call_ids);
            }
            Self::Interrupt(Interrupts(interrupts)) => {
                object.string("type", "interrupt");
                write_array(interrupts, object.key("interrupts"), Interrupt::write_json);
            }
        }
        object.close();
    }
}

impl Interrupt<'_> {
    /// Appends the JSON of the interrupt.
    pub fn write_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        object.string("id", self.id);
        object.string("reason", self.reason);
        object.string_if("message", self.message);
        object.string_if("toolCallId", self.tool_call_id);
        object.json_if("responseSchema", self.response_schema);
        object.string_if("expiresAt", self.expires_at);
        object.json_if("metadata", self.metadata);
        object.string_if("subagentRunId", self.subagent_run_id);
        object.close();
    }
}

impl SubagentOutcome<'_> {
    fn write_json(self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        match self {
            Self::Success => object.string("type", "success"),
            Self::Suspended { interrupt_ids } => {
                object.string("type", "suspended");
                write_ids(&mut object, "interruptIds", interrupt_ids);
            }
        }
        object.close();
    }
}

/// A list of ids, where there are any.
fn write_ids(object: &mut ObjectWriter<'_>, name: &'static str, ids: &[&str]) {
    if !ids.is_empty() {
        write_array(ids, object.key(name), |id, out| write_string(id, out));
    }
}
