//! Schemas from the field, rewritten into the subset that DSH enforces (X8).
//!
//! The rewriting keeps one promise: the result accepts exactly the arguments that the original accepts. It therefore
//! drops what constrains nothing ([`keywords`](super::keywords)), says with `oneOf` what type lists, `anyOf` and
//! `allOf` say where that is provably the same ([`algebra`](super::algebra)), puts local definitions in the place of
//! their references, and refuses the rest with a list of violations. Nothing is weakened silently.
//!
//! Two readings are ours: `format` and the `content...` keywords are annotations, as all drafts have it by default;
//! and arguments of a call are always an object, so the root is read together with `{"type": "object"}`.

use super::algebra::{Algebra, Failure, Shape, exactly_one};
use super::json::{self, Json, Members};
use super::keywords::{Applies, Keyword, is_implied_by, is_trivial};
use super::path::{Path, Root};
use super::report::Report;
use super::schema::{
    Annotations, IntegerRange, Kind, MAX_DEPTH, MAX_SAFE_INTEGER, Node, ObjectNode, ScalarKind,
    ScalarNode, Undeclared, read_names,
};

/// Bound on the reasoning about one schema, in schema nodes looked at: some tens of milliseconds at worst.
const MAX_STEPS: u32 = 200_000;

/// Bound on the text of a rewritten schema, in bytes. References can repeat a definition many times, and every model
/// request carries the schema.
const MAX_TEXT: usize = 256 * 1024;

/// Rewrites a schema into the subset, object-rooted, and says it as text.
///
/// # Errors
/// Every violation with its location, in walk order.
pub(super) fn normalize(raw: &Json) -> Result<(Node, Box<str>), Vec<String>> {
    let mut normalizer = Normalizer {
        document: raw,
        report: Report::default(),
        algebra: Algebra::new(MAX_STEPS),
        open_references: Vec::new(),
        depth: 0,
        saw_reference: false,
        saw_nested_id: false,
        gave_up: false,
    };
    let path = Path::root(Root::Schema);
    let root = normalizer.root(raw, &path);
    if normalizer.saw_reference && normalizer.saw_nested_id {
        let text =
            format_args!("has both $ref and a nested $id, which changes what references mean");
        normalizer.report.add(&path, text);
    }
    let Some(root) = root.filter(|_| normalizer.report.is_empty()) else {
        return Err(normalizer.report.into_violations());
    };
    let text = root.to_json().to_string();
    if text.len() > MAX_TEXT || json::depth(&text) > MAX_DEPTH {
        normalizer.give_up(Failure::TooMuchWork, &path);
        return Err(normalizer.report.into_violations());
    }
    Ok((root, text.into()))
}

/// A type that `type` can name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Object,
    Array,
    Scalar(ScalarKind),
}

/// All JSON values, each of exactly one of these types.
const EVERY_TYPE: [Type; 6] = [
    Type::Scalar(ScalarKind::String),
    Type::Scalar(ScalarKind::Number),
    Type::Scalar(ScalarKind::Boolean),
    Type::Scalar(ScalarKind::Null),
    Type::Object,
    Type::Array,
];

struct Normalizer<'a> {
    document: &'a Json,
    report: Report,
    algebra: Algebra,
    open_references: Vec<&'a str>,
    /// Schemas around the one at hand, references put in place.
    depth: usize,
    saw_reference: bool,
    saw_nested_id: bool,
    gave_up: bool,
}

impl<'a> Normalizer<'a> {
    fn root(&mut self, raw: &'a Json, path: &Path<'_>) -> Option<Node> {
        let shape = self.schema(raw, path);
        let object = Node::plain(Kind::Object(ObjectNode::default()));
        let why = match self.meet(shape, object, path) {
            Shape::Schema(node) if matches!(node.kind, Kind::Object(_)) => return Some(node),
            Shape::Schema(_) => "must be one object, not a choice of objects",
            Shape::Never => "accepts no object at all",
        };
        // After other violations the shape is a guess.
        if self.report.is_empty() {
            self.refuse(path, why);
        }
        None
    }

    fn schema(&mut self, raw: &'a Json, path: &Path<'_>) -> Shape {
        if let Err(failure) = self.algebra.spend(1) {
            return self.give_up(failure, path);
        }
        if self.depth == MAX_DEPTH {
            return self.give_up(Failure::TooMuchWork, path);
        }
        self.depth += 1;
        let shape = self.schema_within_depth(raw, path);
        self.depth -= 1;
        shape
    }

    fn schema_within_depth(&mut self, raw: &'a Json, path: &Path<'_>) -> Shape {
        match raw {
            Json::Bool(true) => anything(),
            Json::Bool(false) => Shape::Never,
            Json::Object(members) => match members.get("$ref") {
                Some(reference) => self.reference(members, reference, path),
                None => self.constraints(members, path),
            },
            _ => {
                self.refuse(path, "must be a schema: an object or a boolean");
                anything()
            }
        }
    }

