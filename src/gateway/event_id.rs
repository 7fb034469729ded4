//! The `id:` of a frame, as a client gives it back in `Last-Event-ID` (X1).
//!
//! `<record>-<entry>` names an event of a run's record, `<record>-<entry>.<offset>` the bytes of one growing delta that
//! were sent. An id is a position, so it stays true however the record merges what follows (X10). It names its record, so
//! it never reads on in that of another run which came to bear the same run id (X7).

use std::fmt;

use super::digest::DigestKey;
use super::error::{Code, GatewayError};
use super::ids::RunKey;

/// Longest escape in a JSON string: `\u0041`.
const ESCAPE_BYTES: usize = 6;

/// Names a record among all that ever were, also those of earlier processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RecordTag(pub(super) u32);

impl fmt::Display for RecordTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

impl DigestKey {
    /// The tag of a run's record.
    pub(super) fn record(self, RunKey(run): RunKey) -> RecordTag {
        RecordTag(self.of(&run.to_le_bytes()).low_bits())
    }
}

/// How far a client has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventId {
    /// The record that its run had.
    pub(super) record: RecordTag,
    /// The entry of the record that it saw last.
    pub(super) entry: usize,
    /// Bytes of that entry's delta that it has; none for an event that is no delta.
    pub(super) offset: Option<usize>,
}

impl EventId {
    /// Reads the value of `Last-Event-ID`. An empty one means the same as none.
    ///
    /// # Errors
    /// `INVALID_AGUI_INPUT` for what this gateway never sent.
    pub fn read(value: Option<&str>) -> Result<Option<Self>, GatewayError> {
        match value {
            None | Some("") => Ok(None),
            Some(value) => Self::parse(value).map(Some).ok_or_else(not_of_this_run),
        }
    }

    fn parse(value: &str) -> Option<Self> {
        let (record, place) = value.split_once('-')?;
        let record = tag(record)?;
        let (entry, offset) = match place.split_once('.') {
            None => (place, None),
            // No frame ends before the first byte of its delta.
            Some((entry, offset)) => (entry, Some(number(offset).filter(|offset| *offset > 0)?)),
        };
        let entry = number(entry)?;
        Some(Self {
            record,
            entry,
            offset,
        })
    }
}

/// A tag as this gateway writes it.
fn tag(digits: &str) -> Option<RecordTag> {
    let tag = RecordTag(u32::from_str_radix(digits, 16).ok()?);
    (tag.to_string() == digits).then_some(tag)
}

/// A number as this gateway writes it.
fn number(digits: &str) -> Option<usize> {
    let canonical = digits == "0" || !digits.starts_with('0');
    let plain = canonical && digits.bytes().all(|byte| byte.is_ascii_digit());
    plain.then(|| digits.parse().ok()).flatten()
}

/// The answer to an id that no frame of the run had.
pub(super) fn not_of_this_run() -> GatewayError {
    GatewayError::new(
        Code::InvalidAguiInput,
        "Last-Event-ID names no event of this run",
    )
}

/// Whether a frame may end at `at` in the inside of a JSON string: not within a character, nor within an escape.
pub(super) fn is_boundary(text: &str, at: usize) -> bool {
    if !text.is_char_boundary(at) {
        return false;
    }
    let bytes = text.as_bytes();
    let within = |start: usize| {
        let length = match bytes.get(start + 1) {
            Some(b'u') => ESCAPE_BYTES,
            _ => 2,
        };
        bytes[start] == b'\\' && start + length > at && starts_escape(bytes, start)
    };
    !(at.saturating_sub(ESCAPE_BYTES - 1)..at).any(within)
}

/// Whether the backslash at `at` is not itself escaped.
fn starts_escape(bytes: &[u8], at: usize) -> bool {
    let before = bytes[..at].iter().rev();
    before.take_while(|byte| **byte == b'\\').count() % 2 == 0
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        let id = |entry, offset| {
            Some(EventId {
                record: RecordTag(0xa3),
                entry,
                offset,
            })
        };
        assert_eq!(EventId::read(None), Ok(None));
        assert_eq!(EventId::read(Some("")), Ok(None));
        assert_eq!(EventId::read(Some("000000a3-0")), Ok(id(0, None)));
        assert_eq!(EventId::read(Some("000000a3-12")), Ok(id(12, None)));
        assert_eq!(EventId::read(Some("000000a3-7.120")), Ok(id(7, Some(120))));
        let records = [
            "12",
            "a3-12",
            "0000000a3-12",
            "000000A3-12",
            "+00000a3-12",
            "x00000a3-12",
        ];
        let places = [
            "",
            " ",
            "x",
            "-1",
            "+1",
            "01",
            "1.",
            ".1",
            "1.0",
            "1.01",
            "1.2.3",
            "1,2",
            "1 ",
            "1e2",
            "0x1",
            "²",
            "99999999999999999999999",
            "1.99999999999999999999999",
            "3, 4",
        ];
        let placed = places.map(|place| format!("000000a3-{place}"));
        for bad in records.into_iter().chain(placed.iter().map(String::as_str)) {
            let refused = EventId::read(Some(bad)).unwrap_err();
            assert_eq!(refused.code, Code::InvalidAguiInput, "{bad}");
        }
    }

    #[test]
    fn boundaries_lie_between_characters_and_escapes() {
        let cuts = |text: &str| -> Vec<usize> {
            (0..=text.len() + 1)
                .filter(|at| is_boundary(text, *at))
                .collect()
        };
        assert_eq!(cuts("ab"), [0, 1, 2]);
        assert_eq!(cuts("é€"), [0, 2, 5]);
        assert_eq!(cuts(r"a\nb"), [0, 1, 3, 4]);
        assert_eq!(cuts(r"\u0041u"), [0, 6, 7]);
        assert_eq!(cuts(r"\\u0041"), [0, 2, 3, 4, 5, 6, 7]);
        assert_eq!(cuts(r"\\\n"), [0, 2, 4]);
        assert_eq!(cuts(r#"\"\""#), [0, 2, 4]);
        assert_eq!(cuts(r"\u001f\u0000"), [0, 6, 12]);
    }
}
