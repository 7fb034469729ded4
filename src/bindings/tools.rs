//! Browser Tools for `ts/browser-tools.ts`: sets of them, their arguments, and single schemas.

use napi::bindgen_prelude::{Env, Error, Result, Status, ToNapiValue, TypeName, ValueType};
use napi::{JsValue, sys};
use napi_derive::napi;

use crate::tools::schema::SchemaError;
use crate::tools::{Catalogue, Limits, Schema, Strictness, ToolError};

/// What happens to a Tool's schema outside the subset that DSH enforces: `strict` refuses it, `normalize` rewrites it
/// where that provably accepts the same arguments and refuses it otherwise.
#[napi(string_enum = "lowercase")]
#[derive(Clone, Copy)]
pub enum ToolSchemas {
    Strict,
    Normalize,
}

impl From<ToolSchemas> for Strictness {
    fn from(value: ToolSchemas) -> Self {
        match value {
            ToolSchemas::Strict => Self::Strict,
            ToolSchemas::Normalize => Self::Normalize,
        }
    }
}

/// Bounds of a {@link BrowserToolSet}.
#[napi(object)]
pub struct BrowserToolLimits {
    /// Most Tools. Default 32.
    pub max_tools: Option<u32>,
    /// Most UTF-8 bytes of the JSON of all Tools. Default 131072.
    pub max_tool_bytes: Option<u32>,
    /// Deepest nesting of arrays and objects in the parameters of one Tool. Default 16.
    pub max_tool_schema_depth: Option<u32>,
    /// Default `normalize`.
    pub tool_schemas: Option<ToolSchemas>,
}

impl From<BrowserToolLimits> for Limits {
    fn from(value: BrowserToolLimits) -> Self {
        let default = Self::default();
        let or = |value: Option<u32>, default: usize| {
            value.map_or(default, |value| {
                usize::try_from(value).unwrap_or(usize::MAX)
            })
        };
        Self {
            max_tools: or(value.max_tools, default.max_tools),
            max_bytes: or(value.max_tool_bytes, default.max_bytes),
            max_schema_depth: or(value.max_tool_schema_depth, default.max_schema_depth),
            strictness: value.tool_schemas.map_or(default.strictness, Into::into),
        }
    }
}

/// A Tool to be registered with the Host.
#[napi(object)]
pub struct BrowserToolRegistration {
    pub name: String,
    pub description: String,
    /// JSON text of the schema of the arguments, inside the subset that DSH enforces.
    pub parameters: String,
}

/// What a Host must do to get from one set to another: first unregister, then register.
#[napi(object)]
pub struct BrowserToolChanges {
    pub unregister: Vec<String>,
    pub register: Vec<BrowserToolRegistration>,
}

/// A validated set of browser Tools. Immutable: replacing makes another set.
#[napi]
pub struct BrowserToolSet {
    limits: Limits,
    catalogue: Catalogue,
}

#[napi]
impl BrowserToolSet {
    /// The empty set.
    #[napi(constructor, catch_unwind)]
    #[must_use]
    pub fn new(limits: Option<BrowserToolLimits>) -> Self {
        Self {
            limits: limits.map_or_else(Limits::default, Into::into),
            catalogue: Catalogue::default(),
        }
    }

    /// Validates the Tools that shall replace those of this set, which stays as it is.
    ///
    /// `tools` is JSON text, an array of `{name, description, parameters?}`; `taken` are names that the Agent has from
    /// elsewhere. Throws an `Error` with `code`, `status` and, for a schema, `violations`.
    #[napi(catch_unwind, ts_return_type = "BrowserToolSet")]
    pub fn replace(&self, tools: String, taken: Vec<String>) -> Coded<BrowserToolSet> {
        let next = Catalogue::from_json(&tools, &self.limits, &self.catalogue)
            .and_then(|next| next.check_collisions(&sorted(taken)).map(|()| next));
        Coded(
            next.map(|catalogue| Self {
                limits: self.limits,
                catalogue,
            })
            .map_err(Into::into),
        )
    }

