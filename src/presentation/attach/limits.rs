//! Bounds of one end.

use crate::presentation::error::Error;
use crate::presentation::json::Json;
use crate::presentation::validate::record::{Path, exact, safe_integer};

/// Bounds of one link. Every one is finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkLimits {
    /// UTF-8 bytes of one message, in both directions.
    pub max_message_bytes: u64,
    /// Requests that are not answered.
    pub max_pending: u64,
    /// Milliseconds until the greeting must have come.
    pub opening_ms: u64,
    /// Milliseconds of silence after which the peer is pinged.
    pub ping_ms: u64,
    /// Milliseconds of silence after which the peer counts as gone.
    pub silence_ms: u64,
}

impl Default for LinkLimits {
    fn default() -> Self {
        LinkLimits {
            max_message_bytes: 4 << 20,
            max_pending: 1_024,
            opening_ms: 10_000,
            ping_ms: 15_000,
            silence_ms: 45_000,
        }
    }
}

impl LinkLimits {
    /// Reads `{maxMessageBytes?, maxPending?, openingMs?, pingMs?, silenceMs?}`.
    ///
    /// # Errors
    /// `invalid-request` with the path of what is no positive safe integer, or unknown.
    pub fn parse(text: &str) -> Result<LinkLimits, Error> {
        let path = Path::Root("Presentation attachment limits");
        let value = Json::parse(text, "Presentation attachment limits")?;
        let mut limits = LinkLimits::default();
        let fields = [
            ("maxMessageBytes", &mut limits.max_message_bytes),
            ("maxPending", &mut limits.max_pending),
            ("openingMs", &mut limits.opening_ms),
            ("pingMs", &mut limits.ping_ms),
            ("silenceMs", &mut limits.silence_ms),
        ];
        let names = fields.each_ref().map(|(name, _)| *name);
        let members = exact(&path, &value, &names, &[])?;
        for (name, limit) in fields {
            if let Some(value) = safe_integer(&path, members, name, 1)? {
                *limit = value;
            }
        }
        Ok(limits)
    }
}
