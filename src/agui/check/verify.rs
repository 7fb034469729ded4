//! The sequence rules (`ag-ui.md` §3.1), applied after chunk expansion.

use std::collections::HashSet;

use super::owners::{Owner, Owners, Seed, claim, owned, owner_name, same_owner};
use super::step::{Action, Step};
use super::thinking::Thinking;
use super::{Broken, Rule};
use crate::agui::EventType;

/// Where a stream is between its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Phase {
    #[default]
    Start,
    Active,
    Finished,
    Failed,
}

/// What is open in a run, in the order of opening.
#[derive(Debug, Default)]
struct RunState {
    owners: Owners,
    messages: Vec<String>,
    tool_calls: Vec<String>,
    steps: Vec<(Owner, String)>,
    subagents: Vec<String>,
    ended_subagents: HashSet<String>,
    thinking: Thinking,
}

#[derive(Debug, Default)]
pub(super) struct Verifier {
    phase: Phase,
    run: RunState,
}

impl Verifier {
    /// Whether the last run has had its terminal event.
    pub(super) fn at_terminal(&self) -> bool {
        matches!(self.phase, Phase::Finished | Phase::Failed)
    }

    pub(super) fn step(&mut self, step: &Step<'_>) -> Result<(), Broken> {
        self.enter(step.event_type)?;
        let name = step.event_type.as_str();
        if step.null_tag {
            return Err(Broken::new(
                Rule::InvalidEvent,
                format!(
                    "Cannot send '{name}' with 'subagentRunId: null'. The field is optional — omit it entirely."
                ),
            ));
        }
        match &step.action {
            Action::RunStarted { history } => {
                self.phase = Phase::Active;
                self.run.owners.seed(history, Seed::Unknown);
                Ok(())
            }
            Action::RunFinished => {
                self.run.nothing_open()?;
                self.phase = Phase::Finished;
                Ok(())
            }
            Action::RunError => {
                self.phase = Phase::Failed;
                Ok(())
            }
            _ => self.run.step(step, name),
        }
    }

    /// The rules about the run as a whole.
    fn enter(&mut self, event_type: EventType) -> Result<(), Broken> {
        use EventType::{RunError, RunStarted};
        let name = event_type.as_str();
        match (self.phase, event_type) {
            (Phase::Failed | Phase::Finished, RunStarted) => {
                self.run = RunState::default();
                Ok(())
            }
            (Phase::Failed, _) => Err(Broken::new(
                Rule::AfterRunError,
                format!(
                    "Cannot send event type '{name}': The run has already errored with 'RUN_ERROR'. No further events can be sent."
                ),
            )),
            (Phase::Finished, event_type) if event_type != RunError => Err(Broken::new(
                Rule::AfterRunFinished,
                format!(
                    "Cannot send event type '{name}': The run has already finished with 'RUN_FINISHED'. \
                     Start a new run with 'RUN_STARTED'."
                ),
            )),
            (Phase::Start, event_type) if !matches!(event_type, RunStarted | RunError) => Err(
                Broken::new(Rule::FirstEvent, "First event must be 'RUN_STARTED'"),
            ),
            (Phase::Active, RunStarted) => Err(Broken::new(
                Rule::RunActive,
                "Cannot send 'RUN_STARTED' while a run is still active. The previous run must be finished with \
                 'RUN_FINISHED' before starting a new run.",
            )),
            _ => Ok(()),
        }
    }
}

