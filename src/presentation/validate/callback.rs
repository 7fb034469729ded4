//! Requests, announcements and results of `ExternalRedirect` (spec: presentation, ExternalRedirect; P8).

use super::record::{Path, array, exact, optional_text, record, text};
use super::schema::{AnswerSchema, Request};
use super::{context, invalid, request_label};
use crate::presentation::error::Error;
use crate::presentation::json::{Json, member};
use crate::presentation::limits::Measure;
use crate::presentation::protocol::{Kind, Operation};
use crate::presentation::text_policy::utf16_len;
use url::Url;

/// Whether a loopback URI must spell its TCP port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Port {
    /// It must.
    Explicit,
    /// The scheme's default will do.
    Any,
}

/// Validates a request.
///
/// # Errors
/// Names what is wrong.
pub fn request(value: &Json<'_>) -> Result<Request, Error> {
    let path = Path::Root(request_label(Kind::ExternalRedirect, None));
    let members = exact(
        &path,
        value,
        &[
            "requestId",
            "invocationId",
            "origin",
            "deadline",
            "mode",
            "exactRedirectUri",
        ],
        &["requestId", "invocationId", "origin", "mode"],
    )?;
    context::members(&path, members)?;
    if text(&path, members, "mode")? != "http-get" {
        return Err(invalid(&path.field("mode"), "must be \"http-get\""));
    }
    let exact = optional_text(&path, members, "exactRedirectUri")?;
    if let Some(uri) = exact {
        loopback_uri(&path.field("exactRedirectUri"), uri, Port::Explicit)?;
    }
    Ok(Request {
        operation: Operation::ExternalRedirect,
        answer: AnswerSchema::Redirect {
            exact: exact.map(Into::into),
        },
        measure: Measure {
            text: exact.map_or(0, utf16_len),
            ..Measure::default()
        },
        deduplication_key: None,
    })
}

/// Validates a `ready` event and gives its URI.
///
/// # Errors
/// Names what is wrong.
pub fn ready<'v>(value: &'v Json<'_>) -> Result<&'v str, Error> {
    let path = Path::Root("ExternalRedirect ready");
    let members = exact(
        &path,
        value,
        &["type", "redirectUri", "expiresAt"],
        &["type", "redirectUri"],
    )?;
    if text(&path, members, "type")? != "ready" {
        return Err(invalid(&path.field("type"), "must be \"ready\""));
    }
    let uri = text(&path, members, "redirectUri")?;
    loopback_uri(&path.field("redirectUri"), uri, Port::Any)?;
    context::date(&path, members, "expiresAt")?;
    Ok(uri)
}

/// Validates a submitted value: every name maps to all its values.
///
/// # Errors
/// Names what is wrong; neither names nor values of the query are part of the message.
pub fn value(path: &Path<'_>, value: &Json<'_>) -> Result<(), Error> {
    let members = exact(path, value, &["query"], &["query"])?;
    let query_path = path.field("query");
    let Some(query) = member(members, "query") else {
        return Ok(());
    };
    let problem = "must map names to arrays of strings";
    for (_, values) in record(&query_path, query)? {
        let values = array(&query_path, values, problem)?;
        if values.is_empty() || values.iter().any(|value| value.as_str().is_none()) {
            return Err(invalid(&query_path, problem));
        }
    }
    Ok(())
}

/// Checks an absolute loopback HTTP URI.
///
/// # Errors
/// Names what is wrong.
pub fn loopback_uri(path: &Path<'_>, uri: &str, port: Port) -> Result<Url, Error> {
    let parsed = super::operations::http_uri(path, uri)?;
    if parsed.scheme() != "http" {
        return Err(invalid(path, "must use HTTP"));
    }
    if !parsed.username().is_empty()
        || parsed.password().is_some()
        || uri.contains('@') && authority(uri).contains('@')
    {
        return Err(invalid(path, "must not contain user information"));
    }
    if !matches!(parsed.host_str(), Some("127.0.0.1" | "[::1]" | "localhost")) {
        return Err(invalid(path, "must target a loopback host"));
    }
    if uri.contains('#') {
        return Err(invalid(path, "must not contain a fragment"));
    }
    if port == Port::Explicit && explicit_port(authority(uri)).is_none() {
        return Err(invalid(path, "must include an explicit TCP port"));
    }
    Ok(parsed)
}

/// The authority as it is written.
fn authority(uri: &str) -> &str {
    let after = uri.split_once("//").map_or("", |(_, after)| after);
    after.split(['/', '?', '#']).next().unwrap_or("")
}

/// The port, if the authority is one of the loopback spellings followed by one.
fn explicit_port(authority: &str) -> Option<u16> {
    let (host, port) = authority.rsplit_once(':')?;
    let known = host == "127.0.0.1" || host == "[::1]" || host.eq_ignore_ascii_case("localhost");
    let digits = !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    port.parse()
        .ok()
        .filter(|port| known && digits && *port != 0)
}
