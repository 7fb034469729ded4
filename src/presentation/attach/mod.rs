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
#[cfg(test)]
mod tests;

pub use frame::{Frame, Malformed, Reason, VERSION};

use super::error::{Code, Error};
use super::host::Millis;
use super::json::Json;
use super::protocol::Kind;
use super::secret::Secret;
use std::collections::{BTreeMap, VecDeque};
use zeroize::Zeroizing;

/// Which end of the attachment this is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// It asks.
    Host,
    /// It answers.
    Provider,
}

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
        use super::validate::record::{Path, exact, safe_integer};
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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The peer has not greeted yet.
    Opening,
    /// The peer has greeted; the local end has not answered.
    Greeted,
    Open,
    Closed,
}

/// What has been said of a pending request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Pending {
    showing: Showing,
    progress: Progress,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Showing {
    #[default]
    No,
    Asked,
    Granted,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Progress {
    #[default]
    None,
    Made,
}

/// One end of an attachment.
pub struct Link {
    role: Role,
    limits: LinkLimits,
    phase: Phase,
    last: u64,
    pending: BTreeMap<u64, Pending>,
    outputs: VecDeque<Output>,
    heard: Millis,
    pinged: Option<Millis>,
}

impl Link {
    /// The Host's end. It waits for the provider's greeting.
    #[must_use]
    pub fn host(now: Millis, limits: LinkLimits) -> Link {
        Link::new(Role::Host, now, limits)
    }

    /// The provider's end. It greets at once.
    ///
    /// # Errors
    /// `message-too-large` when the greeting is.
    pub fn provider(
        now: Millis,
        limits: LinkLimits,
        participant: &str,
        supports: &str,
    ) -> Result<Link, Error> {
        let mut link = Link::new(Role::Provider, now, limits);
        let supports = Json::parse(supports, "Presentation supports")?;
        link.send_checked(&Frame::Hello {
            participant: participant.into(),
            supports,
        })?;
        Ok(link)
    }

    fn new(role: Role, now: Millis, limits: LinkLimits) -> Link {
        Link {
            role,
            limits,
            phase: Phase::Opening,
            last: 0,
            pending: BTreeMap::new(),
            outputs: VecDeque::new(),
            heard: now,
            pinged: None,
        }
    }

    /// The next thing to do.
    pub fn poll_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`Link::handle_timeout`] is due.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Millis> {
        match (self.phase, self.pinged) {
            (Phase::Closed, _) => None,
            (Phase::Opening, _) => Some(self.heard.after(self.limits.opening_ms)),
            (_, None) => Some(
                self.heard
                    .after(self.limits.ping_ms.min(self.limits.silence_ms)),
            ),
            (_, Some(pinged)) => {
                let gone = self.heard.after(self.limits.silence_ms);
                Some(gone.min(pinged.after(self.limits.ping_ms)))
            }
        }
    }

    /// Pings a silent peer, and closes on one that has been silent for too long.
    pub fn handle_timeout(&mut self, now: Millis) {
        if self.poll_timeout().is_none_or(|due| due > now) {
            return;
        }
        let patience = if self.phase == Phase::Opening {
            self.limits.opening_ms
        } else {
            self.limits.silence_ms
        };
        if now >= self.heard.after(patience) {
            self.end(Code::ChannelTimeout, Farewell::Said);
        } else {
            self.pinged = Some(now);
            self.send(&Frame::Ping);
        }
    }

    /// The channel is gone.
    pub fn handle_lost(&mut self) {
        self.end(Code::ChannelLost, Farewell::Unsaid);
    }

    /// Says goodbye and ends the link.
    pub fn close(&mut self, code: Code) {
        self.end(code, Farewell::Said);
    }

    /// How many requests are not over.
    #[must_use]
    pub fn pending(&self) -> usize {
        self.pending.len()
    }

    /// A message came. `None` is one that was no text.
    pub fn handle_message(&mut self, now: Millis, message: Option<&str>) {
        if self.phase == Phase::Closed {
            return;
        }
        self.heard = now;
        self.pinged = None;
        let outcome = match message {
            Some(text) if text.len() as u64 > self.limits.max_message_bytes => {
                Err(Code::MessageTooLarge)
            }
            Some(text) => Frame::parse(text)
                .map_err(|Malformed| Code::MalformedMessage)
                .and_then(|frame| self.receive(frame)),
            None => Err(Code::MalformedMessage),
        };
        if let Err(code) = outcome {
            self.end(code, Farewell::Said);
        }
    }

    fn receive(&mut self, frame: Frame<'_>) -> Result<(), Code> {
        match (self.role, self.phase, frame) {
            (_, _, Frame::Ping) => {
                self.send(&Frame::Pong);
                Ok(())
            }
            (_, _, Frame::Pong) => Ok(()),
            (_, _, Frame::Bye { code }) => {
                self.end(code, Farewell::Unsaid);
                Ok(())
            }
            (
                Role::Host,
                Phase::Opening,
                Frame::Hello {
                    participant,
                    supports,
                },
            ) => {
                self.phase = Phase::Greeted;
                self.outputs.push_back(Output::Hello {
                    participant: participant.into_owned(),
                    supports: supports.to_text(),
                });
                Ok(())
            }
            (Role::Provider, Phase::Opening, Frame::Welcome) => {
                self.phase = Phase::Open;
                self.outputs.push_back(Output::Welcome);
                Ok(())
            }
            (Role::Host, Phase::Open, frame) => self.receive_answer(frame),
            (Role::Provider, Phase::Open, frame) => self.receive_request(frame),
            _ => Err(Code::MessageOutOfOrder),
        }
    }

    /// What a provider says of a request.
    fn receive_answer(&mut self, frame: Frame<'_>) -> Result<(), Code> {
        let (Frame::Present { id }
        | Frame::Release { id }
        | Frame::Progress { id, .. }
        | Frame::Result { id, .. }
        | Frame::Failed { id, .. }) = frame
        else {
            return Err(Code::MessageOutOfOrder);
        };
        if id > self.last {
            return Err(Code::UnknownRequest);
        }
        let Some(pending) = self.pending.get_mut(&id) else {
            // It was cancelled meanwhile, or answered before.
            self.send(&Frame::Settled {
                id,
                code: Code::AlreadySettled,
            });
            return Ok(());
        };
        let output = match frame {
            Frame::Present { .. } if pending.showing == Showing::No => {
                pending.showing = Showing::Asked;
                Output::Present { id }
            }
            Frame::Progress { value, .. } if pending.progress == Progress::None => {
                pending.progress = Progress::Made;
                Output::Progress {
                    id,
                    value: value.to_text(),
                }
            }
            Frame::Present { .. } | Frame::Progress { .. } => return Err(Code::MessageOutOfOrder),
            Frame::Release { .. } => {
                self.pending.remove(&id);
                Output::Released { id }
            }
            Frame::Result { result, secret, .. } => {
                self.pending.remove(&id);
                Output::Result {
                    id,
                    result: result.to_text(),
                    secret,
                }
            }
            Frame::Failed { code, .. } => {
                self.pending.remove(&id);
                // That is for the link itself to say, of a peer that is gone.
                let code = match code {
                    Code::ProviderDisconnected => Code::ImplementationFailed,
                    code => code,
                };
                Output::Failed { id, code }
            }
            _ => return Err(Code::MessageOutOfOrder),
        };
        self.outputs.push_back(output);
        Ok(())
    }

    /// What a Host says.
    fn receive_request(&mut self, frame: Frame<'_>) -> Result<(), Code> {
        match frame {
            Frame::Request { id, kind, input } => {
                if id != self.last + 1 {
                    return Err(Code::MessageOutOfOrder);
                }
                self.last = id;
                if self.pending.len() as u64 >= self.limits.max_pending {
                    self.send(&Frame::Failed {
                        id,
                        code: Code::ConcurrencyLimit,
                    });
                    return Ok(());
                }
                self.pending.insert(id, Pending::default());
                self.outputs.push_back(Output::Request {
                    id,
                    kind,
                    input: input.to_text(),
                });
                Ok(())
            }
            Frame::Granted { id } | Frame::Denied { id, .. } => {
                self.check_known(id)?;
                let Some(pending) = self.pending.get_mut(&id) else {
                    return Ok(());
                };
                if pending.showing != Showing::Asked {
                    return Err(Code::MessageOutOfOrder);
                }
                pending.showing = Showing::Granted;
                let refusal = if let Frame::Denied { code, .. } = frame {
                    Some(code)
                } else {
                    None
                };
                self.outputs.push_back(Output::Presented { id, refusal });
                Ok(())
            }
            Frame::Cancel { id, reason } => {
                self.check_known(id)?;
                if self.pending.remove(&id).is_some() {
                    self.outputs.push_back(Output::Cancelled { id, reason });
                }
                Ok(())
            }
            Frame::Settled { id, code } => {
                self.check_known(id)?;
                self.outputs.push_back(Output::Refused { id, code });
                Ok(())
            }
            _ => Err(Code::MessageOutOfOrder),
        }
    }

    fn check_known(&self, id: u64) -> Result<(), Code> {
        if id > self.last {
            Err(Code::UnknownRequest)
        } else {
            Ok(())
        }
    }

    /// Host's end: accepts the provider that introduced itself.
    pub fn welcome(&mut self) {
        if self.phase == Phase::Greeted {
            self.phase = Phase::Open;
            self.send(&Frame::Welcome);
        }
    }

    /// Host's end: sends a request and gives its number.
    ///
    /// # Errors
    /// `provider-disconnected` unless the link is open, `concurrency-limit`, `message-too-large`.
    pub fn request(&mut self, kind: Kind, input: &str) -> Result<u64, Error> {
        if self.phase != Phase::Open {
            return Err(Error::new(
                Code::ProviderDisconnected,
                "the presentation attachment is not open",
            ));
        }
        if self.pending.len() as u64 >= self.limits.max_pending {
            return Err(Error::new(
                Code::ConcurrencyLimit,
                "the presentation attachment has too many pending requests",
            ));
        }
        let input = Json::parse(input, "Presentation request")?;
        let id = self.last + 1;
        self.send_checked(&Frame::Request { id, kind, input })?;
        self.last = id;
        self.pending.insert(id, Pending::default());
        Ok(id)
    }

    /// Host's end: answers whether a request may be shown.
    pub fn answer_present(&mut self, id: u64, refusal: Option<Code>) {
        if let Some(pending) = self.pending.get_mut(&id)
            && pending.showing == Showing::Asked
        {
            pending.showing = Showing::Granted;
            self.send(&match refusal {
                None => Frame::Granted { id },
                Some(code) => Frame::Denied { id, code },
            });
        }
    }

    /// Host's end: the request is no longer the provider's.
    pub fn cancel(&mut self, id: u64, reason: Reason) {
        if self.pending.remove(&id).is_some() {
            self.send(&Frame::Cancel { id, reason });
        }
    }

    /// Host's end: what the provider said of the request was refused.
    pub fn refuse(&mut self, id: u64, code: Code) {
        if self.phase == Phase::Open && id <= self.last {
            self.send(&Frame::Settled { id, code });
        }
    }

    /// Provider's end: asks whether it may show the request.
    ///
    /// # Errors
    /// `already-settled` when it is over, `authority-conflict` when it was asked before.
    pub fn present(&mut self, id: u64) -> Result<(), Error> {
        let pending = self.pending.get_mut(&id).ok_or_else(over)?;
        if pending.showing != Showing::No {
            return Err(Error::new(
                Code::AuthorityConflict,
                "the presentation request was presented before",
            ));
        }
        pending.showing = Showing::Asked;
        self.send(&Frame::Present { id });
        Ok(())
    }

    /// Provider's end: announces progress.
    ///
    /// # Errors
    /// `already-settled`, `redirect-used` for a second value, `message-too-large`.
    pub fn progress(&mut self, id: u64, value: &str) -> Result<(), Error> {
        let pending = *self.pending.get(&id).ok_or_else(over)?;
        if pending.progress == Progress::Made {
            return Err(Error::new(
                Code::RedirectUsed,
                "ExternalRedirect provider announced more than one ready event",
            ));
        }
        let value = Json::parse(value, "ExternalRedirect ready")?;
        self.send_checked(&Frame::Progress { id, value })?;
        if let Some(pending) = self.pending.get_mut(&id) {
            pending.progress = Progress::Made;
        }
        Ok(())
    }

    /// Provider's end: answers the request.
    ///
    /// # Errors
    /// `already-settled`; `message-too-large`, after which the request may still be answered otherwise.
    pub fn answer(&mut self, id: u64, result: &str, secret: Option<Secret>) -> Result<(), Error> {
        if !self.pending.contains_key(&id) {
            return Err(over());
        }
        let result = Json::parse(result, "Presentation result")?;
        self.send_checked(&Frame::Result { id, result, secret })?;
        self.pending.remove(&id);
        Ok(())
    }

    /// Provider's end: gives the request back.
    ///
    /// # Errors
    /// `already-settled`.
    pub fn release(&mut self, id: u64) -> Result<(), Error> {
        self.pending.remove(&id).ok_or_else(over)?;
        self.send(&Frame::Release { id });
        Ok(())
    }

    /// Provider's end: its implementation failed.
    ///
    /// # Errors
    /// `already-settled`.
    pub fn fail(&mut self, id: u64, code: Code) -> Result<(), Error> {
        self.pending.remove(&id).ok_or_else(over)?;
        self.send(&Frame::Failed { id, code });
        Ok(())
    }

    fn send(&mut self, frame: &Frame<'_>) {
        self.outputs.push_back(Output::Send(frame.write()));
    }

    fn send_checked(&mut self, frame: &Frame<'_>) -> Result<(), Error> {
        let text = frame.write();
        if text.len() as u64 > self.limits.max_message_bytes {
            let limit = self.limits.max_message_bytes;
            return Err(Error::new(
                Code::MessageTooLarge,
                format!("a message of the attachment must not have more than {limit} bytes"),
            ));
        }
        self.outputs.push_back(Output::Send(text));
        Ok(())
    }

    fn end(&mut self, code: Code, farewell: Farewell) {
        if self.phase == Phase::Closed {
            return;
        }
        self.phase = Phase::Closed;
        if farewell == Farewell::Said {
            self.send(&Frame::Bye { code });
        }
        for id in std::mem::take(&mut self.pending).into_keys() {
            self.outputs.push_back(match self.role {
                Role::Host => Output::Failed {
                    id,
                    code: Code::ProviderDisconnected,
                },
                Role::Provider => Output::Cancelled {
                    id,
                    reason: Reason::Cancelled,
                },
            });
        }
        self.outputs.push_back(Output::Closed { code });
    }
}

/// Whether the peer is told that the link ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Farewell {
    Said,
    Unsaid,
}

fn over() -> Error {
    Error::new(Code::AlreadySettled, "the presentation request is over")
}
