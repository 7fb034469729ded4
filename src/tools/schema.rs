//! Reading the parameters of a Tool: a schema of the subset, or one that can be brought into it.

use super::json::{self, Json};
use super::node::{Kind, MAX_DEPTH, Node, ObjectNode};
use super::normalize::normalize;
use super::strict::read_strictly;

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
