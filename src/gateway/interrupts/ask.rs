//! What the Host asks a person, and how a client is told of it (spec: gateway, 原生问题与审批; `ag-ui.md` §1.2).

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::agui::Json;
use crate::agui::surrogate::replace_lone_surrogates;

/// The answer to an approval, as JSON Schema.
const APPROVAL_SCHEMA: &str = r#"{"type":"object","properties":{"approved":{"type":"boolean","description":"false rejects this one operation"}},"required":["approved"],"additionalProperties":false}"#;

/// One request to a person, ready to be shown.
#[derive(Debug)]
pub(crate) struct Ask {
    pub(super) kind: AskKind,
    /// The provider's id of the Tool call that asks, where the Host knows it.
    pub(crate) call_id: Option<String>,
    /// For the person.
    pub(super) message: String,
    /// JSON Schema of the answer, an object.
    pub(super) schema: Box<str>,
    /// `{"dsh": ...}`.
    pub(super) metadata: Box<str>,
}

/// What kind of answer is wanted.
#[derive(Debug)]
pub(super) enum AskKind {
    /// Yes or no to one operation.
    Approval,
    /// An answer to each of these, at least one.
    Questions(Vec<Question>),
}

/// One question, as far as its answer is checked.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) id: String,
    /// Labels of what can be chosen; empty where only words are wanted.
    pub(super) labels: Vec<String>,
    pub(super) choice: Choice,
}

/// How many of the offered options an answer may hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Choice {
    /// One, or words instead.
    One,
    /// Any number, and words beside them.
    Many,
}

/// A request as the port gives it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawAsk<'a> {
    kind: RawKind,
    call_id: Option<String>,
    tool_name: Option<String>,
    reason: Option<String>,
    #[serde(borrow)]
    questions: Option<&'a RawValue>,
}

#[derive(Deserialize, PartialEq)]
#[serde(rename_all = "camelCase")]
enum RawKind {
    Approval,
    Questions,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawQuestion {
    id: String,
    question: String,
    options: Option<Vec<RawOption>>,
    multi_select: Option<bool>,
}

#[derive(Deserialize)]
struct RawOption {
    label: String,
}

impl Ask {
    /// Reads a request of the port.
    ///
    /// # Errors
    /// Why nobody could answer it, in words for the model.
    pub(crate) fn read(json: &str) -> Result<Self, &'static str> {
        let json = replace_lone_surrogates(json.as_bytes());
        let raw: RawAsk<'_> =
            serde_json::from_slice(&json).map_err(|_| "the request to the user is malformed")?;
        match raw.kind {
            RawKind::Approval => {
                let tool = raw.tool_name.unwrap_or_default();
                Ok(Self::approval(raw.call_id, &tool, raw.reason.as_deref()))
            }
            RawKind::Questions => {
                let native = raw.questions.map_or("[]", RawValue::get);
                Self::questions(raw.call_id, native)
            }
        }
    }

    fn approval(call_id: Option<String>, tool: &str, reason: Option<&str>) -> Self {
        let message = match reason.filter(|reason| !reason.trim().is_empty()) {
            Some(reason) => format!("Allow {tool}? {reason}"),
            None => format!("Allow {tool}?"),
        };
        let dsh = match reason {
            Some(reason) => json!({"dsh": {"toolName": tool, "reason": reason}}),
            None => json!({"dsh": {"toolName": tool}}),
        };
        Self {
            kind: AskKind::Approval,
            call_id,
            message,
            schema: APPROVAL_SCHEMA.into(),
            metadata: dsh.to_string().into(),
        }
    }

    fn questions(call_id: Option<String>, native: &str) -> Result<Self, &'static str> {
        let raw: Vec<RawQuestion> = serde_json::from_str(native)
            .map_err(|_| "every question needs an id and a text, and every option a label")?;
        if raw.is_empty() {
            return Err("at least one question is needed");
        }
        let repeated = |at: usize| raw[..at].iter().any(|earlier| earlier.id == raw[at].id);
        if (0..raw.len()).any(repeated) {
            return Err("the ids of the questions must differ");
        }
        let texts: Vec<&str> = raw
            .iter()
            .map(|question| question.question.as_str())
            .collect();
        let message = texts.join("\n");
        let questions: Vec<Question> = raw.iter().map(Question::of).collect();
        let items: Vec<Value> = questions
            .iter()
            .zip(&texts)
            .map(|(question, text)| question.schema(text))
            .collect();
        Ok(Self {
            schema: answers_schema(&questions, items).to_string().into(),
            kind: AskKind::Questions(questions),
            call_id,
            message,
            metadata: format!(
                r#"{{"dsh":{{"questions":{}}}}}"#,
                Json::encoded(native).to_compact()
            )
            .into(),
        })
    }

    /// `reason` of the interrupt.
    pub(super) fn reason(&self) -> &'static str {
        match self.kind {
            AskKind::Approval => "approval",
            AskKind::Questions(_) => "user_question",
        }
    }
}

