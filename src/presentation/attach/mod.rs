//! One end of an attachment: presentation over a duplex message channel (spec: presentation, Connection binding; P6).
//!
//! A [`Link`] is a deterministic value. Messages go in through [`Link::handle_message`], the local end speaks through the
//! other methods, and [`Link::poll_output`] gives what to send and what has happened. The Host's end sends requests, the
//! provider's end answers them. Whatever the peer does, each request ends exactly once:
//!
//! | the peer | what follows |
//! | --- | --- |
//! | sends what is no message | closed, `malformed-message` |
//! | sends more than `max_message_bytes` | closed, `message-too-large` |
//! | speaks out of turn (no greeting, wrong end, shows or announces twice) | closed, `message-out-of-order` |
//! | names a request that was never sent | closed, `unknown-request` |
//! | answers a request that is over, or twice | told `already-settled`; nothing else happens |
//! | is silent for `silence_ms` | closed, `channel-timeout` |
//! | vanishes | closed, `channel-lost` |
//! | says goodbye | closed, `channel-closed` |
//!
//! A closed link fails every pending request with `provider-disconnected` at the Host's end and cancels it at the provider's.

mod frame;
mod limits;
mod link;
mod output;
mod speech;
#[cfg(test)]
mod tests;

pub use frame::{Frame, Malformed, Reason, VERSION};
pub use limits::LinkLimits;
pub use link::Link;
pub use output::Output;

/// Which end of the attachment this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It asks.
    Host,
    /// It answers.
    Provider,
}
