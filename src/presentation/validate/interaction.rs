//! Requests of `UserInteraction`: question, approval, secret input (spec: presentation, UserInteraction; P9).

use super::record::{
    Members, Path, array, choice, exact, flag, length_bounds, local_id, optional_text, record, text,
};
use super::schema::{AnswerSchema, Field, FieldAnswer, Lengths, Need, Request};
use super::{context, interaction_label, invalid, request_label};
use crate::presentation::error::Error;
use crate::presentation::json::{Json, member};
use crate::presentation::limits::Measure;
use crate::presentation::protocol::{Kind, Operation};
use crate::presentation::text_policy::utf16_len;

/// Validates a request of any of the three kinds.
///
/// # Errors
/// Names what is wrong.
pub fn request(value: &Json<'_>) -> Result<Request, Error> {
    let path = Path::Root(request_label(Kind::UserInteraction, None));
    let members = record(&path, value)?;
    let kind = member(members, "kind").and_then(Json::as_str);
    match kind.and_then(Operation::parse_interaction) {
        Some(Operation::Question) => question(value),
        Some(Operation::Approval) => approval(value),
        Some(Operation::SecretInput) => secret_input(value),
        _ => {
            let names: Vec<_> = Operation::INTERACTIONS
                .iter()
                .map(|operation| operation.as_str())
                .collect();
            Err(invalid(
                &path.field("kind"),
                &format!("must be one of {}", super::record::quoted(&names)),
            ))
        }
    }
}

/// The longest text seen so far.
struct Longest(u64);

impl Longest {
    fn see(&mut self, text: Option<&str>) {
        if let Some(text) = text {
            self.0 = self.0.max(utf16_len(text));
        }
    }
}

fn question(value: &Json<'_>) -> Result<Request, Error> {
    let path = Path::Root(interaction_label(Operation::Question));
    let members = exact(
        &path,
        value,
        &[
            "requestId",
            "invocationId",
            "origin",
            "deadline",
            "kind",
            "title",
            "description",
            "fields",
        ],
        &["requestId", "invocationId", "origin", "kind", "fields"],
    )?;
    context::members(&path, members)?;
    let mut longest = Longest(0);
    longest.see(optional_text(&path, members, "title")?);
    longest.see(optional_text(&path, members, "description")?);
    let fields_path = path.field("fields");
    let items = non_empty_array(&fields_path, members, "fields")?;
    let mut fields: Vec<Field> = Vec::with_capacity(items.len());
    let mut options = 0;
    for (index, item) in items.iter().enumerate() {
        let field_path = fields_path.index(index);
        let field = field(&field_path, item, &mut longest)?;
        if let FieldAnswer::One(ids) | FieldAnswer::Many(ids) = &field.answer {
            options = options.max(ids.len() as u64);
        }
        fields.push(field);
    }
    if let Some(index) = repeated(fields.iter().map(|field| field.id.as_ref())) {
        return Err(invalid(
            &fields_path.index(index).field("id"),
            "must not be a duplicate field id",
        ));
    }
    Ok(Request {
        operation: Operation::Question,
        measure: Measure {
            fields: fields.len() as u64,
            options,
            text: longest.0,
        },
        answer: AnswerSchema::Question(fields.into()),
        deduplication_key: None,
    })
}

fn non_empty_array<'v, 'a>(
    path: &Path<'_>,
    members: &'v Members<'a>,
    name: &str,
) -> Result<&'v [Json<'a>], Error> {
    const RULE: &str = "must be a non-empty array";
    let value = member(members, name).ok_or_else(|| invalid(path, "is required"))?;
    match array(path, value, RULE)? {
        [] => Err(invalid(path, RULE)),
        items => Ok(items),
    }
}

fn field(path: &Path<'_>, value: &Json<'_>, longest: &mut Longest) -> Result<Field, Error> {
    let kind = member(record(path, value)?, "kind").and_then(Json::as_str);
    let allowed: &[&str] = match kind {
        Some("text") => &[
            "id",
            "kind",
            "label",
            "description",
            "required",
            "multiline",
            "minLength",
            "maxLength",
        ],
        Some("select") => &[
            "id",
            "kind",
            "label",
            "description",
            "required",
            "multiple",
            "options",
        ],
        Some("confirm") => &["id", "kind", "label", "description", "required"],
        _ => {
            return Err(invalid(
                &path.field("kind"),
                "must be one of \"text\", \"select\", \"confirm\"",
            ));
        }
    };
    let members = exact(path, value, allowed, &["id", "kind", "label"])?;
    let id = local_id(path, members)?;
    longest.see(Some(text(path, members, "label")?));
    longest.see(optional_text(path, members, "description")?);
    let need = if flag(path, members, "required")? {
        Need::Required
    } else {
        Need::Optional
    };
    let answer = match kind {
        Some("text") => {
            flag(path, members, "multiline")?;
            let (least, most) = length_bounds(path, members)?;
            FieldAnswer::Text(Lengths { least, most })
        }
        Some("select") => {
            let ids = options(path, members, longest)?;
            if flag(path, members, "multiple")? {
                FieldAnswer::Many(ids)
            } else {
                FieldAnswer::One(ids)
            }
        }
        _ => FieldAnswer::Confirm,
    };
    Ok(Field {
        id: id.into(),
        need,
        answer,
    })
}

