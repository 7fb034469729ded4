//! From an arrived request to an admitted run (spec: gateway, HTTP 与 run 语义; G6, G7, G8, X11).

use std::time::Instant;

use super::Gateway;
use super::asking::take_answers;
use super::digest::Digest;
use super::effect::{ContentBlock, Effect, HostMessage, MessageSource, OpenMode};
use super::error::{Code, GatewayError};
use super::ids::{Principal, ReaderId, RunKey, ThreadId, ThreadKey};
use super::notes;
use super::plan::answers::pass_over;
use super::plan::content::NewContent;
use super::plan::messages::{NewResult, NewUser};
use super::plan::resume;
use super::plan::{Plan, WorkPlan, plan};
use super::refusal::{not_available, nothing_to_continue};
use super::repeat::Named;
use super::request::Request;
use super::request::a2ui::NewAction;
use super::run::log::Cursor;
use super::run::record::RunRecord;
use super::run::work::{Answer, Work};
use super::run::{Left, Naming, Peer, Run, Stage};
use super::thread::Phase;
use super::thread::seen::Seen;
use crate::tools::Catalogue;

impl Gateway {
    /// A request has arrived. Returns the reader of its response, which begins once it is decided.
    ///
    /// # Errors
    /// When it is refused at once. Nothing has changed then.
    pub fn handle_request(
        &mut self,
        now: Instant,
        principal: Principal,
        body: &[u8],
        request: &Request<'_>,
    ) -> Result<ReaderId, GatewayError> {
        if self.shut_down {
            return Err(not_available());
        }
        let key = ThreadKey {
            principal,
            thread_id: request.input.thread_id.clone().into_owned(),
        };
        let digest = self.key.of(body);
        let known = self.by_key.get(&key).copied();
        let named = known.map(|thread| self.named(thread, request, digest));
        let naming = match named.transpose()? {
            Some(Named::Known(run)) => return self.attach_after(now, run, request.after),
            Some(Named::New(naming)) => naming,
            None => Naming::Fresh,
        };
        if request.after.is_some() {
            return Err(nothing_to_continue());
        }
        let thread = match known {
            Some(thread) => thread,
            None => self.open_thread(now, key, OpenMode::ResumeOrCreate)?,
        };
        let run = self.new_run(thread, request, digest, naming);
        match self.decide(now, thread, run, body, request) {
            Ok(()) => {
                let reader = self.attach(now, run, Cursor::default());
                self.tell(now, run);
                Ok(reader)
            }
            Err(error) => {
                self.runs.remove(&run);
                Err(error)
            }
        }
    }

    /// The browser Tools that a thread has registered, for [`Request::read`].
    #[must_use]
    pub fn registered_tools(&self, principal: &Principal, thread_id: &str) -> Catalogue {
        let key = ThreadKey {
            principal: principal.clone(),
            thread_id: thread_id.into(),
        };
        let thread = self.by_key.get(&key).and_then(|id| self.threads.get(id));
        thread
            .map(|thread| thread.tools.clone())
            .unwrap_or_default()
    }

    fn new_run(
        &mut self,
        thread: ThreadId,
        request: &Request<'_>,
        digest: Digest,
        naming: Naming,
    ) -> RunKey {
        let run = RunKey(self.take_id());
        let record = RunRecord::new(
            self.key.record(run),
            self.config.run,
            self.config.request.identity_bytes,
            request.extras,
        );
        self.runs.insert(
            run,
            Run {
                thread,
                run_id: request.input.run_id.as_ref().into(),
                digest,
                peer: Peer::of(request),
                naming,
                left: Left::Nothing,
                extras: request.extras,
                stage: Stage::Queued(Box::default()),
                readers: Vec::new(),
                grace_at: None,
                record,
            },
        );
        run
    }

