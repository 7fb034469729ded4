//! A JSON value that borrows its text and keeps the order of its members.
//!
//! Order matters for messages (the first unknown field is the one that the caller wrote first), borrowing for cost:
//! a request crosses once and most of its strings have no escape.

use super::error::{Code, Error};
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use std::borrow::Cow;
use std::fmt;
use std::hash::{Hash, Hasher};

/// A parsed value. `Debug` shows its shape only, since strings may be private.
#[derive(Clone, PartialEq)]
pub enum Json<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as JavaScript has it.
    Number(f64),
    /// A string.
    String(Cow<'a, str>),
    /// An array.
    Array(Vec<Json<'a>>),
    /// An object: members in order, names distinct.
    Object(Vec<(Cow<'a, str>, Json<'a>)>),
}

impl<'a> Json<'a> {
    /// Parses `text`. `root` names the value in messages.
    ///
    /// # Errors
    /// `invalid-request` with the path of the place: an unpaired surrogate, a repeated name, or no JSON at all.
    pub fn parse(text: &'a str, root: &str) -> Result<Json<'a>, Error> {
        serde_json::from_str(text).map_err(|error| {
            // JavaScript wrote the text with JSON.stringify: it has one line, and the column is a byte offset.
            let path = format!("{root}{}", path_at(text, error.column()));
            let reason = error.to_string();
            if reason.contains("surrogate")
                || reason.contains("hex escape")
                || reason.contains("unicode code point")
            {
                Error::at(
                    Code::InvalidRequest,
                    path,
                    "must not contain an unpaired surrogate",
                )
            } else if reason.contains(REPEATED) {
                Error::at(Code::InvalidRequest, path, "must not repeat a field")
            } else if reason.contains("recursion limit") {
                Error::at(Code::InvalidRequest, path, "is nested too deeply")
            } else {
                Error::at(Code::InvalidRequest, path, "must be JSON data")
            }
        })
    }

    /// The string, if it is one.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Json::String(text) => Some(text),
            _ => None,
        }
    }

    /// The member of this name, if it is an object that has it.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Json<'a>> {
        match self {
            Json::Object(members) => member(members, name),
            _ => None,
        }
    }

    /// Appends the JSON text of the value.
    pub fn write(&self, out: &mut String) {
        match self {
            Json::Null => out.push_str("null"),
            Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Json::Number(value) => out.push_str(&number_text(*value)),
            Json::String(text) => write_string(text, out),
            Json::Array(items) => {
                out.push('[');
                for (index, item) in items.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Json::Object(members) => {
                out.push('{');
                for (index, (name, value)) in members.iter().enumerate() {
                    if index > 0 {
                        out.push(',');
                    }
                    write_string(name, out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }

    /// The JSON text of the value.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    /// Feeds the value to `hasher`, independent of the order of members.
    pub fn digest<H: Hasher>(&self, hasher: &mut H) {
        match self {
            Json::Null => 0u8.hash(hasher),
            Json::Bool(value) => (1u8, value).hash(hasher),
            Json::Number(value) => (2u8, (value + 0.0).to_bits()).hash(hasher),
            Json::String(text) => (3u8, text.as_ref()).hash(hasher),
            Json::Array(items) => {
                (4u8, items.len()).hash(hasher);
                items.iter().for_each(|item| item.digest(hasher));
            }
            Json::Object(members) => {
                (5u8, members.len()).hash(hasher);
                let mut order: Vec<_> = members.iter().collect();
                order.sort_by(|left, right| left.0.cmp(&right.0));
                for (name, value) in order {
                    name.hash(hasher);
                    value.digest(hasher);
                }
            }
        }
    }
}

/// The member of this name.
#[must_use]
pub fn member<'m, 'a>(members: &'m [(Cow<'a, str>, Json<'a>)], name: &str) -> Option<&'m Json<'a>> {
    members
        .iter()
        .find(|(key, _)| key == name)
        .map(|(_, value)| value)
}

/// Appends `text` as a JSON string.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    let mut clean = 0;
    for (index, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[clean..index]);
        clean = index + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => {
                use fmt::Write as _;
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{byte:04x}");
            }
        }
    }
    out.push_str(&text[clean..]);
    out.push('"');
}

/// Text of a number that came from JSON: integers without a fraction.
fn number_text(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e15 {
        format!("{value:.0}")
    } else {
        serde_json::Number::from_f64(value)
            .map_or_else(|| "null".to_owned(), |number| number.to_string())
    }
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(_) => f.write_str("boolean"),
            Json::Number(_) => f.write_str("number"),
            Json::String(_) => f.write_str("string"),
            Json::Array(items) => f.debug_list().entries(items).finish(),
            Json::Object(members) => f
                .debug_set()
                .entries(members.iter().map(|(name, _)| name))
                .finish(),
        }
    }
}

/// Marker of the error that a repeated member raises.
const REPEATED: &str = "repeated member";

impl<'de: 'a, 'a> Deserialize<'de> for Json<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(JsonVisitor)
    }
}

struct JsonVisitor;

