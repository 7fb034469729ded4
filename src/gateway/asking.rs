//! The Host asks people: what becomes of a request until somebody answers it (spec: gateway, 原生问题与审批; G18).

use std::time::Instant;

use super::Gateway;
use super::effect::Effect;
use super::ids::{ThreadId, Token};
use super::interrupts::{Ask, AskingCall, Interrupts, PersonOutcome};
use super::run::work::PersonAnswer;
use super::thread::{Thread, live};
use super::timer::{Timer, Timers, Waiter};

/// What becomes of a request to a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AskDecision {
    /// It waits for [`Effect::Answer`].
    Wait,
    /// It is over.
    Settle(PersonOutcome),
}

impl Gateway {
    /// The agent of a thread asks a person. `request` is the port's JSON of it.
    pub fn handle_ask(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        token: Token,
        request: &str,
    ) -> AskDecision {
        let max = self.config.max_pending_interrupts;
        let id = self.interrupt_id(thread_id);
        let Some(thread) =
            live(&mut self.threads, thread_id).filter(|thread| thread.agent.turn.is_some())
        else {
            return cancelled("the user can only be asked inside a turn");
        };
        let ask = match Ask::read(request) {
            Ok(ask) => ask,
            Err(problem) => return cancelled(problem),
        };
        if thread.interrupts.len() >= max {
            return cancelled(format!("{max} requests already wait for the user"));
        }
        let call = ask
            .call_id
            .as_deref()
            .and_then(|call| asking_call(thread, call));
        thread.interrupts.add(id, token, ask, call);
        self.start_clocks(now, thread_id);
        self.check_park(now, thread_id);
        AskDecision::Wait
    }

    /// The Host took a request back. It settles it itself.
    pub fn handle_ask_aborted(&mut self, now: Instant, thread_id: ThreadId, token: Token) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        if let Some(Waiter { deadline, .. }) = thread.interrupts.release(token) {
            self.timers.clear(deadline, Timer::Person(thread_id, token));
            self.check_park(now, thread_id);
        }
    }

    /// Nobody answered in time.
    pub(super) fn person_overdue(&mut self, now: Instant, thread_id: ThreadId, token: Token) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        if thread.interrupts.release(token).is_none() {
            return;
        }
        let ms = self.config.human_interaction_timeout.as_millis();
        self.effects.push_back(Effect::Answer {
            token,
            outcome: PersonOutcome::cancelled(format!("the user did not answer within {ms} ms")),
        });
        self.check_park(now, thread_id);
    }

    /// Whatever still waits for a person in the thread ends: its turn is over, or its agent is going.
    pub(super) fn end_asks(&mut self, thread_id: ThreadId) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        for Waiter { token, deadline } in thread.interrupts.drain() {
            self.timers.clear(deadline, Timer::Person(thread_id, token));
            // The Host has not taken it back, and nobody else will end it.
            self.effects.push_back(Effect::Answer {
                token,
                outcome: PersonOutcome::cancelled("the turn ended before the user answered"),
            });
        }
    }

    /// The Host gets the answers that a run brings.
    pub(super) fn settle_asks(&mut self, thread_id: ThreadId, answers: Vec<PersonAnswer>) {
        let Some(thread) = self.threads.get_mut(&thread_id) else {
            return;
        };
        for PersonAnswer { id, outcome, .. } in answers {
            if let Some(token) = thread.interrupts.settle(&id) {
                self.effects.push_back(Effect::Answer { token, outcome });
            }
        }
    }

    /// An id that nobody can guess and that is never used again.
    fn interrupt_id(&mut self, thread: ThreadId) -> String {
        let mut digester = self.key.digester();
        digester.piece(b"interrupt");
        digester.piece(&thread.0.to_le_bytes());
        digester.piece(&self.take_id().to_le_bytes());
        format!("interrupt-{}", digester.finish().hex())
    }
}

/// A run has the answers: their time cannot run out any more.
pub(super) fn take_answers(
    interrupts: &mut Interrupts,
    timers: &mut Timers,
    thread: ThreadId,
    answers: &[PersonAnswer],
) {
    for answer in answers {
        if let Some(Waiter { token, deadline }) = interrupts.take(&answer.id, answer.digest) {
            timers.clear(deadline, Timer::Person(thread, token));
        }
    }
}

/// The run ended before the Host got the answers: the requests wait again, and not for longer than before.
pub(super) fn give_answers_back(
    interrupts: &mut Interrupts,
    timers: &mut Timers,
    thread: ThreadId,
    answers: &[PersonAnswer],
) {
    for answer in answers {
        if let Some(Waiter {
            token,
            deadline: Some(deadline),
        }) = interrupts.give_back(&answer.id)
        {
            timers.set(deadline, Timer::Person(thread, token));
        }
    }
}

/// The call that asks, where clients know it and it has no result yet.
fn asking_call(thread: &Thread, call_id: &str) -> Option<AskingCall> {
    let wire_id = thread.transcript.wire_of(call_id);
    let (_, settled) = thread.transcript.call(&wire_id)?;
    (!settled).then(|| AskingCall {
        call_id: call_id.into(),
        wire_id,
    })
}

fn cancelled(message: impl Into<String>) -> AskDecision {
    AskDecision::Settle(PersonOutcome::cancelled(message))
}
