//! The record of one run: an append-only log that every response reads by offset (`design.md`, "The machine").
//!
//! The live response, a duplicate request and a reconnect are the same thing: a [`Cursor`] over this log. Deltas of
//! one message (or of one call's arguments) that follow each other are kept as one growing entry, so a reply costs
//! one copy of its text however many deltas it came in, and limits count that retained form (X10). A reader takes
//! whatever is new since its cursor as one frame, which is how a busy socket coalesces by itself.

use std::fmt::Write as _;
use std::sync::Arc;

use crate::agui::json::escape_json_into;
use crate::gateway::config::RunLimits;
use crate::gateway::event_id::{EventId, RecordTag, is_boundary};
use crate::projection::DELTA_TAIL;

/// Room kept free for the terminal event beside its ids.
const TERMINAL_ENVELOPE_BYTES: usize = 256;

/// The log of one run.
#[derive(Debug)]
pub(crate) struct RunLog {
    tag: RecordTag,
    entries: Vec<Entry>,
    bytes: usize,
    limits: RunLimits,
    /// Bytes that only the terminal event may use.
    reserve: usize,
    terminated: bool,
}

#[derive(Debug)]
enum Entry {
    /// One event, in the pieces that its JSON is made of. A history shares its pieces with the transcript.
    Event(Box<[Arc<str>]>),
    Delta {
        stream: StreamKey,
        /// The event's JSON up to the delta's first character.
        head: Box<str>,
        /// All deltas so far, as the inside of a JSON string.
        text: String,
    },
}

/// Names one message's text, or one call's arguments, within a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StreamKey(pub(crate) u32);

/// How far a reader has come. Ordered as the log is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Cursor {
    entry: usize,
    /// Bytes of the entry's delta text already taken.
    offset: usize,
}

/// The log cannot take the event within its limits. Nothing was appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overflow;

impl RunLog {
    pub(crate) fn new(tag: RecordTag, limits: RunLimits, identity_bytes: usize) -> Self {
        Self {
            tag,
            entries: Vec::new(),
            bytes: 0,
            limits,
            reserve: TERMINAL_ENVELOPE_BYTES + 2 * identity_bytes,
            terminated: false,
        }
    }

    /// Begins the id of every frame.
    pub(crate) fn tag(&self) -> RecordTag {
        self.tag
    }

    /// Whether the terminal event is in.
    #[cfg(test)]
    pub(crate) fn is_terminated(&self) -> bool {
        self.terminated
    }

    /// Appends one event that is not a delta.
    pub(crate) fn event(&mut self, json: impl Into<Arc<str>>) -> Result<(), Overflow> {
        self.event_of([json.into()].into())
    }

    /// Appends one event whose JSON is the concatenation of `pieces`.
    pub(crate) fn event_of(&mut self, pieces: Box<[Arc<str>]>) -> Result<(), Overflow> {
        let bytes = pieces.iter().map(|piece| piece.len()).sum();
        if self.terminated {
            return Ok(());
        }
        self.reserve_for(1, bytes)?;
        self.entries.push(Entry::Event(pieces));
        Ok(())
    }

    /// Appends a delta of `stream`. `head` gives the event's JSON up to the delta, and is asked only when a new
    /// entry begins.
    pub(crate) fn delta(
        &mut self,
        stream: StreamKey,
        head: impl FnOnce() -> String,
        delta: &str,
    ) -> Result<(), Overflow> {
        if self.terminated {
            return Ok(());
        }
        if let Some(Entry::Delta {
            stream: open, text, ..
        }) = self.entries.last_mut()
            && *open == stream
        {
            let before = text.len();
            escape_json_into(delta, text);
            let grown = text.len() - before;
            if self.bytes + grown + self.reserve > self.limits.bytes {
                text.truncate(before);
                return Err(Overflow);
            }
            self.bytes += grown;
            return Ok(());
        }
        let head = head().into_boxed_str();
        let mut text = String::new();
        escape_json_into(delta, &mut text);
        self.reserve_for(1, head.len() + text.len() + DELTA_TAIL.len())?;
        self.entries.push(Entry::Delta { stream, head, text });
        Ok(())
    }

