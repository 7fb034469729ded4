//! The official schemas as explanations: what is wrong with a value, and where.
//!
//! - `report`: collects issues while walking a tree
//! - `request`: `RunAgentInput`, in the official and in the gateway's dialect
//! - `event`: the 36 events of 0.0.59

mod event;
mod report;
mod request;

use serde_json::Value;

use super::issue::{InputError, Issue};
use super::read;
use report::{Dialect, Report};

/// Checks one event against the 0.0.59 schema, as strictly as the official client: unknown types, unknown
/// outcomes and stray `null`s are issues.
///
/// # Errors
/// All issues, in the order of the schema.
pub fn validate_event(event: &Value) -> Result<(), Vec<Issue>> {
    let mut report = Report::new(Dialect::Official);
    event::event(&mut report, event);
    match report.into_issues() {
        issues if issues.is_empty() => Ok(()),
        issues => Err(issues),
    }
}

/// Why the reader refused a body. Slow: builds a tree.
pub(super) fn explain_input(text: &str) -> InputError {
    let issues = input_issues(text);
    if issues.is_empty() {
        InputError::document("Invalid input")
    } else {
        InputError { issues }
    }
}

/// Issues of a body in the gateway's dialect; none exactly when the reader accepts it.
pub(super) fn input_issues(text: &str) -> Vec<Issue> {
    let tree = read::walk_document(text).and_then(|()| serde_json::from_str(text));
    match tree {
        Err(error) => InputError::document(format!("Invalid JSON: {error}")).issues,
        Ok(tree) => {
            let mut report = Report::new(Dialect::Gateway);
            request::run_agent_input(&mut report, &tree);
            report.into_issues()
        }
    }
}
