//! Shared state (spec: gateway, Shared state; G12).

use serde_json::{Map, Value};

use super::effect::CallOutcome;

/// The state that model and browser share in one thread.
#[derive(Debug, Default)]
pub(super) struct SharedState {
    /// Absent until a first non-empty baseline activates it.
    value: Option<Value>,
    /// Updates whose Tool result is not in the log yet, oldest first.
    staged: Vec<(String, Value)>,
}

/// What a request's `state` means for a thread.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Baseline {
    /// The thread keeps what it has.
    Keep,
    /// This is the state from now on.
    Replace(Value),
}

impl SharedState {
    pub(super) fn is_active(&self) -> bool {
        self.value.is_some()
    }

    pub(super) fn value(&self) -> Option<&Value> {
        self.value.as_ref()
    }

    /// Reads a request's `state`: only a non-empty one activates; afterwards any present one is the baseline.
    pub(super) fn baseline(&self, state: Option<Value>) -> Baseline {
        match state {
            Some(state) if self.is_active() || !is_empty(&state) => Baseline::Replace(state),
            _ => Baseline::Keep,
        }
    }

    /// Whether the state is active once `baseline` is applied.
    pub(super) fn active_with(&self, baseline: &Baseline) -> bool {
        self.is_active() || matches!(baseline, Baseline::Replace(_))
    }

    pub(super) fn apply(&mut self, baseline: Baseline) {
        if let Baseline::Replace(value) = baseline {
            self.value = Some(value);
            self.staged.clear();
        }
    }

    /// The state Tool was called: stages the merge and gives its result. The merge takes effect when the log has the
    /// result, see [`SharedState::commit`].
    pub(super) fn update(&mut self, call: &str, arguments: &str, max_bytes: usize) -> CallOutcome {
        match self.merge(arguments, max_bytes) {
            Ok(merged) => {
                let text = merged.to_string();
                self.staged.push((call.into(), merged));
                CallOutcome::Resolved { text, meta: None }
            }
            Err(message) => CallOutcome::Rejected { message },
        }
    }

    fn merge(&self, arguments: &str, max_bytes: usize) -> Result<Value, String> {
        let current = self
            .staged
            .last()
            .map(|(_, value)| value)
            .or(self.value.as_ref())
            .ok_or("shared state is not active")?;
        let arguments: Value = serde_json::from_str(arguments)
            .map_err(|_| "arguments must be a JSON object with state_updates")?;
        let Some(Value::Object(updates)) = arguments.get("state_updates") else {
            return Err("state_updates must be an object".into());
        };
        let mut merged = match current {
            Value::Object(current) => current.clone(),
            _ => Map::new(),
        };
        for (key, value) in updates {
            merged.insert(key.clone(), value.clone());
        }
        let merged = Value::Object(merged);
        if merged.to_string().len() > max_bytes {
            return Err(format!(
                "the shared state would exceed its limit of {max_bytes} bytes"
            ));
        }
        Ok(merged)
    }

    /// The log has the result of a state call. Returns whether the state is another now.
    pub(super) fn commit(&mut self, call: &str, succeeded: bool) -> bool {
        let Some(at) = self.staged.iter().position(|(staged, _)| staged == call) else {
            return false;
        };
        let (_, merged) = self.staged.remove(at);
        if !succeeded || self.value.as_ref() == Some(&merged) {
            return false;
        }
        self.value = Some(merged);
        true
    }

    /// The turn is over: updates without a durable result are void.
    pub(super) fn end_turn(&mut self) {
        self.staged.clear();
    }
}

fn is_empty(state: &Value) -> bool {
    match state {
        Value::Null => true,
        Value::Object(members) => members.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn active(value: Value) -> SharedState {
        let mut state = SharedState::default();
        let baseline = state.baseline(Some(value));
        state.apply(baseline);
        state
    }

    fn resolved(outcome: CallOutcome) -> Value {
        match outcome {
            CallOutcome::Resolved { text, .. } => serde_json::from_str(&text).unwrap_or_default(),
            CallOutcome::Rejected { message } => panic!("{message}"),
        }
    }

    #[test]
    fn only_a_non_empty_state_activates() {
        let state = SharedState::default();
        for empty in [Value::Null, json!({}), json!([]), json!("")] {
            assert_eq!(state.baseline(Some(empty)), Baseline::Keep);
        }
        assert_eq!(state.baseline(None), Baseline::Keep);
        assert!(active(json!({"a":1})).is_active());
    }

    #[test]
    fn an_active_state_takes_every_present_baseline() {
        let mut state = active(json!({"a":1}));
        assert_eq!(state.baseline(None), Baseline::Keep);
        for baseline in [Value::Null, json!({}), json!([])] {
            let next = state.baseline(Some(baseline.clone()));
            state.apply(next);
            assert_eq!(state.value(), Some(&baseline));
        }
    }

    #[test]
    fn updates_merge_at_the_top_level_and_commit_with_their_result() {
        let mut state = active(json!({"a":{"x":1,"y":2},"b":1}));
        let text = resolved(state.update("c1", r#"{"state_updates":{"a":{"x":9}}}"#, 1000));
        assert_eq!(text, json!({"a":{"x":9},"b":1}));
        assert_eq!(state.value(), Some(&json!({"a":{"x":1,"y":2},"b":1})));
        assert!(state.commit("c1", true));
        assert_eq!(state.value(), Some(&text));
        assert!(!state.commit("c1", true));
    }

    #[test]
    fn updates_of_one_step_build_on_each_other() {
        let mut state = active(json!({"a":1}));
        state.update("c1", r#"{"state_updates":{"b":2}}"#, 1000);
        state.update("c2", r#"{"state_updates":{"c":3}}"#, 1000);
        assert!(state.commit("c1", true));
        assert!(state.commit("c2", true));
        assert_eq!(state.value(), Some(&json!({"a":1,"b":2,"c":3})));
    }

    #[test]
    fn an_equal_update_changes_nothing() {
        let mut state = active(json!({"a":1}));
        state.update("c", r#"{"state_updates":{"a":1}}"#, 1000);
        assert!(!state.commit("c", true));
    }

    #[test]
    fn bad_updates_are_refused() {
        let mut state = active(json!({"a":1}));
        for bad in ["{", "{}", r#"{"state_updates":1}"#, r#""x""#] {
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
        let mut state = active(json!({"a":1}));
        state.update("c", r#"{"state_updates":{"a":2}}"#, 1000);
        assert!(!state.commit("c", false));
        assert_eq!(state.value(), Some(&json!({"a":1})));
    }
}
