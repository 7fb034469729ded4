//! The stable codes of the gateway and their HTTP statuses (`requirements.md`, table under G).

use serde::Serialize;

macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $code:literal, $status:literal;)+) => {
        /// A stable error code. Before a stream has begun it is an HTTP status with `{"code","message"}`;
        /// afterwards the same code ends the stream as `RUN_ERROR`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Code { $($(#[$doc])* $name,)+ }

        impl Code {
            /// The code as it stands on the wire.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $code,)+ }
            }

            /// The HTTP status that goes with it.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$name => $status,)+ }
            }

            /// The code that is spelled so on the wire.
            #[must_use]
            pub fn named(code: &str) -> Option<Self> {
                match code { $($code => Some(Self::$name),)+ _ => None }
            }

            /// Every code, for tests and documentation.
            pub const ALL: &'static [Self] = &[$(Self::$name,)+];
        }
    };
}

codes! {
    /// The body is not JSON, or not a `RunAgentInput`.
    InvalidAguiInput = "INVALID_AGUI_INPUT", 400;
    /// A tenant, user, thread, run or message id breaks the grammar or the length limit.
    InvalidIdentity = "INVALID_IDENTITY", 400;
    /// A context entry has a blank description.
    InvalidContext = "INVALID_CONTEXT", 400;
    /// The new messages do not make one kind of run.
    InvalidMessageBatch = "INVALID_MESSAGE_BATCH", 400;
    /// The new Tool results do not belong together.
    InvalidToolResultBatch = "INVALID_TOOL_RESULT_BATCH", 400;
    /// A user message has content that the gateway cannot pass on.
    UnsupportedMessageContent = "UNSUPPORTED_MESSAGE_CONTENT", 400;
    /// A Tool result's metadata is not a JSON object.
    InvalidToolResultMetadata = "INVALID_TOOL_RESULT_METADATA", 400;
    /// A browser Tool lacks what every Tool must have.
    InvalidFrontendTool = "INVALID_FRONTEND_TOOL", 400;
    /// A browser Tool's name breaks the grammar.
    InvalidFrontendToolName = "INVALID_FRONTEND_TOOL_NAME", 400;
    /// A browser Tool uses a name of the protocol's own.
    ReservedFrontendToolName = "RESERVED_FRONTEND_TOOL_NAME", 400;
    /// Two browser Tools share a name.
    DuplicateFrontendTool = "DUPLICATE_FRONTEND_TOOL", 400;
    /// A browser Tool's schema cannot be enforced.
    InvalidFrontendToolSchema = "INVALID_FRONTEND_TOOL_SCHEMA", 400;
    /// A resume entry does not fit its interrupt.
    InvalidInterruptResponse = "INVALID_INTERRUPT_RESPONSE", 400;
    /// Two resume entries answer one interrupt.
    DuplicateInterruptResponse = "DUPLICATE_INTERRUPT_RESPONSE", 400;
    /// `forwardedProps.a2uiAction` is not the middleware's envelope, or its pair of messages is missing.
    InvalidA2uiAction = "INVALID_A2UI_ACTION", 400;
    /// An upload names its file in a way that cannot be read or kept.
    InvalidFileName = "INVALID_FILE_NAME", 400;
    /// An upload announces a length that is no length.
    InvalidContentLength = "INVALID_CONTENT_LENGTH", 400;
    /// An upload brought more or fewer bytes than it announced.
    ContentLengthMismatch = "CONTENT_LENGTH_MISMATCH", 400;
    /// The bearer secret is missing or wrong.
    Unauthorized = "UNAUTHORIZED", 401;
    /// The tenant may not choose this preset.
    PresetNotAllowed = "PRESET_NOT_ALLOWED", 403;
    /// The URL of a file is not signed for this thread, or the Host's file system refuses it.
    FileForbidden = "FILE_FORBIDDEN", 403;
    /// No such route.
    NotFound = "NOT_FOUND", 404;
    /// The file is not there, or is not a regular file.
    FileNotFound = "FILE_NOT_FOUND", 404;
    /// The route takes another method.
    MethodNotAllowed = "METHOD_NOT_ALLOWED", 405;
    /// The run id was used for another request.
    RunIdConflict = "RUN_ID_CONFLICT", 409;
    /// A message id was used for other content.
    MessageIdConflict = "MESSAGE_ID_CONFLICT", 409;
    /// A Tool result answers a call that this thread does not know.
    UnknownToolResult = "UNKNOWN_TOOL_RESULT", 409;
    /// A browser Tool has the name of one that the agent already has.
    FrontendToolNameCollision = "FRONTEND_TOOL_NAME_COLLISION", 409;
    /// The agent already has a Tool of the shared state's reserved name.
    SharedStateToolCollision = "SHARED_STATE_TOOL_COLLISION", 409;
    /// The agent waits for Tool results and takes no new message.
    AgentBusy = "AGENT_BUSY", 409;
    /// An interrupt was answered that no longer waits.
    InterruptUnavailable = "INTERRUPT_UNAVAILABLE", 409;
    /// An open interrupt is not answered.
    IncompleteInterruptResponse = "INCOMPLETE_INTERRUPT_RESPONSE", 409;
    /// The thread has begun its first turn with another preset.
    PresetLocked = "PRESET_LOCKED", 409;
    /// The file was sent already, or its upload is forgotten: it has to be uploaded again.
    FileNotStaged = "FILE_NOT_STAGED", 409;
    /// The client that drove the run left.
    ClientDisconnected = "CLIENT_DISCONNECTED", 409;
    /// The thread's agent is gone, or the gateway is shutting down.
    AgentNotAvailable = "AGENT_NOT_AVAILABLE", 410;
    /// An upload does not announce its length.
    LengthRequired = "LENGTH_REQUIRED", 411;
    /// The body is not `application/json`, or an upload is not the image that it says.
    UnsupportedMediaType = "UNSUPPORTED_MEDIA_TYPE", 415;
    /// The body is larger than `maxRequestBytes`.
    RequestTooLarge = "REQUEST_TOO_LARGE", 413;
    /// More messages, or more bytes of them, than allowed.
    MessageLimitExceeded = "MESSAGE_LIMIT_EXCEEDED", 413;
    /// More context entries, or more bytes of them, than allowed.
    ContextLimitExceeded = "CONTEXT_LIMIT_EXCEEDED", 413;
    /// More browser Tools, or more bytes of them, than allowed.
    ToolLimitExceeded = "TOOL_LIMIT_EXCEEDED", 413;
    /// A browser Tool's schema is nested deeper than allowed.
    ToolSchemaTooDeep = "TOOL_SCHEMA_TOO_DEEP", 413;
    /// `forwardedProps` is larger than allowed.
    ForwardedPropsLimitExceeded = "FORWARDED_PROPS_LIMIT_EXCEEDED", 413;
    /// `state` is larger than allowed.
    StateLimitExceeded = "STATE_LIMIT_EXCEEDED", 413;
    /// A file is larger than `maxFileBytes`.
    FileTooLarge = "FILE_TOO_LARGE", 413;
    /// `maxThreads` threads are live.
    ThreadLimitReached = "THREAD_LIMIT_REACHED", 429;
    /// `maxRunsPerThread` requests already wait for this thread.
    RunQueueFull = "RUN_QUEUE_FULL", 429;
    /// Every entry of the thread's run ledger is active.
    RunLedgerFull = "RUN_LEDGER_FULL", 429;
    /// More requests to people than `maxPendingInterrupts`.
    InterruptLimitExceeded = "INTERRUPT_LIMIT_EXCEEDED", 429;
    /// The Host failed. The message tells no internals.
    AgentExecutionError = "AGENT_EXECUTION_ERROR", 500;
    /// The Host lacks the service that this feature needs.
    HostServiceMissing = "HOST_SERVICE_MISSING", 501;
    /// The turn was interrupted by a restart; in streams only.
    ThreadInterrupted = "THREAD_INTERRUPTED", 409;
    /// The turn was cancelled; in streams only.
    AgentAborted = "AGENT_ABORTED", 409;
    /// A policy of the Host refused the turn; in streams only.
    AgentBlocked = "AGENT_BLOCKED", 409;
    /// The turn ended as interrupted; in streams only.
    AgentInterrupted = "AGENT_INTERRUPTED", 409;
    /// The run's retained record is full; in streams only.
    EventBufferOverflow = "AG_UI_EVENT_BUFFER_OVERFLOW", 413;
    /// The Host refused the run's Tool set; in streams only.
    FrontendToolSyncFailed = "FRONTEND_TOOL_SYNC_FAILED", 500;
}

