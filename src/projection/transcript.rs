//! The history of a thread, from its durable log (spec: gateway, 投影; G10, G13).
//!
//! Every record updates it once; messages are kept as encoded JSON, so a snapshot joins them and derives nothing (X6).
//! A cold resume feeds the log through the very same code, so live and cold cannot differ.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::cards::Cards;
use super::change::{AssistantView, CallView, Change, SettledView, StartedView};
use super::frontend_result::{BrowserSide, frontend_result_of};
use super::message::{
    encode_assistant, encode_result, encode_server_result, encode_user, encode_user_parts,
};
use crate::agui::Content;
use crate::session::{AssistantMessage, SessionEvent, ToolCall, ToolResult, UserMessage};
use crate::tools::STATE_TOOL;

/// Id of a result whose message nobody named: this and the call's wire id.
const RESULT_PREFIX: &str = "result-";

/// `source.form` of the gateway's own message that tells what a person did on a rendered surface.
pub const ACTION_FORM: &str = "a2ui-action";

/// Encoded messages beyond this many bytes are not merged into larger pieces.
const PIECE_BYTES: usize = 64 * 1024;

/// The projected history of one session.
#[derive(Debug)]
pub struct Transcript {
    /// Prefix of the ids that this projection makes.
    prefix: String,
    /// Longest id that clients may send back, in bytes.
    max_id_bytes: usize,
    /// Encoded messages, comma-separated; shared with the snapshots of every run.
    pieces: Vec<Arc<str>>,
    tail: String,
    /// Ids of all messages.
    ids: HashSet<Box<str>>,
    /// Every call of the session, by wire id.
    calls: HashMap<String, Call>,
    /// Wire ids of the step under way, in its order, by the provider's id.
    step_calls: HashMap<String, Vec<String>>,
    cards: Cards,
}

#[derive(Debug)]
struct Call {
    name: String,
    settled: bool,
}

/// Eight hex digits that stand for an id, the same in every process.
fn short_digest(id: &str) -> String {
    let digest = Sha256::digest(id);
    format!(
        "{:02x}{:02x}{:02x}{:02x}",
        digest[0], digest[1], digest[2], digest[3]
    )
}

/// Prefix of the ids that the projection of a session makes.
pub(super) fn id_prefix(session_id: &str) -> String {
    let tail = session_id.rsplit('-').next().unwrap_or_default();
    tail.chars().take(12).collect()
}

impl Transcript {
    /// An empty history of the session named `session_id`, whose clients may send ids of at most `max_id_bytes` bytes.
    #[must_use]
    pub fn new(session_id: &str, max_id_bytes: usize) -> Self {
        Self {
            prefix: id_prefix(session_id),
            max_id_bytes,
            pieces: Vec::new(),
            tail: String::new(),
            ids: HashSet::new(),
            calls: HashMap::new(),
            step_calls: HashMap::new(),
            cards: Cards::default(),
        }
    }

    /// The id of the model message of one step.
    #[must_use]
    pub fn assistant_id(&self, turn: u64, step: u64) -> String {
        format!("{}-{turn}-{step}", self.prefix)
    }

    /// Whether a model message of that id was made in this session, in this process or another.
    #[must_use]
    pub fn is_own_id(&self, message_id: &str) -> bool {
        let rest = message_id.strip_prefix(&self.prefix);
        rest.is_some_and(|rest| rest.starts_with('-'))
    }

    /// The wire id of a call that the step under way makes. Providers may repeat an id, give none, or one that is longer
    /// than what clients may send back; on the wire an id names one call of the thread for ever.
    #[must_use]
    pub fn wire_call_id(&self, turn: u64, step: u64, call_id: &str) -> String {
        let is_free = |id: &String| !self.calls.contains_key(id);
        let is_usable = |id: &String| {
            is_free(id)
                && !call_id.is_empty()
                && RESULT_PREFIX.len() + id.len() <= self.max_id_bytes
        };
        let place = format!("~{turn}.{step}");
        let mut own = [call_id.to_owned(), format!("{call_id}{place}")].into_iter();
        own.find(is_usable).unwrap_or_else(|| {
            let made = format!("c-{}{place}", short_digest(call_id));
            let numbered = (2..).map(|ordinal: u32| format!("{made}.{ordinal}"));
            let mut made = std::iter::once(made.clone()).chain(numbered);
            made.find(is_free).unwrap_or_default()
        })
    }

