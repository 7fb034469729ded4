//! Browser Tool calls of the turn under way: announced to the browser, parked in the Host, answered (G11).
//!
//! An answer may come before the Host has started the body (a step may make more calls than the Host runs at once), so
//! an announced call can be answered, and the body then settles as soon as it begins.

use std::time::Instant;

use indexmap::IndexMap;

use crate::gateway::effect::CallOutcome;
use crate::gateway::ids::Token;
use crate::gateway::timer::Waiter;
use crate::projection::FrontendResult;

/// The browser's calls of one turn, by wire id, in the order in which the model made them.
#[derive(Debug, Default)]
pub(crate) struct BrowserCalls {
    calls: IndexMap<String, BrowserCall>,
}

#[derive(Debug)]
struct BrowserCall {
    state: CallState,
    /// The browser's own message, once there is one.
    answer: Option<FrontendResult>,
}

impl BrowserCall {
    /// Whether an answer is still wanted.
    fn is_owed(&self) -> bool {
        matches!(self.state, CallState::Announced | CallState::Parked(_))
    }
}

#[derive(Debug)]
enum CallState {
    /// The model made it; its body has not begun.
    Announced,
    /// Answered before the body began.
    Answered(CallOutcome),
    /// The body waits for the browser.
    Parked(Waiter),
    /// The body is over.
    Over,
}

impl BrowserCalls {
    /// The model has made a call; the browser owes its answer.
    pub(crate) fn announce(&mut self, wire_id: &str) {
        self.insert(wire_id, CallState::Announced);
    }

    /// The model has made a call that nobody has to answer: its body settles so as soon as it begins.
    pub(crate) fn announce_answered(&mut self, wire_id: &str, outcome: CallOutcome) {
        self.insert(wire_id, CallState::Answered(outcome));
    }

    fn insert(&mut self, wire_id: &str, state: CallState) {
        let call = BrowserCall {
            state,
            answer: None,
        };
        self.calls.insert(wire_id.into(), call);
    }

    /// The body begins. Returns how it settles at once, or `None` when it waits from now on; `Err` for a call that
    /// the browser was never told of.
    pub(crate) fn begin(
        &mut self,
        wire_id: &str,
        token: Token,
    ) -> Result<Option<CallOutcome>, Unannounced> {
        let call = self.calls.get_mut(wire_id).ok_or(Unannounced)?;
        // Some providers give two calls of a step one id: the second one must not end the first.
        if matches!(call.state, CallState::Parked(_) | CallState::Over) {
            return Err(Unannounced);
        }
        match std::mem::replace(&mut call.state, CallState::Over) {
            CallState::Answered(outcome) => Ok(Some(outcome)),
            CallState::Announced | CallState::Parked(_) | CallState::Over => {
                call.state = CallState::Parked(Waiter::new(token));
                Ok(None)
            }
        }
    }

    /// Whether the browser still owes the answer to this call.
    pub(crate) fn is_owed(&self, wire_id: &str) -> bool {
        self.calls.get(wire_id).is_some_and(BrowserCall::is_owed)
    }

    /// Whether the browser owes any answer.
    pub(crate) fn any_owed(&self) -> bool {
        self.owed().next().is_some()
    }

    /// Wire ids of the calls that the browser still owes an answer to, in model order.
    pub(crate) fn owed(&self) -> impl Iterator<Item = &str> {
        let owed = self.calls.iter().filter(|(_, call)| call.is_owed());
        owed.map(|(wire_id, _)| wire_id.as_str())
    }

    /// Wire ids of the calls whose bodies have not begun.
    pub(crate) fn without_body(&self) -> impl Iterator<Item = &str> {
        let waits = |call: &BrowserCall| {
            matches!(call.state, CallState::Announced | CallState::Answered(_))
        };
        let waiting = self.calls.iter().filter(move |(_, call)| waits(call));
        waiting.map(|(wire_id, _)| wire_id.as_str())
    }

    /// Whether a body waits for the browser.
    pub(crate) fn any_parked(&self) -> bool {
        self.calls
            .values()
            .any(|call| matches!(call.state, CallState::Parked(_)))
    }

    /// The browser can answer from now on: starts the clock of every body that waits and has none. Returns their tokens.
    pub(crate) fn start_clocks(&mut self, deadline: Instant) -> Vec<Token> {
        let waiters = self
            .calls
            .values_mut()
            .filter_map(|call| match &mut call.state {
                CallState::Parked(waiter) => Some(waiter),
                CallState::Announced | CallState::Answered(_) | CallState::Over => None,
            });
        waiters
            .filter_map(|waiter| waiter.start(deadline))
            .collect()
    }

    /// Whether the browser was asked to make this call.
    pub(crate) fn knows(&self, wire_id: &str) -> bool {
        self.calls.contains_key(wire_id)
    }

    /// The browser's own message for a call.
    pub(crate) fn answer_of(&self, wire_id: &str) -> Option<&FrontendResult> {
        self.calls.get(wire_id)?.answer.as_ref()
    }

    /// Takes the browser's answer. Returns the body to settle, where one waits.
    pub(crate) fn answer(
        &mut self,
        wire_id: &str,
        message: Option<FrontendResult>,
        outcome: CallOutcome,
    ) -> Option<(Waiter, CallOutcome)> {
        let call = self.calls.get_mut(wire_id)?;
        if matches!(call.state, CallState::Over | CallState::Answered(_)) {
            return None;
        }
        call.answer = message;
        match std::mem::replace(&mut call.state, CallState::Over) {
            CallState::Parked(waiter) => Some((waiter, outcome)),
            CallState::Announced => {
                call.state = CallState::Answered(outcome);
                None
            }
            CallState::Answered(_) | CallState::Over => None,
        }
    }