    /// Appends the terminal event. `json` is given the bytes that a message in it may take.
    pub(crate) fn terminate(&mut self, json: impl FnOnce(usize) -> String) {
        if self.terminated {
            return;
        }
        let room = self.limits.bytes.saturating_sub(self.bytes + self.reserve)
            + TERMINAL_ENVELOPE_BYTES / 2;
        let json: Arc<str> = json(room).into();
        self.bytes += json.len();
        self.entries.push(Entry::Event([json].into()));
        self.terminated = true;
    }

    /// Whether these events fit, each in its pieces, one after the other.
    pub(crate) fn fits(&self, events: &[&[Arc<str>]]) -> bool {
        let bytes: usize = events
            .iter()
            .flat_map(|pieces| pieces.iter())
            .map(|piece| piece.len())
            .sum();
        self.entries.len() + events.len() < self.limits.events
            && self.bytes + bytes + self.reserve <= self.limits.bytes
    }

    /// Whether a terminal event of that many bytes fits.
    pub(crate) fn has_room_for_end(&self, bytes: usize) -> bool {
        self.bytes + bytes <= self.limits.bytes
    }

    fn reserve_for(&mut self, events: usize, bytes: usize) -> Result<(), Overflow> {
        let fits = self.entries.len() + events < self.limits.events
            && self.bytes + bytes + self.reserve <= self.limits.bytes;
        if !fits {
            return Err(Overflow);
        }
        self.bytes += bytes;
        Ok(())
    }

    /// The place behind a frame that a reader was sent; `None` where none can have ended there.
    pub(crate) fn cursor_after(&self, id: EventId) -> Option<Cursor> {
        if id.record != self.tag {
            return None;
        }
        match (self.entries.get(id.entry)?, id.offset) {
            (Entry::Event(_), None) => Some(Cursor {
                entry: id.entry + 1,
                offset: 0,
            }),
            (Entry::Delta { text, .. }, Some(offset)) if is_boundary(text, offset) => {
                Some(Cursor {
                    entry: id.entry,
                    offset,
                })
            }
            _ => None,
        }
    }

    /// Whether there is anything behind `cursor`.
    pub(crate) fn has_more(&self, cursor: Cursor) -> bool {
        match self.entries.get(cursor.entry) {
            None => false,
            Some(Entry::Event(_)) => true,
            Some(Entry::Delta { text, .. }) => {
                text.len() > cursor.offset || cursor.entry + 1 < self.entries.len()
            }
        }
    }

    /// Writes every frame behind `cursor` to `out` and moves the cursor to the end.
    pub(crate) fn read(&self, cursor: &mut Cursor, out: &mut String) {
        while let Some(entry) = self.entries.get(cursor.entry) {
            let last = cursor.entry + 1 == self.entries.len();
            match entry {
                Entry::Event(pieces) => {
                    let _ = write!(out, "id: {}-{}\ndata: ", self.tag, cursor.entry);
                    pieces.iter().for_each(|piece| out.push_str(piece));
                    out.push_str("\n\n");
                }
                Entry::Delta { head, text, .. } => {
                    if let Some(rest) = text.get(cursor.offset..).filter(|rest| !rest.is_empty()) {
                        let _ = write!(
                            out,
                            "id: {}-{}.{}\ndata: ",
                            self.tag,
                            cursor.entry,
                            text.len()
                        );
                        out.push_str(head);
                        out.push_str(rest);
                        out.push_str(DELTA_TAIL);
                        out.push_str("\n\n");
                    }
                    if last {
                        // The entry may still grow.
                        cursor.offset = text.len();
                        return;
                    }
                }
            }
            *cursor = Cursor {
                entry: cursor.entry + 1,
                offset: 0,
            };
        }
    }

    /// Holds the whole record against the official client's rules (`ag-ui.md` §3.1): a slip of the protocol is a
    /// failing test, not a broken browser.
    #[cfg(debug_assertions)]
    pub(crate) fn assert_valid(&self) {
        let mut frames = String::new();
        self.read(&mut Cursor::default(), &mut frames);
        let mut checker = crate::agui::Checker::new();
        let events = frames
            .split("\n\n")
            .filter_map(|frame| frame.split_once("data: "));
        for (_, event) in events {
            if let Err(violation) = checker.feed_json(event) {
                panic!("the record would break its client: {violation:?}");
            }
        }
    }

    /// Bytes of JSON retained.
    #[cfg(test)]
    pub(crate) fn retained_bytes(&self) -> usize {
        self.bytes
    }

