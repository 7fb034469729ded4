//! Which preset a thread has, and which it may still choose (spec: gateway, 配置; G17).

use crate::gateway::config::Config;
use crate::gateway::error::{Code, GatewayError};
use crate::gateway::ids::Principal;
use crate::gateway::refusal::locked;

/// The preset of a thread.
#[derive(Debug, Default)]
pub(crate) struct Preset {
    /// What the agent is composed from, as the Host says.
    pub(crate) current: Option<String>,
    /// A turn has begun: the composition stays.
    pub(crate) locked: bool,
}

impl Preset {
    /// The preset that the Host has to select before a run of new work is admitted.
    ///
    /// # Errors
    /// `PRESET_NOT_ALLOWED` where the tenant may not choose it, `PRESET_LOCKED` where it is too late.
    pub(crate) fn selection(
        &self,
        config: &Config,
        principal: &Principal,
        requested: Option<&str>,
    ) -> Result<Option<String>, GatewayError> {
        let Some(id) = requested else {
            return Ok(None);
        };
        if self.current.as_deref() == Some(id) {
            return Ok(None);
        }
        let granted = config
            .selectable_agent_presets
            .get(&principal.tenant)
            .is_some_and(|granted| granted.iter().any(|granted| granted == id));
        if !granted {
            return Err(GatewayError::new(
                Code::PresetNotAllowed,
                "the tenant may not choose this preset",
            ));
        }
        if self.locked {
            return Err(locked());
        }
        Ok(Some(id.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn only_a_granted_preset_of_a_blank_thread_is_selected() {
        let (config, _) = Config::parse(
            r#"{"sharedSecret":"0123456789abcdef","selectableAgentPresets":{"t":["alpha","beta"]}}"#,
        )
        .unwrap();
        let select = |preset: &Preset, tenant: &str, id: Option<&str>| {
            let principal = Principal {
                tenant: tenant.into(),
                user: "u".into(),
            };
            preset
                .selection(&config, &principal, id)
                .map_err(|error| error.code)
        };
        let blank = Preset {
            current: Some("alpha".into()),
            locked: false,
        };
        let begun = Preset {
            current: Some("own".into()),
            locked: true,
        };
        assert_eq!(select(&blank, "t", None), Ok(None));
        assert_eq!(select(&blank, "t", Some("alpha")), Ok(None));
        assert_eq!(select(&blank, "t", Some("beta")), Ok(Some("beta".into())));
        assert_eq!(
            select(&blank, "t", Some("own")),
            Err(Code::PresetNotAllowed)
        );
        assert_eq!(
            select(&blank, "u", Some("beta")),
            Err(Code::PresetNotAllowed)
        );
        // What it has needs no grant, also when it is too late for another.
        assert_eq!(select(&begun, "u", Some("own")), Ok(None));
        assert_eq!(select(&begun, "t", Some("beta")), Err(Code::PresetLocked));
        assert_eq!(select(&begun, "t", Some("x")), Err(Code::PresetNotAllowed));
        assert_eq!(
            select(&Preset::default(), "t", Some("beta")),
            Ok(Some("beta".into()))
        );
    }
}
