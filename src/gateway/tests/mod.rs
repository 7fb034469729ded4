//! Tests of the whole machine against a simulated Host with a simulated clock.
#![allow(clippy::unwrap_used)]

mod agent;
mod durable;
mod errands;
mod model;
mod people;
mod prepare;
mod reconnect;
mod rules;
mod world;
