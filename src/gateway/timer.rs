//! Deadlines, ordered. The driver asks for the earliest; nothing here reads a clock.

use std::collections::BTreeSet;
use std::time::Instant;

use super::ids::{ReaderId, RunKey, ThreadId, Token};

/// What a deadline is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Deltas that were held back are due (X12).
    Flush(RunKey),
    /// A reader has been silent (X9).
    KeepAlive(ReaderId),
    /// The turn may have come to wait for the browser.
    Park(ThreadId),
    /// A browser Tool's result is overdue.
    Call(ThreadId, Token),
    /// A person has not answered.
    Person(ThreadId, Token),
    /// A thread has been idle.
    Idle(ThreadId),
    /// Nobody has come back to a run.
    Grace(RunKey),
    /// Runs have waited long enough for agents that are being opened.
    Drive,
}

/// Who waits for a client: for a browser's result, or for a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waiter {
    pub(super) token: Token,
    /// When it has waited long enough. Unset while the run that is to tell of it is open: nobody can answer yet.
    pub(super) deadline: Option<Instant>,
}

impl Waiter {
    pub(super) fn new(token: Token) -> Self {
        Self {
            token,
            deadline: None,
        }
    }

    /// Clients can answer from now on. Returns the token if the clock starts with that.
    pub(super) fn start(&mut self, deadline: Instant) -> Option<Token> {
        if self.deadline.is_some() {
            return None;
        }
        self.deadline = Some(deadline);
        Some(self.token)
    }
}

/// The set of deadlines. A timer has at most one.
#[derive(Debug, Default)]
pub(super) struct Timers {
    by_time: BTreeSet<(Instant, Timer)>,
}

impl Timers {
    /// Sets a deadline. The caller keeps track of timers it may want to clear.
    pub(super) fn set(&mut self, at: Instant, timer: Timer) {
        self.by_time.insert((at, timer));
    }

    /// Takes a deadline back, where there is one.
    pub(super) fn clear(&mut self, at: Option<Instant>, timer: Timer) {
        if let Some(at) = at {
            self.by_time.remove(&(at, timer));
        }
    }

    /// The earliest deadline.
    pub(super) fn next(&self) -> Option<Instant> {
        self.by_time.first().map(|(at, _)| *at)
    }

    /// Takes the earliest timer that is due.
    pub(super) fn pop_due(&mut self, now: Instant) -> Option<Timer> {
        let first = *self.by_time.first().filter(|(at, _)| *at <= now)?;
        self.by_time.remove(&first);
        Some(first.1)
    }
}
