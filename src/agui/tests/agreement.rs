//! The reader and the explanation of its refusals must accept the same bodies: random changes of the vector
//! bodies, and of their text.

use std::sync::LazyLock;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::requests::REQUESTS;
use crate::agui::RunAgentInput;
use crate::agui::schema::input_issues;

static BODIES: LazyLock<Vec<Value>> = LazyLock::new(|| {
    REQUESTS
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap()["body"].take())
        .collect()
});

/// Values that are right somewhere and wrong elsewhere.
fn replacement() -> impl Strategy<Value = Value> {
    prop::sample::select(vec![
        json!(null),
        json!(true),
        json!(0),
        json!(-1.5),
        json!(""),
        json!("x\n\u{e9}"),
        json!("user"),
        json!("tool"),
        json!("assistant"),
        json!("activity"),
        json!("reasoning"),
        json!("developer"),
        json!("function"),
        json!("text"),
        json!("image"),
        json!("binary"),
        json!("data"),
        json!("url"),
        json!("file"),
        json!("resolved"),
        json!([]),
        json!([null]),
        json!(["x"]),
        json!({}),
        json!({"type": "text", "text": "x"}),
        json!([{"type": "text", "text": "x"}]),
        json!([{"type": "binary", "mimeType": "x", "data": ""}]),
        json!({"type": "url", "value": "x"}),
        json!({"name": "f", "arguments": "{}"}),
    ])
}

const NAMES: [&str; 29] = [
    "threadId",
    "runId",
    "parentRunId",
    "protocolVersion",
    "state",
    "messages",
    "tools",
    "context",
    "forwardedProps",
    "resume",
    "id",
    "role",
    "content",
    "name",
    "toolCalls",
    "toolCallId",
    "error",
    "activityType",
    "encryptedValue",
    "subagentRunId",
    "metadata",
    "type",
    "text",
    "source",
    "mimeType",
    "url",
    "data",
    "function",
    "status",
];

/// Where and how a body is changed. Choices are taken modulo what is there.
#[derive(Debug, Clone)]
enum Change {
    Replace(Vec<usize>, Value),
    Insert(Vec<usize>, &'static str, Value),
    Remove(Vec<usize>),
}

fn change() -> impl Strategy<Value = Change> {
    let place = prop::collection::vec(0_usize..64, 0..7);
    prop_oneof![
        (place.clone(), replacement()).prop_map(|(place, value)| Change::Replace(place, value)),
        (
            place.clone(),
            prop::sample::select(NAMES.to_vec()),
            replacement()
        )
            .prop_map(|(place, name, value)| Change::Insert(place, name, value)),
        place.prop_map(Change::Remove),
    ]
}

/// Follows a place as far as it leads.
fn follow<'v>(mut value: &'v mut Value, place: &[usize]) -> &'v mut Value {
    for choice in place {
        let children = match value {
            Value::Array(items) => items.len(),
            Value::Object(members) => members.len(),
            _ => 0,
        };
        if children == 0 {
            return value;
        }
        value = match value {
            Value::Array(items) => &mut items[choice % children],
            Value::Object(members) => members.values_mut().nth(choice % children).unwrap(),
            _ => unreachable!(),
        };
    }
    value
}

fn apply(body: &mut Value, change: Change) {
    match change {
        Change::Replace(place, value) => *follow(body, &place) = value,
        Change::Insert(place, name, value) => match follow(body, &place) {
            Value::Object(members) => {
                members.insert(name.to_owned(), value);
            }
            Value::Array(items) => items.push(value),
            other => *other = value,
        },
        Change::Remove(place) => match follow(body, &place) {
            Value::Object(members) => {
                let name = members
                    .keys()
                    .nth(place.len() % members.len().max(1))
                    .cloned();
                name.and_then(|name| members.remove(&name));
            }
            Value::Array(items) => {
                items.pop();
            }
            other => *other = Value::Null,
        },
    }
}

fn agrees(body: &str) -> Result<(), TestCaseError> {
    let parsed = RunAgentInput::parse(body.as_bytes());
    let issues = input_issues(body);
    prop_assert_eq!(
        parsed.is_ok(),
        issues.is_empty(),
        "{}: {:?} {:?}",
        body,
        parsed,
        issues
    );
    if let Ok(input) = parsed {
        // The normalised form is accepted, and is its own normalised form.
        let normalised = input.to_json();
        let again = RunAgentInput::parse(normalised.as_bytes());
        prop_assert_eq!(again.map(|input| input.to_json()), Ok(normalised));
    } else {
        prop_assert!(!parsed.unwrap_err().issues.is_empty());
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn on_changed_bodies(row in 0_usize..85, changes in prop::collection::vec(change(), 0..6)) {
        let mut body = BODIES[row].clone();
        for change in changes {
            apply(&mut body, change);
        }
        agrees(&body.to_string())?;
    }

    #[test]
    fn on_changed_text(row in 0_usize..85, edits in prop::collection::vec((any::<prop::sample::Index>(), 0_usize..20), 1..4)) {
        const SNIPPETS: [&str; 20] = [
            "", ",", ":", "{", "}", "[", "]", "\"", "\\", "\\u00e9", "\\ud83d", " ", "\n", "null", "1e999", "-", "{\"a\":1}",
            "\"role\":\"tool\",", "\"content\":1,", "\"messages\":[],",
        ];
        let mut body = BODIES[row].to_string();
        for (place, snippet) in edits {
            let at = place.index(body.len() + 1);
            if body.is_char_boundary(at) {
                body.insert_str(at, SNIPPETS[snippet]);
                if snippet == 0 && body.is_char_boundary(at + 1) {
                    body.remove(at.min(body.len() - 1));
                }
            }
        }
        agrees_or_lone_surrogate(&body)?;
    }

    #[test]
    fn strings_are_decoded_as_serde_does(text in any::<String>(), escaped in any::<bool>()) {
        let mut string = serde_json::to_string(&text).unwrap();
        if escaped {
            let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect();
            string = format!("\"{}\"", units.concat());
        }
        let body = format!(r#"{{"threadId":{string},"runId":"","messages":[]}}"#);
        prop_assert_eq!(RunAgentInput::parse(body.as_bytes()).unwrap().thread_id, text);
    }

    #[test]
    fn on_any_text(body in "[\\{\\}\\[\\]\",:0-9a-z\\\\u]{0,40}") {
        agrees_or_lone_surrogate(&body)?;
    }
}

/// The reader looks for lone surrogates before it looks for syntax, so the two differ on those in name only:
/// both refuse.
fn agrees_or_lone_surrogate(body: &str) -> Result<(), TestCaseError> {
    if crate::agui::surrogate::has_lone_surrogates(body.as_bytes()) {
        prop_assert!(RunAgentInput::parse(body.as_bytes()).is_err());
        return Ok(());
    }
    agrees(body)
}
