//! Where events of a run go.

/// Where events go: a run's log.
pub trait Emit {
    /// One event that is not a delta.
    fn event(&mut self, json: String);
    /// A delta of one message or one call's arguments. `head` gives the event's JSON up to the delta.
    fn delta(&mut self, stream: u32, head: &dyn Fn() -> String, delta: &str);
}
