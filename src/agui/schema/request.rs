//! `RunAgentInput` and its messages. In the gateway's dialect this must accept exactly what the reader in
//! `agui::request` accepts; a property test compares the two.

use serde_json::Value;

use super::report::{Dialect, Members, Report};
use crate::agui::Role;

const ROLES: [&str; 7] = [
    "developer",
    "system",
    "assistant",
    "user",
    "tool",
    "activity",
    "reasoning",
];

pub(super) fn run_agent_input(report: &mut Report, value: &Value) {
    let Some(input) = report.object(value) else {
        return;
    };
    report.string(input, "threadId");
    report.string(input, "runId");
    report.string_if(input, "parentRunId");
    report.array(input, "messages", message);
    match report.dialect() {
        Dialect::Official => {
            report.array(input, "tools", tool);
            report.array(input, "context", context);
        }
        Dialect::Gateway => {
            report.array_if(input, "tools", tool);
            report.array_if(input, "context", context);
        }
    }
    report.array_if(input, "resume", resume);
}

fn tool(report: &mut Report, value: &Value) {
    let Some(tool) = report.object(value) else {
        return;
    };
    report.string(tool, "name");
    report.string(tool, "description");
    report.object_if(tool, "metadata");
}

fn context(report: &mut Report, value: &Value) {
    let Some(context) = report.object(value) else {
        return;
    };
    report.string(context, "description");
    report.string(context, "value");
}

fn resume(report: &mut Report, value: &Value) {
    let Some(resume) = report.object(value) else {
        return;
    };
    report.string(resume, "interruptId");
    match resume.get("status") {
        Some(Value::String(status)) if status == "resolved" || status == "cancelled" => {}
        Some(Value::String(_)) => {
            report.at("status", |report| {
                report.issue("Invalid enum value. Expected 'resolved' | 'cancelled'")
            });
        }
        other => report.at("status", |report| {
            report.expected("'resolved' | 'cancelled'", other)
        }),
    }
    report.object_if(resume, "metadata");
}

pub(super) fn message(report: &mut Report, value: &Value) {
    let Some(message) = report.object(value) else {
        return;
    };
    let Some(role) = message
        .get("role")
        .and_then(Value::as_str)
        .and_then(Role::from_name)
    else {
        return report.discriminator("role", &ROLES);
    };
    report.string(message, "id");
    match role {
        Role::Developer | Role::System => {
            report.string(message, "content");
            report.string_if(message, "name");
        }
        Role::Assistant => {
            report.string_if(message, "content");
            report.string_if(message, "name");
        }
        Role::User => {
            text_or_parts(report, message);
            report.string_if(message, "name");
        }
        Role::Tool => {
            match report.dialect() {
                Dialect::Official => report.string(message, "content"),
                Dialect::Gateway => text_or_parts(report, message),
            }
            report.string(message, "toolCallId");
            report.string_if(message, "error");
        }
        Role::Activity => {
            report.string(message, "activityType");
            report.object_member(message, "content");
        }
        Role::Reasoning => report.string(message, "content"),
    }
    if role != Role::Activity {
        report.string_if(message, "encryptedValue");
    }
    report.string_if(message, "subagentRunId");
    report.object_if(message, "metadata");
    if role == Role::Assistant {
        report.array_if(message, "toolCalls", tool_call);
    }
}

fn tool_call(report: &mut Report, value: &Value) {
    let Some(call) = report.object(value) else {
        return;
    };
    report.string(call, "id");
    report.literal(call, "type", "function");
    match call.get("function") {
        Some(Value::Object(function)) => report.at("function", |report| {
            report.string(function, "name");
            report.string(function, "arguments");
        }),
        other => report.at("function", |report| report.expected("object", other)),
    }
    report.string_if(call, "encryptedValue");
    report.object_if(call, "metadata");
}

/// What the schema makes of a content part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Fits,
    /// A binary part without a place for its bytes: all types are right, so the official schema names the part.
    Empty,
    Misfits,
}

/// The content of user messages is a union. Issues inside a part are not told: a part that does not fit makes
/// the whole content not fit.
fn text_or_parts(report: &mut Report, message: &Members) {
    let parts: Vec<Part> = match message.get("content") {
        Some(Value::String(_)) => return,
        Some(Value::Array(parts)) => parts.iter().map(|value| part(report, value)).collect(),
        _ => vec![Part::Misfits],
    };
    report.at("content", |report| {
        if parts.contains(&Part::Misfits) {
            return report.issue("Invalid input");
        }
        for (index, _) in parts
            .iter()
            .enumerate()
            .filter(|(_, part)| **part == Part::Empty)
        {
            report.at(index, |report| {
                report.at("id", |report| {
                    report.issue("BinaryInputContent requires at least one of id, url, or data.");
                });
            });
        }
    });
}

fn part(report: &Report, value: &Value) -> Part {
    let text = |members: &Members, name: &str| members.get(name).is_some_and(Value::is_string);
    let text_if =
        |members: &Members, name: &str| report.optional(members, name).is_none_or(Value::is_string);
    let Some(part) = value.as_object() else {
        return Part::Misfits;
    };
    let fits = match part.get("type").and_then(Value::as_str) {
        Some("text") => text(part, "text"),
        Some("image" | "audio" | "video" | "document") => part
            .get("source")
            .and_then(Value::as_object)
            .is_some_and(|source| {
                text(source, "value")
                    && match source.get("type").and_then(Value::as_str) {
                        Some("data") => text(source, "mimeType"),
                        Some("url") => text_if(source, "mimeType"),
                        Some("file") if report.dialect() == Dialect::Gateway => {
                            text_if(source, "provider") && text_if(source, "mimeType")
                        }
                        _ => false,
                    }
            }),
        Some("binary") => {
            let fits = text(part, "mimeType")
                && ["id", "url", "data", "filename"]
                    .iter()
                    .all(|name| text_if(part, name));
            let filled = |name: &&str| {
                part.get(*name)
                    .and_then(Value::as_str)
                    .is_some_and(|text| !text.is_empty())
            };
            if fits && !["id", "url", "data"].iter().any(filled) {
                return Part::Empty;
            }
            fits
        }
        _ => false,
    };
    if fits { Part::Fits } else { Part::Misfits }
}
