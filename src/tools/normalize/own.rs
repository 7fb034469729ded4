//! Keywords that speak of one type: `enum` and `const`, and those of numbers, objects and arrays.

use super::keywords::{Applies, Keyword, is_implied_by, is_trivial};
use super::{EVERY_TYPE, Normalizer, Type, anything};
use crate::tools::algebra::{Shape, exactly_one};
use crate::tools::json::{Json, Members};
use crate::tools::node::{
    Annotations, IntegerRange, Kind, MAX_SAFE_INTEGER, Node, ObjectNode, ScalarKind, ScalarNode,
    Undeclared,
};
use crate::tools::path::Path;
use crate::tools::strict::read_names;

impl<'a> Normalizer<'a> {
    /// What `type`, `enum`, `const` and the keywords of single types say together.
    pub(super) fn own_keywords(
        &mut self,
        members: &'a Members,
        types: &[Type],
        path: &Path<'_>,
    ) -> Shape {
        let values = self.listed_values(members, path);
        let mut branches = Vec::new();
        for kind in types {
            let shape = match (kind, &values) {
                (Type::Scalar(kind), _) => self.scalar(members, *kind, values.as_deref(), path),
                (Type::Object | Type::Array, Some(values)) => {
                    let is_kind = |value: &Json| match value {
                        Json::Object(_) => *kind == Type::Object,
                        Json::Array(_) => *kind == Type::Array,
                        _ => false,
                    };
                    if values.iter().any(is_kind) {
                        self.refuse(
                            path,
                            "lists objects or arrays as values, which cannot be enforced",
                        );
                        return anything();
                    }
                    Shape::Never
                }
                (Type::Object, None) => self.object(members, path),
                (Type::Array, None) => self.array(members, path),
            };
            if let Shape::Schema(node) = shape {
                branches.push(node);
            }
        }
        if branches.len() == EVERY_TYPE.len() && branches.iter().all(is_unconstrained) {
            return anything();
        }
        exactly_one(branches, Annotations::default())
    }

    /// The values that `enum` and `const` leave.
    fn listed_values(&mut self, members: &Members, path: &Path<'_>) -> Option<Vec<Json>> {
        let listed = match members.get("enum") {
            None => None,
            Some(Json::Array(values)) => Some(values.clone()),
            Some(_) => {
                self.refuse(&path.member("enum"), "must be an array");
                None
            }
        };
        match (members.get("const"), listed) {
            (None, listed) => listed,
            (Some(only), None) => Some(vec![only.clone()]),
            (Some(only), Some(values)) => Some(
                if values
                    .iter()
                    .any(|value| value == only || value.same_scalar(only))
                {
                    vec![only.clone()]
                } else {
                    Vec::new()
                },
            ),
        }
    }

    fn scalar(
        &mut self,
        members: &Members,
        kind: ScalarKind,
        values: Option<&[Json]>,
        path: &Path<'_>,
    ) -> Shape {
        let kind = match kind {
            ScalarKind::Number | ScalarKind::Integer(_) => self.number(members, kind, path),
            ScalarKind::String | ScalarKind::Boolean | ScalarKind::Null => kind,
        };
        let Some(values) = values else {
            return Shape::Schema(Node::plain(Kind::Scalar(ScalarNode::any(kind))));
        };
        let mut allowed: Vec<Json> = Vec::new();
        for value in values.iter().filter(|value| kind.admits(value)) {
            if let Err(failure) = self.algebra.spend(1 + allowed.len()) {
                return self.give_up(failure, path);
            }
            if !allowed.iter().any(|other| other.same_scalar(value)) {
                allowed.push(value.clone());
            }
        }
        let is_all = match kind {
            ScalarKind::Null => allowed.len() == 1,
            ScalarKind::Boolean => allowed.len() == 2,
            _ => false,
        };
        if allowed.is_empty() {
            return Shape::Never;
        }
        Shape::Schema(Node::plain(Kind::Scalar(ScalarNode {
            kind,
            allowed: (!is_all).then_some(allowed),
        })))
    }

