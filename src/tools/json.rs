//! JSON with members in their written order. A model reads a schema top to bottom, so a rewritten one must not be
//! shuffled; `serde_json::Value` sorts, and other rooms rely on that for canonical forms.

use std::fmt;

use indexmap::IndexMap;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, Serializer};
use serde_json::Number;

/// Members of an object. A repeated key keeps the last value, as `JSON.parse` does.
pub(super) type Members = IndexMap<String, Json>;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Json {
    Null,
    Bool(bool),
    Number(Number),
    String(String),
    Array(Vec<Json>),
    Object(Members),
}

impl Json {
    /// The number as JavaScript sees it.
    pub(super) fn as_f64(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.as_f64(),
            _ => None,
        }
    }

    pub(super) fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether the value survives a round trip through JavaScript and JSON text: `-0` does not, DSH refuses it.
    pub(super) fn is_lossless(&self) -> bool {
        match self {
            Self::Null | Self::Bool(_) | Self::String(_) => true,
            Self::Number(number) => !is_negative_zero(number),
            Self::Array(items) => items.iter().all(Self::is_lossless),
            Self::Object(members) => members.values().all(Self::is_lossless),
        }
    }

    /// Equality of scalars as JavaScript's `===` has it: `1` and `1.0` are one number.
    pub(super) fn same_scalar(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Null, Self::Null) => true,
            (Self::Bool(a), Self::Bool(b)) => a == b,
            (Self::String(a), Self::String(b)) => a == b,
            (Self::Number(a), Self::Number(b)) => a.as_f64() == b.as_f64(),
            _ => false,
        }
    }
}

pub(super) fn is_negative_zero(number: &Number) -> bool {
    number
        .as_f64()
        .is_some_and(|value| value == 0.0 && value.is_sign_negative())
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Json, E> {
        Ok(Json::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Json, E> {
        Ok(Json::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Json, E> {
        Ok(Json::Number(value.into()))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Json, E> {
        Number::from_f64(value)
            .map(Json::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Json, E> {
        Ok(Json::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Json, E> {
        Ok(Json::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Json, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Json, A::Error> {
        let mut members = Members::new();
        while let Some((key, value)) = map.next_entry()? {
            members.insert(key, value);
        }
        Ok(Json::Object(members))
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => value.serialize(serializer),
            Self::String(value) => serializer.serialize_str(value),
            Self::Array(items) => serializer.collect_seq(items),
            Self::Object(members) => serializer.collect_map(members),
        }
    }
}

/// Text form. Writing JSON into memory cannot fail: keys are strings and numbers are finite.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// How deep arrays and objects nest in JSON text: 0 for a scalar, 1 for `{}`. Needs no stack, so that hostile
/// nesting is measured before anything recursive looks at it.
pub(super) fn depth(text: &str) -> usize {
    let mut depth = 0_usize;
    let mut deepest = 0_usize;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'{' | b'[' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => skip_string(&mut bytes),
            _ => {}
        }
    }
    deepest
}

fn skip_string(bytes: &mut std::str::Bytes<'_>) {
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return,
            b'\\' => {
                bytes.next();
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn keeps_the_order_and_the_last_of_repeated_keys() {
        let value: Json =
            serde_json::from_str(r#"{"z":1,"a":{"y":[1.0,-0,null],"b":true},"z":"last"}"#).unwrap();
        assert_eq!(
            value.to_string(),
            r#"{"z":"last","a":{"y":[1.0,-0.0,null],"b":true}}"#
        );
    }

    #[test]
    fn sees_negative_zero_at_any_depth() {
        let lossless = |text: &str| serde_json::from_str::<Json>(text).unwrap().is_lossless();
        assert!(lossless(r#"{"a":[0,1e3,"-0"]}"#));
        assert!(!lossless("-0"));
        assert!(!lossless(r#"{"a":[{"b":-0.0}]}"#));
        assert!(!lossless("-0e5"));
    }

    #[test]
    fn measures_depth_in_text() {
        assert_eq!(depth("1"), 0);
        assert_eq!(depth(r#""[[[""#), 0);
        assert_eq!(depth(r#""\"[""#), 0);
        assert_eq!(depth("{}"), 1);
        assert_eq!(depth(r#"{"a":[],"b":[{"c":"}"}]}"#), 3);
        assert_eq!(depth(&"[".repeat(1_000_000)), 1_000_000);
    }
}