/// An error that a client sees. The message is written for it and holds no internals and no content.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {message}", .code.as_str())]
pub struct GatewayError {
    /// The stable code.
    pub code: Code,
    /// A sentence for people.
    pub message: String,
}

impl GatewayError {
    /// An error with its message.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }

    /// The JSON body of the HTTP answer: `{"code","message"}`.
    #[must_use]
    pub fn body(&self) -> String {
        #[derive(Serialize)]
        struct Body<'a> {
            code: &'a str,
            message: &'a str,
        }
        let body = Body {
            code: self.code.as_str(),
            message: &self.message,
        };
        serde_json::to_string(&body).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_their_statuses_are_errors() {
        let mut seen: Vec<_> = Code::ALL.iter().map(|code| code.as_str()).collect();
        seen.sort_unstable();
        let count = seen.len();
        seen.dedup();
        assert_eq!(seen.len(), count);
        assert!(
            Code::ALL
                .iter()
                .all(|code| (400..600).contains(&code.status()))
        );
    }

    #[test]
    fn the_body_is_json_with_code_and_message() {
        let error = GatewayError::new(Code::RunIdConflict, "say \"what\"");
        assert_eq!(
            error.body(),
            r#"{"code":"RUN_ID_CONFLICT","message":"say \"what\""}"#
        );
    }
}
