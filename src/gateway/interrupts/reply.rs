//! What a person answered, held against what was asked (spec: gateway, 原生问题与审批).

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::ask::{Ask, AskKind, Choice, Question};
use crate::agui::{Json, ResumeStatus};

/// How a request to a person ends, as the port tells the Host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "status", rename_all = "camelCase")]
pub enum PersonOutcome {
    /// The operation may happen, once.
    Allowed,
    /// The operation may not happen.
    Rejected,
    /// Every question has its answer, in the order of the questions.
    Answered {
        /// The answers.
        answers: Vec<QuestionAnswer>,
    },
    /// Nobody decided.
    Cancelled {
        /// Why, for the model.
        message: String,
    },
}

/// The answer to one question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuestionAnswer {
    /// Id of the question.
    pub id: String,
    /// Labels of the chosen options.
    pub selected: Vec<String>,
    /// The person's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub custom: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalPayload {
    approved: bool,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct QuestionsPayload<'a> {
    #[serde(borrow)]
    answers: Vec<&'a RawValue>,
}

impl PersonOutcome {
    pub(crate) fn cancelled(message: impl Into<String>) -> Self {
        Self::Cancelled {
            message: message.into(),
        }
    }
}

impl Ask {
    /// Reads an answer.
    ///
    /// # Errors
    /// What does not fit, in words for the client; they hold nothing of what was asked or answered.
    pub(crate) fn answered_by(
        &self,
        status: ResumeStatus,
        payload: Option<Json<'_>>,
    ) -> Result<PersonOutcome, String> {
        if status == ResumeStatus::Cancelled {
            return Ok(PersonOutcome::cancelled("the user withdrew the request"));
        }
        let payload = payload.unwrap_or(Json::NULL);
        match &self.kind {
            AskKind::Approval => {
                let ApprovalPayload { approved } = payload
                    .to_members()
                    .map_err(|_| "an approval is answered with {approved: boolean}")?;
                Ok(if approved {
                    PersonOutcome::Allowed
                } else {
                    PersonOutcome::Rejected
                })
            }
            AskKind::Questions(questions) => {
                let answers = read_answers(payload).map_err(|_| {
                    "questions are answered with {answers: [{id, selected: [labels], custom?: text}]}"
                })?;
                Ok(PersonOutcome::Answered {
                    answers: in_order(questions, answers)?,
                })
            }
        }
    }
}

fn read_answers(payload: Json<'_>) -> serde_json::Result<Vec<QuestionAnswer>> {
    let QuestionsPayload { answers } = payload.to_members()?;
    let read = |answer: &RawValue| Json::from(answer).to_members();
    answers.into_iter().map(read).collect()
}

/// The answers in the order of the questions, each held against its own.
fn in_order(
    questions: &[Question],
    mut answers: Vec<QuestionAnswer>,
) -> Result<Vec<QuestionAnswer>, String> {
    let mut ordered = Vec::with_capacity(questions.len());
    for (number, question) in (1..).zip(questions) {
        let Some(at) = answers.iter().position(|answer| answer.id == question.id) else {
            return Err(format!("question {number} is not answered"));
        };
        let answer = answers.swap_remove(at);
        if let Err(problem) = question.check(&answer) {
            return Err(format!("the answer to question {number} {problem}"));
        }
        ordered.push(answer);
    }
    if answers.is_empty() {
        Ok(ordered)
    } else {
        Err("a question is answered twice, or was never asked".into())
    }
}

