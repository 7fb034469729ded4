//! What an agent reports: records of its log, deltas of its model, its Tools and its status (spec: gateway, 投影).

use std::sync::Arc;
use std::time::Instant;

use super::Gateway;
use super::effect::{CallDecision, CallOutcome};
use super::end::Ending;
use super::error::{Code, GatewayError};
use super::ids::{RunKey, ThreadId, Token};
use super::plan::state_tool_collision;
use super::run::Stage;
use super::thread::{Body, Thread, live};
use super::timer::Timer;
use crate::agui::{Event, Json};
use crate::projection::{
    AssistantView, BrowserSide, Change, FrontendResult, SettledView, StartedView,
};
use crate::session::{Record, SessionEvent, TurnEnd, parse_record};
use crate::tools::{Catalogue, STATE_TOOL};

/// The browser's side of a thread's calls, as the projection asks for it.
struct Browser<'a> {
    tools: &'a Catalogue,
    calls: &'a super::calls::BrowserCalls,
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
        let browser = Browser {
            tools: &thread.tools,
            calls: &thread.calls,
        };
        match thread.transcript.apply(record.event, &browser) {
            Change::User { id, texts } => {
                let digest = self.key.user_texts(texts.iter().map(String::as_str));
                thread.seen.record(&id, digest);
            }
            Change::Assistant(view) => self.assistant(now, thread_id, &view),
            Change::CallStarted(view) => self.call_started(now, thread_id, &view),
            Change::CallSettled(view) => self.call_settled(now, thread_id, view),
            Change::Nothing => {}
        }
    }

    fn turn_started(&mut self, thread_id: ThreadId, started: u64) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        thread.agent.turn = Some(started);
        // A run is handed over only while its agent is idle, so the next turn is the one that it opened.
        if let Some(run) = thread.driver.and_then(|run| self.runs.get_mut(&run))
            && let Stage::Driving { turn: turn @ None } = &mut run.stage
        {
            *turn = Some(started);
        }
    }

    fn turn_ended(&mut self, now: Instant, thread_id: ThreadId, reason: TurnEnd) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        let run = driving_run(thread, &self.runs);
        thread.agent.end_turn();
        thread.state.end_turn();
        for (token, deadline) in thread.calls.drain() {
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
            if thread.tools.get(&call.name).is_some() {
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
        thread.calls.settled(&view.wire_id);
        let answered = view.frontend.as_ref().filter(|own| {
            thread
                .calls
                .answer_of(&view.wire_id)
                .is_none_or(|answer| answer.id == own.id)
        });
        if let Some(own) = answered {
            let digest = self.key.durable_result(&view.wire_id, &view.text, own);
            thread.seen.record(&own.id, digest);
        }
        let state = (view.hidden && thread.state.commit(&view.call_id, !view.is_error))
            .then(|| thread.state.value().map(ToString::to_string))
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
                run.record.event(&Event::StateSnapshot {
                    snapshot: Json::encoded(&state),
                });
            }
        });
        self.check_park(now, thread_id);
    }

    /// A model attempt begins.
    pub fn handle_attempt_start(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        turn: u64,
        step: u64,
    ) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        thread.agent.streaming = true;
        thread.agent.step = step;
        let id = thread.transcript.assistant_id(turn, step);
        let retract = |thread: &mut Thread| thread.transcript.snapshot(thread.seen.pending());
        let Some(key) = driving_run(thread, &self.runs) else {
            return;
        };
        let Some(run) = self.runs.get_mut(&key) else {
            return;
        };
        if run.record.project(|live, _| live.begin(id)) {
            // An attempt was abandoned after clients saw some of it: the history takes it back.
            run.record.pieces(retract(thread));
        }
        self.tell(now, key);
    }

    /// Text of the attempt under way. The hot path: two look-ups and one copy.
    pub fn handle_text(&mut self, now: Instant, thread: ThreadId, delta: &str) {
        self.show(now, thread, |run| {
            run.record.project(|live, out| live.text(delta, out));
        });
    }

    /// Arguments of a call of the attempt under way.
    pub fn handle_tool_call(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        call_id: &str,
        name: Option<&str>,
        delta: &str,
    ) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        let Some(run_key) = driving_run(thread, &self.runs) else {
            return;
        };
        let Some(run) = self.runs.get_mut(&run_key) else {
            return;
        };
        let Stage::Driving { turn: Some(turn) } = run.stage else {
            return;
        };
        let step = thread.agent.step;
        let wire_id = || thread.transcript.wire_call_id(turn, step, call_id);
        run.record
            .project(|live, out| live.call(call_id, name, delta, &wire_id, out));
        self.tell(now, run_key);
    }

    /// The block that was open is complete.
    pub fn handle_block_end(&mut self, now: Instant, thread: ThreadId) {
        self.show(now, thread, |run| {
            run.record.project(|live, out| live.block_end(out));
        });
    }

    /// The attempt under way came to nothing.
    pub fn handle_attempt_abandoned(&mut self, now: Instant, thread_id: ThreadId) {
        if let Some(thread) = live(&mut self.threads, thread_id) {
            thread.agent.streaming = false;
        }
        self.show(now, thread_id, |run| {
            run.record.project(|live, out| live.abandon(out));
        });
    }

    /// A Tool body of the Host's own starts or ends.
    pub fn handle_body(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        call_id: &str,
        running: BodyChange,
    ) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        if let Some(body) = thread.agent.bodies.get_mut(call_id) {
            *body = match running {
                BodyChange::Started => Body::Running,
                BodyChange::Ended => Body::Over,
            };
        }
        self.check_park(now, thread_id);
    }

    /// A body of a Tool that the gateway registered begins.
    pub fn handle_call(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        token: Token,
        call: &CallHead<'_>,
    ) -> CallDecision {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return reject("the thread is gone");
        };
        if call.name == STATE_TOOL {
            let max = self.config.request.state_bytes;
            return CallDecision::Settle(thread.state.update(call.call_id, call.arguments, max));
        }
        let Some(tool) = thread.tools.get(call.name) else {
            return reject("the browser no longer offers this Tool");
        };
        let violations = tool.schema().check(call.arguments);
        if !violations.is_empty() {
            return reject(format!("invalid arguments: {}", violations.join("; ")));
        }
        let wire_id = thread.transcript.wire_of(call.call_id);
        let deadline = now + self.config.frontend_tool_timeout;
        match thread.calls.begin(&wire_id, token, deadline) {
            Ok(Some(outcome)) => CallDecision::Settle(outcome),
            Ok(None) => {
                self.timers.set(deadline, Timer::Call(thread_id, token));
                self.check_park(now, thread_id);
                CallDecision::Park
            }
            Err(super::calls::Unannounced) => {
                reject("browser Tools can only be called by the model itself")
            }
        }
    }

    /// The Host aborted a body that waits. It settles itself.
    pub fn handle_call_aborted(&mut self, now: Instant, thread_id: ThreadId, token: Token) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        if let Some(deadline) = thread.calls.release(token) {
            self.timers.clear(deadline, Timer::Call(thread_id, token));
        }
        self.check_park(now, thread_id);
    }

    pub(super) fn call_overdue(&mut self, now: Instant, thread_id: ThreadId, token: Token) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        if thread.calls.release(token).is_some() {
            let ms = self.config.frontend_tool_timeout.as_millis();
            self.effects.push_back(super::Effect::Settle {
                token,
                outcome: CallOutcome::Rejected {
                    message: format!("the browser did not answer within {ms} ms"),
                },
            });
        }
        self.check_park(now, thread_id);
    }

    /// The Tools that the agent has by itself are these now.
    pub fn handle_inherited(&mut self, now: Instant, thread_id: ThreadId, mut names: Vec<String>) {
        names.sort_unstable();
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        thread.inherited = names;
        let taken = |name: &str| {
            thread
                .inherited
                .binary_search_by(|own| own.as_str().cmp(name))
                .is_ok()
        };
        // A Tool of the Host's own has taken a name of ours while that was live: ours gives way.
        let mut unregister: Vec<String> = thread
            .tools
            .iter()
            .map(|tool| tool.name().as_str())
            .filter(|name| taken(name))
            .map(ToOwned::to_owned)
            .collect();
        let collision = if thread.agent.state_tool && taken(STATE_TOOL) {
            unregister.push(STATE_TOOL.into());
            state_tool_collision()
        } else if let Err(collision) = thread.tools.check_collisions(&thread.inherited) {
            collision.into()
        } else {
            return;
        };
        for name in &unregister {
            thread.tools = thread.tools.without(name);
        }
        thread.agent.state_tool &= !unregister.iter().any(|name| name == STATE_TOOL);
        let driver = thread.driver;
        let in_turn = thread.agent.turn.is_some();
        self.effects.push_back(super::Effect::SyncTools {
            thread: thread_id,
            unregister,
            register: Vec::new(),
        });
        match driver {
            Some(run) => self.fail_and_cancel(now, run, &collision),
            None if in_turn => self
                .effects
                .push_back(super::Effect::Cancel { thread: thread_id }),
            None => {}
        }
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
        let stuck = thread.driver.filter(|run| {
            self.runs
                .get(run)
                .is_some_and(|run| matches!(run.stage, Stage::Driving { .. }))
        });
        if let Some(run) = stuck {
            // The agent came to rest without a turn's end for this run.
            let error = GatewayError::new(
                Code::AgentExecutionError,
                "the agent stopped without finishing the run",
            );
            self.end(now, run, &Ending::Failed(error));
        }
        if let Some(thread) = live(&mut self.threads, thread_id)
            && thread.driver.is_none()
        {
            // A turn that failed may leave messages queued; the client may send them again under the same ids.
            if thread.seen.release_all() {
                self.effects
                    .push_back(super::Effect::Cancel { thread: thread_id });
            }
        }
        self.pump(now, thread_id);
    }

    /// Lets the run that drives the thread's turn write, and tells its readers.
    fn show(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        write: impl FnOnce(&mut super::run::Run),
    ) {
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

/// Whether a body starts or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyChange {
    /// It starts.
    Started,
    /// It ends.
    Ended,
}

/// An agent's status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AgentStatus {
    /// No turn, and nothing queued to start one.
    Idle,
    /// Anything else.
    Running,
}

/// A call whose body begins.
#[derive(Debug, Clone, Copy)]
pub struct CallHead<'a> {
    /// The provider's id.
    pub call_id: &'a str,
    /// Tool name.
    pub name: &'a str,
    /// Arguments: JSON text.
    pub arguments: &'a str,
}

fn reject(message: impl Into<String>) -> CallDecision {
    CallDecision::Settle(CallOutcome::Rejected {
        message: message.into(),
    })
}

/// The run whose turn is open.
fn driving_run(
    thread: &Thread,
    runs: &std::collections::HashMap<RunKey, super::run::Run>,
) -> Option<RunKey> {
    let key = thread.driver?;
    let Stage::Driving { turn: Some(turn) } = &runs.get(&key)?.stage else {
        return None;
    };
    (thread.agent.turn == Some(*turn)).then_some(key)
}
