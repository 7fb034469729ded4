//! Names of browser Tools.

use std::fmt;
use std::sync::Arc;

use super::error::ToolError;

/// The Tool of shared state: the gateway registers it itself, no client may.
/// (spec: gateway, Shared state)
pub const STATE_TOOL: &str = "ag_ui_update_state";

/// Names that DSH's registry keeps for itself; registering one throws in every generation.
const HOST_RESERVED: [&str; 1] = ["run_code"];

const MAX_LENGTH: usize = 64;

/// A name that a browser Tool may have: `[A-Za-z_][A-Za-z0-9_-]{0,63}`, and not reserved.
///
/// The grammar is the part that common model providers agree on; AG-UI itself has none. Cloning is cheap.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolName(Arc<str>);

impl ToolName {
    /// Reads a name as a client sent it.
    ///
    /// # Errors
    /// [`ToolError::InvalidName`] outside the grammar, [`ToolError::ReservedName`] for [`STATE_TOOL`] and for names
    /// that the Host keeps for itself.
    pub fn parse(name: &str) -> Result<Self, ToolError> {
        if !is_well_formed(name) {
            return Err(ToolError::invalid_name(name));
        }
        if name == STATE_TOOL || HOST_RESERVED.contains(&name) {
            return Err(ToolError::ReservedName {
                name: name.to_owned(),
            });
        }
        Ok(Self(name.into()))
    }

    /// The name as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn is_well_formed(name: &str) -> bool {
    let bytes = name.as_bytes();
    let Some((first, rest)) = bytes.split_first() else {
        return false;
    };
    bytes.len() <= MAX_LENGTH
        && (first.is_ascii_alphabetic() || *first == b'_')
        && rest
            .iter()
            .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'))
}

impl AsRef<str> for ToolName {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for ToolName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.as_str())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn accepts_the_grammar_of_the_specification() {
        for name in ["a", "_", "Z9", "get-weather", "a_b-C", &"x".repeat(64)] {
            assert_eq!(ToolName::parse(name).unwrap().as_str(), name);
        }
    }

    #[test]
    fn refuses_everything_else() {
        let long = "x".repeat(65);
        for name in [
            "", "9a", "-a", "a b", "a.b", "a/b", "é", "a\n", " a", "日本", &long,
        ] {
            let error = ToolName::parse(name).unwrap_err();
            assert_eq!(error.code(), "INVALID_FRONTEND_TOOL_NAME", "{name:?}");
        }
    }

    #[test]
    fn refuses_reserved_names() {
        for name in [STATE_TOOL, "run_code"] {
            let error = ToolName::parse(name).unwrap_err();
            assert_eq!(error.code(), "RESERVED_FRONTEND_TOOL_NAME");
            assert_eq!(error.status(), 400);
        }
    }

    #[test]
    fn an_error_shows_a_bounded_escaped_name() {
        let error = ToolName::parse(&format!("a\u{202e}\n{}", "b".repeat(1000))).unwrap_err();
        let message = error.to_string();
        assert!(message.len() < 200, "{message}");
        assert!(
            !message.contains('\n') && !message.contains('\u{202e}'),
            "{message}"
        );
    }
}
