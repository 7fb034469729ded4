//! Names of the rules that a stream can break.

use std::fmt;

macro_rules! rules {
    ($($(#[$doc:meta])* $variant:ident = $name:literal,)*) => {
        /// A rule about streams. The names are stable.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum Rule { $($(#[$doc])* $variant,)* }

        impl Rule {
            /// Every rule.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)*];

            /// The name, lower case with hyphens.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)* }
            }
        }
    };
}

rules! {
    /// The event breaks the 0.0.59 schema.
    InvalidEvent = "invalid-event",
    /// The first event is neither `RUN_STARTED` nor `RUN_ERROR`.
    FirstEvent = "first-event",
    /// `RUN_STARTED` while a run is active.
    RunActive = "run-active",
    /// Anything but `RUN_STARTED` and `RUN_ERROR` after `RUN_FINISHED`.
    AfterRunFinished = "after-run-finished",
    /// Anything but `RUN_STARTED` after `RUN_ERROR`.
    AfterRunError = "after-run-error",
    /// The stream ends while a run is active, or before any. Stricter than the client, which takes it for
    /// success.
    MissingTerminal = "missing-terminal",
    /// `TEXT_MESSAGE_START` of an open message.
    MessageOpen = "message-open",
    /// Content or end of a text message that is not open.
    MessageNotOpen = "message-not-open",
    /// `TOOL_CALL_START` of an open call.
    ToolCallOpen = "tool-call-open",
    /// Arguments or end of a call that is not open.
    ToolCallNotOpen = "tool-call-not-open",
    /// `STEP_STARTED` of an open step of the same owner.
    StepOpen = "step-open",
    /// `STEP_FINISHED` of a step that this owner has not open.
    StepNotOpen = "step-not-open",
    /// `RUN_FINISHED` with open steps.
    UnfinishedSteps = "unfinished-steps",
    /// `RUN_FINISHED` with open text messages.
    UnfinishedMessages = "unfinished-messages",
    /// `RUN_FINISHED` with open Tool calls.
    UnfinishedToolCalls = "unfinished-tool-calls",
    /// `RUN_FINISHED` with active subagents.
    UnfinishedSubagents = "unfinished-subagents",
    /// `SUBAGENT_STARTED` of an active subagent.
    SubagentActive = "subagent-active",
    /// `SUBAGENT_STARTED` of a subagent that has ended in this run.
    SubagentReused = "subagent-reused",
    /// `SUBAGENT_FINISHED` or `SUBAGENT_ERROR` of a subagent that is not active.
    SubagentNotActive = "subagent-not-active",
    /// `SUBAGENT_STARTED` under a parent that was never started.
    UnknownParentSubagent = "unknown-parent-subagent",
    /// `subagentRunId` differs from that of the event that opened the message, call, activity or reasoning.
    SubagentMismatch = "subagent-mismatch",
    /// A chunk that begins something without its id (or Tool name).
    IncompleteChunk = "incomplete-chunk",
    /// A chunk without id and subagent, while several subagents have something of its kind open.
    AmbiguousChunk = "ambiguous-chunk",
    /// A deprecated `THINKING_*` event out of order.
    ThinkingOrder = "thinking-order",
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
