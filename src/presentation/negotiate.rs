//! Negotiation: binds each requirement to the one participant that supports it (spec: presentation, Connection binding;
//! P1, P9). Nothing is ever chosen by order: two candidates are an ambiguity, not a first and a second.

use super::error::{Code, Error};
use super::json::{Json, member, write_string};
use super::protocol::{API_VERSION, Kind, Operation};
use super::validate::record::{Path, array, record, text};
use super::validate::spec::{self, Requirement, Support};

/// One requirement in the scope of a negotiation.
#[derive(Clone, Debug)]
pub struct RequirementRow<'v> {
    /// Who requires it.
    pub participant: &'v str,
    /// Whether the participant can do without.
    pub need: Necessity,
    /// What it requires.
    pub requirement: Requirement,
}

/// Whether a consumer can do without a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Necessity {
    /// It cannot.
    Required,
    /// It can.
    Optional,
}

/// One support in the scope of a negotiation.
#[derive(Clone, Debug)]
pub struct SupportRow<'v> {
    /// Who supports it.
    pub participant: &'v str,
    /// What it supports.
    pub support: Support,
}

/// A requirement bound to a support, by their positions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding {
    /// Position of the requirement.
    pub requirement: usize,
    /// Position of the support.
    pub support: usize,
}

/// What a negotiation found wanting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Which of the published issue codes.
    pub code: IssueCode,
    /// The participant whose requirement it is.
    pub participant: Box<str>,
    /// One sentence.
    pub message: String,
}

/// The published issue codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueCode {
    /// Nobody supports a required kind.
    RequiredSupportMissing,
    /// Nobody supports an optional kind.
    OptionalSupportMissing,
    /// More than one participant supports it.
    SupportAmbiguous,
    /// The provider lacks an optional operation.
    OptionalOperationMissing,
}

impl IssueCode {
    /// The published text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            IssueCode::RequiredSupportMissing => "required-support-missing",
            IssueCode::OptionalSupportMissing => "optional-support-missing",
            IssueCode::SupportAmbiguous => "support-ambiguous",
            IssueCode::OptionalOperationMissing => "optional-operation-missing",
        }
    }

    /// `error` or `warning`.
    #[must_use]
    pub const fn severity(self) -> &'static str {
        match self {
            IssueCode::RequiredSupportMissing | IssueCode::SupportAmbiguous => "error",
            IssueCode::OptionalSupportMissing | IssueCode::OptionalOperationMissing => "warning",
        }
    }
}

/// The outcome of a negotiation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Negotiation {
    /// Bindings, in the order of the requirements.
    pub bindings: Vec<Binding>,
    /// Issues, in the order of the requirements.
    pub issues: Vec<Issue>,
}

/// Binds `requirements` to `supports` of `kind`. `same_endpoint` tells whether two different participants live on one
/// endpoint; a participant never binds to itself nor to its own endpoint.
pub fn negotiate(
    kind: Kind,
    requirements: &[RequirementRow<'_>],
    supports: &[SupportRow<'_>],
    same_endpoint: impl Fn(&str, &str) -> bool,
) -> Negotiation {
    let mut found = Negotiation::default();
    for (position, row) in requirements.iter().enumerate() {
        let mut candidates = supports.iter().enumerate().filter(|(_, candidate)| {
            candidate.participant != row.participant
                && !same_endpoint(row.participant, candidate.participant)
                && row
                    .requirement
                    .required
                    .difference(candidate.support.operations)
                    .is_empty()
        });
        let (first, second) = (candidates.next(), candidates.next());
        match (first, second) {
            (Some((support, provider)), None) => {
                found.bindings.push(Binding {
                    requirement: position,
                    support,
                });
                found
                    .issues
                    .extend(missing_operations(kind, row, provider.support));
            }
            (Some(_), Some(_)) => found.issues.push(ambiguous(kind, row.participant)),
            (None, _) => found.issues.push(missing(kind, row.participant, row.need)),
        }
    }
    found
}

/// The issue that nobody supports `kind`.
#[must_use]
pub fn missing(kind: Kind, participant: &str, need: Necessity) -> Issue {
    Issue {
        code: match need {
            Necessity::Required => IssueCode::RequiredSupportMissing,
            Necessity::Optional => IssueCode::OptionalSupportMissing,
        },
        participant: participant.into(),
        message: format!(
            "no participant supports what is required of {API_VERSION} {}",
            kind.as_str()
        ),
    }
}

fn ambiguous(kind: Kind, participant: &str) -> Issue {
    Issue {
        code: IssueCode::SupportAmbiguous,
        participant: participant.into(),
        message: format!(
            "more than one participant supports {API_VERSION} {}, and no policy chooses",
            kind.as_str()
        ),
    }
}

/// The issues of optional operations that the bound provider lacks.
pub fn missing_operations<'v>(
    kind: Kind,
    row: &'v RequirementRow<'_>,
    support: Support,
) -> impl Iterator<Item = Issue> + 'v {
    row.requirement
        .optional
        .difference(support.operations)
        .iter()
        .map(move |operation: Operation| Issue {
            code: IssueCode::OptionalOperationMissing,
            participant: row.participant.into(),
            message: format!(
                "the {} provider lacks the optional operation \"{}\"",
                kind.as_str(),
                operation.as_str()
            ),
        })
}

