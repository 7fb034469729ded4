//! Tool view cards: `dsh:tool:view` CUSTOM events, version 1 (spec: gateway, Tool view cards; G14).

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::value::RawValue;

use crate::session::Card;

/// The cards of a session: those of settled calls are kept encoded and replayed at the start of each run.
#[derive(Debug, Default)]
pub struct Cards {
    /// Call cards whose result is not known yet, by wire call id.
    pending: HashMap<String, Arc<str>>,
    settled: Vec<Arc<str>>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Phase {
    Call,
    Result,
}

#[derive(Serialize)]
struct CustomEvent<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    name: &'static str,
    value: View<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct View<'a> {
    version: u8,
    call_id: &'a str,
    tool_name: &'a str,
    phase: Phase,
    card: &'a RawValue,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct GenericCall<'a> {
    card: &'static str,
    title: &'a str,
    raw_input: RawInput<'a>,
}

/// Arguments as the model wrote them: as JSON where they are JSON, as text where they are broken.
#[derive(Serialize)]
#[serde(untagged)]
enum RawInput<'a> {
    Json(Box<RawValue>),
    Text(&'a str),
}

impl Cards {
    /// Notes the card of a dispatched call.
    ///
    /// Returns the event to send now, or `None` where the Tool is unknown.
    pub fn call(&mut self, id: &str, tool: &str, arguments: &str, card: &Card) -> Option<Arc<str>> {
        let view = match card {
            Card::Unknown => return None,
            Card::View(view) => raw(view)?,
            Card::Generic => {
                let arguments = if arguments.is_empty() {
                    "{}"
                } else {
                    arguments
                };
                let raw_input = RawValue::from_string(arguments.to_owned())
                    .map_or(RawInput::Text(arguments), RawInput::Json);
                let generic = GenericCall {
                    card: "generic",
                    title: tool,
                    raw_input,
                };
                serde_json::value::to_raw_value(&generic).ok()?
            }
        };
        let event = encode(id, tool, Phase::Call, &view)?;
        self.pending.insert(id.into(), event.clone());
        Some(event)
    }

    /// Notes the card of a settled call; from now on both its cards belong to every run's opening.
    pub fn result(&mut self, id: &str, tool: &str, card: &Card) -> Option<Arc<str>> {
        let pending = self.pending.remove(id);
        let view = match card {
            Card::Unknown => return None,
            Card::View(view) => raw(view)?,
            Card::Generic => raw(r#"{"card":"generic"}"#)?,
        };
        let event = encode(id, tool, Phase::Result, &view)?;
        self.settled.extend(pending);
        self.settled.push(event.clone());
        Some(event)
    }

    /// The events of all settled calls, oldest first.
    #[must_use]
    pub fn settled(&self) -> &[Arc<str>] {
        &self.settled
    }
}

fn raw(json: &str) -> Option<Box<RawValue>> {
    RawValue::from_string(json.into()).ok()
}

fn encode(call_id: &str, tool_name: &str, phase: Phase, card: &RawValue) -> Option<Arc<str>> {
    let event = CustomEvent {
        kind: "CUSTOM",
        name: "dsh:tool:view",
        value: View {
            version: 1,
            call_id,
            tool_name,
            phase,
            card,
        },
    };
    serde_json::to_string(&event).ok().map(Into::into)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_view_is_carried_as_it_is() {
        let mut cards = Cards::default();
        let event = cards
            .call(
                "c",
                "read",
                "{}",
                &Card::View(r#"{"card":"generic","title":"T"}"#.into()),
            )
            .unwrap();
        assert_eq!(
            &*event,
            r#"{"type":"CUSTOM","name":"dsh:tool:view","value":{"version":1,"callId":"c","toolName":"read","phase":"call","card":{"card":"generic","title":"T"}}}"#
        );
        assert!(cards.settled().is_empty());
        cards.result("c", "read", &Card::Generic).unwrap();
        assert_eq!(cards.settled().len(), 2);
        assert!(cards.settled()[1].contains(r#""phase":"result","card":{"card":"generic"}"#));
    }

    #[test]
    fn the_fallback_shows_the_arguments_broken_or_not() {
        let mut cards = Cards::default();
        let event = cards.call("c", "t", r#"{"a":1}"#, &Card::Generic).unwrap();
        assert!(event.contains(r#"{"card":"generic","title":"t","rawInput":{"a":1}}"#));
        let event = cards.call("d", "t", r#"{"a":"#, &Card::Generic).unwrap();
        assert!(event.contains(r#""rawInput":"{\"a\":""#));
        let event = cards.call("e", "t", "", &Card::Generic).unwrap();
        assert!(event.contains(r#""rawInput":{}"#));
    }

    #[test]
    fn an_unknown_tool_has_no_card() {
        let mut cards = Cards::default();
        assert_eq!(cards.call("c", "t", "{}", &Card::Unknown), None);
        assert_eq!(cards.result("c", "t", &Card::Unknown), None);
        assert!(cards.settled().is_empty());
    }
}
