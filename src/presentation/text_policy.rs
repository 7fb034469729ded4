//! What may stand in a text that a provider shows (spec: presentation, Security considerations; P10).
//!
//! A text of a consumer is data. A control character, an escape sequence or a bidirectional override in it could
//! make a terminal or a page show something else than what is being approved. The Host applies one explicit
//! [`TextPolicy`] to every request before a provider sees it.

use std::borrow::Cow;
use std::fmt::Write as _;

/// What the Host does with a text that contains characters of [`is_deceptive`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TextPolicy {
    /// Replaces each by a visible escape (`\u{1b}`), so that the user sees that it is there. The default.
    #[default]
    Reveal,
    /// Refuses the request with `invalid-request` and the path of the text.
    Refuse,
}

/// Where a text is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextClass {
    /// One line: titles, labels, identifiers, actions. Line breaks and tabs are deceptive, too.
    Line,
    /// A paragraph: descriptions, summaries, values, notification text. Tab, LF and CR before LF are allowed.
    Block,
    /// Text for the clipboard, which is data to the user: only C0, C1 and DEL other than tab, LF and CR are deceptive.
    Clipboard,
}

/// Whether `c` can change how the text around it is shown: C0 and C1 controls, DEL, line and paragraph separators,
/// the bidirectional embeddings, overrides and isolates, and the deprecated format and tag characters.
#[must_use]
pub fn is_deceptive(c: char) -> bool {
    is_control(c)
        || matches!(c,
            '\u{061c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}'
            | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

fn is_control(c: char) -> bool {
    matches!(c, '\u{0}'..='\u{1f}' | '\u{7f}'..='\u{9f}')
}

fn is_refused(c: char, next: Option<char>, class: TextClass) -> bool {
    match class {
        TextClass::Line => is_deceptive(c),
        TextClass::Block => match c {
            '\t' | '\n' => false,
            '\r' => next != Some('\n'),
            _ => is_deceptive(c),
        },
        TextClass::Clipboard => !matches!(c, '\t' | '\n' | '\r') && is_control(c),
    }
}

/// Whether `text` has nothing that the class counts as deceptive.
#[must_use]
pub fn is_clean(text: &str, class: TextClass) -> bool {
    if text.bytes().all(|byte| (0x20..0x7f).contains(&byte)) {
        return true;
    }
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if is_refused(c, chars.peek().copied(), class) {
            return false;
        }
    }
    true
}

/// `text` with each deceptive character as a visible escape: `\u{1b}` for U+001B.
#[must_use]
pub fn reveal(text: &str, class: TextClass) -> Cow<'_, str> {
    if is_clean(text, class) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if is_refused(c, chars.peek().copied(), class) {
            // Writing to a String cannot fail.
            let _ = write!(shown, "\\u{{{:x}}}", u32::from(c));
        } else {
            shown.push(c);
        }
    }
    Cow::Owned(shown)
}

/// Length in UTF-16 code units, as JavaScript counts.
#[must_use]
pub fn utf16_len(text: &str) -> u64 {
    if text.is_ascii() {
        return text.len() as u64;
    }
    text.chars().map(|c| c.len_utf16() as u64).sum()
}

/// Whether `text` is empty after JavaScript's `trim()`.
#[must_use]
pub fn is_blank(text: &str) -> bool {
    text.chars().all(|c| {
        matches!(c,
            '\u{9}'..='\u{d}' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}'
            | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ansi_and_bidi_are_made_visible() {
        assert_eq!(
            reveal("rm \u{1b}[2Ksafe", TextClass::Line),
            "rm \\u{1b}[2Ksafe"
        );
        assert_eq!(
            reveal("a\u{202e}b\u{2066}c", TextClass::Block),
            "a\\u{202e}b\\u{2066}c"
        );
        assert_eq!(reveal("\u{9b}31m", TextClass::Block), "\\u{9b}31m");
    }

    #[test]
    fn line_breaks_belong_to_blocks_only() {
        assert_eq!(reveal("a\nb\tc\r\nd", TextClass::Block), "a\nb\tc\r\nd");
        assert_eq!(reveal("a\nb", TextClass::Line), "a\\u{a}b");
        assert_eq!(reveal("real\rfake", TextClass::Block), "real\\u{d}fake");
        assert_eq!(reveal("a\rb\u{202e}", TextClass::Clipboard), "a\rb\u{202e}");
        assert_eq!(reveal("a\u{7}", TextClass::Clipboard), "a\\u{7}");
    }

    #[test]
    fn ordinary_text_of_any_script_stays_borrowed() {
        for text in ["plain", "汉字 ünï 🔑 नमस्ते", "שלום"] {
            assert!(
                matches!(reveal(text, TextClass::Line), Cow::Borrowed(_)),
                "{text}"
            );
        }
    }

    #[test]
    fn lengths_count_utf16_units() {
        assert_eq!(utf16_len("abc"), 3);
        assert_eq!(utf16_len("汉"), 1);
        assert_eq!(utf16_len("🔑"), 2);
    }

    #[test]
    fn blank_follows_javascript_trim() {
        assert!(is_blank("\u{feff}\u{3000} \t\r\n\u{b}"));
        assert!(!is_blank("\u{200b}"));
        assert!(!is_blank("\u{85}"));
    }
}
