//! What an agent's log and status say (spec: gateway, 投影).

use std::sync::Arc;
use std::time::Instant;

use super::Gateway;
use super::error::{Code, GatewayError};
use super::ids::{RunKey, ThreadId};
use super::request::a2ui::rendered;
use super::run::{Ending, Run, Stage};
use super::thread::calls::BrowserCalls;
use super::thread::{Body, Thread, live};
use super::timer::{Timer, Waiter};
use crate::agui::{Content, Event};
use crate::projection::{
    AssistantView, BrowserSide, Change, FrontendResult, SettledView, StartedView,
};
use crate::session::{Presented, Record, SessionEvent, TurnEnd, parse_record};
use crate::tools::Catalogue;

/// The browser's side of a thread's calls, as the projection asks for it.
struct Browser<'a> {
    tools: &'a Catalogue,
    calls: &'a BrowserCalls,
}

impl BrowserSide for Browser<'_> {
    fn is_frontend(&self, name: &str) -> bool {
        self.tools.get(name).is_some()
    }

    fn answer_of(&self, wire_id: &str) -> Option<&FrontendResult> {
        self.calls.answer_of(wire_id)
    }
}

impl Gateway {
    /// The agent's log has a new record, as JSON text. A record that cannot be read is left out: the log is the
    /// Host's, and one strange event must not end a thread.
    pub fn handle_record(&mut self, now: Instant, thread: ThreadId, json: &str) {
        if let Ok(record) = parse_record(json) {
            self.apply_record(now, thread, record);
        }
    }

    pub(super) fn apply_record(&mut self, now: Instant, thread_id: ThreadId, record: Record) {
        if let Some(thread) = live(&mut self.threads, thread_id) {
            thread.writing.note();
        }
        let record = match record.event {
            SessionEvent::Presented(presented) => return self.presented(now, thread_id, presented),
            SessionEvent::PresetSelected { preset } => {
                if let Some(thread) = live(&mut self.threads, thread_id) {
                    thread.preset.current = Some(preset);
                }
                return;
            }
            event => Record { event, ..record },
        };
        match &record.event {
            SessionEvent::TurnStart { turn } => return self.turn_started(thread_id, *turn),
            SessionEvent::TurnEnd { reason, .. } => {
                let reason = reason.clone();
                return self.turn_ended(now, thread_id, reason);
            }
            _ => {}
        }
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        if matches!(record.event, SessionEvent::InterruptionTold) {
            thread.interrupted = false;
            return;
        }
        let browser = Browser {
            tools: &thread.tools,
            calls: &thread.calls,
        };
        match thread.transcript.apply(record.event, &browser) {
            Change::User { id, texts, parts } => {
                let parts = parts.as_deref().and_then(Content::parse);
                let digest = match &parts {
                    Some(parts) => self.key.user(parts),
                    None => self.key.user_texts(texts.iter().map(String::as_str)),
                };
                thread.seen.record(&id, digest);
            }
            Change::Action { id, text } => thread.seen.record(&id, self.key.action(&text)),
            Change::Assistant(view) => self.assistant(now, thread_id, &view),
            Change::CallStarted(view) => self.call_started(now, thread_id, &view),
            Change::CallSettled(view) => self.call_settled(now, thread_id, view),
            Change::Nothing => {}
        }
    }

