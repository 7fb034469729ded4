//! Reasoning of the model attempt under way, for a run whose client asked for it (X3).
//!
//! An uninterrupted stretch of it is a span with one message inside, both under one id. It is over before anything else of
//! the attempt goes on. Histories hold none of it: what a client got stays with that client (`ag-ui.md` §3.3).

use super::emit::Emit;
use super::wire;

/// The spans of one step's attempts.
#[derive(Debug, Default)]
pub(super) struct Reasoning {
    open: Option<Span>,
    /// Spans of the message so far. Attempts that came to nothing count: their ids are taken.
    spans: u32,
}

#[derive(Debug)]
struct Span {
    id: String,
    stream: u32,
}

impl Reasoning {
    /// The attempts that follow make another message.
    pub(super) fn next_message(&mut self) {
        self.spans = 0;
    }

    pub(super) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Opens a span that reasons towards a message.
    pub(super) fn open(&mut self, message_id: &str, stream: u32, out: &mut dyn Emit) {
        self.spans += 1;
        let id = format!("{message_id}-reasoning-{}", self.spans);
        out.event(wire::reasoning_start(&id));
        out.event(wire::reasoning_message_start(&id));
        self.open = Some(Span { id, stream });
    }

    /// More of the open span.
    pub(super) fn delta(&self, delta: &str, out: &mut dyn Emit) {
        if let Some(Span { id, stream }) = &self.open {
            out.delta(*stream, &|| wire::reasoning_head(id), delta);
        }
    }

    /// Closes the span, if one is open.
    pub(super) fn close(&mut self, out: &mut dyn Emit) {
        if let Some(Span { id, .. }) = self.open.take() {
            out.event(wire::reasoning_message_end(&id));
            out.event(wire::reasoning_end(&id));
        }
    }
}
