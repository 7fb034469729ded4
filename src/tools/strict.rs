//! Reading a schema that must be in the subset as it stands: what `assertObjectJsonSchema` of DSH asserts.

use super::json::{Json, Members};
use super::node::{Annotations, Kind, Node, ObjectNode, ScalarKind, ScalarNode, Undeclared};
use super::path::{Path, Root};
use super::report::Report;

/// Reads a schema that must be in the subset as it stands.
pub(super) fn read_strictly(raw: &Json) -> Result<Node, Vec<String>> {
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
            report.add(&here, format_args!("must be of type {}", kind.type_name()));
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

    fn violations(text: &str) -> Vec<String> {
        read_strictly(&serde_json::from_str(text).unwrap()).unwrap_err()
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
                "schema.properties.d.const: must be of type integer",
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
    }
}
