//! What a client asks for beyond plain AG-UI, in `forwardedProps.dsh` (X3). Whoever does not ask gets nothing of it.

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::agui::Json;
use crate::gateway::error::{Code, GatewayError};

/// What a run's client takes. Members that this gateway does not know mean nothing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Extras {
    /// `REASONING_*` events.
    pub(crate) reasoning: bool,
    /// `STATE_DELTA` where it is shorter than a snapshot.
    pub(crate) state_delta: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Members {
    reasoning: Option<bool>,
    state_delta: Option<bool>,
}

impl Extras {
    /// Reads the member `dsh`. `null` means the same as absent, here and within it.
    ///
    /// # Errors
    /// `INVALID_AGUI_INPUT` where it is no object, or a known member of it is no boolean.
    pub(crate) fn read(dsh: Option<&RawValue>) -> Result<Self, GatewayError> {
        let Some(dsh) = dsh else {
            return Ok(Self::default());
        };
        let members: Members = Json::from(dsh).to_members().map_err(|_| {
            GatewayError::new(
                Code::InvalidAguiInput,
                "forwardedProps.dsh must be an object; reasoning and stateDelta in it are booleans",
            )
        })?;
        Ok(Self {
            reasoning: members.reasoning.unwrap_or_default(),
            state_delta: members.state_delta.unwrap_or_default(),
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn read(json: &str) -> Result<Extras, Code> {
        let raw: Option<&RawValue> = serde_json::from_str(json).unwrap();
        Extras::read(raw).map_err(|error| error.code)
    }

    #[test]
    fn nothing_is_on_unless_it_is_asked_for() {
        assert_eq!(Extras::read(None), Ok(Extras::default()));
        for nothing in [
            "null",
            "{}",
            r#"{"x":1}"#,
            r#"{"reasoning":null,"stateDelta":false}"#,
        ] {
            assert_eq!(read(nothing), Ok(Extras::default()), "{nothing}");
        }
        assert_eq!(
            read(r#"{"reasoning":true,"other":[1]}"#),
            Ok(Extras {
                reasoning: true,
                state_delta: false
            })
        );
        assert_eq!(
            read(r#"{"stateDelta":true,"reasoning":true}"#),
            Ok(Extras {
                reasoning: true,
                state_delta: true
            })
        );
    }

    #[test]
    fn other_shapes_are_refused() {
        for bad in [
            "true",
            "1",
            "\"reasoning\"",
            "[]",
            "[true,true]",
            r#"{"reasoning":1}"#,
            r#"{"stateDelta":"yes"}"#,
            r#"{"reasoning":true,"reasoning":true}"#,
        ] {
            assert_eq!(read(bad), Err(Code::InvalidAguiInput), "{bad}");
        }
    }
}
