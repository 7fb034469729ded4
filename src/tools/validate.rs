//! Arguments of a call against the schema of its Tool.

use super::json::Json;
use super::node::{Kind, Node, ObjectNode, ScalarNode, Undeclared};
use super::path::{Path, Root};
use super::report::Report;
use super::schema::Schema;

/// Schema nodes looked at for one call. Nested `oneOf` over long arrays can ask for billions; honest calls need
/// thousands.
const MAX_VISITS: u32 = 4_000_000;

impl Schema {
    /// Checks the arguments of a call, as the JSON text that the model produced. Empty text reads as `{}`, as DSH
    /// reads it. Returns every violation with its location; none means that the arguments are valid.
    ///
    /// Total: text that is no JSON, nests beyond 127 levels or cannot be checked in bounded time is a violation.
    #[must_use]
    pub fn check(&self, arguments: &str) -> Vec<String> {
        let text = if arguments.is_empty() {
            "{}"
        } else {
            arguments
        };
        let path = Path::root(Root::Arguments);
        let value: Json = match serde_json::from_str(text) {
            Ok(value) => value,
            Err(error) => return vec![format!("{path}: must be JSON ({error})")],
        };
        let mut check = Check {
            visits_left: MAX_VISITS,
        };
        let mut report = Report::default();
        check.node(&self.root, &value, &path, &mut report);
        if check.visits_left == 0 {
            return vec![format!("{path}: too much to check against this schema")];
        }
        report.into_violations()
    }
}

/// Where violations go: written down, or, inside a branch of `oneOf`, only counted.
trait Sink {
    fn add(&mut self, path: &Path<'_>, what: std::fmt::Arguments<'_>);
    fn total(&self) -> usize;
}

impl Sink for Report {
    fn add(&mut self, path: &Path<'_>, what: std::fmt::Arguments<'_>) {
        Report::add(self, path, what);
    }

    fn total(&self) -> usize {
        Report::total(self)
    }
}

struct Count(usize);

impl Sink for Count {
    fn add(&mut self, _path: &Path<'_>, _what: std::fmt::Arguments<'_>) {
        self.0 += 1;
    }

    fn total(&self) -> usize {
        self.0
    }
}

struct Check {
    visits_left: u32,
}

impl Check {
    fn node(&mut self, node: &Node, value: &Json, path: &Path<'_>, sink: &mut impl Sink) {
        self.visits_left = self.visits_left.saturating_sub(1);
        if self.visits_left == 0 {
            return;
        }
        match &node.kind {
            Kind::Any => lossless(value, path, sink),
            Kind::OneOf(branches) => {
                let matched = branches
                    .iter()
                    .filter(|branch| self.accepts(branch, value, path))
                    .count();
                if matched != 1 {
                    sink.add(
                        path,
                        format_args!("must match exactly one oneOf branch, matches {matched}"),
                    );
                }
            }
            Kind::Object(object) => self.object(object, value, path, sink),
            Kind::Array(items) => self.array(items.as_deref(), value, path, sink),
            Kind::Scalar(scalar) => check_scalar(scalar, value, path, sink),
        }
    }

    fn accepts(&mut self, node: &Node, value: &Json, path: &Path<'_>) -> bool {
        let mut count = Count(0);
        self.node(node, value, path, &mut count);
        count.0 == 0
    }

    fn object(&mut self, object: &ObjectNode, value: &Json, path: &Path<'_>, sink: &mut impl Sink) {
        let Json::Object(members) = value else {
            return sink.add(path, format_args!("must be an object"));
        };
        let before = sink.total();
        for name in &object.required {
            if !members.contains_key(name) {
                sink.add(&path.member(name), format_args!("is required"));
            }
        }
        for (name, node) in &object.properties {
            if let Some(member) = members.get(name) {
                self.node(node, member, &path.member(name), sink);
            }
        }
        match object.undeclared {
            Undeclared::Allowed => {}
            Undeclared::Refused => {
                for name in members
                    .keys()
                    .filter(|name| !object.properties.contains_key(*name))
                {
                    sink.add(
                        &path.member(name),
                        format_args!("is not a declared property"),
                    );
                }
            }
        }
        if sink.total() == before {
            lossless(value, path, sink);
        }
    }

    fn array(&mut self, items: Option<&Node>, value: &Json, path: &Path<'_>, sink: &mut impl Sink) {
        let Json::Array(values) = value else {
            return sink.add(path, format_args!("must be an array"));
        };
        let before = sink.total();
        if let Some(items) = items {
            for (index, item) in values.iter().enumerate() {
                self.node(items, item, &path.item(index), sink);
            }
        }
        if sink.total() == before {
            lossless(value, path, sink);
        }
    }
}

