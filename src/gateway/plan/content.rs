//! Content of a person's message that is more than plain text: files by their signed URLs, in order with text
//! (spec: gateway, 配置; G16).

use crate::agui::{Content, Json, Part};
use crate::gateway::effect::{ContentBlock, FileKind, SentFile};
use crate::gateway::error::{Code, GatewayError};
use crate::gateway::ids::ThreadKey;
use crate::gateway::refusal::refuse;
use crate::gateway::request::content::text_of;
use crate::gateway::request::content::{is_plain, signed_url};
use crate::gateway::url_key::UrlKey;

/// Content of a new message.
#[derive(Debug)]
pub(crate) enum NewContent {
    /// Plain text parts, in order.
    Texts(Vec<String>),
    /// Parts that the log would not keep by itself.
    Parts(Parts),
}

/// The parts of one message, each file opened.
#[derive(Debug)]
pub(crate) struct Parts {
    /// The AG-UI parts as they were accepted, JSON.
    pub(crate) json: String,
    /// What the agent gets.
    pub(crate) blocks: Vec<ContentBlock>,
    /// The files, in order.
    pub(crate) files: Vec<SentFile>,
}

impl NewContent {
    /// Opens what a message brings.
    ///
    /// # Errors
    /// `FILE_FORBIDDEN` for a file that is not of this thread.
    pub(crate) fn open(
        content: &Content<'_>,
        key: &UrlKey,
        owner: &ThreadKey,
    ) -> Result<Self, GatewayError> {
        match content {
            Content::Text(text) => Ok(Self::Texts(vec![text.clone().into_owned()])),
            Content::Parts(parts) if parts.iter().all(is_plain) => Ok(Self::Texts(
                parts
                    .iter() // Providers refuse an empty block.
                    .filter_map(text_of)
                    .filter(|text| !text.is_empty())
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
