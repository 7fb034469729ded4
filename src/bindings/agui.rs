//! AG-UI requests and streams as JavaScript sees them.

mod types;

use napi::bindgen_prelude::{
    Env, Function, JsObjectValue, JsValue, Object, ToNapiValue, TypeName, Unknown, sys,
};
use napi::{Error, Status, ValueType};
use napi_derive::napi;

use crate::agui::surrogate::replace_lone_surrogates;
use crate::agui::{InputError, RunAgentInput};

/// Code of the error for a body that is not a `RunAgentInput`.
const INVALID_AGUI_INPUT: &str = "INVALID_AGUI_INPUT";

/// Code of the error for a text that is not the JSON of an array of events.
const INVALID_EVENT_STREAM: &str = "INVALID_EVENT_STREAM";

/// The normalised input as JSON text, or why there is none; becomes an object or a thrown `Error` on its way
/// to JavaScript.
pub struct ParsedInput(Result<String, InputError>);

/// One issue of a request.
#[napi(object, object_from_js = false)]
pub struct AgUiIssue {
    /// Like `messages.0.content`; empty for the document as a whole.
    pub path: String,
    /// Never quotes the input.
    pub message: String,
}

/// The first violation of a stream.
#[napi(object, object_from_js = false)]
pub struct AgUiStreamViolation {
    /// Position of the event, from 0; the number of events when the terminal event is missing.
    pub index: u32,
    /// Name of the rule.
    #[napi(
        ts_type = "'invalid-event' | 'first-event' | 'run-active' | 'after-run-finished' | 'after-run-error' | 'missing-terminal' | 'message-open' | 'message-not-open' | 'tool-call-open' | 'tool-call-not-open' | 'step-open' | 'step-not-open' | 'unfinished-steps' | 'unfinished-messages' | 'unfinished-tool-calls' | 'unfinished-subagents' | 'subagent-active' | 'subagent-reused' | 'subagent-not-active' | 'unknown-parent-subagent' | 'subagent-mismatch' | 'incomplete-chunk' | 'ambiguous-chunk' | 'thinking-order'"
    )]
    pub rule: String,
    /// In the wording of the official client where it has one.
    pub message: String,
}

/// Reads a run request as the gateway does: the official 0.0.59 schema, more lenient where that is
/// unambiguous (missing `tools` and `context`, `null` for an optional member, shapes of 1.0). Returns the
/// normalised input: known members only, no `null` for absent ones, a `null` state left out, unpaired
/// surrogates replaced by U+FFFD.
///
/// Throws an `Error` with `code` `'INVALID_AGUI_INPUT'` and `issues: AgUiIssue[]`.
#[napi(catch_unwind, ts_return_type = "AgUiRunAgentInput")]
pub fn parse_run_agent_input(body: &[u8]) -> ParsedInput {
    let body = replace_lone_surrogates(body);
    ParsedInput(RunAgentInput::parse(&body).map(|input| input.to_json()))
}

/// Checks a whole stream, given as the JSON of an array of events, against the schema and the sequence rules
/// of the official client 0.0.59, and for a terminal event at its end (`missing-terminal`). Returns the first
/// violation, or `null`.
///
/// Throws an `Error` with `code` `'INVALID_EVENT_STREAM'` when the text is not the JSON of an array.
#[napi(catch_unwind)]
pub fn check_event_stream(
    events_json: String,
) -> napi::Result<Option<AgUiStreamViolation>, &'static str> {
    let violation = crate::agui::check_event_stream(&events_json).map_err(|error| {
        Error::new(
            INVALID_EVENT_STREAM,
            format!("Not the JSON of an array: {error}"),
        )
    })?;
    Ok(violation.map(|violation| AgUiStreamViolation {
        index: u32::try_from(violation.index).unwrap_or(u32::MAX),
        rule: violation.rule.as_str().to_owned(),
        message: violation.message,
    }))
}

impl TypeName for ParsedInput {
    fn type_name() -> &'static str {
        "AgUiRunAgentInput"
    }

    fn value_type() -> ValueType {
        ValueType::Object
    }
}

impl ToNapiValue for ParsedInput {
    unsafe fn to_napi_value(raw: sys::napi_env, value: Self) -> napi::Result<sys::napi_value> {
        let env = Env::from_raw(raw);
        match value.0 {
            Ok(json) => parse_json(&env, &json),
            Err(error) => Err(invalid_input(&env, &error)?),
        }
    }
}

/// `JSON.parse` of the isolate: numbers beyond 2^53 and members named `__proto__` come out as in any other
/// JavaScript program.
fn parse_json(env: &Env, json: &str) -> napi::Result<sys::napi_value> {
    let parse: Function<&str, Unknown> = env
        .get_global()?
        .get_named_property::<Object>("JSON")?
        .get_named_property("parse")?;
    Ok(parse.call(json)?.raw())
}

/// The `Error` to throw.
fn invalid_input(env: &Env, error: &InputError) -> napi::Result<Error> {
    let issues: Vec<AgUiIssue> = error
        .issues
        .iter()
        .map(|issue| AgUiIssue {
            path: issue.path.to_string(),
            message: issue.message.clone(),
        })
        .collect();
    let mut thrown = env.create_error(Error::new(Status::InvalidArg, error.to_string()))?;
    thrown.set("code", INVALID_AGUI_INPUT)?;
    thrown.set("issues", issues)?;
    Ok(Error::from(thrown.to_unknown()))
}

#[cfg(test)]
mod tests {
    use crate::agui::Rule;

    /// The union is spelled out for TypeScript; it must name every rule.
    #[test]
    fn the_declared_rules_are_all_rules() {
        let declarations = include_str!("../../index.d.ts");
        let (_, rest) = declarations
            .split_once("interface AgUiStreamViolation")
            .unwrap_or_default();
        let (_, rest) = rest.split_once("  rule: ").unwrap_or_default();
        let (union, _) = rest.split_once('\n').unwrap_or_default();
        let rules: Vec<String> = Rule::ALL.iter().map(|rule| format!("'{rule}'")).collect();
        assert_eq!(union, rules.join(" | "));
    }
}
