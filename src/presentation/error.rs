//! The error classes of the specification as stable codes (spec: presentation, Errors; P10).

use std::fmt;

/// A stable error code. Its text is part of the public face and never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// The kind or operation is not part of a current agreement.
    NotNegotiated,
    /// No provider can be bound, or the bound one is gone.
    ProviderUnavailable,
    /// The invocation has ended, or the request names another invocation, origin or deadline.
    InvalidScope,
    /// The request id was used before with another payload.
    RequestConflict,
    /// The request already has its terminal result.
    AlreadySettled,
    /// The request was cancelled before.
    RequestCancelled,
    /// The deadline of the request passed before.
    RequestExpired,
    /// The caller does not hold the authority over the request.
    AuthorityConflict,
    /// A field, option, URI, text or detail is invalid.
    InvalidRequest,
    /// A redirect result was submitted before its receiver was announced.
    RedirectNotReady,
    /// The exact redirect address is taken.
    RedirectAddressInUse,
    /// The exact redirect URI is refused by the platform or by policy, or was not bound verbatim.
    RedirectUriRejected,
    /// The redirect receiver has already taken its request, or was announced twice.
    RedirectUsed,
    /// The redirect receiver was revoked.
    RedirectRevoked,
    /// The answer does not match the schema of its request.
    InvalidAnswer,
    /// Permission or policy refuses the operation.
    PermissionDenied,
    /// More requests run at once than the agreement, connection or product allows.
    ConcurrencyLimit,
    /// The queue of waiting requests is full.
    QueueLimit,
    /// A count or length exceeds the strictest limit.
    SizeLimit,
    /// The invocation has used up its request ids.
    RequestLimit,
    /// The provider's endpoint is gone.
    ProviderDisconnected,
    /// The provider's implementation threw or answered something that is no result.
    ImplementationFailed,
    /// A message of the attachment is not well formed.
    MalformedMessage,
    /// A message of the attachment exceeds the size limit.
    MessageTooLarge,
    /// A message of the attachment is not allowed in the current state.
    MessageOutOfOrder,
    /// A message of the attachment names a request that was never sent.
    UnknownRequest,
    /// The peer was silent for too long.
    ChannelTimeout,
    /// The channel ended without the closing message.
    ChannelLost,
    /// The channel was closed in good order.
    ChannelClosed,
}

impl Code {
    /// Every code, in declaration order.
    pub const ALL: [Code; 29] = [
        Code::NotNegotiated,
        Code::ProviderUnavailable,
        Code::InvalidScope,
        Code::RequestConflict,
        Code::AlreadySettled,
        Code::RequestCancelled,
        Code::RequestExpired,
        Code::AuthorityConflict,
        Code::InvalidRequest,
        Code::RedirectNotReady,
        Code::RedirectAddressInUse,
        Code::RedirectUriRejected,
        Code::RedirectUsed,
        Code::RedirectRevoked,
        Code::InvalidAnswer,
        Code::PermissionDenied,
        Code::ConcurrencyLimit,
        Code::QueueLimit,
        Code::SizeLimit,
        Code::RequestLimit,
        Code::ProviderDisconnected,
        Code::ImplementationFailed,
        Code::MalformedMessage,
        Code::MessageTooLarge,
        Code::MessageOutOfOrder,
        Code::UnknownRequest,
        Code::ChannelTimeout,
        Code::ChannelLost,
        Code::ChannelClosed,
    ];

    /// The public text of the code.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Code::NotNegotiated => "not-negotiated",
            Code::ProviderUnavailable => "provider-unavailable",
            Code::InvalidScope => "invalid-scope",
            Code::RequestConflict => "request-conflict",
            Code::AlreadySettled => "already-settled",
            Code::RequestCancelled => "request-cancelled",
            Code::RequestExpired => "request-expired",
            Code::AuthorityConflict => "authority-conflict",
            Code::InvalidRequest => "invalid-request",
            Code::RedirectNotReady => "redirect-not-ready",
            Code::RedirectAddressInUse => "redirect-address-in-use",
            Code::RedirectUriRejected => "redirect-uri-rejected",
            Code::RedirectUsed => "redirect-used",
            Code::RedirectRevoked => "redirect-revoked",
            Code::InvalidAnswer => "invalid-answer",
            Code::PermissionDenied => "permission-denied",
            Code::ConcurrencyLimit => "concurrency-limit",
            Code::QueueLimit => "queue-limit",
            Code::SizeLimit => "size-limit",
            Code::RequestLimit => "request-limit",
            Code::ProviderDisconnected => "provider-disconnected",
            Code::ImplementationFailed => "implementation-failed",
            Code::MalformedMessage => "malformed-message",
            Code::MessageTooLarge => "message-too-large",
            Code::MessageOutOfOrder => "message-out-of-order",
            Code::UnknownRequest => "unknown-request",
            Code::ChannelTimeout => "channel-timeout",
            Code::ChannelLost => "channel-lost",
            Code::ChannelClosed => "channel-closed",
        }
    }

    /// The code with this text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Code> {
        Code::ALL.into_iter().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What went wrong and where. The message names paths, identifiers and limits; it never carries
/// an answer, a secret, a detail or a text of the request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The stable code.
    pub code: Code,
    /// Where in the value, for example `Question request.fields[0].id`; empty when no value is at fault.
    pub path: String,
    /// One sentence that begins with the thing that is wrong.
    pub message: String,
}

impl Error {
    /// An error that no single value is at fault for.
    pub fn new(code: Code, message: impl Into<String>) -> Error {
        Error {
            code,
            path: String::new(),
            message: message.into(),
        }
    }

    /// An error at `path`; the message is the path followed by `problem`.
    pub fn at(code: Code, path: impl fmt::Display, problem: impl fmt::Display) -> Error {
        let path = path.to_string();
        let message = format!("{path} {problem}");
        Error {
            code,
            path,
            message,
        }
    }

    /// The same error under another code.
    #[must_use]
    pub fn with_code(mut self, code: Code) -> Error {
        self.code = code;
        self
    }

    /// `{"code","path","message"}`, the form in which an error crosses to JavaScript.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::json!({ "code": self.code.as_str(), "path": self.path, "message": self.message }).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_and_parse_back() {
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(code));
        }
        assert_eq!(Code::parse("something-else"), None);
    }

    #[test]
    fn the_message_begins_with_the_path() {
        let error = Error::at(
            Code::InvalidRequest,
            "Question request.fields[0].id",
            "is required",
        );
        assert_eq!(error.message, "Question request.fields[0].id is required");
        assert_eq!(
            error.to_json(),
            r#"{"code":"invalid-request","message":"Question request.fields[0].id is required","path":"Question request.fields[0].id"}"#
        );
    }
}