impl<'de> Visitor<'de> for JsonVisitor {
    type Value = Json<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }
    fn visit_unit<E>(self) -> Result<Json<'de>, E> {
        Ok(Json::Null)
    }
    fn visit_bool<E>(self, value: bool) -> Result<Json<'de>, E> {
        Ok(Json::Bool(value))
    }
    #[allow(clippy::cast_precision_loss)] // JavaScript's own precision.
    fn visit_u64<E>(self, value: u64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value as f64))
    }
    #[allow(clippy::cast_precision_loss)]
    fn visit_i64<E>(self, value: i64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value as f64))
    }
    fn visit_f64<E>(self, value: f64) -> Result<Json<'de>, E> {
        Ok(Json::Number(value))
    }
    fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Borrowed(text)))
    }
    fn visit_str<E>(self, text: &str) -> Result<Json<'de>, E> {
        Ok(Json::String(Cow::Owned(text.to_owned())))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element()? {
            items.push(item);
        }
        Ok(Json::Array(items))
    }
    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Json<'de>, A::Error> {
        let mut members: Vec<(Cow<'de, str>, Json<'de>)> = Vec::new();
        while let Some(name) = access.next_key::<Name<'de>>()? {
            members.push((name.0, access.next_value()?));
        }
        if has_repeated_name(&members) {
            return Err(de::Error::custom(REPEATED));
        }
        Ok(Json::Object(members))
    }
}

fn has_repeated_name(members: &[(Cow<'_, str>, Json<'_>)]) -> bool {
    // Requests have a few members, for which looking is cheaper than sorting.
    if members.len() <= 12 {
        return (1..members.len())
            .any(|index| member(&members[..index], &members[index].0).is_some());
    }
    let mut names: Vec<&str> = members.iter().map(|(name, _)| name.as_ref()).collect();
    names.sort_unstable();
    names.windows(2).any(|pair| pair[0] == pair[1])
}

/// A member's name, borrowed where it has no escape.
struct Name<'a>(Cow<'a, str>);

impl<'de: 'a, 'a> Deserialize<'de> for Name<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match deserializer.deserialize_str(JsonVisitor)? {
            Json::String(name) => Ok(Name(name)),
            _ => Err(de::Error::custom("a name must be a string")),
        }
    }
}

/// The path of the value that contains byte `offset` of `text`, as `.fields[0].label`. Used for messages only, so it
/// reads the text leniently: whatever is not JSON ends the walk.
fn path_at(text: &str, offset: usize) -> String {
    enum Open {
        Array(usize),
        Object(Option<String>),
    }
    let bytes = text.as_bytes();
    let end = offset.min(bytes.len());
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while at < end {
        match bytes[at] {
            b'{' => open.push(Open::Object(None)),
            b'[' => open.push(Open::Array(0)),
            b'}' | b']' => {
                open.pop();
            }
            b',' => match open.last_mut() {
                Some(Open::Array(index)) => *index += 1,
                Some(Open::Object(name)) => *name = None,
                None => {}
            },
            b'"' => {
                let start = at + 1;
                at = start;
                while at < end && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                if at < end
                    && let Some(Open::Object(name @ None)) = open.last_mut()
                {
                    *name = text.get(start..at).map(str::to_owned);
                }
            }
            _ => {}
        }
        at += 1;
    }
    let mut path = String::new();
    for level in &open {
        match level {
            Open::Array(index) => path.push_str(&format!("[{index}]")),
            Open::Object(Some(name)) => path.push_str(&format!(".{name}")),
            Open::Object(None) => {}
        }
    }
    path
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::hash::DefaultHasher;

    fn digest(text: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        Json::parse(text, "value").unwrap().digest(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn an_unpaired_surrogate_is_refused_with_its_path() {
        for lone in [
            r"\ud800",
            r"\udc00",
            r"\ud800x",
            r"\ud800\ud800",
            r"\ud800\n",
        ] {
            let text = format!(r#"{{"a":1,"fields":[{{"id":"x"}},{{"label":"ok {lone}"}}]}}"#);
            let error = Json::parse(&text, "Question request").unwrap_err();
            assert_eq!(error.path, "Question request.fields[1].label", "{lone}");
            assert_eq!(
                error.message,
                "Question request.fields[1].label must not contain an unpaired surrogate"
            );
        }
        assert_eq!(
            Json::parse(r#""\ud83d\udd11""#, "v").unwrap().as_str(),
            Some("🔑")
        );
    }

    #[test]
    fn a_repeated_member_is_refused() {
        assert!(
            Json::parse(r#"{"a":1,"a":2}"#, "v")
                .unwrap_err()
                .message
                .contains("must not repeat")
        );
        let many: Vec<String> = (0..40).map(|n| format!("\"m{}\":1", n % 39)).collect();
        assert!(Json::parse(&format!("{{{}}}", many.join(",")), "v").is_err());
    }

    #[test]
    fn depth_is_bounded() {
        let deep = "[".repeat(10_000);
        assert!(
            Json::parse(&deep, "v")
                .unwrap_err()
                .message
                .contains("nested too deeply")
        );
    }

    #[test]
    fn writing_and_reading_agree() {
        let text = r#"{"z":[1,-2.5,true,null],"a":{"q":"\"\\\n\u0001汉"},"e":[],"o":{}}"#;
        assert_eq!(Json::parse(text, "v").unwrap().to_text(), text);
    }

    #[test]
    fn the_digest_ignores_the_order_of_members_and_nothing_else() {
        assert_eq!(
            digest(r#"{"a":1,"b":[2,"x"]}"#),
            digest(r#"{"b":[2,"x"],"a":1}"#)
        );
        assert_ne!(digest(r#"{"a":[1,2]}"#), digest(r#"{"a":[2,1]}"#));
        assert_ne!(digest(r#"{"a":"1"}"#), digest(r#"{"a":1}"#));
        assert_ne!(digest(r#"["ab","c"]"#), digest(r#"["a","bc"]"#));
    }
}
