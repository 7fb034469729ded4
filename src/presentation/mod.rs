//! `@dsh-std/presentation`: how a runtime asks the user's side, as a deterministic value (spec: presentation).
//!
//! - [`protocol`]: the five identities and their operations
//! - [`negotiate`]: requirements bound to supports
//! - [`validate`]: requests, specs, descriptors and results, with paths
//! - [`limits`], [`text_policy`], [`shown`]: sizes, and characters that deceive
//! - [`authority`], [`notification`], [`request`], [`host`]: who serves whom, merging, one request, the Host
//! - [`attach`]: the same over a message channel
//! - [`json`], [`error`], [`secret`]: values, stable codes, zeroised text

pub mod attach;
pub mod authority;
pub mod error;
pub mod host;
pub mod json;
pub mod limits;
pub mod negotiate;
pub mod notification;
pub mod protocol;
pub mod request;
pub mod secret;
pub mod shown;
pub mod text_policy;
pub mod validate;
