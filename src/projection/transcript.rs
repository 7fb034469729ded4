//! The history of a thread, from its durable log (spec: gateway, 投影; G10, G13).
//!
//! Every record updates it once; messages are kept as encoded JSON, so a snapshot joins them and derives nothing (X6).
//! A cold resume feeds the log through the very same code, so live and cold cannot differ.

use std::collections::HashMap;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::cards::Cards;
use crate::session::{AssistantMessage, SessionEvent, ToolCall, ToolResult, UserMessage};
use crate::tools::STATE_TOOL;

/// Key of presentation metadata under which an accepted browser result keeps its AG-UI identity
/// (spec: gateway, HTTP 与 run 语义).
const FRONTEND_RESULT_KEY: &str = "@dsh-ag-ui/frontend-result-id";

/// Id of a result whose message nobody named: this and the call's wire id.
const RESULT_PREFIX: &str = "result-";

/// Encoded messages beyond this many bytes are not merged into larger pieces.
const PIECE_BYTES: usize = 64 * 1024;

/// The projected history of one session.
#[derive(Debug)]
pub struct Transcript {
    /// Prefix of the ids that this projection makes.
    prefix: String,
    /// Encoded messages, comma-separated; shared with the snapshots of every run.
    pieces: Vec<Arc<str>>,
    tail: String,
    /// Every call of the session, by wire id.
    calls: HashMap<String, Call>,
    /// Wire ids of the step under way, by the provider's id.
    step_calls: HashMap<String, String>,
    cards: Cards,
}

#[derive(Debug)]
struct Call {
    name: String,
    settled: bool,
}

/// What one record changed, for the run that shows it live.
#[derive(Debug)]
pub enum Change {
    /// A person's message entered the conversation.
    User {
        /// Message id.
        id: String,
        /// Its text parts.
        texts: Vec<String>,
    },
    /// A model message was committed.
    Assistant(AssistantView),
    /// A call was dispatched.
    CallStarted(StartedView),
    /// A call has its result.
    CallSettled(SettledView),
    /// Nothing to show.
    Nothing,
}

/// A committed model message.
#[derive(Debug)]
pub struct AssistantView {
    /// Message id, as streamed.
    pub id: String,
    /// All of its text.
    pub text: String,
    /// All of its calls, hidden ones included.
    pub calls: Vec<CallView>,
}

/// A call of a committed model message.
#[derive(Debug, Clone)]
pub struct CallView {
    /// The provider's id.
    pub call_id: String,
    /// The id on the wire.
    pub wire_id: String,
    /// Tool name.
    pub name: String,
    /// Arguments as the model wrote them.
    pub arguments: String,
}

/// A dispatched call.
#[derive(Debug)]
pub struct StartedView {
    /// The provider's id.
    pub call_id: String,
    /// The id on the wire.
    pub wire_id: String,
    /// Its card event.
    pub card: Option<Arc<str>>,
}

/// A settled call.
#[derive(Debug)]
pub struct SettledView {
    /// The provider's id.
    pub call_id: String,
    /// The id on the wire.
    pub wire_id: String,
    /// Id of the Tool message.
    pub message_id: String,
    /// The result as text.
    pub text: String,
    /// Whether the call failed.
    pub is_error: bool,
    /// Whether it belongs to shared state and is not shown.
    pub hidden: bool,
    /// What the browser's own message said, where it was one.
    pub frontend: Option<FrontendResult>,
    /// Its card event.
    pub card: Option<Arc<str>>,
}

/// What the machine knows of the browser's side of the calls.
pub trait BrowserSide {
    /// Whether a Tool name is the browser's own.
    fn is_frontend(&self, name: &str) -> bool;
    /// The browser's own message for a call, by wire id.
    fn answer_of(&self, wire_id: &str) -> Option<&FrontendResult>;
}

/// The AG-UI identity of a browser's Tool result, durable in presentation metadata.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontendResult {
    /// Message id.
    pub id: String,
    /// `encryptedValue` of the message.
    pub encrypted_value: Option<String>,
    /// `subagentRunId` of the message.
    pub subagent_run_id: Option<String>,
    /// `metadata` of the message; an empty object differs from none.
    pub metadata: Option<Map<String, Value>>,
}

