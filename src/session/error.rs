//! What is no session record.

/// A record that is not what a Host writes.
#[derive(Debug, thiserror::Error)]
#[error("session record is malformed: {0}")]
pub struct RecordError(#[from] serde_json::Error);
