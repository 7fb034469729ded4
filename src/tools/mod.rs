//! Browser Tools: what a client may declare, before a Host ever sees it. Pure: text in, values out.
//!
//! - [`name`]: which names a Tool may have
//! - `node`: the JSON Schema subset that DSH enforces, as a typed tree
//! - [`schema`]: reading one
//! - `strict`: reading a schema that must be in the subset as it stands
//! - `normalize`, `algebra`: bringing schemas from the field into that subset without weakening them (X8)
//! - `validate`: arguments of a call against a schema
//! - [`catalogue`]: the validated set of Tools of one request, and what changes from one set to the next
//! - [`error`]: every refusal, with its stable code and HTTP status
//! - `json`, `path`, `report`: ordered JSON, locations in it, and bounded lists of violations
//!
//! Rows: G11 (names, schemas, collisions), G23, X8. Specification: gateway, "Client-provided Tools".

pub mod catalogue;
pub mod error;
pub mod name;
pub mod schema;

mod algebra;
mod json;
mod node;
mod normalize;
mod path;
mod report;
mod strict;
mod validate;

pub use catalogue::{Catalogue, Changes, Limits, RawTool, Tool};
pub use error::ToolError;
pub use name::{STATE_TOOL, ToolName};
pub use schema::{Schema, Strictness};
