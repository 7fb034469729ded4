//! Schemas from the field, rewritten into the subset that DSH enforces (X8).
//!
//! The rewriting keeps one promise: the result accepts exactly the arguments that the original accepts. It therefore
//! drops what constrains nothing (`keywords`), says with `oneOf` what type lists, `anyOf` and
//! `allOf` say where that is provably the same (`algebra`), puts local definitions in the place of
//! their references, and refuses the rest with a list of violations. Nothing is weakened silently.
//!
//! Two readings are ours: `format` and the `content...` keywords are annotations, as all drafts have it by default;
//! and arguments of a call are always an object, so the root is read together with `{"type": "object"}`.

mod combine;
mod keywords;
mod own;

use keywords::{Applies, Keyword, is_trivial};

use super::algebra::{Algebra, Failure, Shape};
use super::json::{self, Json, Members};
use super::node::{Annotations, IntegerRange, Kind, MAX_DEPTH, Node, ObjectNode, ScalarKind};
use super::path::{Path, Root};
use super::report::Report;
use super::strict::read_names;

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

#[cfg(test)]
mod tests;
