//! Which resource of the gateway a path names (spec: gateway, HTTP 与 run 语义).

use crate::gateway::config::Config;
use crate::gateway::error::{Code, GatewayError};
use crate::gateway::files::{FileGrant, UploadHead};
use crate::gateway::head::decode;
use crate::gateway::ids::is_identity;
use crate::gateway::refusal::refuse;

/// A resource behind the route base, with what a valid head says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The run endpoint.
    Run,
    /// The files of a thread: takes a new one.
    Upload(UploadHead),
    /// An uploaded file.
    File(FileGrant),
    /// A declared deliverable.
    Deliverable(DeliverableHead),
    /// A run that a client goes on reading (X1).
    Reconnect(RunName),
}

/// Names a run of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RunName {
    /// The thread.
    pub thread_id: String,
    /// The run.
    pub run_id: String,
}

/// Names a declared file of a thread.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliverableHead {
    /// The thread.
    pub thread_id: String,
    /// Position of the declaration in the session log.
    pub event_seq: u64,
    /// Which of its files.
    pub index: u64,
}

/// A path of the gateway, its segments as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Path<'a> {
    Run,
    Upload {
        thread: &'a str,
    },
    File {
        thread: &'a str,
        file: &'a str,
    },
    Deliverable {
        thread: &'a str,
        event_seq: &'a str,
        index: &'a str,
    },
    Reconnect {
        thread: &'a str,
        run: &'a str,
    },
}

impl<'a> Path<'a> {
    /// Reads the raw path behind the route base, without its query.
    ///
    /// # Errors
    /// `NOT_FOUND` for a path that names nothing.
    pub(crate) fn parse(rest: &'a str) -> Result<Self, GatewayError> {
        let segments: Vec<&str> = rest.split('/').collect();
        match *segments {
            [""] | ["", ""] => Ok(Self::Run),
            ["", "threads", thread, "files"] => Ok(Self::Upload { thread }),
            ["", "threads", thread, "files", file] if !file.is_empty() => {
                Ok(Self::File { thread, file })
            }
            [
                "",
                "threads",
                thread,
                "deliverables",
                event_seq,
                "files",
                index,
            ] => Ok(Self::Deliverable {
                thread,
                event_seq,
                index,
            }),
            ["", "threads", thread, "runs", run] => Ok(Self::Reconnect { thread, run }),
            _ => Err(GatewayError::new(Code::NotFound, "no such route")),
        }
    }

    /// The method that it takes.
    pub(crate) const fn method(&self) -> &'static str {
        match self {
            Self::Run | Self::Upload { .. } => "POST",
            Self::File { .. } | Self::Deliverable { .. } | Self::Reconnect { .. } => "GET",
        }
    }
}

/// The thread that a segment names.
///
/// # Errors
/// `INVALID_IDENTITY` where it is no thread id.
pub(crate) fn thread_id(config: &Config, segment: &str) -> Result<String, GatewayError> {
    identity(config, "thread", segment)
}

/// The run that two segments name.
///
/// # Errors
/// `INVALID_IDENTITY` where one of them is no id.
pub(crate) fn run_name(config: &Config, thread: &str, run: &str) -> Result<RunName, GatewayError> {
    Ok(RunName {
        thread_id: identity(config, "thread", thread)?,
        run_id: identity(config, "run", run)?,
    })
}

/// The id that a percent-encoded segment is.
fn identity(config: &Config, what: &str, segment: &str) -> Result<String, GatewayError> {
    let max = config.request.identity_bytes;
    decode(segment)
        .filter(|id| is_identity(id, max))
        .ok_or_else(|| {
            GatewayError::new(
                Code::InvalidIdentity,
                format!(
                    "the {what} id must match [A-Za-z0-9][A-Za-z0-9._:-]* in at most {max} bytes"
                ),
            )
        })
}

/// A number of a deliverable's path. What is no number, or too large for one, names no file.
pub(crate) fn number(segment: &str) -> Result<u64, GatewayError> {
    Some(segment)
        .filter(|segment| segment.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|segment| segment.parse().ok())
        .ok_or_else(|| refuse(Code::FileNotFound))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_name_their_resource() {
        assert_eq!(Path::parse(""), Ok(Path::Run));
        assert_eq!(Path::parse("/"), Ok(Path::Run));
        assert_eq!(
            Path::parse("/threads/t/files"),
            Ok(Path::Upload { thread: "t" })
        );
        assert_eq!(
            Path::parse("/threads/t/files/x%2Fy"),
            Ok(Path::File {
                thread: "t",
                file: "x%2Fy"
            })
        );
        assert_eq!(
            Path::parse("/threads/t/deliverables/40/files/0"),
            Ok(Path::Deliverable {
                thread: "t",
                event_seq: "40",
                index: "0"
            })
        );
        for nothing in [
            "/x",
            "//",
            "/threads",
            "/threads/t",
            "/threads/t/files/",
            "/threads/t/files/a/b",
            "/threads/t/deliverables/1",
            "/threads/t/deliverables/1/files",
            "/threads/t/deliverables/1/files/0/",
            "x/threads/t/files",
        ] {
            assert_eq!(Path::parse(nothing).unwrap_err().code, Code::NotFound);
        }
    }

    #[test]
    fn a_thread_is_decoded_and_held_against_the_grammar() {
        let (config, _) = Config::parse(r#"{"sharedSecret":"0123456789abcdef"}"#).unwrap();
        assert_eq!(thread_id(&config, "a%3Ab").unwrap(), "a:b");
        assert_eq!(thread_id(&config, "a:b").unwrap(), "a:b");
        for bad in [
            "",
            "%",
            "%2",
            "a%20b",
            "%ff",
            "..",
            "a%2Fb",
            &"x".repeat(257),
        ] {
            let refused = thread_id(&config, bad).unwrap_err();
            assert_eq!(refused.code, Code::InvalidIdentity, "{bad}");
        }
    }

    #[test]
    fn numbers_are_digits_that_fit() {
        assert_eq!(number("0"), Ok(0));
        assert_eq!(number("18446744073709551615"), Ok(u64::MAX));
        for bad in ["", "-1", "+1", "1.0", "0x1", "18446744073709551616"] {
            assert_eq!(number(bad).unwrap_err().code, Code::FileNotFound, "{bad}");
        }
    }
}
