//! What `forwardedProps` asks of the gateway. Everything else in it is the application's own.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agui::Json;
use crate::gateway::error::{Code, GatewayError};

/// The members of `forwardedProps` that the gateway knows, as they came. None where it is no object.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Props<'a> {
    /// What a person did on an A2UI surface (G19).
    #[serde(borrow, rename = "a2uiAction")]
    pub(crate) a2ui_action: Option<&'a RawValue>,
    /// The browser Tool that the A2UI middleware renders (G19).
    #[serde(borrow, rename = "injectA2UITool")]
    pub(crate) inject_a2ui_tool: Option<&'a RawValue>,
    /// The preset that a blank thread shall have (G17).
    #[serde(borrow)]
    pub(crate) agent_preset: Option<&'a RawValue>,
    /// What this gateway offers beyond AG-UI: an object (X3).
    #[serde(borrow)]
    pub(crate) dsh: Option<&'a RawValue>,
}

impl<'a> Props<'a> {
    pub(crate) fn read(forwarded: Option<Json<'a>>) -> Self {
        forwarded
            .and_then(|props| props.to_members().ok())
            .unwrap_or_default()
    }

    /// The preset that `agentPreset` asks for.
    ///
    /// # Errors
    /// `INVALID_AGUI_INPUT` where it is no preset's id.
    pub(crate) fn preset(&self) -> Result<Option<String>, GatewayError> {
        let Some(raw) = self.agent_preset else {
            return Ok(None);
        };
        serde_json::from_str(raw.get())
            .ok()
            .filter(|id: &String| !id.trim().is_empty())
            .map(Some)
            .ok_or_else(|| {
                GatewayError::new(
                    Code::InvalidAguiInput,
                    "forwardedProps.agentPreset must be the id of a preset",
                )
            })
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
        for other in ["null", "1", "[]", "[{},true,\"beta\",{}]", "\"x\""] {
            let props = Props::read(Some(Json::encoded(other)));
            assert!(
                props.a2ui_action.is_none() && props.agent_preset.is_none() && props.dsh.is_none(),
                "{other}"
            );
        }
        assert!(Props::read(None).agent_preset.is_none());
    }

    #[test]
    fn an_id_is_a_string_that_says_something() {
        let read = |props: &str| {
            Props::read(Some(Json::encoded(props)))
                .preset()
                .map_err(|error| error.code)
        };
        assert_eq!(read(r#"{"agentPreset":"beta"}"#), Ok(Some("beta".into())));
        assert_eq!(read(r#"{"agentPreset":null}"#), Ok(None));
        assert_eq!(read("{}"), Ok(None));
        for bad in [r#""""#, r#"" ""#, "1", "{}", "[\"beta\"]", "true"] {
            let props = format!(r#"{{"agentPreset":{bad}}}"#);
            assert_eq!(read(&props), Err(Code::InvalidAguiInput), "{bad}");
        }
    }
}
