//! The state of one end, and what it makes of the peer's messages.

use super::{Frame, LinkLimits, Malformed, Output, Reason, Role};
use crate::presentation::error::{Code, Error};
use crate::presentation::host::Millis;
use crate::presentation::json::Json;
use std::collections::{BTreeMap, VecDeque};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The peer has not greeted yet.
    Opening,
    /// The peer has greeted; the local end has not answered.
    Greeted,
    Open,
    Closed,
}

/// What has been said of a pending request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Pending {
    pub(super) showing: Showing,
    pub(super) progress: Progress,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Showing {
    #[default]
    No,
    Asked,
    Granted,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Progress {
    #[default]
    None,
    Made,
}

/// One end of an attachment.
pub struct Link {
    role: Role,
    pub(super) limits: LinkLimits,
    pub(super) phase: Phase,
    pub(super) last: u64,
    pub(super) pending: BTreeMap<u64, Pending>,
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

    pub(super) fn send(&mut self, frame: &Frame<'_>) {
        self.outputs.push_back(Output::Send(frame.write()));
    }

    pub(super) fn send_checked(&mut self, frame: &Frame<'_>) -> Result<(), Error> {
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

    pub(super) fn end(&mut self, code: Code, farewell: Farewell) {
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
pub(super) enum Farewell {
    Said,
    Unsaid,
}
