//! Bounds of one receiver (spec: presentation, Security considerations: query size, parameters, waiting time).

use std::time::Duration;

/// What one receiver accepts and how long it waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Longest query, in bytes as sent, without the `?`.
    pub max_query_bytes: usize,
    /// Most `name=value` pairs in the query.
    pub max_parameters: usize,
    /// Longest time between opening and expiry, whatever the request's deadline says.
    pub max_wait: Duration,
}

impl Limits {
    /// Largest `max_query_bytes`: a request target of more than 65,534 bytes never gets past the HTTP parser.
    pub const QUERY_BYTES_CEILING: usize = 60 * 1024;
    /// Largest `max_parameters`: one `&` a parameter fits into the largest query.
    pub const PARAMETERS_CEILING: usize = Self::QUERY_BYTES_CEILING;
    /// Longest `max_wait`: one day.
    pub const WAIT_CEILING: Duration = Duration::from_secs(24 * 60 * 60);
}

impl Default for Limits {
    /// 16 KiB of query, 256 parameters, ten minutes.
    fn default() -> Self {
        Self {
            max_query_bytes: 16 * 1024,
            max_parameters: 256,
            max_wait: Duration::from_secs(10 * 60),
        }
    }
}

/// A limit that is not a positive integer within its ceiling. Displays as `<name> must be ...`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} must be an integer from 1 to {ceiling}")]
pub struct LimitError {
    name: &'static str,
    ceiling: u64,
}

/// Limits as a caller writes them: JavaScript numbers, each optional.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RequestedLimits {
    /// See [`Limits::max_query_bytes`].
    pub max_query_bytes: Option<f64>,
    /// See [`Limits::max_parameters`].
    pub max_parameters: Option<f64>,
    /// See [`Limits::max_wait`], in milliseconds.
    pub max_wait_ms: Option<f64>,
}

impl RequestedLimits {
    /// Fills in the defaults and checks the ceilings.
    ///
    /// # Errors
    /// The first limit that is not an integer from 1 to its ceiling.
    pub fn resolve(self) -> Result<Limits, LimitError> {
        let default = Limits::default();
        let wait = bounded(
            "limits.maxWaitMs",
            self.max_wait_ms,
            default.max_wait.as_millis() as u64,
            Limits::WAIT_CEILING.as_millis() as u64,
        )?;
        Ok(Limits {
            max_query_bytes: bounded(
                "limits.maxQueryBytes",
                self.max_query_bytes,
                default.max_query_bytes as u64,
                Limits::QUERY_BYTES_CEILING as u64,
            )? as usize,
            max_parameters: bounded(
                "limits.maxParameters",
                self.max_parameters,
                default.max_parameters as u64,
                Limits::PARAMETERS_CEILING as u64,
            )? as usize,
            max_wait: Duration::from_millis(wait),
        })
    }
}

fn bounded(
    name: &'static str,
    asked: Option<f64>,
    default: u64,
    ceiling: u64,
) -> Result<u64, LimitError> {
    match asked {
        None => Ok(default),
        // `contains` refuses NaN; integers up to a ceiling below 2^53 convert exactly.
        Some(value) if value.fract() == 0.0 && (1.0..=ceiling as f64).contains(&value) => {
            Ok(value as u64)
        }
        Some(_) => Err(LimitError { name, ceiling }),
    }
}

/// When a receiver ends by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Expiry {
    /// Time from now; zero when the deadline has passed.
    pub wait: Duration,
    /// The same moment on the wall clock, in milliseconds since the Unix epoch.
    pub at_ms: f64,
}

impl Expiry {
    /// The earlier of the request's deadline and the longest wait. Both times are milliseconds since the epoch; the
    /// wall clock is read once, afterwards only the monotonic clock counts.
    #[must_use]
    pub fn new(now_ms: f64, deadline_ms: Option<f64>, max_wait: Duration) -> Self {
        let longest = max_wait.as_secs_f64() * 1000.0;
        let wait_ms = deadline_ms.map_or(longest, |at| (at - now_ms).clamp(0.0, longest));
        Self {
            wait: Duration::from_secs_f64(wait_ms / 1000.0),
            at_ms: now_ms + wait_ms,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn absent_limits_are_the_defaults() {
        assert_eq!(RequestedLimits::default().resolve(), Ok(Limits::default()));
    }

    #[test]
    fn a_limit_is_a_positive_integer_within_its_ceiling() {
        for bad in [0.0, -1.0, 1.5, f64::NAN, f64::INFINITY, 61_441.0] {
            let asked = RequestedLimits {
                max_query_bytes: Some(bad),
                ..Default::default()
            };
            assert_eq!(
                asked.resolve().unwrap_err().to_string(),
                "limits.maxQueryBytes must be an integer from 1 to 61440"
            );
        }
        let asked = RequestedLimits {
            max_query_bytes: Some(61_440.0),
            max_parameters: Some(1.0),
            max_wait_ms: Some(1500.0),
        };
        let limits = asked.resolve().unwrap();
        assert_eq!(limits.max_query_bytes, 61_440);
        assert_eq!(limits.max_parameters, 1);
        assert_eq!(limits.max_wait, Duration::from_millis(1500));
    }

    #[test]
    fn the_earlier_of_deadline_and_longest_wait_counts() {
        let ten_seconds = Duration::from_secs(10);
        let by_wait = Expiry::new(1000.0, None, ten_seconds);
        assert_eq!((by_wait.wait, by_wait.at_ms), (ten_seconds, 11_000.0));
        let by_deadline = Expiry::new(1000.0, Some(3500.0), ten_seconds);
        assert_eq!(by_deadline.wait, Duration::from_millis(2500));
        assert_eq!(by_deadline.at_ms, 3500.0);
        assert_eq!(Expiry::new(1000.0, Some(1e18), ten_seconds).at_ms, 11_000.0);
        let passed = Expiry::new(1000.0, Some(999.0), ten_seconds);
        assert_eq!((passed.wait, passed.at_ms), (Duration::ZERO, 1000.0));
    }
}
