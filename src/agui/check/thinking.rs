//! The order of the deprecated `THINKING_*` events.

use super::{Broken, Rule};
use crate::agui::EventType;

/// The deprecated thinking events know one open step with one open message, without ids.
#[derive(Debug, Default)]
pub(super) struct Thinking {
    step: bool,
    message: bool,
}

impl Thinking {
    pub(super) fn step(&mut self, event_type: EventType) -> Result<(), Broken> {
        let problem = match event_type {
            EventType::ThinkingStart if self.step => {
                "A thinking step is already in progress. End it with 'THINKING_END' first."
            }
            EventType::ThinkingStart => {
                self.step = true;
                return Ok(());
            }
            EventType::ThinkingEnd if !self.step => {
                "No active thinking step found. A 'THINKING_START' event must be sent first."
            }
            EventType::ThinkingEnd => {
                self.step = false;
                return Ok(());
            }
            EventType::ThinkingTextMessageStart if !self.step => {
                "A thinking step is not in progress. Create one with 'THINKING_START' first."
            }
            EventType::ThinkingTextMessageStart if self.message => {
                "A thinking message is already in progress. Complete it with 'THINKING_TEXT_MESSAGE_END' first."
            }
            EventType::ThinkingTextMessageStart => {
                self.message = true;
                return Ok(());
            }
            EventType::ThinkingTextMessageEnd if self.message => {
                self.message = false;
                return Ok(());
            }
            EventType::ThinkingTextMessageEnd => {
                "No active thinking message found. A 'THINKING_TEXT_MESSAGE_START' event must be sent first."
            }
            _ if self.message => return Ok(()),
            _ => {
                "No active thinking message found. Start a message with 'THINKING_TEXT_MESSAGE_START' first."
            }
        };
        Err(Broken::new(
            Rule::ThinkingOrder,
            format!("Cannot send '{}' event: {problem}", event_type.as_str()),
        ))
    }
}
