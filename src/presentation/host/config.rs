//! The product's policy, read once when a Host is made.

use crate::presentation::authority::Rule;
use crate::presentation::error::{Code, Error};
use crate::presentation::json::{Json, member};
use crate::presentation::limits::HostLimits;
use crate::presentation::text_policy::TextPolicy;
use crate::presentation::validate::record::{
    Members, Path, array, choice, exact, non_empty, optional_text, safe_integer,
};

/// What the product decides.
#[derive(Clone, Debug, Default)]
pub struct HostConfig {
    /// Finite bounds of everything.
    pub limits: HostLimits,
    /// What becomes of deceptive characters.
    pub text: TextPolicy,
    /// Which provider serves which consumer.
    pub rules: Vec<Rule>,
    /// Keys of the request digests, from the operating system's randomness.
    pub digest_keys: (u64, u64),
}

impl HostConfig {
    /// Reads `{limits?, text?, rules?: [{consumer?, providers}]}`. Absent members have their defaults.
    ///
    /// # Errors
    /// `invalid-request` with the path of the first thing that is wrong.
    pub fn parse(text: &str, digest_keys: (u64, u64)) -> Result<HostConfig, Error> {
        let path = Path::Root("Presentation host options");
        let value = Json::parse(text, "Presentation host options")?;
        let members = exact(&path, &value, &["limits", "text", "rules"], &[])?;
        let text = match choice(&path, members, "text", &["reveal", "refuse"])? {
            Some("refuse") => TextPolicy::Refuse,
            _ => TextPolicy::Reveal,
        };
        let limits = match member(members, "limits") {
            Some(value) => read_limits(&path.field("limits"), value)?,
            None => HostLimits::default(),
        };
        Ok(HostConfig {
            limits,
            text,
            rules: read_rules(&path.field("rules"), members)?,
            digest_keys,
        })
    }
}

fn read_limits(path: &Path<'_>, value: &Json<'_>) -> Result<HostLimits, Error> {
    let mut limits = HostLimits::default();
    let fields: [(&str, &mut u64, u64); 8] = [
        (
            "maxConcurrentRequests",
            &mut limits.max_concurrent_requests,
            1,
        ),
        ("maxQueuedRequests", &mut limits.max_queued_requests, 0),
        ("maxFields", &mut limits.max_fields, 1),
        ("maxOptionsPerField", &mut limits.max_options_per_field, 1),
        ("maxTextLength", &mut limits.max_text_length, 1),
        ("maxRequestBytes", &mut limits.max_request_bytes, 1),
        (
            "maxRequestsPerInvocation",
            &mut limits.max_requests_per_invocation,
            1,
        ),
        ("maxRequestMs", &mut limits.max_request_ms, 1),
    ];
    let names = fields.each_ref().map(|(name, _, _)| *name);
    let members = exact(path, value, &names, &[])?;
    for (name, limit, least) in fields {
        if let Some(value) = safe_integer(path, members, name, least)? {
            *limit = value;
        }
    }
    Ok(limits)
}

fn read_rules(path: &Path<'_>, members: &Members<'_>) -> Result<Vec<Rule>, Error> {
    let Some(rules) = member(members, "rules") else {
        return Ok(Vec::new());
    };
    let mut read = Vec::new();
    for (index, rule) in array(path, rules, "must be an array")?.iter().enumerate() {
        let path = path.index(index);
        let members = exact(&path, rule, &["consumer", "providers"], &["providers"])?;
        let providers_path = path.field("providers");
        let mut providers = Vec::new();
        if let Some(value) = member(members, "providers") {
            for (index, id) in array(&providers_path, value, "must be a non-empty array")?
                .iter()
                .enumerate()
            {
                providers.push(non_empty(&providers_path.index(index), id)?.into());
            }
        }
        if providers.is_empty() {
            return Err(Error::at(
                Code::InvalidRequest,
                providers_path,
                "must be a non-empty array",
            ));
        }
        read.push(Rule {
            consumer: optional_text(&path, members, "consumer")?.map(Into::into),
            providers,
        });
    }
    Ok(read)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn reads_limits_and_rules() {
        let config = HostConfig::parse(
            r#"{"limits":{"maxFields":3,"maxQueuedRequests":0},"text":"refuse","rules":[{"consumer":"plugin","providers":["tui","web"]}]}"#,
            (1, 2),
        )
        .unwrap();
        assert_eq!(
            (config.limits.max_fields, config.limits.max_queued_requests),
            (3, 0)
        );
        assert_eq!(
            config.limits.max_options_per_field,
            HostLimits::default().max_options_per_field
        );
        assert_eq!(config.text, TextPolicy::Refuse);
        assert_eq!(
            config.rules,
            [Rule {
                consumer: Some("plugin".into()),
                providers: vec!["tui".into(), "web".into()]
            }]
        );
    }

    #[test]
    fn a_wrong_option_is_named() {
        for (text, message) in [
            (
                r#"{"limits":{"maxFields":0}}"#,
                "Presentation host options.limits.maxFields must be a positive safe integer",
            ),
            (
                r#"{"limits":{"maxfields":1}}"#,
                "Presentation host options.limits contains unknown field \"maxfields\"",
            ),
            (
                r#"{"text":"pass"}"#,
                "Presentation host options.text must be one of \"reveal\", \"refuse\"",
            ),
            (
                r#"{"rules":[{"providers":[]}]}"#,
                "Presentation host options.rules[0].providers must be a non-empty array",
            ),
        ] {
            assert_eq!(
                HostConfig::parse(text, (0, 0)).unwrap_err().message,
                message
            );
        }
    }
}
