//! The only module that names napi. It converts types and forwards; the rules live in the pure rooms.
#![allow(unsafe_code)]

mod agui;
mod gateway;
mod presentation;
mod redirect;
mod tools;

use napi_derive::napi;

/// Version of the native core, equal to the package's.
#[napi(catch_unwind)]
pub fn core_version() -> &'static str {
    env!("CARGO_PKG_VERSION")
}
