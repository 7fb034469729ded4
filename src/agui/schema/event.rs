//! The events of 0.0.59. Unknown members of the event itself pass; the `outcome` unions are strict.

use serde_json::Value;

use super::report::{Members, Report};
use super::request;
use crate::agui::EventType;

pub(super) fn event(report: &mut Report, value: &Value) {
    let Some(event) = report.object(value) else {
        return;
    };
    let Some(event_type) = event
        .get("type")
        .and_then(Value::as_str)
        .and_then(EventType::from_name)
    else {
        return report.discriminator("type", &EventType::ALL.map(EventType::as_str));
    };
    report.number_if(event, "timestamp");
    report.object_if(event, "metadata");
    members(report, event_type, event);
    if allows_attribution(event_type) {
        report.string_if(event, "subagentRunId");
    }
}

/// Whether `subagentRunId` is a common optional member of the type. Subagent events require it; the others
/// let any value pass.
fn allows_attribution(event_type: EventType) -> bool {
    use EventType as T;
    !matches!(
        event_type,
        T::RunStarted
            | T::RunFinished
            | T::RunError
            | T::MessagesSnapshot
            | T::ThinkingStart
            | T::ThinkingEnd
            | T::ThinkingTextMessageStart
            | T::ThinkingTextMessageContent
            | T::ThinkingTextMessageEnd
            | T::SubagentStarted
            | T::SubagentFinished
            | T::SubagentError
    )
}

fn members(report: &mut Report, event_type: EventType, event: &Members) {
    use EventType as T;
    match event_type {
        T::RunStarted => {
            report.string(event, "threadId");
            report.string(event, "runId");
            report.string_if(event, "parentRunId");
            if let Some(input) = event.get("input") {
                report.at("input", |report| request::run_agent_input(report, input));
            }
        }
        T::RunFinished => {
            report.string(event, "threadId");
            report.string(event, "runId");
            if let Some(outcome) = event.get("outcome").filter(|outcome| !outcome.is_null()) {
                report.at("outcome", |report| run_outcome(report, outcome));
            }
            report.array_if(event, "usage", usage);
        }
        T::RunError => {
            report.string(event, "message");
            report.string_if(event, "code");
            report.array_if(event, "usage", usage);
        }
        T::StepStarted | T::StepFinished => report.string(event, "stepName"),
        T::TextMessageStart => {
            report.string(event, "messageId");
            text_role_if(report, event);
            report.string_if(event, "name");
        }
        T::TextMessageContent | T::ReasoningMessageContent => {
            report.string(event, "messageId");
            report.string(event, "delta");
        }
        T::TextMessageEnd | T::ReasoningStart | T::ReasoningMessageEnd | T::ReasoningEnd => {
            report.string(event, "messageId")
        }
        T::TextMessageChunk => {
            report.string_if(event, "messageId");
            text_role_if(report, event);
            report.string_if(event, "delta");
            report.string_if(event, "name");
        }
        T::ToolCallStart => {
            report.string(event, "toolCallId");
            report.string(event, "toolCallName");
            parent_message_if(report, event);
        }
        T::ToolCallArgs => {
            report.string(event, "toolCallId");
            report.string(event, "delta");
        }
        T::ToolCallEnd => report.string(event, "toolCallId"),
        T::ToolCallResult => {
            report.string(event, "messageId");
            report.string(event, "toolCallId");
            report.string(event, "content");
            if event.contains_key("role") {
                report.literal(event, "role", "tool");
            }
        }
        T::ToolCallChunk => {
            report.string_if(event, "toolCallId");
            report.string_if(event, "toolCallName");
            parent_message_if(report, event);
            report.string_if(event, "delta");
        }
        T::StateSnapshot
        | T::ThinkingEnd
        | T::ThinkingTextMessageStart
        | T::ThinkingTextMessageEnd => {}
        T::StateDelta => report.array(event, "delta", |_, _| {}),
        T::MessagesSnapshot => report.array(event, "messages", request::message),
        T::ActivitySnapshot => {
            report.string(event, "messageId");
            report.string(event, "activityType");
            report.object_member(event, "content");
            report.boolean_if(event, "replace");
        }
        T::ActivityDelta => {
            report.string(event, "messageId");
            report.string(event, "activityType");
            report.array(event, "patch", |_, _| {});
        }
        T::Custom => report.string(event, "name"),
        T::Raw => report.string_if(event, "source"),
        T::ReasoningMessageStart => {
            report.string(event, "messageId");
            report.literal(event, "role", "reasoning");
        }
        T::ReasoningMessageChunk => {
            report.string_if(event, "messageId");
            report.string_if(event, "delta");
        }
        T::ReasoningEncryptedValue => {
            if !matches!(
                event.get("subtype").and_then(Value::as_str),
                Some("tool-call" | "message")
            ) {
                report.at("subtype", |report| report.issue("Invalid input"));
            }
            report.string(event, "entityId");
            report.string(event, "encryptedValue");
        }
        T::ThinkingStart => report.string_if(event, "title"),
        T::ThinkingTextMessageContent => report.string(event, "delta"),
        T::SubagentStarted => {
            report.string(event, "subagentRunId");
            report.string(event, "name");
            report.string_if(event, "description");
            report.string_if(event, "parentSubagentRunId");
            report.string_if(event, "parentToolCallId");
            report.string_if(event, "parentMessageId");
        }
        T::SubagentFinished => {
            report.string(event, "subagentRunId");
            if let Some(outcome) = event.get("outcome") {
                report.at("outcome", |report| subagent_outcome(report, outcome));
            }
        }
        T::SubagentError => {
            report.string(event, "subagentRunId");
            report.string(event, "message");
            report.string_if(event, "code");
        }
    }
}