    /// Keywords of numbers: `multipleOf: 1` is the type integer, and the bounds of exact integers, which generators
    /// write on every integer, are kept beside the schema. Other bounds cannot be enforced.
    fn number(&mut self, members: &Members, kind: ScalarKind, path: &Path<'_>) -> ScalarKind {
        let mut kind = kind;
        if let Some(step) = members.get("multipleOf") {
            if step.as_f64() == Some(1.0) {
                kind = match kind {
                    ScalarKind::Number => ScalarKind::Integer(IntegerRange::All),
                    other => other,
                };
            } else {
                self.refuse(&path.member("multipleOf"), "cannot be enforced");
            }
        }
        let is_safe =
            |key: &str, bound: f64| members.get(key).and_then(Json::as_f64) == Some(bound);
        let pair = is_safe("minimum", -MAX_SAFE_INTEGER) && is_safe("maximum", MAX_SAFE_INTEGER);
        let is_integer = matches!(kind, ScalarKind::Integer(_));
        for key in ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"] {
            let kept = pair && is_integer && matches!(key, "minimum" | "maximum");
            if members.contains_key(key) && !kept {
                self.refuse(&path.member(key), "cannot be enforced");
            }
        }
        if pair && is_integer {
            ScalarKind::Integer(IntegerRange::Safe)
        } else {
            kind
        }
    }

    fn object(&mut self, members: &'a Members, path: &Path<'_>) -> Shape {
        let mut object = ObjectNode {
            undeclared: self.undeclared(members, path),
            ..ObjectNode::default()
        };
        if let Some(required) = members.get("required") {
            match read_names(required) {
                Some(names) => {
                    for name in names {
                        if !object.required.iter().any(|other| other == name) {
                            object.required.push(name.to_owned());
                        }
                    }
                }
                None => self.refuse(&path.member("required"), "must be an array of strings"),
            }
        }
        let mut satisfiable = true;
        let here = path.member("properties");
        match members.get("properties") {
            None => {}
            Some(Json::Object(properties)) => {
                for (name, schema) in properties {
                    let shape = self.schema(schema, &here.member(name));
                    match object.declare(name.clone(), shape) {
                        Ok(possible) => satisfiable &= possible,
                        Err(_) => self.refuse(
                            &here.member(name),
                            "must be absent, which cannot be enforced",
                        ),
                    }
                }
            }
            Some(_) => self.refuse(&here, "must be an object of schemas"),
        }
        for name in object.required.clone() {
            if !object.properties.contains_key(&name) {
                match object.undeclared {
                    Undeclared::Allowed => {
                        object.properties.insert(name, Node::plain(Kind::Any));
                    }
                    Undeclared::Refused => satisfiable = false,
                }
            }
        }
        self.foreign_object_keywords(members, &object, path);
        if satisfiable {
            Shape::Schema(Node::plain(Kind::Object(object)))
        } else {
            Shape::Never
        }
    }

    fn undeclared(&mut self, members: &'a Members, path: &Path<'_>) -> Undeclared {
        let Some(schema) = members.get("additionalProperties") else {
            return Undeclared::Allowed;
        };
        let here = path.member("additionalProperties");
        match self.schema(schema, &here) {
            Shape::Never => Undeclared::Refused,
            Shape::Schema(node) => {
                if node.kind != Kind::Any {
                    self.refuse(
                        &here,
                        "constrains undeclared members, which cannot be enforced",
                    );
                }
                Undeclared::Allowed
            }
        }
    }

    fn foreign_object_keywords(&mut self, members: &Members, object: &ObjectNode, path: &Path<'_>) {
        for (key, value) in members {
            let trivial = || {
                is_trivial(key, value, |other| members.contains_key(other))
                    || is_implied_by(key, value, object)
            };
            if Keyword::of(key) == Keyword::Of(Applies::Objects) && !trivial() {
                self.refuse(&path.member(key), "cannot be enforced");
            }
        }
    }

    fn array(&mut self, members: &'a Members, path: &Path<'_>) -> Shape {
        let here = path.member("items");
        let items = match members.get("items") {
            None => None,
            Some(Json::Array(_)) => {
                self.refuse(
                    &here,
                    "is a list of schemas (a tuple), which cannot be enforced",
                );
                None
            }
            Some(schema) => match self.schema(schema, &here) {
                Shape::Schema(node) if node == Node::plain(Kind::Any) => None,
                Shape::Schema(node) => Some(Box::new(node)),
                Shape::Never => {
                    self.refuse(
                        &here,
                        "accepts nothing, and an array that must be empty cannot be enforced",
                    );
                    None
                }
            },
        };
        Shape::Schema(Node::plain(Kind::Array(items)))
    }
}

/// Whether a schema of one type says no more than the type.
fn is_unconstrained(node: &Node) -> bool {
    match &node.kind {
        Kind::Object(object) => *object == ObjectNode::default(),
        Kind::Array(items) => items.is_none(),
        Kind::Scalar(scalar) => {
            scalar.allowed.is_none()
                && matches!(
                    scalar.kind,
                    ScalarKind::String
                        | ScalarKind::Number
                        | ScalarKind::Boolean
                        | ScalarKind::Null
                )
        }
        Kind::Any | Kind::OneOf(_) => false,
    }
}
