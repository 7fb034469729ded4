//! What `forwardedProps` asks of the gateway. Everything else in it is the application's own.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agui::Json;

/// The members of `forwardedProps` that the gateway knows, as they came. None where it is no object.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Props<'a> {
    /// What a person did on an A2UI surface (G19).
    #[serde(borrow, rename = "a2uiAction")]
    pub(super) a2ui_action: Option<&'a RawValue>,
    /// The browser Tool that the A2UI middleware renders (G19).
    #[serde(borrow, rename = "injectA2UITool")]
    pub(super) inject_a2ui_tool: Option<&'a RawValue>,
    /// The preset that a blank thread shall have (G17).
    #[serde(borrow)]
    pub(super) agent_preset: Option<&'a RawValue>,
    /// What this gateway offers beyond AG-UI: an object (X3).
    #[serde(borrow)]
    pub(super) dsh: Option<&'a RawValue>,
}

impl<'a> Props<'a> {
    pub(super) fn read(forwarded: Option<Json<'a>>) -> Self {
        forwarded
            .and_then(|props| serde_json::from_str(props.as_str()).ok())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_known_is_kept_as_it_came() {
        let props = Props::read(Some(Json::encoded(
            r#"{"x":1,"injectA2UITool":true,"agentPreset":"beta","a2uiAction":{"userAction":{}}}"#,
        )));
        let text = |raw: Option<&RawValue>| raw.map(|raw| raw.get().to_owned());
        assert_eq!(text(props.inject_a2ui_tool).as_deref(), Some("true"));
        assert_eq!(text(props.agent_preset).as_deref(), Some("\"beta\""));
        assert_eq!(
            text(props.a2ui_action).as_deref(),
            Some(r#"{"userAction":{}}"#)
        );
        assert!(props.dsh.is_none());
    }

    #[test]
    fn what_is_no_object_asks_for_nothing() {
        for other in ["null", "1", "[]", "\"x\""] {
            let props = Props::read(Some(Json::encoded(other)));
            assert!(
                props.a2ui_action.is_none() && props.dsh.is_none(),
                "{other}"
            );
        }
        assert!(Props::read(None).agent_preset.is_none());
    }
}
