//! One thread: the exact `(tenant, user, thread)` tuple bound to one agent (spec: gateway, 架构; G5).

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use super::calls::BrowserCalls;
use super::durable::Writing;
use super::ids::{ErrandId, RunKey, ThreadId, ThreadKey};
use super::interrupts::Interrupts;
use super::presets::Preset;
use super::seen::Seen;
use super::state::SharedState;
use crate::projection::{Deliverables, Transcript};
use crate::tools::Catalogue;

#[derive(Debug)]
pub(super) struct Thread {
    pub(super) key: ThreadKey,
    pub(super) phase: Phase,
    /// Runs that wait, in arrival order.
    pub(super) queue: VecDeque<RunKey>,
    /// Retained runs, oldest first.
    pub(super) ledger: VecDeque<RunKey>,
    /// The run that the agent works for.
    pub(super) driver: Option<RunKey>,
    pub(super) agent: AgentState,
    pub(super) transcript: Transcript,
    pub(super) deliverables: Deliverables,
    pub(super) preset: Preset,
    /// Requests that are no runs and want something of the agent.
    pub(super) errands: Vec<ErrandId>,
    /// Something lives in the agent only and outlives whoever brought it: the thread stays until it has been idle.
    pub(super) kept: bool,
    pub(super) seen: Seen,
    pub(super) calls: BrowserCalls,
    /// What the agent asks people.
    pub(super) interrupts: Interrupts,
    /// The browser's Tools, as registered.
    pub(super) tools: Catalogue,
    /// The one of them that the A2UI middleware renders: nobody answers its calls.
    pub(super) render_tool: Option<String>,
    /// Names of the Tools that the agent has by itself, sorted.
    pub(super) inherited: Vec<String>,
    pub(super) state: SharedState,
    /// The log ended inside a turn, and no client was told yet.
    pub(super) interrupted: bool,
    pub(super) writing: Writing,
    pub(super) idle_at: Option<Instant>,
    pub(super) park_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The Host is asked for the agent.
    Opening,
    /// The agent is there.
    Live,
    /// The agent is being disposed. Requests that come wait for the thread's next life.
    Closing,
}

/// How an agent is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenMode {
    /// As it was stored, or a new one.
    ResumeOrCreate,
    /// As it was stored, or not at all.
    Resume,
}

/// The thread, while its agent is there: what an agent reports on its way out changes nothing any more.
pub(super) fn live(threads: &mut HashMap<ThreadId, Thread>, id: ThreadId) -> Option<&mut Thread> {
    threads
        .get_mut(&id)
        .filter(|thread| thread.phase == Phase::Live)
}

/// What the agent is doing, as it reports.
#[derive(Debug, Default)]
pub(super) struct AgentState {
    /// Its status is `running`.
    pub(super) busy: bool,
    /// The turn that is open.
    pub(super) turn: Option<u64>,
    /// The step of the model attempt that began last.
    pub(super) step: u64,
    /// A model attempt is streaming.
    pub(super) streaming: bool,
    /// Dispatched calls without a result, by the provider's id.
    pub(super) bodies: HashMap<String, Body>,
    /// The state Tool is registered.
    pub(super) state_tool: bool,
}

/// A dispatched call that is not the browser's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// Policies look at it.
    Preparing,
    /// Its body runs.
    Running,
    /// Its body is over; the result may wait for an earlier one's.
    Over,
}

impl AgentState {
    /// Whether the agent does nothing.
    pub(super) fn is_idle(&self) -> bool {
        !self.busy && self.turn.is_none()
    }

    pub(super) fn end_turn(&mut self) {
        self.turn = None;
        self.streaming = false;
        self.bodies.clear();
    }
}

impl Thread {
    pub(super) fn new(key: ThreadKey, route_base: &str) -> Self {
        let session_id = key.session_id();
        let thread_url = format!("{route_base}/threads/{}", key.thread_id);
        Self {
            key,
            phase: Phase::Opening,
            queue: VecDeque::new(),
            ledger: VecDeque::new(),
            driver: None,
            agent: AgentState::default(),
            transcript: Transcript::new(&session_id),
            deliverables: Deliverables::new(&session_id, thread_url),
            preset: Preset::default(),
            errands: Vec::new(),
            kept: false,
            seen: Seen::default(),
            calls: BrowserCalls::default(),
            interrupts: Interrupts::default(),
            tools: Catalogue::default(),
            render_tool: None,
            inherited: Vec::new(),
            state: SharedState::default(),
            interrupted: false,
            writing: Writing::default(),
            idle_at: None,
            park_at: None,
        }
    }

    /// Whether the turn waits for the browser or for people, and for nothing else.
    pub(super) fn is_parked(&self) -> bool {
        self.agent.turn.is_some()
            && !self.agent.streaming
            && self.busy_bodies(Body::Running) <= self.interrupts.anonymous()
            && (self.calls.any_parked() || self.interrupts.any_open())
    }

    /// Whether a call is still with the Host's policies, and these do not wait for a person.
    pub(super) fn any_preparing(&self) -> bool {
        self.busy_bodies(Body::Preparing) > 0
    }

    /// Bodies of the Host's own that are in a state and have not asked a person.
    fn busy_bodies(&self, state: Body) -> usize {
        let busy = |(id, body): &(&String, &Body)| **body == state && !self.interrupts.asks(id);
        self.agent.bodies.iter().filter(busy).count()
    }

    /// Whether the next run may be looked at.
    pub(super) fn is_free(&self) -> bool {
        self.phase == Phase::Live
            && self.driver.is_none()
            && (self.agent.is_idle() || self.is_parked())
    }

    /// Whether nothing at all happens here.
    pub(super) fn is_quiet(&self) -> bool {
        self.phase == Phase::Live
            && self.driver.is_none()
            && self.queue.is_empty()
            && self.errands.is_empty()
            && self.agent.is_idle()
    }
}
