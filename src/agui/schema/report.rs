//! Collects issues while a tree is walked, in the wording of the official schemas.

use serde_json::{Map, Value};

use crate::agui::issue::{Issue, Path, PathSegment};

/// Members of an object.
pub(super) type Members = Map<String, Value>;

/// Whose rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// The 0.0.59 client, to the letter.
    Official,
    /// What the gateway accepts in requests (`ag-ui.md` §2.1): `null` for an optional member reads as absent,
    /// some members may be missing, and shapes of 1.0 are known.
    Gateway,
}

pub(super) struct Report {
    dialect: Dialect,
    path: Vec<PathSegment>,
    issues: Vec<Issue>,
}

/// Name of a value's type in messages.
fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

impl Report {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            path: Vec::new(),
            issues: Vec::new(),
        }
    }

    pub(super) fn into_issues(self) -> Vec<Issue> {
        self.issues
    }

    pub(super) fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// Reports at the current path.
    pub(super) fn issue(&mut self, message: impl Into<String>) {
        self.issues.push(Issue {
            path: Path(self.path.clone()),
            message: message.into(),
        });
    }

    /// Runs `check` one step further down.
    pub(super) fn at(&mut self, segment: impl Into<PathSegment>, check: impl FnOnce(&mut Self)) {
        self.path.push(segment.into());
        check(self);
        self.path.pop();
    }

    /// Reports a value of the wrong type, or a missing one.
    pub(super) fn expected(&mut self, expected: &str, received: Option<&Value>) {
        match received {
            None => self.issue("Required"),
            Some(value) => self.issue(format!(
                "Expected {expected}, received {}",
                type_name(value)
            )),
        }
    }

    /// Value of an optional member, `null` as the dialect has it.
    pub(super) fn optional<'v>(&self, members: &'v Members, name: &str) -> Option<&'v Value> {
        members
            .get(name)
            .filter(|value| self.dialect == Dialect::Official || !value.is_null())
    }

    pub(super) fn object<'v>(&mut self, value: &'v Value) -> Option<&'v Members> {
        if value.as_object().is_none() {
            self.expected("object", Some(value));
        }
        value.as_object()
    }

    pub(super) fn string(&mut self, members: &Members, name: &'static str) {
        let value = members.get(name);
        if !value.is_some_and(Value::is_string) {
            self.at(name, |report| report.expected("string", value));
        }
    }

    /// An optional member that passes `accepts`, a value of the type `expected`.
    fn optional_of(
        &mut self,
        members: &Members,
        name: &'static str,
        expected: &str,
        accepts: fn(&Value) -> bool,
    ) {
        if let Some(value) = self.optional(members, name).filter(|value| !accepts(value)) {
            self.at(name, |report| report.expected(expected, Some(value)));
        }
    }

    pub(super) fn string_if(&mut self, members: &Members, name: &'static str) {
        self.optional_of(members, name, "string", Value::is_string);
    }

    pub(super) fn object_if(&mut self, members: &Members, name: &'static str) {
        self.optional_of(members, name, "object", Value::is_object);
    }

    pub(super) fn number_if(&mut self, members: &Members, name: &'static str) {
        self.optional_of(members, name, "number", Value::is_number);
    }

    pub(super) fn boolean_if(&mut self, members: &Members, name: &'static str) {
        self.optional_of(members, name, "boolean", Value::is_boolean);
    }

    pub(super) fn object_member(&mut self, members: &Members, name: &'static str) {
        let value = members.get(name);
        if !value.is_some_and(Value::is_object) {
            self.at(name, |report| report.expected("object", value));
        }
    }

    /// A string equal to `literal`.
    pub(super) fn literal(&mut self, members: &Members, name: &'static str, literal: &str) {
        if members.get(name).and_then(Value::as_str) != Some(literal) {
            self.at(name, |report| {
                report.issue(format!("Invalid literal value, expected \"{literal}\""))
            });
        }
    }

    /// A required array, each element checked by `check`.
    pub(super) fn array(
        &mut self,
        members: &Members,
        name: &'static str,
        check: impl FnMut(&mut Self, &Value),
    ) {
        self.at(name, |report| report.elements(members.get(name), check));
    }

    pub(super) fn array_if(
        &mut self,
        members: &Members,
        name: &'static str,
        check: impl FnMut(&mut Self, &Value),
    ) {
        if let Some(value) = self.optional(members, name) {
            self.at(name, |report| report.elements(Some(value), check));
        }
    }

    fn elements(&mut self, value: Option<&Value>, mut check: impl FnMut(&mut Self, &Value)) {
        let Some(elements) = value.and_then(Value::as_array) else {
            return self.expected("array", value);
        };
        for (index, element) in elements.iter().enumerate() {
            self.at(index, |report| check(report, element));
        }
    }

    /// Reports a `type`, `role` or the like that is none of `names`.
    pub(super) fn discriminator(&mut self, name: &'static str, names: &[&str]) {
        let names: Vec<String> = names.iter().map(|name| format!("'{name}'")).collect();
        self.at(name, |report| {
            report.issue(format!(
                "Invalid discriminator value. Expected {}",
                names.join(" | ")
            ))
        });
    }

    /// Reports members other than `known` (of a strict object).
    pub(super) fn no_others(&mut self, members: &Members, known: &[&str]) {
        let others: Vec<String> = members
            .keys()
            .filter(|name| !known.contains(&name.as_str()))
            .map(|name| format!("'{name}'"))
            .collect();
        if !others.is_empty() {
            self.issue(format!(
                "Unrecognized key(s) in object: {}",
                others.join(", ")
            ));
        }
    }
}
