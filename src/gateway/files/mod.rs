//! Uploads and downloads: what a head must say, where a file goes, what its answer is (spec: gateway, 配置; G16).

pub(crate) mod signed_url;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::gateway::config::Config;
use crate::gateway::effect::FileKind;
use crate::gateway::error::{Code, GatewayError};
use crate::gateway::head::{Head, decode};
use crate::gateway::ids::{Principal, ThreadKey};
use crate::gateway::refusal::refuse;
use signed_url::{SignedUrl, Token};

/// Longest name of a file, in UTF-8 bytes: what file systems take.
const MAX_NAME_BYTES: usize = 255;
/// Longest media type, in bytes.
const MAX_MEDIA_TYPE_BYTES: usize = 127;
/// The media type of bytes that nobody named.
const ANY_BYTES: &str = "application/octet-stream";
/// Media types of the Host's image store.
const IMAGES: [&str; 4] = ["image/png", "image/jpeg", "image/webp", "image/gif"];
/// Everything but the attribute characters of RFC 5987.
const NOT_ATTRIBUTE: AsciiSet = NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// A file that a client announces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadHead {
    /// The thread that it is for.
    pub thread_id: String,
    /// Its name, for people.
    pub name: String,
    /// Its media type, lower case, without parameters.
    pub media_type: String,
    /// Its exact size in bytes.
    pub length: u64,
}

/// What the Host can hold at this moment.
#[derive(Debug, Clone, Copy)]
pub struct Stores {
    /// Largest image in bytes, where it has an image store.
    pub max_image_bytes: Option<u64>,
    /// Files of any type.
    pub files: FileStore,
}

/// Whether the Host holds files of any type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileStore {
    /// It does.
    Present,
    /// It does not: generation A.
    Missing,
}

/// A file that the Host has stored.
#[derive(Debug)]
pub struct StoredFile {
    /// Where.
    pub kind: FileKind,
    /// The Host's own reference.
    pub reference: Box<RawValue>,
    /// Names the upload until it is sent, where the Host keeps that.
    pub receipt: Option<String>,
    /// SHA-256 of the bytes, in hex.
    pub sha256: String,
}

/// An uploaded file that its owner asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileGrant {
    /// Where it is stored.
    pub kind: FileKind,
    /// The Host's own reference, JSON.
    pub reference: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its media type.
    pub media_type: String,
    /// Value of `content-disposition`.
    pub disposition: String,
}

impl UploadHead {
    /// Checks the head of an upload.
    ///
    /// # Errors
    /// The first rule that it breaks: announced length, name, media type.
    pub(crate) fn check(
        config: &Config,
        thread_id: String,
        head: &Head<'_>,
    ) -> Result<Self, GatewayError> {
        let length = announced_length(config.max_file_bytes, head.content_length)?;
        let name = file_name(head.file_name).ok_or_else(|| {
            GatewayError::new(
                Code::InvalidFileName,
                format!(
                    "header x-file-name must carry one percent-encoded UTF-8 name of 1 to {MAX_NAME_BYTES} bytes \
                     without path separators and control characters"
                ),
            )
        })?;
        Ok(Self {
            thread_id,
            name,
            media_type: media_type(head.content_type)?,
            length,
        })
    }

    /// Where the Host shall keep it.
    ///
    /// # Errors
    /// `HOST_SERVICE_MISSING` where it cannot hold the file, `FILE_TOO_LARGE` for an image that only a file store
    /// could hold.
    pub fn kind(&self, stores: Stores) -> Result<FileKind, GatewayError> {
        let image = stores
            .max_image_bytes
            .filter(|_| IMAGES.contains(&self.media_type.as_str()));
        match (image, stores.files) {
            (Some(max), _) if self.length <= max => Ok(FileKind::Image),
            (_, FileStore::Present) => Ok(FileKind::File),
            (Some(max), FileStore::Missing) => Err(GatewayError::new(
                Code::FileTooLarge,
                format!("the Host takes images of at most {max} bytes"),
            )),
            (None, FileStore::Missing) => Err(refuse(Code::HostServiceMissing)),
        }
    }

    /// The answer to an upload: a part for the `content` of a user message, as JSON.
    #[must_use]
    pub fn answer(&self, config: &Config, principal: Principal, stored: StoredFile) -> String {
        let owner = ThreadKey {
            principal,
            thread_id: self.thread_id.clone(),
        };
        let token = Token {
            kind: stored.kind,
            reference: stored.reference,
            receipt: stored.receipt,
            name: self.name.clone(),
            media_type: self.media_type.clone(),
            size: self.length,
        };
        let url = SignedUrl::sign(&config.url_key, &owner, &stored.sha256, &token);
        let part = UploadedPart {
            kind: part_kind(&self.media_type),
            source: UrlSource {
                kind: "url",
                value: format!("{}{url}", config.path),
                mime_type: &self.media_type,
            },
            metadata: UploadMetadata {
                filename: &self.name,
                size: self.length,
                sha256: &stored.sha256,
            },
        };
        serde_json::to_string(&part).unwrap_or_default()
    }
}