impl RunState {
    fn step(&mut self, step: &Step<'_>, name: &str) -> Result<(), Broken> {
        let tag = step.tag.as_deref();
        match &step.action {
            Action::OpenMessage { id } => {
                if self.messages.iter().any(|open| open == id) {
                    return Err(already_open(
                        Rule::MessageOpen,
                        name,
                        "text message",
                        id,
                        "TEXT_MESSAGE_END",
                    ));
                }
                claim(&mut self.owners.messages, name, tag, "message", id)?;
                self.messages.push(id.to_string());
            }
            Action::ContinueMessage { id } => {
                if !self.messages.iter().any(|open| open == id) {
                    let help = "Start a text message with 'TEXT_MESSAGE_START' first.";
                    return Err(not_open(
                        Rule::MessageNotOpen,
                        name,
                        "text message",
                        id,
                        help,
                    ));
                }
                same_owner(&self.owners.messages, name, tag, "message", id)?;
            }
            Action::CloseMessage { id } => {
                let Some(position) = self.messages.iter().position(|open| open == id) else {
                    let help = "A 'TEXT_MESSAGE_START' event must be sent first.";
                    return Err(not_open(
                        Rule::MessageNotOpen,
                        name,
                        "text message",
                        id,
                        help,
                    ));
                };
                same_owner(&self.owners.messages, name, tag, "message", id)?;
                self.messages.remove(position);
            }
            Action::OpenToolCall { id, parent } => {
                if self.tool_calls.iter().any(|open| open == id) {
                    return Err(already_open(
                        Rule::ToolCallOpen,
                        name,
                        "tool call",
                        id,
                        "TOOL_CALL_END",
                    ));
                }
                self.claim_tool_call(tag, id, *parent)?;
                self.tool_calls.push(id.to_string());
            }
            Action::ContinueToolCall { id } => {
                if !self.tool_calls.iter().any(|open| open == id) {
                    let help = "Start a tool call with 'TOOL_CALL_START' first.";
                    return Err(not_open(Rule::ToolCallNotOpen, name, "tool call", id, help));
                }
                same_owner(&self.owners.tool_calls, name, tag, "tool call", id)?;
            }
            Action::CloseToolCall { id } => {
                let Some(position) = self.tool_calls.iter().position(|open| open == id) else {
                    let help = "A 'TOOL_CALL_START' event must be sent first.";
                    return Err(not_open(Rule::ToolCallNotOpen, name, "tool call", id, help));
                };
                same_owner(&self.owners.tool_calls, name, tag, "tool call", id)?;
                self.tool_calls.remove(position);
            }
            Action::ToolResult { message_id } => {
                self.owners
                    .messages
                    .insert((*message_id).to_owned(), owned(tag));
            }
            Action::StartStep { name } => self.start_step(tag, name)?,
            Action::FinishStep { name } => self.finish_step(tag, name)?,
            Action::ReplaceActivity { id } => {
                self.owners.activities.insert((*id).to_owned(), owned(tag));
            }
            Action::KeepActivity { id } => {
                self.owners
                    .activities
                    .entry((*id).to_owned())
                    .or_insert_with(|| owned(tag));
            }
            Action::ContinueActivity { id } => {
                same_owner(&self.owners.activities, name, tag, "activity", id)?
            }
            Action::OpenReasoning { id } => claim(
                &mut self.owners.reasoning,
                name,
                tag,
                "reasoning message",
                id,
            )?,
            Action::ContinueReasoning { id } => {
                same_owner(&self.owners.reasoning, name, tag, "reasoning message", id)?;
            }
            Action::EncryptToolCall { id } => {
                same_owner(&self.owners.tool_calls, name, tag, "tool call", id)?
            }
            Action::EncryptMessage { id } => {
                let owners = &self.owners;
                let known = if owners.messages.contains_key(*id) {
                    &owners.messages
                } else {
                    &owners.reasoning
                };
                same_owner(known, name, tag, "message", id)?;
            }
            Action::StartSubagent { parent } => {
                self.start_subagent(tag.unwrap_or_default(), *parent)?
            }
            Action::CloseSubagent => self.close_subagent(name, tag.unwrap_or_default())?,
            Action::ReplaceHistory { messages } => self.owners.seed(messages, Seed::All),
            Action::Thinking => self.thinking.step(step.event_type)?,
            Action::RunStarted { .. }
            | Action::RunFinished
            | Action::RunError
            | Action::Chunk(_)
            | Action::Other => {}
        }
        Ok(())
    }

    /// A call belongs to the message that carries it, so it inherits that message's owner.
    fn claim_tool_call(
        &mut self,
        tag: Option<&str>,
        id: &str,
        parent: Option<&str>,
    ) -> Result<(), Broken> {
        let inherited = parent.and_then(|parent| self.owners.messages.get(parent));
        if let (Some(tag), Some(owner), Some(parent)) = (tag, inherited, parent)
            && owner.as_deref() != Some(tag)
        {
            return Err(Broken::new(
                Rule::SubagentMismatch,
                format!(
                    "Cannot send 'TOOL_CALL_START': subagentRunId '{tag}' does not match its parent message '{parent}' owner \
                     '{}'. A tool call belongs to the message that carries it.",
                    owner_name(owner),
                ),
            ));
        }
        if let (None, Some(inherited), Some(owner)) =
            (tag, inherited, self.owners.tool_calls.get(id))
            && inherited != owner
        {
            return Err(Broken::new(
                Rule::SubagentMismatch,
                format!(
                    "Cannot send 'TOOL_CALL_START': tool call '{id}' is owned by '{}' but its parent message '{}' is owned by \
                     '{}'. A tool call belongs to the message that carries it.",
                    owner_name(owner),
                    parent.unwrap_or_default(),
                    owner_name(inherited),
                ),
            ));
        }
        let owner = tag
            .map(str::to_owned)
            .or_else(|| inherited.cloned().flatten());
        same_owner(
            &self.owners.tool_calls,
            EventType::ToolCallStart.as_str(),
            tag,
            "tool call",
            id,
        )?;
        self.owners.tool_calls.entry(id.to_owned()).or_insert(owner);
        Ok(())
    }

