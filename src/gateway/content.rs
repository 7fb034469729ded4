//! Content of a person's message that is more than plain text: files by their signed URLs, in order with text
//! (spec: gateway, 配置; G16).

use serde_json::value::RawValue;

use super::config::RequestLimits;
use super::digest::Digester;
use super::effect::ContentBlock;
use super::error::{Code, GatewayError};
use super::files::refuse;
use super::ids::ThreadKey;
use super::signed_url::{FileKind, SignedUrl, UrlKey};
use crate::agui::{Content, Json, Part, Source};

/// Content of a new message.
#[derive(Debug)]
pub(super) enum NewContent {
    /// Plain text parts, in order.
    Texts(Vec<String>),
    /// Parts that the log would not keep by itself.
    Parts(Parts),
}

/// The parts of one message, each file opened.
#[derive(Debug)]
pub(super) struct Parts {
    /// The AG-UI parts as they were accepted, JSON.
    pub(super) json: String,
    /// What the agent gets.
    pub(super) blocks: Vec<ContentBlock>,
    /// The files, in order.
    pub(super) files: Vec<SentFile>,
}

/// A file that a message carries.
#[derive(Debug, Clone, serde::Serialize)]
pub struct SentFile {
    /// Where the Host keeps it.
    pub kind: FileKind,
    /// The Host's own reference.
    pub reference: Box<RawValue>,
    /// Names its upload, where the Host keeps that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
}

impl NewContent {
    /// Opens what a message brings.
    ///
    /// # Errors
    /// `FILE_FORBIDDEN` for a file that is not of this thread.
    pub(super) fn open(
        content: &Content<'_>,
        key: &UrlKey,
        owner: &ThreadKey,
    ) -> Result<Self, GatewayError> {
        match content {
            Content::Text(text) => Ok(Self::Texts(vec![text.clone().into_owned()])),
            Content::Parts(parts) if parts.iter().all(is_plain) => Ok(Self::Texts(
                parts
                    .iter()
                    .filter_map(super::seen::text_of)
                    .map(Into::into)
                    .collect(),
            )),
            Content::Parts(parts) => Parts::open(parts, key, owner).map(Self::Parts),
        }
    }
}

impl Parts {
    fn open(parts: &[Part<'_>], key: &UrlKey, owner: &ThreadKey) -> Result<Self, GatewayError> {
        let mut blocks = Vec::with_capacity(parts.len());
        let mut files = Vec::new();
        for part in parts {
            match part {
                // Providers refuse an empty block.
                Part::Text { text, .. } if text.is_empty() => {}
                Part::Text { text, .. } => blocks.push(ContentBlock::Text {
                    text: text.clone().into_owned(),
                }),
                Part::Media { .. } | Part::Binary { .. } => {
                    let token = signed_url(part)
                        .and_then(|url| url.open(key, owner))
                        .ok_or_else(|| refuse(Code::FileForbidden))?;
                    let attachment = token.reference.clone();
                    blocks.push(match token.kind {
                        FileKind::Image => ContentBlock::Image { attachment },
                        FileKind::File => ContentBlock::File { attachment },
                    });
                    files.push(SentFile {
                        kind: token.kind,
                        reference: token.reference,
                        receipt: token.receipt,
                    });
                }
            }
        }
        let mut json = String::new();
        Content::Parts(parts.to_vec()).write_json(&mut json);
        Ok(Self {
            // Metadata came as the client wrote it, perhaps over several lines.
            json: Json::encoded(&json).to_compact(),
            blocks,
            files,
        })
    }
}

/// Checks the content of a person's message as far as that needs no thread.
///
/// # Errors
/// `UNSUPPORTED_MESSAGE_CONTENT` for what is empty or no file of this gateway, `MESSAGE_LIMIT_EXCEEDED` for too many
/// files.
pub(super) fn check(content: &Content<'_>, limits: &RequestLimits) -> Result<(), GatewayError> {
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
        .filter_map(|part| super::seen::text_of(part))
        .all(str::is_empty);
    if files.is_empty() && empty {
        return unsupported("a user message is empty");
    }
    Ok(())
}

/// Digests a part that is no text: what it is shown as and the signature of its URL. Prefixes that proxies put before
/// the URL, and metadata, do not count: clients keep neither exactly.
pub(super) fn digest_file(part: &Part<'_>, digester: &mut Digester) {
    // No text has a missing length.
    digester.optional(None);
    if let Part::Media { kind, .. } = part {
        digester.piece(kind.as_str().as_bytes());
    }
    if let Some(url) = signed_url(part) {
        digester.piece(url.signature());
    }
}

/// Whether the log keeps the part exactly by its text.
fn is_plain(part: &Part<'_>) -> bool {
    matches!(
        part,
        Part::Text {
            id: None,
            metadata: None,
            ..
        }
    )
}

fn signed_url(part: &Part<'_>) -> Option<SignedUrl> {
    match part {
        Part::Media {
            source: Source::Url { value, .. },
            ..
        } => SignedUrl::parse(value),
        _ => None,
    }
}
