//! One thread: the exact `(tenant, user, thread)` tuple bound to one agent (spec: gateway, 架构; G5).

pub(crate) mod calls;
pub(crate) mod lost_calls;
mod preset;
pub(crate) mod seen;
pub(crate) mod state;
pub(crate) mod writing;

use std::collections::{HashMap, VecDeque};
use std::time::Instant;

use crate::gateway::ids::{ErrandId, RunKey, ThreadId, ThreadKey};
use crate::gateway::interrupts::Interrupts;
use crate::projection::{Deliverables, Transcript};
use crate::tools::Catalogue;
use calls::BrowserCalls;
use lost_calls::LostCalls;
use preset::Preset;
use seen::Seen;
use state::SharedState;
use writing::Writing;

#[derive(Debug)]
pub(crate) struct Thread {
    pub(crate) key: ThreadKey,
    pub(crate) phase: Phase,
    /// Runs that wait, in arrival order.
    pub(crate) queue: VecDeque<RunKey>,
    /// Retained runs, oldest first.
    pub(crate) ledger: VecDeque<RunKey>,
    /// The run that the agent works for.
    pub(crate) driver: Option<RunKey>,
    pub(crate) agent: AgentState,
    pub(crate) transcript: Transcript,
    pub(crate) deliverables: Deliverables,
    pub(crate) preset: Preset,
    /// Requests that are no runs and want something of the agent.
    pub(crate) errands: Vec<ErrandId>,
    /// Something lives in the agent only and outlives whoever brought it: the thread stays until it has been idle.
    pub(crate) kept: bool,
    pub(crate) seen: Seen,
    pub(crate) calls: BrowserCalls,
    pub(crate) lost: LostCalls,
    /// What the agent asks people.
    pub(crate) interrupts: Interrupts,
    /// The browser's Tools, as registered.
    pub(crate) tools: Catalogue,
    /// The one of them that the A2UI middleware renders: nobody answers its calls.
    pub(crate) render_tool: Option<String>,
    /// Names of the Tools that the agent has by itself, sorted.
    pub(crate) inherited: Vec<String>,
    pub(crate) state: SharedState,
    /// The log ended inside a turn, and no client was told yet.
    pub(crate) interrupted: bool,
    pub(crate) writing: Writing,
    pub(crate) idle_at: Option<Instant>,
    pub(crate) park_at: Option<Instant>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    /// The Host is asked for the agent.
    Opening,
    /// The agent is there.
    Live,
    /// The agent is being disposed. Requests that come wait for the thread's next life.
    Closing,
}

/// The thread, while its agent is there: what an agent reports on its way out changes nothing any more.
pub(crate) fn live(threads: &mut HashMap<ThreadId, Thread>, id: ThreadId) -> Option<&mut Thread> {
    threads
        .get_mut(&id)
        .filter(|thread| thread.phase == Phase::Live)
}

/// What the agent is doing, as it reports.
#[derive(Debug, Default)]
pub(crate) struct AgentState {
    /// Its status is `running`.
    pub(crate) busy: bool,
    /// The turn that is open.
    pub(crate) turn: Option<u64>,
    /// That turn is being cancelled: it waits for nobody any more.
    pub(crate) cancelled: bool,
    /// The step of the model attempt that began last.
    pub(crate) step: u64,
    /// A model attempt is streaming.
    pub(crate) streaming: bool,
    /// Dispatched calls without a result, by the provider's id.
    pub(crate) bodies: HashMap<String, Body>,
    /// The state Tool is registered.
    pub(crate) state_tool: bool,
}

/// A dispatched call that is not the browser's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Body {
    /// Policies look at it.
    Preparing,
    /// Its body runs.
    Running,
    /// Its body is over; the result may wait for an earlier one's.
    Over,
}

impl AgentState {
    /// Whether the agent does nothing.
    pub(crate) fn is_idle(&self) -> bool {
        !self.busy && self.turn.is_none()
    }

    pub(crate) fn end_turn(&mut self) {
        self.turn = None;
        self.cancelled = false;
        self.streaming = false;
        self.bodies.clear();
    }
}

impl Thread {
    pub(crate) fn new(key: ThreadKey, route_base: &str, max_id_bytes: usize) -> Self {
        let session_id = key.session_id();
        let thread_url = format!("{route_base}/threads/{}", key.thread_id);
        Self {
            key,
            phase: Phase::Opening,
            queue: VecDeque::new(),
            ledger: VecDeque::new(),
            driver: None,
            agent: AgentState::default(),
            transcript: Transcript::new(&session_id, max_id_bytes),
            deliverables: Deliverables::new(&session_id, thread_url),
            preset: Preset::default(),
            errands: Vec::new(),
            kept: false,
            seen: Seen::default(),
            calls: BrowserCalls::default(),
            lost: LostCalls::default(),
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
    pub(crate) fn is_parked(&self) -> bool {
        self.agent.turn.is_some()
            && !self.agent.cancelled
            && !self.agent.streaming
            && self.busy_bodies(Body::Running) <= self.interrupts.anonymous()
            && (self.calls.any_parked() || self.interrupts.any_open())
    }

    /// Whether a call is still with the Host's policies, and these do not wait for a person.
    pub(crate) fn any_preparing(&self) -> bool {
        self.busy_bodies(Body::Preparing) > 0
    }

    /// Bodies of the Host's own that are in a state and have not asked a person.
    fn busy_bodies(&self, state: Body) -> usize {
        let busy = |(id, body): &(&String, &Body)| **body == state && !self.interrupts.asks(id);
        self.agent.bodies.iter().filter(busy).count()
    }

    /// Whether the next run may be looked at.
    pub(crate) fn is_free(&self) -> bool {
        self.phase == Phase::Live
            && self.driver.is_none()
            && (self.agent.is_idle() || self.is_parked())
    }

    /// Whether nothing at all happens here.
    pub(crate) fn is_quiet(&self) -> bool {
        self.phase == Phase::Live
            && self.driver.is_none()
            && self.queue.is_empty()
            && self.errands.is_empty()
            && self.agent.is_idle()
    }
}
