//! What makes a one-time path unguessable.

use std::fmt::Write as _;

/// The unguessable part of a one-time path: 256 random bits, as 64 hexadecimal digits.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// The digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// # Errors
    /// The system's random source failed.
    pub fn random() -> Result<Self, getrandom::Error> {
        let mut bytes = [0_u8; 32];
        getrandom::fill(&mut bytes)?;
        let mut text = String::with_capacity(64);
        for byte in bytes {
            // Writing to a String cannot fail.
            let _ = write!(text, "{byte:02x}");
        }
        Ok(Self(text))
    }
}
