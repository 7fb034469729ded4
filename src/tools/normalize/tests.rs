#![allow(clippy::unwrap_used)]

use crate::tools::schema::{Schema, SchemaError, Strictness};

/// The normalised text, which must itself be in the subset.
fn normal(text: &str) -> String {
    let schema = Schema::parse(text, Strictness::Normalize).unwrap();
    Schema::parse(schema.json(), Strictness::Strict).unwrap();
    schema.json().to_owned()
}

/// The normalised text of a schema that stands as the property `x`.
fn property(text: &str) -> String {
    let whole = normal(&format!(
        r#"{{"$schema":"s","type":"object","properties":{{"x":{text}}}}}"#
    ));
    let inner = whole
        .strip_prefix(r#"{"type":"object","properties":{"x":"#)
        .unwrap();
    inner.strip_suffix("}}").unwrap().to_owned()
}

fn violations(text: &str) -> Vec<String> {
    match Schema::parse(text, Strictness::Normalize).unwrap_err() {
        SchemaError::Unsupported(violations) => violations,
        SchemaError::TooDeep => vec!["too deep".to_owned()],
    }
}

fn refused(text: &str) -> Vec<String> {
    violations(&format!(
        r#"{{"type":"object","properties":{{"x":{text}}}}}"#
    ))
    .into_iter()
    .map(|violation| violation.replace("schema.properties.x", "x"))
    .collect()
}

#[test]
fn what_constrains_nothing_is_dropped() {
    assert_eq!(
        normal(
            r#"{"$schema":"http://json-schema.org/draft-07/schema#","$id":"urn:x","$comment":"c","title":"T",
            "description":"D","type":"object","x-order":1,"$defs":{"unused":{"not":{}}},"properties":{
            "mail":{"type":"string","format":"email","minLength":0,"deprecated":true,"readOnly":true,"examples":["a@b"]},
            "list":{"type":"array","items":true,"minItems":0,"uniqueItems":false},
            "count":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991,"default":3},
            "step":{"type":"number","multipleOf":1,"minLength":5,"pattern":"x"},
            "map":{"type":"object","propertyNames":{"type":"string"},"additionalProperties":{}}},
            "required":["mail"],"additionalProperties":false,"minProperties":1}"#
        ),
        concat!(
            r#"{"type":"object","title":"T","description":"D","properties":{"#,
            r#""mail":{"type":"string","examples":["a@b"]},"list":{"type":"array"},"#,
            r#""count":{"type":"integer","default":3},"step":{"type":"integer"},"#,
            r#""map":{"type":"object","properties":{}}},"required":["mail"],"additionalProperties":false}"#
        )
    );
}

