//! Which JSON the session log keeps exactly.

use serde_json::Value;

/// Containers in containers that it keeps.
const MAX_DEPTH: usize = 32;

/// Whether the log keeps the value exactly: no negative zero, no number that JavaScript would write with other digits, and
/// not too deep.
pub(super) fn is_lossless(value: &Value) -> bool {
    is_lossless_within(value, MAX_DEPTH)
}

fn is_lossless_within(value: &Value, depth: usize) -> bool {
    match value {
        Value::Number(number) => {
            let text = number.to_string();
            let is_negative_zero = number.as_f64() == Some(0.0) && text.starts_with('-');
            // The log is JavaScript's, whose numbers are doubles.
            let is_kept =
                number.is_f64() || number.as_f64().is_some_and(|kept| kept.to_string() == text);
            is_kept && !is_negative_zero
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