fn options(
    path: &Path<'_>,
    members: &Members<'_>,
    longest: &mut Longest,
) -> Result<Box<[Box<str>]>, Error> {
    let options_path = path.field("options");
    let items = non_empty_array(&options_path, members, "options")?;
    let mut ids: Vec<&str> = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let option_path = options_path.index(index);
        let option = exact(
            &option_path,
            item,
            &["id", "label", "description"],
            &["id", "label"],
        )?;
        let id = local_id(&option_path, option)?;
        longest.see(Some(text(&option_path, option, "label")?));
        longest.see(optional_text(&option_path, option, "description")?);
        ids.push(id);
    }
    if let Some(index) = repeated(ids.iter().copied()) {
        return Err(invalid(
            &options_path.index(index).field("id"),
            "must not be a duplicate option id",
        ));
    }
    Ok(ids.into_iter().map(Into::into).collect())
}

/// The index of an id that stands earlier, too.
fn repeated<'i>(ids: impl Iterator<Item = &'i str>) -> Option<usize> {
    let mut sorted: Vec<(&str, usize)> = ids.enumerate().map(|(index, id)| (id, index)).collect();
    sorted.sort_unstable();
    sorted
        .windows(2)
        .find(|pair| pair[0].0 == pair[1].0)
        .map(|pair| pair[1].1)
}

fn approval(value: &Json<'_>) -> Result<Request, Error> {
    let path = Path::Root(interaction_label(Operation::Approval));
    let members = exact(
        &path,
        value,
        &[
            "requestId",
            "invocationId",
            "origin",
            "deadline",
            "kind",
            "action",
            "summary",
            "details",
            "risk",
        ],
        &[
            "requestId",
            "invocationId",
            "origin",
            "kind",
            "action",
            "summary",
        ],
    )?;
    context::members(&path, members)?;
    let mut longest = Longest(0);
    longest.see(Some(text(&path, members, "action")?));
    longest.see(Some(text(&path, members, "summary")?));
    choice(&path, members, "risk", &["low", "medium", "high"])?;
    let details_path = path.field("details");
    let mut count = 0;
    if let Some(details) = member(members, "details") {
        let items = array(&details_path, details, "must be an array")?;
        count = items.len() as u64;
        for (index, item) in items.iter().enumerate() {
            let detail_path = details_path.index(index);
            let detail = exact(
                &detail_path,
                item,
                &["label", "value", "sensitivity"],
                &["label", "value"],
            )?;
            longest.see(Some(text(&detail_path, detail, "label")?));
            longest.see(Some(text(&detail_path, detail, "value")?));
            choice(&detail_path, detail, "sensitivity", &["public", "private"])?;
        }
    }
    Ok(Request {
        operation: Operation::Approval,
        answer: AnswerSchema::Approval,
        // The details are the approval's fields: the same limit bounds them.
        measure: Measure {
            fields: count,
            options: 0,
            text: longest.0,
        },
        deduplication_key: None,
    })
}

fn secret_input(value: &Json<'_>) -> Result<Request, Error> {
    let path = Path::Root(interaction_label(Operation::SecretInput));
    let members = exact(
        &path,
        value,
        &[
            "requestId",
            "invocationId",
            "origin",
            "deadline",
            "kind",
            "label",
            "description",
            "minLength",
            "maxLength",
        ],
        &["requestId", "invocationId", "origin", "kind", "label"],
    )?;
    context::members(&path, members)?;
    let mut longest = Longest(0);
    longest.see(Some(text(&path, members, "label")?));
    longest.see(optional_text(&path, members, "description")?);
    let (least, most) = length_bounds(&path, members)?;
    Ok(Request {
        operation: Operation::SecretInput,
        answer: AnswerSchema::Secret(Lengths { least, most }),
        measure: Measure {
            fields: 0,
            options: 0,
            text: longest.0,
        },
        deduplication_key: None,
    })
}
