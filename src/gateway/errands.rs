//! What an HTTP request that is no run wants of a thread's agent: an errand (G15, G16).
//!
//! An errand waits until the agent is there, opening it where it is not, and keeps it alive until the errand is over.
//! The driver carries it out and says when.

use std::time::Instant;

use super::Gateway;
use super::effect::{Effect, OpenMode};
use super::error::{Code, GatewayError};
use super::files::disposition;
use super::ids::{ErrandId, Principal, ThreadId, ThreadKey};
use super::refusal::{not_available, refuse};
use super::thread::Phase;

/// What is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Errand {
    /// A file shall be staged with the agent.
    Upload,
    /// A declared file shall be read.
    Deliverable {
        /// Position of the declaration in the session log.
        event_seq: u64,
        /// Which of its files.
        index: u64,
    },
}

/// How an errand ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrandEnd {
    /// The agent keeps something that is lost with it: it stays until its thread has been idle.
    Kept,
    /// Nothing is left of it.
    Over,
}

#[derive(Debug)]
pub(super) struct ErrandState {
    thread: ThreadId,
    errand: Errand,
}

impl Errand {
    /// How a thread is opened for it alone.
    const fn open_mode(self) -> OpenMode {
        match self {
            Self::Upload => OpenMode::ResumeOrCreate,
            Self::Deliverable { .. } => OpenMode::Resume,
        }
    }
}

impl Gateway {
    /// A request that is no run wants something of a thread's agent. [`Effect::Upload`] or [`Effect::ReadDeliverable`]
    /// follows when the agent is there, or [`Effect::RefuseErrand`].
    ///
    /// # Errors
    /// When it is refused at once. Nothing has changed then.
    pub fn handle_errand(
        &mut self,
        now: Instant,
        principal: Principal,
        thread_id: String,
        errand: Errand,
    ) -> Result<ErrandId, GatewayError> {
        if self.shut_down {
            return Err(not_available());
        }
        let key = ThreadKey {
            principal,
            thread_id,
        };
        let thread = match self.by_key.get(&key) {
            Some(thread) => *thread,
            None => self.open_thread(now, key, errand.open_mode())?,
        };
        let id = ErrandId(self.take_id());
        self.errands.insert(id, ErrandState { thread, errand });
        if let Some(state) = self.threads.get_mut(&thread) {
            state.errands.push(id);
            if state.phase == Phase::Live {
                self.begin_errand(now, id);
            }
        }
        self.touch(now, thread);
        Ok(id)
    }

    /// An errand is over, or its client left. One that is not known any more changes nothing.
    pub fn handle_errand_over(&mut self, now: Instant, id: ErrandId, end: ErrandEnd) {
        let Some(thread_id) = self.drop_errand(id) else {
            return;
        };
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            thread.kept |= end == ErrandEnd::Kept;
        }
        self.touch(now, thread_id);
        self.close_if_unused(now, thread_id);
    }

    /// The agent of a thread is there: whoever waits for it begins.
    pub(super) fn begin_errands(&mut self, now: Instant, thread_id: ThreadId) {
        let waiting = self
            .threads
            .get(&thread_id)
            .map(|thread| thread.errands.clone())
            .unwrap_or_default();
        for id in waiting {
            self.begin_errand(now, id);
        }
    }

    fn begin_errand(&mut self, now: Instant, id: ErrandId) {
        let Some(ErrandState { thread, errand }) = self.errands.get(&id) else {
            return;
        };
        let thread_id = *thread;
        let effect = match *errand {
            Errand::Upload => Some(Effect::Upload {
                errand: id,
                thread: thread_id,
            }),
            Errand::Deliverable { event_seq, index } => self
                .threads
                .get(&thread_id)
                .and_then(|thread| thread.deliverables.path(event_seq, index))
                .map(|path| Effect::ReadDeliverable {
                    errand: id,
                    thread: thread_id,
                    path: path.to_owned(),
                    max_bytes: self.config.max_file_bytes,
                    disposition: disposition(file_name(path)),
                }),
        };
        match effect {
            Some(effect) => self.effects.push_back(effect),
            None => {
                self.refuse_errand(id, &refuse(Code::FileNotFound));
                self.touch(now, thread_id);
            }
        }
    }

    /// Ends an errand without its agent.
    fn refuse_errand(&mut self, id: ErrandId, error: &GatewayError) {
        if self.drop_errand(id).is_some() {
            self.effects.push_back(Effect::RefuseErrand {
                errand: id,
                status: error.code.status(),
                body: error.body(),
            });
        }
    }

    /// Ends every errand of a thread.
    pub(super) fn refuse_errands(&mut self, thread_id: ThreadId, error: &GatewayError) {
        let errands = self
            .threads
            .get_mut(&thread_id)
            .map(|thread| std::mem::take(&mut thread.errands))
            .unwrap_or_default();
        for id in errands {
            self.refuse_errand(id, error);
        }
    }

    /// Nothing is stored of the thread that was to be opened as it was stored: what only reads it is refused. Whoever
    /// came meanwhile and may begin a thread gets a new one.
    pub fn handle_unknown(&mut self, now: Instant, thread_id: ThreadId) {
        let Some(thread) = self
            .threads
            .get(&thread_id)
            .filter(|thread| thread.phase == Phase::Opening)
        else {
            return;
        };
        let readers: Vec<ErrandId> = thread
            .errands
            .iter()
            .copied()
            .filter(|id| self.open_mode_of(*id) == OpenMode::Resume)
            .collect();
        for id in readers {
            self.refuse_errand(id, &refuse(Code::FileNotFound));
        }
        let wanted = self
            .threads
            .get(&thread_id)
            .is_some_and(|thread| !(thread.queue.is_empty() && thread.errands.is_empty()));
        if wanted && !self.shut_down {
            self.push_open(thread_id, OpenMode::ResumeOrCreate);
        } else {
            self.handle_open_failed(now, thread_id, &not_available());
        }
    }

    /// How a thread is opened for errands that waited for its next life, and for runs, if there are any.
    pub(super) fn next_open_mode(&self, errands: &[ErrandId], any_run: bool) -> OpenMode {
        let stored = !any_run
            && errands
                .iter()
                .all(|id| self.open_mode_of(*id) == OpenMode::Resume);
        if stored {
            OpenMode::Resume
        } else {
            OpenMode::ResumeOrCreate
        }
    }

    /// Errands wait for the next life of their thread.
    pub(super) fn move_errands(&mut self, errands: Vec<ErrandId>, thread_id: ThreadId) {
        for id in &errands {
            if let Some(state) = self.errands.get_mut(id) {
                state.thread = thread_id;
            }
        }
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            thread.errands = errands;
        }
    }

    fn open_mode_of(&self, id: ErrandId) -> OpenMode {
        self.errands
            .get(&id)
            .map_or(OpenMode::Resume, |state| state.errand.open_mode())
    }

    fn drop_errand(&mut self, id: ErrandId) -> Option<ThreadId> {
        let ErrandState { thread, .. } = self.errands.remove(&id)?;
        if let Some(state) = self.threads.get_mut(&thread) {
            state.errands.retain(|errand| *errand != id);
        }
        Some(thread)
    }
}

/// The last segment of a path of either style.
fn file_name(path: &str) -> &str {
    path.rsplit(['/', '\\']).next().unwrap_or_default()
}