impl Question {
    fn of(raw: &RawQuestion) -> Self {
        let mut labels: Vec<String> = Vec::new();
        for option in raw.options.iter().flatten() {
            if !labels.contains(&option.label) {
                labels.push(option.label.clone());
            }
        }
        Self {
            id: raw.id.clone(),
            labels,
            choice: if raw.multi_select == Some(true) {
                Choice::Many
            } else {
                Choice::One
            },
        }
    }

    /// The schema of one answer: exactly what [`super::reply`] accepts.
    fn schema(&self, text: &str) -> Value {
        let custom = json!({"type": "string", "pattern": "\\S"});
        let id = json!({"const": self.id});
        if self.labels.is_empty() {
            return json!({
                "type": "object",
                "description": text,
                "properties": {"id": id, "selected": {"type": "array", "maxItems": 0}, "custom": custom},
                "required": ["id", "selected", "custom"],
                "additionalProperties": false,
            });
        }
        let mut selected = json!({
            "type": "array",
            "items": {"type": "string", "enum": self.labels},
            "uniqueItems": true,
        });
        let some = json!({"properties": {"selected": {"minItems": 1}}});
        let rule = match self.choice {
            Choice::Many => json!([some, {"required": ["custom"]}]),
            Choice::One => {
                selected["maxItems"] = 1.into();
                json!([
                    {"properties": {"selected": {"minItems": 1}}, "not": {"required": ["custom"]}},
                    {"properties": {"selected": {"maxItems": 0}}, "required": ["custom"]},
                ])
            }
        };
        json!({
            "type": "object",
            "description": text,
            "properties": {"id": id, "selected": selected, "custom": custom},
            "required": ["id", "selected"],
            "additionalProperties": false,
            "anyOf": rule,
        })
    }
}

/// The schema of `{answers}`: every question exactly once.
fn answers_schema(questions: &[Question], mut items: Vec<Value>) -> Value {
    let count = questions.len();
    let mut answers = json!({"type": "array", "minItems": count, "maxItems": count});
    if count == 1 {
        answers["items"] = items.pop().unwrap_or_default();
    } else {
        answers["items"] = json!({"anyOf": items});
        answers["allOf"] = questions
            .iter()
            .map(|question| {
                json!({"contains": {"properties": {"id": {"const": question.id}}, "required": ["id"]}})
            })
            .collect();
    }
    json!({
        "type": "object",
        "properties": {"answers": answers},
        "required": ["answers"],
        "additionalProperties": false,
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn value(json: &str) -> Value {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn an_approval_says_what_it_is_about() {
        let ask = Ask::read(r#"{"kind":"approval","toolName":"bash","callId":"c","reason":"rm"}"#);
        let ask = ask.unwrap();
        assert_eq!(ask.reason(), "approval");
        assert_eq!(ask.message, "Allow bash? rm");
        assert_eq!(ask.call_id.as_deref(), Some("c"));
        assert_eq!(
            value(&ask.metadata),
            json!({"dsh": {"toolName": "bash", "reason": "rm"}})
        );
        assert_eq!(value(&ask.schema)["required"], json!(["approved"]));
        let plain = Ask::read(r#"{"kind":"approval","toolName":"bash"}"#).unwrap();
        assert_eq!(plain.message, "Allow bash?");
        assert_eq!(value(&plain.metadata), json!({"dsh": {"toolName": "bash"}}));
    }

    #[test]
    fn questions_are_handed_on_as_they_came() {
        let native = json!([
            {"id": "a", "question": "Which?", "options": [{"label": "x", "description": "d"}, {"label": "y"}], "multiSelect": true},
            {"id": "b", "question": "Plan?", "detail": "p", "options": [{"label": "ok"}], "intent": {"kind": "plan-review", "approve": "ok"}},
        ]);
        let json = json!({"kind": "questions", "questions": native}).to_string();
        let ask = Ask::read(&json).unwrap();
        assert_eq!(ask.reason(), "user_question");
        assert_eq!(ask.message, "Which?\nPlan?");
        assert_eq!(value(&ask.metadata), json!({"dsh": {"questions": native}}));
    }

    #[test]
    fn what_nobody_could_answer_is_refused() {
        for bad in [
            "",
            "{}",
            r#"{"kind":"questions"}"#,
            r#"{"kind":"questions","questions":[]}"#,
            r#"{"kind":"questions","questions":"x"}"#,
            r#"{"kind":"questions","questions":[{"id":"a"}]}"#,
            r#"{"kind":"questions","questions":[{"id":"a","question":"q","options":[{}]}]}"#,
            r#"{"kind":"questions","questions":[{"id":"a","question":"q"},{"id":"a","question":"r"}]}"#,
        ] {
            assert!(Ask::read(bad).is_err(), "{bad}");
        }
    }
}
