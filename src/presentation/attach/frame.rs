//! The messages of an attachment: one JSON object each, strictly read.

use crate::presentation::error::Code;
use crate::presentation::json::{Json, member, write_string};
use crate::presentation::protocol::Kind;
use crate::presentation::secret::Secret;
use crate::presentation::validate::record::{Members, Path, exact, safe_integer, text};
use std::borrow::Cow;
use std::fmt::Write as _;
use zeroize::Zeroizing;

/// Version of the attachment's messages.
pub const VERSION: u64 = 1;

/// One message. `id` numbers the requests of one attachment, from 1.
#[derive(Debug)]
pub enum Frame<'a> {
    /// Provider: who it is and what it supports. Its first message.
    Hello {
        participant: Cow<'a, str>,
        supports: Json<'a>,
    },
    /// Host: the provider is attached. Its first message.
    Welcome,
    /// Host: a request.
    Request {
        id: u64,
        kind: Kind,
        input: Json<'a>,
    },
    /// Provider: may I show it?
    Present { id: u64 },
    /// Host: you may; nobody else may any more.
    Granted { id: u64 },
    /// Host: you may not.
    Denied { id: u64, code: Code },
    /// Provider: I give it back.
    Release { id: u64 },
    /// Provider: a progress value.
    Progress { id: u64, value: Json<'a> },
    /// Provider: the result; the secret of a secret input stands beside it, in hexadecimal.
    Result {
        id: u64,
        result: Json<'a>,
        secret: Option<Secret>,
    },
    /// Provider: the implementation failed. Only the code travels: messages could quote anything.
    Failed { id: u64, code: Code },
    /// Host: the request is no longer yours.
    Cancel { id: u64, reason: Reason },
    /// Host: what you last said of this request came too late, or was refused.
    Settled { id: u64, code: Code },
    /// Either: are you there?
    Ping,
    /// Either: I am.
    Pong,
    /// Either: the last message, and why.
    Bye { code: Code },
}

/// Why a request is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// It was cancelled.
    Cancelled,
    /// It expired.
    Expired,
    /// It moves to another provider.
    Transferred,
}

impl Reason {
    /// The text on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Reason::Cancelled => "cancelled",
            Reason::Expired => "expired",
            Reason::Transferred => "transferred",
        }
    }

    /// The reason with this text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Reason> {
        [Reason::Cancelled, Reason::Expired, Reason::Transferred]
            .into_iter()
            .find(|reason| reason.as_str() == text)
    }
}

/// A message that is not one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Malformed;

const ROOT: Path<'static> = Path::Root("message");

