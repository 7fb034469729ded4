//! Which messages a thread has accepted: id to digest of the content (G8).

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::content::digest_file;
use super::digest::{Digest, DigestKey};
use crate::agui::{Content, Part, ToolMessage};
use crate::projection::FrontendResult;

/// The accepted messages of a thread.
#[derive(Debug, Default)]
pub(super) struct Seen {
    digests: HashMap<Box<str>, Digest>,
    /// Accepted user messages that the log does not hold yet, encoded, in order.
    pending: Vec<(Box<str>, String)>,
}

/// How a message compares with what was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Never seen.
    New,
    /// Accepted before, with the same content.
    Known,
    /// Accepted before, with other content.
    Conflict,
}

impl Seen {
    pub(super) fn compare(&self, id: &str, digest: Digest) -> Verdict {
        match self.digests.get(id) {
            None => Verdict::New,
            Some(known) if *known == digest => Verdict::Known,
            Some(_) => Verdict::Conflict,
        }
    }

    /// The log holds the message.
    pub(super) fn record(&mut self, id: &str, digest: Digest) {
        self.digests.insert(id.into(), digest);
        self.pending.retain(|(pending, _)| **pending != *id);
    }

    /// The message is accepted; the log will hold it. `encoded` is how clients see it until then.
    pub(super) fn accept(&mut self, id: &str, digest: Digest, encoded: String) {
        self.digests.insert(id.into(), digest);
        self.pending.push((id.into(), encoded));
    }

    /// The message never reached the log: its id may be used again.
    pub(super) fn release(&mut self, id: &str) {
        let before = self.pending.len();
        self.pending.retain(|(pending, _)| **pending != *id);
        if self.pending.len() < before {
            self.digests.remove(id);
        }
    }

    /// Forgets every message that never reached the log. Returns whether there was one.
    pub(super) fn release_all(&mut self) -> bool {
        let pending = std::mem::take(&mut self.pending);
        for (id, _) in &pending {
            self.digests.remove(id);
        }
        !pending.is_empty()
    }

    /// Accepted messages that the log does not hold, as clients see them.
    pub(super) fn pending(&self) -> impl Iterator<Item = &str> {
        self.pending.iter().map(|(_, encoded)| encoded.as_str())
    }
}

impl DigestKey {
    /// The digest of a user message's content. A string and one text part are the same content, so that the log, which knows
    /// parts only, gives the same digest after a restart.
    pub(super) fn user(self, content: &Content<'_>) -> Digest {
        let parts = match content {
            Content::Text(text) => return self.user_texts(std::iter::once(&**text)),
            Content::Parts(parts) => parts,
        };
        let mut digester = self.digester();
        digester.piece(b"user");
        for part in parts {
            match text_of(part) {
                Some(text) => digester.piece(text.as_bytes()),
                None => digest_file(part, &mut digester),
            }
        }
        digester.finish()
    }

    /// The digest of a user message's text parts.
    pub(super) fn user_texts<'a>(self, texts: impl Iterator<Item = &'a str>) -> Digest {
        let mut digester = self.digester();
        digester.piece(b"user");
        texts.for_each(|text| digester.piece(text.as_bytes()));
        digester.finish()
    }

    /// The digest of a browser's Tool result.
    pub(super) fn result(self, message: &ToolMessage<'_>) -> Digest {
        self.result_parts(
            &message.tool_call_id,
            &result_text(message),
            message.encrypted_value.as_deref(),
            message.subagent_run_id.as_deref(),
            metadata_of(message).as_ref(),
        )
    }

    /// The digest of a browser's Tool result as the log keeps it.
    pub(super) fn durable_result(self, call: &str, text: &str, own: &FrontendResult) -> Digest {
        self.result_parts(
            call,
            text,
            own.encrypted_value.as_deref(),
            own.subagent_run_id.as_deref(),
            own.metadata.as_ref(),
        )
    }

    fn result_parts(
        self,
        call: &str,
        text: &str,
        encrypted_value: Option<&str>,
        subagent_run_id: Option<&str>,
        metadata: Option<&Map<String, Value>>,
    ) -> Digest {
        let mut digester = self.digester();
        digester.piece(b"tool");
        digester.piece(call.as_bytes());
        digester.piece(text.as_bytes());
        digester.optional(encrypted_value);
        digester.optional(subagent_run_id);
        // The map is ordered by key, so the text is canonical.
        let metadata = metadata.map(|metadata| serde_json::to_string(metadata).unwrap_or_default());
        digester.optional(metadata.as_deref());
        digester.finish()
    }
}

/// A text part's text.
pub(super) fn text_of<'a>(part: &'a Part<'_>) -> Option<&'a str> {
    match part {
        Part::Text { text, .. } => Some(text),
        _ => None,
    }
}

/// What the model sees of a browser's result: its error where it has one.
pub(super) fn result_text(message: &ToolMessage<'_>) -> String {
    let content = match &message.content {
        Content::Text(text) => text.clone().into_owned(),
        Content::Parts(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(text_of).collect();
            texts.join("\n")
        }
    };
    match &message.error {
        Some(error) if !error.is_empty() => format!("Error: {error}"),
        _ => content,
    }
}

/// A Tool message's metadata as a tree.
pub(super) fn metadata_of(message: &ToolMessage<'_>) -> Option<Map<String, Value>> {
    match message.metadata?.to_value() {
        Ok(Value::Object(metadata)) => Some(metadata),
        _ => None,
    }
}
