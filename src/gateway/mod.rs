//! The gateway: a deterministic value. Requests and host events go in, effects and frames come out; it owns no socket,
//! no clock, no thread and no JavaScript object.
//!
//! A driver calls the `handle_*` methods with what happened, then drains the `poll_*` methods until they are empty:
//!
//! - [`Gateway::poll_effect`]: what to ask of the Host, in order;
//! - [`Gateway::poll_reader`] and [`Gateway::read`]: which HTTP response has something to write;
//! - [`Gateway::poll_drive`]: which agent to set to work next, one per turn of the driver's loop, so that responses
//!   that are already decided go out before an agent that never yields starts (X11);
//! - [`Gateway::poll_timeout`]: when to call [`Gateway::handle_timeout`] next.
//!
//! Where a rule lives, in the order in which a request meets it. Nothing imports what stands below it here:
//!
//! - words: `config`, `ids`, `error` and `refusal` (what is refused, in which words), `effect`, `event_id`, `digest`,
//!   `url_key`, `timer`;
//! - `http`: a request's `head`: path, method, secret, identity; `files`: what uploads and downloads may;
//! - `request`: a body's own limits, what `forwardedProps` asks for, what a message may carry, rendered surfaces and
//!   what people do on them;
//! - `thread`: what is known of a thread: messages seen, calls that the browser owes, shared state, preset, how much
//!   of the log is written; `interrupts`: what people are asked, and what they answer;
//! - `run`: one run, its record, the work that it brings;
//! - `plan`: what a request means for its thread: what is new, what answers what, whether that goes together;
//! - the machine, one file an event or a decision. A run: `admit` (queue, ledger), `repeat` (run ids that come again),
//!   `prepare` (what the Host does first), `opening` (what every run begins with), `notes` (what the model is told
//!   beside the person's words), `drive` (handing it to the agent), `end` and `durable` (its end, and that the log is
//!   written first), `output` (readers, pacing, keep-alive), `reconnect` (readers that come back). An agent:
//!   `lifecycle` (opening, idling, closing), `host` (its log and status), `attempt` (its model, delta by delta),
//!   `bodies` (its Tools), `asking` (its requests to people), `park` (when its turn waits), `errands` (what uploads
//!   and downloads want of it).

mod admit;
mod asking;
mod attempt;
mod bodies;
mod config;
mod digest;
mod drive;
mod durable;
mod effect;
mod end;
mod errands;
mod error;
mod event_id;
mod files;
mod head;
mod host;
mod http;
mod ids;
mod interrupts;
mod lifecycle;
mod notes;
mod opening;
mod output;
mod park;
mod plan;
mod prepare;
mod reconnect;
mod refusal;
mod repeat;
mod request;
mod run;
#[cfg(test)]
mod tests;
mod thread;
mod timer;
mod url_key;

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

pub use asking::AskDecision;
pub use bodies::{BodyChange, CallHead};
pub use config::{Config, ConfigError, RequestLimits, RunLimits, ToolSchemas};
pub use drive::ToolSync;
pub use effect::{
    CallDecision, CallOutcome, ContentBlock, Effect, FileKind, HostMessage, MessageSource,
    OpenMode, SentFile, ToolEffect,
};
pub use errands::{Errand, ErrandEnd};
pub use error::{Code, GatewayError};
pub use event_id::EventId;
pub use files::{FileGrant, FileStore, StoredFile, Stores, UploadHead};
pub use head::Head;
pub use host::AgentStatus;
pub use http::auth::Secret;
pub use http::route::{DeliverableHead, Route, RunName};
pub use http::{HeadRefusal, Verdict, check_head};
pub use ids::{ErrandId, Principal, ReaderId, ThreadId, ThreadKey, Token, is_identity};
pub use interrupts::{PersonOutcome, QuestionAnswer};
pub use output::{Ready, ResponseHead, Rest};
pub use refusal::refusal;
pub use request::Request;

use digest::DigestKey;
use errands::ErrandState;
use ids::RunKey;
use output::Reader;
use run::Run;
use thread::Thread;
use timer::{Timer, Timers};

