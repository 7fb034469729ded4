//! What the machine asks the world to do. The driver carries effects out in order.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::ids::{ErrandId, ThreadId, Token};
use super::interrupts::PersonOutcome;

/// One effect. As JSON it is `{"type": ..., ...}` with camelCase members.
#[derive(Debug, Serialize)]
#[serde(
    tag = "type",
    rename_all = "camelCase",
    rename_all_fields = "camelCase"
)]
#[non_exhaustive]
pub enum Effect {
    /// Resume or create the thread's agent, then call `Gateway::handle_opened` or `Gateway::handle_open_failed`.
    Open {
        /// The thread.
        thread: ThreadId,
        /// Its durable session id, also the name of its workspace directory.
        session_id: String,
        /// Whose it is.
        tenant_id: String,
        /// Whose it is.
        user_id: String,
        /// The client's thread id.
        thread_id: String,
        /// Whether a new session may begin; where it may not and there is none, `Gateway::handle_unknown` is called.
        mode: OpenMode,
    },
    /// Dispose the agent, then call `Gateway::handle_closed`.
    Close {
        /// The thread.
        thread: ThreadId,
    },
    /// Replace the browser's Tool set, then call `Gateway::handle_tools_synced`.
    SyncTools {
        /// The thread.
        thread: ThreadId,
        /// Names to take back, before anything is registered.
        unregister: Vec<String>,
        /// Tools to register.
        register: Vec<ToolEffect>,
    },
    /// Look after what a run needs before it can be admitted, then call `Gateway::handle_prepared`.
    Prepare {
        /// The thread.
        thread: ThreadId,
        /// The preset to compose the blank session from.
        #[serde(skip_serializing_if = "Option::is_none")]
        preset: Option<String>,
        /// Files that must still be stored, and staged where they have receipts.
        files: Vec<SentFile>,
    },
    /// Queue messages for the agent; where it does not take one for a file of it, call `Gateway::handle_undelivered`.
    Deliver {
        /// The thread.
        thread: ThreadId,
        /// In order.
        messages: Vec<HostMessage>,
        /// Whether the last one opens a turn of its own.
        wake: bool,
    },
    /// Cancel the running turn and drop what is queued.
    Cancel {
        /// The thread.
        thread: ThreadId,
    },
    /// Stage an upload with the thread's agent, then call `Gateway::handle_errand_over`.
    Upload {
        /// The upload.
        errand: ErrandId,
        /// The thread.
        thread: ThreadId,
    },
    /// Read a declared file through the agent's own file system, then call `Gateway::handle_errand_over`.
    ReadDeliverable {
        /// The download.
        errand: ErrandId,
        /// The thread.
        thread: ThreadId,
        /// The declared path.
        path: String,
        /// Largest file to read.
        max_bytes: u64,
        /// Value of `content-disposition`.
        disposition: String,
    },
    /// Break an errand off, and answer its client if that has no answer yet. The machine knows it no more.
    RefuseErrand {
        /// The errand.
        errand: ErrandId,
        /// HTTP status.
        status: u16,
        /// `{"code","message"}` as JSON.
        body: String,
    },
    /// Write the thread's log, then call `Gateway::handle_flushed`, also where the Host cannot.
    Flush {
        /// The thread.
        thread: ThreadId,
        /// How many records the agent had reported; given back as it is.
        records: u64,
    },
    /// Note in the thread's log that a client is told of the interruption that it ends with.
    NoteInterruption {
        /// The thread.
        thread: ThreadId,
    },
    /// Settle a Tool body that waits.
    Settle {
        /// The body.
        token: Token,
        /// How.
        outcome: CallOutcome,
    },
    /// End a request to a person.
    Answer {
        /// The request.
        token: Token,
        /// How.
        outcome: PersonOutcome,
    },
    /// Note in the log that a client answered interrupts that its thread does not know.
    UnknownInterrupts {
        /// The thread.
        thread: ThreadId,
        /// How many.
        count: usize,
    },
}

/// A Tool to register in the agent's own scope.
#[derive(Debug, Serialize)]
pub struct ToolEffect {
    /// Name.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// JSON Schema of the arguments.
    pub parameters: Box<RawValue>,
    /// Whether calls of one step may run at the same time.
    pub concurrent: bool,
}

/// A user-role message for the agent.
#[derive(Debug, Clone, Serialize)]
pub struct HostMessage {
    /// Kept through inbox, log and requests; the Host mints one when absent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Its blocks, in order.
    pub content: Vec<ContentBlock>,
    /// Uploads that it uses up.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub receipts: Vec<String>,
    /// Where it comes from.
    pub source: MessageSource,
}

/// A block of a message's content.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub enum ContentBlock {
    /// Text.
    Text {
        /// The text.
        text: String,
    },
    /// An image of the Host's store.
    Image {
        /// The Host's own reference.
        attachment: Box<RawValue>,
    },
    /// A file of any type.
    File {
        /// The Host's own reference.
        attachment: Box<RawValue>,
    },
}

/// Provenance of a message.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum MessageSource {
    /// The person's own words.
    User {
        /// The AG-UI parts that were accepted, where the blocks do not say all of them: JSON text, because a value would
        /// not come back from the log letter for letter.
        #[serde(rename = "agUiContent", skip_serializing_if = "Option::is_none")]
        ag_ui_content: Option<String>,
    },
    /// Context that this gateway injects (spec: gateway, 注入的 AG-UI context).
    AgUi {
        /// Always `snapshot`: it replaces what was said before.
        form: &'static str,
        /// Titles of its sections.
        sections: Vec<String>,
    },
}

/// How a Tool body settles.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum CallOutcome {
    /// With a result.
    Resolved {
        /// What the model sees.
        text: String,
        /// Presentation metadata, durable beside the result.
        #[serde(skip_serializing_if = "Option::is_none")]
        meta: Option<serde_json::Map<String, serde_json::Value>>,
    },
    /// With an error.
    Rejected {
        /// What the model sees behind `Error: `.
        message: String,
    },
}

/// What becomes of a Tool body that has just begun.
#[derive(Debug, Clone)]
pub enum CallDecision {
    /// It waits for [`Effect::Settle`].
    Park,
    /// It is done.
    Settle(CallOutcome),
}

/// How an agent is to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum OpenMode {
    /// As it was stored, or a new one.
    ResumeOrCreate,
    /// As it was stored, or not at all.
    Resume,
}

/// How the Host keeps a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    /// In its image store.
    Image,
    /// As a file of any type.
    File,
}

impl FileKind {
    /// The name of the content block that carries it, and of the kind in the bindings.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::File => "file",
        }
    }
}

/// A file that a message carries.
#[derive(Debug, Clone, serde::Serialize)]
pub struct SentFile {
    /// Where the Host keeps it.
    pub kind: FileKind,
    /// The Host's own reference.
    pub reference: Box<RawValue>,
    /// Names its upload, where the Host keeps that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receipt: Option<String>,
}

impl Serialize for ThreadId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

impl Serialize for ErrandId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}

impl Serialize for Token {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(self.0)
    }
}
