//! Reading members of a record with their path. A path is built while descending and rendered only for an error.

use super::invalid;
use crate::presentation::error::Error;
use crate::presentation::json::{Json, member};
use crate::presentation::limits::MAX_SAFE_INTEGER;
use crate::presentation::text_policy::is_blank;
use std::borrow::Cow;
use std::fmt;

/// Where a value stands, as a list from the leaf to the root.
#[derive(Clone, Copy, Debug)]
pub enum Path<'p> {
    /// The whole value, by the name that messages give it.
    Root(&'static str),
    /// A member.
    Field(&'p Path<'p>, &'p str),
    /// An item of an array.
    Index(&'p Path<'p>, usize),
}

impl Path<'_> {
    /// The path of a member.
    #[must_use]
    pub const fn field<'p>(&'p self, name: &'p str) -> Path<'p> {
        Path::Field(self, name)
    }

    /// The path of an item.
    #[must_use]
    pub const fn index(&self, index: usize) -> Path<'_> {
        Path::Index(self, index)
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Path::Root(name) => f.write_str(name),
            Path::Field(parent, name) => write!(f, "{parent}.{name}"),
            Path::Index(parent, index) => write!(f, "{parent}[{index}]"),
        }
    }
}

/// The members of an object.
pub type Members<'a> = [(Cow<'a, str>, Json<'a>)];

/// The members of `value`.
///
/// # Errors
/// When it is no object.
pub fn record<'v, 'a>(path: &Path<'_>, value: &'v Json<'a>) -> Result<&'v Members<'a>, Error> {
    match value {
        Json::Object(members) => Ok(members),
        _ => Err(invalid(path, "must be an object")),
    }
}

/// The members of `value`, which must have every `required` one and none that is not `allowed`.
///
/// # Errors
/// Names the first unknown or missing field.
pub fn exact<'v, 'a>(
    path: &Path<'_>,
    value: &'v Json<'a>,
    allowed: &[&str],
    required: &[&str],
) -> Result<&'v Members<'a>, Error> {
    let members = record(path, value)?;
    if let Some((unknown, _)) = members
        .iter()
        .find(|(name, _)| !allowed.contains(&name.as_ref()))
    {
        let mut quoted = String::new();
        crate::presentation::json::write_string(unknown, &mut quoted);
        return Err(invalid(path, &format!("contains unknown field {quoted}")));
    }
    for name in required {
        if member(members, name).is_none() {
            return Err(invalid(&path.field(name), "is required"));
        }
    }
    Ok(members)
}

/// A string that is not blank.
///
/// # Errors
/// When the member is present and is something else.
pub fn optional_text<'v>(
    path: &Path<'_>,
    members: &'v Members<'_>,
    name: &str,
) -> Result<Option<&'v str>, Error> {
    match member(members, name) {
        None => Ok(None),
        Some(value) => non_empty(&path.field(name), value).map(Some),
    }
}

/// A member that must be a string that is not blank.
///
/// # Errors
/// When it is absent or something else.
pub fn text<'v>(path: &Path<'_>, members: &'v Members<'_>, name: &str) -> Result<&'v str, Error> {
    optional_text(path, members, name)?.ok_or_else(|| invalid(&path.field(name), "is required"))
}

/// `value` as a string that is not blank.
///
/// # Errors
/// When it is something else.
pub fn non_empty<'v>(path: &Path<'_>, value: &'v Json<'_>) -> Result<&'v str, Error> {
    match value.as_str() {
        Some(text) if !is_blank(text) => Ok(text),
        _ => Err(invalid(path, "must be a non-empty string")),
    }
}

/// A member that may be a boolean; absent is `false`.
///
/// # Errors
/// When it is something else.
pub fn flag(path: &Path<'_>, members: &Members<'_>, name: &str) -> Result<bool, Error> {
    match member(members, name) {
        None => Ok(false),
        Some(Json::Bool(value)) => Ok(*value),
        Some(_) => Err(invalid(&path.field(name), "must be a boolean")),
    }
}

/// A member that may be one of `choices`.
///
/// # Errors
/// When it is something else.
pub fn choice<'c>(
    path: &Path<'_>,
    members: &Members<'_>,
    name: &str,
    choices: &[&'c str],
) -> Result<Option<&'c str>, Error> {
    let Some(value) = member(members, name) else {
        return Ok(None);
    };
    let found = value
        .as_str()
        .and_then(|text| choices.iter().find(|choice| **choice == text));
    match found {
        Some(choice) => Ok(Some(choice)),
        None => Err(invalid(
            &path.field(name),
            &format!("must be one of {}", quoted(choices)),
        )),
    }
}

/// `"a", "b"`.
pub fn quoted(choices: &[&str]) -> String {
    choices
        .iter()
        .map(|choice| format!("\"{choice}\""))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A member that may be a safe integer of at least `least`.
///
/// # Errors
/// When it is something else.
pub fn safe_integer(
    path: &Path<'_>,
    members: &Members<'_>,
    name: &str,
    least: u64,
) -> Result<Option<u64>, Error> {
    let Some(value) = member(members, name) else {
        return Ok(None);
    };
    if let Json::Number(number) = value {
        // Exact: the range check comes first, and both bounds are integers that an f64 holds.
        #[allow(
            clippy::cast_precision_loss,
            clippy::cast_sign_loss,
            clippy::cast_possible_truncation
        )]
        if number.fract() == 0.0 && *number >= least as f64 && *number <= MAX_SAFE_INTEGER as f64 {
            return Ok(Some(*number as u64));
        }
    }
    let sign = if least == 0 {
        "non-negative"
    } else {
        "positive"
    };
    Err(invalid(
        &path.field(name),
        &format!("must be a {sign} safe integer"),
    ))
}

/// `minLength` and `maxLength`: non-negative safe integers in order.
///
/// # Errors
/// When one is something else, or the least exceeds the most.
pub fn length_bounds(
    path: &Path<'_>,
    members: &Members<'_>,
) -> Result<(Option<u64>, Option<u64>), Error> {
    let least = safe_integer(path, members, "minLength", 0)?;
    let most = safe_integer(path, members, "maxLength", 0)?;
    if let (Some(least), Some(most)) = (least, most)
        && least > most
    {
        return Err(invalid(
            &path.field("minLength"),
            "must not exceed maxLength",
        ));
    }
    Ok((least, most))
}

/// An array; `rule` says which.
///
/// # Errors
/// When it is none.
pub fn array<'v, 'a>(
    path: &Path<'_>,
    value: &'v Json<'a>,
    rule: &str,
) -> Result<&'v [Json<'a>], Error> {
    match value {
        Json::Array(items) => Ok(items),
        _ => Err(invalid(path, rule)),
    }
}

/// A field or option id: `[A-Za-z][A-Za-z0-9._-]*`.
///
/// # Errors
/// When it is something else.
pub fn local_id<'v>(path: &Path<'_>, members: &'v Members<'_>) -> Result<&'v str, Error> {
    let id = text(path, members, "id")?;
    let mut bytes = id.bytes();
    let first = bytes.next().is_some_and(|byte| byte.is_ascii_alphabetic());
    if first && bytes.all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-'))
    {
        Ok(id)
    } else {
        Err(invalid(
            &path.field("id"),
            "must match [A-Za-z][A-Za-z0-9._-]*",
        ))
    }
}