    /// A schema by its own keywords and its combinators.
    fn constraints(&mut self, members: &'a Members, path: &Path<'_>) -> Shape {
        let notes = self.annotations(members, path);
        let types = self.types(members, path);
        self.foreign_keywords(members, &types, path);
        let own = self.own_keywords(members, &types, path);
        let met = self.combinators(members, own, path);
        match met {
            Shape::Never => Shape::Never,
            Shape::Schema(node) => Shape::Schema(Node {
                notes: notes.over(node.notes),
                kind: node.kind,
            }),
        }
    }

    fn annotations(&mut self, members: &Members, path: &Path<'_>) -> Annotations {
        let mut text = |key: &str| match members.get(key) {
            Some(Json::String(text)) => Some(text.clone()),
            Some(_) => {
                self.refuse(&path.member(key), "must be a string");
                None
            }
            None => None,
        };
        Annotations {
            title: text("title"),
            description: text("description"),
            default: members
                .get("default")
                .filter(|value| value.is_lossless())
                .cloned(),
            examples: members
                .get("examples")
                .filter(|value| value.is_lossless())
                .cloned(),
        }
    }

    /// The types that the schema admits, without repetition; `integer` is part of `number`.
    fn types(&mut self, members: &Members, path: &Path<'_>) -> Vec<Type> {
        let here = path.member("type");
        let names = match members.get("type") {
            None => return EVERY_TYPE.to_vec(),
            Some(Json::String(name)) => vec![name.as_str()],
            Some(list) => read_names(list).unwrap_or_default(),
        };
        let mut types = Vec::new();
        for name in &names {
            let read = match *name {
                "object" => Type::Object,
                "array" => Type::Array,
                name => match ScalarKind::from_type(name) {
                    Some(kind) => Type::Scalar(kind),
                    None => {
                        self.refuse(&here, "names a type that JSON Schema does not have");
                        continue;
                    }
                },
            };
            if !types.contains(&read) {
                types.push(read);
            }
        }
        if names.is_empty() {
            self.refuse(&here, "must be a type or a list of types");
        }
        if types.is_empty() {
            return EVERY_TYPE.to_vec();
        }
        if types.contains(&Type::Scalar(ScalarKind::Number)) {
            types.retain(|kind| *kind != Type::Scalar(ScalarKind::Integer(IntegerRange::All)));
        }
        types
    }

    /// Keywords outside the subset: drops those that constrain nothing, refuses the others. Those of objects and
    /// numbers are left to [`object`](Self::object) and [`number`](Self::number), which know what they stand beside.
    fn foreign_keywords(&mut self, members: &Members, types: &[Type], path: &Path<'_>) {
        for (key, value) in members {
            if is_own(key) {
                continue;
            }
            let here = path.member(key);
            let trivial = || is_trivial(key, value, |other| members.contains_key(other));
            match Keyword::of(key) {
                Keyword::Annotation => self.saw_nested_id |= key == "$id" && !path.is_root(),
                Keyword::Definitions | Keyword::Of(Applies::Objects | Applies::Numbers) => {}
                Keyword::Of(Applies::Strings) => {
                    if types.contains(&Type::Scalar(ScalarKind::String)) && !trivial() {
                        self.refuse(&here, "cannot be enforced");
                    }
                }
                Keyword::Of(Applies::Arrays) => {
                    if types.contains(&Type::Array) && !trivial() {
                        self.refuse(&here, "cannot be enforced");
                    }
                }
                Keyword::Unenforceable if trivial() => {}
                Keyword::Unenforceable if key == "nullable" => {
                    self.refuse(
                        &here,
                        "is not JSON Schema; write \"null\" into the list of types",
                    );
                }
                Keyword::Unenforceable => self.refuse(&here, "cannot be enforced"),
                Keyword::Unknown => {
                    self.refuse(&here, "is not a keyword known to constrain nothing")
                }
            }
        }
    }

