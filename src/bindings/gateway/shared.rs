//! The machine behind its lock, and what stands beside it.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::types::RequestVerdict;
use crate::gateway::{Config, Gateway, GatewayError, ReaderId, Secret};

/// What the driver has to do after a call, as bits.
pub(super) struct Todo;

impl Todo {
    pub(super) const EFFECTS: u32 = 1;
    pub(super) const READERS: u32 = 2;
    pub(super) const DRIVE: u32 = 4;
    pub(super) const TIMER: u32 = 8;
    /// Of `attempt_start` only.
    pub(super) const REASONING: u32 = 16;
}

/// The machine and what stands beside it.
pub(super) struct Shared {
    pub(super) config: Config,
    pub(super) secret: Secret,
    pub(super) state: Mutex<State>,
}

pub(super) struct State {
    pub(super) gateway: Gateway,
    /// The deadline that the driver's timer is set to.
    pub(super) armed: Option<Instant>,
    /// The head of the response that was polled last, where it is an error.
    pub(super) error: Option<GatewayError>,
    /// Whether what `read` gave last was the last of its response.
    pub(super) over: bool,
    /// What `read` builds, kept so that a stream does not allocate for every write.
    pub(super) scratch: String,
}

impl Shared {
    /// Runs the machine and returns what there is to do.
    pub(super) fn with(&self, run: impl FnOnce(&mut Gateway, Instant)) -> u32 {
        let mut state = self.lock();
        run(&mut state.gateway, Instant::now());
        state.todo()
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, State> {
        // A panic inside the machine has been reported as an error; what is left is still the best answer there is.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    pub(super) fn todo(&self) -> u32 {
        let next = self.gateway.poll_timeout();
        let earlier = next.is_some_and(|next| self.armed.is_none_or(|armed| next < armed));
        let bit = |set: bool, bit: u32| if set { bit } else { 0 };
        bit(self.gateway.has_effects(), Todo::EFFECTS)
            | bit(self.gateway.has_readers(), Todo::READERS)
            | bit(self.gateway.wants_drive(), Todo::DRIVE)
            | bit(earlier, Todo::TIMER)
    }

    pub(super) fn verdict(
        &self,
        handled: std::result::Result<ReaderId, GatewayError>,
    ) -> RequestVerdict {
        RequestVerdict {
            reader: handled.as_ref().ok().map(|reader| reader.0),
            error: handled.as_ref().err().map(Into::into),
            todo: self.todo(),
        }
    }
}
