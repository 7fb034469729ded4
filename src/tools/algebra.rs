//! What can be proved of two schemas of the subset: that they accept nothing in common, that one accepts all of the
//! other, and which schema accepts exactly what both accept.
//!
//! Every answer is one-sided: "no" means "not proved". All work is counted, because the size of these answers is the
//! product of their operands' sizes and the operands come from clients.

use super::json::Json;
use super::node::{
    Annotations, IntegerRange, Kind, Node, ObjectNode, ScalarKind, ScalarNode, Undeclared,
};

/// The schema that accepts exactly what some expression accepts.
#[derive(Debug, Clone, PartialEq)]
#[expect(
    clippy::large_enum_variant,
    reason = "returned and taken apart at once, never stored"
)]
pub(super) enum Shape {
    /// Nothing is accepted. The subset has no word for it.
    Never,
    Schema(Node),
}

/// Why there is no [`Shape`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Failure {
    /// The subset cannot say it.
    Inexpressible,
    /// The bound on work is reached.
    TooMuchWork,
}

/// What a schema says of one member of an object.
enum Member<'a> {
    Declared(&'a Node),
    Undeclared,
    Absent,
}

/// A bounded amount of reasoning.
pub(super) struct Algebra {
    steps_left: u32,
}

impl Algebra {
    pub(super) fn new(steps: u32) -> Self {
        Self { steps_left: steps }
    }

    /// Pays for one step. Once the bound is reached every answer is "not proved".
    pub(super) fn spend(&mut self, steps: usize) -> Result<(), Failure> {
        let steps = u32::try_from(steps).unwrap_or(u32::MAX);
        self.steps_left = self.steps_left.saturating_sub(steps);
        if self.is_exhausted() {
            Err(Failure::TooMuchWork)
        } else {
            Ok(())
        }
    }

    pub(super) fn is_exhausted(&self) -> bool {
        self.steps_left == 0
    }

    /// A copy, paid for by its size.
    pub(super) fn copy(&mut self, node: &Node) -> Result<Node, Failure> {
        self.spend(size(node))?;
        Ok(node.clone())
    }

    /// Whether it is proved that no value is accepted by both.
    pub(super) fn are_disjoint(&mut self, a: &Node, b: &Node) -> bool {
        if self.spend(1).is_err() {
            return false;
        }
        match (&a.kind, &b.kind) {
            (Kind::Any, _) | (_, Kind::Any) => false,
            (Kind::OneOf(branches), _) => {
                branches.iter().all(|branch| self.are_disjoint(branch, b))
            }
            (_, Kind::OneOf(branches)) => {
                branches.iter().all(|branch| self.are_disjoint(a, branch))
            }
            (Kind::Object(a), Kind::Object(b)) => self.are_objects_disjoint(a, b),
            (Kind::Array(_), Kind::Array(_)) => false, // both accept []
            (Kind::Scalar(a), Kind::Scalar(b)) => match (&a.allowed, &b.allowed) {
                (Some(values), _) => !self.any_accepted(values, b),
                (None, Some(values)) => !self.any_accepted(values, a),
                (None, None) => !kinds_overlap(a.kind, b.kind),
            },
            _ => true,
        }
    }

    fn any_accepted(&mut self, values: &[Json], scalar: &ScalarNode) -> bool {
        values
            .iter()
            .any(|value| self.spend(1 + list_length(scalar)).is_err() || scalar.accepts(value))
    }

    /// A value of both would have every member that either requires; one member that cannot be of both suffices.
    fn are_objects_disjoint(&mut self, a: &ObjectNode, b: &ObjectNode) -> bool {
        a.required
            .iter()
            .chain(&b.required)
            .any(|name| match (member(a, name), member(b, name)) {
                (Member::Absent, _) | (_, Member::Absent) => true,
                (Member::Declared(a), Member::Declared(b)) => self.are_disjoint(a, b),
                _ => false,
            })
    }

    /// Whether it is proved that `wide` accepts every value that `narrow` accepts.
    pub(super) fn covers(&mut self, wide: &Node, narrow: &Node) -> bool {
        if self.spend(1).is_err() {
            return false;
        }
        match (&wide.kind, &narrow.kind) {
            (Kind::Any, _) => true,
            (_, Kind::Any) => false,
            (_, Kind::OneOf(branches)) => branches.iter().all(|branch| self.covers(wide, branch)),
            (Kind::OneOf(branches), _) => {
                let covering = branches
                    .iter()
                    .position(|branch| self.covers(branch, narrow));
                covering.is_some_and(|covering| {
                    branches.iter().enumerate().all(|(index, branch)| {
                        index == covering || self.are_disjoint(branch, narrow)
                    })
                })
            }
            (Kind::Object(wide), Kind::Object(narrow)) => self.object_covers(wide, narrow),
            (Kind::Array(None), Kind::Array(_)) => true,
            (Kind::Array(Some(wide)), Kind::Array(Some(narrow))) => self.covers(wide, narrow),
            (Kind::Array(Some(wide)), Kind::Array(None)) => matches!(wide.kind, Kind::Any),
            (Kind::Scalar(wide), Kind::Scalar(narrow)) => self.scalar_covers(wide, narrow),
            _ => false,
        }
    }

