//! A2UI: the render Tool that the middleware injects, and what a person does on a rendered surface (spec: gateway,
//! AG-UI 客户端; G19).
//!
//! The official middleware reports an action twice: in `forwardedProps.a2uiAction`, and as a pair of synthetic messages
//! at the end of the history. Both must be there and agree; together they are one new message for the model.

use serde_json::{Map, Value};

use super::lossless::is_lossless;
use super::props::Props;
use crate::agui::{Content, Message, ToolMessage};
use crate::gateway::digest::{Digest, DigestKey};
use crate::gateway::effect::{CallOutcome, ContentBlock, HostMessage, MessageSource};
use crate::gateway::error::{Code, GatewayError};
use crate::projection::ACTION_FORM;

/// The call with which the middleware reports an action.
const ACTION_CALL: &str = "log_a2ui_event";
/// The middleware's own name of the render Tool.
const DEFAULT_RENDER_TOOL: &str = "render_a2ui";
/// The result of a render call: the browser renders from the arguments as they stream.
const RENDERED: &str = r#"{"status":"rendered"}"#;
/// Bytes of one text of an action.
const MAX_TEXT: usize = 1024;

/// What a person did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Action {
    /// Id of the synthetic result: names the action for ever.
    pub(crate) id: String,
    /// What the model reads: the middleware's sentence, and the whole action with its members in order.
    pub(crate) text: String,
}

/// An action that a thread has not seen.
#[derive(Debug)]
pub(crate) struct NewAction {
    pub(crate) action: Action,
    pub(crate) digest: Digest,
}

impl Action {
    /// Reads the action of a request, if it has one.
    ///
    /// # Errors
    /// `INVALID_A2UI_ACTION` for an envelope that is not the middleware's, or without the pair that belongs to it.
    pub(crate) fn read(
        props: &Props<'_>,
        messages: &[Message<'_>],
    ) -> Result<Option<Self>, GatewayError> {
        let Some(raw) = props.a2ui_action else {
            return Ok(None);
        };
        let envelope: Value =
            serde_json::from_str(raw.get()).map_err(|_| invalid("is not JSON that can be kept"))?;
        let action = user_action(&envelope).ok_or_else(|| {
            invalid(
                "must be {userAction: {name, surfaceId, sourceComponentId?, context?, timestamp?, dataContextPath?}}",
            )
        })?;
        let (id, sentence) = pair(action, messages).ok_or_else(|| {
            invalid("needs the middleware's matching pair of messages at the end")
        })?;
        // Members of a JSON value are ordered by name here.
        let json = serde_json::to_string(action).unwrap_or_default();
        Ok(Some(Self {
            id: id.into(),
            text: format!("{sentence}\n\n{json}"),
        }))
    }

    /// The message that tells the model.
    pub(crate) fn message(self) -> HostMessage {
        HostMessage {
            id: Some(self.id),
            content: vec![ContentBlock::Text { text: self.text }],
            receipts: Vec::new(),
            source: MessageSource::AgUi {
                form: ACTION_FORM,
                sections: Vec::new(),
            },
        }
    }
}

impl DigestKey {
    /// The digest of an action, equal live and from the log.
    pub(crate) fn action(self, text: &str) -> Digest {
        let mut digester = self.digester();
        digester.piece(b"a2ui-action");
        digester.piece(text.as_bytes());
        digester.finish()
    }
}

/// The browser Tool that the middleware renders by itself, where the request names one.
pub(crate) fn render_tool(props: &Props<'_>) -> Option<String> {
    match serde_json::from_str(props.inject_a2ui_tool?.get()) {
        Ok(Value::Bool(true)) => Some(DEFAULT_RENDER_TOOL.into()),
        Ok(Value::String(name)) if !name.is_empty() => Some(name),
        _ => None,
    }
}

/// Whether a Tool message is the middleware's own end of a render call.
pub(crate) fn is_rendered(message: &ToolMessage<'_>) -> bool {
    matches!(&message.content, Content::Text(text) if **text == *RENDERED)
}

/// The messages of a request with an action, without the pair at their end: that is no history.
pub(crate) fn without_pair<'m, 'a>(messages: &'m [Message<'a>]) -> &'m [Message<'a>] {
    &messages[..messages.len().saturating_sub(2)]
}

