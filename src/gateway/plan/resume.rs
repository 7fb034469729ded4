//! What `resume[]` of a request means for its thread (spec: gateway, 原生问题与审批; `ag-ui.md` §3.5; G18).
//!
//! Entries for interrupts that this thread does not know, that give up what is over, or that repeat an answer word for
//! word have no effect: a client that holds a stale gate clears it with them. Everything else is checked whole.

use super::messages::NewMessages;
use crate::agui::{Json, Resume, ResumeStatus};
use crate::gateway::digest::{Digest, DigestKey};
use crate::gateway::error::{Code, GatewayError};
use crate::gateway::interrupts::{Ask, Known};
use crate::gateway::request::Request;
use crate::gateway::run::work::PersonAnswer;
use crate::gateway::thread::Thread;

/// Reads the answers of a request.
///
/// # Errors
/// When they do not fit what waits, or new work leaves open what has to be answered first.
pub(crate) fn answers(
    key: DigestKey,
    thread: &Thread,
    request: &Request<'_>,
    messages: &NewMessages,
) -> Result<Vec<PersonAnswer>, GatewayError> {
    let mut open = Vec::new();
    for entry in request.resume() {
        match thread.interrupts.find(&entry.interrupt_id) {
            Known::Open(ask) => open.push((entry, ask)),
            Known::Over(answer)
                if entry.status == ResumeStatus::Resolved
                    && answer != Some(key.person_answer(entry)) =>
            {
                return Err(GatewayError::new(
                    Code::InterruptUnavailable,
                    "an answered interrupt no longer waits",
                ));
            }
            Known::Over(_) | Known::Unknown => {}
        }
    }
    let published = thread.interrupts.published_len();
    let new_work = messages.speaks() || !messages.results.is_empty();
    if open.is_empty() {
        return if new_work && published > 0 {
            Err(incomplete(published))
        } else {
            Ok(Vec::new())
        };
    }
    if !messages.users.is_empty() {
        return Err(GatewayError::new(
            Code::InvalidMessageBatch,
            "new user messages and answers to interrupts cannot share a run",
        ));
    }
    if open.len() < published {
        return Err(incomplete(published - open.len()));
    }
    let read = |(entry, ask): (&Resume<'_>, &Ask)| {
        let outcome = ask
            .answered_by(entry.status, entry.payload)
            .map_err(|problem| GatewayError::new(Code::InvalidInterruptResponse, problem))?;
        Ok(PersonAnswer {
            id: entry.interrupt_id.as_ref().into(),
            digest: key.person_answer(entry),
            outcome,
        })
    };
    open.into_iter().map(read).collect()
}

/// Whether a request brings the answer to what a call asks, or that is answered already. A Tool message for that call
/// is then a client's own note of it, and no second answer (X7).
pub(crate) fn speaks_for(thread: &Thread, request: &Request<'_>, wire_id: &str) -> bool {
    thread.interrupts.is_answered_for(wire_id)
        || request
            .resume()
            .iter()
            .any(|entry| thread.interrupts.is_about(&entry.interrupt_id, wire_id))
}

/// How many of the entries name interrupts that the thread does not know.
pub(crate) fn unknown(thread: &Thread, request: &Request<'_>) -> usize {
    let is_unknown =
        |entry: &&Resume<'_>| matches!(thread.interrupts.find(&entry.interrupt_id), Known::Unknown);
    request.resume().iter().filter(is_unknown).count()
}

fn incomplete(missing: usize) -> GatewayError {
    GatewayError::new(
        Code::IncompleteInterruptResponse,
        format!("{missing} open interrupts must be answered in the same request"),
    )
}

impl DigestKey {
    /// The digest of one answer, word for word.
    fn person_answer(self, entry: &Resume<'_>) -> Digest {
        let mut digester = self.digester();
        digester.piece(b"resume");
        digester.piece(entry.interrupt_id.as_bytes());
        digester.piece(entry.status.as_str().as_bytes());
        let payload = entry.payload.map(Json::to_compact);
        digester.optional(payload.as_deref());
        digester.finish()
    }
}
