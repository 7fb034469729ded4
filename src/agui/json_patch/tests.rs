#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn patch(old: &str, new: &str) -> Option<String> {
    diff(old, new)
}

#[test]
fn members_that_changed_or_came_are_added() {
    let old = r#"{"a":1,"b":{"long":"0123456789"},"c":3}"#;
    let new = r#"{"a":2,"b":{"long":"0123456789"},"c":3,"d":[]}"#;
    assert_eq!(
        patch(old, new).as_deref(),
        Some(r#"[{"op":"add","path":"/a","value":2},{"op":"add","path":"/d","value":[]}]"#)
    );
}

#[test]
fn names_are_escaped_for_the_pointer_and_for_json() {
    let old = r#"{"":0,"a/b":0,"m~n":0,"q\"\u0001":0}"#;
    let new = r#"{"":1,"a/b":1,"m~n":1,"q\"\u0001":1}"#;
    assert_eq!(
        patch(old, new).as_deref(),
        Some(concat!(
            r#"[{"op":"add","path":"/","value":1},{"op":"add","path":"/a~1b","value":1},"#,
            r#"{"op":"add","path":"/m~0n","value":1},{"op":"add","path":"/q\"\u0001","value":1}]"#
        ))
    );
}

#[test]
fn what_is_shorter_from_within_is_patched_within() {
    let old =
        r#"{"r":{"title":"Pasta","steps":["boil the water","add the salt","serve"],"gone":1}}"#;
    let new = r#"{"r":{"title":"Pasta","steps":["boil the water","add the salt","wait","serve"]}}"#;
    assert_eq!(
        patch(old, new).as_deref(),
        Some(
            r#"[{"op":"remove","path":"/r/gone"},{"op":"add","path":"/r/steps/2","value":"wait"}]"#
        )
    );
    // A short value is shorter than the ways into it.
    assert_eq!(
        patch(r#"{"r":{"a":1,"b":2}}"#, r#"{"r":{"a":2,"b":1}}"#).as_deref(),
        Some(r#"[{"op":"add","path":"/r","value":{"a":2,"b":1}}]"#)
    );
}

#[test]
fn items_change_in_place_and_go_from_behind_what_stays() {
    let old = r#"{"l":["first item, kept","x","y","z","last item, kept as well, so that the array is long"]}"#;
    let new =
        r#"{"l":["first item, kept","w","last item, kept as well, so that the array is long"]}"#;
    assert_eq!(
        patch(old, new).as_deref(),
        Some(concat!(
            r#"[{"op":"replace","path":"/l/1","value":"w"},"#,
            r#"{"op":"remove","path":"/l/2"},{"op":"remove","path":"/l/2"}]"#
        ))
    );
}

#[test]
fn order_that_no_operation_can_make_asks_for_the_whole() {
    assert_eq!(patch(r#"{"a":1,"b":2}"#, r#"{"b":2,"a":1}"#), None);
    let (long, other) = (r#""0123456789012345678901234567890123456789""#, "1");
    let old = format!(r#"{{"o":{{"a":{long},"b":{other}}}}}"#);
    let new = format!(r#"{{"o":{{"b":{other},"a":{long}}}}}"#);
    let whole = format!(r#"[{{"op":"add","path":"/o","value":{{"b":{other},"a":{long}}}}}]"#);
    assert_eq!(patch(&old, &new), Some(whole));
}

#[test]
fn what_is_no_object_or_no_change_has_no_patch() {
    for (old, new) in [
        ("[]", "{}"),
        ("{}", "null"),
        ("\"{}\"", "{}"),
        ("{}", "{}"),
        (r#"{"a":1}"#, r#"{"a":1}"#),
        (r#"{"\u0061":1}"#, r#"{"a":1}"#),
    ] {
        assert_eq!(patch(old, new), None, "{old} {new}");
    }
}

#[test]
fn names_that_javascript_reads_otherwise_are_in_no_path() {
    assert_eq!(patch("{}", r#"{"__proto__":1}"#), None);
    assert_eq!(
        patch(r#"{"a":{"constructor":1}}"#, r#"{"a":{"constructor":2}}"#).as_deref(),
        Some(r#"[{"op":"add","path":"/a","value":{"constructor":2}}]"#)
    );
}

#[test]
fn deep_values_are_replaced_where_looking_ends() {
    let nest = |inner: &str| {
        let depth = MAX_DEPTH + 4;
        format!("{}{inner}{}", r#"{"k":"#.repeat(depth), "}".repeat(depth))
    };
    let patch = diff(&nest("1"), &nest("2")).unwrap();
    assert_eq!(
        patch,
        format!(
            r#"[{{"op":"add","path":"{}","value":{}}}]"#,
            "/k".repeat(MAX_DEPTH),
            r#"{"k":{"k":{"k":{"k":2}}}}"#
        )
    );
}

/// A JSON value that keeps the order of members.
#[derive(Debug, Clone, PartialEq)]
enum Tree {
    Leaf(String),
    Array(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    fn text(&self) -> String {
        let join = |parts: Vec<String>| parts.join(",");
        match self {
            Self::Leaf(json) => json.clone(),
            Self::Array(items) => format!("[{}]", join(items.iter().map(Self::text).collect())),
            Self::Object(members) => {
                let member = |(name, value): &(String, Self)| {
                    format!("{}:{}", serde_json::to_string(name).unwrap(), value.text())
                };
                format!("{{{}}}", join(members.iter().map(member).collect()))
            }
        }
    }

    fn parse(json: &str) -> Self {
        if let Some(members) = object(json) {
            let member = |(name, value): (String, &RawValue)| (name, Self::parse(value.get()));
            return Self::Object(members.into_iter().map(member).collect());
        }
        match array(json) {
            Some(items) => Self::Array(items.iter().map(|item| Self::parse(item.get())).collect()),
            None => Self::Leaf(json.into()),
        }
    }

    /// RFC 6902, for the operations that are made here.
    fn apply(&mut self, path: &[String], op: &str, value: Option<Self>) {
        let (name, rest) = path.split_first().expect("the root is never the target");
        match self {
            Self::Leaf(_) => panic!("a path leads into a leaf"),
            Self::Object(members) => {
                let at = members.iter().position(|(member, _)| member == name);
                match (rest, at, op) {
                    ([], Some(at), "remove") => drop(members.remove(at)),
                    ([], Some(at), "add") => members[at].1 = value.unwrap(),
                    ([], None, "add") => members.push((name.clone(), value.unwrap())),
                    ([_, ..], Some(at), _) => members[at].1.apply(rest, op, value),
                    _ => panic!("{op} of {name}"),
                }
            }
            Self::Array(items) => {
                let at: usize = name.parse().unwrap();
                match (rest, op) {
                    ([], "remove") => drop(items.remove(at)),
                    ([], "replace") => items[at] = value.unwrap(),
                    ([], "add") => items.insert(at, value.unwrap()),
                    ([_, ..], _) => items[at].apply(rest, op, value),
                    _ => panic!("{op} of {at}"),
                }
            }
        }
    }
}

fn trees() -> impl Strategy<Value = Tree> {
    let leaf = prop_oneof![
        Just("null".to_owned()),
        Just("1e2".to_owned()),
        (0u8..4).prop_map(|n| n.to_string()),
        "[a-c]{0,12}".prop_map(|text| format!("\"{text}\"")),
        Just(r#""\n\"\u0001é""#.to_owned()),
    ];
    leaf.prop_map(Tree::Leaf).prop_recursive(4, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Tree::Array),
            members(inner).prop_map(Tree::Object),
        ]
    })
}

fn members(inner: impl Strategy<Value = Tree>) -> impl Strategy<Value = Vec<(String, Tree)>> {
    let name = prop::sample::select(vec![
        "a",
        "b",
        "c",
        "",
        "~",
        "/",
        "~1",
        "0",
        "é\"",
        "__proto__",
    ]);
    prop::collection::vec((name, inner), 0..6).prop_map(|members| {
        let unique: IndexMap<String, Tree> = members
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value))
            .collect();
        unique.into_iter().collect()
    })
}

/// Two objects that share much, as a state and the next one do.
fn pairs() -> impl Strategy<Value = (Tree, Tree)> {
    (members(trees()), members(trees()), any::<u64>()).prop_map(|(old, other, picks)| {
        let mut new = old.clone();
        for (bit, (name, value)) in other.into_iter().enumerate() {
            match new.iter().position(|(member, _)| *member == name) {
                Some(at) if picks >> bit & 1 == 0 => drop(new.remove(at)),
                Some(at) => new[at].1 = mixed(&new[at].1, value),
                None => new.push((name, value)),
            }
        }
        (Tree::Object(old), Tree::Object(new))
    })
}

fn mixed(old: &Tree, other: Tree) -> Tree {
    match (old, other) {
        (Tree::Array(old), Tree::Array(other)) => {
            let half = old.len() / 2;
            let items = old[..half].iter().cloned().chain(other);
            Tree::Array(items.chain(old[half..].iter().cloned()).collect())
        }
        (Tree::Object(old), Tree::Object(other)) => {
            let mut members: IndexMap<String, Tree> = old.iter().cloned().collect();
            members.extend(other);
            Tree::Object(members.into_iter().collect())
        }
        (_, other) => other,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, ..ProptestConfig::default() })]

    #[test]
    fn applying_the_patch_gives_the_new_object((old, new) in pairs()) {
        let Some(patch) = diff(&old.text(), &new.text()) else { return Ok(()) };
        let mut patched = old;
        let operations: Vec<IndexMap<String, &RawValue>> = serde_json::from_str(&patch).unwrap();
        for operation in operations {
            let text = |name: &str| serde_json::from_str::<String>(operation[name].get()).unwrap();
            let path: Vec<String> = text("path")
                .split('/')
                .skip(1)
                .map(|part| part.replace("~1", "/").replace("~0", "~"))
                .collect();
            prop_assert!(!path.iter().any(|part| part == "__proto__"));
            let value = operation.get("value").map(|value| Tree::parse(value.get()));
            patched.apply(&path, &text("op"), value);
        }
        prop_assert_eq!(patched.text(), new.text());
    }
}
