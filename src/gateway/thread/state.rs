//! Shared state (spec: gateway, Shared state; G12).

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::agui::Json;
use crate::gateway::effect::CallOutcome;

/// The state that model and browser share in one thread: compact JSON text, its members in the order in which they
/// were written, because pages show them so.
#[derive(Debug, Default)]
pub(crate) struct SharedState {
    /// Absent until a first non-empty baseline activates it.
    value: Option<Box<str>>,
    /// Updates whose Tool result is not in the log yet, oldest first.
    staged: Vec<(String, Box<str>)>,
}

/// What a request's `state` means for a thread.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Baseline {
    /// The thread keeps what it has.
    Keep,
    /// This is the state from now on: compact JSON.
    Replace(Box<str>),
}

/// Members of a JSON object, in their written order.
type Members = IndexMap<String, Box<RawValue>>;

#[derive(Deserialize)]
struct Update {
    state_updates: Members,
}

impl SharedState {
    pub(crate) fn is_active(&self) -> bool {
        self.value.is_some()
    }

    /// The state as compact JSON.
    pub(crate) fn value(&self) -> Option<&str> {
        self.value.as_deref()
    }

    /// Reads a request's `state`: only a non-empty one activates; afterwards any present one is the baseline.
    pub(crate) fn baseline(&self, state: Option<Json<'_>>) -> Baseline {
        let Some(state) = state.map(Json::to_compact) else {
            return Baseline::Keep;
        };
        if self.is_active() || !is_empty(&state) {
            Baseline::Replace(state.into())
        } else {
            Baseline::Keep
        }
    }

    /// Whether the state is active once `baseline` is applied.
    pub(crate) fn active_with(&self, baseline: &Baseline) -> bool {
        self.is_active() || matches!(baseline, Baseline::Replace(_))
    }

    pub(crate) fn apply(&mut self, baseline: Baseline) {
        if let Baseline::Replace(value) = baseline {
            self.value = Some(value);
            self.staged.clear();
        }
    }

    /// The state Tool was called: stages the merge and gives its result. The merge takes effect when the log has the
    /// result, see [`SharedState::commit`].
    pub(crate) fn update(&mut self, call: &str, arguments: &str, max_bytes: usize) -> CallOutcome {
        match self.merge(arguments, max_bytes) {
            Ok(merged) => {
                let text = merged.clone().into();
                self.staged.push((call.into(), merged));
                CallOutcome::Resolved { text, meta: None }
            }
            Err(message) => CallOutcome::Rejected { message },
        }
    }

    fn merge(&self, arguments: &str, max_bytes: usize) -> Result<Box<str>, String> {
        let current = self
            .staged
            .last()
            .map(|(_, value)| value)
            .or(self.value.as_ref())
            .ok_or("shared state is not active")?;
        let arguments = Json::encoded(arguments).to_compact();
        let Update { state_updates } = Json::encoded(&arguments)
            .to_members()
            .map_err(|_| "arguments must be a JSON object with state_updates, an object")?;
        // What is no object has no members to keep.
        let mut merged: Members = serde_json::from_str(current).unwrap_or_default();
        merged.extend(state_updates);
        let merged = serde_json::to_string(&merged).map_err(|error| error.to_string())?;
        if merged.len() > max_bytes {
            return Err(format!(
                "the shared state would exceed its limit of {max_bytes} bytes"
            ));
        }
        Ok(merged.into())
    }

    /// The log has the result of a state call. Returns whether the state is another now.
    pub(crate) fn commit(&mut self, call: &str, succeeded: bool) -> bool {
        let Some(at) = self.staged.iter().position(|(staged, _)| staged == call) else {
            return false;
        };
        let (_, merged) = self.staged.remove(at);
        if !succeeded || self.value().is_some_and(|value| same(value, &merged)) {
            return false;
        }
        self.value = Some(merged);
        true
    }

    /// The turn is over: updates without a durable result are void.
    pub(crate) fn end_turn(&mut self) {
        self.staged.clear();
    }
}

fn is_empty(state: &str) -> bool {
    matches!(state, "null" | "{}" | "[]" | "\"\"")
}