    /// What `type`, `enum`, `const` and the keywords of single types say together.
    fn own_keywords(&mut self, members: &'a Members, types: &[Type], path: &Path<'_>) -> Shape {
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

    /// What `allOf`, `oneOf` and `anyOf` make of `own`.
    fn combinators(&mut self, members: &'a Members, own: Shape, path: &Path<'_>) -> Shape {
        let mut shape = own;
        for key in ["allOf", "oneOf", "anyOf"] {
            let here = path.member(key);
            let branches = match members.get(key) {
                None => continue,
                Some(Json::Array(branches)) if !branches.is_empty() => branches,
                Some(_) => {
                    self.refuse(&here, "must be a non-empty array of schemas");
                    continue;
                }
            };
            if key == "allOf" {
                for (index, branch) in branches.iter().enumerate() {
                    let branch = self.schema(branch, &here.item(index));
                    shape = self.meet_shapes(shape, branch, &here);
                }
                continue;
            }
            let mut met = Vec::new();
            for (index, branch) in branches.iter().enumerate() {
                let branch = self.schema(branch, &here.item(index));
                let own = match &shape {
                    Shape::Never => continue,
                    Shape::Schema(node) => match self.algebra.copy(node) {
                        Ok(copy) => Shape::Schema(copy),
                        Err(failure) => self.give_up(failure, &here),
                    },
                };
                // The branch first: where both describe a member, the closer description is the branch's.
                if let Shape::Schema(node) = self.meet_shapes(branch, own, &here) {
                    met.push((index, node));
                }
            }
            if key == "anyOf" {
                met = self.without_overlap(met, &here);
            }
            let met = met.into_iter().map(|(_, node)| node).collect();
            shape = exactly_one(met, Annotations::default());
        }
        shape
    }

    /// Branches of `anyOf` of which no value matches two, accepting together what all of them accept.
    fn without_overlap(
        &mut self,
        branches: Vec<(usize, Node)>,
        path: &Path<'_>,
    ) -> Vec<(usize, Node)> {
        let mut kept: Vec<(usize, Node)> = Vec::new();
        for (index, node) in branches {
            if kept
                .iter()
                .any(|(_, other)| self.algebra.covers(other, &node))
            {
                continue;
            }
            kept.retain(|(_, other)| !self.algebra.covers(&node, other));
            kept.push((index, node));
        }
        for (position, (index, node)) in kept.iter().enumerate() {
            for (other_index, other) in &kept[..position] {
                if !self.algebra.are_disjoint(other, node) {
                    if self.algebra.is_exhausted() {
                        self.give_up(Failure::TooMuchWork, path);
                        return kept;
                    }
                    self.report.add(
                        path,
                        format_args!(
                            "branches {other_index} and {index} may both match, and only oneOf can be enforced"
                        ),
                    );
                }
            }
        }
        kept
    }

    /// A local reference: its target stands in its place.
    fn reference(&mut self, members: &'a Members, reference: &'a Json, path: &Path<'_>) -> Shape {
        self.saw_reference = true;
        let notes = self.annotations(members, path);
        for key in members.keys() {
            let beside =
                matches!(
                    key.as_str(),
                    "$ref" | "title" | "description" | "default" | "examples"
                ) || matches!(Keyword::of(key), Keyword::Annotation | Keyword::Definitions);
            if !beside {
                self.refuse(
                    &path.member(key),
                    "beside $ref means different things in different drafts",
                );
            }
        }
        let here = path.member("$ref");
        let Some(target) = reference
            .as_str()
            .and_then(|pointer| resolve(self.document, pointer))
        else {
            self.refuse(&here, "must point into this schema, as in #/$defs/name");
            return anything();
        };
        let pointer = reference.as_str().unwrap_or_default();
        if pointer == "#" || self.open_references.contains(&pointer) {
            self.refuse(&here, "is recursive, which cannot be enforced");
            return anything();
        }
        self.open_references.push(pointer);
        let shape = self.schema(target, path);
        self.open_references.pop();
        match shape {
            Shape::Never => Shape::Never,
            Shape::Schema(node) => Shape::Schema(Node {
                notes: notes.over(node.notes),
                kind: node.kind,
            }),
        }
    }

    fn meet_shapes(&mut self, a: Shape, b: Shape, path: &Path<'_>) -> Shape {
        match b {
            Shape::Never => Shape::Never,
            Shape::Schema(b) => self.meet(a, b, path),
        }
    }

    fn meet(&mut self, a: Shape, b: Node, path: &Path<'_>) -> Shape {
        match a {
            Shape::Never => Shape::Never,
            Shape::Schema(a) => match self.algebra.meet(a, b) {
                Ok(shape) => shape,
                Err(failure) => self.give_up(failure, path),
            },
        }
    }

    fn give_up(&mut self, failure: Failure, path: &Path<'_>) -> Shape {
        match failure {
            Failure::Inexpressible => {
                self.refuse(
                    path,
                    "together with what stands beside it cannot be enforced",
                );
            }
            Failure::TooMuchWork if self.gave_up => {}
            Failure::TooMuchWork => {
                self.gave_up = true;
                self.refuse(path, "is too complex to be rewritten");
            }
        }
        anything()
    }

    fn refuse(&mut self, path: &Path<'_>, why: &str) {
        self.report.add(path, format_args!("{why}"));
    }
}

fn anything() -> Shape {
    Shape::Schema(Node::plain(Kind::Any))
}

/// Keywords that the normaliser reads itself.
fn is_own(key: &str) -> bool {
    matches!(
        key,
        "type"
            | "enum"
            | "const"
            | "properties"
            | "required"
            | "additionalProperties"
            | "items"
            | "allOf"
            | "anyOf"
            | "oneOf"
            | "title"
            | "description"
            | "default"
            | "examples"
    )
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

/// Follows a JSON pointer in a URI fragment. Percent-encoded ones are not followed.
fn resolve<'a>(document: &'a Json, fragment: &str) -> Option<&'a Json> {
    let pointer = fragment.strip_prefix('#')?;
    if pointer.contains('%') {
        return None;
    }
    if pointer.is_empty() {
        return Some(document);
    }
    pointer
        .strip_prefix('/')?
        .split('/')
        .try_fold(document, |at, token| {
            let token = token.replace("~1", "/").replace("~0", "~");
            match at {
                Json::Object(members) => members.get(&token),
                Json::Array(items) => items.get(token.parse::<usize>().ok()?),
                _ => None,
            }
        })
}

#[cfg(test)]
#[path = "normalize_tests.rs"]
mod tests;
