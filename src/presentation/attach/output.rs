//! What a link gives its driver to do.

use super::Reason;
use crate::presentation::error::Code;
use crate::presentation::protocol::Kind;
use crate::presentation::secret::Secret;
use zeroize::Zeroizing;

/// What to do next.
#[derive(Debug)]
pub enum Output {
    /// Send this message.
    Send(Zeroizing<String>),
    /// Host's end: the provider introduced itself. Answer with [`Link::welcome`] or [`Link::close`].
    Hello {
        /// Its identity.
        participant: String,
        /// JSON of its supports.
        supports: String,
    },
    /// Provider's end: the Host attached it.
    Welcome,
    /// Provider's end: a request.
    Request {
        /// Its number.
        id: u64,
        /// Its kind.
        kind: Kind,
        /// Its JSON.
        input: String,
    },
    /// Host's end: the provider asks whether it may show it.
    Present {
        /// Its number.
        id: u64,
    },
    /// Provider's end: the answer to that.
    Presented {
        /// Its number.
        id: u64,
        /// Why it must not, if it must not.
        refusal: Option<Code>,
    },
    /// Host's end: the provider gives it back.
    Released {
        /// Its number.
        id: u64,
    },
    /// Host's end: a progress value.
    Progress {
        /// The request's number.
        id: u64,
        /// Its JSON.
        value: String,
    },
    /// Host's end: the result. The request is over.
    Result {
        /// The request's number.
        id: u64,
        /// Its JSON.
        result: String,
        /// The secret beside it.
        secret: Option<Secret>,
    },
    /// Host's end: no result will come. The request is over.
    Failed {
        /// The request's number.
        id: u64,
        /// Why.
        code: Code,
    },
    /// Provider's end: the request is over.
    Cancelled {
        /// Its number.
        id: u64,
        /// Why.
        reason: Reason,
    },
    /// Provider's end: the Host refused what was last said of the request.
    Refused {
        /// Its number.
        id: u64,
        /// Why.
        code: Code,
    },
    /// The link is over; nothing follows.
    Closed {
        /// Why.
        code: Code,
    },
}
