//! Streams whose `RUN_STARTED` says a `protocolVersion`: their client is not of 0.0.59, and knows more (`ag-ui.md` §6).

use std::borrow::Cow;

use serde_json::Value;

/// Which client a stream is for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Declared {
    /// 0.0.59: the stream says nothing of a version.
    #[default]
    Nothing,
    /// 1.0 or later.
    Version,
}

impl Declared {
    /// The event as 0.0.59 would have it: without the member that only later clients know.
    pub(super) fn reduce<'e>(&mut self, event: &'e Value) -> Cow<'e, Value> {
        match event["type"].as_str() {
            Some("RUN_STARTED") => {
                *self = match event["protocolVersion"] {
                    Value::String(_) => Self::Version,
                    _ => Self::Nothing,
                };
            }
            Some("RUN_FINISHED") if *self == Self::Version && names_calls(&event["outcome"]) => {
                let mut event = event.clone();
                if let Some(outcome) = event["outcome"].as_object_mut() {
                    outcome.remove("pendingToolCallIds");
                }
                return Cow::Owned(event);
            }
            _ => {}
        }
        Cow::Borrowed(event)
    }
}

/// Whether an outcome is a success that names the calls which wait for the client.
fn names_calls(outcome: &Value) -> bool {
    let ids = outcome["pendingToolCallIds"].as_array();
    outcome["type"] == "success" && ids.is_some_and(|ids| ids.iter().all(Value::is_string))
}
