//! A browser's Tool result, durable beside its call (spec: gateway, HTTP 与 run 语义; G11).

use serde_json::{Map, Value};
use sha2::{Digest, Sha256};

/// Key of presentation metadata under which an accepted browser result keeps its AG-UI identity
/// (spec: gateway, HTTP 与 run 语义). Nothing under it is ever shown: it leaves with the key.
pub const FRONTEND_RESULT_KEY: &str = "@dsh-ag-ui/frontend-result-id";

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
    /// What the browser sent, whatever became of it on its way into the log. Absent in logs of older versions.
    pub original: Option<Original>,
}

/// A digest of a browser's result as it came. A policy of the Host may put a shorter text into the log than the browser
/// sent; its client may still send its own again, also to the next process, so the digest has no key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Original([u8; 32]);

/// The public fields of a browser's result.
#[derive(Debug, Clone, Copy)]
pub struct ResultFields<'a> {
    /// Wire id of the call.
    pub call: &'a str,
    /// The result as text, with its error in front where it has one.
    pub text: &'a str,
    /// `encryptedValue`.
    pub encrypted_value: Option<&'a str>,
    /// `subagentRunId`.
    pub subagent_run_id: Option<&'a str>,
    /// `metadata`.
    pub metadata: Option<&'a Map<String, Value>>,
}

impl Original {
    /// The digest of a result.
    #[must_use]
    pub fn of(result: ResultFields<'_>) -> Self {
        // The map is ordered by key, so the text is canonical.
        let metadata = result
            .metadata
            .map(|metadata| serde_json::to_string(metadata).unwrap_or_default());
        let mut hash = Sha256::new();
        for piece in [
            Some(result.call),
            Some(result.text),
            result.encrypted_value,
            result.subagent_run_id,
            metadata.as_deref(),
        ] {
            // Every piece is length-prefixed, and a missing one differs from an empty one.
            let length = piece.map_or(u64::MAX, |piece| piece.len() as u64);
            hash.update(length.to_le_bytes());
            hash.update(piece.unwrap_or_default());
        }
        Self(hash.finalize().into())
    }

    fn to_hex(self) -> String {
        use std::fmt::Write as _;
        self.0.iter().fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
    }

    fn from_hex(hex: &str) -> Option<Self> {
        let mut bytes = [0; 32];
        if hex.len() != 2 * bytes.len() {
            return None;
        }
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(hex.get(2 * at..2 * at + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
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
    if let Some(original) = result.original {
        own.insert("sha256".into(), original.to_hex().into());
    }
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
        original: text("sha256").as_deref().and_then(Original::from_hex),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const FIELDS: ResultFields<'_> = ResultFields {
        call: "c",
        text: "red",
        encrypted_value: None,
        subagent_run_id: None,
        metadata: None,
    };

    #[test]
    fn every_public_field_is_in_the_digest() {
        let metadata = Map::new();
        let others = [
            ResultFields {
                call: "d",
                ..FIELDS
            },
            ResultFields {
                text: "blue",
                ..FIELDS
            },
            ResultFields {
                encrypted_value: Some(""),
                ..FIELDS
            },
            ResultFields {
                subagent_run_id: Some(""),
                ..FIELDS
            },
            ResultFields {
                metadata: Some(&metadata),
                ..FIELDS
            },
            ResultFields {
                call: "cr",
                text: "ed",
                ..FIELDS
            },
        ];
        let digests: Vec<Original> = [FIELDS]
            .iter()
            .chain(&others)
            .copied()
            .map(Original::of)
            .collect();
        for (at, digest) in digests.iter().enumerate() {
            assert!(!digests[..at].contains(digest), "{at}");
        }
        assert_eq!(digests[0], Original::of(FIELDS));
    }

    #[test]
    fn a_result_survives_its_metadata() {
        let result = FrontendResult {
            id: "m".into(),
            encrypted_value: Some("e".into()),
            subagent_run_id: None,
            metadata: Some(Map::from_iter([("a".into(), 1.into())])),
            original: Some(Original::of(FIELDS)),
        };
        let meta = frontend_result_meta(&result);
        assert_eq!(frontend_result_of(Some(meta)).unwrap(), result);
    }

    #[test]
    fn a_broken_digest_is_none() {
        for hex in ["", "00", &"g".repeat(64), &"é".repeat(32)] {
            assert_eq!(Original::from_hex(hex), None);
        }
    }
}
