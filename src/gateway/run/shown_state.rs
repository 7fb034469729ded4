//! The shared state as the clients of one run hold it (G12, X3).

use crate::agui::json_patch::diff;
use crate::agui::{Event, Json};
use crate::gateway::request::extras::Extras;

/// What the last state event of a run's record left with its clients.
#[derive(Debug)]
pub(crate) enum ShownState {
    /// The client takes whole states only.
    Whole,
    /// The client takes changes of the state that it holds; none before the run's first snapshot.
    Changes(Option<Box<str>>),
}

impl ShownState {
    pub(crate) fn new(extras: Extras) -> Self {
        if extras.state_delta {
            Self::Changes(None)
        } else {
            Self::Whole
        }
    }

    /// The event that brings the run's clients to `state`: the shorter one of those that they take.
    pub(crate) fn event(&mut self, state: &str) -> String {
        let snapshot = Event::StateSnapshot {
            snapshot: Json::encoded(state),
        };
        let whole = snapshot.to_json();
        let Self::Changes(held) = self else {
            return whole;
        };
        let patch = held.as_deref().and_then(|held| diff(held, state));
        *held = Some(state.into());
        let change = patch.map(|patch| {
            let delta = Json::encoded(&patch);
            Event::StateDelta { delta }.to_json()
        });
        change
            .filter(|change| change.len() < whole.len())
            .unwrap_or(whole)
    }

    /// The run is over: nothing of the state has to be kept for it.
    pub(crate) fn forget(&mut self) {
        if let Self::Changes(held) = self {
            *held = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changes() -> ShownState {
        ShownState::new(Extras {
            reasoning: false,
            state_delta: true,
        })
    }

    fn snapshot(state: &str) -> String {
        format!(r#"{{"type":"STATE_SNAPSHOT","snapshot":{state}}}"#)
    }

    #[test]
    fn whoever_did_not_ask_gets_whole_states() {
        let mut shown = ShownState::new(Extras::default());
        for state in [r#"{"a":1}"#, r#"{"a":2}"#] {
            assert_eq!(shown.event(state), snapshot(state));
        }
    }

    #[test]
    fn a_change_is_told_by_what_is_shorter() {
        let mut shown = changes();
        let long = "x".repeat(80);
        let first = format!(r#"{{"n":1,"text":"{long}"}}"#);
        assert_eq!(shown.event(&first), snapshot(&first));
        let second = format!(r#"{{"n":2,"text":"{long}"}}"#);
        assert_eq!(
            shown.event(&second),
            r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/n","value":2}]}"#
        );
        // The next change is one of the state that the change before it left.
        let third = format!(r#"{{"n":2,"text":"{long}","m":{{}}}}"#);
        assert_eq!(
            shown.event(&third),
            r#"{"type":"STATE_DELTA","delta":[{"op":"add","path":"/m","value":{}}]}"#
        );
        let short = r#"{"n":3}"#;
        assert_eq!(shown.event(short), snapshot(short));
    }

    #[test]
    fn what_is_no_object_comes_whole() {
        let mut shown = changes();
        let long = format!(r#"{{"text":"{}"}}"#, "x".repeat(80));
        for state in ["[]", &long, "null"] {
            assert_eq!(shown.event(state), snapshot(state));
        }
    }
}
