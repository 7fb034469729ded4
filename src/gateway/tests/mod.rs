//! Tests of the whole machine against a simulated Host with a simulated clock.
#![allow(clippy::unwrap_used)]

mod agent;
mod model;
mod reconnect;
mod rules;
mod world;
