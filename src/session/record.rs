//! Durable records: `{type, seq, data, card?}` as JSON text, parsed into what the projection reads.
//!
//! The three generations of DSH log the same facts in slightly different shapes; the differences end here.

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::content::{Block, flatten_result, text_of, texts_of};
use super::error::RecordError;
use super::presented::Presented;
use crate::agui::surrogate::replace_lone_surrogates;

/// One durable event with the card that the executing scope's presenter gave for it.
#[derive(Debug)]
pub struct Record {
    /// Position in the session log.
    pub seq: u64,
    /// What happened.
    pub event: SessionEvent,
}

/// A Tool's presentation of one call or result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Card {
    /// The Tool is not known in the executing scope: nothing is shown beyond the standard events.
    Unknown,
    /// The Tool is known and has no view of its own, or its presenter failed: a generic card.
    Generic,
    /// The presenter's view, as JSON text.
    View(Box<str>),
}

/// Durable events that the projection reads. Everything else is [`SessionEvent::Other`].
#[derive(Debug)]
pub enum SessionEvent {
    /// A turn began.
    TurnStart {
        /// Turn number, counted from 1 over the whole session.
        turn: u64,
    },
    /// A turn ended.
    TurnEnd {
        /// Turn number.
        turn: u64,
        /// Why it ended.
        reason: TurnEnd,
    },
    /// A user-role message entered the conversation.
    UserMessage(UserMessage),
    /// A model attempt was committed.
    AssistantMessage(AssistantMessage),
    /// A model attempt was abandoned after it had produced something (generations B and C).
    AssistantAttempt,
    /// A Tool call was dispatched.
    ToolCall(ToolCall),
    /// A Tool call has its result.
    ToolResult(ToolResult),
    /// Files were declared as deliverables.
    Presented(Presented),
    /// The blank session got another composition.
    PresetSelected {
        /// Id of the preset.
        preset: String,
    },
    /// A client was told that a restart broke the last turn off.
    InterruptionTold,
    /// Nothing that the projection reads.
    Other,
}

/// Why a turn ended (`turn/end.reason`).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TurnEnd {
    /// The model stopped by itself.
    Completed,
    /// The model reached its output limit.
    MaxTokens,
    /// Somebody cancelled it.
    Aborted,
    /// A policy refused to let it run.
    Blocked,
    /// The process died inside it; found on resume.
    Interrupted,
    /// The provider failed.
    Failed {
        /// The provider's stable code.
        code: String,
        /// The provider's message for people.
        message: String,
    },
    /// A reason that no generation known here uses.
    Unknown,
}

/// A user-role message and where it comes from.
#[derive(Debug)]
pub struct UserMessage {
    /// Message id.
    pub id: String,
    /// `source.kind`: `user` for the person's own words.
    pub source_kind: String,
    /// `source.form`: what kind of context a message of the gateway's own is.
    pub source_form: Option<String>,
    /// The text parts in order. Parts of other kinds are left out.
    pub texts: Vec<String>,
    /// The AG-UI parts that were accepted, where the gateway has put them beside the content: JSON text.
    pub parts: Option<String>,
}

/// A committed model message.
#[derive(Debug)]
pub struct AssistantMessage {
    /// Turn number.
    pub turn: u64,
    /// Step in the turn, counted from 1.
    pub step: u64,
    /// All text blocks, concatenated.
    pub text: String,
    /// Tool calls in model order.
    pub calls: Vec<ToolCallBlock>,
}

/// A Tool call inside a model message.
#[derive(Debug, Clone)]
pub struct ToolCallBlock {
    /// Provider-issued id; unique within a step only.
    pub id: String,
    /// Tool name.
    pub name: String,
    /// Arguments as the model wrote them: JSON, or broken JSON.
    pub arguments: String,
}

/// A dispatched call.
#[derive(Debug)]
pub struct ToolCall {
    /// Turn number.
    pub turn: u64,
    /// Step in the turn.
    pub step: u64,
    /// Provider-issued id.
    pub call_id: String,
    /// Tool name.
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
    /// The pending view.
    pub card: Card,
}

