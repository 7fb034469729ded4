//! The life of one request as a value (spec: presentation, Result, Presentation authority; P3, P4).
//!
//! ```text
//! Queued -> Offered -> Presented -> Settled
//!   |         |           |
//!   |         +-> Released <-+        released only by the holder; never a shown SecretInput
//!   +-> Merged                        a notification that a later one replaced
//! ```
//!
//! `Settled` is reached once, by whoever commits first. Authority is a provider and an epoch: each hand-over raises
//! the epoch, so that whatever an earlier holder still says is recognised as stale.

use super::error::Code;
use super::protocol::Operation;

/// Names one request within a Host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestKey(pub u64);

/// Names one attached provider within a Host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProviderKey(pub u64);

/// Counts the hand-overs of one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch(pub u32);

/// The right to present and to settle one request, held by one provider at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Authority {
    /// Who holds it.
    pub provider: ProviderKey,
    /// Since which hand-over.
    pub epoch: Epoch,
}

/// The one terminal state of a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Terminal {
    /// The provider submitted a value.
    Submitted,
    /// The user, the consumer or the Host ended it.
    Cancelled,
    /// Its deadline passed.
    Expired,
    /// The provider cannot do it.
    Unavailable(Option<Box<str>>),
    /// The provider broke the protocol.
    Failed(Code),
}

impl Terminal {
    /// What a later use of the same request id is told.
    #[must_use]
    pub const fn reuse_code(&self) -> Code {
        match self {
            Terminal::Cancelled => Code::RequestCancelled,
            Terminal::Expired => Code::RequestExpired,
            Terminal::Submitted | Terminal::Unavailable(_) | Terminal::Failed(_) => {
                Code::AlreadySettled
            }
        }
    }
}

/// Where a request stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// Waits for its provider to have room.
    Queued,
    /// With its provider, not shown.
    Offered(Authority),
    /// Shown to the user.
    Presented(Authority),
    /// Given back by its holder; waits for the Host's decision.
    Released,
    /// A queued notification that a later one of the same key replaced.
    Merged {
        /// The one that is shown in its place.
        into: RequestKey,
    },
    /// Over.
    Settled(Terminal),
}

/// What a release means for the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// It may move to another provider.
    Free,
    /// It must end as cancelled: what was typed into a secret prompt follows nobody.
    End,
}

/// The state machine of one request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lifecycle {
    operation: Operation,
    epoch: Epoch,
    state: State,
}

impl Lifecycle {
    /// A request that has been admitted.
    #[must_use]
    pub const fn new(operation: Operation) -> Lifecycle {
        Lifecycle {
            operation,
            epoch: Epoch(0),
            state: State::Queued,
        }
    }

    /// Where it stands.
    #[must_use]
    pub const fn state(&self) -> &State {
        &self.state
    }

    /// Who holds the authority.
    #[must_use]
    pub const fn holder(&self) -> Option<Authority> {
        match self.state {
            State::Offered(holder) | State::Presented(holder) => Some(holder),
            _ => None,
        }
    }

    /// Gives the authority to `provider`.
    ///
    /// # Errors
    /// `already-settled`, or `authority-conflict` while somebody holds it.
    pub fn offer(&mut self, provider: ProviderKey) -> Result<Authority, Code> {
        match self.state {
            State::Queued | State::Released => {
                self.epoch = Epoch(self.epoch.0 + 1);
                let holder = Authority {
                    provider,
                    epoch: self.epoch,
                };
                self.state = State::Offered(holder);
                Ok(holder)
            }
            State::Settled(_) => Err(Code::AlreadySettled),
            _ => Err(Code::AuthorityConflict),
        }
    }

    /// The holder is about to show it. From here on nobody else may.
    ///
    /// # Errors
    /// `already-settled`, or `authority-conflict` when `by` does not hold it or has shown it before.
    pub fn present(&mut self, by: Authority) -> Result<(), Code> {
        self.check(by)?;
        match self.state {
            State::Offered(holder) => {
                self.state = State::Presented(holder);
                Ok(())
            }
            _ => Err(Code::AuthorityConflict),
        }
    }

    /// The holder gives it back.
    ///
    /// # Errors
    /// `already-settled`, or `authority-conflict` when `by` does not hold it.
    pub fn release(&mut self, by: Authority) -> Result<Release, Code> {
        self.check(by)?;
        if matches!(self.state, State::Presented(_)) && self.operation == Operation::SecretInput {
            return Ok(Release::End);
        }
        self.state = State::Released;
        Ok(Release::Free)
    }

    /// Takes it back before it is shown, in order to offer it to another provider. Gives the holder to be told.
    ///
    /// # Errors
    /// `already-settled`, or `authority-conflict` once it is shown.
    pub fn withdraw(&mut self) -> Result<Option<Authority>, Code> {
        match self.state {
            State::Queued | State::Released => {
                self.state = State::Queued;
                Ok(None)
            }
            State::Offered(holder) => {
                self.state = State::Queued;
                Ok(Some(holder))
            }
            State::Settled(_) => Err(Code::AlreadySettled),
            State::Presented(_) | State::Merged { .. } => Err(Code::AuthorityConflict),
        }
    }

