//! Calls that clients were shown and that came to nothing: their attempt failed, or was cancelled (X7). A page may answer
//! them all the same, and its history holds that answer for ever.

use std::collections::VecDeque;

/// How many are remembered.
const REMEMBERED: usize = 256;

/// The calls of a thread that came to nothing, by wire id, oldest first.
#[derive(Debug, Default)]
pub(crate) struct LostCalls(VecDeque<Box<str>>);

impl LostCalls {
    /// Clients were shown the call, and no log has it.
    pub(crate) fn note(&mut self, wire_id: &str) {
        if self.knows(wire_id) {
            return;
        }
        if self.0.len() == REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(wire_id.into());
    }

    /// Whether clients may hold this call.
    pub(crate) fn knows(&self, wire_id: &str) -> bool {
        self.0.iter().any(|lost| **lost == *wire_id)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_remembered_once_each() {
        let mut lost = LostCalls::default();
        for number in 0..=REMEMBERED {
            lost.note(&format!("c{number}"));
            lost.note(&format!("c{number}"));
        }
        assert!(!lost.knows("c0") && lost.knows("c1") && lost.knows("c256"));
        assert_eq!(lost.0.len(), REMEMBERED);
    }
}