    /// The set without one Tool.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn without(&self, name: String) -> BrowserToolSet {
        Self {
            limits: self.limits,
            catalogue: self.catalogue.without(&name),
        }
    }

    /// What a Host that has `previous` registered must do to have this set.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn changes_from(&self, previous: &BrowserToolSet) -> BrowserToolChanges {
        let changes = previous.catalogue.changes_to(&self.catalogue);
        BrowserToolChanges {
            unregister: changes.unregister.iter().map(ToString::to_string).collect(),
            register: changes
                .register
                .iter()
                .map(|tool| BrowserToolRegistration {
                    name: tool.name().to_string(),
                    description: tool.description().to_owned(),
                    parameters: tool.schema().json().to_owned(),
                })
                .collect(),
        }
    }

    /// Names of the Tools, in their declared order.
    #[napi(getter, catch_unwind)]
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        self.catalogue
            .iter()
            .map(|tool| tool.name().to_string())
            .collect()
    }

    /// The first Tool whose name is among `taken`, or `null`.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn collision(&self, taken: Vec<String>) -> Option<String> {
        match self.catalogue.check_collisions(&sorted(taken)) {
            Err(ToolError::Collision { name }) => Some(name.to_string()),
            _ => None,
        }
    }

    /// Checks the arguments of a call, given as JSON text. Returns every violation; none means that they are valid.
    #[napi(catch_unwind)]
    #[must_use]
    pub fn check(&self, name: String, json: String) -> Vec<String> {
        match self.catalogue.get(&name) {
            Some(tool) => tool.schema().check(&json),
            None => vec![format!("arguments: there is no browser Tool \"{name}\"")],
        }
    }
}

/// Brings the JSON text of a Tool's parameters into the subset that DSH enforces and returns it as JSON text. Throws
/// an `Error` with `code` `INVALID_FRONTEND_TOOL_SCHEMA` and `violations`, or `TOOL_SCHEMA_TOO_DEEP`.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn normalize_tool_schema(schema: String, mode: ToolSchemas) -> Coded<String> {
    Coded(read_schema(&schema, mode.into()).map(|schema| schema.json().to_owned()))
}

/// Checks arguments, given as JSON text, against a Tool's parameters, read as by {@link normalizeToolSchema}, and
/// throws as that does. Returns every violation; none means that they are valid.
#[napi(catch_unwind, ts_return_type = "Array<string>")]
pub fn check_tool_arguments(schema: String, mode: ToolSchemas, json: String) -> Coded<Vec<String>> {
    Coded(read_schema(&schema, mode.into()).map(|schema| schema.check(&json)))
}

fn read_schema(schema: &str, strictness: Strictness) -> std::result::Result<Schema, Refusal> {
    Ok(Schema::parse(schema, strictness)?)
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort_unstable();
    names
}

/// A refusal on its way to JavaScript.
pub struct Refusal {
    code: &'static str,
    status: u16,
    message: String,
    violations: Vec<String>,
}

impl From<ToolError> for Refusal {
    fn from(error: ToolError) -> Self {
        Self {
            code: error.code(),
            status: error.status(),
            message: error.to_string(),
            violations: error.violations().to_vec(),
        }
    }
}

impl From<SchemaError> for Refusal {
    fn from(error: SchemaError) -> Self {
        Self {
            code: error.code(),
            status: error.status(),
            message: error.to_string(),
            violations: match error {
                SchemaError::TooDeep => Vec::new(),
                SchemaError::Unsupported(violations) => violations,
            },
        }
    }
}

/// A result whose refusal becomes a thrown `Error` with `code`, `status` and, where there are any, `violations`.
pub struct Coded<T>(std::result::Result<T, Refusal>);

impl<T> TypeName for Coded<T> {
    fn type_name() -> &'static str {
        "Coded"
    }

    fn value_type() -> ValueType {
        ValueType::Unknown
    }
}

impl<T: ToNapiValue> ToNapiValue for Coded<T> {
    unsafe fn to_napi_value(raw: sys::napi_env, value: Self) -> Result<sys::napi_value> {
        match value.0 {
            // SAFETY: `raw` is the environment that the caller of this function vouches for.
            Ok(value) => unsafe { T::to_napi_value(raw, value) },
            Err(refusal) => {
                let env = Env::from_raw(raw);
                let mut error =
                    env.create_error(Error::new(Status::GenericFailure, refusal.message))?;
                error.set("code", refusal.code)?;
                error.set("status", u32::from(refusal.status))?;
                if !refusal.violations.is_empty() {
                    error.set("violations", refusal.violations)?;
                }
                Err(Error::from(error.to_unknown()))
            }
        }
    }
}
