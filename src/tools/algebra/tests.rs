#![allow(clippy::unwrap_used)]
use super::*;
use crate::tools::schema::{Schema, Strictness};

/// A schema of the subset, read as the property of an object.
fn node(text: &str) -> Node {
    let object = format!(r#"{{"type":"object","properties":{{"x":{text}}}}}"#);
    let schema = Schema::parse(&object, Strictness::Strict).unwrap();
    let Kind::Object(mut root) = schema.root.kind else {
        unreachable!("object-rooted")
    };
    root.properties.shift_remove("x").unwrap()
}

fn disjoint(a: &str, b: &str) -> bool {
    let (a, b) = (node(a), node(b));
    let mut algebra = Algebra::new(10_000);
    let answer = algebra.are_disjoint(&a, &b);
    assert_eq!(answer, algebra.are_disjoint(&b, &a), "symmetric");
    answer
}

fn covers(wide: &str, narrow: &str) -> bool {
    Algebra::new(10_000).covers(&node(wide), &node(narrow))
}

fn meet(a: &str, b: &str) -> String {
    match Algebra::new(10_000).meet(node(a), node(b)) {
        Ok(Shape::Schema(node)) => node.to_json().to_string(),
        Ok(Shape::Never) => "never".to_owned(),
        Err(failure) => format!("{failure:?}"),
    }
}

const STRING: &str = r#"{"type":"string"}"#;
const NUMBER: &str = r#"{"type":"number"}"#;
const INTEGER: &str = r#"{"type":"integer"}"#;
const DOG: &str = r#"{"type":"object","properties":{"kind":{"type":"string","const":"dog"},"age":{"type":"integer"}},"required":["kind"]}"#;
const CAT: &str = r#"{"type":"object","properties":{"kind":{"type":"string","const":"cat"}},"required":["kind"]}"#;
const CLOSED: &str =
    r#"{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}"#;

#[test]
fn disjointness_is_proved_by_type_value_or_member() {
    assert!(disjoint(STRING, NUMBER));
    assert!(!disjoint(NUMBER, INTEGER));
    assert!(disjoint(
        r#"{"type":"integer"}"#,
        r#"{"type":"number","enum":[1.5,2.5]}"#
    ));
    assert!(!disjoint(
        r#"{"type":"integer"}"#,
        r#"{"type":"number","enum":[1.5,2]}"#
    ));
    assert!(disjoint(
        r#"{"type":"string","const":"a"}"#,
        r#"{"type":"string","enum":["b","c"]}"#
    ));
    assert!(!disjoint(
        r#"{"type":"array","items":{"type":"null"}}"#,
        r#"{"type":"array"}"#
    ));
    assert!(disjoint(DOG, CAT));
    assert!(disjoint(DOG, CLOSED));
    assert!(!disjoint(DOG, r#"{"type":"object"}"#));
    assert!(!disjoint("{}", STRING));
    assert!(disjoint(
        r#"{"oneOf":[{"type":"string"},{"type":"null"}]}"#,
        NUMBER
    ));
}

#[test]
fn covering_is_proved_structurally() {
    assert!(covers(NUMBER, INTEGER));
    assert!(!covers(INTEGER, NUMBER));
    assert!(covers(INTEGER, r#"{"type":"number","enum":[1,2.0]}"#));
    assert!(covers(STRING, r#"{"type":"string","enum":["a"]}"#));
    assert!(covers("{}", DOG));
    assert!(covers(r#"{"type":"object"}"#, CLOSED));
    assert!(!covers(CLOSED, r#"{"type":"object"}"#));
    assert!(covers(CLOSED, CLOSED));
    assert!(covers(
        r#"{"oneOf":[{"type":"string"},{"type":"null"}]}"#,
        STRING
    ));
    assert!(!covers(
        r#"{"oneOf":[{"type":"integer"},{"type":"number"}]}"#,
        INTEGER
    ));
    assert!(covers(
        r#"{"type":"array"}"#,
        r#"{"type":"array","items":{"type":"null"}}"#
    ));
}

#[test]
fn meeting_says_exactly_both() {
    assert_eq!(meet(NUMBER, INTEGER), INTEGER);
    assert_eq!(meet(STRING, INTEGER), "never");
    assert_eq!(meet("{}", DOG), meet(DOG, DOG));
    assert_eq!(meet(DOG, CAT), "never");
    assert_eq!(meet(DOG, CLOSED), "never");
    assert_eq!(
        meet(
            r#"{"type":"string","enum":["a","b","c"]}"#,
            r#"{"type":"string","enum":["c","b","d"]}"#
        ),
        r#"{"type":"string","enum":["b","c"]}"#
    );
    assert_eq!(
        meet(
            CLOSED,
            r#"{"type":"object","properties":{"b":{"type":"null"},"a":{"type":"string","const":"x"}}}"#
        ),
        r#"{"type":"object","properties":{"a":{"type":"string","const":"x"}},"additionalProperties":false}"#
    );
    assert_eq!(
        meet(
            r#"{"oneOf":[{"type":"string"},{"type":"integer"},{"type":"null"}],"title":"T"}"#,
            r#"{"type":"number","description":"D"}"#
        ),
        r#"{"type":"integer","title":"T","description":"D"}"#
    );
}

#[test]
fn what_the_subset_cannot_say_is_not_said() {
    assert_eq!(
        meet(
            r#"{"type":"array","items":{"type":"null"}}"#,
            r#"{"type":"array","items":{"type":"string"}}"#
        ),
        "Inexpressible"
    );
    assert_eq!(
        meet(
            r#"{"type":"object","properties":{"a":{"type":"null"}}}"#,
            r#"{"type":"object","properties":{"a":{"type":"string"}}}"#
        ),
        "Inexpressible"
    );
}

#[test]
fn work_is_bounded() {
    let many = (0..300)
        .map(|n| format!(r#"{{"type":"string","const":"{n}"}}"#))
        .collect::<Vec<_>>()
        .join(",");
    let many = format!(r#"{{"oneOf":[{many}]}}"#);
    let mut algebra = Algebra::new(10_000);
    assert_eq!(
        algebra.meet(node(&many), node(&many)),
        Err(Failure::TooMuchWork)
    );
    assert!(algebra.is_exhausted());
}
