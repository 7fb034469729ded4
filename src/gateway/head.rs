//! The head of an HTTP request, as the gateway reads it (spec: gateway, HTTP 与 run 语义).

use percent_encoding::percent_decode_str;

/// The head of an HTTP request. Header values come one by one, as the client sent them.
#[derive(Debug, Clone, Default)]
pub struct Head<'a> {
    /// Method, upper case.
    pub method: &'a str,
    /// Raw path behind the route base: empty for the run endpoint itself.
    pub rest: &'a str,
    /// Raw query, without its question mark.
    pub query: &'a str,
    /// Values of `authorization`.
    pub authorization: &'a [String],
    /// Values of the tenant header.
    pub tenant: &'a [String],
    /// Values of the user header.
    pub user: &'a [String],
    /// Value of `content-type`.
    pub content_type: Option<&'a str>,
    /// Value of `content-length`.
    pub content_length: Option<&'a str>,
    /// Values of `x-file-name`.
    pub file_name: &'a [String],
}

/// A percent-encoded piece of a head as text; `None` where it is not UTF-8.
pub(crate) fn decode(piece: &str) -> Option<String> {
    let decoded = percent_decode_str(piece).decode_utf8().ok()?;
    Some(decoded.into_owned())
}
