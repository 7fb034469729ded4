//! Authority and settlement of admitted requests (spec: presentation, Result, Presentation authority; P3, P4).

use super::{Announcement, Effect, Host, Millis, Request, Timer, Withdrawal};
use crate::presentation::error::{Code, Error};
use crate::presentation::json::Json;
use crate::presentation::notification::replace;
use crate::presentation::protocol::Operation;
use crate::presentation::request::{Authority, Epoch, RequestKey, State, Terminal};
use crate::presentation::secret::Secret;
use crate::presentation::validate::callback;
use crate::presentation::validate::result::{self, Answer, Outcome};
use crate::presentation::validate::schema::AnswerSchema;

/// Who is told that a request is over, besides its consumer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tell {
    /// The provider that holds it.
    Holder,
    /// Nobody: the holder ended it itself.
    Nobody,
}

impl Host {
    /// The consumer, or the Host for it, cancels a request.
    ///
    /// # Errors
    /// `already-settled`.
    pub fn handle_cancel(&mut self, now: Millis, request: RequestKey) -> Result<(), Error> {
        self.handle_timeout(now);
        self.settle(request, Terminal::Cancelled, Tell::Holder)
            .map_err(|code| told(code, "cancel"))
    }

    /// The holder announces its redirect receiver, once. `text` is the JSON of the `ready` event.
    ///
    /// # Errors
    /// `already-settled`, `authority-conflict`; `redirect-used` for a second event; `redirect-uri-rejected` when it is not
    /// the exact URI that was asked for; `invalid-request` when it is no `ready` event or the kind has no progress.
    pub fn handle_progress(
        &mut self,
        now: Millis,
        request: RequestKey,
        epoch: Epoch,
        text: &str,
    ) -> Result<(), Error> {
        self.handle_timeout(now);
        let found = self
            .requests
            .get_mut(&request)
            .ok_or_else(|| told(Code::AlreadySettled, "announce"))?;
        found
            .authority(epoch)
            .and_then(|by| found.lifecycle.check(by))
            .map_err(|code| told(code, "announce"))?;
        let AnswerSchema::Redirect { exact } = &found.answer else {
            return Err(Error::new(
                Code::InvalidRequest,
                format!("{} has no progress", found.operation.as_str()),
            ));
        };
        if found.announcement == Announcement::Made {
            return Err(Error::new(
                Code::RedirectUsed,
                "ExternalRedirect provider announced more than one ready event",
            ));
        }
        let value = Json::parse(text, "ExternalRedirect ready")?;
        check_announcement(exact.as_deref(), callback::ready(&value)?)?;
        found.announcement = Announcement::Made;
        // An announced receiver is in use: it counts as shown, and may have been before.
        let _ = found
            .authority(epoch)
            .and_then(|by| found.lifecycle.present(by));
        self.effects.push_back(Effect::Progress { request });
        Ok(())
    }

    /// The holder submits its result: JSON, and the secret beside it.
    ///
    /// # Errors
    /// `already-settled` and `authority-conflict` change nothing. `invalid-answer` and `redirect-not-ready` are the provider's
    /// fault: the request is settled as failed with that code.
    pub fn handle_submit(
        &mut self,
        now: Millis,
        request: RequestKey,
        epoch: Epoch,
        text: &str,
        secret: Option<Secret>,
    ) -> Result<(), Error> {
        self.handle_timeout(now);
        let found = self
            .requests
            .get(&request)
            .ok_or_else(|| told(Code::AlreadySettled, "submit"))?;
        found
            .authority(epoch)
            .and_then(|by| found.lifecycle.check(by))
            .map_err(|code| told(code, "submit"))?;
        let judged = found.judge(text, secret.as_ref());
        let terminal = match &judged {
            Ok(Outcome::Submitted) => Terminal::Submitted,
            Ok(Outcome::Cancelled) => Terminal::Cancelled,
            Ok(Outcome::Expired) => Terminal::Expired,
            Ok(Outcome::Unavailable(reason)) => Terminal::Unavailable(reason.clone()),
            Err(error) => Terminal::Failed(error.code),
        };
        // A secret beside any other answer belongs to nobody and ends here.
        if let (Terminal::Submitted, Operation::SecretInput, Some(secret)) =
            (&terminal, found.operation, secret)
        {
            self.secrets.insert(request, secret);
        }
        self.settle(request, terminal, Tell::Nobody)
            .map_err(|code| told(code, "submit"))?;
        judged.map(|_| ())
    }

    /// The holder's implementation failed.
    ///
    /// # Errors
    /// `already-settled` or `authority-conflict`.
    pub fn handle_failed(
        &mut self,
        now: Millis,
        request: RequestKey,
        epoch: Epoch,
        code: Code,
    ) -> Result<(), Error> {
        self.handle_timeout(now);
        let found = self
            .requests
            .get(&request)
            .ok_or_else(|| told(Code::AlreadySettled, "fail"))?;
        found
            .authority(epoch)
            .and_then(|by| found.lifecycle.check(by))
            .map_err(|code| told(code, "fail"))?;
        self.settle(request, Terminal::Failed(code), Tell::Nobody)
            .map_err(|code| told(code, "fail"))
    }

