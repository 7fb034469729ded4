//! What a client is told has ended is on the Host's disk (G8, G20).
//!
//! A Host writes its log behind. So a run that has reached its agent ends in two steps: its turn is over, or waits for
//! the browser; the Host is asked to write; and when it has, the client is told. A process that dies between the two
//! leaves a client that knows nothing yet, and sends its messages again. The same holds for an interruption: that it
//! is told is noted in the log first, so that no later life tells it again.
//!
//! Everything else may go out before it is written: it promises nothing.

use std::time::Instant;

use super::Gateway;
use super::effect::Effect;
use super::ids::{RunKey, ThreadId};
use super::refusal::interrupted_error;
use super::run::{Ending, Stage, unfinished};
use super::thread::live;

impl Gateway {
    /// Ends a run as soon as the log is written.
    pub(super) fn end_when_written(&mut self, now: Instant, run_key: RunKey, ending: Ending) {
        let Some(run) = unfinished(&mut self.runs, run_key) else {
            return;
        };
        let thread_id = run.thread;
        match live(&mut self.threads, thread_id) {
            Some(thread) if !thread.writing.is_done() => {
                let records = thread.writing.reported();
                run.stage = Stage::Ending { ending, records };
                self.write(thread_id);
            }
            _ => self.end(now, run_key, &ending),
        }
    }

    /// Tells a client that a restart broke the last turn off.
    pub(super) fn tell_interruption(&mut self, now: Instant, thread_id: ThreadId, run: RunKey) {
        if self.end_if_overflowed(now, run) {
            return;
        }
        if let Some(thread) = live(&mut self.threads, thread_id) {
            thread.writing.note();
            self.effects
                .push_back(Effect::NoteInterruption { thread: thread_id });
        }
        self.end_when_written(now, run, Ending::Failed(interrupted_error()));
    }

    /// Whether the log of a thread is written; if not, the Host is asked to, and [`Gateway::handle_flushed`] looks
    /// again.
    pub(super) fn write(&mut self, thread_id: ThreadId) -> bool {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return true;
        };
        if let Some(records) = thread.writing.ask() {
            self.effects.push_back(Effect::Flush {
                thread: thread_id,
                records,
            });
        }
        thread.writing.is_done()
    }

    /// The Host has written the log, up to the records that [`Effect::Flush`] named; or it cannot, and everyone goes
    /// on without.
    pub fn handle_flushed(&mut self, now: Instant, thread_id: ThreadId, records: u64) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        let written = thread.writing.flushed(records);
        let ready: Vec<(RunKey, Ending)> = thread
            .ledger
            .iter()
            .filter_map(|key| match &self.runs.get(key)?.stage {
                Stage::Ending { ending, records } if *records <= written => {
                    Some((*key, ending.clone()))
                }
                _ => None,
            })
            .collect();
        for (run, ending) in ready {
            self.give_back(thread_id, run);
            self.end(now, run, &ending);
        }
        // A turn that was found to wait for the browser has had its time; one that is looked at later has its timer.
        if live(&mut self.threads, thread_id).is_some_and(|thread| thread.park_at.is_none()) {
            self.park_due(now, thread_id);
        }
    }

    /// A turn that failed may have left messages queued. Its agent has come to rest while the log was written, so
    /// nobody else gives them back before the next run is looked at.
    fn give_back(&mut self, thread_id: ThreadId, run: RunKey) {
        if let Some(thread) = live(&mut self.threads, thread_id)
            && thread.driver == Some(run)
            && thread.agent.is_idle()
            && thread.seen.release_all()
        {
            self.cancel(thread_id);
        }
    }
}
