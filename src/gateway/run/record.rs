//! The record of a run, and the projection that writes it (X10, X12).

use std::time::Instant;

use super::log::{Overflow, RunLog, StreamKey};
use super::shown_state::ShownState;
use crate::agui::Event;
use crate::gateway::config::RunLimits;
use crate::gateway::event_id::RecordTag;
use crate::gateway::request::extras::Extras;
use crate::projection::{Emit, LiveStep};

/// The record and the projection that writes it.
#[derive(Debug)]
pub(crate) struct RunRecord {
    pub(crate) log: RunLog,
    pub(crate) live: LiveStep,
    pub(crate) pacing: Pacing,
    shown: ShownState,
    out: Pending,
}

/// What was written since the readers were last told.
#[derive(Debug, Default)]
struct Pending {
    written: Written,
    overflow: bool,
}

/// How soon readers should hear of what was written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Written {
    /// Nothing was.
    #[default]
    Nothing,
    /// More of a stream that has begun: may wait for the flush interval.
    Delta,
    /// Everything else goes out at once.
    Urgent,
}

/// When deltas were last let out (X12).
#[derive(Debug, Default)]
pub(crate) struct Pacing {
    pub(crate) flushed: Option<Instant>,
    pub(crate) armed: Option<Instant>,
    stream: Option<StreamKey>,
}

struct Sink<'a> {
    log: &'a mut RunLog,
    pacing: &'a mut Pacing,
    out: &'a mut Pending,
}

impl Sink<'_> {
    fn note(&mut self, result: Result<(), Overflow>, written: Written) {
        match result {
            Ok(()) => self.out.written = self.out.written.max(written),
            Err(Overflow) => self.out.overflow = true,
        }
    }
}

impl Emit for Sink<'_> {
    fn event(&mut self, json: String) {
        if self.out.overflow {
            return;
        }
        let result = self.log.event(json);
        self.note(result, Written::Urgent);
    }

    fn delta(&mut self, stream: u32, head: &dyn Fn() -> String, delta: &str) {
        // What is smaller than the event that did not fit must not follow it: it would lack its beginning.
        if self.out.overflow {
            return;
        }
        let stream = StreamKey(stream);
        // The first delta of a stream goes out at once.
        let first = self.pacing.stream.replace(stream) != Some(stream);
        let result = self.log.delta(stream, head, delta);
        self.note(
            result,
            if first {
                Written::Urgent
            } else {
                Written::Delta
            },
        );
    }
}

impl RunRecord {
    pub(crate) fn new(
        tag: RecordTag,
        limits: RunLimits,
        identity_bytes: usize,
        extras: Extras,
    ) -> Self {
        Self {
            log: RunLog::new(tag, limits, identity_bytes),
            live: LiveStep::default(),
            pacing: Pacing::default(),
            shown: ShownState::new(extras),
            out: Pending::default(),
        }
    }

    /// Writes through the projection of the step under way.
    pub(crate) fn project<R>(&mut self, with: impl FnOnce(&mut LiveStep, &mut dyn Emit) -> R) -> R {
        let mut sink = Sink {
            log: &mut self.log,
            pacing: &mut self.pacing,
            out: &mut self.out,
        };
        with(&mut self.live, &mut sink)
    }

    /// Writes one event.
    pub(crate) fn event(&mut self, event: &Event<'_>) {
        self.json(event.to_json().into());
    }

    /// Writes one encoded event.
    pub(crate) fn json(&mut self, json: std::sync::Arc<str>) {
        self.pieces([json].into());
    }

    /// Writes what the shared state is now, as its clients take it.
    pub(crate) fn state(&mut self, state: &str) {
        let event = self.shown.event(state);
        self.json(event.into());
    }

    /// Writes one event in pieces.
    pub(crate) fn pieces(&mut self, pieces: Box<[std::sync::Arc<str>]>) {
        if self.out.overflow {
            return;
        }
        match self.log.event_of(pieces) {
            Ok(()) => self.out.written = Written::Urgent,
            Err(Overflow) => self.out.overflow = true,
        }
    }

    /// Writes the terminal event, see [`RunLog::terminate`].
    pub(crate) fn terminate(&mut self, json: impl FnOnce(usize) -> String) {
        self.log.terminate(json);
        self.shown.forget();
        #[cfg(debug_assertions)]
        self.log.assert_valid();
        self.out = Pending {
            written: Written::Urgent,
            overflow: false,
        };
    }

    /// Whether something did not fit, since the last call.
    pub(crate) fn take_overflow(&mut self) -> bool {
        std::mem::take(&mut self.out.overflow)
    }

    /// What was written since the last call.
    pub(crate) fn take_written(&mut self) -> Written {
        std::mem::take(&mut self.out.written)
    }
}
