//! Validation of everything that crosses the boundary: one file a subject. All of it reads the same borrowed
//! [`Json`](super::json::Json), so that what was validated is what was snapshotted.

pub mod callback;
pub mod context;
pub mod date_time;
pub mod descriptor;
pub mod interaction;
pub mod operations;
pub mod record;
pub mod result;
pub mod schema;
pub mod spec;

#[cfg(test)]
mod tests;

use super::error::{Code, Error};
use super::json::Json;
use super::protocol::{Kind, Operation};
use context::Context;
use record::Path;
use schema::Request;

/// Validates a whole request of `kind`, its context included.
///
/// # Errors
/// `invalid-request` with the path of the first thing that is wrong.
pub fn request<'a>(kind: Kind, value: &Json<'a>) -> Result<Request, Error> {
    match kind {
        Kind::OpenExternal => operations::open_external(value),
        Kind::CopyText => operations::copy_text(value),
        Kind::Notification => operations::notification(value),
        Kind::UserInteraction => interaction::request(value),
        Kind::ExternalRedirect => callback::request(value),
    }
}

/// How messages name a request of `kind`, given what its `kind` member says.
#[must_use]
pub fn request_label(kind: Kind, interaction: Option<&str>) -> &'static str {
    match kind {
        Kind::OpenExternal => "OpenExternal request",
        Kind::CopyText => "CopyText request",
        Kind::Notification => "Notification request",
        Kind::ExternalRedirect => "ExternalRedirect request",
        Kind::UserInteraction => match interaction.and_then(Operation::parse_interaction) {
            Some(operation) => interaction_label(operation),
            None => "UserInteraction request",
        },
    }
}

/// How messages name a request of this interaction.
#[must_use]
pub const fn interaction_label(operation: Operation) -> &'static str {
    match operation {
        Operation::Question => "Question request",
        Operation::Approval => "Approval request",
        Operation::SecretInput => "SecretInput request",
        _ => "UserInteraction request",
    }
}

/// The context of a request, after [`request`] accepted it.
///
/// # Errors
/// As [`request`].
pub fn context<'v>(kind: Kind, value: &'v Json<'_>) -> Result<Context<'v>, Error> {
    let label = request_label(kind, value.get("kind").and_then(Json::as_str));
    context::read(&Path::Root(label), value)
}

/// Parses and validates the text of a request.
///
/// # Errors
/// As [`Json::parse`] and [`request`].
pub fn request_text(kind: Kind, text: &str) -> Result<Request, Error> {
    let value = parse_request(kind, text)?;
    request(kind, &value)
}

/// Parses the text of a request; messages name it by its interaction, as far as the text tells.
///
/// # Errors
/// As [`Json::parse`].
pub fn parse_request(kind: Kind, text: &str) -> Result<Json<'_>, Error> {
    let interaction = || {
        // JSON escapes quotes, so that this is a member and never part of a string.
        let written =
            |operation: &Operation| text.contains(&format!("\"kind\":\"{}\"", operation.as_str()));
        Operation::INTERACTIONS.into_iter().find(written)
    };
    Json::parse(text, request_label(kind, None)).or_else(|_| {
        Json::parse(
            text,
            request_label(kind, interaction().map(Operation::as_str)),
        )
    })
}

/// An error at `path` in a request.
pub(crate) fn invalid(path: &Path<'_>, problem: &str) -> Error {
    Error::at(Code::InvalidRequest, path, problem)
}
