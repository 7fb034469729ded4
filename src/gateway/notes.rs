//! What the gateway tells the model beside the person's words (spec: gateway, Model Experience).

use super::effect::{ContentBlock, HostMessage, MessageSource};
use crate::agui::Context;

/// Title of the section that holds the shared state.
const STATE_SECTION: &str = "Current Shared State";

/// The client's context as one snapshot message, or `None` when there is none.
pub(super) fn context(entries: &[Context<'_>]) -> Option<HostMessage> {
    if entries.is_empty() {
        return None;
    }
    let sections: Vec<String> = entries
        .iter()
        .map(|entry| entry.description.clone().into_owned())
        .collect();
    let text = entries
        .iter()
        .map(|entry| format!("## {}\n{}", entry.description, entry.value))
        .collect::<Vec<_>>()
        .join("\n\n");
    Some(snapshot(sections, text))
}

/// The shared state as one snapshot message.
pub(super) fn state(value: &str) -> HostMessage {
    snapshot(
        vec![STATE_SECTION.into()],
        format!("## {STATE_SECTION}\n{value}"),
    )
}

fn snapshot(sections: Vec<String>, text: String) -> HostMessage {
    HostMessage {
        id: None,
        content: vec![ContentBlock::Text { text }],
        receipts: Vec::new(),
        source: MessageSource::AgUi {
            form: "snapshot",
            sections,
        },
    }
}