impl<'a> Frame<'a> {
    /// Reads one message.
    ///
    /// # Errors
    /// [`Malformed`]: the reader is not told more, since a message may hold a secret.
    pub fn parse(source: &'a str) -> Result<Frame<'a>, Malformed> {
        let value = Json::parse(source, "message").map_err(|_| Malformed)?;
        let Json::Object(mut members) = value else {
            return Err(Malformed);
        };
        let name = member(&members, "t")
            .and_then(Json::as_str)
            .ok_or(Malformed)?
            .to_owned();
        let allow =
            |fields: &[&str], required: &[&str], members: &Members<'a>| -> Result<(), Malformed> {
                let known = members
                    .iter()
                    .all(|(name, _)| name == "t" || fields.contains(&name.as_ref()));
                let complete = required.iter().all(|name| member(members, name).is_some());
                if known && complete {
                    Ok(())
                } else {
                    Err(Malformed)
                }
            };
        match name.as_str() {
            "hello" => {
                allow(
                    &["v", "participant", "supports"],
                    &["v", "participant", "supports"],
                    &members,
                )?;
                if safe_integer(&ROOT, &members, "v", 1).map_err(|_| Malformed)? != Some(VERSION) {
                    return Err(Malformed);
                }
                text(&ROOT, &members, "participant").map_err(|_| Malformed)?;
                let Some(Json::String(participant)) = take(&mut members, "participant") else {
                    return Err(Malformed);
                };
                Ok(Frame::Hello {
                    participant,
                    supports: take(&mut members, "supports").ok_or(Malformed)?,
                })
            }
            "welcome" => {
                allow(&["v"], &["v"], &members)?;
                match safe_integer(&ROOT, &members, "v", 1) {
                    Ok(Some(VERSION)) => Ok(Frame::Welcome),
                    _ => Err(Malformed),
                }
            }
            "request" => {
                allow(&["id", "kind", "input"], &["id", "kind", "input"], &members)?;
                let kind = text(&ROOT, &members, "kind")
                    .ok()
                    .and_then(Kind::parse)
                    .ok_or(Malformed)?;
                Ok(Frame::Request {
                    id: id(&members)?,
                    kind,
                    input: take(&mut members, "input").ok_or(Malformed)?,
                })
            }
            "present" | "granted" | "release" => {
                allow(&["id"], &["id"], &members)?;
                let id = id(&members)?;
                Ok(match name.as_str() {
                    "present" => Frame::Present { id },
                    "granted" => Frame::Granted { id },
                    _ => Frame::Release { id },
                })
            }
            "progress" => {
                allow(&["id", "value"], &["id", "value"], &members)?;
                Ok(Frame::Progress {
                    id: id(&members)?,
                    value: take(&mut members, "value").ok_or(Malformed)?,
                })
            }
            "result" => {
                allow(&["id", "result", "secret"], &["id", "result"], &members)?;
                let secret = match member(&members, "secret") {
                    None => None,
                    // An escaped string would have left a copy that nobody overwrites.
                    Some(Json::String(Cow::Borrowed(hex))) => {
                        Some(Secret::from_hex(hex).ok_or(Malformed)?)
                    }
                    Some(_) => return Err(Malformed),
                };
                Ok(Frame::Result {
                    id: id(&members)?,
                    result: take(&mut members, "result").ok_or(Malformed)?,
                    secret,
                })
            }
            "failed" | "denied" | "settled" => {
                allow(&["id", "code"], &["id", "code"], &members)?;
                let (id, code) = (id(&members)?, code(&members)?);
                Ok(match name.as_str() {
                    "failed" => Frame::Failed { id, code },
                    "denied" => Frame::Denied { id, code },
                    _ => Frame::Settled { id, code },
                })
            }
            "cancel" => {
                allow(&["id", "reason"], &["id", "reason"], &members)?;
                let reason = text(&ROOT, &members, "reason")
                    .ok()
                    .and_then(Reason::parse)
                    .ok_or(Malformed)?;
                Ok(Frame::Cancel {
                    id: id(&members)?,
                    reason,
                })
            }
            "ping" | "pong" => {
                exact(&ROOT, &Json::Object(members), &["t"], &[]).map_err(|_| Malformed)?;
                Ok(if name == "ping" {
                    Frame::Ping
                } else {
                    Frame::Pong
                })
            }
            "bye" => {
                allow(&["code"], &["code"], &members)?;
                Ok(Frame::Bye {
                    code: code(&members)?,
                })
            }
            _ => Err(Malformed),
        }
    }

    /// Writes the message. The buffer is overwritten when it is dropped, since it may hold a secret.
    #[must_use]
    pub fn write(&self) -> Zeroizing<String> {
        let mut out = match self {
            // One allocation of the final size: growing would leave copies of the secret behind.
            Frame::Result { result, secret, .. } => {
                let text = result.to_text();
                let size = text.len()
                    + secret
                        .as_ref()
                        .map_or(0, |secret| secret.expose().len() * 2)
                    + 64;
                Zeroizing::new(String::with_capacity(size))
            }
            _ => Zeroizing::new(String::new()),
        };
        out.push_str("{\"t\":\"");
        out.push_str(self.name());
        out.push('"');
        match self {
            Frame::Hello {
                participant,
                supports,
            } => {
                let _ = write!(out, ",\"v\":{VERSION},\"participant\":");
                write_string(participant, &mut out);
                out.push_str(",\"supports\":");
                supports.write(&mut out);
            }
            Frame::Welcome => {
                let _ = write!(out, ",\"v\":{VERSION}");
            }
            Frame::Request { id, kind, input } => {
                let _ = write!(
                    out,
                    ",\"id\":{id},\"kind\":\"{}\",\"input\":",
                    kind.as_str()
                );
                input.write(&mut out);
            }
            Frame::Present { id } | Frame::Granted { id } | Frame::Release { id } => {
                let _ = write!(out, ",\"id\":{id}");
            }
            Frame::Progress { id, value } => {
                let _ = write!(out, ",\"id\":{id},\"value\":");
                value.write(&mut out);
            }
            Frame::Result { id, result, secret } => {
                let _ = write!(out, ",\"id\":{id},\"result\":");
                result.write(&mut out);
                if let Some(secret) = secret {
                    let hex = secret.to_hex();
                    out.push_str(",\"secret\":\"");
                    out.push_str(&hex);
                    out.push('"');
                }
            }
            Frame::Failed { id, code }
            | Frame::Denied { id, code }
            | Frame::Settled { id, code } => {
                let _ = write!(out, ",\"id\":{id},\"code\":\"{code}\"");
            }
            Frame::Cancel { id, reason } => {
                let _ = write!(out, ",\"id\":{id},\"reason\":\"{}\"", reason.as_str());
            }
            Frame::Ping | Frame::Pong => {}
            Frame::Bye { code } => {
                let _ = write!(out, ",\"code\":\"{code}\"");
            }
        }
        out.push('}');
        out
    }

