//! Refusals that more than one rule gives (spec: gateway, 错误码).

use super::config::Config;
use super::error::{Code, GatewayError};

/// The answer where the Host, or its driver, could not do what was asked: a code of ours by its name on the wire, or
/// any other. Words of the Host's own stay where they are: they may name paths.
#[must_use]
pub fn refusal(code: &str) -> GatewayError {
    refuse(Code::named(code).unwrap_or(Code::AgentExecutionError))
}

/// The answer with a code of ours.
pub(crate) fn refuse(code: Code) -> GatewayError {
    let message = match code {
        Code::FileNotFound => "there is no such file",
        Code::FileForbidden => "this file is not for this thread",
        Code::FileTooLarge => "the file is larger than allowed",
        Code::FileNotStaged => {
            "a file was sent already or its upload is forgotten; upload it again"
        }
        Code::ContentLengthMismatch => "the body is not of the announced length",
        Code::UnsupportedMediaType => "the bytes are not an image of the announced type",
        Code::HostServiceMissing => "the Host lacks a service that this needs",
        Code::MessageLimitExceeded => "the Host takes fewer images in a message",
        Code::UnsupportedMessageContent => "the agent's model takes no images",
        Code::PresetLocked => return locked(),
        Code::AgentNotAvailable => return not_available(),
        _ => return GatewayError::new(Code::AgentExecutionError, "the Host failed"),
    };
    GatewayError::new(code, message)
}

pub(crate) fn not_available() -> GatewayError {
    GatewayError::new(
        Code::AgentNotAvailable,
        "the thread's agent is not available",
    )
}

/// A turn has begun with another preset.
pub(crate) fn locked() -> GatewayError {
    GatewayError::new(
        Code::PresetLocked,
        "the thread has begun with another preset",
    )
}

pub(crate) fn interrupted_error() -> GatewayError {
    GatewayError::new(
        Code::ThreadInterrupted,
        "a restart interrupted the last turn; send the message again to continue",
    )
}

pub(crate) fn conflict(what: &str) -> GatewayError {
    GatewayError::new(
        Code::MessageIdConflict,
        format!("a {what} id was used before with other content"),
    )
}

/// The answer where there is no run to go on with.
pub(crate) fn nothing_to_continue() -> GatewayError {
    GatewayError::new(Code::NotFound, "no such run")
}

/// The body is larger than allowed, whether announced or found while reading.
pub(crate) fn too_large(config: &Config) -> GatewayError {
    GatewayError::new(
        Code::RequestTooLarge,
        format!("the body exceeds {} bytes", config.request.bytes),
    )
}