    /// Whether `by` may settle it now.
    ///
    /// # Errors
    /// `already-settled`, or `authority-conflict` when `by` does not hold it.
    pub fn check(&self, by: Authority) -> Result<(), Code> {
        match &self.state {
            State::Settled(_) => Err(Code::AlreadySettled),
            State::Offered(holder) | State::Presented(holder) if *holder == by => Ok(()),
            _ => Err(Code::AuthorityConflict),
        }
    }

    /// Commits the terminal state. Gives the holder to be told.
    ///
    /// # Errors
    /// `already-settled` when another commit came first.
    pub fn settle(&mut self, terminal: Terminal) -> Result<Option<Authority>, Code> {
        if matches!(self.state, State::Settled(_)) {
            return Err(Code::AlreadySettled);
        }
        let holder = self.holder();
        self.state = State::Settled(terminal);
        Ok(holder)
    }

    /// A queued notification gives way to a later one.
    ///
    /// # Errors
    /// `already-settled`, or `authority-conflict` when it is no longer queued.
    pub fn merge(&mut self, into: RequestKey) -> Result<(), Code> {
        match self.state {
            State::Queued => {
                self.state = State::Merged { into };
                Ok(())
            }
            State::Settled(_) => Err(Code::AlreadySettled),
            _ => Err(Code::AuthorityConflict),
        }
    }

    /// A merged notification takes its place back, since the later one was withdrawn unshown.
    ///
    /// # Errors
    /// `already-settled`, or `authority-conflict` when it is not merged.
    pub fn unmerge(&mut self) -> Result<(), Code> {
        match self.state {
            State::Merged { .. } => {
                self.state = State::Queued;
                Ok(())
            }
            State::Settled(_) => Err(Code::AlreadySettled),
            _ => Err(Code::AuthorityConflict),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const TUI: ProviderKey = ProviderKey(1);
    const WEB: ProviderKey = ProviderKey(2);

    #[test]
    fn the_first_commit_wins() {
        let mut request = Lifecycle::new(Operation::Question);
        let tui = request.offer(TUI).unwrap();
        assert_eq!(request.settle(Terminal::Cancelled), Ok(Some(tui)));
        assert_eq!(request.check(tui), Err(Code::AlreadySettled));
        assert_eq!(
            request.settle(Terminal::Submitted),
            Err(Code::AlreadySettled)
        );
        assert_eq!(request.present(tui), Err(Code::AlreadySettled));
        assert_eq!(request.state(), &State::Settled(Terminal::Cancelled));
    }

    #[test]
    fn authority_moves_before_showing_and_the_old_holder_is_stale() {
        let mut request = Lifecycle::new(Operation::Approval);
        let tui = request.offer(TUI).unwrap();
        assert_eq!(request.offer(WEB), Err(Code::AuthorityConflict));
        assert_eq!(request.withdraw(), Ok(Some(tui)));
        let web = request.offer(WEB).unwrap();
        assert_eq!(request.present(tui), Err(Code::AuthorityConflict));
        assert_eq!(request.check(tui), Err(Code::AuthorityConflict));
        assert_eq!(request.present(web), Ok(()));
        assert_eq!(request.present(web), Err(Code::AuthorityConflict));
        assert_eq!(request.withdraw(), Err(Code::AuthorityConflict));
        assert_eq!(request.check(web), Ok(()));
    }

    #[test]
    fn a_shown_approval_moves_only_by_release_and_a_shown_secret_never() {
        let mut approval = Lifecycle::new(Operation::Approval);
        let tui = approval.offer(TUI).unwrap();
        approval.present(tui).unwrap();
        assert_eq!(approval.release(tui), Ok(Release::Free));
        assert_eq!(approval.check(tui), Err(Code::AuthorityConflict));
        assert_eq!(approval.offer(WEB).unwrap().epoch, Epoch(2));

        let mut secret = Lifecycle::new(Operation::SecretInput);
        let tui = secret.offer(TUI).unwrap();
        assert_eq!(secret.clone().release(tui), Ok(Release::Free));
        secret.present(tui).unwrap();
        assert_eq!(secret.release(tui), Ok(Release::End));
        assert_eq!(secret.offer(WEB), Err(Code::AuthorityConflict));
    }

    #[test]
    fn a_second_turn_of_the_same_provider_does_not_honour_the_first() {
        let mut request = Lifecycle::new(Operation::Question);
        let first = request.offer(TUI).unwrap();
        request.release(first).unwrap();
        let second = request.offer(TUI).unwrap();
        assert_eq!(request.check(first), Err(Code::AuthorityConflict));
        assert_eq!(request.check(second), Ok(()));
    }
}
