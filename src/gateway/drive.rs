//! Handing an accepted run to its agent (G11, G12, X11).
//!
//! It happens in a later turn of the driver's loop than admission, so that a response has begun before a model that
//! never yields starts. First the browser's Tools are brought up to date, then the messages go in or the parked
//! calls settle.

use std::time::{Duration, Instant};

use super::Gateway;
use super::effect::{Effect, ToolEffect};
use super::error::{Code, GatewayError};
use super::ids::{RunKey, ThreadId};
use super::run::Stage;
use super::run::work::{Answer, PersonAnswer, Work};
use super::thread::{Thread, live};
use super::timer::{Timer, Waiter};
use crate::tools::{Catalogue, STATE_TOOL};

/// The state Tool's definition for the model.
const STATE_TOOL_DESCRIPTION: &str = "Update the shared application state. Top-level keys in state_updates replace \
     the current values; keys that are left out stay as they are. Returns the whole state after the update.";
const STATE_TOOL_PARAMETERS: &str = r#"{"type":"object","properties":{"state_updates":{"type":"object","description":"New values of top-level keys"}},"required":["state_updates"],"additionalProperties":false}"#;

/// How long an admitted run waits for agents of other threads that are being opened.
const OPENING_GRACE: Duration = Duration::from_millis(50);

impl Gateway {
    /// Sets one agent to work, and returns its thread. Call it once per turn of the loop, until it returns `None`.
    ///
    /// While agents are being opened nothing starts for a while: their responses come first.
    pub fn poll_drive(&mut self, now: Instant) -> Option<ThreadId> {
        while self.wants_drive() {
            let run = self.drive.pop_front()?;
            self.overdue = self.overdue.saturating_sub(1);
            self.watch_drive(now);
            if let Some(thread) = self.start(now, run) {
                return Some(thread);
            }
        }
        None
    }

    /// Whether [`Gateway::poll_drive`] has something to start.
    #[must_use]
    pub fn wants_drive(&self) -> bool {
        !self.drive.is_empty() && (self.opening == 0 || self.overdue > 0)
    }

    /// Lets an admitted run wait for its turn of the loop.
    pub(super) fn drive_later(&mut self, now: Instant, run_key: RunKey) {
        let admitted = self
            .runs
            .get(&run_key)
            .is_some_and(|run| matches!(run.stage, Stage::Admitted(_)));
        if admitted && !self.drive.contains(&run_key) {
            self.drive.push_back(run_key);
            self.watch_drive(now);
        }
    }

    /// Keeps the timer that bounds how long runs wait for agents that are being opened.
    pub(super) fn watch_drive(&mut self, now: Instant) {
        let waits = self.opening > 0 && self.drive.len() > self.overdue;
        match (waits, self.drive_at) {
            (true, None) => {
                let at = now + OPENING_GRACE;
                self.drive_at = Some(at);
                self.timers.set(at, Timer::Drive);
            }
            (false, at @ Some(_)) => {
                self.drive_at = None;
                self.timers.clear(at, Timer::Drive);
            }
            _ => {}
        }
    }

    /// The runs that wait have waited long enough.
    pub(super) fn drive_due(&mut self) {
        self.drive_at = None;
        self.overdue = self.drive.len();
    }

    fn start(&mut self, now: Instant, run_key: RunKey) -> Option<ThreadId> {
        let run = self.runs.get_mut(&run_key)?;
        let thread_id = run.thread;
        let thread = self.threads.get_mut(&thread_id)?;
        let Stage::Admitted(work) = &run.stage else {
            return None;
        };
        if work.opens_turn() && !thread.agent.is_idle() {
            // A turn of the Host's own has begun since admission: its end brings the run back.
            return None;
        }
        let Stage::Admitted(mut work) = std::mem::replace(&mut run.stage, Stage::Done) else {
            return None;
        };
        hold_tools(thread, &mut work);
        let effect = sync_tools(thread_id, thread, &work);
        run.stage = Stage::Syncing(work);
        match effect {
            Some(effect) => self.effects.push_back(effect),
            None => self.handle_tools_synced(now, thread_id, ToolSync::Done),
        }
        Some(thread_id)
    }