fn check_scalar(scalar: &ScalarNode, value: &Json, path: &Path<'_>, sink: &mut impl Sink) {
    if !scalar.kind.admits(value) {
        sink.add(
            path,
            format_args!("must be of type {}", scalar.kind.type_name()),
        );
    } else if !scalar.lists(value) {
        let allowed = scalar.allowed.as_deref().unwrap_or_default();
        sink.add(path, format_args!("must be {}", Listed(allowed)));
    }
}

fn lossless(value: &Json, path: &Path<'_>, sink: &mut impl Sink) {
    if !value.is_lossless() {
        sink.add(path, format_args!("must be lossless JSON (it has -0)"));
    }
}

/// Allowed values, as many as are worth reading.
struct Listed<'a>(&'a [Json]);

impl std::fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        const SHOWN: usize = 32;
        let [only] = self.0 else {
            f.write_str("one of ")?;
            for (index, value) in self.0.iter().take(SHOWN).enumerate() {
                let comma = if index == 0 { "" } else { ", " };
                write!(f, "{comma}{value}")?;
            }
            return match self.0.len().saturating_sub(SHOWN) {
                0 => Ok(()),
                more => write!(f, " and {more} more"),
            };
        };
        only.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::tools::schema::Strictness;

    fn check(schema: &str, arguments: &str) -> Vec<String> {
        Schema::parse(schema, Strictness::Strict)
            .unwrap()
            .check(arguments)
    }

    #[test]
    fn every_violation_is_found_with_its_path() {
        let schema = r#"{"type":"object","properties":{"name":{"type":"string","enum":["a","b"]},
            "list":{"type":"array","items":{"type":"integer"}},"on":{"type":"boolean","const":true},
            "nested":{"type":"object","properties":{"x":{"type":"null"}},"required":["x"],"additionalProperties":false},
            "pick":{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"number"}]}},"required":["name","on"]}"#;
        assert_eq!(
            check(
                schema,
                r#"{"name":"c","list":[1,2.0,1.5,"3"],"nested":{"y":1},"pick":3,"extra":[{}]}"#
            ),
            [
                "on: is required",
                "name: must be one of \"a\", \"b\"",
                "list[2]: must be of type integer",
                "list[3]: must be of type integer",
                "nested.x: is required",
                "nested.y: is not a declared property",
                "pick: must match exactly one oneOf branch, matches 2",
            ]
        );
        assert_eq!(
            check(schema, r#"{"name":"a","on":true,"list":[],"pick":3.5}"#),
            [""; 0]
        );
        assert_eq!(
            check(schema, r#"{"name":"a","on":false}"#),
            ["on: must be true"]
        );
    }

    #[test]
    fn text_that_is_no_object_is_a_violation() {
        let schema = Schema::empty();
        for text in ["[]", "null", "\"{}\"", "3"] {
            assert_eq!(schema.check(text), ["arguments: must be an object"]);
        }
        for text in [
            "{",
            "nonsense",
            " ",
            r#"{"a":"\ud800"}"#,
            r#"{"a":1e999}"#,
            &"[".repeat(100_000),
        ] {
            let violations = schema.check(text);
            assert_eq!(violations.len(), 1, "{violations:?}");
            assert!(
                violations[0].starts_with("arguments: must be JSON"),
                "{violations:?}"
            );
        }
        assert_eq!(schema.check(""), [""; 0]);
    }

    #[test]
    fn negative_zero_is_not_lossless() {
        let schema = Schema::empty();
        assert_eq!(schema.check(r#"{"a":[0.0]}"#), [""; 0]);
        assert_eq!(
            schema.check(r#"{"a":[-0]}"#),
            ["arguments: must be lossless JSON (it has -0)"]
        );
        let typed = r#"{"type":"object","properties":{"n":{"type":"number"},"i":{"type":"integer"},"any":{}}}"#;
        assert_eq!(
            check(typed, r#"{"n":-0,"i":-0.0,"any":-0}"#),
            [
                "n: must be of type number",
                "i: must be of type integer",
                "any: must be lossless JSON (it has -0)"
            ]
        );
    }

    #[test]
    fn hostile_work_is_bounded() {
        let branches = vec![r#"{"type":"array","items":{"type":"string"}}"#; 500].join(",");
        let schema =
            format!(r#"{{"type":"object","properties":{{"a":{{"oneOf":[{branches}]}}}}}}"#);
        let arguments = format!(r#"{{"a":[{}0]}}"#, "\"\",".repeat(50_000));
        assert_eq!(
            check(&schema, &arguments),
            ["arguments: too much to check against this schema"]
        );
    }
}
