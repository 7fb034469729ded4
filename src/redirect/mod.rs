//! The loopback receiver behind `ExternalRedirect` (spec: presentation, `ExternalRedirect`; P8).
//!
//! A [`Registry`] opens one-time receivers. Each ends exactly once, by one accepted GET, a cancellation, its
//! deadline, or because it could not be opened; the first of these to take the receiver's [`slot`] wins.
//!
//! Without sockets or clock: [`target`] (which URI, and who matches it), [`query`] (decoding), [`judge`] (what is
//! refused), [`page`] (what the browser sees), [`limits`], [`outcome`]. With them: [`slot`], [`registry`],
//! `listener`.
//!
//! What reaches the consumer is the decoded query and nothing else: no path, header, cookie, body or socket.

pub mod judge;
pub mod limits;
pub mod outcome;
pub mod page;
pub mod query;
pub mod registry;
pub mod slot;
pub mod target;
pub mod token;

mod listener;

pub use limits::{Expiry, LimitError, Limits};
pub use outcome::{Outcome, Ready, Unavailable};
pub use query::Query;
pub use registry::{Receiver, Registry, Request};
pub use target::{ExactUri, Target, UriRejection};

#[cfg(test)]
mod tests;
