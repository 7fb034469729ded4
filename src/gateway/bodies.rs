//! Bodies of Tools: the Host's own, and those that the gateway registered for the browser and for shared state
//! (G11, G12).

use std::time::Instant;

use super::Gateway;
use super::effect::{CallDecision, CallOutcome};
use super::ids::{ThreadId, Token};
use super::plan::state_tool_collision;
use super::run::Stage;
use super::thread::calls::Unannounced;
use super::thread::{Body, live};
use super::timer::Timer;
use crate::tools::STATE_TOOL;

impl Gateway {
    /// A Tool body of the Host's own starts or ends.
    pub fn handle_body(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        call_id: &str,
        change: BodyChange,
    ) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        if let Some(body) = thread.agent.bodies.get_mut(call_id) {
            *body = match change {
                BodyChange::Started => Body::Running,
                BodyChange::Ended => Body::Over,
            };
        }
        self.check_park(now, thread_id);
    }

    /// A body of a Tool that the gateway registered begins.
    pub fn handle_call(
        &mut self,
        now: Instant,
        thread_id: ThreadId,
        token: Token,
        call: &CallHead<'_>,
    ) -> CallDecision {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return reject("the thread is gone");
        };
        let wire_id = thread.transcript.wire_of(call.call_id);
        if call.name == STATE_TOOL {
            // Another Tool's own call has no result in the log, with which an update takes effect.
            if thread.transcript.call(&wire_id) != Some((STATE_TOOL, false)) {
                return reject("the shared state can only be updated by the model itself");
            }
            let max = self.config.request.state_bytes;
            return CallDecision::Settle(thread.state.update(call.call_id, call.arguments, max));
        }
        let Some(tool) = thread.tools.get(call.name) else {
            return reject("the browser no longer offers this Tool");
        };
        let violations = tool.schema().check(call.arguments);
        if !violations.is_empty() {
            return reject(format!("invalid arguments: {}", violations.join("; ")));
        }
        match thread.calls.begin(&wire_id, token) {
            Ok(Some(outcome)) => CallDecision::Settle(outcome),
            Ok(None) => {
                self.start_clocks(now, thread_id);
                self.check_park(now, thread_id);
                CallDecision::Park
            }
            Err(Unannounced) => reject("browser Tools can only be called by the model itself"),
        }
    }

    /// The Host aborted a body that waits. It settles itself.
    pub fn handle_call_aborted(&mut self, now: Instant, thread_id: ThreadId, token: Token) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        if let Some(waiter) = thread.calls.release(token) {
            self.timers
                .clear(waiter.deadline, Timer::Call(thread_id, token));
        }
        self.check_park(now, thread_id);
    }

    pub(super) fn call_overdue(&mut self, now: Instant, thread_id: ThreadId, token: Token) {
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        if thread.calls.release(token).is_some() {
            let ms = self.config.frontend_tool_timeout.as_millis();
            self.effects.push_back(super::Effect::Settle {
                token,
                outcome: CallOutcome::Rejected {
                    message: format!("the browser did not answer within {ms} ms"),
                },
            });
        }
        self.check_park(now, thread_id);
    }

    /// The Tools that the agent has by itself are these now.
    pub fn handle_inherited(&mut self, now: Instant, thread_id: ThreadId, mut names: Vec<String>) {
        names.sort_unstable();
        let Some(thread) = live(&mut self.threads, thread_id) else {
            return;
        };
        thread.inherited = names;
        let taken = |name: &str| {
            thread
                .inherited
                .binary_search_by(|own| own.as_str().cmp(name))
                .is_ok()
        };
        // A Tool of the Host's own has taken a name of ours while that was live: ours gives way.
        let mut unregister: Vec<String> = thread
            .tools
            .iter()
            .map(|tool| tool.name().as_str())
            .filter(|name| taken(name))
            .map(ToOwned::to_owned)
            .collect();
        let collision = if thread.agent.state_tool && taken(STATE_TOOL) {
            unregister.push(STATE_TOOL.into());
            state_tool_collision()
        } else if let Err(collision) = thread.tools.check_collisions(&thread.inherited) {
            collision.into()
        } else {
            return;
        };
        for name in &unregister {
            thread.tools = thread.tools.without(name);
        }
        thread.agent.state_tool &= !unregister.iter().any(|name| name == STATE_TOOL);
        // A run that is being prepared is planned again in any case.
        let driver = thread.driver.filter(|run| {
            let stage = self.runs.get(run).map(|run| &run.stage);
            !matches!(stage, Some(Stage::Preparing { .. }))
        });
        let in_turn = thread.agent.turn.is_some();
        self.effects.push_back(super::Effect::SyncTools {
            thread: thread_id,
            unregister,
            register: Vec::new(),
        });
        match driver {
            Some(run) => self.fail_and_cancel(now, run, &collision),
            None if in_turn => self.cancel(thread_id),
            None => {}
        }
    }
}

/// Whether a body starts or ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyChange {
    /// It starts.
    Started,
    /// It ends.
    Ended,
}

/// A call whose body begins.
#[derive(Debug, Clone, Copy)]
pub struct CallHead<'a> {
    /// The provider's id.
    pub call_id: &'a str,
    /// Tool name.
    pub name: &'a str,
    /// Arguments: JSON text.
    pub arguments: &'a str,
}

fn reject(message: impl Into<String>) -> CallDecision {
    CallDecision::Settle(CallOutcome::Rejected {
        message: message.into(),
    })
}
