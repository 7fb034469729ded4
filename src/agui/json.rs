//! Encoded JSON text, and writing objects as text without a tree in between.

use std::fmt;

/// One complete JSON value in its encoded form.
///
/// Values from a request have been checked while reading (syntax, depth, finite numbers), so [`Json::to_value`]
/// succeeds on them. Equality and hash are those of the text, not of the value.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Json<'a>(&'a str);

impl<'a> Json<'a> {
    /// The value `null`.
    pub const NULL: Json<'static> = Json("null");

    /// Wraps text that the caller knows to be one complete JSON value.
    #[must_use]
    pub const fn encoded(text: &'a str) -> Self {
        Self(text)
    }

    /// The encoded text. May contain white space between tokens, line ends included.
    #[must_use]
    pub const fn as_str(self) -> &'a str {
        self.0
    }

    /// Whether this is `null`.
    #[must_use]
    pub fn is_null(self) -> bool {
        self.0 == "null"
    }

    /// The text without white space between tokens, members in their written order.
    #[must_use]
    pub fn to_compact(self) -> String {
        let mut in_string = false;
        let mut escaped = false;
        let kept = |c: &char| {
            if in_string {
                in_string = escaped || *c != '"';
                escaped = !escaped && *c == '\\';
                true
            } else {
                in_string = *c == '"';
                !c.is_ascii_whitespace()
            }
        };
        self.0.chars().filter(kept).collect()
    }

    /// Parses the text into a tree.
    ///
    /// # Errors
    /// When the text is not JSON, is nested deeper than 127 containers, or holds a number that is not finite.
    pub fn to_value(self) -> serde_json::Result<serde_json::Value> {
        serde_json::from_str(self.0)
    }
}

impl<'a> Json<'a> {
    /// Reads an object by its members' names. A derived reader takes an array for the members in their order, which nobody
    /// means.
    ///
    /// # Errors
    /// When the value is no object, or its members do not fit.
    pub fn to_members<T: serde::Deserialize<'a>>(self) -> serde_json::Result<T> {
        if self.0.trim_ascii_start().starts_with('{') {
            serde_json::from_str(self.0)
        } else {
            Err(serde::de::Error::custom("not an object"))
        }
    }
}

/// Prints the length only: values are content, and content stays out of logs.
impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({} bytes)", self.0.len())
    }
}

impl<'a> From<&'a serde_json::value::RawValue> for Json<'a> {
    fn from(raw: &'a serde_json::value::RawValue) -> Self {
        Self(raw.get())
    }
}

/// For each byte: 0 when it stands for itself in a JSON string, else the letter of its escape (`u` for
/// `\u00XX`).
const ESCAPES: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 0x20 {
        table[byte] = b'u';
        byte += 1;
    }
    table[0x08] = b'b';
    table[0x09] = b't';
    table[0x0A] = b'n';
    table[0x0C] = b'f';
    table[0x0D] = b'r';
    table[b'"' as usize] = b'"';
    table[b'\\' as usize] = b'\\';
    table
};

/// Position of the first byte at or after `from` that needs an escape. Looks at eight bytes at a time.
fn next_escape(bytes: &[u8], from: usize) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let mut at = from;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let mut word = [0; 8];
        word.copy_from_slice(chunk);
        let word = u64::from_le_bytes(word);
        let control = word.wrapping_sub(ONES * 0x20) & !word;
        let quote = word ^ (ONES * 0x22);
        let backslash = word ^ (ONES * 0x5C);
        let hit = (control
            | (quote.wrapping_sub(ONES) & !quote)
            | (backslash.wrapping_sub(ONES) & !backslash))
            & HIGH;
        if hit != 0 {
            // Borrows only run upwards, so the lowest marked byte is always a real hit.
            return at + (hit.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    while at < bytes.len() && ESCAPES[usize::from(bytes[at])] == 0 {
        at += 1;
    }
    at
}

/// Appends the content of a JSON string, without the quotes. Output is byte for byte that of `serde_json`.
pub fn escape_json_into(text: &str, out: &mut String) {
    const HEX: [char; 16] = [
        '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 'a', 'b', 'c', 'd', 'e', 'f',
    ];
    let bytes = text.as_bytes();
    let mut start = 0;
    loop {
        let end = next_escape(bytes, start);
        out.push_str(&text[start..end]);
        let Some(&byte) = bytes.get(end) else { return };
        out.push('\\');
        match ESCAPES[usize::from(byte)] {
            b'u' => {
                out.push_str("u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 0xF)]);
            }
            letter => out.push(char::from(letter)),
        }
        start = end + 1;
    }
}

/// Appends a JSON string with its quotes.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    escape_json_into(text, out);
    out.push('"');
}

/// Appends an array, one element a call of `write`.
pub(super) fn write_array<T>(
    items: impl IntoIterator<Item = T>,
    out: &mut String,
    mut write: impl FnMut(T, &mut String),
) {
    out.push('[');
    for (position, item) in items.into_iter().enumerate() {
        if position > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

/// Writes one object, member by member. Absent optional members leave no trace, so no `null` is ever made up.
pub(super) struct ObjectWriter<'o> {
    out: &'o mut String,
    separator: char,
}

impl<'o> ObjectWriter<'o> {
    pub(super) fn open(out: &'o mut String) -> Self {
        Self {
            out,
            separator: '{',
        }
    }

    /// Writes the name and gives the buffer for the value. Names need no escaping: they are the schema's own.
    pub(super) fn key(&mut self, name: &'static str) -> &mut String {
        self.out.push(self.separator);
        self.separator = ',';
        self.out.push('"');
        self.out.push_str(name);
        self.out.push_str("\":");
        self.out
    }

    pub(super) fn string(&mut self, name: &'static str, value: &str) {
        write_string(value, self.key(name));
    }

    pub(super) fn string_if(&mut self, name: &'static str, value: Option<impl AsRef<str>>) {
        if let Some(value) = value {
            self.string(name, value.as_ref());
        }
    }

    pub(super) fn json(&mut self, name: &'static str, value: Json<'_>) {
        self.key(name).push_str(value.as_str());
    }

    pub(super) fn json_if(&mut self, name: &'static str, value: Option<Json<'_>>) {
        if let Some(value) = value {
            self.json(name, value);
        }
    }

    pub(super) fn close(self) {
        if self.separator == '{' {
            self.out.push('{');
        }
        self.out.push('}');
    }
}
