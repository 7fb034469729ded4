//! What an accepted run will ask of the agent (spec: gateway, HTTP 与 run 语义; G6).

use crate::gateway::digest::Digest;
use crate::gateway::effect::{CallOutcome, HostMessage};
use crate::gateway::interrupts::PersonOutcome;
use crate::projection::FrontendResult;
use crate::tools::Catalogue;

/// What an accepted run will ask of the agent.
#[derive(Debug)]
pub(crate) struct Work {
    /// The browser's Tools from now on.
    pub(crate) tools: Catalogue,
    /// Context and shared state for the model.
    pub(crate) notes: Vec<HostMessage>,
    /// New messages. They open a turn, or join the one that is continued.
    pub(crate) messages: Vec<HostMessage>,
    /// Results that continue the turn that waits for them.
    pub(crate) answers: Vec<Answer>,
    /// Answers of people that continue the turn that waits for them.
    pub(crate) people: Vec<PersonAnswer>,
    /// The browser Tool that the A2UI middleware renders.
    pub(crate) render_tool: Option<String>,
}

impl Work {
    /// Whether a turn begins with it. Otherwise it continues the one that waits.
    pub(crate) fn opens_turn(&self) -> bool {
        self.answers.is_empty() && self.people.is_empty()
    }
}

/// A browser's answer to one of its calls.
#[derive(Debug)]
pub(crate) struct Answer {
    /// Wire id of the call.
    pub(crate) call: String,
    /// The browser's own message; none where its client passed over the call.
    pub(crate) own: Option<FrontendResult>,
    pub(crate) outcome: CallOutcome,
}

/// The answer to one published interrupt.
#[derive(Debug)]
pub(crate) struct PersonAnswer {
    /// The interrupt.
    pub(crate) id: Box<str>,
    pub(crate) digest: Digest,
    pub(crate) outcome: PersonOutcome,
}
