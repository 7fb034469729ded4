//! Responses: readers of run records, paced and kept alive (X9, X12).

use std::time::Instant;

use super::Gateway;
use super::error::GatewayError;
use super::ids::{ReaderId, RunKey};
use super::run::Stage;
use super::run::log::Cursor;
use super::run::record::Written;
use super::timer::Timer;
use crate::agui::sse::KEEP_ALIVE;

/// One HTTP response that reads a run's record.
#[derive(Debug)]
pub(super) struct Reader {
    run: RunKey,
    cursor: Cursor,
    /// The status line is out.
    begun: bool,
    /// Waits in the ready queue.
    ready: bool,
    /// A comment frame is due.
    comment: bool,
    /// When something was last written.
    wrote: Instant,
    keep_alive_at: Instant,
}

/// A response with something to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ready {
    /// Which.
    pub reader: ReaderId,
    /// The head to write first, once per response.
    pub head: Option<ResponseHead>,
}

/// What is left of a response after [`Gateway::read`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// More may come.
    Open,
    /// What was read was the last of it; the reader is gone.
    Over,
}

/// How a response begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ResponseHead {
    /// 200 with a stream of events.
    Stream,
    /// An error status with a JSON body, and nothing after it.
    Error(GatewayError),
}

impl Gateway {
    /// Lets a response read a run from a cursor of its record on.
    pub(super) fn attach(&mut self, now: Instant, run_key: RunKey, cursor: Cursor) -> ReaderId {
        self.end_grace(run_key);
        let id = ReaderId(self.take_id());
        let keep_alive_at = now + self.config.keep_alive;
        self.timers.set(keep_alive_at, Timer::KeepAlive(id));
        let reader = Reader {
            run: run_key,
            cursor,
            begun: false,
            ready: false,
            comment: false,
            wrote: now,
            keep_alive_at,
        };
        self.readers.insert(id, reader);
        if let Some(run) = self.runs.get_mut(&run_key) {
            run.readers.push(id);
            let thread_id = run.thread;
            if !matches!(run.stage, Stage::Queued(_) | Stage::Preparing { .. }) {
                self.mark_ready(id);
            }
            self.touch(now, thread_id);
        }
        id
    }

    /// The run that a response reads.
    #[cfg(test)]
    pub(super) fn run_of(&self, reader: ReaderId) -> Option<RunKey> {
        self.readers.get(&reader).map(|reader| reader.run)
    }

    fn mark_ready(&mut self, id: ReaderId) {
        if let Some(reader) = self.readers.get_mut(&id)
            && !std::mem::replace(&mut reader.ready, true)
        {
            self.ready.push_back(id);
        }
    }

    /// Tells the readers of a run what was written, at once or when the flush interval is over, and ends the run if
    /// something did not fit.
    pub(super) fn tell(&mut self, now: Instant, run_key: RunKey) {
        if self.end_if_overflowed(now, run_key) {
            return;
        }
        let interval = self.config.flush_interval;
        let Some(run) = self.runs.get_mut(&run_key) else {
            return;
        };
        let pacing = &mut run.record.pacing;
        let due = pacing
            .flushed
            .map(|at| at + interval)
            .filter(|at| *at > now);
        match (run.record.take_written(), due) {
            (Written::Nothing, _) => {}
            (Written::Delta, Some(due)) => {
                let pacing = &mut run.record.pacing;
                if pacing.armed.is_none() {
                    pacing.armed = Some(due);
                    self.timers.set(due, Timer::Flush(run_key));
                }
            }
            (Written::Delta, None) | (Written::Urgent, _) => self.flush(now, run_key),
        }
    }

    fn flush(&mut self, now: Instant, run_key: RunKey) {
        let Some(run) = self.runs.get_mut(&run_key) else {
            return;
        };
        let pacing = &mut run.record.pacing;
        pacing.flushed = Some(now);
        self.timers
            .clear(pacing.armed.take(), Timer::Flush(run_key));
        for index in 0..run.readers.len() {
            let Some(reader) = self.runs.get(&run_key).map(|run| run.readers[index]) else {
                return;
            };
            self.mark_ready(reader);
        }
    }

    pub(super) fn flush_due(&mut self, now: Instant, run_key: RunKey) {
        if let Some(run) = self.runs.get_mut(&run_key) {
            run.record.pacing.armed = None;
            self.flush(now, run_key);
        }
    }

    pub(super) fn keep_alive_due(&mut self, now: Instant, id: ReaderId) {
        let interval = self.config.keep_alive;
        let Some(reader) = self.readers.get_mut(&id) else {
            return;
        };
        let due = reader.wrote + interval;
        if due <= now {
            // A response that still waits for its decision begins now, so that nothing between the two ends gives up.
            reader.comment = true;
            reader.wrote = now;
            self.mark_ready(id);
        }
        if let Some(reader) = self.readers.get_mut(&id) {
            reader.keep_alive_at = reader.wrote + interval;
            self.timers.set(reader.keep_alive_at, Timer::KeepAlive(id));
        }
    }

    /// The next response with something to write. Call [`Gateway::read`] for it, now or when its socket has drained.
    #[must_use]
    pub fn poll_reader(&mut self) -> Option<Ready> {
        while let Some(id) = self.ready.pop_front() {
            let Some(reader) = self.readers.get_mut(&id) else {
                continue;
            };
            reader.ready = false;
            let run = self.runs.get(&reader.run);
            let rejected = match run.map(|run| &run.stage) {
                Some(Stage::Rejected(error)) if !reader.begun => Some(error.clone()),
                _ => None,
            };
            let head = (!reader.begun).then(|| match rejected.clone() {
                Some(error) => ResponseHead::Error(error),
                None => ResponseHead::Stream,
            });
            reader.begun = true;
            return Some(Ready { reader: id, head });
        }
        None
    }

    /// Appends everything that the response has not got yet, and says whether that was the last of it: known only
    /// now, since a run may end between [`Gateway::poll_reader`] and here.
    pub fn read(&mut self, now: Instant, id: ReaderId, out: &mut String) -> Rest {
        let Some(reader) = self.readers.get_mut(&id) else {
            return Rest::Over;
        };
        let Some(run) = self.runs.get(&reader.run) else {
            self.detach(id);
            return Rest::Over;
        };
        if std::mem::take(&mut reader.comment) && !run.record.log.has_more(reader.cursor) {
            out.push_str(KEEP_ALIVE);
        }
        run.record.log.read(&mut reader.cursor, out);
        reader.wrote = now;
        if !run.stage.is_over() {
            return Rest::Open;
        }
        let run = reader.run;
        self.detach(id);
        self.release_run(now, run);
        Rest::Over
    }

    /// The socket of a response has drained: it is ready again.
    pub fn handle_drained(&mut self, id: ReaderId) {
        self.mark_ready(id);
    }

    /// The client of a response left before its end.
    pub fn handle_disconnect(&mut self, now: Instant, id: ReaderId) {
        let Some(reader) = self.readers.get(&id) else {
            return;
        };
        let run = reader.run;
        self.detach(id);
        self.release_run(now, run);
    }

    fn detach(&mut self, id: ReaderId) {
        let Some(reader) = self.readers.remove(&id) else {
            return;
        };
        self.timers
            .clear(Some(reader.keep_alive_at), Timer::KeepAlive(id));
        if let Some(run) = self.runs.get_mut(&reader.run) {
            run.readers.retain(|reader| *reader != id);
        }
    }
}
