//! Secret text: zeroised when dropped, silent in `Debug` (spec: presentation, Secret input; P9).

use std::fmt;
use zeroize::{Zeroize, Zeroizing};

/// A secret on its way from the provider to the consumer.
///
/// It is neither `Clone` nor `Display`, and its buffer is overwritten when it is dropped. It is compared with nothing.
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Takes over the buffer of `text`; no copy is made.
    #[must_use]
    pub fn new(text: String) -> Secret {
        Secret(Zeroizing::new(text))
    }

    /// The text, for the one hand-over to the consumer.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// The text in its buffer, which goes on being overwritten when it is dropped.
    #[must_use]
    pub fn into_text(self) -> Zeroizing<String> {
        self.0
    }

    /// Length in UTF-16 code units, as JavaScript counts.
    #[must_use]
    pub fn utf16_len(&self) -> u64 {
        super::text_policy::utf16_len(&self.0)
    }

    /// Lower-case hexadecimal of the UTF-8 bytes: the form on the attachment, where it needs no JSON escape and
    /// hence no scratch buffer that nobody overwrites.
    #[must_use]
    pub fn to_hex(&self) -> Zeroizing<String> {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut hex = String::with_capacity(self.0.len() * 2);
        for byte in self.0.bytes() {
            hex.push(char::from(DIGITS[usize::from(byte >> 4)]));
            hex.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
        Zeroizing::new(hex)
    }

    /// Reads [`Secret::to_hex`] back. `None` when it is not hexadecimal of UTF-8.
    #[must_use]
    pub fn from_hex(hex: &str) -> Option<Secret> {
        let digits = hex.as_bytes();
        if !digits.len().is_multiple_of(2) {
            return None;
        }
        let mut bytes = Zeroizing::new(Vec::with_capacity(digits.len() / 2));
        for pair in digits.chunks_exact(2) {
            bytes.push(digit(pair[0])? << 4 | digit(pair[1])?);
        }
        match String::from_utf8(std::mem::take(&mut *bytes)) {
            Ok(text) => Some(Secret::new(text)),
            Err(error) => {
                error.into_bytes().zeroize();
                None
            }
        }
    }
}

fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn debug_shows_nothing_not_even_the_length() {
        assert_eq!(format!("{:?}", Secret::new("hunter2".into())), "Secret(..)");
        assert_eq!(format!("{:?}", Secret::new(String::new())), "Secret(..)");
    }

    #[test]
    fn hex_round_trips_and_refuses_what_is_not_hex_of_utf8() {
        let secret = Secret::new("pä\"ss\\wörd\n🔑".into());
        let hex = secret.to_hex();
        assert!(hex.bytes().all(|byte| byte.is_ascii_hexdigit()));
        assert_eq!(Secret::from_hex(&hex).unwrap().expose(), secret.expose());
        for bad in ["0", "zz", "AB", "ff", "c3"] {
            assert!(Secret::from_hex(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn new_takes_over_the_very_buffer_so_that_no_copy_outlives_it() {
        let text = String::from("the-buffer-of-the-secret");
        let pointer = text.as_ptr();
        let secret = Secret::new(text);
        assert_eq!(secret.expose().as_ptr(), pointer);
    }
}
