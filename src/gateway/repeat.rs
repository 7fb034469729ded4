//! Run ids that come again (spec: gateway, HTTP 与 run 语义; `ag-ui.md` §4.4; G8, X7).
//!
//! A run id with the same request is answered from its record. CopilotKit also answers an interrupt under the run id of
//! the run that it ended, and keeps that id for the runs that follow: such a request is a new run under the old id. An id
//! that comes with another request otherwise is a conflict.

use super::Gateway;
use super::digest::Digest;
use super::error::{Code, GatewayError};
use super::ids::{RunKey, ThreadId};
use super::request::Request;
use super::run::{Left, Naming};
use crate::agui::Message;

/// What a run id means for a request.
pub(super) enum Named {
    /// The request is known: this is its run.
    Known(RunKey),
    /// A run to be made.
    New(Naming),
}

impl Gateway {
    /// Looks a request's run id up.
    ///
    /// # Errors
    /// When the id was used for another request.
    pub(super) fn named(
        &self,
        thread: ThreadId,
        request: &Request<'_>,
        digest: Digest,
    ) -> Result<Named, GatewayError> {
        let of_id = self.runs_of_id(thread, &request.input.run_id);
        if let Some(run) = of_id.iter().find(|run| self.runs[run].digest == digest) {
            return Ok(Named::Known(*run));
        }
        match of_id.last() {
            None => Ok(Named::New(Naming::Fresh)),
            Some(last) if self.continues(thread, *last, request) => {
                Ok(Named::New(Naming::Repeated))
            }
            Some(_) => Err(GatewayError::new(
                Code::RunIdConflict,
                "the run id was used for another request",
            )),
        }
    }

    /// The runs of that id that a thread retains or has waiting, oldest first.
    pub(super) fn runs_of_id(&self, thread: ThreadId, run_id: &str) -> Vec<RunKey> {
        let Some(thread) = self.threads.get(&thread) else {
            return Vec::new();
        };
        // The one that drives may be in neither yet, while the Host prepares it.
        let preparing = thread
            .driver
            .as_ref()
            .filter(|run| !thread.ledger.contains(run));
        let known = thread.ledger.iter().chain(preparing).chain(&thread.queue);
        known
            .copied()
            .filter(|run| *self.runs[run].run_id == *run_id)
            .collect()
    }

    /// Whether a request goes on where the run of the same id left its turn waiting.
    fn continues(&self, thread: ThreadId, last: RunKey, request: &Request<'_>) -> bool {
        let run = &self.runs[&last];
        let waits = match run.left {
            Left::Nothing => false,
            Left::People => true,
            Left::Browser => run.naming == Naming::Repeated,
        };
        let answers_call = |message: &Message<'_>| match (message, self.threads.get(&thread)) {
            (Message::Tool(tool), Some(thread)) => thread.calls.is_owed(&tool.tool_call_id),
            _ => false,
        };
        waits && (!request.resume().is_empty() || request.input.messages.iter().any(answers_call))
    }
}
