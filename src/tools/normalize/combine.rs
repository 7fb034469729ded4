//! Keywords that combine schemas: `allOf`, `oneOf`, `anyOf` and `$ref`.

use super::keywords::Keyword;
use super::{Normalizer, anything};
use crate::tools::algebra::{Failure, Shape, exactly_one};
use crate::tools::json::{Json, Members};
use crate::tools::node::{Annotations, Node};
use crate::tools::path::Path;

impl<'a> Normalizer<'a> {
    /// What `allOf`, `oneOf` and `anyOf` make of `own`.
    pub(super) fn combinators(
        &mut self,
        members: &'a Members,
        own: Shape,
        path: &Path<'_>,
    ) -> Shape {
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
    pub(super) fn reference(
        &mut self,
        members: &'a Members,
        reference: &'a Json,
        path: &Path<'_>,
    ) -> Shape {
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