/// Presentation metadata that keeps `result` durable beside its call.
#[must_use]
pub fn frontend_result_meta(result: &FrontendResult) -> Map<String, Value> {
    let mut own = Map::new();
    own.insert("id".into(), result.id.clone().into());
    if let Some(value) = &result.encrypted_value {
        own.insert("encryptedValue".into(), value.clone().into());
    }
    if let Some(value) = &result.subagent_run_id {
        own.insert("subagentRunId".into(), value.clone().into());
    }
    own.insert("metadata".into(), result.metadata.is_some().into());
    let mut meta = result.metadata.clone().unwrap_or_default();
    meta.insert(FRONTEND_RESULT_KEY.into(), Value::Object(own));
    meta
}

fn frontend_result_of(meta: Option<Map<String, Value>>) -> Option<FrontendResult> {
    let mut meta = meta?;
    let Value::Object(own) = meta.remove(FRONTEND_RESULT_KEY)? else {
        return None;
    };
    let text = |key: &str| own.get(key).and_then(Value::as_str).map(ToOwned::to_owned);
    Some(FrontendResult {
        id: text("id")?,
        encrypted_value: text("encryptedValue"),
        subagent_run_id: text("subagentRunId"),
        metadata: (own.get("metadata") == Some(&Value::Bool(true))).then_some(meta),
    })
}

#[derive(Serialize)]
struct WireUser<'a> {
    id: &'a str,
    role: &'static str,
    content: WireContent<'a>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum WireContent<'a> {
    Text(&'a str),
    Parts(Vec<WirePart<'a>>),
}

#[derive(Serialize)]
struct WirePart<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    text: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireAssistant<'a> {
    id: &'a str,
    role: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    content: &'a str,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    tool_calls: Vec<WireCall<'a>>,
}

#[derive(Serialize)]
struct WireCall<'a> {
    id: &'a str,
    #[serde(rename = "type")]
    kind: &'static str,
    function: WireFunction<'a>,
}

#[derive(Serialize)]
struct WireFunction<'a> {
    name: &'a str,
    arguments: &'a str,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WireTool<'a> {
    id: &'a str,
    role: &'static str,
    content: &'a str,
    tool_call_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    encrypted_value: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    subagent_run_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a Map<String, Value>>,
}

/// The encoded AG-UI user message.
#[must_use]
pub(crate) fn encode_user(id: &str, texts: &[String]) -> String {
    let content = match texts {
        [text] => WireContent::Text(text),
        texts => WireContent::Parts(
            texts
                .iter()
                .map(|text| WirePart { kind: "text", text })
                .collect(),
        ),
    };
    encode(&WireUser {
        id,
        role: "user",
        content,
    })
}

/// The encoded AG-UI Tool message of a browser's result.
#[must_use]
pub(crate) fn encode_result(result: &FrontendResult, wire_call: &str, text: &str) -> String {
    encode(&WireTool {
        id: &result.id,
        role: "tool",
        content: text,
        tool_call_id: wire_call,
        encrypted_value: result.encrypted_value.as_deref(),
        subagent_run_id: result.subagent_run_id.as_deref(),
        metadata: result.metadata.as_ref(),
    })
}

fn encode(message: &impl Serialize) -> String {
    serde_json::to_string(message).unwrap_or_default()
}

impl Transcript {
    /// An empty history of the session named `session_id`.
    #[must_use]
    pub fn new(session_id: &str) -> Self {
        let tail = session_id.rsplit('-').next().unwrap_or_default();
        Self {
            prefix: tail.chars().take(12).collect(),
            pieces: Vec::new(),
            tail: String::new(),
            calls: HashMap::new(),
            step_calls: HashMap::new(),
            cards: Cards::default(),
        }
    }

    /// The id of the model message of one step.
    #[must_use]
    pub fn assistant_id(&self, turn: u64, step: u64) -> String {
        format!("{}-{turn}-{step}", self.prefix)
    }

    /// The wire id of a call that the step under way makes. Providers may repeat an id in another turn; on the wire
    /// an id names one call of the thread for ever.
    #[must_use]
    pub fn wire_call_id(&self, turn: u64, step: u64, call_id: &str) -> String {
        if self.calls.contains_key(call_id) {
            format!("{call_id}~{turn}.{step}")
        } else {
            call_id.into()
        }
    }

    /// The Tool's name and whether the call has its result, for a call known by its wire id.
    #[must_use]
    pub fn call(&self, wire_id: &str) -> Option<(&str, bool)> {
        let call = self.calls.get(wire_id)?;
        Some((&call.name, call.settled))
    }

    /// Whether `message_id` is the id that this projection gives to the result of a call without a browser's answer.
    #[must_use]
    pub fn is_server_result(&self, message_id: &str, wire_id: &str) -> bool {
        message_id.strip_prefix(RESULT_PREFIX) == Some(wire_id) && self.call(wire_id).is_some()
    }