    fn presented(&mut self, now: Instant, thread_id: ThreadId, presented: Presented) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        let event = thread.deliverables.present(presented);
        self.show(now, thread_id, |run| run.record.json(event));
    }

    fn turn_started(&mut self, thread_id: ThreadId, started: u64) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        thread.agent.turn = Some(started);
        thread.preset.locked = true;
        thread.interrupted = false;
        // A run is handed over only while its agent is idle, so the next turn is the one that it opened.
        if let Some(run) = thread.driver.and_then(|run| self.runs.get_mut(&run))
            && let Stage::Driving { turn: turn @ None } = &mut run.stage
        {
            *turn = Some(started);
        }
    }

    fn turn_ended(&mut self, now: Instant, thread_id: ThreadId, reason: TurnEnd) {
        self.end_asks(thread_id);
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        let run = driving_run(thread, &self.runs);
        thread.agent.end_turn();
        thread.state.end_turn();
        for Waiter { token, deadline } in thread.calls.drain() {
            self.timers.clear(deadline, Timer::Call(thread_id, token));
        }
        match run {
            Some(run) => self.end_turn(now, run, reason),
            None if reason == TurnEnd::Interrupted => thread.interrupted = true,
            None => {}
        }
    }

    fn assistant(&mut self, now: Instant, thread_id: ThreadId, view: &AssistantView) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        thread.agent.streaming = false;
        for call in &view.calls {
            if thread.tools.get(&call.name).is_none() {
                continue;
            }
            if thread.render_tool.as_deref() == Some(call.name.as_str()) {
                thread.calls.announce_answered(&call.wire_id, rendered());
            } else {
                thread.calls.announce(&call.wire_id);
            }
        }
        self.show(now, thread_id, |run| {
            run.record.project(|live, out| live.commit(view, out));
        });
    }

    fn call_started(&mut self, now: Instant, thread_id: ThreadId, view: &StartedView) {
        if let Some(thread) = live(&mut self.threads, thread_id)
            && !thread.calls.knows(&view.wire_id)
        {
            thread
                .agent
                .bodies
                .insert(view.call_id.clone(), Body::Preparing);
        }
        if let Some(card) = &view.card {
            self.show(now, thread_id, |run| run.record.json(Arc::clone(card)));
        }
    }

    fn call_settled(&mut self, now: Instant, thread_id: ThreadId, view: SettledView) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        thread.agent.bodies.remove(&view.call_id);
        if let Some(Waiter { token, deadline }) = thread.calls.settled(&view.wire_id) {
            self.timers.clear(deadline, Timer::Call(thread_id, token));
        }
        let answered = view.frontend.as_ref().filter(|own| {
            thread
                .calls
                .answer_of(&view.wire_id)
                .is_none_or(|answer| answer.id == own.id)
        });
        if let Some(own) = answered {
            let digest = self.key.durable_result(&view.wire_id, &view.text, own);
            thread.seen.record_result(digest, own);
        }
        let state = (view.hidden && thread.state.commit(&view.call_id, !view.is_error))
            .then(|| thread.state.value().map(ToOwned::to_owned))
            .flatten();
        self.show(now, thread_id, |run| {
            // The browser holds its own result already.
            if !view.hidden && view.frontend.is_none() {
                run.record.event(&Event::ToolCallResult {
                    message_id: &view.message_id,
                    tool_call_id: &view.wire_id,
                    content: &view.text,
                });
            }
            if let Some(card) = view.card {
                run.record.json(card);
            }
            if let Some(state) = state {
                run.record.state(&state);
            }
        });
        self.check_park(now, thread_id);
    }

    /// The agent's status changed.
    pub fn handle_status(&mut self, now: Instant, thread_id: ThreadId, status: AgentStatus) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        thread.agent.busy = status == AgentStatus::Running;
        if thread.agent.busy {
            self.touch(now, thread_id);
            return;
        }
        thread.agent.end_turn();
        let driver = thread.driver;
        self.end_asks(thread_id);
        if let Some(run) = driver {
            match self.runs.get(&run).map(|run| &run.stage) {
                // A turn of the Host's own had come in between.
                Some(Stage::Admitted(_)) => self.drive_later(now, run),
                Some(Stage::Driving { .. }) => {
                    let error = GatewayError::new(
                        Code::AgentExecutionError,
                        "the agent stopped without finishing the run",
                    );
                    self.end(now, run, &Ending::Failed(error));
                }
                _ => {}
            }
        }
        if let Some(thread) = live(&mut self.threads, thread_id)
            && thread.driver.is_none()
        {
            // A turn that failed may leave messages queued; the client may send them again under the same ids.
            if thread.seen.release_all() {
                self.cancel(thread_id);
            }
        }
        self.pump(now, thread_id);
    }

    /// Lets the run that drives the thread's turn write, and tells its readers.
    pub(super) fn show(&mut self, now: Instant, thread_id: ThreadId, write: impl FnOnce(&mut Run)) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        let Some(key) = driving_run(thread, &self.runs) else {
            return;
        };
        if let Some(run) = self.runs.get_mut(&key) {
            write(run);
            self.tell(now, key);
        }
    }
}

/// An agent's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentStatus {
    /// No turn, and nothing queued to start one.
    Idle,
    /// Anything else.
    Running,
}

/// The run whose turn is open.
pub(super) fn driving_run(
    thread: &Thread,
    runs: &std::collections::HashMap<RunKey, Run>,
) -> Option<RunKey> {
    let key = thread.driver?;
    let Stage::Driving { turn: Some(turn) } = &runs.get(&key)?.stage else {
        return None;
    };
    (thread.agent.turn == Some(*turn)).then_some(key)
}
