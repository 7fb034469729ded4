//! Size, concurrency and time limits; the strictest of all parties holds (spec: presentation, Declaration; P9).

use super::error::{Code, Error};

/// The largest integer that JavaScript represents exactly.
pub const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

/// The limits that an agreement records. `None` leaves the matter to the other parties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InteractionLimits {
    /// Requests that one provider handles at once.
    pub max_concurrent_requests: Option<u64>,
    /// Fields of a question.
    pub max_fields: Option<u64>,
    /// Options of a select field.
    pub max_options_per_field: Option<u64>,
    /// UTF-16 code units of each text, of requests and of answers.
    pub max_text_length: Option<u64>,
}

impl InteractionLimits {
    /// For each limit the smaller of the two.
    #[must_use]
    pub fn strictest(self, other: InteractionLimits) -> InteractionLimits {
        InteractionLimits {
            max_concurrent_requests: smaller(
                self.max_concurrent_requests,
                other.max_concurrent_requests,
            ),
            max_fields: smaller(self.max_fields, other.max_fields),
            max_options_per_field: smaller(self.max_options_per_field, other.max_options_per_field),
            max_text_length: smaller(self.max_text_length, other.max_text_length),
        }
    }

    /// Checks the measures of a request.
    ///
    /// # Errors
    /// `size-limit`, naming the limit and its value.
    pub fn admit(&self, measure: Measure, subject: &str) -> Result<(), Error> {
        let bounds = [
            ("fields", measure.fields, self.max_fields),
            (
                "options in a field",
                measure.options,
                self.max_options_per_field,
            ),
            ("UTF-16 units in a text", measure.text, self.max_text_length),
        ];
        for (what, found, limit) in bounds {
            if let Some(limit) = limit.filter(|limit| found > *limit) {
                return Err(Error::new(
                    Code::SizeLimit,
                    format!("{subject} must not have more than {limit} {what}"),
                ));
            }
        }
        Ok(())
    }
}

fn smaller(left: Option<u64>, right: Option<u64>) -> Option<u64> {
    match (left, right) {
        (Some(left), Some(right)) => Some(left.min(right)),
        (one, other) => one.or(other),
    }
}

/// What counts against [`InteractionLimits`] in one request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Measure {
    /// Fields of the question.
    pub fields: u64,
    /// Options of the field that has most.
    pub options: u64,
    /// UTF-16 units of the longest text.
    pub text: u64,
}

/// The bounds of the product that runs the Host. Every one is finite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostLimits {
    /// Requests that one provider handles at once, for each kind.
    pub max_concurrent_requests: u64,
    /// Requests that wait for one provider, for each kind.
    pub max_queued_requests: u64,
    /// Fields of a question.
    pub max_fields: u64,
    /// Options of a select field.
    pub max_options_per_field: u64,
    /// UTF-16 code units of each text.
    pub max_text_length: u64,
    /// UTF-8 bytes of the JSON of one request.
    pub max_request_bytes: u64,
    /// Requests over the life of one invocation; it bounds what is remembered of used request ids.
    pub max_requests_per_invocation: u64,
    /// Milliseconds until a request expires, whatever the invocation's own deadline.
    pub max_request_ms: u64,
}

impl Default for HostLimits {
    fn default() -> Self {
        HostLimits {
            max_concurrent_requests: 8,
            max_queued_requests: 32,
            max_fields: 64,
            max_options_per_field: 256,
            max_text_length: 65_536,
            max_request_bytes: 1 << 20,
            max_requests_per_invocation: 4_096,
            max_request_ms: 30 * 60 * 1_000,
        }
    }
}

impl HostLimits {
    /// The part that is compared with agreements and connections.
    #[must_use]
    pub const fn interaction(&self) -> InteractionLimits {
        InteractionLimits {
            max_concurrent_requests: Some(self.max_concurrent_requests),
            max_fields: Some(self.max_fields),
            max_options_per_field: Some(self.max_options_per_field),
            max_text_length: Some(self.max_text_length),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_strictest_limit_wins_and_absence_is_not_infinity() {
        let agreement = InteractionLimits {
            max_fields: Some(4),
            ..InteractionLimits::default()
        };
        let connection = InteractionLimits {
            max_fields: Some(9),
            max_text_length: Some(100),
            ..InteractionLimits::default()
        };
        let product = HostLimits::default().interaction();
        let limits = agreement.strictest(connection).strictest(product);
        assert_eq!(limits.max_fields, Some(4));
        assert_eq!(limits.max_text_length, Some(100));
        assert_eq!(limits.max_options_per_field, Some(256));
        assert_eq!(limits.max_concurrent_requests, Some(8));
    }

    #[test]
    fn a_request_over_a_limit_is_told_which() {
        let limits = InteractionLimits {
            max_fields: Some(2),
            ..InteractionLimits::default()
        };
        assert!(
            limits
                .admit(
                    Measure {
                        fields: 2,
                        ..Measure::default()
                    },
                    "Question request"
                )
                .is_ok()
        );
        let error = limits
            .admit(
                Measure {
                    fields: 3,
                    ..Measure::default()
                },
                "Question request",
            )
            .unwrap_err();
        assert_eq!(error.code, Code::SizeLimit);
        assert_eq!(
            error.message,
            "Question request must not have more than 2 fields"
        );
    }
}
