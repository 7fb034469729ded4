//! Results of providers, judged against the request that they answer (spec: presentation, Result; P3, P9).

use super::record::{self, Members, Path, array, optional_text, record};
use super::schema::{AnswerSchema, Field, FieldAnswer, Lengths, Need};
use super::{callback, invalid};
use crate::presentation::error::{Code, Error};
use crate::presentation::json::{Json, member};
use crate::presentation::protocol::Operation;
use crate::presentation::secret::Secret;
use crate::presentation::text_policy::utf16_len;

/// What a provider's result says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// A value that matches the request.
    Submitted,
    /// Cancelled by the user or the provider.
    Cancelled,
    /// Expired at the provider.
    Expired,
    /// The provider cannot do it.
    Unavailable(Option<Box<str>>),
}

/// A result on its way in: its JSON, and the secret, which travels outside of the JSON.
#[derive(Clone, Copy)]
pub struct Answer<'v, 'a> {
    /// The result without `value.secret`.
    pub json: &'v Json<'a>,
    /// `value.secret`.
    pub secret: Option<&'v Secret>,
}

/// How messages name a result of `operation`.
#[must_use]
pub const fn label(operation: Operation) -> &'static str {
    match operation {
        Operation::OpenExternal => "OpenExternal result",
        Operation::CopyText => "CopyText result",
        Operation::Notification => "Notification result",
        Operation::Question => "Question result",
        Operation::Approval => "Approval result",
        Operation::SecretInput => "SecretInput result",
        Operation::ExternalRedirect => "ExternalRedirect result",
    }
}

/// Validates `answer` against `schema`; `max_text` bounds each text answer and the secret.
///
/// # Errors
/// `invalid-answer` with the path. Messages name field ids, which are the consumer's own, and never an answer.
pub fn validate(
    operation: Operation,
    schema: &AnswerSchema,
    answer: Answer<'_, '_>,
    max_text: Option<u64>,
) -> Result<Outcome, Error> {
    outcome(operation, schema, answer, max_text)
        .map_err(|error| error.with_code(Code::InvalidAnswer))
}

/// As [`record::exact`], but silent about the names that it finds: they are the provider's, and may be an answer.
fn exact<'v, 'a>(
    path: &Path<'_>,
    value: &'v Json<'a>,
    allowed: &[&str],
    required: &[&str],
) -> Result<&'v Members<'a>, Error> {
    let members = record(path, value)?;
    if members
        .iter()
        .any(|(name, _)| !allowed.contains(&name.as_ref()))
    {
        return Err(invalid(path, "contains an unknown field"));
    }
    record::exact(path, value, allowed, required)
}

/// Parses the JSON of a result. The path within the result of a secret input is not told.
///
/// # Errors
/// `invalid-answer`.
pub fn parse(operation: Operation, text: &str) -> Result<Json<'_>, Error> {
    let name = label(operation);
    Json::parse(text, name).map_err(|error| match operation {
        Operation::SecretInput => Error::at(Code::InvalidAnswer, name, "must be plain data"),
        _ => error.with_code(Code::InvalidAnswer),
    })
}

fn outcome(
    operation: Operation,
    schema: &AnswerSchema,
    answer: Answer<'_, '_>,
    max_text: Option<u64>,
) -> Result<Outcome, Error> {
    let path = Path::Root(label(operation));
    let members = record(&path, answer.json)?;
    match member(members, "status").and_then(Json::as_str) {
        Some("submitted") => {
            exact(&path, answer.json, &["status", "value"], &["value"])?;
            if let Some(value) = member(members, "value") {
                submitted(schema, value, answer.secret, max_text)?;
            }
            Ok(Outcome::Submitted)
        }
        Some("cancelled") => {
            exact(&path, answer.json, &["status"], &[]).map(|_| Outcome::Cancelled)
        }
        Some("expired") => exact(&path, answer.json, &["status"], &[]).map(|_| Outcome::Expired),
        Some("unavailable") => {
            exact(&path, answer.json, &["status", "reason"], &[])?;
            Ok(Outcome::Unavailable(
                optional_text(&path, members, "reason")?.map(Into::into),
            ))
        }
        _ => Err(invalid(
            &path.field("status"),
            "must be one of \"submitted\", \"cancelled\", \"expired\", \"unavailable\"",
        )),
    }
}

