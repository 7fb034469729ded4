//! Who owns what: a subagent, or the parent agent. A tagged event must not disagree with the opener of what it continues.

use std::collections::HashMap;

use serde_json::Value;

use super::{Broken, Rule};

/// The subagent that opened something; `None` is the parent agent.
pub(super) type Owner = Option<String>;

/// Owners of everything that was seen in a run, kept after it is closed. Ids are unique within a kind only.
#[derive(Debug, Default)]
pub(super) struct Owners {
    pub(super) messages: HashMap<String, Owner>,
    pub(super) tool_calls: HashMap<String, Owner>,
    pub(super) activities: HashMap<String, Owner>,
    pub(super) reasoning: HashMap<String, Owner>,
}

/// Which owners a list of messages sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Seed {
    /// Those that are not known: the list is plain history.
    Unknown,
    /// All of them: the list replaces the history.
    All,
}

impl Owners {
    pub(super) fn seed(&mut self, messages: &[Value], seed: Seed) {
        for message in messages {
            let text = |name: &str| message.get(name).and_then(Value::as_str);
            let Some(id) = text("id") else { continue };
            let owner = owned(text("subagentRunId"));
            let kind = match text("role") {
                Some("reasoning") => &mut self.reasoning,
                Some("activity") => &mut self.activities,
                _ => &mut self.messages,
            };
            put(kind, id, &owner, seed);
            for call in message
                .get("toolCalls")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
            {
                if let Some(id) = call.get("id").and_then(Value::as_str) {
                    put(&mut self.tool_calls, id, &owner, seed);
                }
            }
        }
    }
}

fn put(owners: &mut HashMap<String, Owner>, id: &str, owner: &Owner, seed: Seed) {
    if seed == Seed::All || !owners.contains_key(id) {
        owners.insert(id.to_owned(), owner.clone());
    }
}

pub(super) fn owned(tag: Option<&str>) -> Owner {
    tag.map(str::to_owned)
}

pub(super) fn owner_name(owner: &Owner) -> &str {
    owner.as_deref().unwrap_or("(the parent agent)")
}

/// A tagged event must not disagree with the event that opened what it continues; an untagged one never does.
pub(super) fn same_owner(
    owners: &HashMap<String, Owner>,
    name: &str,
    tag: Option<&str>,
    kind: &str,
    id: &str,
) -> Result<(), Broken> {
    match (tag, owners.get(id)) {
        (Some(tag), Some(owner)) if owner.as_deref() != Some(tag) => Err(Broken::new(
            Rule::SubagentMismatch,
            format!(
                "Cannot send '{name}': subagentRunId '{tag}' does not match the {kind} '{id}' opener's subagent '{}'.",
                owner_name(owner),
            ),
        )),
        _ => Ok(()),
    }
}

/// Opens something: its first opener owns it for the whole run.
pub(super) fn claim(
    owners: &mut HashMap<String, Owner>,
    name: &str,
    tag: Option<&str>,
    kind: &str,
    id: &str,
) -> Result<(), Broken> {
    same_owner(owners, name, tag, kind, id)?;
    owners.entry(id.to_owned()).or_insert_with(|| owned(tag));
    Ok(())
}
