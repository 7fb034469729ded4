//! Unpaired surrogates in `\u` escapes.
//!
//! `JSON.stringify` writes half of a surrogate pair as `\ud83d`, and `JSON.parse` takes it back; Rust strings
//! cannot hold it. A client that once cut a text in the middle of an emoji keeps sending that text with its
//! history, so refusing would lock the thread for good. Therefore [`replace_lone_surrogates`] turns each such
//! escape into `\ufffd` (as `String.prototype.toWellFormed` does) before the body is parsed, and
//! [`RunAgentInput::parse`](super::RunAgentInput::parse) itself refuses a body that was not repaired.

use std::borrow::Cow;

use memchr::memmem;

const REPLACEMENT: &[u8; 6] = b"\\ufffd";

/// Code unit of the escape that starts at `at`, if there is a complete one.
fn code_unit(body: &[u8], at: usize) -> Option<u16> {
    let escape = body.get(at..at + 6)?;
    if escape[0] != b'\\' || escape[1] != b'u' {
        return None;
    }
    escape[2..].iter().try_fold(0, |unit: u16, digit| {
        let digit = char::from(*digit).to_digit(16)?;
        Some(unit << 4 | u16::try_from(digit).ok()?)
    })
}

/// Whether the backslash at `at` starts an escape, and is not itself escaped.
fn starts_escape(body: &[u8], at: usize) -> bool {
    body[..at]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count()
        % 2
        == 0
}

/// Positions of `\uDxxx` escapes without their other half, in ascending order.
fn lone_surrogates(body: &[u8]) -> Vec<usize> {
    let mut candidates: Vec<usize> = memmem::find_iter(body, b"\\ud")
        .chain(memmem::find_iter(body, b"\\uD"))
        .collect();
    candidates.sort_unstable();
    let mut lone = Vec::new();
    let mut paired_until = 0;
    for at in candidates {
        if at < paired_until || !starts_escape(body, at) {
            continue;
        }
        match code_unit(body, at) {
            Some(0xD800..=0xDBFF) if matches!(code_unit(body, at + 6), Some(0xDC00..=0xDFFF)) => {
                paired_until = at + 12
            }
            Some(0xD800..=0xDFFF) => lone.push(at),
            _ => {}
        }
    }
    lone
}

/// Whether the JSON text has an escape that is half of a surrogate pair.
#[must_use]
pub fn has_lone_surrogates(body: &[u8]) -> bool {
    !lone_surrogates(body).is_empty()
}

/// The same JSON text with each unpaired surrogate escape replaced by `\ufffd`; borrowed when there is none.
/// Keeps every length.
#[must_use]
pub fn replace_lone_surrogates(body: &[u8]) -> Cow<'_, [u8]> {
    let lone = lone_surrogates(body);
    if lone.is_empty() {
        return Cow::Borrowed(body);
    }
    let mut repaired = body.to_vec();
    for at in lone {
        repaired[at..at + 6].copy_from_slice(REPLACEMENT);
    }
    Cow::Owned(repaired)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(text: &str) -> String {
        String::from_utf8(replace_lone_surrogates(text.as_bytes()).into_owned()).unwrap_or_default()
    }

    #[test]
    fn pairs_and_other_escapes_stay() {
        for text in [
            r#""😀""#,
            r#""\ud83d\ude00""#,
            r#""\uD83D\uDE00x""#,
            r#""\\ud83d""#,
            r#""\ud7ff\ue000""#,
            r#""\ud8"#,
            "\\ud",
        ] {
            assert!(
                matches!(replace_lone_surrogates(text.as_bytes()), Cow::Borrowed(_)),
                "{text}"
            );
        }
    }

    #[test]
    fn halves_become_the_replacement_character() {
        assert_eq!(repaired(r#""\ud83d""#), r#""\ufffd""#);
        assert_eq!(repaired(r#""a\uDE00\ud83d""#), r#""a\ufffd\ufffd""#);
        assert_eq!(
            repaired(r#""\ud83d\ud83d\ude00""#),
            r#""\ufffd\ud83d\ude00""#
        );
        assert_eq!(repaired(r#""\\\ud83d\\ude00""#), r#""\\\ufffd\\ude00""#);
        assert_eq!(repaired(r#""\ud83d\\ude00""#), r#""\ufffd\\ude00""#);
    }
}