fn submitted(
    schema: &AnswerSchema,
    value: &Json<'_>,
    secret: Option<&Secret>,
    max_text: Option<u64>,
) -> Result<(), Error> {
    match schema {
        AnswerSchema::Receipt => {
            let path = Path::Root("Presentation receipt");
            let members = exact(&path, value, &["accepted"], &["accepted"])?;
            match member(members, "accepted") {
                Some(Json::Bool(true)) => Ok(()),
                _ => Err(invalid(&path.field("accepted"), "must be true")),
            }
        }
        AnswerSchema::Question(fields) => answers(fields, value, max_text),
        AnswerSchema::Approval => {
            let path = Path::Root("Approval value");
            let members = exact(&path, value, &["decision"], &["decision"])?;
            match member(members, "decision").and_then(Json::as_str) {
                Some("approved" | "denied") => Ok(()),
                _ => Err(invalid(
                    &path.field("decision"),
                    "must be \"approved\" or \"denied\"",
                )),
            }
        }
        AnswerSchema::Secret(lengths) => {
            let path = Path::Root("SecretInput value");
            exact(&path, value, &["secret"], &[])?;
            let secret_path = path.field("secret");
            if member(record(&path, value)?, "secret").is_some() {
                return Err(invalid(&secret_path, "must be a string"));
            }
            let secret = secret.ok_or_else(|| invalid(&secret_path, "is required"))?;
            length(&secret_path, secret.utf16_len(), *lengths, max_text)
        }
        AnswerSchema::Redirect { .. } => {
            callback::value(&Path::Root("ExternalRedirect value"), value)
        }
    }
}

fn answers(fields: &[Field], value: &Json<'_>, max_text: Option<u64>) -> Result<(), Error> {
    let path = Path::Root("Question answers");
    let members = exact(&path, value, &["answers"], &["answers"])?;
    let answers_path = path.field("answers");
    let Some(given) = member(members, "answers") else {
        return Ok(());
    };
    let given = record(&answers_path, given)?;
    let mut known = 0;
    for (index, field) in fields.iter().enumerate() {
        let field_path = answers_path.field(&field.id);
        // Providers answer in the order of the fields, mostly.
        let answer = match given.get(index) {
            Some((id, answer)) if **id == *field.id => Some(answer),
            _ => member(given, &field.id),
        };
        match answer {
            Some(answer) => {
                known += 1;
                field_answer(&field_path, field, answer, max_text)?;
            }
            None if field.need == Need::Required => {
                return Err(invalid(&field_path, "is required"));
            }
            None => {}
        }
    }
    if known == given.len() {
        return Ok(());
    }
    let unknown = given
        .iter()
        .any(|(id, _)| !fields.iter().any(|field| *field.id == **id));
    debug_assert!(
        unknown,
        "names are distinct, so that a surplus is an unknown name"
    );
    Err(invalid(
        &answers_path,
        "contains an answer to an unknown field",
    ))
}

fn field_answer(
    path: &Path<'_>,
    field: &Field,
    answer: &Json<'_>,
    max_text: Option<u64>,
) -> Result<(), Error> {
    const OPTION: &str = "contains an invalid option";
    match (&field.answer, answer) {
        (FieldAnswer::Text(lengths), Json::String(text)) => {
            length(path, utf16_len(text), *lengths, max_text)
        }
        (FieldAnswer::Text(_), _) => Err(invalid(path, "must be a string")),
        (FieldAnswer::Confirm, Json::Bool(_)) => Ok(()),
        (FieldAnswer::Confirm, _) => Err(invalid(path, "must be a boolean")),
        (FieldAnswer::One(options), Json::String(id))
            if options.iter().any(|option| **option == **id) =>
        {
            Ok(())
        }
        (FieldAnswer::One(_), _) => Err(invalid(path, OPTION)),
        (FieldAnswer::Many(options), selected) => {
            let selected = array(
                path,
                selected,
                "must be an array that contains no invalid option",
            )?;
            if selected.is_empty() && field.need == Need::Required {
                return Err(invalid(path, "must select at least one option"));
            }
            let mut seen: Vec<&str> = Vec::with_capacity(selected.len().min(options.len()));
            for item in selected {
                let id = item
                    .as_str()
                    .filter(|id| options.iter().any(|option| **option == **id));
                let id = id.ok_or_else(|| invalid(path, OPTION))?;
                if seen.contains(&id) {
                    return Err(invalid(path, "contains an option twice"));
                }
                seen.push(id);
            }
            Ok(())
        }
    }
}

fn length(
    path: &Path<'_>,
    found: u64,
    lengths: Lengths,
    max_text: Option<u64>,
) -> Result<(), Error> {
    if lengths.least.is_some_and(|least| found < least) {
        return Err(invalid(path, "is too short"));
    }
    if lengths.most.is_some_and(|most| found > most) {
        return Err(invalid(path, "is too long"));
    }
    match max_text {
        Some(limit) if found > limit => Err(invalid(path, "is longer than the agreement allows")),
        _ => Ok(()),
    }
}
