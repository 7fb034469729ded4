//! Who may show and answer a request, and how that moves (spec: presentation, Presentation authority; P4).

use super::admission::label;
use super::settle::{Tell, told};
use super::{Announcement, Effect, Host, Millis, Withdrawal};
use crate::presentation::error::{Code, Error};
use crate::presentation::request::{Epoch, ProviderKey, Release, RequestKey, State, Terminal};

impl Host {
    /// The holder is about to show the request. On success nobody else may show it any more.
    ///
    /// # Errors
    /// `already-settled` or `authority-conflict`: it must not be shown.
    pub fn handle_present(
        &mut self,
        now: Millis,
        request: RequestKey,
        epoch: Epoch,
    ) -> Result<(), Error> {
        self.handle_timeout(now);
        let found = self
            .requests
            .get_mut(&request)
            .ok_or_else(|| told(Code::AlreadySettled, "present"))?;
        found
            .authority(epoch)
            .and_then(|by| found.lifecycle.present(by))
            .map_err(|code| told(code, "present"))
    }

    /// The holder gives the request back. A shown secret input, or an announced redirect,
    /// ends as cancelled instead.
    ///
    /// # Errors
    /// `already-settled` or `authority-conflict`.
    pub fn handle_released(
        &mut self,
        now: Millis,
        request: RequestKey,
        epoch: Epoch,
    ) -> Result<(), Error> {
        self.handle_timeout(now);
        let found = self
            .requests
            .get_mut(&request)
            .ok_or_else(|| told(Code::AlreadySettled, "release"))?;
        let by = found
            .authority(epoch)
            .map_err(|code| told(code, "release"))?;
        if found.announcement == Announcement::Made {
            // The consumer knows that receiver, which goes with its holder.
            return self
                .settle(request, Terminal::Cancelled, Tell::Nobody)
                .map_err(|code| told(code, "release"));
        }
        match found
            .lifecycle
            .release(by)
            .map_err(|code| told(code, "release"))?
        {
            Release::Free => {
                found.lane = None;
                let kind = found.operation.kind();
                self.effects.push_back(Effect::Released {
                    request,
                    provider: by.provider,
                });
                self.leave_lane(by.provider, kind);
                self.dispatch(by.provider, kind);
                Ok(())
            }
            Release::End => self
                .settle(request, Terminal::Cancelled, Tell::Nobody)
                .map_err(|code| told(code, "release")),
        }
    }

    /// Moves a request that is not shown, or was released, to another provider.
    ///
    /// # Errors
    /// `already-settled`, `authority-conflict` once it is shown, `provider-unavailable`, `not-negotiated` when that
    /// provider does not support the operation, `size-limit` and `queue-limit` by its limits.
    pub fn handle_transfer(
        &mut self,
        now: Millis,
        request: RequestKey,
        to: ProviderKey,
    ) -> Result<(), Error> {
        self.handle_timeout(now);
        let found = self
            .requests
            .get(&request)
            .ok_or_else(|| told(Code::AlreadySettled, "transfer"))?;
        let (operation, kind, measure, invocation) = (
            found.operation,
            found.operation.kind(),
            found.measure,
            found.invocation,
        );
        let provider = self.providers.get(&to).ok_or_else(|| {
            Error::new(
                Code::ProviderUnavailable,
                "the presentation provider is not attached",
            )
        })?;
        if !provider
            .supports
            .get(kind)
            .is_some_and(|support| support.operations.contains(operation))
        {
            return Err(Error::new(
                Code::NotNegotiated,
                format!("the provider does not support {}", operation.as_str()),
            ));
        }
        if self
            .invocations
            .get(&invocation)
            .is_some_and(|invocation| invocation.origin == provider.id)
        {
            return Err(Error::new(
                Code::NotNegotiated,
                "a participant does not serve itself",
            ));
        }
        let limits = self.limits_of(provider, kind);
        limits.admit(measure, label(operation))?;
        self.check_room(to, kind)?;
        let Some(found) = self.requests.get_mut(&request) else {
            return Ok(());
        };
        let from = found.lane;
        let queued = matches!(found.lifecycle.state(), State::Queued);
        let holder = found
            .lifecycle
            .withdraw()
            .map_err(|code| told(code, "transfer"))?;
        found.lane = Some(to);
        found.max_text = limits.max_text_length;
        if let Some(holder) = holder {
            self.effects.push_back(Effect::Withdraw {
                request,
                epoch: holder.epoch,
                reason: Withdrawal::Transferred,
            });
            self.leave_lane(holder.provider, kind);
        } else if let Some(from) = from.filter(|_| queued) {
            self.leave_queue(from, kind, request);
        }
        // A released request is Queued again, in the new lane.
        if let Some(lane) = self.lane_mut(to, kind) {
            lane.queue.push_back(request);
        }
        self.dispatch(to, kind);
        if let Some(from) = from.filter(|from| *from != to) {
            self.dispatch(from, kind);
        }
        Ok(())
    }

    /// Nobody takes a released request over.
    ///
    /// # Errors
    /// `already-settled`, or `authority-conflict` when it is not released.
    pub fn handle_unassigned(&mut self, now: Millis, request: RequestKey) -> Result<(), Error> {
        self.handle_timeout(now);
        match self
            .requests
            .get(&request)
            .map(|found| found.lifecycle.state())
        {
            None => Err(told(Code::AlreadySettled, "end")),
            Some(State::Released) => {
                let terminal = Terminal::Unavailable(Some("authority-released".into()));
                self.settle(request, terminal, Tell::Nobody)
                    .map_err(|code| told(code, "end"))
            }
            Some(_) => Err(told(Code::AuthorityConflict, "end")),
        }
    }
}
