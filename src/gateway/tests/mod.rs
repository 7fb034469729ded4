//! Tests of the whole machine against a simulated Host with a simulated clock.
#![allow(clippy::unwrap_used)]

mod a2ui;
mod agent;
mod durable;
mod errands;
mod going_on;
mod model;
mod people;
mod prepare;
mod reconnect;
mod rules;
mod world;
