//! The model attempt under way, delta by delta (G9, X2). The hot path of the machine.

use std::time::Instant;

use super::Gateway;
use super::host::driving_run;
use super::ids::ThreadId;
use super::run::Stage;
use super::thread::{Thread, live};

impl Gateway {
    /// A model attempt begins.
    pub fn handle_attempt_start(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        turn: u64,
        step: u64,
    ) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        thread.agent.streaming = true;
        thread.agent.step = step;
        let id = thread.transcript.assistant_id(turn, step);
        let retract = |thread: &mut Thread| thread.transcript.snapshot(thread.seen.pending());
        let Some(key) = driving_run(thread, &self.runs) else {
            return;
        };
        let Some(run) = self.runs.get_mut(&key) else {
            return;
        };
        if run.record.project(|live, _| live.begin(id)) {
            // An attempt was abandoned after clients saw some of it: the history takes it back.
            run.record.pieces(retract(thread));
        }
        self.tell(now, key);
    }

    /// Text of the attempt under way. The hot path: two look-ups and one copy.
    pub fn handle_text(&mut self, now: Instant, thread: ThreadId, delta: &str) {
        self.show(now, thread, |run| {
            run.record.project(|live, out| live.text(delta, out));
        });
    }

    /// Reasoning of the attempt under way. Only a run that asked for it shows it (X3).
    pub fn handle_reasoning(&mut self, now: Instant, thread: ThreadId, delta: &str) {
        self.show(now, thread, |run| {
            if run.extras.reasoning {
                run.record.project(|live, out| live.reasoning(delta, out));
            }
        });
    }

    /// Whether the run that shows the attempt under way wants its reasoning.
    #[must_use]
    pub fn wants_reasoning(&self, thread: ThreadId) -> bool {
        let run = self
            .threads
            .get(&thread)
            .and_then(|thread| driving_run(thread, &self.runs));
        run.is_some_and(|run| self.runs[&run].extras.reasoning)
    }

    /// Arguments of a call of the attempt under way.
    pub fn handle_tool_call(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        call_id: &str,
        name: Option<&str>,
        delta: &str,
    ) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        let Some(run_key) = driving_run(thread, &self.runs) else {
            return;
        };
        let Some(run) = self.runs.get_mut(&run_key) else {
            return;
        };
        let Stage::Driving { turn: Some(turn) } = run.stage else {
            return;
        };
        let step = thread.agent.step;
        let wire_id = || thread.transcript.wire_call_id(turn, step, call_id);
        run.record
            .project(|live, out| live.call(call_id, name, delta, &wire_id, out));
        self.tell(now, run_key);
    }

    /// The block that was open is complete.
    pub fn handle_block_end(&mut self, now: Instant, thread: ThreadId) {
        self.show(now, thread, |run| {
            run.record.project(|live, out| live.block_end(out));
        });
    }

    /// The attempt under way came to nothing.
    pub fn handle_attempt_abandoned(&mut self, now: Instant, thread_id: ThreadId) {
        if let Some(thread) = live(&mut self.threads, thread_id) {
            thread.agent.streaming = false;
        }
        let mut shown: Vec<String> = Vec::new();
        self.show(now, thread_id, |run| {
            run.record.project(|live, out| live.abandon(out));
            shown.extend(run.record.live.shown_calls().map(ToOwned::to_owned));
        });
        if let Some(thread) = self.threads.get_mut(&thread_id) {
            shown.iter().for_each(|call| thread.lost.note(call));
        }
    }
}