/// Negotiates from JSON: `{requirements: [{participant, optional?, spec?}], supports: [{participant, spec?}], endpoints?: {participant: endpoint}}`.
/// The answer is `{"bindings":[[requirement,support]],"issues":[{code,severity,participant,message}]}`.
///
/// # Errors
/// `invalid-request` when a row or a spec is malformed.
pub fn negotiate_text(kind: Kind, input: &str) -> Result<String, Error> {
    let path = Path::Root("Protocol negotiation");
    let value = Json::parse(input, "Protocol negotiation")?;
    let members = record(&path, &value)?;
    let rows = |name: &'static str| match member(members, name) {
        Some(rows) => array(&path.field(name), rows, "must be an array"),
        None => Err(Error::at(
            Code::InvalidRequest,
            path.field(name),
            "is required",
        )),
    };
    let mut requirements = Vec::new();
    for (index, row) in rows("requirements")?.iter().enumerate() {
        let list = path.field("requirements");
        let row_path = list.index(index);
        let members = record(&row_path, row)?;
        requirements.push(RequirementRow {
            participant: text(&row_path, members, "participant")?,
            need: if super::validate::record::flag(&row_path, members, "optional")? {
                Necessity::Optional
            } else {
                Necessity::Required
            },
            requirement: spec::requirement(kind, member(members, "spec"))?,
        });
    }
    let mut supports = Vec::new();
    for (index, row) in rows("supports")?.iter().enumerate() {
        let list = path.field("supports");
        let row_path = list.index(index);
        let members = record(&row_path, row)?;
        supports.push(SupportRow {
            participant: text(&row_path, members, "participant")?,
            support: spec::support(kind, member(members, "spec"))?,
        });
    }
    let endpoints = member(members, "endpoints");
    let endpoint = |participant: &str| {
        endpoints
            .and_then(|map| map.get(participant))
            .and_then(Json::as_str)
    };
    let found = negotiate(kind, &requirements, &supports, |left, right| {
        match (endpoint(left), endpoint(right)) {
            (Some(left), Some(right)) => left == right,
            _ => false,
        }
    });
    Ok(found.to_json())
}

impl Negotiation {
    /// The JSON form that crosses to JavaScript.
    #[must_use]
    pub fn to_json(&self) -> String {
        let bindings: Vec<_> = self
            .bindings
            .iter()
            .map(|binding| format!("[{},{}]", binding.requirement, binding.support))
            .collect();
        format!(
            "{{\"bindings\":[{}],\"issues\":{}}}",
            bindings.join(","),
            issues_json(&self.issues)
        )
    }
}

/// Issues as a JSON array.
#[must_use]
pub fn issues_json(issues: &[Issue]) -> String {
    let mut out = String::from("[");
    for (index, issue) in issues.iter().enumerate() {
        if index > 0 {
            out.push(',');
        }
        out.push_str("{\"code\":");
        write_string(issue.code.as_str(), &mut out);
        out.push_str(",\"severity\":");
        write_string(issue.code.severity(), &mut out);
        out.push_str(",\"participant\":");
        write_string(&issue.participant, &mut out);
        out.push_str(",\"message\":");
        write_string(&issue.message, &mut out);
        out.push('}');
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn run(input: &str) -> serde_json::Value {
        serde_json::from_str(&negotiate_text(Kind::UserInteraction, input).unwrap()).unwrap()
    }

    #[test]
    fn the_one_provider_with_all_required_operations_is_bound() {
        let found = run(
            r#"{"requirements":[{"participant":"plugin","spec":{"operations":["question"],"optionalOperations":["approval"]}}],
                "supports":[{"participant":"bot","spec":{"operations":["approval"]}},{"participant":"tui","spec":{"operations":["question"]}}]}"#,
        );
        assert_eq!(found["bindings"], serde_json::json!([[0, 1]]));
        assert_eq!(found["issues"][0]["code"], "optional-operation-missing");
        assert_eq!(found["issues"][0]["severity"], "warning");
    }

    #[test]
    fn two_providers_are_ambiguous_in_either_order() {
        for supports in [["tui", "web"], ["web", "tui"]] {
            let found = run(&format!(
                r#"{{"requirements":[{{"participant":"plugin","optional":true,"spec":{{"operations":["question"]}}}}],
                    "supports":[{{"participant":"{}","spec":{{"operations":["question"]}}}},{{"participant":"{}","spec":{{"operations":["question"]}}}}]}}"#,
                supports[0], supports[1]
            ));
            assert_eq!(found["bindings"], serde_json::json!([]));
            assert_eq!(found["issues"][0]["code"], "support-ambiguous");
            assert_eq!(found["issues"][0]["severity"], "error");
        }
    }

    #[test]
    fn nobody_binds_to_itself_or_to_its_own_endpoint() {
        let own = r#"{"requirements":[{"participant":"a","spec":{"operations":["question"]}}],
            "supports":[{"participant":"a","spec":{"operations":["question"]}}]}"#;
        assert_eq!(run(own)["issues"][0]["code"], "required-support-missing");
        let neighbour = r#"{"requirements":[{"participant":"a","optional":true,"spec":{"operations":["question"]}}],
            "supports":[{"participant":"b","spec":{"operations":["question"]}}],"endpoints":{"a":"E","b":"E"}}"#;
        assert_eq!(
            run(neighbour)["issues"][0]["code"],
            "optional-support-missing"
        );
        let partly_mapped = neighbour.replace(r#","b":"E""#, "");
        assert_eq!(run(&partly_mapped)["bindings"], serde_json::json!([[0, 0]]));
    }

    #[test]
    fn other_kinds_refuse_a_spec() {
        let input = r#"{"requirements":[{"participant":"a","spec":{}}],"supports":[]}"#;
        assert_eq!(
            negotiate_text(Kind::CopyText, input).unwrap_err().message,
            "CopyText does not accept a spec in v1alpha1"
        );
    }
}
