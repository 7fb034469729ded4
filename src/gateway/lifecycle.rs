//! The life of a thread: opening, idling, closing, and the gateway's own end (spec: gateway, 生命周期; G5, G20, G22).

use std::time::Instant;

use super::Gateway;
use super::effect::{Effect, OpenMode};
use super::error::{Code, GatewayError};
use super::ids::{RunKey, ThreadId, ThreadKey};
use super::refusal::not_available;
use super::run::Stage;
use super::thread::writing::Writing;
use super::thread::{Phase, Thread};
use super::timer::{Timer, Waiter};
use crate::session::parse_history;

impl Gateway {
    /// Asks the Host for the agent of a new thread.
    pub(super) fn open_thread(
        &mut self,
        now: Instant,
        key: ThreadKey,
        mode: OpenMode,
    ) -> Result<ThreadId, GatewayError> {
        if self.threads.len() >= self.config.max_threads {
            return Err(GatewayError::new(
                Code::ThreadLimitReached,
                format!("{} threads are live", self.threads.len()),
            ));
        }
        Ok(self.open_unchecked(now, key, mode))
    }

    fn open_unchecked(&mut self, now: Instant, key: ThreadKey, mode: OpenMode) -> ThreadId {
        let id = ThreadId(self.take_id());
        self.by_key.insert(key.clone(), id);
        let thread = Thread::new(key, &self.config.path, self.config.request.identity_bytes);
        self.threads.insert(id, thread);
        self.push_open(id, mode);
        self.opening += 1;
        self.watch_drive(now);
        id
    }

    /// Asks the Host for the agent of a thread.
    pub(super) fn push_open(&mut self, thread_id: ThreadId, mode: OpenMode) {
        let Some(Thread { key, .. }) = self.threads.get(&thread_id) else {
            return;
        };
        self.effects.push_back(Effect::Open {
            thread: thread_id,
            session_id: key.session_id(),
            tenant_id: key.principal.tenant.clone(),
            user_id: key.principal.user.clone(),
            thread_id: key.thread_id.clone(),
            mode,
        });
    }

