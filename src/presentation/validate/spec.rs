//! Requirement and support specs (spec: presentation, Declaration; P1, P9).

use super::invalid;
use super::record::{Members, Path, array, exact, quoted, safe_integer};
use crate::presentation::error::Error;
use crate::presentation::json::{Json, member};
use crate::presentation::limits::InteractionLimits;
use crate::presentation::protocol::{Kind, Operation, Operations};

/// What a consumer requires of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// Operations that the provider must have.
    pub required: Operations,
    /// Operations that the consumer can do without.
    pub optional: Operations,
}

/// What a provider supports of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Support {
    /// Operations that it carries.
    pub operations: Operations,
    /// Its limits.
    pub limits: InteractionLimits,
}

/// Reads a requirement's spec; `None` is an absent one.
///
/// # Errors
/// Names what is wrong. Kinds other than `UserInteraction` accept no spec in v1alpha1.
pub fn requirement(kind: Kind, spec: Option<&Json<'_>>) -> Result<Requirement, Error> {
    if kind != Kind::UserInteraction {
        refuse_spec(kind, spec)?;
        return Ok(Requirement {
            required: kind.operations(),
            optional: Operations::NONE,
        });
    }
    let path = Path::Root("UserInteraction requirement spec");
    let spec = spec.ok_or_else(|| invalid(&path, "must be an object"))?;
    let members = exact(
        &path,
        spec,
        &["operations", "optionalOperations"],
        &["operations"],
    )?;
    let required = operations(&path, members, "operations")?.unwrap_or_default();
    let optional = operations(&path, members, "optionalOperations")?.unwrap_or_default();
    if !required.intersection(optional).is_empty() {
        return Err(invalid(
            &path.field("optionalOperations"),
            "must not repeat a required operation",
        ));
    }
    Ok(Requirement { required, optional })
}

/// Reads a support's spec; `None` is an absent one.
///
/// # Errors
/// As [`requirement`]. Limits are positive safe integers.
pub fn support(kind: Kind, spec: Option<&Json<'_>>) -> Result<Support, Error> {
    if kind != Kind::UserInteraction {
        refuse_spec(kind, spec)?;
        return Ok(Support {
            operations: kind.operations(),
            limits: InteractionLimits::default(),
        });
    }
    let path = Path::Root("UserInteraction support spec");
    let spec = spec.ok_or_else(|| invalid(&path, "must be an object"))?;
    let members = exact(&path, spec, &["operations", "limits"], &["operations"])?;
    let operations = operations(&path, members, "operations")?.unwrap_or_default();
    let limits = match member(members, "limits") {
        Some(value) => limits(&path.field("limits"), value)?,
        None => InteractionLimits::default(),
    };
    Ok(Support { operations, limits })
}

/// Reads `UserInteractionLimits`.
///
/// # Errors
/// Names the limit that is no positive safe integer, or unknown.
pub fn limits(path: &Path<'_>, value: &Json<'_>) -> Result<InteractionLimits, Error> {
    const NAMES: [&str; 4] = [
        "maxConcurrentRequests",
        "maxFields",
        "maxOptionsPerField",
        "maxTextLength",
    ];
    let members = exact(path, value, &NAMES, &[])?;
    Ok(InteractionLimits {
        max_concurrent_requests: safe_integer(path, members, NAMES[0], 1)?,
        max_fields: safe_integer(path, members, NAMES[1], 1)?,
        max_options_per_field: safe_integer(path, members, NAMES[2], 1)?,
        max_text_length: safe_integer(path, members, NAMES[3], 1)?,
    })
}

fn refuse_spec(kind: Kind, spec: Option<&Json<'_>>) -> Result<(), Error> {
    match spec {
        None => Ok(()),
        Some(_) => Err(invalid(
            &Path::Root(kind.as_str()),
            "does not accept a spec in v1alpha1",
        )),
    }
}

fn operations(
    path: &Path<'_>,
    members: &Members<'_>,
    name: &str,
) -> Result<Option<Operations>, Error> {
    let Some(value) = member(members, name) else {
        return Ok(None);
    };
    let path = path.field(name);
    let items = array(&path, value, "must be a non-empty array")?;
    if items.is_empty() {
        return Err(invalid(&path, "must be a non-empty array"));
    }
    let mut found = Operations::NONE;
    for (index, item) in items.iter().enumerate() {
        let Some(operation) = item.as_str().and_then(Operation::parse_interaction) else {
            let names: Vec<_> = Operation::INTERACTIONS
                .iter()
                .map(|operation| operation.as_str())
                .collect();
            return Err(invalid(
                &path.index(index),
                &format!("must be one of {}", quoted(&names)),
            ));
        };
        if found.contains(operation) {
            return Err(invalid(
                &path.index(index),
                "must not be a duplicate operation",
            ));
        }
        found = found.with(operation);
    }
    Ok(Some(found))
}
