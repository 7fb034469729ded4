#![allow(clippy::unwrap_used)]
use super::*;

fn catalogue_after(
    previous: &Catalogue,
    tools: &[(&str, &str, Option<&str>)],
    limits: &Limits,
) -> Result<Catalogue, ToolError> {
    let raws = tools.iter().map(|(name, description, parameters)| RawTool {
        name,
        description,
        parameters: *parameters,
    });
    Catalogue::from_request(raws, 100, limits, previous)
}

fn catalogue(tools: &[(&str, &str, Option<&str>)]) -> Result<Catalogue, ToolError> {
    catalogue_after(&Catalogue::default(), tools, &Limits::default())
}

fn names(tools: &[Arc<Tool>]) -> Vec<&str> {
    tools.iter().map(|tool| tool.name.as_str()).collect()
}

#[test]
fn absent_and_null_parameters_mean_any_object() {
    let tools = catalogue(&[("a", "A", None), ("b", "B", Some("null"))]).unwrap();
    for tool in tools.iter() {
        assert_eq!(tool.schema().json(), r#"{"type":"object","properties":{}}"#);
        assert_eq!(tool.schema().check(r#"{"x":1}"#), [""; 0]);
    }
}

#[test]
fn every_refusal_has_its_code_and_status() {
    let limits = Limits {
        max_tools: 3,
        max_schema_depth: 4,
        strictness: Strictness::Strict,
        ..Limits::default()
    };
    let refusal = |tools: &[(&str, &str, Option<&str>)]| {
        let error = catalogue_after(&Catalogue::default(), tools, &limits).unwrap_err();
        (error.code(), error.status())
    };
    let ok = Some(r#"{"type":"object"}"#);
    assert_eq!(refusal(&[("a", "A", ok); 4]), ("TOOL_LIMIT_EXCEEDED", 413));
    assert_eq!(
        refusal(&[("a b", "A", ok)]),
        ("INVALID_FRONTEND_TOOL_NAME", 400)
    );
    assert_eq!(
        refusal(&[("ag_ui_update_state", "A", ok)]),
        ("RESERVED_FRONTEND_TOOL_NAME", 400)
    );
    assert_eq!(
        refusal(&[("a", "A", ok), ("a", "B", None)]),
        ("DUPLICATE_FRONTEND_TOOL", 400)
    );
    assert_eq!(refusal(&[("a", " \n", ok)]), ("INVALID_FRONTEND_TOOL", 400));
    assert_eq!(
        refusal(&[("a", "A", Some(r#"{"a":{"b":{"c":{"d":{}}}}}"#))]),
        ("TOOL_SCHEMA_TOO_DEEP", 413)
    );
    assert_eq!(
        refusal(&[("a", "A", Some("{}"))]),
        ("INVALID_FRONTEND_TOOL_SCHEMA", 400)
    );
    let small = Limits {
        max_bytes: 99,
        ..limits
    };
    let error = catalogue_after(&Catalogue::default(), &[("a", "A", ok)], &small).unwrap_err();
    assert_eq!((error.code(), error.status()), ("TOOL_LIMIT_EXCEEDED", 413));
}

#[test]
fn depth_beyond_the_parser_is_too_deep_whatever_the_limit() {
    let limits = Limits {
        max_schema_depth: usize::MAX,
        ..Limits::default()
    };
    let deep = format!("{}{}", "[".repeat(50_000), "]".repeat(50_000));
    let error =
        catalogue_after(&Catalogue::default(), &[("a", "A", Some(&deep))], &limits).unwrap_err();
    assert_eq!(
        error.to_string(),
        "parameters of browser Tool \"a\" nest deeper than 127"
    );
}

#[test]
fn violations_are_listed() {
    let schema =
        r#"{"type":"object","properties":{"a":{"type":"string","pattern":"x"}},"minProperties":2}"#;
    let error = catalogue(&[("a", "A", Some(schema))]).unwrap_err();
    assert_eq!(
        error.violations(),
        [
            "schema.properties.a.pattern: cannot be enforced",
            "schema.minProperties: cannot be enforced"
        ]
    );
}

#[test]
fn json_text_is_read_with_its_own_bounds() {
    let read = |text: &str| Catalogue::from_json(text, &Limits::default(), &Catalogue::default());
    let text = r#"[{"name":"a","description":"A","parameters":{"type":"object","title":"é"},"metadata":{}},
            {"name":"b","description":"\u0042"}]"#;
    let tools = read(text).unwrap();
    assert_eq!(
        tools.get("a").unwrap().schema().json(),
        r#"{"type":"object","title":"é"}"#
    );
    assert_eq!(tools.get("b").unwrap().description(), "B");
    assert_eq!(
        tools
            .without("a")
            .iter()
            .map(|tool| tool.name().as_str())
            .collect::<Vec<_>>(),
        ["b"]
    );
    for text in [
        "",
        "{}",
        "[1]",
        r#"[{"name":"a"}]"#,
        r#"[{"name":1,"description":"A"}]"#,
    ] {
        assert_eq!(read(text).unwrap_err().code(), "INVALID_FRONTEND_TOOL");
    }
    let exact = Limits {
        max_bytes: text.len(),
        ..Limits::default()
    };
    assert!(Catalogue::from_json(text, &exact, &Catalogue::default()).is_ok());
    let error =
        Catalogue::from_json(&format!("{text} "), &exact, &Catalogue::default()).unwrap_err();
    assert_eq!(error.code(), "TOOL_LIMIT_EXCEEDED");
}

#[test]
fn collisions_are_found_in_the_sorted_list() {
    let tools = catalogue(&[("pick", "P", None), ("bash", "B", None)]).unwrap();
    assert_eq!(tools.check_collisions(&["add", "zip"]), Ok(()));
    let error = tools
        .check_collisions(&["add", "bash", "pick"])
        .unwrap_err();
    assert_eq!(
        (error.code(), error.status()),
        ("FRONTEND_TOOL_NAME_COLLISION", 409)
    );
    assert!(error.to_string().contains("\"pick\""));
}

#[test]
fn changes_name_what_goes_and_what_comes() {
    let old = catalogue(&[
        ("keep", "K", None),
        ("text", "old", None),
        ("gone", "G", None),
    ])
    .unwrap();
    let schema = Some(r#"{"type":"object","properties":{}}"#);
    let new = catalogue(&[
        ("new", "N", None),
        ("text", "new", None),
        ("keep", "K", schema),
    ])
    .unwrap();
    let changes = old.changes_to(&new);
    assert_eq!(
        changes
            .unregister
            .iter()
            .map(ToolName::as_str)
            .collect::<Vec<_>>(),
        ["text", "gone"]
    );
    assert_eq!(names(&changes.register), ["new", "text"]);
    assert!(old.changes_to(&old).is_empty());
    assert_eq!(old.changes_to(&Catalogue::default()).unregister.len(), 3);
}

#[test]
fn a_repeated_tool_is_taken_over_unread() {
    let schema = Some(r#"{"$schema":"s","type":"object"}"#);
    let declared = [
        ("a", "A", schema),
        ("b", "B", None),
        ("c", "C", Some(r#"{"type":"object"}"#)),
    ];
    let first = catalogue(&declared).unwrap();
    let second = catalogue_after(&first, &declared, &Limits::default()).unwrap();
    assert_eq!(first, second);
    assert!(
        first
            .tools
            .iter()
            .zip(&second.tools)
            .all(|(a, b)| Arc::ptr_eq(a, b))
    );
    let third = catalogue_after(
        &first,
        &[("a", "A", Some(r#"{"$schema":"t","type":"object"}"#))],
        &Limits::default(),
    );
    assert!(!Arc::ptr_eq(&first.tools[0], &third.unwrap().tools[0]));
    // It is still checked for repetition.
    let twice = catalogue_after(
        &first,
        &[("b", "B", None), ("b", "B", None)],
        &Limits::default(),
    );
    assert_eq!(twice.unwrap_err().code(), "DUPLICATE_FRONTEND_TOOL");
}

#[test]
fn what_is_kept_stays_once_and_as_it_was() {
    let before = catalogue(&[("a", "A", None), ("b", "B", None), ("c", "C", None)]).unwrap();
    let after = catalogue(&[("d", "D", None), ("a", "another", None)]).unwrap();
    let kept = after.keeping(&before, |name| ["a", "c", "a", "x"].contains(&name));
    let described = |tool: &Tool| {
        (
            tool.name().as_str().to_owned(),
            tool.description().to_owned(),
        )
    };
    let all: Vec<_> = kept.iter().map(described).collect();
    assert_eq!(
        all,
        [("d", "D"), ("a", "A"), ("c", "C")].map(|(name, text)| (name.into(), text.into()))
    );
}