    /// Events retained.
    #[cfg(test)]
    pub(crate) fn retained_events(&self) -> usize {
        self.entries.len()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const LIMITS: RunLimits = RunLimits {
        events: 16,
        bytes: 4096,
    };

    fn log() -> RunLog {
        RunLog::new(RecordTag(10), LIMITS, 16)
    }

    fn text(log: &mut RunLog, delta: &str) -> Result<(), Overflow> {
        log.delta(StreamKey(0), || r#"{"type":"T","delta":""#.into(), delta)
    }

    fn read(log: &RunLog, cursor: &mut Cursor) -> String {
        let mut out = String::new();
        log.read(cursor, &mut out);
        out
    }

    #[test]
    fn a_reader_gets_every_event_once_with_its_id() {
        let mut log = log();
        let mut cursor = Cursor::default();
        log.event(r#"{"type":"A"}"#).unwrap();
        assert!(log.has_more(cursor));
        assert_eq!(
            read(&log, &mut cursor),
            "id: 0000000a-0\ndata: {\"type\":\"A\"}\n\n"
        );
        assert!(!log.has_more(cursor));
        assert_eq!(read(&log, &mut cursor), "");
        log.terminate(|_| r#"{"type":"Z"}"#.into());
        assert_eq!(
            read(&log, &mut cursor),
            "id: 0000000a-1\ndata: {\"type\":\"Z\"}\n\n"
        );
        assert!(log.is_terminated());
    }

    #[test]
    fn deltas_arrive_as_they_come_and_are_retained_as_one() {
        let mut log = log();
        let mut live = Cursor::default();
        text(&mut log, "a\"").unwrap();
        assert_eq!(
            read(&log, &mut live),
            "id: 0000000a-0.3\ndata: {\"type\":\"T\",\"delta\":\"a\\\"\"}\n\n"
        );
        text(&mut log, "b").unwrap();
        text(&mut log, "c").unwrap();
        assert_eq!(
            read(&log, &mut live),
            "id: 0000000a-0.5\ndata: {\"type\":\"T\",\"delta\":\"bc\"}\n\n"
        );
        assert!(!log.has_more(live));
        log.event("{}").unwrap();
        assert!(log.has_more(live));
        assert_eq!(read(&log, &mut live), "id: 0000000a-1\ndata: {}\n\n");
        assert_eq!(log.retained_events(), 2);

        let mut replay = Cursor::default();
        assert_eq!(
            read(&log, &mut replay),
            "id: 0000000a-0.5\ndata: {\"type\":\"T\",\"delta\":\"a\\\"bc\"}\n\nid: 0000000a-1\ndata: {}\n\n"
        );
    }

    #[test]
    fn another_stream_begins_another_entry() {
        let mut log = log();
        text(&mut log, "a").unwrap();
        log.delta(StreamKey(1), || r#"{"type":"U","delta":""#.into(), "b")
            .unwrap();
        text(&mut log, "c").unwrap();
        assert_eq!(log.retained_events(), 3);
        let out = read(&log, &mut Cursor::default());
        assert_eq!(out.matches("data: ").count(), 3);
    }

    #[test]
    fn events_overflow_by_count_with_room_for_the_terminal_one() {
        let mut log = log();
        for _ in 0..15 {
            log.event("{}").unwrap();
        }
        assert_eq!(log.event("{}"), Err(Overflow));
        log.terminate(|_| "{}".into());
        assert_eq!(log.retained_events(), 16);
    }

    #[test]
    fn deltas_never_overflow_by_count_and_do_by_bytes() {
        let mut log = log();
        let mut taken = 0;
        while text(&mut log, "x").is_ok() {
            taken += 1;
        }
        assert!(taken > 3000, "{taken}");
        assert_eq!(log.retained_events(), 1);
        log.terminate(|room| format!("{:>1$}", "", room));
        assert!(log.retained_bytes() <= LIMITS.bytes);
    }

    #[test]
    fn nothing_follows_the_terminal_event() {
        let mut log = log();
        log.terminate(|_| "{}".into());
        text(&mut log, "late").unwrap();
        log.terminate(|_| "{}".into());
        let mut cursor = Cursor::default();
        assert_eq!(read(&log, &mut cursor), "id: 0000000a-0\ndata: {}\n\n");
    }
}
