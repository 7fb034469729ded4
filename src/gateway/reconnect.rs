//! Readers that come back, and how long a run waits for them (X1).
//!
//! A reader that comes back names the last frame that it has and gets exactly what follows, of a run that waits, works or
//! is over, as long as its record is kept. When the last reader of a run that is not over leaves, the run goes on for
//! `reconnectGraceMs`: a queued one keeps its place, and may be admitted and end meanwhile. Then it is abandoned, as it is
//! at once without a grace.

use std::time::Instant;

use super::Gateway;
use super::error::GatewayError;
use super::event_id::{EventId, not_of_this_run};
use super::ids::{Principal, ReaderId, RunKey, ThreadKey};
use super::refusal::nothing_to_continue;
use super::run::log::Cursor;
use super::timer::Timer;

impl Gateway {
    /// A client asks for what follows the last frame that it has of a run, or for all of it. Nothing is opened for it.
    ///
    /// # Errors
    /// `NOT_FOUND` where the principal has no such thread or the thread keeps no such run, `INVALID_AGUI_INPUT` where
    /// the run had no such frame.
    pub fn handle_reconnect(
        &mut self,
        now: Instant,
        principal: Principal,
        thread_id: &str,
        run_id: &str,
        after: Option<EventId>,
    ) -> Result<ReaderId, GatewayError> {
        let key = ThreadKey {
            principal,
            thread_id: thread_id.into(),
        };
        let thread = self.by_key.get(&key).copied();
        let runs = thread.map_or_else(Vec::new, |thread| self.runs_of_id(thread, run_id));
        let had = |run: &&RunKey| {
            after.is_some_and(|after| self.runs[run].record.log.tag() == after.record)
        };
        let run = *runs
            .iter()
            .find(had)
            .or(runs.last())
            .ok_or_else(nothing_to_continue)?;
        self.attach_after(now, run, after)
    }

    /// Lets a response read a run from behind a frame, or from its start.
    ///
    /// # Errors
    /// `INVALID_AGUI_INPUT` where the run had no such frame. Nothing has changed then.
    pub(super) fn attach_after(
        &mut self,
        now: Instant,
        run: RunKey,
        after: Option<EventId>,
    ) -> Result<ReaderId, GatewayError> {
        let cursor = match after {
            None => Cursor::default(),
            Some(id) => self
                .runs
                .get(&run)
                .and_then(|run| run.record.log.cursor_after(id))
                .ok_or_else(not_of_this_run)?,
        };
        Ok(self.attach(now, run, cursor))
    }

    /// Somebody may have stopped reading the run. Where nobody reads it any more, it is forgotten if it is over and
    /// nothing retains it; if it lives, it is abandoned when its grace is over.
    pub(super) fn release_run(&mut self, now: Instant, run_key: RunKey) {
        let grace = self.config.reconnect_grace;
        let Some(run) = self
            .runs
            .get_mut(&run_key)
            .filter(|run| run.readers.is_empty())
        else {
            return;
        };
        if run.stage.is_over() || grace.is_zero() {
            self.end_grace(run_key);
            self.abandon(now, run_key);
        } else if run.grace_at.is_none() {
            let at = now + grace;
            run.grace_at = Some(at);
            self.timers.set(at, Timer::Grace(run_key));
        }
    }

    /// Nobody came back in time.
    pub(super) fn grace_due(&mut self, now: Instant, run_key: RunKey) {
        if let Some(run) = self.runs.get_mut(&run_key) {
            run.grace_at = None;
            self.abandon(now, run_key);
        }
    }

    /// Somebody reads the run again, or it is over.
    pub(super) fn end_grace(&mut self, run_key: RunKey) {
        if let Some(run) = self.runs.get_mut(&run_key) {
            self.timers
                .clear(run.grace_at.take(), Timer::Grace(run_key));
        }
    }
}
