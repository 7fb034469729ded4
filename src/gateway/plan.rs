//! What a request means for its thread (spec: gateway, HTTP 与 run 语义; G6, G8, G11, G12).
//!
//! A plan is made from the thread as it is, and changes nothing; whatever can be refused is refused here. Applying a
//! plan cannot fail.

use super::a2ui::NewAction;
use super::answers;
use super::config::Config;
use super::content::NewContent;
use super::digest::{Digest, DigestKey};
use super::effect::CallOutcome;
use super::error::{Code, GatewayError};
use super::prepare::Needs;
use super::request::Request;
use super::resume::{self, PersonAnswer};
use super::seen::{Verdict, metadata_of, original, result_text};
use super::state::Baseline;
use super::thread::Thread;
use crate::agui::{Message, ToolMessage, UserMessage};
use crate::projection::{
    FrontendResult, Transcript, encode_result, encode_user, encode_user_parts, frontend_result_meta,
};
use crate::tools::STATE_TOOL;

/// What a request will do.
#[derive(Debug)]
pub(super) enum Plan {
    /// Nothing new: the history is served at once.
    History,
    /// New work for the agent.
    Work(Box<WorkPlan>),
}

#[derive(Debug)]
pub(super) struct WorkPlan {
    pub(super) messages: NewMessages,
    /// Answers to every published interrupt, or none.
    pub(super) people: Vec<PersonAnswer>,
    /// Wire ids of open calls that nobody will answer: the person wrote on.
    pub(super) passed_over: Vec<String>,
    pub(super) baseline: Baseline,
    /// What the Host has to do before it is admitted.
    pub(super) needs: Needs,
}

/// What of a request's messages is new.
#[derive(Debug, Default)]
pub(super) struct NewMessages {
    /// The person's words, in order.
    pub(super) users: Vec<NewUser>,
    /// Answers to calls of the turn that waits.
    pub(super) results: Vec<NewResult>,
    /// What a person did on a rendered surface.
    pub(super) action: Option<NewAction>,
}

impl NewMessages {
    /// Whether the person has said or done something new.
    fn speaks(&self) -> bool {
        !self.users.is_empty() || self.action.is_some()
    }
}

#[derive(Debug)]
pub(super) struct NewUser {
    pub(super) id: String,
    pub(super) digest: Digest,
    pub(super) content: NewContent,
}

#[derive(Debug)]
pub(super) struct NewResult {
    /// Wire id of the call.
    pub(super) call: String,
    pub(super) digest: Digest,
    pub(super) own: FrontendResult,
    /// What clients see, and the model.
    pub(super) text: String,
    pub(super) outcome: CallOutcome,
}

impl NewMessages {
    /// The messages as clients see them.
    pub(super) fn encoded(&self) -> Vec<String> {
        let results = self.results.iter().map(NewResult::encoded);
        let users = self.users.iter().map(NewUser::encoded);
        results.chain(users).collect()
    }
}

impl NewUser {
    pub(super) fn encoded(&self) -> String {
        match &self.content {
            NewContent::Texts(texts) => encode_user(&self.id, texts),
            NewContent::Parts(parts) => encode_user_parts(&self.id, &parts.json),
        }
    }
}

impl NewResult {
    pub(super) fn encoded(&self) -> String {
        encode_result(&self.own, &self.call, &self.text)
    }
}