    const fn name(&self) -> &'static str {
        match self {
            Frame::Hello { .. } => "hello",
            Frame::Welcome => "welcome",
            Frame::Request { .. } => "request",
            Frame::Present { .. } => "present",
            Frame::Granted { .. } => "granted",
            Frame::Denied { .. } => "denied",
            Frame::Release { .. } => "release",
            Frame::Progress { .. } => "progress",
            Frame::Result { .. } => "result",
            Frame::Failed { .. } => "failed",
            Frame::Cancel { .. } => "cancel",
            Frame::Settled { .. } => "settled",
            Frame::Ping => "ping",
            Frame::Pong => "pong",
            Frame::Bye { .. } => "bye",
        }
    }
}

fn id(members: &Members<'_>) -> Result<u64, Malformed> {
    safe_integer(&ROOT, members, "id", 1)
        .ok()
        .flatten()
        .ok_or(Malformed)
}

fn code(members: &Members<'_>) -> Result<Code, Malformed> {
    text(&ROOT, members, "code")
        .ok()
        .and_then(Code::parse)
        .ok_or(Malformed)
}

fn take<'a>(members: &mut Vec<(Cow<'a, str>, Json<'a>)>, name: &str) -> Option<Json<'a>> {
    let position = members.iter().position(|(key, _)| key == name)?;
    Some(members.swap_remove(position).1)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_message_reads_back_as_it_was_written() {
        for text in [
            r#"{"t":"hello","v":1,"participant":"tui","supports":[{"kind":"X"}]}"#,
            r#"{"t":"welcome","v":1}"#,
            r#"{"t":"request","id":1,"kind":"CopyText","input":{"text":"\"x\""}}"#,
            r#"{"t":"present","id":7}"#,
            r#"{"t":"granted","id":7}"#,
            r#"{"t":"denied","id":7,"code":"already-settled"}"#,
            r#"{"t":"release","id":7}"#,
            r#"{"t":"progress","id":7,"value":{"type":"ready"}}"#,
            r#"{"t":"result","id":7,"result":{"status":"cancelled"}}"#,
            r#"{"t":"result","id":7,"result":{"status":"submitted","value":{}},"secret":"68c3a4"}"#,
            r#"{"t":"failed","id":7,"code":"implementation-failed"}"#,
            r#"{"t":"cancel","id":7,"reason":"expired"}"#,
            r#"{"t":"settled","id":7,"code":"already-settled"}"#,
            r#"{"t":"ping"}"#,
            r#"{"t":"pong"}"#,
            r#"{"t":"bye","code":"channel-closed"}"#,
        ] {
            assert_eq!(*Frame::parse(text).unwrap().write(), *text);
        }
    }

    #[test]
    fn anything_else_is_malformed() {
        for text in [
            "",
            "null",
            "[]",
            "{}",
            r#"{"t":1}"#,
            r#"{"t":"other"}"#,
            r#"{"t":"ping","n":1}"#,
            r#"{"t":"present"}"#,
            r#"{"t":"present","id":0}"#,
            r#"{"t":"present","id":-1}"#,
            r#"{"t":"present","id":1.5}"#,
            r#"{"t":"present","id":"1"}"#,
            r#"{"t":"present","id":9007199254740993}"#,
            r#"{"t":"present","id":1,"id":2}"#,
            r#"{"t":"present","id":1,"x":1}"#,
            r#"{"t":"hello","v":2,"participant":"tui","supports":[]}"#,
            r#"{"t":"hello","v":1,"participant":"","supports":[]}"#,
            r#"{"t":"request","id":1,"kind":"Other","input":{}}"#,
            r#"{"t":"failed","id":1,"code":"boom"}"#,
            r#"{"t":"cancel","id":1,"reason":"because"}"#,
            r#"{"t":"result","id":1,"result":{},"secret":"\u0036"}"#,
            r#"{"t":"result","id":1,"result":{},"secret":"6"}"#,
            r#"{"t":"result","id":1,"result":{},"secret":6}"#,
            r#"{"t":"result","id":1,"result":"\ud800"}"#,
            r#"{"t":"ping"} {"t":"ping"}"#,
        ] {
            assert_eq!(Frame::parse(text).map(|_| ()), Err(Malformed), "{text}");
        }
    }

    #[test]
    fn a_result_is_written_without_growing_its_buffer() {
        let secret = Some(Secret::new("x".repeat(5_000)));
        let result = Json::parse(r#"{"status":"submitted","value":{}}"#, "v").unwrap();
        let text = Frame::Result {
            id: u64::MAX >> 11,
            result: result.clone(),
            secret,
        }
        .write();
        assert!(text.capacity() <= result.to_text().len() + 10_000 + 64);
        assert!(!format!("{:?}", Frame::parse(&text).unwrap()).contains("7878"));
    }
}