    fn object_covers(&mut self, wide: &ObjectNode, narrow: &ObjectNode) -> bool {
        let closed_enough = match (wide.undeclared, narrow.undeclared) {
            (Undeclared::Allowed, _) => true,
            (Undeclared::Refused, Undeclared::Allowed) => false,
            (Undeclared::Refused, Undeclared::Refused) => narrow
                .properties
                .keys()
                .all(|name| wide.properties.contains_key(name)),
        };
        closed_enough
            && wide
                .required
                .iter()
                .all(|name| narrow.required.contains(name))
            && wide
                .properties
                .iter()
                .all(|(name, node)| match member(narrow, name) {
                    Member::Declared(narrow) => self.covers(node, narrow),
                    Member::Undeclared => matches!(node.kind, Kind::Any),
                    Member::Absent => true,
                })
    }

    fn scalar_covers(&mut self, wide: &ScalarNode, narrow: &ScalarNode) -> bool {
        match (&wide.allowed, &narrow.allowed) {
            (_, Some(values)) => values.iter().all(|value| {
                self.spend(1 + list_length(wide)).is_ok()
                    && (wide.accepts(value) || !narrow.accepts(value))
            }),
            (Some(_), None) => false,
            (None, None) => kind_covers(wide.kind, narrow.kind),
        }
    }

    /// The schema that accepts exactly what both accept. Annotations of `a` win.
    ///
    /// # Errors
    /// [`Failure::Inexpressible`] where the subset cannot say it: an array that may only be empty, a member that must
    /// be absent from an object that is open otherwise.
    pub(super) fn meet(&mut self, a: Node, b: Node) -> Result<Shape, Failure> {
        self.spend(1)?;
        let Node { notes, kind: a } = a;
        let Node {
            notes: other_notes,
            kind: b,
        } = b;
        let notes = notes.over(other_notes);
        let kind = match (a, b) {
            (Kind::Any, kind) | (kind, Kind::Any) => kind,
            (Kind::OneOf(branches), kind) | (kind, Kind::OneOf(branches)) => {
                return self.distribute(branches, &Node::plain(kind), notes);
            }
            (Kind::Object(a), Kind::Object(b)) => match self.meet_objects(a, b)? {
                Some(object) => Kind::Object(object),
                None => return Ok(Shape::Never),
            },
            (Kind::Array(a), Kind::Array(b)) => Kind::Array(match (a, b) {
                (None, items) | (items, None) => items,
                (Some(a), Some(b)) => match self.meet(*a, *b)? {
                    Shape::Schema(items) => Some(Box::new(items)),
                    Shape::Never => return Err(Failure::Inexpressible),
                },
            }),
            (Kind::Scalar(a), Kind::Scalar(b)) => match self.meet_scalars(a, b)? {
                Some(scalar) => Kind::Scalar(scalar),
                None => return Ok(Shape::Never),
            },
            _ => return Ok(Shape::Never),
        };
        Ok(Shape::Schema(Node { notes, kind }))
    }

    /// "Exactly one of the branches, and also `other`" is "exactly one of: branch and `other`".
    pub(super) fn distribute(
        &mut self,
        branches: Vec<Node>,
        other: &Node,
        notes: Annotations,
    ) -> Result<Shape, Failure> {
        let mut met = Vec::with_capacity(branches.len());
        for branch in branches {
            let other = self.copy(other)?;
            if let Shape::Schema(node) = self.meet(branch, other)? {
                met.push(node);
            }
        }
        Ok(exactly_one(met, notes))
    }

    fn meet_objects(
        &mut self,
        mut a: ObjectNode,
        mut b: ObjectNode,
    ) -> Result<Option<ObjectNode>, Failure> {
        let undeclared = match (a.undeclared, b.undeclared) {
            (Undeclared::Allowed, Undeclared::Allowed) => Undeclared::Allowed,
            _ => Undeclared::Refused,
        };
        let mut required = std::mem::take(&mut a.required);
        for name in std::mem::take(&mut b.required) {
            if !required.contains(&name) {
                required.push(name);
            }
        }
        let mut object = ObjectNode {
            required,
            undeclared,
            ..ObjectNode::default()
        };
        let mine = std::mem::take(&mut a.properties);
        let mut theirs = std::mem::take(&mut b.properties);
        for (name, node) in mine {
            let shape = match theirs.shift_remove(&name) {
                Some(other) => self.meet(node, other)?,
                None => present_in(b.undeclared, node),
            };
            if !object.declare(name, shape)? {
                return Ok(None);
            }
        }
        for (name, node) in theirs {
            let shape = present_in(a.undeclared, node);
            if !object.declare(name, shape)? {
                return Ok(None);
            }
        }
        Ok(Some(object))
    }