    /// The agent is there. `history` is its durable log so far, a JSON array of records; `preset` is what it is composed
    /// from, where the Host knows of presets.
    pub fn handle_opened(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        history: &str,
        mut inherited: Vec<String>,
        preset: Option<String>,
    ) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        if thread.phase != Phase::Opening {
            return;
        }
        let Ok(records) = parse_history(history) else {
            let error =
                GatewayError::new(Code::AgentExecutionError, "the session log is unreadable");
            self.effects.push_back(Effect::Close { thread: thread_id });
            self.opening -= 1;
            self.watch_drive(now);
            self.set_phase(thread_id, Phase::Closing);
            self.fail_all(now, thread_id, &error);
            return;
        };
        inherited.sort_unstable();
        thread.inherited = inherited;
        thread.phase = Phase::Live;
        self.opening -= 1;
        self.watch_drive(now);
        for record in records {
            self.apply_record(now, thread_id, record);
        }
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            // What a history holds is written.
            thread.writing = Writing::default();
            if let Some(preset) = preset {
                thread.preset.current = Some(preset);
            }
        }
        if self.shut_down {
            self.close(now, thread_id, &not_available());
            return;
        }
        // What a crash left in the agent's inbox was never answered for; its clients may send it again.
        self.cancel(thread_id);
        self.begin_errands(now, thread_id);
        self.pump(now, thread_id);
        self.close_if_unused(now, thread_id);
    }

    /// The agent cannot be had. Nothing of it remains.
    pub fn handle_open_failed(&mut self, now: Instant, thread_id: ThreadId, error: &GatewayError) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        if thread.phase != Phase::Opening {
            return;
        }
        self.opening -= 1;
        self.watch_drive(now);
        self.fail_all(now, thread_id, error);
        self.forget(thread_id);
    }

    /// The agent is disposed.
    pub fn handle_closed(&mut self, now: Instant, thread_id: ThreadId) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        if thread.phase != Phase::Closing {
            return;
        }
        let waiting = std::mem::take(&mut thread.queue);
        let errands = std::mem::take(&mut thread.errands);
        let key = thread.key.clone();
        self.forget(thread_id);
        if waiting.is_empty() && errands.is_empty() {
            return;
        }
        if self.shut_down {
            for run in waiting {
                self.reject(now, run, not_available());
            }
            return;
        }
        // Requests that came while the agent was going wait for its next life.
        let mode = self.next_open_mode(&errands, !waiting.is_empty());
        let next = self.open_unchecked(now, key, mode);
        self.move_errands(errands, next);
        for run in &waiting {
            if let Some(run) = self.runs.get_mut(run) {
                run.thread = next;
            }
        }
        if let Some(thread) = self.threads.get_mut(&next) {
            thread.queue = waiting;
        }
    }

    /// Somebody else disposed the agent.
    pub fn handle_gone(&mut self, now: Instant, thread_id: ThreadId) {
        if self
            .threads
            .get(&thread_id)
            .is_some_and(|thread| thread.phase == Phase::Live)
        {
            self.close(now, thread_id, &not_available());
        }
    }

    /// Ends everything: runs fail, agents are disposed, later requests are refused.
    pub fn shutdown(&mut self, now: Instant) {
        self.shut_down = true;
        let threads: Vec<ThreadId> = self.threads.keys().copied().collect();
        for thread in threads {
            match self.threads.get(&thread).map(|thread| thread.phase) {
                Some(Phase::Live) => self.close(now, thread, &not_available()),
                // The agent is on its way; it is disposed as soon as it is there.
                Some(Phase::Opening | Phase::Closing) => {
                    self.fail_all(now, thread, &not_available())
                }
                None => {}
            }
        }
    }

    /// Whether nothing is left after [`Gateway::shutdown`].
    #[must_use]
    pub fn is_drained(&self) -> bool {
        self.threads.is_empty()
    }

    /// Disposes the agent of a live thread; what runs or waits fails with `error`.
    fn close(&mut self, now: Instant, thread_id: ThreadId, error: &GatewayError) {
        self.set_phase(thread_id, Phase::Closing);
        self.fail_all(now, thread_id, error);
        self.effects.push_back(Effect::Close { thread: thread_id });
    }

    fn set_phase(&mut self, thread_id: ThreadId, phase: Phase) {
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            thread.phase = phase;
        }
    }

    /// Ends whatever runs or waits in a thread, and its timers.
    fn fail_all(&mut self, now: Instant, thread_id: ThreadId, error: &GatewayError) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        let waiting = std::mem::take(&mut thread.queue);
        let ending: Vec<RunKey> = thread
            .ledger
            .iter()
            .copied()
            .filter(|run| {
                self.runs
                    .get(run)
                    .is_some_and(|run| matches!(run.stage, Stage::Ending { .. }))
            })
            .collect();
        for Waiter { token, deadline } in thread.calls.drain() {
            // Bodies settle by the Host's own abort.
            self.timers.clear(deadline, Timer::Call(thread_id, token));
        }
        self.timers
            .clear(thread.park_at.take(), Timer::Park(thread_id));
        self.end_asks(thread_id);
        for run in waiting {
            self.reject(now, run, error.clone());
        }
        self.refuse_errands(thread_id, error);
        self.refuse_preparing(now, thread_id, error);
        let driver = self
            .threads
            .get(&thread_id)
            .and_then(|thread| thread.driver);
        if let Some(run) = driver {
            self.fail(now, run, error);
        }
        // What was about to be told waits for a log that nobody writes any more.
        for run in ending {
            self.fail(now, run, error);
        }
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            self.timers
                .clear(thread.idle_at.take(), Timer::Idle(thread_id));
        }
    }

    /// Forgets a thread and the runs that only it retained.
    fn forget(&mut self, thread_id: ThreadId) {
        let Some(thread) = self.threads.remove(&thread_id) else {
            return;
        };
        self.by_key.remove(&thread.key);
        for run in thread.ledger {
            if self
                .runs
                .get(&run)
                .is_some_and(|run| run.readers.is_empty())
            {
                self.runs.remove(&run);
            }
        }
        self.timers.clear(thread.idle_at, Timer::Idle(thread_id));
    }

    /// A thread that was opened for a request that was then refused, or whose client left, is let go at once.
    pub(super) fn close_if_unused(&mut self, now: Instant, thread_id: ThreadId) {
        let unused = self
            .threads
            .get(&thread_id)
            .is_some_and(|thread| thread.is_quiet() && thread.ledger.is_empty() && !thread.kept);
        if unused {
            self.close(now, thread_id, &not_available());
        }
    }

    /// Something happened in the thread: its idle time begins anew, or does not run at all.
    pub(super) fn touch(&mut self, now: Instant, thread_id: ThreadId) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        self.timers
            .clear(thread.idle_at.take(), Timer::Idle(thread_id));
        if thread.is_quiet() {
            let at = now + self.config.thread_idle;
            thread.idle_at = Some(at);
            self.timers.set(at, Timer::Idle(thread_id));
        }
    }

    pub(super) fn idle_due(&mut self, now: Instant, thread_id: ThreadId) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        thread.idle_at = None;
        if thread.is_quiet() {
            self.close(now, thread_id, &not_available());
        }
    }

    /// The client of a response left.
    pub(super) fn abandon(&mut self, now: Instant, run_key: RunKey) {
        let Some(run) = self.runs.get(&run_key) else {
            return;
        };
        let thread_id = run.thread;
        match run.stage {
            Stage::Queued(_) => {
                if let Some(thread) = self.threads.get_mut(&thread_id) {
                    thread.queue.retain(|waiting| *waiting != run_key);
                }
                self.runs.remove(&run_key);
                self.touch(now, thread_id);
                self.close_if_unused(now, thread_id);
            }
            // The Host's answer frees the thread; whoever repeats the request before may have the run.
            Stage::Preparing { .. } => {}
            Stage::Admitted(_) | Stage::Syncing(_) | Stage::Driving { .. } => {
                let error = GatewayError::new(Code::ClientDisconnected, "the client disconnected");
                self.fail_and_cancel(now, run_key, &error);
            }
            // Nobody reads it now; whoever sends the same request again will.
            Stage::Ending { .. } => {}
            Stage::Done | Stage::Rejected(_) => {
                let retained = self
                    .threads
                    .get(&thread_id)
                    .is_some_and(|thread| thread.ledger.contains(&run_key));
                if !retained {
                    self.runs.remove(&run_key);
                }
            }
        }
    }
}
