//! Requests of the Host to people that wait in one thread (spec: gateway, 原生问题与审批; G18).
//!
//! A request waits from the Host's asking until somebody answers it, its time runs out, the Host takes it back, or the
//! turn ends. Clients learn of it when a run publishes it; only then can it be answered. What has been published is
//! remembered for a while after its end, so that late and repeated answers can be told from foreign ones.

use std::collections::VecDeque;
use std::time::Instant;

use super::digest::Digest;
use super::ids::Token;
use super::timer::Waiter;
use crate::agui::{Interrupt, Json};

mod ask;
mod reply;

pub(crate) use ask::Ask;
pub use reply::{PersonOutcome, QuestionAnswer};

/// Published requests that are remembered beyond their end. Clients learn of the end at their next run, so a few
/// rounds of the default limit are plenty.
const REMEMBERED: usize = 256;

/// The requests of one thread.
#[derive(Debug, Default)]
pub(crate) struct Interrupts {
    /// In the order in which they came.
    waiting: Vec<Waiting>,
    over: VecDeque<Over>,
}

/// A request that waits.
#[derive(Debug)]
pub(crate) struct Waiting {
    id: Box<str>,
    waiter: Waiter,
    ask: Ask,
    call: Option<AskingCall>,
    state: State,
}

/// The Tool call that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AskingCall {
    /// The provider's id.
    pub(crate) call_id: String,
    /// What clients call it.
    pub(crate) wire_id: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// No client knows of it.
    Pending,
    /// Clients were told, and owe the answer.
    Published,
    /// An accepted run will bring this answer to the Host.
    Taken(Digest),
}

/// A published request that waits no more.
#[derive(Debug)]
struct Over {
    id: Box<str>,
    /// The answer, where one was given.
    answer: Option<Digest>,
    /// Wire id of the call that asked.
    call: Option<Box<str>>,
}

/// What a thread knows of an interrupt's id.
#[derive(Debug)]
pub(crate) enum Known<'a> {
    /// Nothing: never published here, or forgotten.
    Unknown,
    /// It waits for an answer.
    Open(&'a Ask),
    /// It is over; this was its answer, if it had one.
    Over(Option<Digest>),
}

impl Interrupts {
    /// Requests that wait, those that are being answered among them.
    pub(crate) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// A request begins to wait.
    pub(crate) fn add(&mut self, id: String, token: Token, ask: Ask, call: Option<AskingCall>) {
        self.waiting.push(Waiting {
            id: id.into(),
            waiter: Waiter::new(token),
            ask,
            call,
            state: State::Pending,
        });
    }

    /// People can answer from now on: starts the clock of every request that has none. Returns their tokens.
    pub(crate) fn start_clocks(&mut self, deadline: Instant) -> Vec<Token> {
        let waiters = self.waiting.iter_mut().map(|request| &mut request.waiter);
        waiters
            .filter_map(|waiter| waiter.start(deadline))
            .collect()
    }

    /// Whether any request waits for a person.
    pub(crate) fn any_open(&self) -> bool {
        self.waiting.iter().any(Waiting::is_open)
    }

    /// Whether this call has asked a person and waits for it.
    pub(crate) fn asks(&self, call_id: &str) -> bool {
        self.waiting.iter().any(|request| {
            request.is_open()
                && request
                    .call
                    .as_ref()
                    .is_some_and(|call| call.call_id == call_id)
        })
    }

    /// Requests that wait for a person on behalf of nobody knows which call.
    pub(crate) fn anonymous(&self) -> usize {
        let anonymous = |request: &&Waiting| request.is_open() && request.call.is_none();
        self.waiting.iter().filter(anonymous).count()
    }

    /// How many requests clients were told of and have not answered.
    pub(crate) fn published_len(&self) -> usize {
        self.waiting
            .iter()
            .filter(|request| request.state == State::Published)
            .count()
    }

    /// Tells clients of everything that waits.
    pub(crate) fn publish(&mut self) {
        for request in &mut self.waiting {
            if request.state == State::Pending {
                request.state = State::Published;
            }
        }
    }

    /// Takes back what was published: no client could be told of it after all.
    pub(crate) fn withdraw(&mut self) {
        for request in &mut self.waiting {
            if request.state == State::Published {
                request.state = State::Pending;
            }
        }
    }