    fn meet_scalars(
        &mut self,
        a: ScalarNode,
        b: ScalarNode,
    ) -> Result<Option<ScalarNode>, Failure> {
        let Some(kind) = meet_kinds(a.kind, b.kind) else {
            return Ok(None);
        };
        let (values, other) = match (a.allowed, b) {
            (None, b) => (b.allowed, ScalarNode::any(kind)),
            (Some(values), b) => (Some(values), b),
        };
        let Some(mut values) = values else {
            return Ok(Some(ScalarNode::any(kind)));
        };
        self.spend(values.len() * (1 + list_length(&other)))?;
        values.retain(|value| kind.admits(value) && other.accepts(value));
        Ok((!values.is_empty()).then_some(ScalarNode {
            kind,
            allowed: Some(values),
        }))
    }
}

impl ObjectNode {
    /// Declares a property as `shape`. False when no object can satisfy it.
    ///
    /// # Errors
    /// [`Failure::Inexpressible`] for an optional member that must be absent, unless undeclared members are refused.
    pub(super) fn declare(&mut self, name: String, shape: Shape) -> Result<bool, Failure> {
        match shape {
            Shape::Schema(node) => {
                self.properties.insert(name, node);
            }
            Shape::Never if self.required.contains(&name) => return Ok(false),
            Shape::Never => match self.undeclared {
                Undeclared::Refused => {}
                Undeclared::Allowed => return Err(Failure::Inexpressible),
            },
        }
        Ok(true)
    }
}

impl Annotations {
    /// These, completed by those of `below`.
    pub(super) fn over(self, below: Self) -> Self {
        Self {
            title: self.title.or(below.title),
            description: self.description.or(below.description),
            default: self.default.or(below.default),
            examples: self.examples.or(below.examples),
        }
    }
}

/// "Exactly one of the branches", none of which is [`Shape::Never`].
pub(super) fn exactly_one(mut branches: Vec<Node>, notes: Annotations) -> Shape {
    match branches.len() {
        0 => Shape::Never,
        1 => {
            let Node { notes: inner, kind } = branches.remove(0);
            Shape::Schema(Node {
                notes: notes.over(inner),
                kind,
            })
        }
        _ => Shape::Schema(Node {
            notes,
            kind: Kind::OneOf(branches),
        }),
    }
}

/// How many schemas a tree has.
fn size(node: &Node) -> usize {
    1 + match &node.kind {
        Kind::Any => 0,
        Kind::OneOf(branches) => branches.iter().map(size).sum(),
        Kind::Object(object) => object.properties.values().map(size).sum(),
        Kind::Array(items) => items.as_deref().map_or(0, size),
        Kind::Scalar(scalar) => list_length(scalar),
    }
}

fn list_length(scalar: &ScalarNode) -> usize {
    scalar.allowed.as_ref().map_or(0, Vec::len)
}

fn member<'a>(object: &'a ObjectNode, name: &str) -> Member<'a> {
    match (object.properties.get(name), object.undeclared) {
        (Some(node), _) => Member::Declared(node),
        (None, Undeclared::Allowed) => Member::Undeclared,
        (None, Undeclared::Refused) => Member::Absent,
    }
}

/// A property that only one of two objects declares, given what the other says of undeclared ones.
fn present_in(other: Undeclared, node: Node) -> Shape {
    match other {
        Undeclared::Allowed => Shape::Schema(node),
        Undeclared::Refused => Shape::Never,
    }
}

fn kinds_overlap(a: ScalarKind, b: ScalarKind) -> bool {
    meet_kinds(a, b).is_some()
}

fn kind_covers(wide: ScalarKind, narrow: ScalarKind) -> bool {
    meet_kinds(wide, narrow) == Some(narrow)
}

fn meet_kinds(a: ScalarKind, b: ScalarKind) -> Option<ScalarKind> {
    use ScalarKind::{Integer, Number};
    match (a, b) {
        (Integer(a), Integer(b)) => Some(Integer(match (a, b) {
            (IntegerRange::All, IntegerRange::All) => IntegerRange::All,
            _ => IntegerRange::Safe,
        })),
        (Number, Integer(range)) | (Integer(range), Number) => Some(Integer(range)),
        (a, b) => (a == b).then_some(a),
    }
}

#[cfg(test)]
mod tests;
