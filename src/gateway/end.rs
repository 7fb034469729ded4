//! How a run ends: exactly one terminal event, and the agent is free for the next (spec: gateway, 生命周期; G7, G21).

use std::time::Instant;

use super::Gateway;
use super::asking::give_answers_back;
use super::effect::Effect;
use super::error::{Code, GatewayError};
use super::ids::{RunKey, ThreadId};
use super::run::{Ending, Left, Peer, Run, Stage, unfinished};
use super::thread::Thread;
use crate::agui::{Event, Interrupts, Outcome};
use crate::session::TurnEnd;

impl Gateway {
    /// The turn of a run is over.
    pub(super) fn end_turn(&mut self, now: Instant, run: RunKey, reason: TurnEnd) {
        let failed = |code, message: &str| Ending::Failed(GatewayError::new(code, message));
        let ending = match reason {
            TurnEnd::Completed | TurnEnd::MaxTokens => Ending::Finished,
            TurnEnd::Aborted => failed(Code::AgentAborted, "the turn was cancelled"),
            TurnEnd::Blocked => failed(Code::AgentBlocked, "a policy of the Host refused the turn"),
            TurnEnd::Interrupted => failed(Code::AgentInterrupted, "the turn was interrupted"),
            TurnEnd::Failed { code, message } if !code.is_empty() => {
                Ending::Provider { code, message }
            }
            TurnEnd::Failed { .. } | TurnEnd::Unknown => {
                failed(Code::AgentExecutionError, "the agent failed")
            }
        };
        self.end_when_written(now, run, ending);
    }

    /// A history-only run is complete with its opening.
    pub(super) fn finish_history(&mut self, now: Instant, run: RunKey) {
        if self.end_if_overflowed(now, run) {
            return;
        }
        // What waits for people is told again, and for the first time only where no run and no client is at it: another
        // page may show a form of what was published, and the run that drives publishes by itself.
        let thread_id = self.runs.get(&run).map(|run| run.thread);
        let first = thread_id
            .and_then(|thread| self.threads.get_mut(&thread))
            .filter(|thread| thread.driver.is_none() && thread.interrupts.published_len() == 0)
            .map(|thread| thread.interrupts.publish())
            .is_some();
        if self.fits_interrupts(run) {
            return self.terminate(now, run, &Ending::Waiting);
        }
        if first && let Some(thread) = thread_id.and_then(|thread| self.threads.get_mut(&thread)) {
            thread.interrupts.withdraw();
        }
        self.terminate(now, run, &overflow());
    }

    /// Ends the run with an error of the gateway's own, at once.
    pub(super) fn fail(&mut self, now: Instant, run: RunKey, error: &GatewayError) {
        self.end(now, run, &Ending::Failed(error.clone()));
    }

    /// Ends the run with an error, and cancels the turn that it claimed, if it has reached its agent.
    pub(super) fn fail_and_cancel(&mut self, now: Instant, run_key: RunKey, error: &GatewayError) {
        let stage = self.runs.get(&run_key).map(|run| &run.stage);
        if matches!(stage, Some(Stage::Ending { .. })) {
            // Its turn is over, and how it ended is only waiting to be told.
            return;
        }
        if let Some(run) = self.runs.get(&run_key)
            && matches!(run.stage, Stage::Driving { .. })
            && self
                .threads
                .get(&run.thread)
                .is_some_and(|thread| thread.driver == Some(run_key))
        {
            self.cancel(run.thread);
        }
        self.fail(now, run_key, error);
    }

