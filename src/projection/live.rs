//! The model attempt under way, from its deltas to AG-UI events (spec: gateway, 投影; G9, G10, X2).
//!
//! A [`LiveStep`] remembers what it has sent, so that the committed message adds exactly what was not streamed, and
//! so that whatever is open can be closed when the provider fails, the turn is cancelled or the attempt is retried.

use super::change::AssistantView;
use super::emit::Emit;
use super::reasoning::Reasoning;
use super::wire;
use crate::tools::STATE_TOOL;

/// The step that a run is showing.
#[derive(Debug, Default)]
pub struct LiveStep {
    message_id: String,
    reasoning: Reasoning,
    text: Text,
    calls: Vec<Call>,
    /// Numbers the streams of the run; never reused within it.
    next_stream: u32,
    /// What was written last.
    last: Option<Block>,
    /// Clients hold something that the history will not have.
    abandoned: bool,
}

/// A block of the attempt; blocks may interleave.
#[derive(Debug, Clone, Copy)]
enum Block {
    Reasoning,
    Text,
    /// Index among the calls.
    Call(usize),
}

#[derive(Debug, Default)]
struct Text {
    open: Option<u32>,
    /// Bytes of text sent in this step.
    sent: usize,
}

#[derive(Debug)]
struct Call {
    call_id: String,
    wire_id: String,
    stream: u32,
    state: CallState,
    /// Bytes of arguments sent.
    sent: usize,
}

#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum CallState {
    Open,
    Closed,
    /// Protocol bookkeeping; never shown.
    Hidden,
}

impl Call {
    fn close(&mut self, out: &mut dyn Emit) {
        if self.state == CallState::Open {
            self.state = CallState::Closed;
            out.event(wire::call_end(&self.wire_id));
        }
    }
}

impl LiveStep {
    /// A model attempt begins. Returns whether clients hold something of an abandoned attempt, which a snapshot of
    /// the history must take back before anything of this one is sent.
    pub fn begin(&mut self, message_id: String) -> bool {
        if message_id != self.message_id {
            self.reasoning.next_message();
        }
        self.message_id = message_id;
        self.text = Text::default();
        self.calls.clear();
        self.last = None;
        std::mem::take(&mut self.abandoned)
    }

    /// Reasoning of the attempt.
    pub fn reasoning(&mut self, delta: &str, out: &mut dyn Emit) {
        if !self.reasoning.is_open() {
            let stream = self.take_stream();
            self.reasoning.open(&self.message_id, stream, out);
        }
        self.last = Some(Block::Reasoning);
        self.reasoning.delta(delta, out);
    }

    /// Text of the attempt.
    pub fn text(&mut self, delta: &str, out: &mut dyn Emit) {
        self.reasoning.close(out);
        let stream = self.open_text(out);
        self.text.sent += delta.len();
        self.last = Some(Block::Text);
        let id = &self.message_id;
        out.delta(stream, &|| wire::text_head(id), delta);
    }

    fn open_text(&mut self, out: &mut dyn Emit) -> u32 {
        if let Some(stream) = self.text.open {
            return stream;
        }
        let stream = self.take_stream();
        self.text.open = Some(stream);
        out.event(wire::text_start(&self.message_id));
        stream
    }

    /// Arguments of a call. `wire_id` gives the call's id on the wire, and is asked once a call.
    ///
    /// Deltas of a call whose name never came are left to [`LiveStep::commit`].
    pub fn call(
        &mut self,
        call_id: &str,
        name: Option<&str>,
        delta: &str,
        wire_id: &dyn Fn() -> String,
        out: &mut dyn Emit,
    ) {
        self.reasoning.close(out);
        let known = self.calls.iter().rposition(|call| call.call_id == call_id);
        let index = match (known, name) {
            (Some(index), _) => index,
            (None, Some(name)) => self.open_call(call_id, name, wire_id(), out),
            (None, None) => return,
        };
        self.last = Some(Block::Call(index));
        let call = &mut self.calls[index];
        if call.state == CallState::Open && !delta.is_empty() {
            call.sent += delta.len();
            let id = &call.wire_id;
            out.delta(call.stream, &|| wire::args_head(id), delta);
        }
    }

    fn open_call(
        &mut self,
        call_id: &str,
        name: &str,
        wire_id: String,
        out: &mut dyn Emit,
    ) -> usize {
        let state = if name == STATE_TOOL {
            CallState::Hidden
        } else {
            self.close_text(out);
            out.event(wire::call_start(&wire_id, name, &self.message_id));
            CallState::Open
        };
        let stream = self.take_stream();
        self.calls.push(Call {
            call_id: call_id.into(),
            wire_id,
            stream,
            state,
            sent: 0,
        });
        self.calls.len() - 1
    }

    /// The block that was written last is complete.
    pub fn block_end(&mut self, out: &mut dyn Emit) {
        match self.last.take() {
            Some(Block::Reasoning) => self.reasoning.close(out),
            Some(Block::Text) => self.close_text(out),
            Some(Block::Call(index)) => self.calls[index].close(out),
            None => {}
        }
    }

    /// The attempt is committed: sends what was not streamed and closes everything.
    pub fn commit(&mut self, message: &AssistantView, out: &mut dyn Emit) {
        self.reasoning.close(out);
        if self.message_id != message.id {
            // The attempt was not reported; an abandoned one before it is corrected by the run's last snapshot.
            self.begin(message.id.clone());
        }
        if let Some(rest) = message
            .text
            .get(self.text.sent..)
            .filter(|rest| !rest.is_empty())
        {
            self.text(rest, out);
        }
        for call in &message.calls {
            let known = self
                .calls
                .iter()
                .rposition(|live| live.wire_id == call.wire_id);
            let index = known.unwrap_or_else(|| {
                self.open_call(&call.call_id, &call.name, call.wire_id.clone(), out)
            });
            let live = &mut self.calls[index];
            let rest = call.arguments.get(live.sent..).unwrap_or_default();
            if live.state == CallState::Open && !rest.is_empty() {
                live.sent = call.arguments.len();
                let id = &live.wire_id;
                out.delta(live.stream, &|| wire::args_head(id), rest);
            }
        }
        self.close(out);
    }

    /// The attempt came to nothing: closes what is open.
    pub fn abandon(&mut self, out: &mut dyn Emit) {
        self.close(out);
        self.abandoned |= self.text.sent > 0
            || self
                .calls
                .iter()
                .any(|call| call.state != CallState::Hidden);
    }

    /// Wire ids of the calls that clients were shown by the attempt that began last.
    pub fn shown_calls(&self) -> impl Iterator<Item = &str> {
        self.calls
            .iter()
            .filter(|call| call.state != CallState::Hidden)
            .map(|call| call.wire_id.as_str())
    }

    /// Closes everything that is open.
    pub fn close(&mut self, out: &mut dyn Emit) {
        self.reasoning.close(out);
        self.close_text(out);
        self.close_calls(out);
    }

    fn close_text(&mut self, out: &mut dyn Emit) {
        if self.text.open.take().is_some() {
            out.event(wire::text_end(&self.message_id));
        }
    }

    fn close_calls(&mut self, out: &mut dyn Emit) {
        for call in &mut self.calls {
            call.close(out);
        }
    }

    fn take_stream(&mut self) -> u32 {
        let stream = self.next_stream;
        self.next_stream += 1;
        stream
    }
}

#[cfg(test)]
mod tests;
