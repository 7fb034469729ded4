//! Content of a person's message, as far as it can be judged by itself: text, and URLs of files (spec: gateway, 配置;
//! G16).

use crate::agui::{Content, Part, Source};
use crate::gateway::config::RequestLimits;
use crate::gateway::digest::Digester;
use crate::gateway::error::{Code, GatewayError};
use crate::gateway::files::signed_url::SignedUrl;

/// Checks the content of a person's message as far as that needs no thread.
///
/// # Errors
/// `UNSUPPORTED_MESSAGE_CONTENT` for what is empty or no file of this gateway, `MESSAGE_LIMIT_EXCEEDED` for too many
/// files.
pub(crate) fn check(content: &Content<'_>, limits: &RequestLimits) -> Result<(), GatewayError> {
    let unsupported = |what: &str| Err(GatewayError::new(Code::UnsupportedMessageContent, what));
    let parts = match content {
        Content::Text(text) if text.is_empty() => return unsupported("a user message is empty"),
        Content::Text(_) => return Ok(()),
        Content::Parts(parts) => parts,
    };
    let (texts, files): (Vec<_>, Vec<_>) = parts
        .iter()
        .partition(|part| matches!(part, Part::Text { .. }));
    if files.len() > limits.files_per_message {
        return Err(GatewayError::new(
            Code::MessageLimitExceeded,
            format!(
                "a message carries more than {} files",
                limits.files_per_message
            ),
        ));
    }
    if files.iter().any(|part| signed_url(part).is_none()) {
        return unsupported("parts of a user message are text or URLs that an upload has answered");
    }
    let empty = texts
        .iter()
        .filter_map(|part| text_of(part))
        .all(str::is_empty);
    if files.is_empty() && empty {
        return unsupported("a user message is empty");
    }
    Ok(())
}

/// A text part's text.
pub(crate) fn text_of<'a>(part: &'a Part<'_>) -> Option<&'a str> {
    match part {
        Part::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// Whether the log keeps the part exactly by its text.
pub(crate) fn is_plain(part: &Part<'_>) -> bool {
    matches!(
        part,
        Part::Text {
            id: None,
            metadata: None,
            ..
        }
    )
}

pub(crate) fn signed_url(part: &Part<'_>) -> Option<SignedUrl> {
    match part {
        Part::Media {
            source: Source::Url { value, .. },
            ..
        } => SignedUrl::parse(value),
        _ => None,
    }
}

/// Digests a part that is no text: what it is shown as and the signature of its URL. Prefixes that proxies put before
/// the URL, and metadata, do not count: clients keep neither exactly.
pub(crate) fn digest_file(part: &Part<'_>, digester: &mut Digester) {
    // No text has a missing length.
    digester.optional(None);
    if let Part::Media { kind, .. } = part {
        digester.piece(kind.as_str().as_bytes());
    }
    if let Some(url) = signed_url(part) {
        digester.piece(url.signature());
    }
}