impl Question {
    fn check(&self, answer: &QuestionAnswer) -> Result<(), &'static str> {
        let selected = &answer.selected;
        if !selected.iter().all(|label| self.labels.contains(label)) {
            return Err("selects what was not offered");
        }
        let repeated = |at: usize| selected[..at].contains(&selected[at]);
        if (0..selected.len()).any(repeated) {
            return Err("selects an option twice");
        }
        let custom = answer.custom.as_deref();
        if custom.is_some_and(|text| text.trim().is_empty()) {
            return Err("has a blank text");
        }
        if selected.is_empty() && custom.is_none() {
            return Err("holds neither an option nor a text");
        }
        let choices = selected.len() + usize::from(custom.is_some());
        if self.choice == Choice::One && choices > 1 {
            return Err("must be one option or a text");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{Value, json};

    use super::*;

    fn approval() -> Ask {
        Ask::read(r#"{"kind":"approval","toolName":"bash"}"#).unwrap()
    }

    fn questions() -> Ask {
        let questions = json!([
            {"id": "one", "question": "?", "options": [{"label": "a"}, {"label": "b"}]},
            {"id": "many", "question": "?", "options": [{"label": "a"}, {"label": "b"}], "multiSelect": true},
            {"id": "free", "question": "?"},
        ]);
        Ask::read(&json!({"kind": "questions", "questions": questions}).to_string()).unwrap()
    }

    fn resolve(ask: &Ask, payload: &Value) -> Result<PersonOutcome, String> {
        let text = payload.to_string();
        ask.answered_by(ResumeStatus::Resolved, Some(Json::encoded(&text)))
    }

    #[test]
    fn an_approval_takes_a_boolean_and_nothing_else() {
        let ask = approval();
        assert_eq!(
            resolve(&ask, &json!({"approved": true})),
            Ok(PersonOutcome::Allowed)
        );
        assert_eq!(
            resolve(&ask, &json!({"approved": false})),
            Ok(PersonOutcome::Rejected)
        );
        for bad in [
            json!(null),
            json!(true),
            json!({}),
            json!({"approved": "true"}),
            json!({"approved": 1}),
            json!({"approved": true, "always": true}),
            json!([true]),
        ] {
            assert!(resolve(&ask, &bad).is_err(), "{bad}");
        }
        assert!(ask.answered_by(ResumeStatus::Resolved, None).is_err());
    }

    #[test]
    fn a_cancellation_needs_no_payload_and_ignores_one() {
        for payload in [None, Some(Json::encoded("{\"approved\":true}"))] {
            let outcome = approval().answered_by(ResumeStatus::Cancelled, payload);
            assert!(matches!(outcome, Ok(PersonOutcome::Cancelled { .. })));
        }
    }

    #[test]
    fn answers_come_in_the_order_of_the_questions() {
        let payload = json!({"answers": [
            {"id": "free", "selected": [], "custom": " words "},
            {"id": "many", "selected": ["b", "a"], "custom": "c"},
            {"id": "one", "selected": ["b"]},
        ]});
        let outcome = serde_json::to_value(resolve(&questions(), &payload).unwrap()).unwrap();
        assert_eq!(
            outcome,
            json!({"status": "answered", "answers": [
                {"id": "one", "selected": ["b"]},
                {"id": "many", "selected": ["b", "a"], "custom": "c"},
                {"id": "free", "selected": [], "custom": " words "},
            ]})
        );
    }

    #[test]
    fn every_question_is_answered_exactly_once_and_as_it_was_asked() {
        let one = json!({"id": "one", "selected": [], "custom": "mine"});
        let many = json!({"id": "many", "selected": [], "custom": "mine"});
        let free = json!({"id": "free", "selected": [], "custom": "x"});
        assert!(resolve(&questions(), &json!({"answers": [one, many, free]})).is_ok());
        assert!(resolve(&questions(), &json!([[one, many, free]])).is_err());
        let bad = [
            json!([one, many]),
            json!([one, many, free, free]),
            json!([one, many, free, {"id": "other", "selected": [], "custom": "x"}]),
            json!([{"id": "one", "selected": ["a", "b"]}, many, free]),
            json!([{"id": "one", "selected": ["a"], "custom": "x"}, many, free]),
            json!([{"id": "one", "selected": ["c"]}, many, free]),
            json!([{"id": "one", "selected": []}, many, free]),
            json!([{"id": "one", "selected": [], "custom": " \n"}, many, free]),
            json!([{"id": "one", "custom": "x"}, many, free]),
            json!([["one", ["a"]], many, free]),
            json!([{"id": "one", "selected": "a"}, many, free]),
            json!([{"id": "one", "selected": ["a"], "extra": 1}, many, free]),
            json!([one, {"id": "many", "selected": ["a", "a"]}, free]),
            json!([one, {"id": "many", "selected": []}, free]),
            json!([one, many, {"id": "free", "selected": ["a"], "custom": "x"}]),
            json!([one, many, {"id": "free", "selected": []}]),
        ];
        for answers in bad {
            let payload = json!({"answers": answers});
            assert!(resolve(&questions(), &payload).is_err(), "{payload}");
        }
        for payload in [
            json!(null),
            json!({}),
            json!([one]),
            json!({"answers": {}, "x": 1}),
        ] {
            assert!(resolve(&questions(), &payload).is_err(), "{payload}");
        }
    }
}