    /// The Tool's name and whether the call has its result, for a call known by its wire id.
    #[must_use]
    pub fn call(&self, wire_id: &str) -> Option<(&str, bool)> {
        let call = self.calls.get(wire_id)?;
        Some((&call.name, call.settled))
    }

    /// Whether `message_id` is the id that this projection gives to the result of a call without a browser's answer. The
    /// call need not be known: a client may have been shown it by a process that died before its log was written.
    #[must_use]
    pub fn is_server_result(message_id: &str, wire_id: &str) -> bool {
        message_id.strip_prefix(RESULT_PREFIX) == Some(wire_id)
    }

    /// Whether the history has a message whose id is not among these.
    #[must_use]
    pub fn has_beside<'a>(&self, ids: impl Iterator<Item = &'a str>) -> bool {
        let known: HashSet<&str> = ids.filter(|id| self.ids.contains(*id)).collect();
        known.len() < self.ids.len()
    }

    /// The cards of the session.
    #[must_use]
    pub fn cards(&self) -> &Cards {
        &self.cards
    }

    /// Reads one durable event.
    pub fn apply(&mut self, event: SessionEvent, browser: &impl BrowserSide) -> Change {
        match event {
            SessionEvent::UserMessage(message) => self.user(message),
            SessionEvent::AssistantMessage(message) => Change::Assistant(self.assistant(message)),
            SessionEvent::ToolCall(call) => self.call_started(call, browser),
            SessionEvent::ToolResult(result) => self.call_settled(result, browser),
            SessionEvent::TurnStart { .. }
            | SessionEvent::TurnEnd { .. }
            | SessionEvent::AssistantAttempt
            | SessionEvent::Presented(_)
            | SessionEvent::PresetSelected { .. }
            | SessionEvent::InterruptionTold
            | SessionEvent::Other => Change::Nothing,
        }
    }

    fn user(&mut self, message: UserMessage) -> Change {
        if message.source_kind == "ag-ui" && message.source_form.as_deref() == Some(ACTION_FORM) {
            return Change::Action {
                id: message.id,
                text: message.texts.concat(),
            };
        }
        // Injected context carries a kind of its producer's; only the person's own words are conversation.
        if message.source_kind != "user" {
            return Change::Nothing;
        }
        // Clients may not say nothing, so they could not send it back.
        if message.texts.is_empty() && message.parts.is_none() {
            return Change::Nothing;
        }
        let parts = message.parts.as_deref().and_then(Content::parse);
        let parts = parts.map(|parts| {
            let mut json = String::new();
            parts.write_json(&mut json);
            json
        });
        let encoded = match &parts {
            Some(parts) => encode_user_parts(&message.id, parts),
            None => encode_user(&message.id, &message.texts),
        };
        self.push(&message.id, &encoded);
        Change::User {
            id: message.id,
            texts: message.texts,
            parts,
        }
    }

    fn assistant(&mut self, message: AssistantMessage) -> AssistantView {
        let id = self.assistant_id(message.turn, message.step);
        self.step_calls.clear();
        let calls: Vec<CallView> = message
            .calls
            .into_iter()
            .map(|block| {
                let wire_id = self.wire_call_id(message.turn, message.step, &block.id);
                self.calls.insert(
                    wire_id.clone(),
                    Call {
                        name: block.name.clone(),
                        settled: false,
                    },
                );
                let same = self.step_calls.entry(block.id.clone()).or_default();
                same.push(wire_id.clone());
                CallView {
                    call_id: block.id,
                    wire_id,
                    name: block.name,
                    arguments: block.arguments,
                }
            })
            .collect();
        if let Some(encoded) = encode_assistant(&id, &message.text, &calls) {
            self.push(&id, &encoded);
        }
        AssistantView {
            id,
            text: message.text,
            calls,
        }
    }

    fn call_started(&mut self, call: ToolCall, browser: &impl BrowserSide) -> Change {
        let wire_id = self.wire_of(&call.call_id);
        self.calls.entry(wire_id.clone()).or_insert_with(|| Call {
            name: call.name.clone(),
            settled: false,
        });
        let card = if call.name == STATE_TOOL || browser.is_frontend(&call.name) {
            None
        } else {
            self.cards
                .call(&wire_id, &call.name, &call.arguments, &call.card)
        };
        Change::CallStarted(StartedView {
            call_id: call.call_id,
            wire_id,
            card,
        })
    }

    fn call_settled(&mut self, result: ToolResult, browser: &impl BrowserSide) -> Change {
        let wire_id = self.wire_of(&result.call_id);
        let name = match self.calls.get_mut(&wire_id) {
            Some(call) => {
                call.settled = true;
                call.name.clone()
            }
            None => String::new(),
        };
        let hidden = name == STATE_TOOL;
        // A rejection has no metadata in the log; while the process lives the browser's own message still names it.
        let frontend =
            frontend_result_of(result.meta).or_else(|| browser.answer_of(&wire_id).cloned());
        let message_id = match &frontend {
            Some(own) => own.id.clone(),
            None => format!("{RESULT_PREFIX}{wire_id}"),
        };
        if !hidden {
            let encoded = match &frontend {
                Some(own) => encode_result(own, &wire_id, &result.text),
                None => encode_server_result(&message_id, &wire_id, &result.text),
            };
            self.push(&message_id, &encoded);
        }
        let card = if hidden || frontend.is_some() || browser.is_frontend(&name) {
            None
        } else {
            self.cards.result(&wire_id, &name, &result.card)
        };
        Change::CallSettled(SettledView {
            call_id: result.call_id,
            wire_id,
            message_id,
            text: result.text,
            is_error: result.is_error,
            hidden,
            frontend,
            card,
        })
    }

    /// The wire id of a call of the step under way: of several that the provider gave one id, the first without a result.
    #[must_use]
    pub fn wire_of(&self, call_id: &str) -> String {
        let same = self.step_calls.get(call_id).map_or(&[][..], Vec::as_slice);
        let is_open =
            |wire_id: &&String| self.calls.get(*wire_id).is_some_and(|call| !call.settled);
        let open = same.iter().find(is_open);
        open.or(same.last())
            .map_or_else(|| call_id.into(), Clone::clone)
    }

    fn push(&mut self, id: &str, encoded: &str) {
        self.ids.insert(id.into());
        if !(self.pieces.is_empty() && self.tail.is_empty()) {
            self.tail.push(',');
        }
        self.tail.push_str(encoded);
    }

    /// The pieces of a `MESSAGES_SNAPSHOT` event: the history, then `pending`, which are encoded messages that the
    /// thread has accepted and the log does not hold yet.
    pub fn snapshot<'a>(&mut self, pending: impl Iterator<Item = &'a str>) -> Box<[Arc<str>]> {
        self.seal();
        let mut end = String::new();
        for message in pending {
            if !(self.pieces.is_empty() && end.is_empty()) {
                end.push(',');
            }
            end.push_str(message);
        }
        end.push_str("]}");
        let mut pieces = Vec::with_capacity(self.pieces.len() + 2);
        pieces.push(r#"{"type":"MESSAGES_SNAPSHOT","messages":["#.into());
        pieces.extend(self.pieces.iter().cloned());
        pieces.push(end.into());
        pieces.into()
    }

    /// Moves the tail into a shared piece, and merges small pieces so that their number stays logarithmic.
    fn seal(&mut self) {
        if self.tail.is_empty() {
            return;
        }
        let mut piece = std::mem::take(&mut self.tail);
        while let Some(last) = self.pieces.last()
            && last.len() <= 2 * piece.len()
            && last.len() + piece.len() <= PIECE_BYTES
        {
            let mut merged = String::with_capacity(last.len() + piece.len());
            merged.push_str(last);
            merged.push_str(&piece);
            piece = merged;
            self.pieces.pop();
        }
        self.pieces.push(piece.into());
    }
}

#[cfg(test)]
mod tests;