    /// Admits a fresh run, or lets it wait.
    fn decide(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        run: RunKey,
        body: &[u8],
        request: &Request<'_>,
    ) -> Result<(), GatewayError> {
        let Some(thread) = self.threads.get(&thread_id) else {
            return Err(not_available());
        };
        if thread.phase == Phase::Live {
            let free = thread.is_free() && thread.queue.is_empty();
            match plan(self.key, &self.config, thread, request) {
                Ok(Plan::History) => {
                    return self.admit(now, thread_id, run, request, Plan::History);
                }
                Ok(plan) if free => {
                    return self.begin(now, thread_id, run, body, request, plan);
                }
                Err(error) if free => return Err(error),
                // The thread may be another when it is this request's turn.
                Ok(_) | Err(_) => {}
            }
        }
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return Err(not_available());
        };
        if thread.queue.len() >= self.config.max_runs_per_thread {
            return Err(GatewayError::new(
                Code::RunQueueFull,
                format!(
                    "{} requests already wait for this thread",
                    thread.queue.len()
                ),
            ));
        }
        thread.queue.push_back(run);
        self.runs
            .entry(run)
            .and_modify(|run| run.stage = Stage::Queued(body.into()));
        self.touch(now, thread_id);
        Ok(())
    }

    /// Looks at the queue of a thread that may have become free.
    pub(super) fn pump(&mut self, now: Instant, thread_id: ThreadId) {
        loop {
            let Some(thread) = self
                .threads
                .get_mut(&thread_id)
                .filter(|thread| thread.is_free())
            else {
                return;
            };
            let Some(run) = thread.queue.pop_front() else {
                self.touch(now, thread_id);
                return;
            };
            let Some(Stage::Queued(body)) = self.runs.get_mut(&run).map(|run| &mut run.stage)
            else {
                continue;
            };
            let body = std::mem::take(body);
            let tools = thread.tools.clone();
            let admitted = Request::read(&self.config, &body, |_| tools).and_then(|request| {
                let thread = self.threads.get(&thread_id).ok_or_else(not_available)?;
                let plan = plan(self.key, &self.config, thread, &request)?;
                self.begin(now, thread_id, run, &body, &request, plan)
            });
            match admitted {
                Ok(()) => self.tell(now, run),
                Err(error) => self.reject(now, run, error),
            }
        }
    }

    /// Admits a run, or lets the Host prepare for it. Only then is the request kept.
    fn begin(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        run: RunKey,
        body: &[u8],
        request: &Request<'_>,
        plan: Plan,
    ) -> Result<(), GatewayError> {
        match plan {
            Plan::Work(work) if !work.needs.is_empty() => {
                self.prepare(now, thread_id, run, body.into(), work.needs);
                Ok(())
            }
            plan => self.admit(now, thread_id, run, request, plan),
        }
    }

    /// Admits a run: enters it in the ledger, writes its opening, and reserves the agent for it.
    pub(super) fn admit(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        run: RunKey,
        request: &Request<'_>,
        plan: Plan,
    ) -> Result<(), GatewayError> {
        self.enter_ledger(thread_id, run)?;
        self.note_unknown(thread_id, request);
        let interrupted = self
            .threads
            .get_mut(&thread_id)
            .is_some_and(|thread| std::mem::take(&mut thread.interrupted));
        match plan {
            Plan::History => {
                self.open_record(thread_id, run, request, &[]);
                if interrupted {
                    self.tell_interruption(now, thread_id, run);
                } else {
                    self.finish_history(now, run);
                }
            }
            Plan::Work(work) if interrupted => {
                // Clients keep what they sent and may send it again: nothing of it was accepted.
                self.open_record(thread_id, run, request, &work.messages.encoded());
                self.tell_interruption(now, thread_id, run);
            }
            Plan::Work(work) => self.admit_work(now, thread_id, run, request, *work),
        }
        Ok(())
    }

    fn admit_work(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        run: RunKey,
        request: &Request<'_>,
        plan: WorkPlan,
    ) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        thread.state.apply(plan.baseline);
        let mut answers = accept_results(&mut thread.seen, plan.messages.results);
        answers.extend(plan.passed_over.into_iter().map(pass_over));
        let mut messages = accept_users(&mut thread.seen, plan.messages.users);
        if let Some(NewAction { action, digest }) = plan.messages.action {
            thread.seen.accept(&action.id, digest, String::new());
            messages.push(action.message());
        }
        take_answers(
            &mut thread.interrupts,
            &mut self.timers,
            thread_id,
            &plan.people,
        );
        let mut notes: Vec<HostMessage> =
            notes::context(&request.input.context).into_iter().collect();
        notes.extend(thread.state.value().map(notes::state));
        thread.driver = Some(run);
        // From here on the run knows what it has accepted, so that its end gives that back.
        if let Some(run) = self.runs.get_mut(&run) {
            run.stage = Stage::Admitted(Work {
                tools: request.tools.clone(),
                notes,
                messages,
                answers,
                people: plan.people,
                render_tool: request.render_tool.clone(),
            });
        }
        self.open_record(thread_id, run, request, &[]);
        if self.end_if_overflowed(now, run) {
            return;
        }
        self.drive_later(now, run);
        self.touch(now, thread_id);
    }

    /// Answers to interrupts of another life or another thread are ignored, and not in silence.
    fn note_unknown(&mut self, thread_id: ThreadId, request: &Request<'_>) {
        let count = self
            .threads
            .get(&thread_id)
            .map_or(0, |thread| resume::unknown(thread, request));
        if count > 0 {
            self.effects.push_back(Effect::UnknownInterrupts {
                thread: thread_id,
                count,
            });
        }
    }

    /// Makes room in the ledger and enters the run.
    fn enter_ledger(&mut self, thread: ThreadId, run: RunKey) -> Result<(), GatewayError> {
        let thread = self.threads.get_mut(&thread).ok_or_else(not_available)?;
        if thread.ledger.len() >= self.config.max_runs_per_thread {
            let Some(at) = thread
                .ledger
                .iter()
                .position(|run| self.runs[run].stage.is_over())
            else {
                return Err(GatewayError::new(
                    Code::RunLedgerFull,
                    "every retained run of this thread is active",
                ));
            };
            if let Some(old) = thread.ledger.remove(at)
                && self.runs[&old].readers.is_empty()
            {
                self.runs.remove(&old);
            }
        }
        thread.ledger.push_back(run);
        Ok(())
    }
}

fn accept_users(seen: &mut Seen, users: Vec<NewUser>) -> Vec<HostMessage> {
    let accept = |user: NewUser| {
        seen.accept(&user.id, user.digest, user.encoded());
        let (content, receipts, ag_ui_content) = match user.content {
            NewContent::Texts(texts) => {
                let blocks = texts.into_iter().map(|text| ContentBlock::Text { text });
                (blocks.collect(), Vec::new(), None)
            }
            NewContent::Parts(parts) => {
                let receipts = parts.files.into_iter().filter_map(|file| file.receipt);
                (parts.blocks, receipts.collect(), Some(parts.json))
            }
        };
        HostMessage {
            id: Some(user.id),
            content,
            receipts,
            source: MessageSource::User { ag_ui_content },
        }
    };
    users.into_iter().map(accept).collect()
}

fn accept_results(seen: &mut Seen, results: Vec<NewResult>) -> Vec<Answer> {
    let accept = |result: NewResult| {
        seen.accept(&result.own.id, result.digest, result.encoded());
        Answer {
            call: result.call,
            own: Some(result.own),
            outcome: result.outcome,
        }
    };
    results.into_iter().map(accept).collect()
}
