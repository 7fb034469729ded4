//! How a receiver begins and ends.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::query::Query;

/// The receiver accepts requests from now on.
#[derive(Debug, Clone, PartialEq)]
pub struct Ready {
    /// The URI to hand to the other party, letter for letter.
    pub redirect_uri: String,
    /// When the receiver expires, in milliseconds since the Unix epoch.
    pub expires_at_ms: f64,
}

/// Why no receiver could be opened. `as_str` is the `reason` of the `unavailable` result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unavailable {
    /// Another listener, or another receiver of ours, has the exact URI's address.
    AddressInUse,
    /// The exact URI is not one that may be bound, or the system refuses its address.
    UriRejected,
    /// As many receivers are open as the registry admits.
    TooManyReceivers,
    /// The system gives no loopback listener at all.
    ListenerFailed,
}

impl Unavailable {
    /// The stable reason code.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AddressInUse => "redirect-address-in-use",
            Self::UriRejected => "redirect-uri-rejected",
            Self::TooManyReceivers => "redirect-limit-exceeded",
            Self::ListenerFailed => "redirect-listener-failed",
        }
    }
}

/// The one terminal result of a receiver. Serialises as `PresentationResult<ExternalRedirectValue>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// One GET was accepted.
    Submitted(Query),
    /// The caller took the receiver back.
    Cancelled,
    /// Nobody came in time.
    Expired,
    /// The receiver never opened.
    Unavailable(Unavailable),
}

impl Serialize for Outcome {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Value<'a> {
            query: &'a Query,
        }
        let mut result = serializer.serialize_struct("PresentationResult", 2)?;
        match self {
            Self::Submitted(query) => {
                result.serialize_field("status", "submitted")?;
                result.serialize_field("value", &Value { query })?;
            }
            Self::Cancelled => result.serialize_field("status", "cancelled")?,
            Self::Expired => result.serialize_field("status", "expired")?,
            Self::Unavailable(reason) => {
                result.serialize_field("status", "unavailable")?;
                result.serialize_field("reason", reason.as_str())?;
            }
        }
        result.end()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn serialises_as_a_presentation_result() {
        let query = Query::from_pairs(vec![("code".into(), "c".into())]);
        let text = |outcome| serde_json::to_string(&outcome).unwrap();
        assert_eq!(
            text(Outcome::Submitted(query)),
            r#"{"status":"submitted","value":{"query":{"code":["c"]}}}"#
        );
        assert_eq!(text(Outcome::Cancelled), r#"{"status":"cancelled"}"#);
        assert_eq!(text(Outcome::Expired), r#"{"status":"expired"}"#);
        assert_eq!(
            text(Outcome::Unavailable(Unavailable::AddressInUse)),
            r#"{"status":"unavailable","reason":"redirect-address-in-use"}"#
        );
    }
}
