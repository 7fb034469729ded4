//! Content of user and Tool messages: text, or parts.

use std::borrow::Cow;

use serde::de::MapAccess;

use super::json::{Json, ObjectWriter, write_array, write_string};
use super::read::{Bad, Member, ReadObject, Slot, walk_document};

/// Containers around the elements of `messages[].content`.
const PARTS_DEPTH: usize = 3;
/// Containers around `messages[].content[].source`.
const SOURCE_DEPTH: usize = 5;

/// Content of a user message; since 1.0 also of a Tool message.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Content<'a> {
    /// Plain text, may be empty.
    Text(Cow<'a, str>),
    /// Parts in the order of the sender, may be none.
    Parts(Vec<Part<'a>>),
}

/// One part of a content.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Part<'a> {
    /// Text.
    Text {
        /// The text, may be empty.
        text: Cow<'a, str>,
        /// Id of the part (1.0).
        id: Option<Cow<'a, str>>,
        /// Any value but `null` (1.0).
        metadata: Option<Json<'a>>,
    },
    /// Image, audio, video or document.
    Media {
        /// What it is.
        kind: MediaKind,
        /// Where it is.
        source: Source<'a>,
        /// Id of the part (1.0).
        id: Option<Cow<'a, str>>,
        /// Any value, `null` included.
        metadata: Option<Json<'a>>,
    },
    /// The form that 0.0.x also knows. At least one of `id`, `url` and `data` is there and not empty.
    Binary {
        /// Media type.
        mime_type: Cow<'a, str>,
        /// Id of an uploaded file.
        id: Option<Cow<'a, str>>,
        /// Address of the bytes, not checked.
        url: Option<Cow<'a, str>>,
        /// Base64, not checked.
        data: Option<Cow<'a, str>>,
        /// Name of the file.
        filename: Option<Cow<'a, str>>,
    },
}

/// Kind of a media part.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum MediaKind {
    Image,
    Audio,
    Video,
    Document,
}

impl MediaKind {
    /// The `type` on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Document => "document",
        }
    }

    fn from_name(name: &str) -> Option<Self> {
        match name {
            "image" => Some(Self::Image),
            "audio" => Some(Self::Audio),
            "video" => Some(Self::Video),
            "document" => Some(Self::Document),
            _ => None,
        }
    }
}

/// Where the bytes of a media part are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Source<'a> {
    /// In the message.
    Data {
        /// Base64, not checked.
        value: Cow<'a, str>,
        /// Media type.
        mime_type: Cow<'a, str>,
    },
    /// At an address.
    Url {
        /// The address, not checked to be one.
        value: Cow<'a, str>,
        /// Media type.
        mime_type: Option<Cow<'a, str>>,
    },
    /// At a provider (1.0).
    File {
        /// The provider's id of the file.
        value: Cow<'a, str>,
        /// Name of the provider.
        provider: Option<Cow<'a, str>>,
        /// Media type.
        mime_type: Option<Cow<'a, str>>,
    },
}

impl<'a> Content<'a> {
    pub(super) fn read(slot: Slot<'a>) -> Result<Self, Bad> {
        match slot.array::<PartMembers<'a>>(PARTS_DEPTH) {
            Some(parts) => Ok(Self::Parts(parts?)),
            None => Ok(Self::Text(slot.string()?)),
        }
    }

    /// Reads content by itself, from JSON text without white space around it; `None` where it is none.
    #[must_use]
    pub fn parse(json: &'a str) -> Option<Self> {
        walk_document(json).ok()?;
        Self::read(Slot::of(json)).ok()
    }

    /// Appends the JSON of the content.
    pub fn write_json(&self, out: &mut String) {
        match self {
            Self::Text(text) => write_string(text, out),
            Self::Parts(parts) => write_array(parts, out, Part::write_json),
        }
    }
}

impl Part<'_> {
    /// Appends the JSON of the part.
    pub fn write_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        match self {
            Self::Text { text, id, metadata } => {
                object.string("type", "text");
                object.string_if("id", id.as_deref());
                object.string("text", text);
                object.json_if("metadata", *metadata);
            }
            Self::Media {
                kind,
                source,
                id,
                metadata,
            } => {
                object.string("type", kind.as_str());
                object.string_if("id", id.as_deref());
                source.write_json(object.key("source"));
                object.json_if("metadata", *metadata);
            }
            Self::Binary {
                mime_type,
                id,
                url,
                data,
                filename,
            } => {
                object.string("type", "binary");
                object.string("mimeType", mime_type);
                object.string_if("id", id.as_deref());
                object.string_if("url", url.as_deref());
                object.string_if("data", data.as_deref());
                object.string_if("filename", filename.as_deref());
            }
        }
        object.close();
    }
}

