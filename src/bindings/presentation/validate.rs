//! Stateless judgements: requests, results, specs, descriptors, negotiation.

use napi_derive::napi;

use super::crossing::{Coded, SecretIn};
use crate::presentation::error::{Code, Error};
use crate::presentation::host::check_announcement;
use crate::presentation::json::Json;
use crate::presentation::negotiate::negotiate_text;
use crate::presentation::protocol::Kind;
use crate::presentation::text_policy::{TextClass, reveal};
use crate::presentation::validate::record::Path;
use crate::presentation::validate::result::{self, Answer};
use crate::presentation::validate::{callback, context, descriptor, request_text, spec};

/// Which side of an agreement a spec belongs to.
#[napi(string_enum = "lowercase")]
pub enum PresentationSpec {
    Requirement,
    Support,
}

/// How a text is shown: on one line, as a paragraph, or not at all but copied.
#[napi(string_enum = "lowercase")]
pub enum PresentationTextClass {
    Line,
    Block,
    Clipboard,
}

pub(super) fn parse_kind(name: &str) -> Result<Kind, Error> {
    Kind::parse(name)
        .ok_or_else(|| Error::new(Code::NotNegotiated, "the kind is not a presentation kind"))
}

/// Validates the JSON of a request of `kind`, its context included. Throws with `code` and `path`.
#[napi(catch_unwind, ts_return_type = "void")]
pub fn validate_presentation_request(kind: String, request: String) -> Coded<()> {
    Coded(
        parse_kind(&kind)
            .and_then(|kind| request_text(kind, &request))
            .map(|_| ()),
    )
}

/// Validates the JSON of a result against its request. A secret is given beside the JSON, never in it.
#[napi(catch_unwind, ts_return_type = "void")]
pub fn validate_presentation_result(
    kind: String,
    request: String,
    result: String,
    #[napi(ts_arg_type = "string | undefined | null")] secret: Option<SecretIn>,
) -> Coded<()> {
    Coded(judge(&kind, &request, &result, secret))
}

fn judge(kind: &str, request: &str, result: &str, secret: Option<SecretIn>) -> Result<(), Error> {
    let request = request_text(parse_kind(kind)?, request)?;
    let json = result::parse(request.operation, result)?;
    let secret = secret.map(|secret| secret.0);
    result::validate(
        request.operation,
        &request.answer,
        Answer {
            json: &json,
            secret: secret.as_ref(),
        },
        None,
    )
    .map(|_| ())
}

/// Validates the JSON of a redirect's `ready` event; with `exact`, its URI must be that string.
#[napi(catch_unwind, ts_return_type = "void")]
pub fn validate_presentation_ready(ready: String, exact: Option<String>) -> Coded<()> {
    let judged = Json::parse(&ready, "ExternalRedirect ready").and_then(|value| {
        callback::ready(&value)
            .and_then(|announced| check_announcement(exact.as_deref(), announced))
    });
    Coded(judged)
}

/// Validates the JSON of a requirement's or a support's spec; without a text the spec is absent.
#[napi(catch_unwind, ts_return_type = "void")]
pub fn validate_presentation_spec(
    side: PresentationSpec,
    kind: String,
    text: Option<String>,
) -> Coded<()> {
    Coded(judge_spec(side, &kind, text.as_deref()))
}

fn judge_spec(side: PresentationSpec, kind: &str, text: Option<&str>) -> Result<(), Error> {
    let kind = parse_kind(kind)?;
    let root = match (kind, &side) {
        (Kind::UserInteraction, PresentationSpec::Requirement) => {
            "UserInteraction requirement spec"
        }
        (Kind::UserInteraction, PresentationSpec::Support) => "UserInteraction support spec",
        _ => kind.as_str(),
    };
    let value = text.map(|text| Json::parse(text, root)).transpose()?;
    match side {
        PresentationSpec::Requirement => spec::requirement(kind, value.as_ref()).map(|_| ()),
        PresentationSpec::Support => spec::support(kind, value.as_ref()).map(|_| ()),
    }
}

/// Validates the JSON of a descriptor.
#[napi(catch_unwind, ts_return_type = "void")]
pub fn validate_presentation_descriptor(text: String) -> Coded<()> {
    Coded(
        Json::parse(&text, "Presentation descriptor")
            .and_then(|value| descriptor::validate(&value)),
    )
}

/// Validates the JSON of an invocation scope.
#[napi(catch_unwind, ts_return_type = "void")]
pub fn validate_presentation_scope(text: String) -> Coded<()> {
    Coded(
        Json::parse(&text, "Presentation invocation scope")
            .and_then(|value| context::scope(&value)),
    )
}

/// Negotiates one kind from JSON; see the Rust documentation of `negotiate_text` for the form.
#[napi(catch_unwind, ts_return_type = "string")]
pub fn negotiate_presentation(kind: String, input: String) -> Coded<String> {
    Coded(parse_kind(&kind).and_then(|kind| negotiate_text(kind, &input)))
}

/// `text` with every control and bidirectional override character as a visible escape.
#[napi(catch_unwind)]
pub fn reveal_presentation_text(text: String, shown_as: PresentationTextClass) -> String {
    let class = match shown_as {
        PresentationTextClass::Line => TextClass::Line,
        PresentationTextClass::Block => TextClass::Block,
        PresentationTextClass::Clipboard => TextClass::Clipboard,
    };
    reveal(&text, class).into_owned()
}

/// Validates the JSON of `UserInteractionLimits` at the place that `path` names.
pub(super) fn connection_limits(
    text: Option<&str>,
) -> Result<crate::presentation::limits::InteractionLimits, Error> {
    const ROOT: &str = "Presentation connection limits";
    match text {
        Some(text) => spec::limits(&Path::Root(ROOT), &Json::parse(text, ROOT)?),
        None => Ok(Default::default()),
    }
}
