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

use super::json::{self, Json, Members, is_negative_zero};
use super::normalize::normalize;
use super::strict::read_strictly;

/// Nesting that the JSON parser follows; deeper text is refused before it is read.
pub const MAX_DEPTH: usize = 127;

/// What happens to a schema outside the subset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strictness {
    /// It is refused.
    Strict,
    /// It is rewritten where that provably accepts the same arguments, and refused otherwise (X8).
    #[default]
    Normalize,
}

/// Why a schema was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// It nests deeper than [`MAX_DEPTH`].
    #[error("the schema nests deeper than {MAX_DEPTH}")]
    TooDeep,
    /// Every violation with its location, in walk order; a very long list is cut and says so.
    #[error("the schema cannot be enforced: {}", .0.join("; "))]
    Unsupported(Vec<String>),
}

impl SchemaError {
    /// The stable code of the wire.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::TooDeep => "TOOL_SCHEMA_TOO_DEEP",
            Self::Unsupported(_) => "INVALID_FRONTEND_TOOL_SCHEMA",
        }
    }

    /// The HTTP status that belongs to [`code`](Self::code).
    #[must_use]
    pub fn status(&self) -> u16 {
        match self {
            Self::TooDeep => 413,
            Self::Unsupported(_) => 400,
        }
    }
}

/// Parameters of a Tool, inside the subset and object-rooted.
#[derive(Debug, Clone, PartialEq)]
pub struct Schema {
    pub(super) root: Node,
    json: Box<str>,
}

impl Schema {
    /// Reads parameters as a client sent them.
    ///
    /// A schema that is already in the subset stays the text that it was.
    ///
    /// # Errors
    /// [`SchemaError`] when it cannot be enforced as it stands (nor, normalising, be rewritten).
    pub fn parse(text: &str, strictness: Strictness) -> Result<Self, SchemaError> {
        if json::depth(text) > MAX_DEPTH {
            return Err(SchemaError::TooDeep);
        }
        let raw: Json = serde_json::from_str(text).map_err(|error| {
            SchemaError::Unsupported(vec![format!("schema: not JSON ({error})")])
        })?;
        match (read_strictly(&raw), strictness) {
            (Ok(root), _) => Ok(Self {
                root,
                json: text.into(),
            }),
            (Err(violations), Strictness::Strict) => Err(SchemaError::Unsupported(violations)),
            (Err(_), Strictness::Normalize) => {
                let (root, json) = normalize(&raw).map_err(SchemaError::Unsupported)?;
                Ok(Self { root, json })
            }
        }
    }

    /// The schema of a Tool that declares no parameters: any object.
    #[must_use]
    pub fn empty() -> Self {
        Self {
            root: Node::plain(Kind::Object(ObjectNode::default())),
            json: r#"{"type":"object","properties":{}}"#.into(),
        }
    }

    /// The schema as JSON text, to be registered with the Host and shown to the model.
    #[must_use]
    pub fn json(&self) -> &str {
        &self.json
    }
}

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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn strict(text: &str) -> Result<Schema, SchemaError> {
        Schema::parse(text, Strictness::Strict)
    }

    fn violations(text: &str) -> Vec<String> {
        match strict(text).unwrap_err() {
            SchemaError::Unsupported(violations) => violations,
            SchemaError::TooDeep => vec!["too deep".to_owned()],
        }
    }

    #[test]
    fn a_schema_of_the_subset_keeps_its_text() {
        let text = r#"{ "type":"object", "title":"T", "properties":{ "b":{"type":"array","items":{"type":"integer","enum":[1,2.0]}},
            "a":{"oneOf":[{"type":"null"},{"type":"string","const":"x","enum":["x","y"]}],"default":null},"c":{} },
            "required":["a"], "additionalProperties":false, "examples":[1] }"#;
        let schema = strict(text).unwrap();
        assert_eq!(schema.json(), text);
        assert_eq!(Schema::parse(text, Strictness::Normalize).unwrap(), schema);
        // Written out, it is still the same schema.
        assert_eq!(
            strict(&schema.root.to_json().to_string()).unwrap().root,
            schema.root
        );
    }

    #[test]
    fn hostile_nesting_is_refused_before_it_is_read() {
        let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(strict(&deep), Err(SchemaError::TooDeep));
        let nested = |levels: usize| {
            format!(
                "{}{{}}{}",
                r#"{"type":"array","items":"#.repeat(levels),
                "}".repeat(levels)
            )
        };
        assert_eq!(
            violations(&nested(126)),
            ["schema.type: must be \"object\""]
        );
        assert_eq!(strict(&nested(127)), Err(SchemaError::TooDeep));
    }

    proptest::proptest! {
        #[test]
        fn reading_and_checking_are_total(
            schema in r#"[\[\]{}:, "$a-e0-9.-]{0,60}"#,
            keyword in "type|enum|const|items|required|properties|anyOf|allOf|oneOf|not|[$]ref|minimum|multipleOf",
            value in r#"[\[\]{}:, "a-e0-9.-]{0,20}|true|-0|"(object|string|#)"|\[\]|\{\}|\["a"\]"#,
            arguments in r#"[\[\]{}:, "a-e0-9.-]{0,60}"#,
        ) {
            let shaped = format!(r#"{{"type":"object","properties":{{"a":{{"{keyword}":{value}}}}}}}"#);
            for text in [&schema, &shaped] {
                for strictness in [Strictness::Strict, Strictness::Normalize] {
                    if let Ok(schema) = Schema::parse(text, strictness) {
                        let any = schema.check(&arguments);
                        let shaped = schema.check(&format!(r#"{{"a":{value}}}"#));
                        proptest::prop_assert!(any.iter().chain(&shaped).all(|violation| violation.contains(": ")));
                        proptest::prop_assert!(strict(schema.json()).is_ok());
                    }
                }
            }
        }
    }

    #[test]
    fn text_that_is_no_json_is_a_violation() {
        assert_eq!(
            violations("{"),
            ["schema: not JSON (EOF while parsing an object at line 1 column 1)"]
        );
    }

    #[test]
    fn the_empty_schema_is_what_its_text_says() {
        assert_eq!(strict(Schema::empty().json()).unwrap(), Schema::empty());
    }
}
