//! One run: an accepted request, its record, and the readers of that record.

pub(crate) mod log;
pub(crate) mod record;
mod shown_state;
pub(crate) mod work;

use std::collections::HashMap;
use std::time::Instant;

use crate::gateway::digest::Digest;
use crate::gateway::error::GatewayError;
use crate::gateway::ids::{ReaderId, RunKey, ThreadId};
use crate::gateway::request::Request;
use crate::gateway::request::extras::Extras;
use record::RunRecord;
use work::Work;

/// A run, from arrival until nobody can ask for it any more.
#[derive(Debug)]
pub(crate) struct Run {
    pub(crate) thread: ThreadId,
    pub(crate) run_id: Box<str>,
    pub(crate) digest: Digest,
    pub(crate) peer: Peer,
    pub(crate) naming: Naming,
    /// What its turn waited for when it ended.
    pub(crate) left: Left,
    pub(crate) extras: Extras,
    pub(crate) stage: Stage,
    pub(crate) readers: Vec<ReaderId>,
    /// When it is given up unless somebody reads it again (X1).
    pub(crate) grace_at: Option<Instant>,
    pub(crate) record: RunRecord,
}

/// Which AG-UI the client speaks, as far as the wire depends on it (X7).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Peer {
    /// 0.0.x: fields that its schema does not declare pass through to the page.
    Early,
    /// 1.0 or later, which says so: drops such fields, and warns in the page's console.
    Strict,
}

/// Whether a run's id names this run alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Naming {
    /// No retained run has the id.
    Fresh,
    /// It goes on under the id of the run before it (X7).
    Repeated,
}

/// What a run left waiting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Left {
    /// Nothing: the turn is over, or was not its own.
    Nothing,
    /// Calls of browser Tools.
    Browser,
    /// Published interrupts.
    People,
}

impl Peer {
    pub(crate) fn of(request: &Request<'_>) -> Self {
        match request.input.protocol_version {
            Some(_) => Self::Strict,
            None => Self::Early,
        }
    }

    /// The version to declare to it.
    pub(crate) fn protocol_version(self) -> Option<&'static str> {
        match self {
            Self::Early => None,
            Self::Strict => Some("1.0"),
        }
    }
}

/// Where a run stands.
#[derive(Debug)]
pub(crate) enum Stage {
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

/// The end of a run.
#[derive(Debug, Clone)]
pub(crate) enum Ending {
    /// The turn is complete.
    Finished,
    /// The turn waits for the browser or for people.
    Waiting,
    /// The gateway's own verdict.
    Failed(GatewayError),
    /// The provider's verdict: its code and its message.
    Provider { code: String, message: String },
}

/// The run, while it is not over.
pub(crate) fn unfinished(runs: &mut HashMap<RunKey, Run>, key: RunKey) -> Option<&mut Run> {
    runs.get_mut(&key).filter(|run| !run.stage.is_over())
}

impl Stage {
    /// Whether the ledger may forget the run.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self, Self::Done | Self::Rejected(_))
    }
}
