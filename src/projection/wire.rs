//! The events that a stream repeats, as JSON. A `*_head` ends where the delta's text begins.

use crate::agui::{Event, TextRole};

/// What follows the text in an event whose last member is `delta`.
pub(crate) const DELTA_TAIL: &str = "\"}";

pub(super) fn text_start(message_id: &str) -> String {
    Event::TextMessageStart {
        message_id,
        role: TextRole::Assistant,
        name: None,
    }
    .to_json()
}

pub(super) fn text_head(message_id: &str) -> String {
    head(&Event::TextMessageContent {
        message_id,
        delta: "",
    })
}

pub(super) fn text_end(message_id: &str) -> String {
    Event::TextMessageEnd { message_id }.to_json()
}

pub(super) fn call_start(tool_call_id: &str, tool_call_name: &str, parent: &str) -> String {
    Event::ToolCallStart {
        tool_call_id,
        tool_call_name,
        parent_message_id: Some(parent),
    }
    .to_json()
}

pub(super) fn args_head(tool_call_id: &str) -> String {
    head(&Event::ToolCallArgs {
        tool_call_id,
        delta: "",
    })
}

pub(super) fn call_end(tool_call_id: &str) -> String {
    Event::ToolCallEnd { tool_call_id }.to_json()
}

pub(super) fn reasoning_start(message_id: &str) -> String {
    Event::ReasoningStart { message_id }.to_json()
}

pub(super) fn reasoning_message_start(message_id: &str) -> String {
    Event::ReasoningMessageStart { message_id }.to_json()
}

pub(super) fn reasoning_head(message_id: &str) -> String {
    head(&Event::ReasoningMessageContent {
        message_id,
        delta: "",
    })
}

pub(super) fn reasoning_message_end(message_id: &str) -> String {
    Event::ReasoningMessageEnd { message_id }.to_json()
}

pub(super) fn reasoning_end(message_id: &str) -> String {
    Event::ReasoningEnd { message_id }.to_json()
}

/// The JSON of an event with an empty `delta` as its last member, cut before the delta's end.
fn head(event: &Event<'_>) -> String {
    let mut json = event.to_json();
    json.truncate(json.len() - DELTA_TAIL.len());
    json
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_and_its_tail_make_the_whole_event() {
        let whole = Event::TextMessageContent {
            message_id: "m",
            delta: "x",
        };
        assert_eq!(format!("{}x{DELTA_TAIL}", text_head("m")), whole.to_json());
        let whole = Event::ToolCallArgs {
            tool_call_id: "c",
            delta: "x",
        };
        assert_eq!(format!("{}x{DELTA_TAIL}", args_head("c")), whole.to_json());
        let whole = Event::ReasoningMessageContent {
            message_id: "r",
            delta: "x",
        };
        assert_eq!(
            format!("{}x{DELTA_TAIL}", reasoning_head("r")),
            whole.to_json()
        );
    }
}