    /// What clients were told of and have not answered, oldest first.
    pub(crate) fn published(&self) -> Vec<Interrupt<'_>> {
        self.waiting
            .iter()
            .filter(|request| request.state == State::Published)
            .map(Waiting::interrupt)
            .collect()
    }

    /// What this thread knows of an id.
    pub(crate) fn find(&self, id: &str) -> Known<'_> {
        let waiting = self.waiting.iter().find(|request| *request.id == *id);
        match waiting.map(|request| (request, request.state)) {
            Some((request, State::Published)) => return Known::Open(&request.ask),
            Some((_, State::Taken(answer))) => return Known::Over(Some(answer)),
            Some((_, State::Pending)) => return Known::Unknown,
            None => {}
        }
        let over = self.over.iter().find(|over| *over.id == *id);
        over.map_or(Known::Unknown, |over| Known::Over(over.answer))
    }

    /// Whether the call has asked under the id, whatever became of that.
    pub(crate) fn is_about(&self, id: &str, wire_id: &str) -> bool {
        let waiting = self.waiting.iter().find(|request| *request.id == *id);
        let over = || self.over.iter().find(|over| *over.id == *id);
        match waiting {
            Some(request) => request.wire_id() == Some(wire_id),
            None => over().is_some_and(|over| over.call.as_deref() == Some(wire_id)),
        }
    }

    /// Whether a request of the call has been answered.
    pub(crate) fn is_answered_for(&self, wire_id: &str) -> bool {
        let taken = self.waiting.iter().any(|request| {
            matches!(request.state, State::Taken(_)) && request.wire_id() == Some(wire_id)
        });
        taken
            || self
                .over
                .iter()
                .any(|over| over.answer.is_some() && over.call.as_deref() == Some(wire_id))
    }

    /// An accepted run has the answer to a published request. Returns who waits, and whose deadline counts no more.
    pub(crate) fn take(&mut self, id: &str, answer: Digest) -> Option<Waiter> {
        let request = self.waiting_mut(id, |state| state == State::Published)?;
        request.state = State::Taken(answer);
        Some(request.waiter)
    }

    /// The run that had the answer ended before the Host got it. Returns who waits, and whose deadline counts again.
    pub(crate) fn give_back(&mut self, id: &str) -> Option<Waiter> {
        let request = self.waiting_mut(id, |state| matches!(state, State::Taken(_)))?;
        request.state = State::Published;
        Some(request.waiter)
    }

    /// Whether a request still waits for the answer that a run has taken.
    pub(crate) fn is_taken(&self, id: &str) -> bool {
        self.waiting
            .iter()
            .any(|request| *request.id == *id && matches!(request.state, State::Taken(_)))
    }

    /// The Host gets the answer that was taken. Returns who waits for it.
    pub(crate) fn settle(&mut self, id: &str) -> Option<Token> {
        let at = self
            .waiting
            .iter()
            .position(|request| *request.id == *id && matches!(request.state, State::Taken(_)))?;
        let request = self.waiting.remove(at);
        let Waiter { token, .. } = request.waiter;
        self.remember(request);
        Some(token)
    }

    /// A request ends without an answer: its time ran out, or the Host took it back. Returns who waited.
    pub(crate) fn release(&mut self, token: Token) -> Option<Waiter> {
        let at = self
            .waiting
            .iter()
            .position(|request| request.waiter.token == token)?;
        let request = self.waiting.remove(at);
        let waiter = request.waiter;
        self.remember(request);
        Some(waiter)
    }

    /// Ends everything that waits.
    pub(crate) fn drain(&mut self) -> Vec<Waiter> {
        let ended = std::mem::take(&mut self.waiting);
        ended
            .into_iter()
            .map(|request| {
                let waiter = request.waiter;
                self.remember(request);
                waiter
            })
            .collect()
    }

    fn waiting_mut(&mut self, id: &str, is: impl Fn(State) -> bool) -> Option<&mut Waiting> {
        self.waiting
            .iter_mut()
            .find(|request| *request.id == *id && is(request.state))
    }

    fn remember(&mut self, request: Waiting) {
        let answer = match request.state {
            // No client can know its id.
            State::Pending => return,
            State::Published => None,
            State::Taken(answer) => Some(answer),
        };
        if self.over.len() == REMEMBERED {
            self.over.pop_front();
        }
        self.over.push_back(Over {
            id: request.id,
            answer,
            call: request.call.map(|call| call.wire_id.into()),
        });
    }
}

impl Waiting {
    fn is_open(&self) -> bool {
        !matches!(self.state, State::Taken(_))
    }