    /// The Host has replaced the browser's Tools, or refused to; the driver has then taken
    /// back every Tool that it had registered for the thread.
    pub fn handle_tools_synced(&mut self, now: Instant, thread_id: ThreadId, outcome: ToolSync) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        let Some(run_key) = thread.driver else {
            return;
        };
        let Some(run) = self.runs.get_mut(&run_key) else {
            return;
        };
        let Stage::Syncing(work) = &mut run.stage else {
            return;
        };
        if outcome == ToolSync::Refused {
            // The driver has taken back every Tool of this thread.
            thread.tools = Catalogue::default();
            thread.agent.state_tool = false;
            let error = GatewayError::new(
                Code::FrontendToolSyncFailed,
                "the agent refused the browser's Tools",
            );
            self.fail_and_cancel(now, run_key, &error);
            return;
        }
        // The Host has them, whatever becomes of the run.
        thread.tools = work.tools.clone();
        thread.render_tool.clone_from(&work.render_tool);
        thread.agent.state_tool = thread.state.is_active();
        if let Some(error) = overtaken(thread, work) {
            if work.messages.is_empty() {
                self.fail(now, run_key, &error);
                return;
            }
            // What the person says is left, and opens a turn of its own.
            for own in work.answers.drain(..).filter_map(|answer| answer.own) {
                thread.seen.release(&own.id);
            }
        }
        let opens_turn = work.opens_turn();
        // It is the next turn that begins where none is open.
        let turn = thread.agent.turn.filter(|_| !opens_turn);
        let Stage::Syncing(work) = std::mem::replace(&mut run.stage, Stage::Driving { turn })
        else {
            return;
        };
        if opens_turn && !thread.agent.is_idle() {
            // The end of the turn that is open brings the run back.
            run.stage = Stage::Admitted(work);
            return;
        }
        let mut messages = work.notes;
        messages.extend(work.messages);
        if !messages.is_empty() {
            self.effects.push_back(Effect::Deliver {
                thread: thread_id,
                messages,
                wake: opens_turn,
            });
        }
        if !opens_turn {
            self.settle_answers(thread_id, work.answers);
            self.settle_asks(thread_id, work.people);
            self.check_park(now, thread_id);
        }
    }

    fn settle_answers(&mut self, thread_id: ThreadId, answers: Vec<Answer>) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        for answer in answers {
            let settled = thread
                .calls
                .answer(&answer.call, answer.own, answer.outcome);
            if let Some((Waiter { token, deadline }, outcome)) = settled {
                self.timers.clear(deadline, Timer::Call(thread_id, token));
                self.effects.push_back(Effect::Settle { token, outcome });
            }
        }
    }
}

/// Why a continuation has nothing left to continue, if that is so: what it answers settled otherwise between its
/// admission and now. Its time ran out, the Host took it back, or the turn was cancelled.
fn overtaken(thread: &Thread, work: &Work) -> Option<GatewayError> {
    let owed = |answer: &Answer| thread.calls.is_owed(&answer.call);
    let waits = |answer: &PersonAnswer| thread.interrupts.is_taken(&answer.id);
    if work.opens_turn() || work.answers.iter().any(owed) || work.people.iter().any(waits) {
        return None;
    }
    Some(if work.people.is_empty() {
        GatewayError::new(
            Code::UnknownToolResult,
            "the calls that these results answer are over",
        )
    } else {
        GatewayError::new(
            Code::InterruptUnavailable,
            "the interrupts that these answers are for no longer wait",
        )
    })
}

/// What became of [`Effect::SyncTools`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolSync {
    /// Every Tool is registered.
    Done,
    /// The Host refused one.
    Refused,
}

/// Keeps the Tools of calls whose bodies are still to begin: the Host would find no body for them, and the answers that
/// the browser has given would be lost. They go with the next run.
fn hold_tools(thread: &Thread, work: &mut Work) {
    let calls = thread.calls.without_body();
    let names = calls.filter_map(|call| thread.transcript.call(call));
    let held: Vec<&str> = names.map(|(name, _)| name).collect();
    if !held.is_empty() {
        work.tools = work
            .tools
            .keeping(&thread.tools, |name| held.contains(&name));
    }
}

/// The change of the agent's Tool set that a run needs, if any.
fn sync_tools(thread_id: ThreadId, thread: &Thread, work: &Work) -> Option<Effect> {
    let changes = thread.tools.changes_to(&work.tools);
    let mut unregister: Vec<String> = changes
        .unregister
        .iter()
        .map(|name| name.as_str().to_owned())
        .collect();
    let mut register: Vec<ToolEffect> = changes
        .register
        .iter()
        .map(|tool| ToolEffect {
            name: tool.name().as_str().to_owned(),
            description: tool.description().to_owned(),
            parameters: raw(tool.schema().json()),
            concurrent: true,
        })
        .collect();
    match (thread.agent.state_tool, thread.state.is_active()) {
        (false, true) => register.push(ToolEffect {
            name: STATE_TOOL.into(),
            description: STATE_TOOL_DESCRIPTION.into(),
            parameters: raw(STATE_TOOL_PARAMETERS),
            concurrent: false,
        }),
        (true, false) => unregister.push(STATE_TOOL.into()),
        _ => {}
    }
    if register.is_empty() && unregister.is_empty() {
        return None;
    }
    Some(Effect::SyncTools {
        thread: thread_id,
        unregister,
        register,
    })
}

fn raw(json: &str) -> Box<serde_json::value::RawValue> {
    // Both callers hold valid JSON; an empty object is the harmless answer to the impossible.
    serde_json::value::RawValue::from_string(json.into())
        .unwrap_or_else(|_| serde_json::value::RawValue::NULL.to_owned())
}
