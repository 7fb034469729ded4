//! The difference between two JSON objects as a JSON Patch (RFC 6902), for clients that hold the first (X3).
//!
//! Values travel as the text that they are. What the patch makes of the old object is the new one exactly, the order of its
//! members included; where a patch cannot say that, or says it longer, whole values take its place.

use std::fmt::Write as _;

use indexmap::IndexMap;
use serde_json::value::RawValue;

use super::json::write_string;

/// Containers that are looked into, one inside the other; deeper ones are replaced whole.
const MAX_DEPTH: usize = 16;

/// Names that the client's library refuses in a path, or that mean something else to JavaScript.
const UNADDRESSABLE: [&str; 3] = ["__proto__", "constructor", "prototype"];

type Members<'a> = IndexMap<String, &'a RawValue>;

/// The patch that makes `new` of `old`, both compact JSON text: an array of operations.
///
/// `None` where one of the two is no object, where both are the same, and where no patch gives `new` exactly: then only
/// the whole of it does.
#[must_use]
pub(crate) fn diff(old: &str, new: &str) -> Option<String> {
    let mut patch = Patch {
        path: String::new(),
        operations: String::new(),
    };
    patch.members(&object(old)?, &object(new)?, 0).ok()?;
    (!patch.operations.is_empty()).then(|| format!("[{}]", patch.operations))
}

/// A place cannot be patched from within.
struct Whole;

struct Patch {
    /// JSON Pointer of the value being looked at.
    path: String,
    /// Operations so far, comma-separated.
    operations: String,
}

/// What replaces the value at a path.
#[derive(Clone, Copy)]
enum Put {
    /// In an object: `add` puts whatever was there before, so it holds even where a client lost the member.
    Member,
    /// In an array: `add` would insert.
    Item,
}

impl Patch {
    fn value(&mut self, old: &RawValue, new: &RawValue, put: Put, depth: usize) {
        if old.get() == new.get() {
            return;
        }
        let start = self.operations.len();
        let inside = self.inside(old, new, depth);
        let end = self.operations.len();
        match put {
            Put::Member => self.operation("add", Some(new)),
            Put::Item => self.operation("replace", Some(new)),
        }
        let whole = self.operations.len() - end;
        if inside.is_ok() && end - start < whole {
            self.operations.truncate(end);
        } else {
            // A comma stands before each but the first operation.
            let whole = self.operations.split_off(end);
            self.operations.truncate(start);
            let skip = usize::from(start == 0 && whole.starts_with(','));
            self.operations.push_str(&whole[skip..]);
        }
    }

    fn inside(&mut self, old: &RawValue, new: &RawValue, depth: usize) -> Result<(), Whole> {
        if depth >= MAX_DEPTH {
            return Err(Whole);
        }
        if let (Some(old), Some(new)) = (object(old.get()), object(new.get())) {
            return self.members(&old, &new, depth);
        }
        if let (Some(old), Some(new)) = (array(old.get()), array(new.get())) {
            self.items(&old, &new, depth);
            return Ok(());
        }
        Err(Whole)
    }

    /// Members that went, then those that changed, then those that came.
    fn members(&mut self, old: &Members, new: &Members, depth: usize) -> Result<(), Whole> {
        let kept = old.keys().filter(|name| new.contains_key(*name));
        let ordered = kept.clone().eq(new.keys().take(kept.count()));
        if !ordered {
            return Err(Whole);
        }
        for name in old.keys().filter(|name| !new.contains_key(*name)) {
            self.at_member(name, |patch| patch.operation("remove", None))?;
        }
        for (name, new) in new {
            match old.get(name) {
                Some(old) if old.get() == new.get() => {}
                Some(old) => {
                    self.at_member(name, |patch| {
                        patch.value(old, new, Put::Member, depth + 1);
                    })?;
                }
                None => self.at_member(name, |patch| patch.operation("add", Some(new)))?,
            }
        }
        Ok(())
    }

    /// What both ends of the arrays share stays. Between them items change in place, and then go or come.
    fn items(&mut self, old: &[&RawValue], new: &[&RawValue], depth: usize) {
        let same = |(a, b): &(&&RawValue, &&RawValue)| a.get() == b.get();
        let head = old.iter().zip(new).take_while(same).count();
        let (old, new) = (&old[head..], &new[head..]);
        let ends = old.iter().rev().zip(new.iter().rev());
        let tail = ends.take_while(same).count();
        let (old, new) = (&old[..old.len() - tail], &new[..new.len() - tail]);
        let both = old.len().min(new.len());
        for (index, (old, new)) in old.iter().zip(new).enumerate() {
            self.at_item(head + index, |patch| {
                patch.value(old, new, Put::Item, depth + 1);
            });
        }
        for _ in both..old.len() {
            self.at_item(head + both, |patch| patch.operation("remove", None));
        }
        for (index, new) in new.iter().enumerate().skip(both) {
            self.at_item(head + index, |patch| patch.operation("add", Some(new)));
        }
    }

    fn at_member(&mut self, name: &str, run: impl FnOnce(&mut Self)) -> Result<(), Whole> {
        if UNADDRESSABLE.contains(&name) {
            return Err(Whole);
        }
        let end = self.path.len();
        self.path.push('/');
        for c in name.chars() {
            match c {
                '~' => self.path.push_str("~0"),
                '/' => self.path.push_str("~1"),
                _ => self.path.push(c),
            }
        }
        run(self);
        self.path.truncate(end);
        Ok(())
    }

    fn at_item(&mut self, index: usize, run: impl FnOnce(&mut Self)) {
        let end = self.path.len();
        let _ = write!(self.path, "/{index}");
        run(self);
        self.path.truncate(end);
    }

    fn operation(&mut self, name: &str, value: Option<&RawValue>) {
        let out = &mut self.operations;
        if !out.is_empty() {
            out.push(',');
        }
        let _ = write!(out, "{{\"op\":\"{name}\",\"path\":");
        write_string(&self.path, out);
        if let Some(value) = value {
            out.push_str(",\"value\":");
            out.push_str(value.get());
        }
        out.push('}');
    }
}

fn object(json: &str) -> Option<Members<'_>> {
    json.starts_with('{')
        .then(|| serde_json::from_str(json).ok())
        .flatten()
}

fn array(json: &str) -> Option<Vec<&RawValue>> {
    json.starts_with('[')
        .then(|| serde_json::from_str(json).ok())
        .flatten()
}

#[cfg(test)]
mod tests;
