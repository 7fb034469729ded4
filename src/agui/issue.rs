//! What is wrong with a request or an event, and where: the shape of the official schemas' reports.

use std::fmt;

/// One step of a path into a JSON value. Keys are always names of the schema, never of the input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PathSegment {
    /// Member of an object.
    Key(&'static str),
    /// Element of an array, from 0.
    Index(usize),
}

impl From<&'static str> for PathSegment {
    fn from(key: &'static str) -> Self {
        Self::Key(key)
    }
}

impl From<usize> for PathSegment {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

/// Where an issue is; displays as `messages.0.content`, the root as the empty string.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Path(pub Vec<PathSegment>);

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            if position > 0 {
                f.write_str(".")?;
            }
            match segment {
                PathSegment::Key(key) => f.write_str(key)?,
                PathSegment::Index(index) => write!(f, "{index}")?,
            }
        }
        Ok(())
    }
}

/// One violation of a schema. The message never quotes values of the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// Empty for the whole document (a syntax error, a root of the wrong type).
    pub path: Path,
    /// In the wording of the official schemas where they have one.
    pub message: String,
}

impl fmt::Display for Issue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.0.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{}: {}", self.path, self.message)
        }
    }
}

/// A request body that is not a `RunAgentInput` (`INVALID_AGUI_INPUT`, row G4). Holds at least one issue.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct InputError {
    /// All issues, in the order of the schema.
    pub issues: Vec<Issue>,
}

impl InputError {
    /// An error about the document as a whole.
    pub(super) fn document(message: impl Into<String>) -> Self {
        Self {
            issues: vec![Issue {
                path: Path::default(),
                message: message.into(),
            }],
        }
    }
}

impl fmt::Display for InputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Invalid AG-UI input")?;
        if let Some(first) = self.issues.first() {
            write!(f, ": {first}")?;
        }
        match self.issues.len() {
            0 | 1 => Ok(()),
            count => write!(f, " (and {} more)", count - 1),
        }
    }
}