    /// Has the Host cancel what the agent does and what waits in its inbox. New runs wait until a turn has settled.
    pub(super) fn cancel(&mut self, thread_id: ThreadId) {
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            thread.agent.cancelled = thread.agent.turn.is_some();
        }
        self.effects.push_back(Effect::Cancel { thread: thread_id });
    }

    /// Ends a run that drives its thread, or is about to.
    pub(super) fn end(&mut self, now: Instant, run_key: RunKey, ending: &Ending) {
        let Some(run) = unfinished(&mut self.runs, run_key) else {
            return;
        };
        let thread_id = run.thread;
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        // What the agent never got may be sent again under the same ids.
        if let Stage::Admitted(work) | Stage::Syncing(work) = &run.stage {
            let messages = work
                .messages
                .iter()
                .filter_map(|message| message.id.as_deref());
            let answers = work
                .answers
                .iter()
                .filter_map(|answer| answer.own.as_ref())
                .map(|own| own.id.as_str());
            messages
                .chain(answers)
                .for_each(|id| thread.seen.release(id));
            give_answers_back(
                &mut thread.interrupts,
                &mut self.timers,
                thread_id,
                &work.people,
            );
        }
        let mut overflowed = run.record.take_overflow();
        match ending {
            Ending::Finished | Ending::Waiting => {
                run.record.project(|live, out| live.close(out));
                run.record
                    .pieces(thread.transcript.snapshot(thread.seen.pending()));
                overflowed |= run.record.take_overflow();
            }
            Ending::Failed(error) => {
                overflowed |= error.code == Code::EventBufferOverflow;
                take_back_lost_calls(thread, run, overflowed);
            }
            Ending::Provider { .. } => take_back_lost_calls(thread, run, overflowed),
        }
        if thread.driver == Some(run_key) {
            thread.driver = None;
        }
        if matches!(ending, Ending::Waiting) {
            thread.interrupts.publish();
        }
        if overflowed || matches!(ending, Ending::Waiting) && !self.fits_interrupts(run_key) {
            if matches!(ending, Ending::Waiting) {
                // The turn would wait for what no client can be told of.
                self.cancel(thread_id);
            }
            self.terminate(now, run_key, &overflow());
        } else {
            self.terminate(now, run_key, ending);
        }
        self.start_clocks(now, thread_id);
        self.touch(now, thread_id);
        self.pump(now, thread_id);
    }

    /// Ends the run if something did not fit in its record. Returns whether it has.
    pub(super) fn end_if_overflowed(&mut self, now: Instant, run_key: RunKey) -> bool {
        let Some(run) = unfinished(&mut self.runs, run_key) else {
            return false;
        };
        if !run.record.take_overflow() {
            return false;
        }
        if let Ending::Failed(error) = overflow() {
            self.fail_and_cancel(now, run_key, &error);
        }
        true
    }

    /// Whether a run's record has room for an end that tells of everything published.
    fn fits_interrupts(&self, run: RunKey) -> bool {
        let Some(run) = self.runs.get(&run) else {
            return true;
        };
        let Some(thread) = self.threads.get(&run.thread) else {
            return true;
        };
        // Without interrupts the end always fits.
        thread.interrupts.published_len() == 0 || {
            let end = finished(run.peer, &thread.key.thread_id, &run.run_id, Some(thread));
            run.record.log.has_room_for_end(end.len())
        }
    }

    /// Writes the terminal event and tells the readers.
    fn terminate(&mut self, now: Instant, run_key: RunKey, ending: &Ending) {
        let Some(run) = self.runs.get_mut(&run_key) else {
            return;
        };
        let thread = self.threads.get(&run.thread);
        let thread_id = thread.map_or("", |thread| thread.key.thread_id.as_str());
        let run_id = &*run.run_id;
        let names = names(run.peer, thread_id, run_id);
        if matches!(ending, Ending::Waiting) {
            run.left = thread.map_or(Left::Nothing, left);
        }
        // Where the calls that wait do not fit, their client has to tell them from the stream.
        let waiting = matches!(ending, Ending::Waiting)
            .then(|| finished(run.peer, thread_id, run_id, thread))
            .filter(|end| run.record.log.has_room_for_end(end.len()));
        run.record.terminate(|room| match ending {
            Ending::Finished | Ending::Waiting => {
                waiting.unwrap_or_else(|| finished(run.peer, thread_id, run_id, None))
            }
            Ending::Failed(error) => run_error(names, error.code.as_str(), &error.message, room),
            Ending::Provider { code, message } => run_error(names, cut(code, 64), message, room),
        });
        run.stage = Stage::Done;
        self.tell(now, run_key);
        self.end_grace(run_key);
    }

    /// Refuses a run that waited. Responses that have begun get the code in their stream.
    pub(super) fn reject(&mut self, now: Instant, run_key: RunKey, error: GatewayError) {
        let Some(run) = self.runs.get_mut(&run_key) else {
            return;
        };
        let thread_id = run.thread;
        let (run_id, peer) = (run.run_id.clone(), run.peer);
        let thread = self
            .threads
            .get(&thread_id)
            .map_or("", |thread| thread.key.thread_id.as_str());
        run.record.terminate(|room| {
            let names = names(peer, thread, &run_id);
            run_error(names, error.code.as_str(), &error.message, room)
        });
        run.stage = Stage::Rejected(error);
        self.tell(now, run_key);
        self.touch(now, thread_id);
        // Nothing retains it: where nobody reads it, it is gone.
        self.release_run(now, run_key);
    }
}

