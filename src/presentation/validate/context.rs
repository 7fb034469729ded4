//! The context that the Host binds to each request (spec: presentation, Request identity and scope; P2).

use super::record::{Members, Path, optional_text, record, text};
use super::{date_time, invalid};
use crate::presentation::error::Error;
use crate::presentation::json::{Json, member};

/// The names of the context members, which no consumer may set.
pub const FIELDS: [&str; 4] = ["requestId", "invocationId", "origin", "deadline"];

/// The context of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context<'v> {
    /// Unique within the invocation.
    pub request_id: &'v str,
    /// The opaque reference that the Host issued.
    pub invocation_id: &'v str,
    /// The participant that asks.
    pub origin: &'v str,
    /// RFC 3339 date-time after which the request expires.
    pub deadline: Option<&'v str>,
}

/// Reads the context members of a request.
///
/// # Errors
/// Names the member that is missing or wrong.
pub fn read<'v>(path: &Path<'_>, value: &'v Json<'_>) -> Result<Context<'v>, Error> {
    members(path, record(path, value)?)
}

/// As [`read`], from members.
///
/// # Errors
/// Names the member that is missing or wrong.
pub fn members<'v>(path: &Path<'_>, members: &'v Members<'_>) -> Result<Context<'v>, Error> {
    Ok(Context {
        request_id: text(path, members, "requestId")?,
        invocation_id: text(path, members, "invocationId")?,
        origin: text(path, members, "origin")?,
        deadline: date(path, members, "deadline")?,
    })
}

/// A member that may be an RFC 3339 date-time.
///
/// # Errors
/// When it is something else.
pub fn date<'v>(
    path: &Path<'_>,
    members: &'v Members<'_>,
    name: &str,
) -> Result<Option<&'v str>, Error> {
    let Some(value) = member(members, name) else {
        return Ok(None);
    };
    match value.as_str() {
        Some(text) if date_time::parse(text).is_some() => Ok(Some(text)),
        _ => Err(invalid(&path.field(name), "must be an RFC 3339 date-time")),
    }
}

/// Validates an invocation scope: `{invocationId, origin, deadline?}`. Its `nextRequestId` is a function and stays in JavaScript.
///
/// # Errors
/// Names the member that is missing or wrong.
pub fn scope(value: &Json<'_>) -> Result<(), Error> {
    let path = Path::Root("Presentation invocation scope");
    let members = record(&path, value)?;
    text(&path, members, "invocationId")?;
    text(&path, members, "origin")?;
    date(&path, members, "deadline")?;
    Ok(())
}

/// Validates one request id: `{requestId}`.
///
/// # Errors
/// When it is no non-empty string.
pub fn request_id(value: &Json<'_>) -> Result<(), Error> {
    let path = Path::Root("Presentation");
    optional_text(&path, record(&path, value)?, "requestId")?
        .map(|_| ())
        .ok_or_else(|| invalid(&path.field("requestId"), "is required"))
}
