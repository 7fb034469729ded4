//! The Rust core of `dsh-ag-ui`. One line a room:
//!
//! - [`agui`]: AG-UI wire types: `RunAgentInput`, messages, events, the stream checker (pure)
//! - [`tools`]: browser Tool names and the JSON Schema subset that DSH enforces (pure)
//! - [`session`]: what a DSH Host reports: durable session events and stream frames (pure)
//! - [`projection`]: session to AG-UI: text, tools, cards, transcript (pure)
//! - [`gateway`]: the machine: config, auth, admission, threads, runs, shared state (pure)
//! - [`redirect`]: the loopback receiver of `ExternalRedirect` (tokio, axum)
//! - `bindings`: the only module that names napi: converts types, nothing else
#![cfg_attr(test, allow(dead_code))]

pub mod agui;
pub mod gateway;
pub mod projection;
pub mod redirect;
pub mod session;
pub mod tools;

mod bindings;
