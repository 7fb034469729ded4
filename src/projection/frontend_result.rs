//! A browser's Tool result, durable beside its call (spec: gateway, HTTP 与 run 语义; G11).

use serde_json::{Map, Value};

/// Key of presentation metadata under which an accepted browser result keeps its AG-UI identity
/// (spec: gateway, HTTP 与 run 语义).
pub(super) const FRONTEND_RESULT_KEY: &str = "@dsh-ag-ui/frontend-result-id";

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

/// The browser's result that presentation metadata keeps, if any.
pub(super) fn frontend_result_of(meta: Option<Map<String, Value>>) -> Option<FrontendResult> {
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