/// Clients hold calls of an attempt that the log will never have: a page would carry them out, whole or not, for a turn
/// that is over. The history takes them back; where that does not fit, their answers mean nothing (X7).
fn take_back_lost_calls(thread: &mut Thread, run: &mut Run, overflowed: bool) {
    let is_lost = |call: &&str| thread.transcript.call(call).is_none();
    let shown = run.record.live.shown_calls();
    let lost: Vec<String> = shown.filter(is_lost).map(ToOwned::to_owned).collect();
    lost.iter().for_each(|call| thread.lost.note(call));
    // Nothing follows what did not fit.
    if lost.is_empty() || overflowed {
        return;
    }
    let history = thread.transcript.snapshot(thread.seen.pending());
    if run.record.log.fits(&[&history]) {
        run.record.project(|live, out| live.close(out));
        run.record.pieces(history);
        // The run fails for its own reason, whether that fitted or not.
        run.record.take_overflow();
    }
}

/// What a turn that waits is waiting for.
fn left(thread: &Thread) -> Left {
    if thread.interrupts.published_len() > 0 {
        Left::People
    } else if thread.calls.any_owed() {
        Left::Browser
    } else {
        Left::Nothing
    }
}

/// `RUN_FINISHED`, with what the thread waits for where it is given: what it has published, else the browser's calls, for
/// clients that know them there.
fn finished(peer: Peer, thread_id: &str, run_id: &str, waiting: Option<&Thread>) -> String {
    let published = waiting.map(|thread| thread.interrupts.published());
    let interrupts = published.as_deref().and_then(Interrupts::new);
    let owed: Vec<&str> = match (peer, waiting) {
        // While a run drives, its own end tells of them.
        (Peer::Strict, Some(thread)) if thread.driver.is_none() => thread.calls.owed().collect(),
        _ => Vec::new(),
    };
    let calls = (!owed.is_empty()).then_some(Outcome::Success {
        pending_tool_call_ids: &owed,
    });
    Event::RunFinished {
        thread_id,
        run_id,
        outcome: interrupts.map(Outcome::Interrupt).or(calls),
        result: None,
    }
    .to_json()
}

fn overflow() -> Ending {
    Ending::Failed(GatewayError::new(
        Code::EventBufferOverflow,
        "the run exceeds the size of its retained record",
    ))
}

/// Thread and run of a `RUN_ERROR`: undeclared, useful to peers that let them pass.
fn names<'a>(peer: Peer, thread_id: &'a str, run_id: &'a str) -> Option<(&'a str, &'a str)> {
    match peer {
        Peer::Early => Some((thread_id, run_id)),
        Peer::Strict => None,
    }
}

fn run_error(names: Option<(&str, &str)>, code: &str, message: &str, room: usize) -> String {
    let error = |message: &str| {
        Event::RunError {
            message,
            code: Some(code),
            thread_id: names.map(|(thread_id, _)| thread_id),
            run_id: names.map(|(_, run_id)| run_id),
        }
        .to_json()
    };
    // Escapes may grow the message sixfold at worst, so what is cut to a sixth always fits.
    let whole = error(message);
    if message.len() <= room || whole.len() <= room {
        whole
    } else {
        error(cut(message, room / 6))
    }
}

/// The longest start of `text` that holds at most `bytes`.
fn cut(text: &str, bytes: usize) -> &str {
    let mut end = text.len().min(bytes);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
