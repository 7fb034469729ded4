//! Refusals of browser Tools.

use super::name::ToolName;

/// Why a set of browser Tools was refused. Nothing has changed when one is returned.
///
/// [`code`](Self::code) is stable and goes on the wire, [`status`](Self::status) is the HTTP status that belongs to
/// it; the message is for people and carries no more of the request than a shortened, escaped name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// More Tools than `maxTools`.
    #[error("{count} browser Tools exceed the limit of {limit}")]
    TooMany {
        /// How many were declared.
        count: usize,
        /// `maxTools`.
        limit: usize,
    },
    /// The JSON of all Tools is larger than `maxToolBytes`.
    #[error("{bytes} bytes of browser Tools exceed the limit of {limit}")]
    TooLarge {
        /// UTF-8 bytes of the JSON.
        bytes: usize,
        /// `maxToolBytes`.
        limit: usize,
    },
    /// The text is not a list of Tools at all (only where the caller has not parsed it already).
    #[error("browser Tools must be an array of {{name, description, parameters?}}: {reason}")]
    Malformed {
        /// What the parser said.
        reason: String,
    },
    /// A name outside the grammar of [`ToolName`].
    #[error("browser Tool name {shown} must match [A-Za-z_][A-Za-z0-9_-]{{0,63}}")]
    InvalidName {
        /// The name, escaped and shortened.
        shown: String,
    },
    /// A name that belongs to the gateway or to the Host.
    #[error("browser Tool name \"{name}\" is reserved")]
    ReservedName {
        /// The reserved name.
        name: String,
    },
    /// Two Tools of one set have the same name.
    #[error("browser Tool \"{name}\" is declared twice")]
    Duplicate {
        /// The repeated name.
        name: ToolName,
    },
    /// A Tool that does not say what it is for. Models choose by description, so a blank one is a mistake.
    #[error("browser Tool \"{name}\" has a blank description")]
    BlankDescription {
        /// The Tool.
        name: ToolName,
    },
    /// `parameters` nests deeper than `maxToolSchemaDepth`.
    #[error("parameters of browser Tool \"{name}\" nest deeper than {limit}")]
    SchemaTooDeep {
        /// The Tool.
        name: ToolName,
        /// `maxToolSchemaDepth`, or the hard limit of the parser where that is lower.
        limit: usize,
    },
    /// `parameters` says something that DSH cannot enforce.
    #[error("parameters of browser Tool \"{name}\" cannot be enforced: {}", .violations.join("; "))]
    InvalidSchema {
        /// The Tool.
        name: ToolName,
        /// Every violation with its location, in walk order; a very long list is cut and says so.
        violations: Vec<String>,
    },
    /// The Agent already has a Tool of that name: inherited, global or of another lease.
    #[error("browser Tool \"{name}\" collides with a Tool that the Agent already has")]
    Collision {
        /// The name that both have.
        name: ToolName,
    },
}

impl ToolError {
    pub(super) fn invalid_name(name: &str) -> Self {
        let mut shown: String = name
            .chars()
            .take(64)
            .flat_map(char::escape_default)
            .take(128)
            .collect();
        if name.chars().nth(64).is_some() {
            shown.push_str("...");
        }
        Self::InvalidName {
            shown: format!("\"{shown}\""),
        }
    }

    /// The stable code of the wire.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooMany { .. } | Self::TooLarge { .. } => "TOOL_LIMIT_EXCEEDED",
            Self::Malformed { .. } | Self::BlankDescription { .. } => "INVALID_FRONTEND_TOOL",
            Self::InvalidName { .. } => "INVALID_FRONTEND_TOOL_NAME",
            Self::ReservedName { .. } => "RESERVED_FRONTEND_TOOL_NAME",
            Self::Duplicate { .. } => "DUPLICATE_FRONTEND_TOOL",
            Self::SchemaTooDeep { .. } => "TOOL_SCHEMA_TOO_DEEP",
            Self::InvalidSchema { .. } => "INVALID_FRONTEND_TOOL_SCHEMA",
            Self::Collision { .. } => "FRONTEND_TOOL_NAME_COLLISION",
        }
    }

    /// The HTTP status that belongs to [`code`](Self::code).
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::TooMany { .. } | Self::TooLarge { .. } | Self::SchemaTooDeep { .. } => 413,
            Self::Collision { .. } => 409,
            Self::Malformed { .. }
            | Self::InvalidName { .. }
            | Self::ReservedName { .. }
            | Self::Duplicate { .. }
            | Self::BlankDescription { .. }
            | Self::InvalidSchema { .. } => 400,
        }
    }

    /// The single violations of [`ToolError::InvalidSchema`]; empty for everything else.
    #[must_use]
    pub fn violations(&self) -> &[String] {
        match self {
            Self::InvalidSchema { violations, .. } => violations,
            _ => &[],
        }
    }
}