/// The machine. See the module documentation for the order of calls.
#[derive(Debug)]
pub struct Gateway {
    config: Config,
    key: DigestKey,
    threads: HashMap<ThreadId, Thread>,
    by_key: HashMap<ThreadKey, ThreadId>,
    runs: HashMap<RunKey, Run>,
    readers: HashMap<ReaderId, Reader>,
    errands: HashMap<ErrandId, ErrandState>,
    effects: VecDeque<Effect>,
    ready: VecDeque<ReaderId>,
    drive: VecDeque<RunKey>,
    /// How many of the first runs of `drive` wait for no agent that is being opened.
    overdue: usize,
    drive_at: Option<Instant>,
    timers: Timers,
    next_id: u32,
    /// Threads whose agent is being opened.
    opening: usize,
    shut_down: bool,
}

impl Gateway {
    /// A gateway with nothing in it.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            key: DigestKey::random(),
            threads: HashMap::new(),
            by_key: HashMap::new(),
            runs: HashMap::new(),
            readers: HashMap::new(),
            errands: HashMap::new(),
            effects: VecDeque::new(),
            ready: VecDeque::new(),
            drive: VecDeque::new(),
            overdue: 0,
            drive_at: None,
            timers: Timers::default(),
            next_id: 0,
            opening: 0,
            shut_down: false,
        }
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// The next thing to ask of the Host.
    #[must_use]
    pub fn poll_effect(&mut self) -> Option<Effect> {
        self.effects.pop_front()
    }

    /// Whether [`Gateway::poll_effect`] has something.
    #[must_use]
    pub fn has_effects(&self) -> bool {
        !self.effects.is_empty()
    }

    /// Whether [`Gateway::poll_reader`] has something.
    #[must_use]
    pub fn has_readers(&self) -> bool {
        !self.ready.is_empty()
    }

    /// When [`Gateway::handle_timeout`] wants to be called, if at all.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.timers.next()
    }

    /// Time has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        while let Some(timer) = self.timers.pop_due(now) {
            match timer {
                Timer::Flush(run) => self.flush_due(now, run),
                Timer::KeepAlive(reader) => self.keep_alive_due(now, reader),
                Timer::Park(thread) => self.park_due(now, thread),
                Timer::Call(thread, token) => self.call_overdue(now, thread, token),
                Timer::Person(thread, token) => self.person_overdue(now, thread, token),
                Timer::Idle(thread) => self.idle_due(now, thread),
                Timer::Grace(run) => self.grace_due(now, run),
                Timer::Drive => self.drive_due(),
            }
        }
    }

    /// Threads that are live, opening or closing.
    #[must_use]
    pub fn thread_count(&self) -> usize {
        self.threads.len()
    }

    /// No limit of the configuration is exceeded.
    #[cfg(test)]
    fn assert_limits(&self, threads: usize, runs: usize, events: usize, bytes: usize) {
        assert!(self.threads.len() <= threads);
        for thread in self.threads.values() {
            // One that was prepared goes back to the front when its thread is not free any more.
            assert!(thread.queue.len() <= runs + 1);
            assert!(thread.ledger.len() <= runs);
            assert!(thread.interrupts.len() <= self.config.max_pending_interrupts);
            assert!(thread.agent.turn.is_some() || thread.interrupts.len() == 0);
        }
        for run in self.runs.values() {
            assert!(run.record.log.retained_events() <= events);
            assert!(run.record.log.retained_bytes() <= bytes);
        }
    }

    /// Nothing is kept of what has ended.
    #[cfg(test)]
    fn assert_released(&self) {
        assert_eq!(self.threads.len() + self.by_key.len(), 0, "threads");
        assert_eq!(self.readers.len(), 0, "readers");
        assert_eq!(self.runs.len(), 0, "runs");
        assert_eq!(self.errands.len(), 0, "errands");
        assert_eq!(self.effects.len(), 0, "effects");
        assert_eq!(self.opening, 0, "opening");
        assert_eq!(self.timers.next(), None, "timers");
    }

    /// An id that names nothing now. Ids are given in turn, so that one comes again only after four billion others,
    /// when whatever could still mean its first owner is gone.
    fn take_id(&mut self) -> u32 {
        loop {
            let id = self.next_id;
            self.next_id = id.wrapping_add(1);
            let taken = self.threads.contains_key(&ThreadId(id))
                || self.runs.contains_key(&RunKey(id))
                || self.readers.contains_key(&ReaderId(id));
            if !taken {
                return id;
            }
        }
    }
}
