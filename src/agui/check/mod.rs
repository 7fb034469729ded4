//! The rules of the official client 0.0.59 about the order of events (`ag-ui.md` §3.1, §3.2), as a value to
//! feed a stream to.
//!
//! An event passes three stages, as it does there: the schema, the expansion of `*_CHUNK` events, and the
//! sequence rules. On top of the client's rules a stream must end with a terminal event: the client takes a
//! missing one for success (ag-ui#2300), a gateway must not. A stream that says `protocolVersion` is for a later client.
//!
//! - `declared`: what a later client knows more
//! - `rule`: names of the rules
//! - `step`: what the later stages need to know of an event
//! - `lanes`: chunk expansion
//! - `verify`, with `owners` and `thinking`: the sequence rules

mod declared;
mod lanes;
mod owners;
mod rule;
mod step;
#[cfg(test)]
mod tests;
mod thinking;
mod verify;

use serde_json::Value;

use super::{Event, Issue, validate_event};
use declared::Declared;
use lanes::Lanes;
pub use rule::Rule;
use step::Step;
use verify::Verifier;

/// Where and how a stream breaks a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// Position of the event, from 0; the number of events for a missing terminal event.
    pub index: usize,
    /// The rule.
    pub rule: Rule,
    /// In the wording of the official client where it has one.
    pub message: String,
}

/// A broken rule, before its place in the stream is known.
struct Broken {
    rule: Rule,
    message: String,
}

impl Broken {
    fn new(rule: Rule, message: impl Into<String>) -> Self {
        Self {
            rule,
            message: message.into(),
        }
    }
}

/// Checks a stream event by event.
///
/// [`feed`](Self::feed), [`feed_json`](Self::feed_json) and [`feed_event`](Self::feed_event) take the next
/// event in its three forms; [`finish`](Self::finish) tells whether the stream may end here. The first
/// violation is final: everything after it answers with it again.
#[derive(Default)]
pub struct Checker {
    fed: usize,
    declared: Declared,
    lanes: Lanes,
    verifier: Verifier,
    violation: Option<Violation>,
}

impl Checker {
    /// A checker at the start of a stream.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next event.
    ///
    /// # Errors
    /// The first violation of the stream.
    pub fn feed(&mut self, event: &Value) -> Result<(), Violation> {
        self.advance(|checker| checker.take(event))
    }

    /// Takes the next event as encoded JSON.
    ///
    /// # Errors
    /// The first violation of the stream; text that is not JSON is an invalid event.
    pub fn feed_json(&mut self, event: &str) -> Result<(), Violation> {
        self.advance(|checker| match serde_json::from_str(event) {
            Ok(event) => checker.take(&event),
            Err(error) => Err(Broken::new(
                Rule::InvalidEvent,
                format!("Invalid JSON: {error}"),
            )),
        })
    }

    /// Takes the next event as it would be encoded.
    ///
    /// # Errors
    /// The first violation of the stream.
    pub fn feed_event(&mut self, event: &Event<'_>) -> Result<(), Violation> {
        self.feed_json(&event.to_json())
    }

    /// Whether the stream may end here: after a terminal event.
    ///
    /// # Errors
    /// The first violation of the stream, or [`Rule::MissingTerminal`].
    pub fn finish(&self) -> Result<(), Violation> {
        match &self.violation {
            Some(violation) => Err(violation.clone()),
            None if self.verifier.at_terminal() => Ok(()),
            None => Err(Violation {
                index: self.fed,
                rule: Rule::MissingTerminal,
                message: "The stream ends without 'RUN_FINISHED' or 'RUN_ERROR'.".to_owned(),
            }),
        }
    }

    fn advance(
        &mut self,
        take: impl FnOnce(&mut Self) -> Result<(), Broken>,
    ) -> Result<(), Violation> {
        if let Some(violation) = &self.violation {
            return Err(violation.clone());
        }
        let index = self.fed;
        self.fed += 1;
        take(self).map_err(|Broken { rule, message }| {
            self.violation
                .insert(Violation {
                    index,
                    rule,
                    message,
                })
                .clone()
        })
    }

    fn take(&mut self, event: &Value) -> Result<(), Broken> {
        let event = &*self.declared.reduce(event);
        validate_event(event).map_err(|issues| {
            let issues: Vec<String> = issues.iter().map(Issue::to_string).collect();
            Broken::new(Rule::InvalidEvent, issues.join("; "))
        })?;
        let Some(step) = Step::of(event) else {
            return Ok(());
        };
        for step in self.lanes.expand(step)? {
            self.verifier.step(&step)?;
        }
        Ok(())
    }
}

/// The first violation of a complete stream, given as the JSON of an array of events.
///
/// # Errors
/// When the text is not the JSON of an array.
pub fn check_event_stream(events: &str) -> serde_json::Result<Option<Violation>> {
    let events: Vec<Value> = serde_json::from_str(events)?;
    let mut checker = Checker::new();
    let outcome = events
        .iter()
        .try_for_each(|event| checker.feed(event))
        .and_then(|()| checker.finish());
    Ok(outcome.err())
}