    fn wire_id(&self) -> Option<&str> {
        self.call.as_ref().map(|call| call.wire_id.as_str())
    }

    fn interrupt(&self) -> Interrupt<'_> {
        Interrupt {
            id: &self.id,
            reason: self.ask.reason(),
            message: Some(&self.ask.message),
            tool_call_id: self.wire_id(),
            response_schema: Some(Json::encoded(&self.ask.schema)),
            // Today's clients refuse even to withdraw an interrupt that has expired.
            expires_at: None,
            metadata: Some(Json::encoded(&self.ask.metadata)),
            subagent_run_id: None,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::time::Duration;

    use super::super::digest::DigestKey;
    use super::*;

    fn ask() -> Ask {
        Ask::read(r#"{"kind":"approval","toolName":"bash"}"#).unwrap()
    }

    fn call(id: &str) -> Option<AskingCall> {
        Some(AskingCall {
            call_id: id.into(),
            wire_id: format!("wire-{id}"),
        })
    }

    fn two() -> Interrupts {
        let mut interrupts = Interrupts::default();
        interrupts.add("a".into(), Token(1), ask(), call("c"));
        interrupts.add("b".into(), Token(2), ask(), None);
        interrupts
    }

    #[test]
    fn nobody_can_answer_what_was_not_published() {
        let mut interrupts = two();
        let answer = DigestKey::random().of(b"yes");
        assert!(matches!(interrupts.find("a"), Known::Unknown));
        assert!(interrupts.take("a", answer).is_none());
        assert!(interrupts.published().is_empty());
        interrupts.publish();
        assert!(matches!(interrupts.find("a"), Known::Open(_)));
        let ids: Vec<&str> = interrupts.published().iter().map(|one| one.id).collect();
        assert_eq!(ids, ["a", "b"]);
    }

    #[test]
    fn a_clock_starts_once() {
        let mut interrupts = two();
        let first = Instant::now();
        assert_eq!(interrupts.start_clocks(first), [Token(1), Token(2)]);
        interrupts.add("c".into(), Token(3), ask(), None);
        let later = first + Duration::from_secs(1);
        assert_eq!(interrupts.start_clocks(later), [Token(3)]);
        assert_eq!(interrupts.release(Token(1)).unwrap().deadline, Some(first));
        assert_eq!(interrupts.release(Token(3)).unwrap().deadline, Some(later));
    }

    #[test]
    fn an_answer_is_given_once_and_can_be_given_back_before_it_is_delivered() {
        let mut interrupts = two();
        let answer = DigestKey::random().of(b"yes");
        interrupts.publish();
        assert!(interrupts.asks("c") && interrupts.anonymous() == 1);
        assert_eq!(interrupts.take("a", answer).unwrap().token, Token(1));
        assert!(!interrupts.asks("c"));
        assert!(interrupts.take("a", answer).is_none());
        assert!(matches!(interrupts.find("a"), Known::Over(Some(given)) if given == answer));
        assert!(interrupts.is_answered_for("wire-c"));
        interrupts.give_back("a").unwrap();
        assert!(matches!(interrupts.find("a"), Known::Open(_)));
        interrupts.take("a", answer).unwrap();
        assert_eq!(interrupts.settle("a"), Some(Token(1)));
        assert_eq!(interrupts.settle("a"), None);
        assert!(matches!(interrupts.find("a"), Known::Over(Some(_))));
        assert!(interrupts.is_about("a", "wire-c") && !interrupts.is_about("a", "c"));
    }

    #[test]
    fn what_ends_without_an_answer_is_remembered_if_clients_knew_of_it() {
        let mut interrupts = two();
        interrupts.release(Token(1)).unwrap();
        assert!(matches!(interrupts.find("a"), Known::Unknown));
        interrupts.publish();
        assert_eq!(interrupts.drain().len(), 1);
        assert!(matches!(interrupts.find("b"), Known::Over(None)));
        assert!(!interrupts.any_open());
        assert!(interrupts.release(Token(2)).is_none());
    }

    #[test]
    fn memory_of_what_is_over_is_bounded() {
        let mut interrupts = Interrupts::default();
        for n in 0..1000 {
            let token = Token(n);
            interrupts.add(n.to_string(), token, ask(), None);
            interrupts.publish();
            interrupts.release(token).unwrap();
        }
        assert_eq!(interrupts.over.len(), REMEMBERED);
        assert!(matches!(interrupts.find("0"), Known::Unknown));
        assert!(matches!(interrupts.find("999"), Known::Over(None)));
    }
}
