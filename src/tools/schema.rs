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
use super::normalize;
use super::path::{Path, Root};
use super::report::Report;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaError {
    /// It nests deeper than [`MAX_DEPTH`].
    TooDeep,
    /// Every violation with its location.
    Unsupported(Vec<String>),
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
                let (root, json) = normalize::normalize(&raw).map_err(SchemaError::Unsupported)?;
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

/// Reads a schema that must be in the subset as it stands.
fn read_strictly(raw: &Json) -> Result<Node, Vec<String>> {
    let mut report = Report::default();
    let path = Path::root(Root::Schema);
    let node = read_node(raw, &path, &mut report);
    if report.is_empty() && !matches!(node.kind, Kind::Object(_)) {
        report.add(&path.member("type"), format_args!("must be \"object\""));
    }
    if report.is_empty() {
        Ok(node)
    } else {
        Err(report.into_violations())
    }
}

const CONSTRAINTS: [&str; 8] = [
    "type",
    "oneOf",
    "properties",
    "required",
    "additionalProperties",
    "items",
    "enum",
    "const",
];
const TYPES: &str = "object, array, string, number, integer, boolean or null";

/// Reads one schema. Where it is wrong, the violation is reported and something of the right shape returned.
fn read_node(raw: &Json, path: &Path<'_>, report: &mut Report) -> Node {
    let Json::Object(members) = raw else {
        report.add(path, format_args!("must be a schema object"));
        return Node::plain(Kind::Any);
    };
    let notes = read_annotations(members, path, report);
    let kind = match (members.get("type"), members.get("oneOf")) {
        (Some(_), Some(_)) => {
            report.add(path, format_args!("has both type and oneOf"));
            Kind::Any
        }
        (None, None) => {
            for key in CONSTRAINTS.iter().filter(|key| members.contains_key(**key)) {
                report.add(&path.member(key), format_args!("needs a type beside it"));
            }
            Kind::Any
        }
        (None, Some(branches)) => read_one_of(members, branches, path, report),
        (Some(Json::String(name)), None) => read_typed(members, name, path, report),
        (Some(Json::Array(_)), None) => {
            report.add(
                &path.member("type"),
                format_args!("must be one type, not a list"),
            );
            Kind::Any
        }
        (Some(_), None) => {
            report.add(&path.member("type"), format_args!("must be {TYPES}"));
            Kind::Any
        }
    };
    Node { notes, kind }
}

fn read_annotations(members: &Members, path: &Path<'_>, report: &mut Report) -> Annotations {
    let mut notes = Annotations::default();
    for (key, value) in members {
        match key.as_str() {
            "title" | "description" | "default" | "examples" => {
                if !value.is_lossless() {
                    report.add(
                        &path.member(key),
                        format_args!("must be lossless JSON (it has -0)"),
                    );
                }
            }
            key if CONSTRAINTS.contains(&key) => {}
            _ => report.add(
                &path.member(key),
                format_args!("is a keyword that DSH does not enforce"),
            ),
        }
    }
    for (key, slot) in [
        ("description", &mut notes.description),
        ("title", &mut notes.title),
    ] {
        match members.get(key) {
            Some(Json::String(text)) => *slot = Some(text.clone()),
            Some(_) => report.add(&path.member(key), format_args!("must be a string")),
            None => {}
        }
    }
    notes.default = members.get("default").cloned();
    notes.examples = members.get("examples").cloned();
    notes
}

fn read_one_of(members: &Members, branches: &Json, path: &Path<'_>, report: &mut Report) -> Kind {
    let here = path.member("oneOf");
    let kind = match branches {
        Json::Array(branches) if branches.len() >= 2 => Kind::OneOf(
            branches
                .iter()
                .enumerate()
                .map(|(index, branch)| read_node(branch, &here.item(index), report))
                .collect(),
        ),
        _ => {
            report.add(
                &here,
                format_args!("must be an array of two schemas or more"),
            );
            Kind::Any
        }
    };
    for key in CONSTRAINTS {
        if key != "oneOf" && members.contains_key(key) {
            report.add(&path.member(key), format_args!("cannot stand beside oneOf"));
        }
    }
    kind
}

fn read_typed(members: &Members, name: &str, path: &Path<'_>, report: &mut Report) -> Kind {
    let scalar = ScalarKind::from_type(name);
    if scalar.is_none() && !matches!(name, "object" | "array") {
        report.add(&path.member("type"), format_args!("must be {TYPES}"));
        return Kind::Any;
    }
    for key in &CONSTRAINTS[2..] {
        let fits = match *key {
            "properties" | "required" | "additionalProperties" => name == "object",
            "items" => name == "array",
            _ => scalar.is_some(),
        };
        if !fits && members.contains_key(*key) {
            report.add(
                &path.member(key),
                format_args!("has no meaning for type {name}"),
            );
        }
    }
    match scalar {
        Some(kind) => Kind::Scalar(read_scalar(members, kind, path, report)),
        None if name == "object" => Kind::Object(read_object(members, path, report)),
        None => Kind::Array(
            members
                .get("items")
                .map(|items| Box::new(read_node(items, &path.member("items"), report))),
        ),
    }
}

fn read_object(members: &Members, path: &Path<'_>, report: &mut Report) -> ObjectNode {
    let mut object = ObjectNode::default();
    let here = path.member("properties");
    match members.get("properties") {
        Some(Json::Object(properties)) => {
            for (name, schema) in properties {
                let node = read_node(schema, &here.member(name), report);
                object.properties.insert(name.clone(), node);
            }
        }
        Some(_) => report.add(&here, format_args!("must be an object of schemas")),
        None => {}
    }
    let here = path.member("required");
    match members.get("required").map(read_names) {
        Some(Some(names)) => {
            for name in names {
                if !object.properties.contains_key(name) {
                    report.add(
                        &here,
                        format_args!("names \"{name}\", which properties does not have"),
                    );
                }
                object.required.push(name.to_owned());
            }
        }
        Some(None) => report.add(&here, format_args!("must be an array of strings")),
        None => {}
    }
    match members.get("additionalProperties") {
        None | Some(Json::Bool(true)) => {}
        Some(Json::Bool(false)) => object.undeclared = Undeclared::Refused,
        Some(_) => report.add(
            &path.member("additionalProperties"),
            format_args!("must be a boolean"),
        ),
    }
    object
}

/// The strings of an array of strings.
pub(super) fn read_names(value: &Json) -> Option<Vec<&str>> {
    match value {
        Json::Array(items) => items.iter().map(Json::as_str).collect(),
        _ => None,
    }
}

fn read_scalar(
    members: &Members,
    kind: ScalarKind,
    path: &Path<'_>,
    report: &mut Report,
) -> ScalarNode {
    let mut scalar = ScalarNode::any(kind);
    match members.get("enum") {
        Some(Json::Array(values))
            if !values.is_empty() && values.iter().all(|value| kind.admits(value)) =>
        {
            scalar.allowed = Some(values.clone());
        }
        Some(_) => report.add(
            &path.member("enum"),
            format_args!("must be a non-empty array of {} values", kind.type_name()),
        ),
        None => {}
    }
    if let Some(value) = members.get("const") {
        let here = path.member("const");
        if !kind.admits(value) {
            report.add(&here, format_args!("must be a {} value", kind.type_name()));
        } else if !scalar.lists(value) {
            report.add(&here, format_args!("must be one of the enum beside it"));
        }
        scalar.allowed = Some(vec![value.clone()]);
    }
    scalar
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
    fn every_violation_is_found_with_its_path() {
        assert_eq!(
            violations(
                r#"{"$schema":"x","type":"object","items":{},"properties":{"a":{"type":["string"],"minLength":1},"b":7,
                "c":{"type":"string","enum":[]},"d":{"type":"integer","const":1.5},"e":{"oneOf":[{}],"type":"null"},
                "f":{"oneOf":[{}],"items":{}},"g":{"enum":[1]},"h":{"type":"null","title":1,"default":-0}},
                "required":["z"],"additionalProperties":{}}"#
            ),
            [
                "schema.$schema: is a keyword that DSH does not enforce",
                "schema.items: has no meaning for type object",
                "schema.properties.a.minLength: is a keyword that DSH does not enforce",
                "schema.properties.a.type: must be one type, not a list",
                "schema.properties.b: must be a schema object",
                "schema.properties.c.enum: must be a non-empty array of string values",
                "schema.properties.d.const: must be a integer value",
                "schema.properties.e: has both type and oneOf",
                "schema.properties.f.oneOf: must be an array of two schemas or more",
                "schema.properties.f.items: cannot stand beside oneOf",
                "schema.properties.g.enum: needs a type beside it",
                "schema.properties.h.default: must be lossless JSON (it has -0)",
                "schema.properties.h.title: must be a string",
                "schema.required: names \"z\", which properties does not have",
                "schema.additionalProperties: must be a boolean",
            ]
        );
    }

    #[test]
    fn the_root_is_an_object() {
        for text in [
            "{}",
            r#"{"type":"string"}"#,
            r#"{"oneOf":[{"type":"object"},{"type":"null"}]}"#,
        ] {
            assert_eq!(violations(text), ["schema.type: must be \"object\""]);
        }
        for text in ["[]", "null", "\"object\"", "true"] {
            assert_eq!(violations(text), ["schema: must be a schema object"]);
        }
        assert!(
            violations("{")
                .first()
                .unwrap()
                .starts_with("schema: not JSON")
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

    #[test]
    fn the_empty_schema_is_what_its_text_says() {
        assert_eq!(strict(Schema::empty().json()).unwrap(), Schema::empty());
    }
}
