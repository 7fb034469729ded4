//! The vectors of the official clients, and properties that no list of rows can cover.
#![allow(clippy::unwrap_used)]

mod agreement;
mod events;
mod frames;
mod requests;
