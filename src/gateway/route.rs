//! Which resource of the gateway a path names (spec: gateway, HTTP 与 run 语义).

use percent_encoding::percent_decode_str;

use super::config::Config;
use super::error::{Code, GatewayError};
use super::ids::is_identity;

/// A resource behind the route base, with what a valid head says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The run endpoint.
    Run,
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

/// A path of the gateway, its segments as they came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Path<'a> {
    Run,
    Reconnect { thread: &'a str, run: &'a str },
}

impl<'a> Path<'a> {
    /// Reads the raw path behind the route base, without its query.
    ///
    /// # Errors
    /// `NOT_FOUND` for a path that names nothing.
    pub(super) fn parse(rest: &'a str) -> Result<Self, GatewayError> {
        let segments: Vec<&str> = rest.split('/').collect();
        match *segments {
            [""] | ["", ""] => Ok(Self::Run),
            ["", "threads", thread, "runs", run] => Ok(Self::Reconnect { thread, run }),
            _ => Err(GatewayError::new(Code::NotFound, "no such route")),
        }
    }

    /// The method that it takes.
    pub(super) const fn method(&self) -> &'static str {
        match self {
            Self::Run => "POST",
            Self::Reconnect { .. } => "GET",
        }
    }
}

/// The run that two segments name.
///
/// # Errors
/// `INVALID_IDENTITY` where one of them is no id.
pub(super) fn run_name(config: &Config, thread: &str, run: &str) -> Result<RunName, GatewayError> {
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

/// A percent-encoded segment as text; `None` where it is not UTF-8.
fn decode(segment: &str) -> Option<String> {
    let decoded = percent_decode_str(segment).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn paths_name_their_resource() {
        assert_eq!(Path::parse(""), Ok(Path::Run));
        assert_eq!(Path::parse("/"), Ok(Path::Run));
        let (thread, run) = ("t", "r%3A1");
        assert_eq!(
            Path::parse("/threads/t/runs/r%3A1"),
            Ok(Path::Reconnect { thread, run })
        );
        for nothing in [
            "/x",
            "//",
            "/threads",
            "/threads/t",
            "/threads/t/runs",
            "/threads/t/runs/r/",
            "/threads/t/runs/r/x",
            "x/threads/t/runs/r",
            "/Threads/t/runs/r",
        ] {
            assert_eq!(
                Path::parse(nothing).unwrap_err().code,
                Code::NotFound,
                "{nothing}"
            );
        }
    }

    #[test]
    fn ids_are_decoded_and_held_against_the_grammar() {
        let (config, _) = Config::parse(r#"{"sharedSecret":"0123456789abcdef"}"#).unwrap();
        let name = run_name(&config, "a%3ab", "r:1").unwrap();
        assert_eq!((&*name.thread_id, &*name.run_id), ("a:b", "r:1"));
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
            for (thread, run) in [(bad, "r"), ("t", bad)] {
                let refused = run_name(&config, thread, run).unwrap_err();
                assert_eq!(refused.code, Code::InvalidIdentity, "{bad}");
            }
        }
    }
}
