//! What a run needs of the Host before it can be admitted: another preset, files that it carries (G16, G17).
//!
//! The run reserves its thread and waits; the head of its response is not out. When the Host has answered, the request
//! is planned again, against the thread as it is then, and admitted or refused with its status. A preset that was
//! selected stays selected, and files stay staged, whatever becomes of the run.

use std::time::Instant;

use super::Gateway;
use super::effect::Effect;
use super::error::{Code, GatewayError};
use super::ids::{RunKey, ThreadId};
use super::plan::needs::Needs;
use super::plan::{Plan, plan};
use super::refusal::not_available;
use super::request::Request;
use super::run::Stage;
use super::thread::live;

impl Gateway {
    /// Reserves the thread for a run and asks the Host for what that needs.
    pub(super) fn prepare(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        run_key: RunKey,
        body: Box<[u8]>,
        needs: Needs,
    ) {
        let (Some(thread), Some(run)) = (
            self.threads.get_mut(&thread_id),
            self.runs.get_mut(&run_key),
        ) else {
            return;
        };
        thread.driver = Some(run_key);
        run.stage = Stage::Preparing {
            body,
            preset: needs.preset.clone(),
        };
        self.effects.push_back(Effect::Prepare {
            thread: thread_id,
            preset: needs.preset,
            files: needs.files,
        });
        self.touch(now, thread_id);
    }

    /// The run that the Host prepares, if there is one.
    pub(super) fn preparing(&self, thread_id: ThreadId) -> Option<RunKey> {
        let run = self.threads.get(&thread_id)?.driver?;
        matches!(self.runs.get(&run)?.stage, Stage::Preparing { .. }).then_some(run)
    }

    /// The Host has done what [`Effect::Prepare`] asks, or has not. `preset` and `inherited` are the agent's from now
    /// on, also where it has not; `None` for a Host that does not know of presets.
    pub fn handle_prepared(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        preset: Option<String>,
        inherited: Vec<String>,
        outcome: Result<(), GatewayError>,
    ) {
        let Some(run_key) = self.preparing(thread_id) else {
            return;
        };
        // It stays reserved until here, so that nothing was planned against a composition under way.
        self.handle_inherited(now, thread_id, inherited);
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        thread.driver = None;
        let Some(run) = self.runs.get_mut(&run_key) else {
            return;
        };
        let Stage::Preparing {
            body,
            preset: selected,
        } = std::mem::replace(&mut run.stage, Stage::Queued(Box::default()))
        else {
            return;
        };
        let selected = selected.filter(|_| outcome.is_ok());
        // What was selected lives in the agent until the log holds a turn.
        thread.kept |= selected.is_some();
        if let Some(current) = preset.or(selected) {
            thread.preset.current = Some(current);
        }
        if run.readers.is_empty() {
            // Its client has left: the thread is the next one's.
            self.runs.remove(&run_key);
        } else if let Err(error) = outcome {
            self.reject(now, run_key, error);
        } else if !thread.is_free() {
            // A turn of the Host's own has begun meanwhile: its end brings the run back.
            run.stage = Stage::Queued(body);
            thread.queue.push_front(run_key);
        } else if let Err(error) = self.admit_prepared(now, thread_id, run_key, &body) {
            self.reject(now, run_key, error);
        } else {
            self.tell(now, run_key);
        }
        self.touch(now, thread_id);
        self.pump(now, thread_id);
        self.close_if_unused(now, thread_id);
    }

    fn admit_prepared(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        run_key: RunKey,
        body: &[u8],
    ) -> Result<(), GatewayError> {
        let thread = self.threads.get(&thread_id).ok_or_else(not_available)?;
        let tools = thread.tools.clone();
        let request = Request::read(&self.config, body, |_| tools)?;
        let plan = plan(self.key, &self.config, thread, &request)?;
        if let Plan::Work(work) = &plan
            && work.needs.preset.is_some()
        {
            return Err(GatewayError::new(
                Code::AgentExecutionError,
                "the Host has not selected the preset",
            ));
        }
        self.admit(now, thread_id, run_key, &request, plan)
    }

    /// A run that is being prepared is refused with its thread.
    pub(super) fn refuse_preparing(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        error: &GatewayError,
    ) {
        let Some(run_key) = self.preparing(thread_id) else {
            return;
        };
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            thread.driver = None;
        }
        if self.runs[&run_key].readers.is_empty() {
            self.runs.remove(&run_key);
        } else {
            self.reject(now, run_key, error.clone());
        }
    }

    /// The Host has not taken the messages of a run: a file of them is not there any more. The agent got none of them. The
    /// turn that they were to join is cancelled: it would go on without what the person said.
    pub fn handle_undelivered(&mut self, now: Instant, thread_id: ThreadId, error: &GatewayError) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        let Some(run) = thread.driver else {
            return;
        };
        thread.seen.release_all();
        if thread.agent.turn.is_some() {
            self.fail_and_cancel(now, run, error);
        } else {
            self.fail(now, run, error);
        }
    }
}
