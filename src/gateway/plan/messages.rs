//! What of a request's messages is new to its thread (G8).

use super::content::NewContent;
use crate::gateway::digest::Digest;
use crate::gateway::effect::CallOutcome;
use crate::gateway::request::a2ui::NewAction;
use crate::projection::{FrontendResult, encode_result, encode_user, encode_user_parts};

/// What of a request's messages is new.
#[derive(Debug, Default)]
pub(crate) struct NewMessages {
    /// The person's words, in order.
    pub(crate) users: Vec<NewUser>,
    /// Answers to calls of the turn that waits.
    pub(crate) results: Vec<NewResult>,
    /// What a person did on a rendered surface.
    pub(crate) action: Option<NewAction>,
}

impl NewMessages {
    /// Whether the person has said or done something new.
    pub(crate) fn speaks(&self) -> bool {
        !self.users.is_empty() || self.action.is_some()
    }

    /// The messages as clients see them.
    pub(crate) fn encoded(&self) -> Vec<String> {
        let results = self.results.iter().map(NewResult::encoded);
        let users = self.users.iter().map(NewUser::encoded);
        results.chain(users).collect()
    }
}

#[derive(Debug)]
pub(crate) struct NewUser {
    pub(crate) id: String,
    pub(crate) digest: Digest,
    pub(crate) content: NewContent,
}

impl NewUser {
    pub(crate) fn encoded(&self) -> String {
        match &self.content {
            NewContent::Texts(texts) => encode_user(&self.id, texts),
            NewContent::Parts(parts) => encode_user_parts(&self.id, &parts.json),
        }
    }
}

/// A browser's answer to a call that waits.
#[derive(Debug)]
pub(crate) struct NewResult {
    /// Wire id of the call.
    pub(crate) call: String,
    pub(crate) digest: Digest,
    pub(crate) own: FrontendResult,
    /// What clients see, and the model.
    pub(crate) text: String,
    pub(crate) outcome: CallOutcome,
}

impl NewResult {
    /// The message as clients see it.
    pub(crate) fn encoded(&self) -> String {
        encode_result(&self.own, &self.call, &self.text)
    }
}