/// Makes the plan.
///
/// # Errors
/// When the request does not fit the thread. The thread is as it was.
pub(super) fn plan(
    key: DigestKey,
    config: &Config,
    thread: &Thread,
    request: &Request<'_>,
) -> Result<Plan, GatewayError> {
    let messages = new_messages(key, config, thread, request)?;
    let people = resume::answers(key, thread, request, &messages)?;
    if !messages.users.is_empty() && messages.action.is_some() {
        return Err(GatewayError::new(
            Code::InvalidMessageBatch,
            "new user messages and an action on a surface cannot share a run",
        ));
    }
    let continues = !messages.results.is_empty() || !people.is_empty();
    let wrote_on = !messages.users.is_empty()
        && people.is_empty()
        && thread.calls.any_owed()
        && answers::wrote_on(thread, request, &messages.users);
    match (messages.speaks(), continues) {
        (false, false) => return Ok(Plan::History),
        _ if wrote_on => {}
        (true, true) if messages.users.is_empty() && people.is_empty() => {
            // What was done on a surface may come with the results of the client's own render calls.
        }
        (true, true) => {
            return Err(GatewayError::new(
                Code::InvalidMessageBatch,
                "new user messages and new results cannot share a run",
            ));
        }
        (true, false) if thread.calls.any_owed() => {
            return Err(GatewayError::new(
                Code::AgentBusy,
                "the agent waits for Tool results of the browser",
            ));
        }
        (true, false) if thread.interrupts.any_open() => {
            return Err(GatewayError::new(
                Code::AgentBusy,
                "the agent waits for a person; read the history to learn for what",
            ));
        }
        _ => {}
    }
    let answered = |call: &str| messages.results.iter().any(|result| result.call == call);
    let passed_over = thread
        .calls
        .owed()
        .filter(|call| wrote_on && !answered(call))
        .map(ToOwned::to_owned)
        .collect();
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
        passed_over,
        baseline,
        needs,
    })))
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
    let action = new_action(key, thread, request)?;
    // The pair that reports an action is no history.
    let pair = request.action.as_ref().map(|action| action.id.as_str());
    for message in &request.input.messages {
        match message {
            Message::User(message) => users.extend(new_user(key, config, thread, &users, message)?),
            Message::Tool(message) if pair == Some(&*message.id) => {}
            Message::Tool(message) => {
                results.extend(new_result(key, thread, request, &results, message)?);
            }
            // Assistant and system messages are the server's to keep; what a client holds of them is a copy.
            _ => {}
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
    request: &Request<'_>,
) -> Result<Option<NewAction>, GatewayError> {
    let Some(action) = request.action.clone() else {
        return Ok(None);
    };
    let digest = key.action(&action.text);
    match thread.seen.compare(&action.id, digest) {
        Verdict::New => Ok(Some(NewAction { action, digest })),
        Verdict::Known => Ok(None),
        Verdict::Conflict => Err(conflict("message")),
    }
}

fn conflict(what: &str) -> GatewayError {
    GatewayError::new(
        Code::MessageIdConflict,
        format!("a {what} id was used before with other content"),
    )
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

fn new_result(
    key: DigestKey,
    thread: &Thread,
    request: &Request<'_>,
    earlier: &[NewResult],
    message: &ToolMessage<'_>,
) -> Result<Option<NewResult>, GatewayError> {
    let call = &*message.tool_call_id;
    let owed = thread.calls.is_owed(call);
    if answers::is_filling(message) && thread.transcript.call(call).is_some() {
        // A runtime between us and the browser invented it.
        return Ok(None);
    }
    if !owed && Transcript::is_server_result(&message.id, call) {
        // The server's own result, as the stream or a snapshot gave it.
        return Ok(None);
    }
    let digest = key.result(message);
    match thread.seen.compare_result(digest, message) {
        Verdict::Known => return Ok(None),
        Verdict::Conflict => return Err(conflict("Tool result")),
        Verdict::New => {}
    }
    if !owed {
        let settled = thread
            .transcript
            .call(call)
            .is_some_and(|(_, settled)| settled);
        return if settled
            || thread.calls.answer_of(call).is_some()
            || resume::speaks_for(thread, request, call)
        {
            // History: the call has its result, whatever this client calls it.
            Ok(None)
        } else {
            Err(GatewayError::new(
                Code::UnknownToolResult,
                "a Tool result answers no call that waits for the browser",
            ))
        };
    }
    if let Some(twin) = earlier.iter().find(|twin| twin.call == call) {
        return if twin.own.id == *message.id && twin.digest == digest {
            Ok(None)
        } else {
            Err(GatewayError::new(
                Code::InvalidToolResultBatch,
                "a call is answered twice",
            ))
        };
    }
    if earlier.iter().any(|twin| twin.own.id == *message.id) {
        return Err(GatewayError::new(
            Code::InvalidToolResultBatch,
            "two Tool results share an id",
        ));
    }
    Ok(Some(answer(call, digest, message)))
}

fn answer(call: &str, digest: Digest, message: &ToolMessage<'_>) -> NewResult {
    let own = FrontendResult {
        id: message.id.clone().into_owned(),
        encrypted_value: message.encrypted_value.as_deref().map(Into::into),
        subagent_run_id: message.subagent_run_id.as_deref().map(Into::into),
        metadata: metadata_of(message),
        original: Some(original(message)),
    };
    let text = result_text(message);
    let outcome = match message.error.as_deref() {
        Some(error) if !error.is_empty() => CallOutcome::Rejected {
            message: error.into(),
        },
        _ => CallOutcome::Resolved {
            text: text.clone(),
            meta: Some(frontend_result_meta(&own)),
        },
    };
    NewResult {
        call: call.into(),
        digest,
        own,
        text,
        outcome,
    }
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
pub(super) fn state_tool_collision() -> GatewayError {
    GatewayError::new(
        Code::SharedStateToolCollision,
        format!("the agent already has a Tool named {STATE_TOOL}"),
    )
}
