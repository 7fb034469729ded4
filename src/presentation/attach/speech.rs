//! What the local end says: requests and decisions of the Host, answers of the provider.

use super::link::{Pending, Phase, Progress, Showing};
use super::{Frame, Link, Reason};
use crate::presentation::error::{Code, Error};
use crate::presentation::json::Json;
use crate::presentation::protocol::Kind;
use crate::presentation::secret::Secret;

impl Link {
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
}

fn over() -> Error {
    Error::new(Code::AlreadySettled, "the presentation request is over")
}
