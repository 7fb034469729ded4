//! Keywords of JSON Schema (drafts 4 to 2020-12, OpenAPI 3, and what generators add) that DSH does not have.

use crate::tools::json::Json;
use crate::tools::node::{ObjectNode, Undeclared};

/// What a keyword outside the subset means for normalising.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Keyword {
    /// It constrains nothing: it may go. `format` is one of these by every draft's default.
    Annotation,
    /// It holds schemas for `$ref`, and constrains nothing by itself.
    Definitions,
    /// It constrains values of one type only, and nothing where it is [trivial](Self::is_trivial).
    Of(Applies),
    /// It constrains any value.
    Unenforceable,
    /// Not known: perhaps a misspelt constraint, so it is never dropped.
    Unknown,
}

/// The type that a keyword speaks about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Applies {
    Strings,
    Numbers,
    Arrays,
    Objects,
}

impl Keyword {
    pub(super) fn of(name: &str) -> Self {
        match name {
            "$schema"
            | "$id"
            | "id"
            | "$comment"
            | "$anchor"
            | "$dynamicAnchor"
            | "$recursiveAnchor"
            | "deprecated"
            | "readOnly"
            | "writeOnly"
            | "format"
            | "contentEncoding"
            | "contentMediaType"
            | "contentSchema"
            | "example"
            | "externalDocs"
            | "xml"
            | "discriminator"
            | "enumNames"
            | "enumDescriptions"
            | "markdownDescription"
            | "deprecationMessage"
            | "errorMessage"
            | "propertyOrdering" => Self::Annotation,
            _ if name.starts_with("x-") => Self::Annotation,
            "$defs" | "definitions" => Self::Definitions,
            "minLength" | "maxLength" | "pattern" => Self::Of(Applies::Strings),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                Self::Of(Applies::Numbers)
            }
            "minItems" | "maxItems" | "uniqueItems" | "prefixItems" | "additionalItems"
            | "contains" | "minContains" | "maxContains" | "unevaluatedItems" => {
                Self::Of(Applies::Arrays)
            }
            "minProperties"
            | "maxProperties"
            | "patternProperties"
            | "propertyNames"
            | "dependentRequired"
            | "dependentSchemas"
            | "dependencies"
            | "unevaluatedProperties" => Self::Of(Applies::Objects),
            "not" | "if" | "then" | "else" | "nullable" | "$dynamicRef" | "$recursiveRef"
            | "$vocabulary" => Self::Unenforceable,
            _ => Self::Unknown,
        }
    }
}

/// Whether a constraint on strings, numbers or arrays, or on any value, has the value that constrains nothing.
pub(super) fn is_trivial(name: &str, value: &Json, has: impl Fn(&str) -> bool) -> bool {
    match name {
        "minLength" | "minItems" => value.as_f64() == Some(0.0),
        "pattern" => value.as_str() == Some(""),
        "uniqueItems" | "nullable" | "not" => *value == Json::Bool(false),
        "prefixItems" => *value == Json::Array(Vec::new()),
        "unevaluatedItems" | "unevaluatedProperties" | "propertyNames" => accepts_everything(value),
        // Without the keyword that they refine these say nothing.
        "additionalItems" => true, // `items` as a list is refused for itself
        "minContains" | "maxContains" => !has("contains"),
        "then" | "else" => !has("if"),
        "if" => !has("then") && !has("else"),
        "patternProperties" | "dependentRequired" | "dependentSchemas" | "dependencies" => {
            matches!(value, Json::Object(members) if members.is_empty())
        }
        _ => false,
    }
}

/// Whether a constraint on objects constrains nothing beside the rest of this object.
pub(super) fn is_implied_by(name: &str, value: &Json, object: &ObjectNode) -> bool {
    match name {
        "minProperties" => value
            .as_f64()
            .is_some_and(|least| least <= count(object.required.len())),
        "maxProperties" => {
            object.undeclared == Undeclared::Refused
                && value
                    .as_f64()
                    .is_some_and(|most| most >= count(object.properties.len()))
        }
        // Names are strings anyway.
        "propertyNames" => matches!(value, Json::Object(members)
            if members.len() == 1 && members.get("type").and_then(Json::as_str) == Some("string")),
        _ => false,
    }
}

fn count(length: usize) -> f64 {
    u32::try_from(length).map_or(f64::INFINITY, f64::from)
}

fn accepts_everything(schema: &Json) -> bool {
    match schema {
        Json::Bool(accepts) => *accepts,
        Json::Object(members) => members.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_keywords_are_never_annotations() {
        assert_eq!(Keyword::of("minLenght"), Keyword::Unknown);
        assert_eq!(Keyword::of("x-order"), Keyword::Annotation);
        assert_eq!(Keyword::of("format"), Keyword::Annotation);
        assert_eq!(Keyword::of("minLength"), Keyword::Of(Applies::Strings));
    }
}
