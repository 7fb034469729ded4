//! When a turn waits for the browser or for people, the HTTP run that drives it ends well (spec: gateway, Client-provided
//! Tools, 原生问题与审批; G11, G18).
//!
//! The turn waits when a browser Tool's body or a request to a person waits, and no body runs but those that have asked
//! somebody. A request that names no call stands for one of the bodies that run. Whether that is so is looked at once the
//! Host has had a turn of its own loop, because the calls of one step are dispatched one after another. Calls that
//! are still with the Host's policies, and of which no person was asked, get a little longer: one that was refused has
//! no body and its result may be held back behind the very call that waits.

use std::time::{Duration, Instant};

use super::Gateway;
use super::host::driving_run;
use super::ids::ThreadId;
use super::run::{Ending, Stage};
use super::timer::Timer;

/// How long calls may be with the Host's policies before the run ends without them.
const POLICY_GRACE: Duration = Duration::from_secs(1);

impl Gateway {
    /// Looks again soon, if the turn may have come to wait.
    pub(super) fn check_park(&mut self, now: Instant, thread_id: ThreadId) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        self.timers
            .clear(thread.park_at.take(), Timer::Park(thread_id));
        if !thread.is_parked() {
            return;
        }
        let at = if thread.any_preparing() {
            now + POLICY_GRACE
        } else {
            now
        };
        thread.park_at = Some(at);
        self.timers.set(at, Timer::Park(thread_id));
    }

    /// Clients are waited for, and not for ever, as soon as no run of the turn is open in which they themselves wait to be
    /// asked.
    pub(super) fn start_clocks(&mut self, now: Instant, thread_id: ThreadId) {
        let thread = self.threads.get_mut(&thread_id);
        let Some(thread) = thread.filter(|thread| driving_run(thread, &self.runs).is_none()) else {
            return;
        };
        let deadline = now + self.config.frontend_tool_timeout;
        for token in thread.calls.start_clocks(deadline) {
            self.timers.set(deadline, Timer::Call(thread_id, token));
        }
        let deadline = now + self.config.human_interaction_timeout;
        for token in thread.interrupts.start_clocks(deadline) {
            self.timers.set(deadline, Timer::Person(thread_id, token));
        }
    }

    /// The Host has had its turn.
    pub(super) fn park_due(&mut self, now: Instant, thread_id: ThreadId) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        thread.park_at = None;
        if !thread.is_parked() {
            return;
        }
        let driver = thread.driver.filter(|run| {
            self.runs
                .get(run)
                .is_some_and(|run| matches!(run.stage, Stage::Driving { turn: Some(_) }))
        });
        match driver {
            Some(run) => {
                if self.write(thread_id) {
                    self.end(now, run, &Ending::Waiting);
                }
            }
            None => self.pump(now, thread_id),
        }
    }
}
