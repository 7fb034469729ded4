//! Which JSON the session log keeps exactly.

use serde_json::Value;

/// Containers in containers that it keeps.
const MAX_DEPTH: usize = 32;

/// Whether the log keeps the value exactly: no negative zero, and not too deep.
pub(super) fn is_lossless(value: &Value) -> bool {
    is_lossless_within(value, MAX_DEPTH)
}

fn is_lossless_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Number(number) => {
            number.as_f64() != Some(0.0) || !number.to_string().starts_with('-')
        }
        Value::Array(items) => {
            depth > 0 && items.iter().all(|item| is_lossless_within(item, depth - 1))
        }
        Value::Object(members) => {
            depth > 0
                && members
                    .values()
                    .all(|member| is_lossless_within(member, depth - 1))
        }
        Value::Null | Value::Bool(_) | Value::String(_) => true,
    }
}