    /// The cards of the session.
    #[must_use]
    pub fn cards(&self) -> &Cards {
        &self.cards
    }

    /// Reads one durable event.
    pub fn apply(&mut self, event: SessionEvent, browser: &impl BrowserSide) -> Change {
        match event {
            SessionEvent::UserMessage(message) => self.user(message),
            SessionEvent::AssistantMessage(message) => Change::Assistant(self.assistant(message)),
            SessionEvent::ToolCall(call) => self.call_started(call, browser),
            SessionEvent::ToolResult(result) => self.call_settled(result, browser),
            SessionEvent::TurnStart { .. }
            | SessionEvent::TurnEnd { .. }
            | SessionEvent::AssistantAttempt
            | SessionEvent::Other => Change::Nothing,
        }
    }

    fn user(&mut self, message: UserMessage) -> Change {
        // Injected context carries a kind of its producer's; only the person's own words are conversation.
        if message.source_kind != "user" {
            return Change::Nothing;
        }
        self.push(&encode_user(&message.id, &message.texts));
        Change::User {
            id: message.id,
            texts: message.texts,
        }
    }

    fn assistant(&mut self, message: AssistantMessage) -> AssistantView {
        let id = self.assistant_id(message.turn, message.step);
        self.step_calls.clear();
        let calls: Vec<CallView> = message
            .calls
            .into_iter()
            .map(|block| {
                let wire_id = self.wire_call_id(message.turn, message.step, &block.id);
                self.calls.insert(
                    wire_id.clone(),
                    Call {
                        name: block.name.clone(),
                        settled: false,
                    },
                );
                self.step_calls.insert(block.id.clone(), wire_id.clone());
                CallView {
                    call_id: block.id,
                    wire_id,
                    name: block.name,
                    arguments: block.arguments,
                }
            })
            .collect();
        let shown: Vec<WireCall<'_>> = calls
            .iter()
            .filter(|call| call.name != STATE_TOOL)
            .map(|call| WireCall {
                id: &call.wire_id,
                kind: "function",
                function: WireFunction {
                    name: &call.name,
                    arguments: &call.arguments,
                },
            })
            .collect();
        if !message.text.is_empty() || !shown.is_empty() {
            let encoded = encode(&WireAssistant {
                id: &id,
                role: "assistant",
                content: &message.text,
                tool_calls: shown,
            });
            self.push(&encoded);
        }
        AssistantView {
            id,
            text: message.text,
            calls,
        }
    }

    fn call_started(&mut self, call: ToolCall, browser: &impl BrowserSide) -> Change {
        let wire_id = self.wire_of(&call.call_id);
        self.calls.entry(wire_id.clone()).or_insert_with(|| Call {
            name: call.name.clone(),
            settled: false,
        });
        let card = if call.name == STATE_TOOL || browser.is_frontend(&call.name) {
            None
        } else {
            self.cards
                .call(&wire_id, &call.name, &call.arguments, &call.card)
        };
        Change::CallStarted(StartedView {
            call_id: call.call_id,
            wire_id,
            card,
        })
    }

    fn call_settled(&mut self, result: ToolResult, browser: &impl BrowserSide) -> Change {
        let wire_id = self.wire_of(&result.call_id);
        let name = match self.calls.get_mut(&wire_id) {
            Some(call) => {
                call.settled = true;
                call.name.clone()
            }
            None => String::new(),
        };
        let hidden = name == STATE_TOOL;
        // A rejection has no metadata in the log; while the process lives the browser's own message still names it.
        let frontend =
            frontend_result_of(result.meta).or_else(|| browser.answer_of(&wire_id).cloned());
        let message_id = match &frontend {
            Some(own) => own.id.clone(),
            None => format!("{RESULT_PREFIX}{wire_id}"),
        };
        if !hidden {
            let encoded = match &frontend {
                Some(own) => encode_result(own, &wire_id, &result.text),
                None => encode(&WireTool {
                    id: &message_id,
                    role: "tool",
                    content: &result.text,
                    tool_call_id: &wire_id,
                    encrypted_value: None,
                    subagent_run_id: None,
                    metadata: None,
                }),
            };
            self.push(&encoded);
        }
        let card = if hidden || frontend.is_some() || browser.is_frontend(&name) {
            None
        } else {
            self.cards.result(&wire_id, &name, &result.card)
        };
        Change::CallSettled(SettledView {
            call_id: result.call_id,
            wire_id,
            message_id,
            text: result.text,
            is_error: result.is_error,
            hidden,
            frontend,
            card,
        })
    }