    /// Commits the terminal state of a live request, frees its place and answers everybody concerned.
    pub(super) fn settle(
        &mut self,
        key: RequestKey,
        terminal: Terminal,
        tell: Tell,
    ) -> Result<(), Code> {
        let mut request = self.requests.remove(&key).ok_or(Code::AlreadySettled)?;
        let before = request.lifecycle.state().clone();
        let kind = request.operation.kind();
        let holder = request.lifecycle.settle(terminal.clone())?;
        self.timers.remove(&(request.expires, Timer::Request(key)));
        if let Some(invocation) = self.invocations.get_mut(&request.invocation) {
            invocation.live.remove(&key);
            if let Some(used) = invocation.used.get_mut(&request.id) {
                used.over = Some(terminal.reuse_code());
            }
        }
        if let (Some(holder), Tell::Holder) = (holder, tell) {
            let reason = if terminal == Terminal::Expired {
                Withdrawal::Expired
            } else {
                Withdrawal::Cancelled
            };
            self.effects.push_back(Effect::Withdraw {
                request: key,
                epoch: holder.epoch,
                reason,
            });
        }
        self.effects.push_back(Effect::Settle {
            request: key,
            terminal: terminal.clone(),
        });
        match before {
            State::Merged { into } => {
                if let Some(leader) = self.requests.get_mut(&into) {
                    leader.replaced.retain(|partner| *partner != key);
                }
            }
            State::Queued => self.give_place_back(key, &mut request),
            _ => {
                for partner in std::mem::take(&mut request.replaced) {
                    // What was shown stood for all of them.
                    let _ = self.settle(partner, terminal.clone(), Tell::Nobody);
                }
            }
        }
        if let Some(holder) = holder {
            self.leave_lane(holder.provider, kind);
            self.dispatch(holder.provider, kind);
        }
        Ok(())
    }

    /// A request ends while it waits: the notification that it replaced last takes its place back.
    fn give_place_back(&mut self, key: RequestKey, request: &mut Request) {
        let Some(lane) = request.lane else { return };
        let kind = request.operation.kind();
        let mut partners = std::mem::take(&mut request.replaced);
        let Some(heir) = partners.pop() else {
            return self.leave_queue(lane, kind, key);
        };
        for partner in &partners {
            if let Some(partner) = self.requests.get_mut(partner) {
                // From one leader to the next.
                let _ = partner
                    .lifecycle
                    .unmerge()
                    .and_then(|()| partner.lifecycle.merge(heir));
            }
        }
        if let Some(heir) = self.requests.get_mut(&heir) {
            // It was merged into the request that has just ended.
            let _ = heir.lifecycle.unmerge();
            heir.lane = Some(lane);
            heir.replaced = partners;
        }
        if let Some(lane) = self.lane_mut(lane, kind) {
            replace(&mut lane.queue, key, heir);
        }
    }
}

impl Request {
    /// The authority that `epoch` stands for.
    pub(super) fn authority(&self, epoch: Epoch) -> Result<Authority, Code> {
        match self.lifecycle.holder() {
            Some(holder) if holder.epoch == epoch => Ok(holder),
            _ => Err(Code::AuthorityConflict),
        }
    }

    fn judge(&self, text: &str, secret: Option<&Secret>) -> Result<Outcome, Error> {
        let json = result::parse(self.operation, text)?;
        let outcome = result::validate(
            self.operation,
            &self.answer,
            Answer {
                json: &json,
                secret,
            },
            self.max_text,
        )?;
        let redirect = matches!(self.answer, AnswerSchema::Redirect { .. });
        if outcome == Outcome::Submitted && redirect && self.announcement == Announcement::Pending {
            return Err(not_ready());
        }
        Ok(outcome)
    }
}

/// The announced URI must be the one that was asked for, character by character.
///
/// # Errors
/// `redirect-uri-rejected`.
pub fn check_announcement(exact: Option<&str>, announced: &str) -> Result<(), Error> {
    match exact {
        Some(exact) if exact != announced => {
            let message =
                "ExternalRedirect provider did not announce the exact requested redirect URI";
            Err(Error::new(Code::RedirectUriRejected, message))
        }
        _ => Ok(()),
    }
}

/// A redirect result came without an announcement.
#[must_use]
pub fn not_ready() -> Error {
    Error::new(
        Code::RedirectNotReady,
        "ExternalRedirect provider submitted a result before announcing its redirect URI",
    )
}

pub(super) fn told(code: Code, what: &str) -> Error {
    let reason = match code {
        Code::AlreadySettled => "it is settled already",
        _ => "another provider holds it, or it is shown",
    };
    Error::new(
        code,
        format!("cannot {what} the presentation request: {reason}"),
    )
}