    /// A body ended without the browser: its time ran out, or the Host aborted it. Returns it, where it waited.
    pub(crate) fn release(&mut self, token: Token) -> Option<Waiter> {
        let call = self.calls.values_mut().find(
            |call| matches!(call.state, CallState::Parked(waiter) if waiter.token == token),
        )?;
        match std::mem::replace(&mut call.state, CallState::Over) {
            CallState::Parked(waiter) => Some(waiter),
            CallState::Announced | CallState::Answered(_) | CallState::Over => None,
        }
    }

    /// The Host has the result of a call. Returns its body, where that still waited for the browser.
    pub(crate) fn settled(&mut self, wire_id: &str) -> Option<Waiter> {
        let call = self.calls.get_mut(wire_id)?;
        match std::mem::replace(&mut call.state, CallState::Over) {
            CallState::Parked(waiter) => Some(waiter),
            CallState::Announced | CallState::Answered(_) | CallState::Over => None,
        }
    }

    /// Ends the turn: takes every body that still waits.
    pub(crate) fn drain(&mut self) -> Vec<Waiter> {
        self.calls
            .drain(..)
            .filter_map(|(_, call)| match call.state {
                CallState::Parked(waiter) => Some(waiter),
                CallState::Announced | CallState::Answered(_) | CallState::Over => None,
            })
            .collect()
    }
}

/// The browser was never told of the call, or it is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Unannounced;

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::*;

    fn message(id: &str) -> FrontendResult {
        FrontendResult {
            id: id.into(),
            encrypted_value: None,
            subagent_run_id: None,
            metadata: None,
            original: None,
        }
    }

    fn text(text: &str) -> CallOutcome {
        CallOutcome::Resolved {
            text: text.into(),
            meta: None,
        }
    }

    #[test]
    fn a_parked_call_settles_once() {
        let mut calls = BrowserCalls::default();
        assert_eq!(calls.begin("c", Token(1)).unwrap_err(), Unannounced);
        calls.announce("c");
        assert!(calls.any_owed() && !calls.any_parked());
        assert!(calls.begin("c", Token(1)).unwrap().is_none());
        assert!(calls.any_parked());
        assert!(calls.answer("c", Some(message("m")), text("x")).is_some());
        assert!(calls.answer("c", Some(message("n")), text("y")).is_none());
        assert!(!calls.any_owed() && !calls.any_parked());
        assert_eq!(calls.release(Token(1)), None);
    }

    #[test]
    fn a_second_body_of_the_same_call_does_not_end_the_first() {
        let mut calls = BrowserCalls::default();
        calls.announce("c");
        calls.begin("c", Token(1)).unwrap();
        assert_eq!(calls.begin("c", Token(2)).unwrap_err(), Unannounced);
        let answered = calls.answer("c", Some(message("m")), text("x"));
        assert_eq!(answered.unwrap().0, Waiter::new(Token(1)));
    }

    #[test]
    fn a_clock_starts_once_and_only_of_what_waits() {
        let mut calls = BrowserCalls::default();
        calls.announce("a");
        calls.announce("b");
        calls.begin("a", Token(1)).unwrap();
        let first = Instant::now();
        assert_eq!(calls.start_clocks(first), [Token(1)]);
        assert_eq!(calls.start_clocks(first), []);
        calls.begin("b", Token(2)).unwrap();
        let later = first + Duration::from_secs(1);
        assert_eq!(calls.start_clocks(later), [Token(2)]);
        assert_eq!(calls.release(Token(1)).unwrap().deadline, Some(first));
        assert_eq!(calls.release(Token(2)).unwrap().deadline, Some(later));
    }

    #[test]
    fn an_early_answer_settles_the_body_as_it_begins() {
        let mut calls = BrowserCalls::default();
        calls.announce("c");
        assert!(calls.answer("c", Some(message("m")), text("x")).is_none());
        assert!(!calls.is_owed("c"));
        let outcome = calls.begin("c", Token(1)).unwrap();
        assert!(matches!(outcome, Some(CallOutcome::Resolved { text, .. }) if text == "x"));
        assert_eq!(calls.answer_of("c").unwrap().id, "m");
    }

    #[test]
    fn a_call_that_nobody_has_to_answer_is_never_owed() {
        let mut calls = BrowserCalls::default();
        calls.announce("b");
        calls.announce("a");
        calls.announce_answered("r", text("x"));
        assert_eq!(calls.owed().collect::<Vec<_>>(), ["b", "a"]);
        assert!(calls.answer("r", Some(message("m")), text("y")).is_none());
        let outcome = calls.begin("r", Token(1)).unwrap();
        assert!(matches!(outcome, Some(CallOutcome::Resolved { text, .. }) if text == "x"));
        assert!(calls.answer_of("r").is_none() && !calls.any_parked());
    }

    #[test]
    fn a_result_of_the_host_s_own_gives_the_deadline_back() {
        let mut calls = BrowserCalls::default();
        calls.announce("c");
        assert_eq!(calls.settled("c"), None);
        calls.announce("d");
        calls.begin("d", Token(1)).unwrap();
        assert_eq!(calls.settled("d"), Some(Waiter::new(Token(1))));
        assert_eq!(calls.settled("d"), None);
        assert!(!calls.any_owed() && !calls.any_parked());
    }

    #[test]
    fn the_end_of_the_turn_releases_what_waits() {
        let mut calls = BrowserCalls::default();
        calls.announce("a");
        calls.announce("b");
        calls.begin("b", Token(7)).unwrap();
        assert_eq!(calls.drain().len(), 1);
        assert!(!calls.any_owed());
    }
}
