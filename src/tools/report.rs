//! Lists of violations that stay small whatever they are made from.

use std::fmt;

use super::path::Path;

/// Text kept of one list, in bytes. A hostile schema can have 100,000 violations at paths of 100 KB each; a person
/// reads the first dozen.
const MAX_BYTES: usize = 32 * 1024;

/// Text kept of one violation, in bytes.
const MAX_LINE: usize = 1024;

/// Collects every violation in walk order, up to [`MAX_BYTES`] of text, and counts the rest.
#[derive(Default)]
pub(super) struct Report {
    found: Vec<String>,
    bytes: usize,
    total: usize,
}

impl Report {
    pub(super) fn add(&mut self, path: &Path<'_>, what: fmt::Arguments<'_>) {
        self.total += 1;
        if self.bytes < MAX_BYTES {
            let mut text = format!("{path}: {what}");
            if text.len() > MAX_LINE {
                let end = (0..=MAX_LINE).rev().find(|end| text.is_char_boundary(*end));
                text.truncate(end.unwrap_or(0));
                text.push_str("...");
            }
            self.bytes += text.len();
            self.found.push(text);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.total == 0
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// The list, with one closing line when some are left out.
    pub(super) fn into_violations(mut self) -> Vec<String> {
        let left_out = self.total - self.found.len();
        if left_out > 0 {
            self.found.push(format!("and {left_out} more"));
        }
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tools::path::Root;

    #[test]
    fn keeps_everything_within_bounds_and_counts_the_rest() {
        let mut report = Report::default();
        let root = Path::root(Root::Schema);
        let name = "é".repeat(10_000);
        for _ in 0..100 {
            report.add(&root.member(&name), format_args!("bad"));
        }
        let violations = report.into_violations();
        assert_eq!(violations.len(), 33);
        assert!(violations[0].len() <= MAX_LINE + 3);
        assert_eq!(violations[32], "and 68 more");
    }
}