/// Whether two JSON texts hold the same value, whatever the order of members.
fn same(a: &str, b: &str) -> bool {
    let tree = |text| serde_json::from_str::<Value>(text).ok();
    a == b || tree(a).is_some_and(|a| Some(a) == tree(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn active(value: &str) -> SharedState {
        let mut state = SharedState::default();
        let baseline = state.baseline(Some(Json::encoded(value)));
        state.apply(baseline);
        state
    }

    fn resolved(outcome: CallOutcome) -> String {
        match outcome {
            CallOutcome::Resolved { text, .. } => text,
            CallOutcome::Rejected { message } => panic!("{message}"),
        }
    }

    #[test]
    fn only_a_non_empty_state_activates() {
        let state = SharedState::default();
        for empty in ["null", "{ }", "[\n]", "\"\""] {
            assert_eq!(state.baseline(Some(Json::encoded(empty))), Baseline::Keep);
        }
        assert_eq!(state.baseline(None), Baseline::Keep);
        assert!(active(r#"{"a":1}"#).is_active());
    }

    #[test]
    fn an_active_state_takes_every_present_baseline() {
        let mut state = active(r#"{"a":1}"#);
        assert_eq!(state.baseline(None), Baseline::Keep);
        for baseline in ["null", "{}", "[]"] {
            let next = state.baseline(Some(Json::encoded(baseline)));
            state.apply(next);
            assert_eq!(state.value(), Some(baseline));
        }
    }

    #[test]
    fn updates_merge_at_the_top_level_and_commit_with_their_result() {
        let mut state = active(r#"{"a":{"x":1,"y":2},"b":1}"#);
        let text = resolved(state.update("c1", r#"{"state_updates":{"a":{"x":9}}}"#, 1000));
        assert_eq!(text, r#"{"a":{"x":9},"b":1}"#);
        assert_eq!(state.value(), Some(r#"{"a":{"x":1,"y":2},"b":1}"#));
        assert!(state.commit("c1", true));
        assert_eq!(state.value(), Some(&*text));
        assert!(!state.commit("c1", true));
    }

    #[test]
    fn updates_of_one_step_build_on_each_other() {
        let mut state = active(r#"{"a":1}"#);
        state.update("c1", r#"{"state_updates":{"b":2}}"#, 1000);
        state.update("c2", r#"{"state_updates":{"c":3}}"#, 1000);
        assert!(state.commit("c1", true));
        assert!(state.commit("c2", true));
        assert_eq!(state.value(), Some(r#"{"a":1,"b":2,"c":3}"#));
    }

    #[test]
    fn members_keep_the_order_in_which_they_were_written() {
        let mut state = active("{ \"b\" : { \"z\": 1, \"y\": [1, 2] }, \"a\": 1e2 }");
        assert_eq!(state.value(), Some(r#"{"b":{"z":1,"y":[1,2]},"a":1e2}"#));
        let text = resolved(state.update(
            "c",
            "{\"state_updates\": {\"d\": 1, \"b\": 2, \"c\": 3}}",
            1000,
        ));
        assert_eq!(text, r#"{"b":2,"a":1e2,"d":1,"c":3}"#);
    }

    #[test]
    fn the_same_members_in_another_order_are_no_change() {
        let mut state = active(r#"{"a":{"x":1,"y":2}}"#);
        state.update("c", r#"{"state_updates":{"a":{"y":2,"x":1}}}"#, 1000);
        assert!(!state.commit("c", true));
    }

    #[test]
    fn an_equal_update_changes_nothing() {
        let mut state = active(r#"{"a":1}"#);
        state.update("c", r#"{"state_updates":{"a":1}}"#, 1000);
        assert!(!state.commit("c", true));
    }

    #[test]
    fn bad_updates_are_refused() {
        let mut state = active(r#"{"a":1}"#);
        for bad in [
            "{",
            "{}",
            r#"{"state_updates":1}"#,
            r#""x""#,
            r#"[{"b":1}]"#,
            r#"{"state_updates":[["b",1]]}"#,
        ] {
            assert!(matches!(
                state.update("c", bad, 1000),
                CallOutcome::Rejected { .. }
            ));
        }
        let big = r#"{"state_updates":{"b":"0123456789"}}"#;
        assert!(matches!(
            state.update("c", big, 20),
            CallOutcome::Rejected { .. }
        ));
        assert!(!state.commit("c", true));
    }

    #[test]
    fn a_failed_result_commits_nothing() {
        let mut state = active(r#"{"a":1}"#);
        state.update("c", r#"{"state_updates":{"a":2}}"#, 1000);
        assert!(!state.commit("c", false));
        assert_eq!(state.value(), Some(r#"{"a":1}"#));
    }
}