/// How a render call settles: nobody answers it.
pub(crate) fn rendered() -> CallOutcome {
    CallOutcome::Resolved {
        text: RENDERED.into(),
        meta: None,
    }
}

fn invalid(problem: &str) -> GatewayError {
    GatewayError::new(
        Code::InvalidA2uiAction,
        format!("forwardedProps.a2uiAction {problem}"),
    )
}

/// The action inside an envelope of exactly the known members.
fn user_action(envelope: &Value) -> Option<&Value> {
    let outer = envelope.as_object().filter(|outer| outer.len() == 1)?;
    let action = outer.get("userAction")?;
    let members = action.as_object()?;
    let text = |value: &Value| value.as_str().is_some_and(|text| text.len() <= MAX_TEXT);
    let word = |value: &Value| text(value) && value != "";
    let known = members.iter().all(|(name, value)| match name.as_str() {
        "name" | "surfaceId" | "timestamp" => word(value),
        // The root of the data is an empty path; a component without an id has an empty one.
        "sourceComponentId" | "dataContextPath" => text(value),
        "context" => value.is_object() && is_lossless(value),
        _ => false,
    });
    (known && members.contains_key("name") && members.contains_key("surfaceId")).then_some(action)
}

/// Id and text of the synthetic result, where the last two messages are the pair of this action.
fn pair<'m>(action: &Value, messages: &'m [Message<'_>]) -> Option<(&'m str, &'m str)> {
    let [.., Message::Assistant(call), Message::Tool(result)] = messages else {
        return None;
    };
    let [made] = call.tool_calls.as_deref()? else {
        return None;
    };
    let arguments: Value = serde_json::from_str(&made.arguments).ok()?;
    let Content::Text(sentence) = &result.content else {
        return None;
    };
    let agrees = made.name == ACTION_CALL
        && made.id == result.tool_call_id
        && result.error.is_none()
        && arguments == *action
        && tells(sentence, action);
    agrees.then_some((&*result.id, &**sentence))
}

