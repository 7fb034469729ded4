//! What every run begins with (spec: gateway, HTTP 与 run 语义; G7, G13, G15).

use std::sync::Arc;

use super::Gateway;
use super::ids::{RunKey, ThreadId};
use super::request::Request;
use super::request::a2ui;
use crate::agui::{Event, Message};
use crate::projection::Transcript;

impl Gateway {
    /// Writes what every run begins with: `RUN_STARTED`, the shared state, the history with what was just accepted,
    /// the cards of settled calls, and the deliverables. `unaccepted` are encoded messages that the client sent and the
    /// thread does not take.
    pub(super) fn open_record(
        &mut self,
        thread_id: ThreadId,
        run: RunKey,
        request: &Request<'_>,
        unaccepted: &[String],
    ) {
        let (Some(thread), Some(run)) = (self.threads.get_mut(&thread_id), self.runs.get_mut(&run))
        else {
            return;
        };
        run.record.event(&Event::RunStarted {
            thread_id: &thread.key.thread_id,
            run_id: &run.run_id,
            parent_run_id: request.input.parent_run_id.as_deref(),
            protocol_version: run.peer.protocol_version(),
        });
        if let Some(state) = thread.state.value() {
            run.record.state(state);
        }
        let pending = || {
            let accepted = thread.seen.pending();
            accepted.chain(unaccepted.iter().map(String::as_str))
        };
        let whole = thread.transcript.snapshot(pending());
        if pending().next().is_some() && is_behind(&thread.transcript, request) {
            let history = thread.transcript.snapshot(std::iter::empty());
            if run.record.log.fits(&[&history, &whole]) {
                run.record.pieces(history);
            }
        }
        run.record.pieces(whole);
        let cards = thread.transcript.cards().settled();
        for event in cards.iter().chain(thread.deliverables.events()) {
            run.record.json(Arc::clone(event));
        }
    }
}

/// Whether a client holds a copy of the history that lacks some of it. Clients keep what they hold in its place and put
/// what they lack behind it, so such a one has to get the history before it gets back what it has just sent
/// (`ag-ui.md` §3.3; X7). Clients that send no copy are not looked at.
fn is_behind(transcript: &Transcript, request: &Request<'_>) -> bool {
    let messages = match request.action {
        Some(_) => a2ui::without_pair(&request.input.messages),
        None => &request.input.messages,
    };
    let is_copy = |message: &Message<'_>| matches!(message, Message::Assistant(_));
    messages.iter().any(is_copy) && transcript.has_beside(messages.iter().map(Message::id))
}