#[derive(Serialize)]
struct UploadedPart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    source: UrlSource<'a>,
    metadata: UploadMetadata<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UrlSource<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    value: String,
    mime_type: &'a str,
}

#[derive(Serialize)]
struct UploadMetadata<'a> {
    filename: &'a str,
    size: u64,
    sha256: &'a str,
}

impl FileGrant {
    /// Checks the URL of an uploaded file.
    ///
    /// # Errors
    /// `FILE_FORBIDDEN` unless it is signed for this thread of this principal.
    pub(crate) fn check(
        config: &Config,
        principal: &Principal,
        thread_id: String,
        file: &str,
        query: &str,
    ) -> Result<Self, GatewayError> {
        let owner = ThreadKey {
            principal: principal.clone(),
            thread_id: thread_id.clone(),
        };
        let token = SignedUrl::of(thread_id, file, query)
            .and_then(|url| url.open(&config.url_key, &owner))
            .ok_or_else(|| refuse(Code::FileForbidden))?;
        Ok(Self {
            kind: token.kind,
            reference: token.reference.get().to_owned(),
            size: token.size,
            disposition: disposition(&token.name),
            media_type: token.media_type,
        })
    }
}

/// The `content-disposition` of a download: by its plain name, and by its exact one (RFC 6266, RFC 5987).
pub(crate) fn disposition(name: &str) -> String {
    let name: String = name.chars().filter(|char| !char.is_control()).collect();
    let name = match name.trim() {
        "" => "download",
        name => name,
    };
    let plain: String = name
        .chars()
        .map(|char| match char {
            '"' | '\\' | '%' => '_',
            char if char.is_ascii() => char,
            _ => '_',
        })
        .collect();
    let exact = utf8_percent_encode(name, &NOT_ATTRIBUTE);
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{exact}")
}

fn announced_length(max: u64, announced: Option<&str>) -> Result<u64, GatewayError> {
    let announced = announced.ok_or_else(|| {
        GatewayError::new(
            Code::LengthRequired,
            "an upload announces its content-length",
        )
    })?;
    let digits = !announced.is_empty() && announced.bytes().all(|byte| byte.is_ascii_digit());
    if !digits {
        return Err(GatewayError::new(
            Code::InvalidContentLength,
            "content-length must be a number of bytes",
        ));
    }
    announced
        .parse()
        .ok()
        .filter(|length| *length <= max)
        .ok_or_else(|| {
            GatewayError::new(
                Code::FileTooLarge,
                format!("a file may hold at most {max} bytes"),
            )
        })
}

fn file_name(values: &[String]) -> Option<String> {
    let [encoded] = values else {
        return None;
    };
    let whole = encoded.is_ascii()
        && encoded.split('%').skip(1).all(|escape| {
            escape
                .as_bytes()
                .get(..2)
                .is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
        });
    let name = decode(encoded).filter(|_| whole)?;
    let fits = !name.trim().is_empty() && name.len() <= MAX_NAME_BYTES;
    let plain = !name.contains(['/', '\\']) && !name.chars().any(char::is_control);
    (fits && plain && name != "." && name != "..").then_some(name)
}

fn media_type(content_type: Option<&str>) -> Result<String, GatewayError> {
    let Some(content_type) = content_type else {
        return Ok(ANY_BYTES.into());
    };
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    let token = |part: &str| {
        !part.is_empty()
            && part
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"!#$&^_.+-".contains(&byte))
    };
    let whole = essence.len() <= MAX_MEDIA_TYPE_BYTES
        && essence
            .split_once('/')
            .is_some_and(|(kind, subtype)| token(kind) && token(subtype));
    if whole {
        Ok(essence.to_ascii_lowercase())
    } else {
        Err(GatewayError::new(
            Code::UnsupportedMediaType,
            "content-type must be a media type",
        ))
    }
}

/// The AG-UI part that shows a file of this media type.
fn part_kind(media_type: &str) -> &'static str {
    match media_type.split('/').next() {
        Some("image") => "image",
        Some("audio") => "audio",
        Some("video") => "video",
        _ => "document",
    }
}

#[cfg(test)]
mod tests;
