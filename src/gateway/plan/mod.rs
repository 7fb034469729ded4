//! What a request means for its thread (spec: gateway, HTTP 与 run 语义; G6, G8, G11, G12).
//!
//! A plan is made from the thread as it is, and changes nothing; whatever can be refused is refused here. Applying a
//! plan cannot fail.

pub(crate) mod answers;
pub(crate) mod content;
pub(crate) mod messages;
pub(crate) mod needs;
pub(crate) mod resume;

use crate::agui::{Message, UserMessage};
use crate::gateway::config::Config;
use crate::gateway::digest::DigestKey;
use crate::gateway::error::{Code, GatewayError};
use crate::gateway::refusal::conflict;
use crate::gateway::request::Request;
use crate::gateway::request::a2ui::{self, Action, NewAction};
use crate::gateway::run::work::PersonAnswer;
use crate::gateway::thread::Thread;
use crate::gateway::thread::seen::Verdict;
use crate::gateway::thread::state::Baseline;
use crate::tools::STATE_TOOL;
use content::NewContent;
use messages::{NewMessages, NewResult, NewUser};
use needs::Needs;

/// What a request will do.
#[derive(Debug)]
pub(crate) enum Plan {
    /// Nothing new: the history is served at once.
    History,
    /// New work for the agent.
    Work(Box<WorkPlan>),
}

#[derive(Debug)]
pub(crate) struct WorkPlan {
    pub(crate) messages: NewMessages,
    /// Answers to every published interrupt, or none.
    pub(crate) people: Vec<PersonAnswer>,
    /// Wire ids of open calls that nobody will answer: the person wrote on.
    pub(crate) passed_over: Vec<String>,
    pub(crate) baseline: Baseline,
    /// What the Host has to do before it is admitted.
    pub(crate) needs: Needs,
}

/// Makes the plan.
///
/// # Errors
/// When the request does not fit the thread. The thread is as it was.
pub(crate) fn plan(
    key: DigestKey,
    config: &Config,
    thread: &Thread,
    request: &Request<'_>,
) -> Result<Plan, GatewayError> {
    let messages = new_messages(key, config, thread, request)?;
    let people = resume::answers(key, thread, request, &messages)?;
    if !messages.speaks() && messages.results.is_empty() && people.is_empty() {
        return Ok(Plan::History);
    }
    let passed_over = if people.is_empty() {
        answers::passed_over(thread, request, &messages.users, &messages.results)
    } else {
        None
    };
    check_kind(thread, &messages, &people, passed_over.as_deref())?;
    let requested = request.preset.as_deref();
    let preset = thread
        .preset
        .selection(config, &thread.key.principal, requested)?;
    let baseline = thread.state.baseline(request.state());
    // Against another composition they are checked once that is there.
    if preset.is_none() {
        check_collisions(thread, request, &baseline)?;
    }
    let needs = Needs::new(preset, &messages);
    Ok(Plan::Work(Box::new(WorkPlan {
        messages,
        people,
        passed_over: passed_over.unwrap_or_default(),
        baseline,
        needs,
    })))
}

/// Whether what is new makes one kind of run, and one that the thread can take now. With `passed_over` the person's words
/// join the turn that waits.
fn check_kind(
    thread: &Thread,
    messages: &NewMessages,
    people: &[PersonAnswer],
    passed_over: Option<&[String]>,
) -> Result<(), GatewayError> {
    let mixed = |what| Err(GatewayError::new(Code::InvalidMessageBatch, what));
    let busy = |what| Err(GatewayError::new(Code::AgentBusy, what));
    if messages.action.is_some() && !messages.users.is_empty() {
        return mixed("new user messages and an action on a surface cannot share a run");
    }
    if passed_over.is_some() || !messages.speaks() {
        return Ok(());
    }
    if !people.is_empty() {
        return mixed("new input and answers to interrupts cannot share a run");
    }
    if !messages.results.is_empty() {
        return match messages.action {
            // The client's own render calls end with what the person does on their surfaces.
            Some(_) => Ok(()),
            None => mixed("new user messages and new Tool results cannot share a run"),
        };
    }
    if thread.calls.any_owed() {
        return busy("the agent waits for Tool results of the browser");
    }
    if thread.interrupts.any_open() {
        return busy("the agent waits for a person; read the history to learn for what");
    }
    Ok(())
}

/// Finds what the thread has not seen yet.
fn new_messages(
    key: DigestKey,
    config: &Config,
    thread: &Thread,
    request: &Request<'_>,
) -> Result<NewMessages, GatewayError> {
    let mut users: Vec<NewUser> = Vec::new();
    let mut results: Vec<NewResult> = Vec::new();
    let (messages, action) = match &request.action {
        Some(action) => (
            a2ui::without_pair(&request.input.messages),
            new_action(key, thread, action)?,
        ),
        None => (&*request.input.messages, None),
    };
    for message in messages {
        match message {
            Message::User(message) => users.extend(new_user(key, config, thread, &users, message)?),
            Message::Tool(message) => {
                results.extend(answers::judge(key, thread, request, &results, message)?);
            }
            // Assistant and system messages are the server's to keep; what a client holds of them is a copy.
            _ => {}
        }
    }
    if let Some(new) = &action {
        let of_action = |id: &str| id == new.action.id;
        let shared = users.iter().any(|user| of_action(&user.id))
            || results.iter().any(|result| of_action(&result.own.id));
        if shared {
            return Err(conflict("message"));
        }
    }
    Ok(NewMessages {
        users,
        results,
        action,
    })
}

fn new_action(
    key: DigestKey,
    thread: &Thread,
    action: &Action,
) -> Result<Option<NewAction>, GatewayError> {
    let digest = key.action(&action.text);
    match thread.seen.compare(&action.id, digest) {
        Verdict::New => Ok(Some(NewAction {
            action: action.clone(),
            digest,
        })),
        Verdict::Known => Ok(None),
        Verdict::Conflict => Err(conflict("message")),
    }
}

fn new_user(
    key: DigestKey,
    config: &Config,
    thread: &Thread,
    earlier: &[NewUser],
    message: &UserMessage<'_>,
) -> Result<Option<NewUser>, GatewayError> {
    let digest = key.user(&message.content);
    match thread.seen.compare(&message.id, digest) {
        Verdict::Known => return Ok(None),
        Verdict::Conflict => return Err(conflict("message")),
        Verdict::New => {}
    }
    if let Some(twin) = earlier.iter().find(|twin| twin.id == message.id) {
        return if twin.digest == digest {
            Ok(None)
        } else {
            Err(conflict("message"))
        };
    }
    let content = NewContent::open(&message.content, &config.url_key, &thread.key)?;
    Ok(Some(NewUser {
        id: message.id.clone().into_owned(),
        digest,
        content,
    }))
}

fn check_collisions(
    thread: &Thread,
    request: &Request<'_>,
    baseline: &Baseline,
) -> Result<(), GatewayError> {
    request.tools.check_collisions(&thread.inherited)?;
    let taken = thread
        .inherited
        .binary_search_by(|name| name.as_str().cmp(STATE_TOOL))
        .is_ok();
    if taken && thread.state.active_with(baseline) {
        return Err(state_tool_collision());
    }
    Ok(())
}

/// The agent has a Tool of the name that shared state needs.
pub(crate) fn state_tool_collision() -> GatewayError {
    GatewayError::new(
        Code::SharedStateToolCollision,
        format!("the agent already has a Tool named {STATE_TOOL}"),
    )
}