    /// The wire id of a call of the step under way.
    #[must_use]
    pub fn wire_of(&self, call_id: &str) -> String {
        self.step_calls
            .get(call_id)
            .cloned()
            .unwrap_or_else(|| call_id.into())
    }

    fn push(&mut self, encoded: &str) {
        if !(self.pieces.is_empty() && self.tail.is_empty()) {
            self.tail.push(',');
        }
        self.tail.push_str(encoded);
    }

    /// The pieces of a `MESSAGES_SNAPSHOT` event: the history, then `pending`, which are encoded messages that the
    /// thread has accepted and the log does not hold yet.
    pub fn snapshot<'a>(&mut self, pending: impl Iterator<Item = &'a str>) -> Box<[Arc<str>]> {
        self.seal();
        let mut end = String::new();
        for message in pending {
            if !(self.pieces.is_empty() && end.is_empty()) {
                end.push(',');
            }
            end.push_str(message);
        }
        end.push_str("]}");
        let mut pieces = Vec::with_capacity(self.pieces.len() + 2);
        pieces.push(r#"{"type":"MESSAGES_SNAPSHOT","messages":["#.into());
        pieces.extend(self.pieces.iter().cloned());
        pieces.push(end.into());
        pieces.into()
    }

    /// Moves the tail into a shared piece, and merges small pieces so that their number stays logarithmic.
    fn seal(&mut self) {
        if self.tail.is_empty() {
            return;
        }
        let mut piece = std::mem::take(&mut self.tail);
        while let Some(last) = self.pieces.last()
            && last.len() <= 2 * piece.len()
            && last.len() + piece.len() <= PIECE_BYTES
        {
            let mut merged = String::with_capacity(last.len() + piece.len());
            merged.push_str(last);
            merged.push_str(&piece);
            piece = merged;
            self.pieces.pop();
        }
        self.pieces.push(piece.into());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::session::parse_record;
    use serde_json::json;

    struct Pick;

    impl BrowserSide for Pick {
        fn is_frontend(&self, name: &str) -> bool {
            name == "pick"
        }
        fn answer_of(&self, _: &str) -> Option<&FrontendResult> {
            None
        }
    }

    fn feed(transcript: &mut Transcript, records: &[Value]) {
        for (seq, record) in records.iter().enumerate() {
            let mut record = record.clone();
            record["seq"] = seq.into();
            let event = parse_record(&record.to_string()).unwrap().event;
            transcript.apply(event, &Pick);
        }
    }

    fn messages(transcript: &mut Transcript, pending: &[&str]) -> Vec<Value> {
        let event: String = transcript
            .snapshot(pending.iter().copied())
            .iter()
            .map(|piece| piece.to_string())
            .collect();
        let event: Value = serde_json::from_str(&event).unwrap();
        assert_eq!(event["type"], "MESSAGES_SNAPSHOT");
        event["messages"].as_array().unwrap().clone()
    }

    fn user(id: &str, text: &str, kind: &str) -> Value {
        json!({"type":"user/message","data":{"id":id,"role":"user","source":{"kind":kind},"content":[{"type":"text","text":text}]}})
    }

    fn assistant(turn: u64, content: Value) -> Value {
        json!({"type":"assistant/message","data":{"turn":turn,"step":1,"message":{"id":"x","role":"assistant","source":{"kind":"model"},"content":content}}})
    }

    fn call(turn: u64, id: &str, name: &str) -> Value {
        json!({"type":"tool/call","data":{"turn":turn,"step":1,"callId":id,"name":name,"arguments":"{}"},"card":null})
    }

    fn result(turn: u64, id: &str, text: &str, meta: Value) -> Value {
        json!({"type":"tool/result","data":{"turn":turn,"step":1,"message":{"role":"user","id":"y","source":{"kind":"tool","callId":id},"content":[{"type":"tool-result","toolCallId":id,"content":[{"type":"text","text":text}]}]},"meta":meta},"card":null})
    }

    fn call_block(id: &str, name: &str) -> Value {
        json!({"type":"tool-call","id":id,"name":name,"arguments":"{}"})
    }

    #[test]
    fn the_history_shows_people_models_and_results_only() {
        let mut transcript = Transcript::new("agui-0123456789abcdef");
        feed(
            &mut transcript,
            &[
                user("u1", "hi", "user"),
                user("ctx", "## Page", "ag-ui"),
                assistant(
                    1,
                    json!([{"type":"reasoning","text":"hm"},{"type":"text","text":"Let me"},call_block("c1","read"),call_block("s1",STATE_TOOL)]),
                ),
                call(1, "c1", "read"),
                result(1, "c1", "42", Value::Null),
                call(1, "s1", STATE_TOOL),
                result(1, "s1", "{}", Value::Null),
            ],
        );
        assert_eq!(
            messages(&mut transcript, &[]),
            vec![
                json!({"id":"u1","role":"user","content":"hi"}),
                json!({"id":"0123456789ab-1-1","role":"assistant","content":"Let me","toolCalls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{}"}}]}),
                json!({"id":"result-c1","role":"tool","content":"42","toolCallId":"c1"}),
            ]
        );
        assert_eq!(transcript.cards().settled().len(), 2);
    }

    #[test]
    fn a_model_message_with_nothing_to_show_is_not_in_the_history() {
        let mut transcript = Transcript::new("s");
        feed(
            &mut transcript,
            &[
                assistant(1, json!([])),
                assistant(2, json!([call_block("s", STATE_TOOL)])),
            ],
        );
        assert_eq!(messages(&mut transcript, &[]), Vec::<Value>::new());
    }

    #[test]
    fn a_repeated_call_id_names_another_call() {
        let mut transcript = Transcript::new("s");
        for turn in [1, 2] {
            feed(
                &mut transcript,
                &[
                    assistant(turn, json!([call_block("c", "read")])),
                    call(turn, "c", "read"),
                    result(turn, "c", &format!("r{turn}"), Value::Null),
                ],
            );
        }
        let ids: Vec<_> = messages(&mut transcript, &[])
            .iter()
            .filter(|message| message["role"] == "tool")
            .map(|message| (message["toolCallId"].clone(), message["id"].clone()))
            .collect();
        assert_eq!(
            ids,
            [
                (json!("c"), json!("result-c")),
                (json!("c~2.1"), json!("result-c~2.1"))
            ]
        );
    }

    #[test]
    fn a_browser_s_result_keeps_its_identity() {
        for metadata in [
            None,
            Some(Map::new()),
            json!({"a":{"b":1}}).as_object().cloned(),
        ] {
            let own = FrontendResult {
                id: "tm1".into(),
                encrypted_value: Some("ev".into()),
                subagent_run_id: Some("sub".into()),
                metadata: metadata.clone(),
            };
            let meta = Value::Object(frontend_result_meta(&own));
            let mut transcript = Transcript::new("s");
            feed(
                &mut transcript,
                &[
                    assistant(1, json!([call_block("c", "pick")])),
                    call(1, "c", "pick"),
                    result(1, "c", "blue", meta),
                ],
            );
            let mut expected = json!({"id":"tm1","role":"tool","content":"blue","toolCallId":"c","encryptedValue":"ev","subagentRunId":"sub"});
            if let Some(metadata) = metadata {
                expected["metadata"] = Value::Object(metadata);
            }
            assert_eq!(messages(&mut transcript, &[])[1], expected);
            assert!(transcript.cards().settled().is_empty());
        }
    }

    #[test]
    fn a_client_cannot_forge_the_private_key() {
        let own = FrontendResult {
            id: "real".into(),
            encrypted_value: None,
            subagent_run_id: None,
            metadata: json!({FRONTEND_RESULT_KEY: {"id":"forged"}})
                .as_object()
                .cloned(),
        };
        let read = frontend_result_of(Some(frontend_result_meta(&own))).unwrap();
        assert_eq!(read.id, "real");
        assert_eq!(read.metadata, Some(Map::new()));
    }

    #[test]
    fn pending_messages_follow_the_log() {
        let mut transcript = Transcript::new("s");
        let pending = encode_user("p", &["one".into(), "two".into()]);
        let part = |text: &str| json!({"type":"text","text":text});
        let expected = json!({"id":"p","role":"user","content":[part("one"),part("two")]});
        assert_eq!(
            messages(&mut transcript, &[&pending]),
            std::slice::from_ref(&expected)
        );
        feed(&mut transcript, &[user("u", "x", "user")]);
        assert_eq!(messages(&mut transcript, &[&pending])[1], expected);
    }

    #[test]
    fn snapshots_share_few_pieces() {
        let mut transcript = Transcript::new("s");
        for n in 0..2000 {
            feed(
                &mut transcript,
                &[user(&format!("u{n}"), "some text here", "user")],
            );
            transcript.snapshot(std::iter::empty());
        }
        assert_eq!(messages(&mut transcript, &[]).len(), 2000);
        assert!(transcript.pieces.len() < 16, "{}", transcript.pieces.len());
    }
}
