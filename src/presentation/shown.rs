//! Applies the [`TextPolicy`] to the texts of a request that a provider shows.

use super::error::{Code, Error};
use super::json::Json;
use super::protocol::Operation;
use super::text_policy::{TextClass, TextPolicy, is_clean, reveal};
use super::validate::interaction_label;
use std::borrow::Cow;

/// Whether the request reaches the provider as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// No text was touched.
    Unchanged,
    /// At least one text was rewritten.
    Rewritten,
}

/// Applies `policy` to a validated request.
///
/// URIs and clipboard texts are data that cannot be rewritten without changing what they do: those are refused under
/// either policy.
///
/// # Errors
/// `invalid-request` with the path of the text.
pub fn apply(
    policy: TextPolicy,
    operation: Operation,
    request: &mut Json<'_>,
) -> Result<Applied, Error> {
    let root = match operation {
        Operation::OpenExternal => "OpenExternal request",
        Operation::CopyText => "CopyText request",
        Operation::Notification => "Notification request",
        Operation::ExternalRedirect => "ExternalRedirect request",
        interaction => interaction_label(interaction),
    };
    let mut walk = Walk {
        policy,
        operation,
        applied: Applied::Unchanged,
    };
    walk.value(root, request)?;
    Ok(walk.applied)
}

struct Walk {
    policy: TextPolicy,
    operation: Operation,
    applied: Applied,
}

impl Walk {
    fn value(&mut self, path: &str, value: &mut Json<'_>) -> Result<(), Error> {
        match value {
            Json::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    if matches!(item, Json::Object(_)) {
                        self.value(&format!("{path}[{index}]"), item)?;
                    }
                }
                Ok(())
            }
            Json::Object(members) => {
                for (name, value) in members {
                    match value {
                        Json::String(text) => self.text(path, name, text)?,
                        Json::Array(_) => self.value(&format!("{path}.{name}"), value)?,
                        _ => {}
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn text(&mut self, path: &str, name: &str, text: &mut Cow<'_, str>) -> Result<(), Error> {
        let (class, policy) = match name {
            "title" | "label" | "action" => (TextClass::Line, self.policy),
            "description" | "summary" | "value" => (TextClass::Block, self.policy),
            "text" if self.operation == Operation::CopyText => {
                (TextClass::Clipboard, TextPolicy::Refuse)
            }
            "text" => (TextClass::Block, self.policy),
            "uri" | "exactRedirectUri" => (TextClass::Line, TextPolicy::Refuse),
            _ => return Ok(()),
        };
        if is_clean(text, class) {
            return Ok(());
        }
        match policy {
            TextPolicy::Refuse => Err(Error::at(
                Code::InvalidRequest,
                format!("{path}.{name}"),
                "must not contain control or bidirectional override characters",
            )),
            TextPolicy::Reveal => {
                *text = Cow::Owned(reveal(text, class).into_owned());
                self.applied = Applied::Rewritten;
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const APPROVAL: &str = r#"{"action":"run \u001b[8m","summary":"a\nb","details":[{"label":"x","value":"\u202eevil"}]}"#;

    #[test]
    fn an_approval_shows_what_was_hidden() {
        let mut value = Json::parse(APPROVAL, "v").unwrap();
        assert_eq!(
            apply(TextPolicy::Reveal, Operation::Approval, &mut value),
            Ok(Applied::Rewritten)
        );
        assert_eq!(
            value.to_text(),
            r#"{"action":"run \\u{1b}[8m","summary":"a\nb","details":[{"label":"x","value":"\\u{202e}evil"}]}"#
        );
    }

    #[test]
    fn refusal_names_the_text() {
        let text = APPROVAL.replace(r"\u001b", "");
        let mut value = Json::parse(&text, "v").unwrap();
        let error = apply(TextPolicy::Refuse, Operation::Approval, &mut value).unwrap_err();
        assert_eq!(error.path, "Approval request.details[0].value");
        assert!(!error.message.contains("evil"));
    }

    #[test]
    fn clipboard_text_is_never_rewritten() {
        let mut value = Json::parse(r#"{"text":"a\u001b[0m"}"#, "v").unwrap();
        assert_eq!(
            apply(TextPolicy::Reveal, Operation::CopyText, &mut value)
                .unwrap_err()
                .path,
            "CopyText request.text"
        );
        let mut value = Json::parse(r#"{"text":"a\r\n\u202eb"}"#, "v").unwrap();
        assert_eq!(
            apply(TextPolicy::Refuse, Operation::CopyText, &mut value),
            Ok(Applied::Unchanged)
        );
    }

    #[test]
    fn ids_and_context_stay_as_they_are() {
        let mut value = Json::parse(
            r#"{"requestId":"a\u0007","deduplicationKey":"\u0007","text":"ok"}"#,
            "v",
        )
        .unwrap();
        assert_eq!(
            apply(TextPolicy::Refuse, Operation::Notification, &mut value),
            Ok(Applied::Unchanged)
        );
    }
}