/// A settled call.
#[derive(Debug)]
pub struct ToolResult {
    /// Turn number.
    pub turn: u64,
    /// Step in the turn.
    pub step: u64,
    /// Provider-issued id.
    pub call_id: String,
    /// The result as text (spec: gateway, 已知限制: images and files become placeholders).
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// Presentation metadata.
    pub meta: Option<Map<String, Value>>,
    /// The completed view.
    pub card: Card,
}

/// Parses one record.
///
/// # Errors
/// When the text is not a record, or its data lacks what its type must have.
pub fn parse_record(json: &str) -> Result<Record, RecordError> {
    // A Tool that cuts its output in the middle of a character leaves half a surrogate pair in the log.
    let json = replace_lone_surrogates(json.as_bytes());
    let envelope: Envelope<'_> = serde_json::from_slice(&json)?;
    envelope.into_record()
}

/// Parses a JSON array of records, oldest first. A record that cannot be read is left out, as it was when it was
/// reported live: one strange event must not end a thread.
///
/// # Errors
/// When the text is not an array.
pub fn parse_history(json: &str) -> Result<Vec<Record>, RecordError> {
    let records: Vec<&RawValue> = serde_json::from_str(json)?;
    Ok(records
        .into_iter()
        .filter_map(|record| parse_record(record.get()).ok())
        .collect())
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(rename = "type")]
    kind: &'a str,
    seq: u64,
    #[serde(borrow)]
    data: &'a RawValue,
    // `null` is a value of its own here, so `Option` must not swallow it.
    #[serde(borrow, default, deserialize_with = "present")]
    card: Option<&'a RawValue>,
}

fn present<'de, D: serde::Deserializer<'de>>(d: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(d).map(Some)
}

impl Envelope<'_> {
    fn card(&self) -> Card {
        match self.card.map(RawValue::get) {
            None => Card::Unknown,
            Some("null") => Card::Generic,
            Some(view) => Card::View(view.into()),
        }
    }

    fn into_record(self) -> Result<Record, RecordError> {
        let data = self.data.get();
        let event = match self.kind {
            "turn/start" => {
                let TurnData { turn } = serde_json::from_str(data)?;
                SessionEvent::TurnStart { turn }
            }
            "turn/end" => {
                let TurnEndData { turn, reason } = serde_json::from_str(data)?;
                SessionEvent::TurnEnd {
                    turn,
                    reason: reason.into(),
                }
            }
            "user/message" => {
                let message: UserMessageData = serde_json::from_str(data)?;
                SessionEvent::UserMessage(UserMessage {
                    id: message.id,
                    source_kind: message.source.kind,
                    source_form: message.source.form,
                    parts: match message.source.ag_ui_content {
                        Some(Value::String(parts)) => Some(parts),
                        _ => None,
                    },
                    texts: texts_of(message.content),
                })
            }
            "assistant/message" => SessionEvent::AssistantMessage(
                serde_json::from_str::<AssistantData>(data)?.into_message(),
            ),
            "assistant/attempt" => SessionEvent::AssistantAttempt,
            "tool/call" => {
                let call: ToolCallData = serde_json::from_str(data)?;
                SessionEvent::ToolCall(ToolCall {
                    turn: call.turn,
                    step: call.step,
                    call_id: call.call_id,
                    name: call.name,
                    arguments: call.arguments,
                    card: self.card(),
                })
            }
            "tool/result" => {
                let result: ToolResultData = serde_json::from_str(data)?;
                SessionEvent::ToolResult(result.into_result(self.card()))
            }
            "agent-preset/selected" => {
                let PresetData { preset } = serde_json::from_str(data)?;
                SessionEvent::PresetSelected { preset }
            }
            "deliverables/presented" => SessionEvent::Presented(Presented::read(self.seq, data)?),
            "agent/inbox/spliced" => {
                let splice: SpliceData = serde_json::from_str(data)?;
                if splice.inserted.iter().any(QueuedData::tells_interruption) {
                    SessionEvent::InterruptionTold
                } else {
                    SessionEvent::Other
                }
            }
            _ => SessionEvent::Other,
        };
        Ok(Record {
            seq: self.seq,
            event,
        })
    }
}

#[derive(Deserialize)]
struct TurnData {
    turn: u64,
}