#[test]
fn the_root_is_read_as_an_object() {
    let empty = r#"{"type":"object","properties":{}}"#;
    assert_eq!(normal("{}"), empty);
    assert_eq!(normal("true"), empty);
    assert_eq!(normal(r#"{"type":["object","null"]}"#), empty);
    assert_eq!(
        normal(r#"{"properties":{"a":{"type":"null"}},"required":["a","b"]}"#),
        r#"{"type":"object","properties":{"a":{"type":"null"},"b":{}},"required":["a","b"]}"#
    );
    assert_eq!(
        normal(
            r#"{"anyOf":[{"type":"string"},{"type":"object","properties":{"a":{}}}],"description":"D"}"#
        ),
        r#"{"type":"object","description":"D","properties":{"a":{}}}"#
    );
    assert_eq!(violations("false"), ["schema: accepts no object at all"]);
    assert_eq!(
        violations(r#"{"type":"string"}"#),
        ["schema: accepts no object at all"]
    );
    assert_eq!(
        violations(
            r#"{"oneOf":[{"type":"object","properties":{"a":{}},"required":["a"]},{"type":"object","properties":{"b":{}}}]}"#
        ),
        ["schema: must be one object, not a choice of objects"]
    );
}

#[test]
fn type_lists_become_one_of() {
    assert_eq!(
        property(r#"{"type":["string","null"],"description":"D","enum":["a",null,"b"]}"#),
        r#"{"description":"D","oneOf":[{"type":"string","enum":["a","b"]},{"type":"null"}]}"#
    );
    assert_eq!(
        property(r#"{"type":["integer","number"]}"#),
        r#"{"type":"number"}"#
    );
    assert_eq!(property(r#"{"type":["string"]}"#), r#"{"type":"string"}"#);
    assert_eq!(
        property(r#"{"type":["array","null"],"items":{"type":"string"}}"#),
        r#"{"oneOf":[{"type":"array","items":{"type":"string"}},{"type":"null"}]}"#
    );
}

#[test]
fn values_without_a_type_get_theirs() {
    assert_eq!(
        property(r#"{"const":"a"}"#),
        r#"{"type":"string","const":"a"}"#
    );
    assert_eq!(property(r#"{"const":null}"#), r#"{"type":"null"}"#);
    assert_eq!(
        property(r#"{"enum":[true,false]}"#),
        r#"{"type":"boolean"}"#
    );
    assert_eq!(
        property(r#"{"enum":["a",1,"b",1.0,null]}"#),
        r#"{"oneOf":[{"type":"string","enum":["a","b"]},{"type":"number","const":1},{"type":"null"}]}"#
    );
    assert_eq!(
        property(r#"{"enum":["a","b"],"const":"b"}"#),
        r#"{"type":"string","const":"b"}"#
    );
    assert_eq!(
        refused(r#"{"enum":[{"a":1}]}"#),
        ["x: lists objects or arrays as values, which cannot be enforced"]
    );
}

#[test]
fn any_of_becomes_one_of_where_branches_exclude_each_other() {
    assert_eq!(
        property(r#"{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}"#),
        r#"{"oneOf":[{"type":"string"},{"type":"null"}],"default":null}"#
    );
    assert_eq!(
        property(r#"{"anyOf":[{"type":"string","description":"inner"}],"title":"outer"}"#),
        r#"{"type":"string","title":"outer","description":"inner"}"#
    );
    assert_eq!(
        property(r#"{"anyOf":[{"type":"integer"},{"type":"number"}]}"#),
        r#"{"type":"number"}"#
    );
    assert_eq!(property(r#"{"anyOf":[{"type":"integer"},{}]}"#), "{}");
    let variant = |kind: &str| {
        format!(
            r#"{{"type":"object","properties":{{"kind":{{"const":"{kind}"}}}},"required":["kind"]}}"#
        )
    };
    assert_eq!(
        property(&format!(
            r#"{{"anyOf":[{},{}]}}"#,
            variant("a"),
            variant("b")
        )),
        concat!(
            r#"{"oneOf":[{"type":"object","properties":{"kind":{"type":"string","const":"a"}},"required":["kind"]},"#,
            r#"{"type":"object","properties":{"kind":{"type":"string","const":"b"}},"required":["kind"]}]}"#
        )
    );
    assert_eq!(
        refused(
            r#"{"anyOf":[{"type":"object","properties":{"a":{"type":"string"}}},{"type":"null"},
            {"type":"object","properties":{"b":{"type":"string"}}}]}"#
        ),
        ["x.anyOf: branches 0 and 2 may both match, and only oneOf can be enforced"]
    );
}

#[test]
fn combinators_take_in_what_stands_beside_them() {
    assert_eq!(
        property(
            r#"{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}"#
        ),
        r#"{"oneOf":[{"type":"string","title":"A","const":"a"},{"type":"string","title":"B","const":"b"}]}"#
    );
    assert_eq!(
        property(
            r#"{"allOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},
            {"type":"object","properties":{"b":{"type":"number"}},"required":["b"]}],"description":"both"}"#
        ),
        r#"{"type":"object","description":"both","properties":{"a":{"type":"string"},"b":{"type":"number"}},"required":["a","b"]}"#
    );
    assert_eq!(
        refused(
            r#"{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}"#
        ),
        ["x.anyOf: branches 0 and 1 may both match, and only oneOf can be enforced"]
    );
    assert_eq!(
        property(
            r#"{"type":"object","properties":{"a":{},"b":{}},"oneOf":[{"required":["a"]},{"required":["b"]}]}"#
        ),
        concat!(
            r#"{"oneOf":[{"type":"object","properties":{"a":{},"b":{}},"required":["a"]},"#,
            r#"{"type":"object","properties":{"b":{},"a":{}},"required":["b"]}]}"#
        )
    );
}

#[test]
fn local_references_are_put_in_place() {
    assert_eq!(
        normal(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/point","description":"A"},"b":{"$ref":"#/properties/a"}},
            "$defs":{"point":{"type":"object","properties":{"x":{"type":"number"}},"description":"P"}}}"##
        ),
        concat!(
            r#"{"type":"object","properties":{"#,
            r#""a":{"type":"object","description":"A","properties":{"x":{"type":"number"}}},"#,
            r#""b":{"type":"object","description":"A","properties":{"x":{"type":"number"}}}}}"#
        )
    );
    let reference = |pointer: &str| {
        violations(&format!(
            r##"{{"type":"object","properties":{{"a":{{"$ref":"{pointer}"}}}},
            "$defs":{{"tree":{{"type":"array","items":{{"$ref":"#/$defs/tree"}}}}}}}}"##
        ))
    };
    assert_eq!(
        reference("#/$defs/tree"),
        ["schema.properties.a.items.$ref: is recursive, which cannot be enforced"]
    );
    assert_eq!(
        reference("#"),
        ["schema.properties.a.$ref: is recursive, which cannot be enforced"]
    );
    for pointer in ["#/$defs/none", "#anchor", "other.json", "#/%24defs/tree"] {
        assert_eq!(
            reference(pointer),
            ["schema.properties.a.$ref: must point into this schema, as in #/$defs/name"]
        );
    }
    assert_eq!(
        violations(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/s","minLength":2}},"$defs":{"s":{"type":"string"}}}"##
        ),
        ["schema.properties.a.minLength: beside $ref means different things in different drafts"]
    );
    assert_eq!(
        violations(
            r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/s"},"b":{"$id":"urn:b"}},"$defs":{"s":{"type":"string"}}}"##
        ),
        ["schema: has both $ref and a nested $id, which changes what references mean"]
    );
}

#[test]
fn what_cannot_be_enforced_is_refused_with_every_violation() {
    assert_eq!(
        violations(
            r#"{"type":"object","properties":{"a":{"type":"string","minLength":1,"pattern":"^a"},
            "b":{"type":"integer","minimum":0,"maximum":9007199254740991},"c":{"type":"array","minItems":1,"items":[{}]},
            "d":{"not":{"type":"null"}},"e":{"type":"strnig"},"f":{"minLenght":1},"g":{"type":"object","additionalProperties":{"type":"string"}},
            "h":{"type":"string","nullable":true},"i":false,"j":{"type":"array","items":false},"k":{"enum":"a"},"l":3,"m":{"anyOf":[]}},
            "required":"a","patternProperties":{"^x":{}},"if":{},"then":{}}"#
        ),
        [
            "schema.if: cannot be enforced",
            "schema.then: cannot be enforced",
            "schema.required: must be an array of strings",
            "schema.properties.a.minLength: cannot be enforced",
            "schema.properties.a.pattern: cannot be enforced",
            "schema.properties.b.minimum: cannot be enforced",
            "schema.properties.b.maximum: cannot be enforced",
            "schema.properties.c.minItems: cannot be enforced",
            "schema.properties.c.items: is a list of schemas (a tuple), which cannot be enforced",
            "schema.properties.d.not: cannot be enforced",
            "schema.properties.e.type: names a type that JSON Schema does not have",
            "schema.properties.f.minLenght: is not a keyword known to constrain nothing",
            "schema.properties.g.additionalProperties: constrains undeclared members, which cannot be enforced",
            "schema.properties.h.nullable: is not JSON Schema; write \"null\" into the list of types",
            "schema.properties.i: must be absent, which cannot be enforced",
            "schema.properties.j.items: accepts nothing, and an array that must be empty cannot be enforced",
            "schema.properties.k.enum: must be an array",
            "schema.properties.l: must be a schema: an object or a boolean",
            "schema.properties.m.anyOf: must be a non-empty array of schemas",
            "schema.patternProperties: cannot be enforced",
        ]
    );
}

#[test]
fn exact_integers_are_held_to_their_bounds() {
    let schema = Schema::parse(
        r#"{"type":"object","properties":{"n":{"type":"integer","minimum":-9007199254740991,"maximum":9007199254740991}}}"#,
        Strictness::Normalize,
    )
    .unwrap();
    assert_eq!(schema.check(r#"{"n":9007199254740991}"#), [""; 0]);
    assert_eq!(
        schema.check(r#"{"n":1e300}"#),
        ["n: must be of type integer"]
    );
}

#[test]
fn hostile_work_is_bounded() {
    let choice = |key: &str| {
        let branches: Vec<_> = (0..40)
            .map(|n| format!(r#"{{"type":"object","properties":{{"{key}":{{"const":{n}}}}},"required":["{key}"]}}"#))
            .collect();
        format!(r#"{{"anyOf":[{}]}}"#, branches.join(","))
    };
    let all: Vec<_> = ["a", "b", "c", "d", "e"].map(choice).into();
    assert_eq!(
        refused(&format!(r#"{{"allOf":[{}]}}"#, all.join(","))),
        ["x.allOf: is too complex to be rewritten"]
    );

    // Definitions that double at every level.
    let levels: Vec<_> = (1..60)
        .map(|n| {
            let below = format!(r##"{{"$ref":"#/$defs/l{}"}}"##, n - 1);
            format!(r#""l{n}":{{"type":"object","properties":{{"a":{below},"b":{below}}}}}"#)
        })
        .collect();
    let text = format!(
        r##"{{"type":"object","properties":{{"x":{{"$ref":"#/$defs/l59"}}}},"$defs":{{"l0":{{}},{}}}}}"##,
        levels.join(",")
    );
    let found = violations(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].ends_with("is too complex to be rewritten"),
        "{found:?}"
    );

    // A chain of definitions, each deeper than the last.
    let chain: Vec<_> = (1..3000)
        .map(|n| format!(r##""l{n}":{{"items":{{"$ref":"#/$defs/l{}"}}}}"##, n - 1))
        .collect();
    let text = format!(
        r##"{{"properties":{{"x":{{"$ref":"#/$defs/l2999"}}}},"$defs":{{"l0":{{}},{}}}}}"##,
        chain.join(",")
    );
    let found = violations(&text);
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(
        found[0].ends_with("is too complex to be rewritten"),
        "{found:?}"
    );
}
