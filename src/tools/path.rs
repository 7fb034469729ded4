//! Where in a schema or in arguments something is wrong, as DSH writes it: `schema.properties.a.oneOf[0]`, `a.b[2]`.

use std::fmt;

/// A location, kept as a chain of borrowed steps and written out only when it is reported.
#[derive(Clone, Copy)]
pub(super) struct Path<'a> {
    parent: Option<&'a Path<'a>>,
    step: Step<'a>,
}

#[derive(Clone, Copy)]
enum Step<'a> {
    Root(Root),
    Member(&'a str),
    Item(usize),
}

/// What a path starts from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Root {
    /// The parameters of a Tool; written `schema`.
    Schema,
    /// The arguments of a call; members are written without a prefix, the whole is `arguments`.
    Arguments,
}

impl<'a> Path<'a> {
    pub(super) fn root(root: Root) -> Self {
        Self {
            parent: None,
            step: Step::Root(root),
        }
    }

    pub(super) fn member(&'a self, name: &'a str) -> Self {
        Self {
            parent: Some(self),
            step: Step::Member(name),
        }
    }

    pub(super) fn item(&'a self, index: usize) -> Self {
        Self {
            parent: Some(self),
            step: Step::Item(index),
        }
    }

    pub(super) fn is_root(&self) -> bool {
        self.parent.is_none()
    }

    fn is_implicit(&self) -> bool {
        matches!(self.step, Step::Root(Root::Arguments))
    }
}

impl fmt::Display for Path<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let dot = match self.parent {
            Some(parent) if parent.is_implicit() => "",
            Some(parent) => {
                fmt::Display::fmt(parent, f)?;
                "."
            }
            None => "",
        };
        match self.step {
            Step::Root(Root::Schema) => f.write_str("schema"),
            Step::Root(Root::Arguments) => f.write_str("arguments"),
            Step::Member(name) => write!(f, "{dot}{name}"),
            Step::Item(index) => write!(f, "[{index}]"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_paths_as_dsh_does() {
        let schema = Path::root(Root::Schema);
        let properties = schema.member("properties");
        let a = properties.member("a");
        let branches = a.member("oneOf");
        assert_eq!(branches.item(0).to_string(), "schema.properties.a.oneOf[0]");

        let arguments = Path::root(Root::Arguments);
        assert_eq!(arguments.to_string(), "arguments");
        let list = arguments.member("list");
        let second = list.item(1);
        assert_eq!(second.member("x").to_string(), "list[1].x");
    }
}