/// Whether the middleware's sentence tells of this action.
fn tells(sentence: &str, action: &Value) -> bool {
    let text = |name: &str| action.get(name).and_then(Value::as_str);
    let (Some(name), Some(surface)) = (text("name"), text("surfaceId")) else {
        return false;
    };
    let component = text("sourceComponentId")
        .filter(|component| !component.is_empty())
        .map(|component| format!(" (component: {component})"))
        .unwrap_or_default();
    let start =
        format!("User performed action \"{name}\" on surface \"{surface}\"{component}. Context: ");
    let none = Value::Object(Map::new());
    let context = action.get("context").unwrap_or(&none);
    sentence
        .strip_prefix(&start)
        .and_then(|rest| serde_json::from_str::<Value>(rest).ok())
        .is_some_and(|told| told == *context)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::agui::{Json, RunAgentInput};
    use serde_json::json;

    fn read(action: &Value, messages: &Value) -> Result<Option<Action>, Code> {
        let body = json!({"threadId":"t","runId":"r","messages":messages}).to_string();
        let input = RunAgentInput::parse(body.as_bytes()).unwrap();
        let props = json!({ "a2uiAction": action }).to_string();
        let props = Props::read(Some(Json::encoded(&props)));
        Action::read(&props, &input.messages).map_err(|error| error.code)
    }

    fn action() -> Value {
        json!({"userAction":{"timestamp":"2026-01-01T00:00:00Z","name":"book","surfaceId":"s1","sourceComponentId":"btn","context":{"id":7}}})
    }

    fn pair_of(action: &Value, sentence: &str) -> Value {
        let arguments = action["userAction"].to_string();
        json!([
            {"id":"a","role":"assistant","content":"","toolCalls":[{"id":"c","type":"function","function":{"name":"log_a2ui_event","arguments":arguments}}]},
            {"id":"m","role":"tool","toolCallId":"c","content":sentence},
        ])
    }

    const SENTENCE: &str =
        r#"User performed action "book" on surface "s1" (component: btn). Context: {"id":7}"#;

    #[test]
    fn an_action_and_its_pair_are_one_message() {
        let read = read(&action(), &pair_of(&action(), SENTENCE))
            .unwrap()
            .unwrap();
        assert_eq!(read.id, "m");
        assert_eq!(
            read.text,
            format!(
                "{SENTENCE}\n\n{}",
                r#"{"context":{"id":7},"name":"book","sourceComponentId":"btn","surfaceId":"s1","timestamp":"2026-01-01T00:00:00Z"}"#
            )
        );
    }

    #[test]
    fn without_component_and_context() {
        let sentence = r#"User performed action "go" on surface "s". Context: {}"#;
        for action in [
            json!({"userAction":{"name":"go","surfaceId":"s"}}),
            json!({"userAction":{"name":"go","surfaceId":"s","sourceComponentId":"","dataContextPath":""}}),
        ] {
            let read = read(&action, &pair_of(&action, sentence)).unwrap();
            assert!(read.is_some(), "{action}");
        }
    }

    #[test]
    fn members_are_sorted_at_every_depth() {
        let action = json!({"userAction":{"name":"go","surfaceId":"s","context":{"b":[{"z":1,"a":2}],"a":{"y":null,"x":true}}}});
        let sentence = r#"User performed action "go" on surface "s". Context: {"b":[{"z":1,"a":2}],"a":{"y":null,"x":true}}"#;
        let read = read(&action, &pair_of(&action, sentence)).unwrap().unwrap();
        let (_, json) = read.text.split_once("\n\n").unwrap();
        assert_eq!(
            json,
            r#"{"context":{"a":{"x":true,"y":null},"b":[{"a":2,"z":1}]},"name":"go","surfaceId":"s"}"#
        );
    }

    #[test]
    fn envelopes_that_are_not_the_middleware_s_are_refused() {
        let pair = pair_of(&action(), SENTENCE);
        for bad in [
            json!(1),
            json!({}),
            json!({"userAction":{}}),
            json!({"userAction":{"name":"book"}}),
            json!({"userAction":{"name":"","surfaceId":"s1"}}),
            json!({"userAction":{"name":"book","surfaceId":"s1","context":[]}}),
            json!({"userAction":{"name":"book","surfaceId":"s1","timestamp":1}}),
            json!({"userAction":{"name":"x".repeat(MAX_TEXT + 1),"surfaceId":"s1"}}),
            json!({"userAction":{"name":"book","surfaceId":"s1","more":1}}),
            json!({"userAction":action()["userAction"],"more":1}),
        ] {
            assert_eq!(read(&bad, &pair), Err(Code::InvalidA2uiAction), "{bad}");
        }
    }

    #[test]
    fn the_pair_must_be_there_at_the_end_and_agree() {
        let good = pair_of(&action(), SENTENCE);
        let user = json!({"id":"u","role":"user","content":"x"});
        let mut other_call = good.clone();
        other_call[1]["toolCallId"] = "d".into();
        let mut other_tool = good.clone();
        other_tool[0]["toolCalls"][0]["function"]["name"] = "x".into();
        let mut other_arguments = good.clone();
        other_arguments[0]["toolCalls"][0]["function"]["arguments"] = "{}".into();
        for bad in [
            json!([]),
            json!([good[0]]),
            json!([good[0], good[1], user]),
            other_call,
            other_tool,
            other_arguments,
            pair_of(&action(), "User performed something"),
            pair_of(
                &action(),
                r#"User performed action "book" on surface "s1" (component: btn). Context: {"id":8}"#,
            ),
        ] {
            assert_eq!(read(&action(), &bad), Err(Code::InvalidA2uiAction), "{bad}");
        }
    }

    #[test]
    fn the_render_tool_is_named_by_the_middleware() {
        let named = |value: &str| {
            let props = format!(r#"{{"injectA2UITool":{value}}}"#);
            render_tool(&Props::read(Some(Json::encoded(&props))))
        };
        assert_eq!(named("true").as_deref(), Some("render_a2ui"));
        assert_eq!(named("\"paint\"").as_deref(), Some("paint"));
        for none in ["false", "null", "\"\"", "1"] {
            assert_eq!(named(none), None, "{none}");
        }
    }
}