fn text_role_if(report: &mut Report, event: &Members) {
    let fits = |role: &Value| {
        matches!(
            role.as_str(),
            Some("developer" | "system" | "assistant" | "user")
        )
    };
    if !event.get("role").is_none_or(fits) {
        report.at("role", |report| report.issue("Invalid input"));
    }
}

/// One of the few members whose `null` 0.0.59 reads as absent.
fn parent_message_if(report: &mut Report, event: &Members) {
    if !event.get("parentMessageId").is_none_or(Value::is_null) {
        report.string_if(event, "parentMessageId");
    }
}

fn run_outcome(report: &mut Report, value: &Value) {
    let Some(outcome) = report.object(value) else {
        return;
    };
    match outcome.get("type").and_then(Value::as_str) {
        Some("success") => report.no_others(outcome, &["type"]),
        Some("interrupt") => {
            report.no_others(outcome, &["type", "interrupts"]);
            report.array(outcome, "interrupts", interrupt);
            if outcome
                .get("interrupts")
                .and_then(Value::as_array)
                .is_some_and(Vec::is_empty)
            {
                report.at("interrupts", |report| {
                    report.issue("Array must contain at least 1 element(s)")
                });
            }
        }
        _ => report.discriminator("type", &["success", "interrupt"]),
    }
}

fn interrupt(report: &mut Report, value: &Value) {
    let Some(interrupt) = report.object(value) else {
        return;
    };
    report.string(interrupt, "id");
    report.string(interrupt, "reason");
    report.string_if(interrupt, "message");
    report.string_if(interrupt, "toolCallId");
    report.object_if(interrupt, "responseSchema");
    report.string_if(interrupt, "expiresAt");
    report.object_if(interrupt, "metadata");
    report.string_if(interrupt, "subagentRunId");
}

fn subagent_outcome(report: &mut Report, value: &Value) {
    let Some(outcome) = report.object(value) else {
        return;
    };
    match outcome.get("type").and_then(Value::as_str) {
        Some("success") => report.no_others(outcome, &["type"]),
        Some("suspended") => {
            report.no_others(outcome, &["type", "interruptIds"]);
            report.array_if(outcome, "interruptIds", |report, id| {
                if !id.is_string() {
                    report.expected("string", Some(id));
                }
            });
        }
        _ => report.discriminator("type", &["success", "suspended"]),
    }
}

fn usage(report: &mut Report, value: &Value) {
    let Some(usage) = report.object(value) else {
        return;
    };
    report.string_if(usage, "provider");
    report.string_if(usage, "model");
    for name in [
        "inputTokens",
        "outputTokens",
        "totalTokens",
        "reasoningTokens",
        "cachedInputTokens",
    ] {
        let Some(count) = usage.get(name) else {
            continue;
        };
        report.at(name, |report| match count.as_f64() {
            None => report.expected("number", Some(count)),
            Some(number) => {
                if number.fract() != 0.0 {
                    report.issue("Expected integer, received float");
                }
                if number < 0.0 {
                    report.issue("Number must be greater than or equal to 0");
                }
            }
        });
    }
}
