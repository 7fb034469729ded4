//! Requests of `OpenExternal`, `CopyText` and `Notification` (spec: presentation; P7).

use super::record::{Path, choice, exact, optional_text, text};
use super::schema::{AnswerSchema, Request};
use super::{context, invalid, request_label};
use crate::presentation::error::Error;
use crate::presentation::json::Json;
use crate::presentation::limits::Measure;
use crate::presentation::protocol::{Kind, Operation};
use crate::presentation::text_policy::utf16_len;
use url::Url;

/// Validates an `OpenExternal` request.
///
/// # Errors
/// Names what is wrong: the URI must be absolute and HTTP or HTTPS, and must be written without white space,
/// control characters or backslashes, which URL parsers repair in different ways.
pub fn open_external(value: &Json<'_>) -> Result<Request, Error> {
    let path = Path::Root(request_label(Kind::OpenExternal, None));
    let members = exact(
        &path,
        value,
        &["requestId", "invocationId", "origin", "deadline", "uri"],
        &["requestId", "invocationId", "origin", "uri"],
    )?;
    context::members(&path, members)?;
    let uri = text(&path, members, "uri")?;
    http_uri(&path.field("uri"), uri)?;
    Ok(receipt(Operation::OpenExternal, utf16_len(uri)))
}

/// Checks an absolute HTTP(S) URI.
///
/// # Errors
/// Names what is wrong.
pub fn http_uri(path: &Path<'_>, uri: &str) -> Result<Url, Error> {
    if uri
        .chars()
        .any(|c| c.is_whitespace() || c.is_control() || c == '\\')
    {
        return Err(invalid(
            path,
            "must not contain white space, control characters or backslashes",
        ));
    }
    let Ok(parsed) = Url::parse(uri) else {
        return Err(invalid(path, "must be an absolute URI"));
    };
    if !matches!(parsed.scheme(), "http" | "https") {
        return Err(invalid(path, "must be an HTTP(S) URI"));
    }
    // `http:host`, `http:/host` and `http:///host` are repaired by URL parsers; they are no absolute URIs.
    let scheme = parsed.scheme().len();
    let written = uri.get(scheme..).unwrap_or("");
    if !written.starts_with("://") || written.starts_with(":///") {
        return Err(invalid(path, "must be an absolute URI"));
    }
    Ok(parsed)
}

/// Validates a `CopyText` request.
///
/// # Errors
/// Names what is wrong; the text itself is never part of the message.
pub fn copy_text(value: &Json<'_>) -> Result<Request, Error> {
    let path = Path::Root(request_label(Kind::CopyText, None));
    let members = exact(
        &path,
        value,
        &[
            "requestId",
            "invocationId",
            "origin",
            "deadline",
            "text",
            "sensitivity",
        ],
        &["requestId", "invocationId", "origin", "text"],
    )?;
    context::members(&path, members)?;
    let content = text(&path, members, "text")?;
    choice(&path, members, "sensitivity", &["public", "private"])?;
    Ok(receipt(Operation::CopyText, utf16_len(content)))
}

/// Validates a `Notification` request.
///
/// # Errors
/// Names what is wrong.
pub fn notification(value: &Json<'_>) -> Result<Request, Error> {
    let path = Path::Root(request_label(Kind::Notification, None));
    let members = exact(
        &path,
        value,
        &[
            "requestId",
            "invocationId",
            "origin",
            "deadline",
            "text",
            "level",
            "deduplicationKey",
        ],
        &["requestId", "invocationId", "origin", "text"],
    )?;
    context::members(&path, members)?;
    let content = text(&path, members, "text")?;
    choice(&path, members, "level", &["info", "warning", "error"])?;
    let key = optional_text(&path, members, "deduplicationKey")?;
    let length = utf16_len(content).max(key.map_or(0, utf16_len));
    Ok(Request {
        deduplication_key: key.map(Into::into),
        ..receipt(Operation::Notification, length)
    })
}

fn receipt(operation: Operation, text: u64) -> Request {
    Request {
        operation,
        answer: AnswerSchema::Receipt,
        measure: Measure {
            text,
            ..Measure::default()
        },
        deduplication_key: None,
    }
}