    fn start_step(&mut self, tag: Option<&str>, name: &str) -> Result<(), Broken> {
        let step = (owned(tag), name.to_owned());
        if self.steps.contains(&step) {
            let owner = tag
                .map(|tag| format!(" in subagent '{tag}'"))
                .unwrap_or_default();
            return Err(Broken::new(
                Rule::StepOpen,
                format!("Step \"{name}\" is already active for 'STEP_STARTED'{owner}"),
            ));
        }
        self.steps.push(step);
        Ok(())
    }

    fn finish_step(&mut self, tag: Option<&str>, name: &str) -> Result<(), Broken> {
        let described = |owner: Option<&str>| {
            owner.map_or("the parent agent".to_owned(), |id| {
                format!("subagent '{id}'")
            })
        };
        let position = self
            .steps
            .iter()
            .position(|(owner, step)| step == name && owner.as_deref() == tag);
        if let Some(position) = position {
            self.steps.remove(position);
            return Ok(());
        }
        let elsewhere = self.steps.iter().find(|(_, step)| step == name);
        Err(Broken::new(
            Rule::StepNotOpen,
            match elsewhere {
                None => {
                    format!("Cannot send 'STEP_FINISHED' for step \"{name}\" that was not started")
                }
                Some((owner, _)) => format!(
                    "Cannot send 'STEP_FINISHED' for step \"{name}\" attributed to {}: that step is open under {}. \
                     A step must be finished by whoever started it.",
                    described(tag),
                    described(owner.as_deref()),
                ),
            },
        ))
    }

    fn start_subagent(&mut self, id: &str, parent: Option<&str>) -> Result<(), Broken> {
        let (rule, problem) = if self.subagents.iter().any(|active| active == id) {
            (
                Rule::SubagentActive,
                format!(
                    "subagent '{id}' is already active. Finish it with 'SUBAGENT_FINISHED' first."
                ),
            )
        } else if self.ended_subagents.contains(id) {
            (
                Rule::SubagentReused,
                format!(
                    "subagent '{id}' has already finished in this run. Subagent IDs are per-invocation and cannot be reused."
                ),
            )
        } else if let Some(parent) = parent
            && !self.subagents.iter().any(|active| active == parent)
            && !self.ended_subagents.contains(parent)
        {
            (
                Rule::UnknownParentSubagent,
                format!("parentSubagentRunId '{parent}' has not been started in this run."),
            )
        } else {
            self.subagents.push(id.to_owned());
            return Ok(());
        };
        Err(Broken::new(
            rule,
            format!("Cannot send 'SUBAGENT_STARTED': {problem}"),
        ))
    }

    fn close_subagent(&mut self, name: &str, id: &str) -> Result<(), Broken> {
        let Some(position) = self.subagents.iter().position(|active| active == id) else {
            return Err(Broken::new(
                Rule::SubagentNotActive,
                format!(
                    "Cannot send '{name}': no active subagent found with ID '{id}'. A 'SUBAGENT_STARTED' event must be sent first."
                ),
            ));
        };
        self.ended_subagents.insert(self.subagents.remove(position));
        Ok(())
    }

    fn nothing_open(&self) -> Result<(), Broken> {
        let steps: Vec<String> = self
            .steps
            .iter()
            .map(|(owner, step)| match owner {
                Some(owner) => format!("{step} (subagent '{owner}')"),
                None => step.clone(),
            })
            .collect();
        let kinds = [
            (Rule::UnfinishedSteps, "steps", &steps),
            (Rule::UnfinishedMessages, "text messages", &self.messages),
            (Rule::UnfinishedToolCalls, "tool calls", &self.tool_calls),
            (Rule::UnfinishedSubagents, "subagents", &self.subagents),
        ];
        match kinds.into_iter().find(|(_, _, open)| !open.is_empty()) {
            None => Ok(()),
            Some((rule, kind, open)) => Err(Broken::new(
                rule,
                format!(
                    "Cannot send 'RUN_FINISHED' while {kind} are still active: {}",
                    open.join(", ")
                ),
            )),
        }
    }
}

fn already_open(rule: Rule, name: &str, kind: &str, id: &str, end: &str) -> Broken {
    let message = format!(
        "Cannot send '{name}' event: A {kind} with ID '{id}' is already in progress. Complete it with '{end}' first."
    );
    Broken::new(rule, message)
}

fn not_open(rule: Rule, name: &str, kind: &str, id: &str, help: &str) -> Broken {
    Broken::new(
        rule,
        format!("Cannot send '{name}' event: No active {kind} found with ID '{id}'. {help}"),
    )
}
