//! How far a thread's log is written (G8, G20).

/// How far a thread's log is written, counted in records of this life of its agent.
#[derive(Debug, Default)]
pub(crate) struct Writing {
    /// Reported by the agent.
    reported: u64,
    /// Of them, what the Host was asked to write.
    asked: u64,
    /// Of them, what it has written.
    written: u64,
}

impl Writing {
    /// The log has one more record.
    pub(crate) fn note(&mut self) {
        self.reported += 1;
    }

    /// Records so far.
    pub(crate) fn reported(&self) -> u64 {
        self.reported
    }

    /// The Host has written so many records. Returns how many it has written by now.
    pub(crate) fn flushed(&mut self, records: u64) -> u64 {
        self.written = self.written.max(records);
        self.written
    }

    /// Whether everything is written.
    pub(crate) fn is_done(&self) -> bool {
        self.written >= self.reported
    }

    /// What to ask the Host to write, unless it was asked already.
    pub(crate) fn ask(&mut self) -> Option<u64> {
        (self.asked < self.reported).then(|| {
            self.asked = self.reported;
            self.asked
        })
    }
}
