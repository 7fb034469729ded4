//! The descriptor of what an invocation may use (spec: presentation, Invocation availability; P5).

use super::record::{Path, array, exact, text};
use super::{invalid, spec};
use crate::presentation::error::Error;
use crate::presentation::json::{Json, member};
use crate::presentation::protocol::{API_VERSION, Kind};
use std::collections::BTreeSet;

/// Validates `{clientId, contracts: [{apiVersion, kind, spec?}]}`. Contracts of other versions are let through, since
/// they are simply not ours; the specs of ours are validated.
///
/// # Errors
/// Names what is wrong, a duplicate contract for example.
pub fn validate(value: &Json<'_>) -> Result<(), Error> {
    let path = Path::Root("Presentation descriptor");
    let members = exact(
        &path,
        value,
        &["clientId", "contracts"],
        &["clientId", "contracts"],
    )?;
    text(&path, members, "clientId")?;
    let contracts_path = path.field("contracts");
    let Some(contracts) = member(members, "contracts") else {
        return Ok(());
    };
    let mut seen = BTreeSet::new();
    for (index, item) in array(&contracts_path, contracts, "must be an array")?
        .iter()
        .enumerate()
    {
        let contract_path = contracts_path.index(index);
        let contract = exact(
            &contract_path,
            item,
            &["apiVersion", "kind", "spec"],
            &["apiVersion", "kind"],
        )?;
        let version = text(&contract_path, contract, "apiVersion")?;
        let name = text(&contract_path, contract, "kind")?;
        if !seen.insert((version, name)) {
            return Err(invalid(&contract_path, "is a duplicate contract"));
        }
        if let (true, Some(kind), spec @ Some(_)) = (
            version == API_VERSION,
            Kind::parse(name),
            member(contract, "spec"),
        ) {
            spec::support(kind, spec)?;
        }
    }
    Ok(())
}
