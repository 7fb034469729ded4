//! The JSON Schema subset that DSH enforces, as a typed tree.
//!
//! `@deepseek-ai/dsh-tools` checks no parameters of a raw Tool itself (`register` takes anything), so the checks live
//! here, equal to its `assertObjectJsonSchema` and `validateJsonSchemaValue` (compared in `__test__/tools.spec.ts`):
//!
//! - `type`, one of seven, or `oneOf` with two branches or more and nothing else that constrains, or neither: any JSON
//! - `properties`, `required`, boolean `additionalProperties` on objects; `items` on arrays; `enum`, `const` on scalars
//! - `title`, `description` (text), `default`, `examples` (any JSON) as annotations
//! - nothing else.

use indexmap::IndexMap;

use super::json::{Json, Members, is_negative_zero};

/// Nesting that the JSON parser follows; deeper text is refused before it is read.
pub const MAX_DEPTH: usize = 127;

/// One schema of the subset.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Node {
    pub(super) notes: Annotations,
    pub(super) kind: Kind,
}

/// What a schema says to readers only.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Annotations {
    pub(super) title: Option<String>,
    pub(super) description: Option<String>,
    pub(super) default: Option<Json>,
    pub(super) examples: Option<Json>,
}

/// What a schema demands.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Kind {
    /// Any JSON.
    Any,
    /// Exactly one branch accepts; two branches or more.
    OneOf(Vec<Node>),
    Object(ObjectNode),
    /// An array whose items satisfy the schema; without one, any items.
    Array(Option<Box<Node>>),
    Scalar(ScalarNode),
}

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct ObjectNode {
    pub(super) properties: IndexMap<String, Node>,
    /// Names that must be present, each of them in `properties`.
    pub(super) required: Vec<String>,
    pub(super) undeclared: Undeclared,
}

/// Whether an object may have members that its schema does not name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Undeclared {
    #[default]
    Allowed,
    Refused,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScalarNode {
    pub(super) kind: ScalarKind,
    /// The values that are accepted; without a list, all of the kind.
    pub(super) allowed: Option<Vec<Json>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ScalarKind {
    String,
    Number,
    Integer(IntegerRange),
    Boolean,
    Null,
}

/// Which integers are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IntegerRange {
    All,
    /// Those that JavaScript holds exactly. Generators write this bound on every integer; DSH has no word for it, so
    /// it is not part of the schema's text, but arguments are held to it.
    Safe,
}

/// The greatest integer up to which JavaScript numbers are exact.
pub(super) const MAX_SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

impl ScalarKind {
    pub(super) fn from_type(name: &str) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "number" => Self::Number,
            "integer" => Self::Integer(IntegerRange::All),
            "boolean" => Self::Boolean,
            "null" => Self::Null,
            _ => return None,
        })
    }

    pub(super) fn type_name(self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Number => "number",
            Self::Integer(_) => "integer",
            Self::Boolean => "boolean",
            Self::Null => "null",
        }
    }

    /// Whether the value is of this kind. `-0` is no JSON number to DSH.
    pub(super) fn admits(self, value: &Json) -> bool {
        match (self, value) {
            (Self::String, Json::String(_))
            | (Self::Boolean, Json::Bool(_))
            | (Self::Null, Json::Null) => true,
            (Self::Number, Json::Number(number)) => !is_negative_zero(number),
            (Self::Integer(range), Json::Number(number)) => {
                let value = number.as_f64().unwrap_or(f64::NAN);
                let in_range = match range {
                    IntegerRange::All => true,
                    IntegerRange::Safe => value.abs() <= MAX_SAFE_INTEGER,
                };
                value.fract() == 0.0 && in_range && !is_negative_zero(number)
            }
            _ => false,
        }
    }
}

impl ScalarNode {
    pub(super) fn any(kind: ScalarKind) -> Self {
        Self {
            kind,
            allowed: None,
        }
    }

    pub(super) fn accepts(&self, value: &Json) -> bool {
        self.kind.admits(value) && self.lists(value)
    }

    /// Whether the list of allowed values, if there is one, has the value.
    pub(super) fn lists(&self, value: &Json) -> bool {
        self.allowed
            .as_ref()
            .is_none_or(|allowed| allowed.iter().any(|entry| entry.same_scalar(value)))
    }
}

impl Node {
    pub(super) fn plain(kind: Kind) -> Self {
        Self {
            notes: Annotations::default(),
            kind,
        }
    }

    /// The schema in the subset's own words.
    pub(super) fn to_json(&self) -> Json {
        let mut members = Members::new();
        let mut put = |key: &str, value: Json| {
            members.insert(key.to_owned(), value);
        };
        match &self.kind {
            Kind::Any | Kind::OneOf(_) => {}
            Kind::Object(_) => put("type", text("object")),
            Kind::Array(_) => put("type", text("array")),
            Kind::Scalar(scalar) => put("type", text(scalar.kind.type_name())),
        }
        if let Some(title) = &self.notes.title {
            put("title", text(title));
        }
        if let Some(description) = &self.notes.description {
            put("description", text(description));
        }
        match &self.kind {
            Kind::Any => {}
            Kind::OneOf(branches) => {
                put(
                    "oneOf",
                    Json::Array(branches.iter().map(Self::to_json).collect()),
                );
            }
            Kind::Object(object) => object.write(&mut put),
            Kind::Array(items) => {
                if let Some(items) = items {
                    put("items", items.to_json());
                }
            }
            Kind::Scalar(scalar) => match scalar.allowed.as_deref() {
                None => {}
                Some([value]) => put("const", value.clone()),
                Some(values) => put("enum", Json::Array(values.to_vec())),
            },
        }
        if let Some(default) = &self.notes.default {
            put("default", default.clone());
        }
        if let Some(examples) = &self.notes.examples {
            put("examples", examples.clone());
        }
        Json::Object(members)
    }
}

impl ObjectNode {
    fn write(&self, put: &mut impl FnMut(&str, Json)) {
        let properties = self
            .properties
            .iter()
            .map(|(name, node)| (name.clone(), node.to_json()))
            .collect();
        put("properties", Json::Object(properties));
        if !self.required.is_empty() {
            put(
                "required",
                Json::Array(self.required.iter().map(|name| text(name)).collect()),
            );
        }
        match self.undeclared {
            Undeclared::Allowed => {}
            Undeclared::Refused => put("additionalProperties", Json::Bool(false)),
        }
    }
}

fn text(value: &str) -> Json {
    Json::String(value.to_owned())
}
