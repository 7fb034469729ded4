//! One run: an accepted request, its record, and the readers of that record.

use std::collections::HashMap;
use std::time::Instant;

use super::config::RunLimits;
use super::digest::Digest;
use super::effect::HostMessage;
use super::end::Ending;
use super::error::GatewayError;
use super::event_id::RecordTag;
use super::extras::Extras;
use super::ids::{ReaderId, RunKey, ThreadId};
use super::request::Request;
use super::resume::PersonAnswer;
use super::run_log::{Overflow, RunLog, StreamKey};
use super::shown_state::ShownState;
use crate::agui::Event;
use crate::projection::{Emit, FrontendResult, LiveStep};
use crate::tools::Catalogue;

/// A run, from arrival until nobody can ask for it any more.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) thread: ThreadId,
    pub(super) run_id: Box<str>,
    pub(super) digest: Digest,
    pub(super) peer: Peer,
    pub(super) naming: Naming,
    /// What its turn waited for when it ended.
    pub(super) left: Left,
    pub(super) extras: Extras,
    pub(super) stage: Stage,
    pub(super) readers: Vec<ReaderId>,
    /// When it is given up unless somebody reads it again (X1).
    pub(super) grace_at: Option<Instant>,
    pub(super) record: RunRecord,
}

/// Which AG-UI the client speaks, as far as the wire depends on it (X7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Peer {
    /// 0.0.x: fields that its schema does not declare pass through to the page.
    Early,
    /// 1.0 or later, which says so: drops such fields, and warns in the page's console.
    Strict,
}

/// Whether a run's id names this run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Naming {
    /// No retained run has the id.
    Fresh,
    /// It goes on under the id of the run before it (X7).
    Repeated,
}

/// What a run left waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing: the turn is over, or was not its own.
    Nothing,
    /// Calls of browser Tools.
    Browser,
    /// Published interrupts.
    People,
}

impl Peer {
    pub(super) fn of(request: &Request<'_>) -> Self {
        match request.input.protocol_version {
            Some(_) => Self::Strict,
            None => Self::Early,
        }
    }

    /// The version to declare to it.
    pub(super) fn protocol_version(self) -> Option<&'static str> {
        match self {
            Self::Early => None,
            Self::Strict => Some("1.0"),
        }
    }
}

/// Where a run stands.
#[derive(Debug)]
pub(super) enum Stage {
    /// Waits for its thread. The request is kept as it came and read again when its turn comes.
    Queued(Box<[u8]>),
    /// The Host does what the run needs first; its thread is reserved, nothing is decided.
    Preparing {
        /// The request, to be read again.
        body: Box<[u8]>,
        /// The preset that is being selected.
        preset: Option<String>,
    },
    /// Accepted; its opening is in the record, and the agent knows nothing of it yet.
    Admitted(Work),
    /// The Host is replacing the browser's Tools.
    Syncing(Work),
    /// The agent works for it. The turn is known once it has begun.
    Driving { turn: Option<u64> },
    /// How it ends is known, and is told once the log is written up to these records.
    Ending { ending: Ending, records: u64 },
    /// The terminal event is in the record.
    Done,
    /// Refused before anything changed.
    Rejected(GatewayError),
}

/// What an accepted run will ask of the agent.
#[derive(Debug)]
pub(super) struct Work {
    /// The browser's Tools from now on.
    pub(super) tools: Catalogue,
    /// Context and shared state for the model.
    pub(super) notes: Vec<HostMessage>,
    /// New messages. They open a turn, or join the one that is continued.
    pub(super) messages: Vec<HostMessage>,
    /// Results that continue the turn that waits for them.
    pub(super) answers: Vec<Answer>,
    /// Answers of people that continue the turn that waits for them.
    pub(super) people: Vec<PersonAnswer>,
    /// The browser Tool that the A2UI middleware renders.
    pub(super) render_tool: Option<String>,
}

impl Work {
    /// Whether a turn begins with it. Otherwise it continues the one that waits.
    pub(super) fn opens_turn(&self) -> bool {
        self.answers.is_empty() && self.people.is_empty()
    }
}

/// A browser's answer to one of its calls.
#[derive(Debug)]
pub(super) struct Answer {
    /// Wire id of the call.
    pub(super) call: String,
    /// The browser's own message; none where its client passed over the call.
    pub(super) own: Option<FrontendResult>,
    pub(super) outcome: super::effect::CallOutcome,
}

/// The run, while it is not over.
pub(super) fn unfinished(runs: &mut HashMap<RunKey, Run>, key: RunKey) -> Option<&mut Run> {
    runs.get_mut(&key).filter(|run| !run.stage.is_over())
}

impl Stage {
    /// Whether the ledger may forget the run.
    pub(super) fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Rejected(_))
    }
}

/// The record and the projection that writes it.
#[derive(Debug)]
pub(super) struct RunRecord {
    pub(super) log: RunLog,
    pub(super) live: LiveStep,
    pub(super) pacing: Pacing,
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
pub(super) enum Written {
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
pub(super) struct Pacing {
    pub(super) flushed: Option<Instant>,
    pub(super) armed: Option<Instant>,
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
    pub(super) fn new(
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
    pub(super) fn project<R>(&mut self, with: impl FnOnce(&mut LiveStep, &mut dyn Emit) -> R) -> R {
        let mut sink = Sink {
            log: &mut self.log,
            pacing: &mut self.pacing,
            out: &mut self.out,
        };
        with(&mut self.live, &mut sink)
    }

    /// Writes one event.
    pub(super) fn event(&mut self, event: &Event<'_>) {
        self.json(event.to_json().into());
    }

    /// Writes one encoded event.
    pub(super) fn json(&mut self, json: std::sync::Arc<str>) {
        self.pieces([json].into());
    }

    /// Writes what the shared state is now, as its clients take it.
    pub(super) fn state(&mut self, state: &str) {
        let event = self.shown.event(state);
        self.json(event.into());
    }

    /// Writes one event in pieces.
    pub(super) fn pieces(&mut self, pieces: Box<[std::sync::Arc<str>]>) {
        if self.out.overflow {
            return;
        }
        match self.log.event_of(pieces) {
            Ok(()) => self.out.written = Written::Urgent,
            Err(Overflow) => self.out.overflow = true,
        }
    }

    /// Writes the terminal event, see [`RunLog::terminate`].
    pub(super) fn terminate(&mut self, json: impl FnOnce(usize) -> String) {
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
    pub(super) fn take_overflow(&mut self) -> bool {
        std::mem::take(&mut self.out.overflow)
    }

    /// What was written since the last call.
    pub(super) fn take_written(&mut self) -> Written {
        std::mem::take(&mut self.out.written)
    }
}