#[derive(Deserialize)]
struct TurnEndData {
    turn: u64,
    reason: ReasonData,
}

#[derive(Deserialize)]
struct ReasonData {
    kind: String,
    error: Option<FailureData>,
}

#[derive(Deserialize)]
struct FailureData {
    #[serde(default)]
    code: String,
    #[serde(default)]
    message: String,
}

impl From<ReasonData> for TurnEnd {
    fn from(reason: ReasonData) -> Self {
        match (reason.kind.as_str(), reason.error) {
            ("completed", _) => Self::Completed,
            ("max-tokens", _) => Self::MaxTokens,
            ("aborted", _) => Self::Aborted,
            ("blocked", _) => Self::Blocked,
            ("interrupted", _) => Self::Interrupted,
            ("error", Some(error)) => Self::Failed {
                code: error.code,
                message: error.message,
            },
            _ => Self::Unknown,
        }
    }
}

#[derive(Deserialize)]
struct SpliceData {
    inserted: Vec<QueuedData>,
}

#[derive(Deserialize)]
struct QueuedData {
    source: NoteData,
}

#[derive(Deserialize)]
struct NoteData {
    kind: String,
    form: Option<String>,
}

impl QueuedData {
    /// The note that a Host's adapter leaves where a client is told: DSH lets nobody log types of their own, so it is
    /// a message that is queued and taken back at once.
    fn tells_interruption(&self) -> bool {
        self.source.kind == "ag-ui" && self.source.form.as_deref() == Some("interruption-told")
    }
}

#[derive(Deserialize)]
struct SourceData {
    kind: String,
    form: Option<String>,
    #[serde(rename = "agUiContent")]
    ag_ui_content: Option<Value>,
}

#[derive(Deserialize)]
struct PresetData {
    #[serde(rename = "agentPreset")]
    preset: String,
}

#[derive(Deserialize)]
struct UserMessageData {
    id: String,
    source: SourceData,
    content: Vec<Block>,
}

#[derive(Deserialize)]
struct AssistantData {
    turn: u64,
    step: u64,
    message: ContentData,
}

#[derive(Deserialize)]
struct ContentData {
    content: Vec<Block>,
}

impl AssistantData {
    fn into_message(self) -> AssistantMessage {
        let text = text_of(&self.message.content);
        let calls = self
            .message
            .content
            .into_iter()
            .filter(|block| block.kind == "tool-call")
            .filter_map(|block| {
                Some(ToolCallBlock {
                    id: block.id?,
                    name: block.name?,
                    arguments: block.arguments.unwrap_or_default(),
                })
            })
            .collect();
        AssistantMessage {
            turn: self.turn,
            step: self.step,
            text,
            calls,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ToolCallData {
    turn: u64,
    step: u64,
    call_id: String,
    name: String,
    #[serde(default)]
    arguments: String,
}

#[derive(Deserialize)]
struct ToolResultData {
    turn: u64,
    step: u64,
    message: ResultMessageData,
    meta: Option<Value>,
}

#[derive(Deserialize)]
struct ResultMessageData {
    role: String,
    source: ResultSourceData,
    content: Vec<Block>,
    #[serde(rename = "isError")]
    is_error: Option<bool>,
}

#[derive(Deserialize)]
struct ResultSourceData {
    #[serde(rename = "callId")]
    call_id: String,
}

impl ToolResultData {
    /// A and B nest one `tool-result` block in a user message; C logs a flat message of role `tool`.
    fn into_result(self, card: Card) -> ToolResult {
        let ResultMessageData {
            role,
            source,
            content,
            is_error,
        } = self.message;
        let (content, is_error) = if role == "tool" {
            (content, is_error)
        } else {
            content
                .into_iter()
                .find(|block| block.kind == "tool-result")
                .map_or((Vec::new(), None), |block| {
                    (block.content.unwrap_or_default(), block.is_error)
                })
        };
        ToolResult {
            turn: self.turn,
            step: self.step,
            call_id: source.call_id,
            text: flatten_result(&content),
            is_error: is_error.unwrap_or(false),
            meta: match self.meta {
                Some(Value::Object(meta)) => Some(meta),
                _ => None,
            },
            card,
        }
    }
}

#[cfg(test)]
mod tests;