impl Source<'_> {
    fn write_json(&self, out: &mut String) {
        let mut object = ObjectWriter::open(out);
        match self {
            Self::Data { value, mime_type } => {
                object.string("type", "data");
                object.string("value", value);
                object.string("mimeType", mime_type);
            }
            Self::Url { value, mime_type } => {
                object.string("type", "url");
                object.string("value", value);
                object.string_if("mimeType", mime_type.as_deref());
            }
            Self::File {
                value,
                provider,
                mime_type,
            } => {
                object.string("type", "file");
                object.string("value", value);
                object.string_if("provider", provider.as_deref());
                object.string_if("mimeType", mime_type.as_deref());
            }
        }
        object.close();
    }
}

#[derive(Default)]
struct PartMembers<'a> {
    kind: Slot<'a>,
    id: Slot<'a>,
    text: Slot<'a>,
    source: Slot<'a>,
    metadata: Slot<'a>,
    mime_type: Slot<'a>,
    url: Slot<'a>,
    data: Slot<'a>,
    filename: Slot<'a>,
}

impl<'de> ReadObject<'de> for PartMembers<'de> {
    type Output = Part<'de>;

    fn member<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: Member<'_, A>,
    ) -> Result<(), A::Error> {
        let slot = match name {
            "type" => &mut self.kind,
            "id" => &mut self.id,
            "text" => &mut self.text,
            "source" => &mut self.source,
            "metadata" => &mut self.metadata,
            "mimeType" => &mut self.mime_type,
            "url" => &mut self.url,
            "data" => &mut self.data,
            "filename" => &mut self.filename,
            _ => return value.skip(),
        };
        *slot = value.slot()?;
        Ok(())
    }

    fn finish(self) -> Result<Part<'de>, Bad> {
        let kind = self.kind.string()?;
        match &*kind {
            // 0.0.59 does not know `id` and `metadata` here, so they are no ground for a refusal.
            "text" => Ok(Part::Text {
                text: self.text.string()?,
                id: self.id.string_if().ok().flatten(),
                metadata: self.metadata.non_null(),
            }),
            "binary" => {
                let part = Part::Binary {
                    mime_type: self.mime_type.string()?,
                    id: self.id.string_if()?,
                    url: self.url.string_if()?,
                    data: self.data.string_if()?,
                    filename: self.filename.string_if()?,
                };
                match &part {
                    Part::Binary { id, url, data, .. }
                        if [id, url, data]
                            .iter()
                            .any(|place| place.as_deref().is_some_and(|text| !text.is_empty())) =>
                    {
                        Ok(part)
                    }
                    _ => Err(Bad),
                }
            }
            name => Ok(Part::Media {
                kind: MediaKind::from_name(name).ok_or(Bad)?,
                source: self.source.members::<SourceMembers<'de>>(SOURCE_DEPTH)?,
                id: self.id.string_if().ok().flatten(),
                metadata: self.metadata.any(),
            }),
        }
    }
}

#[derive(Default)]
struct SourceMembers<'a> {
    kind: Slot<'a>,
    value: Slot<'a>,
    mime_type: Slot<'a>,
    provider: Slot<'a>,
}

impl<'de> ReadObject<'de> for SourceMembers<'de> {
    type Output = Source<'de>;

    fn member<A: MapAccess<'de>>(
        &mut self,
        name: &str,
        value: Member<'_, A>,
    ) -> Result<(), A::Error> {
        let slot = match name {
            "type" => &mut self.kind,
            "value" => &mut self.value,
            "mimeType" => &mut self.mime_type,
            "provider" => &mut self.provider,
            _ => return value.skip(),
        };
        *slot = value.slot()?;
        Ok(())
    }

    fn finish(self) -> Result<Source<'de>, Bad> {
        let kind = self.kind.string()?;
        let value = self.value.string()?;
        match &*kind {
            "data" => Ok(Source::Data {
                value,
                mime_type: self.mime_type.string()?,
            }),
            "url" => Ok(Source::Url {
                value,
                mime_type: self.mime_type.string_if()?,
            }),
            "file" => Ok(Source::File {
                value,
                provider: self.provider.string_if()?,
                mime_type: self.mime_type.string_if()?,
            }),
            _ => Err(Bad),
        }
    }
}
