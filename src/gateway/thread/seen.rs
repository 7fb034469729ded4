//! Which messages a thread has accepted: id to digest of the content (G8).

use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::agui::{Content, ToolMessage};
use crate::gateway::digest::{Digest, DigestKey};
use crate::gateway::request::content::{digest_file, text_of};
use crate::projection::{FRONTEND_RESULT_KEY, FrontendResult, Original, ResultFields};

/// The accepted messages of a thread.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    accepted: HashMap<Box<str>, Accepted>,
    /// Accepted user messages that the log does not hold yet, encoded, in order.
    pending: Vec<(Box<str>, String)>,
}

/// What is the same message again.
#[derive(Debug)]
struct Accepted {
    /// As clients see it.
    digest: Digest,
    /// Of a browser's result: as the browser sent it.
    original: Option<Box<Original>>,
}

/// How a message compares with what was accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// Never seen.
    New,
    /// Accepted before, with the same content.
    Known,
    /// Accepted before, with other content.
    Conflict,
}

impl Seen {
    pub(crate) fn compare(&self, id: &str, digest: Digest) -> Verdict {
        match self.accepted.get(id) {
            None => Verdict::New,
            Some(known) if known.digest == digest => Verdict::Known,
            Some(_) => Verdict::Conflict,
        }
    }

    /// As [`Seen::compare`], for a browser's result: what a snapshot shows of it is the same message as what the browser
    /// sent (spec: gateway, HTTP 与 run 语义).
    pub(crate) fn compare_result(&self, digest: Digest, message: &ToolMessage<'_>) -> Verdict {
        match self.compare(&message.id, digest) {
            Verdict::Conflict if self.is_original(message) => Verdict::Known,
            verdict => verdict,
        }
    }

    fn is_original(&self, message: &ToolMessage<'_>) -> bool {
        self.accepted
            .get(&*message.id)
            .and_then(|known| known.original.as_deref())
            .is_some_and(|known| *known == original(message))
    }

    /// The log holds the message.
    pub(crate) fn record(&mut self, id: &str, digest: Digest) {
        self.insert(id, digest, None);
        self.pending.retain(|(pending, _)| **pending != *id);
    }

    /// The log holds a browser's result.
    pub(crate) fn record_result(&mut self, digest: Digest, own: &FrontendResult) {
        self.insert(&own.id, digest, own.original);
        self.pending.retain(|(pending, _)| **pending != *own.id);
    }

    fn insert(&mut self, id: &str, digest: Digest, original: Option<Original>) {
        let original = original.map(Box::new);
        self.accepted
            .insert(id.into(), Accepted { digest, original });
    }

    /// The message is accepted; the log will hold it. `encoded` is how clients see it until then, empty for what they
    /// never see.
    pub(crate) fn accept(&mut self, id: &str, digest: Digest, encoded: String) {
        self.insert(id, digest, None);
        self.pending.push((id.into(), encoded));
    }

    /// The message never reached the log: its id may be used again.
    pub(crate) fn release(&mut self, id: &str) {
        let before = self.pending.len();
        self.pending.retain(|(pending, _)| **pending != *id);
        if self.pending.len() < before {
            self.accepted.remove(id);
        }
    }

    /// Forgets every message that never reached the log. Returns whether there was one.
    pub(crate) fn release_all(&mut self) -> bool {
        let pending = std::mem::take(&mut self.pending);
        for (id, _) in &pending {
            self.accepted.remove(id);
        }
        !pending.is_empty()
    }

    /// Accepted messages that the log does not hold, as clients see them.
    pub(crate) fn pending(&self) -> impl Iterator<Item = &str> {
        self.pending
            .iter()
            .map(|(_, encoded)| encoded.as_str())
            .filter(|encoded| !encoded.is_empty())
    }
}

impl DigestKey {
    /// The digest of a user message's content. A string and one text part are the same content, so that the log, which knows
    /// parts only, gives the same digest after a restart.
    pub(crate) fn user(self, content: &Content<'_>) -> Digest {
        let parts = match content {
            Content::Text(text) => return self.user_texts(std::iter::once(&**text)),
            Content::Parts(parts) => parts,
        };
        let mut digester = self.digester();
        digester.piece(b"user");
        for part in parts {
            match text_of(part) {
                // The agent does not get it, so the log cannot tell of it.
                Some("") => {}
                Some(text) => digester.piece(text.as_bytes()),
                None => digest_file(part, &mut digester),
            }
        }
        digester.finish()
    }

    /// The digest of a user message's text parts.
    pub(crate) fn user_texts<'a>(self, texts: impl Iterator<Item = &'a str>) -> Digest {
        let mut digester = self.digester();
        digester.piece(b"user");
        texts
            .filter(|text| !text.is_empty())
            .for_each(|text| digester.piece(text.as_bytes()));
        digester.finish()
    }

    /// The digest of a browser's Tool result.
    pub(crate) fn result(self, message: &ToolMessage<'_>) -> Digest {
        with_fields(message, |fields| self.result_fields(fields))
    }

    /// The digest of a browser's Tool result as the log keeps it.
    pub(crate) fn durable_result(self, call: &str, text: &str, own: &FrontendResult) -> Digest {
        self.result_fields(ResultFields {
            call,
            text,
            encrypted_value: own.encrypted_value.as_deref(),
            subagent_run_id: own.subagent_run_id.as_deref(),
            metadata: own.metadata.as_ref(),
        })
    }

    fn result_fields(self, fields: ResultFields<'_>) -> Digest {
        let mut digester = self.digester();
        digester.piece(b"tool");
        digester.piece(fields.call.as_bytes());
        digester.piece(fields.text.as_bytes());
        digester.optional(fields.encrypted_value);
        digester.optional(fields.subagent_run_id);
        // The map is ordered by key, so the text is canonical.
        let metadata = fields
            .metadata
            .map(|metadata| serde_json::to_string(metadata).unwrap_or_default());
        digester.optional(metadata.as_deref());
        digester.finish()
    }
}

/// The digest of a browser's result as it came.
pub(crate) fn original(message: &ToolMessage<'_>) -> Original {
    with_fields(message, Original::of)
}

fn with_fields<R>(message: &ToolMessage<'_>, run: impl FnOnce(ResultFields<'_>) -> R) -> R {
    run(ResultFields {
        call: &message.tool_call_id,
        text: &result_text(message),
        encrypted_value: message.encrypted_value.as_deref(),
        subagent_run_id: message.subagent_run_id.as_deref(),
        metadata: metadata_of(message).as_ref(),
    })
}

/// What the model sees of a browser's result: its error where it has one.
pub(crate) fn result_text(message: &ToolMessage<'_>) -> String {
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

/// A Tool message's metadata as a tree, without the member that is the gateway's own (spec: gateway, HTTP 与 run 语义).
pub(crate) fn metadata_of(message: &ToolMessage<'_>) -> Option<Map<String, Value>> {
    match message.metadata?.to_value() {
        Ok(Value::Object(mut metadata)) => {
            metadata.remove(FRONTEND_RESULT_KEY);
            Some(metadata)
        }
        _ => None,
    }
}
