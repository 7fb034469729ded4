//! Which provider an invocation is bound to (spec: presentation, Presentation provider, Presentation authority; P4).
//!
//! The choice is made once, when the invocation opens, by an explicit rule: the opener's own choice, else the first rule
//! that matches the consumer, else the only candidate there is. Nothing depends on the order in which providers came.

use super::negotiate::{Issue, IssueCode, Necessity, RequirementRow, missing, missing_operations};
use super::protocol::{API_VERSION, Kind, Operations};
use super::request::ProviderKey;
use super::validate::spec::{Requirement, Support};

/// A rule of the Host's policy: for these consumers, these providers, best first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The consumer that it is for; `None` is every consumer.
    pub consumer: Option<Box<str>>,
    /// Providers in order of preference.
    pub providers: Vec<Box<str>>,
}

/// What one consumer requires, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requirements([Option<(Necessity, Requirement)>; 5]);

impl Requirements {
    /// Adds the requirement of one kind; a kind is required once.
    pub fn set(&mut self, kind: Kind, need: Necessity, requirement: Requirement) {
        self.0[kind.index()] = Some((need, requirement));
    }

    /// What is required of `kind`.
    #[must_use]
    pub const fn get(&self, kind: Kind) -> Option<(Necessity, Requirement)> {
        self.0[kind.index()]
    }

    /// All requirements, in the order of kinds.
    pub fn iter(&self) -> impl Iterator<Item = (Kind, Necessity, Requirement)> + '_ {
        Kind::ALL.into_iter().filter_map(|kind| {
            self.get(kind)
                .map(|(need, requirement)| (kind, need, requirement))
        })
    }
}

/// What one provider supports, by kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supports([Option<Support>; 5]);

impl Supports {
    /// Adds the support of one kind; a kind is supported once.
    pub fn set(&mut self, kind: Kind, support: Support) {
        self.0[kind.index()] = Some(support);
    }

    /// What is supported of `kind`.
    #[must_use]
    pub const fn get(&self, kind: Kind) -> Option<Support> {
        self.0[kind.index()]
    }

    /// Whether `requirement` of `kind` is met.
    #[must_use]
    pub fn meets(&self, kind: Kind, requirement: Requirement) -> bool {
        self.get(kind).is_some_and(|support| {
            requirement
                .required
                .difference(support.operations)
                .is_empty()
        })
    }
}

/// A provider that may be chosen.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'h> {
    /// Its key.
    pub key: ProviderKey,
    /// Its participant identity.
    pub id: &'h str,
    /// What it supports.
    pub supports: &'h Supports,
}

/// What the policy came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// The one provider, and the operations agreed with it.
    pub chosen: Option<(ProviderKey, Operations)>,
    /// What was found wanting.
    pub issues: Vec<Issue>,
}

/// Picks the provider of `consumer`. `choice` is the opener's own.
#[must_use]
pub fn select(
    consumer: &str,
    requirements: &Requirements,
    providers: &[Candidate<'_>],
    rules: &[Rule],
    choice: Option<&str>,
) -> Selection {
    let able: Vec<Candidate<'_>> = providers
        .iter()
        .copied()
        .filter(|candidate| is_able(consumer, requirements, candidate))
        .collect();
    let by_id = |id: &str| able.iter().copied().find(|candidate| candidate.id == id);
    let rule = rules
        .iter()
        .find(|rule| rule.consumer.as_deref().is_none_or(|name| name == consumer));
    let chosen = match (choice, rule, able.as_slice()) {
        (Some(choice), _, _) => by_id(choice),
        (None, Some(rule), _) => rule.providers.iter().find_map(|id| by_id(id)),
        (None, None, [only]) => Some(*only),
        (None, None, []) => None,
        (None, None, _) => {
            let issues = requirements
                .iter()
                .map(|(kind, _, _)| ambiguous(kind, consumer))
                .collect();
            return Selection {
                chosen: None,
                issues,
            };
        }
    };
    match chosen {
        Some(provider) => agree(consumer, requirements, &provider),
        None => Selection {
            chosen: None,
            issues: requirements
                .iter()
                .map(|(kind, need, _)| missing(kind, consumer, need))
                .collect(),
        },
    }
}

/// A candidate meets every requirement that the consumer cannot do without, and at least one.
fn is_able(consumer: &str, requirements: &Requirements, candidate: &Candidate<'_>) -> bool {
    let met = |kind, requirement| candidate.supports.meets(kind, requirement);
    candidate.id != consumer
        && requirements
            .iter()
            .all(|(kind, need, requirement)| need == Necessity::Optional || met(kind, requirement))
        && requirements
            .iter()
            .any(|(kind, _, requirement)| met(kind, requirement))
}

fn agree(consumer: &str, requirements: &Requirements, provider: &Candidate<'_>) -> Selection {
    let mut agreed = Operations::NONE;
    let mut issues = Vec::new();
    for (kind, need, requirement) in requirements.iter() {
        match provider
            .supports
            .get(kind)
            .filter(|_| provider.supports.meets(kind, requirement))
        {
            Some(support) => {
                agreed = agreed.union(
                    requirement
                        .required
                        .union(requirement.optional)
                        .intersection(support.operations),
                );
                let row = RequirementRow {
                    participant: consumer,
                    need,
                    requirement,
                };
                issues.extend(missing_operations(kind, &row, support));
            }
            None => issues.push(missing(kind, consumer, need)),
        }
    }
    Selection {
        chosen: Some((provider.key, agreed)),
        issues,
    }
}

fn ambiguous(kind: Kind, consumer: &str) -> Issue {
    Issue {
        code: IssueCode::SupportAmbiguous,
        participant: consumer.into(),
        message: format!(
            "more than one provider could serve {API_VERSION} {}, and no policy chooses",
            kind.as_str()
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presentation::limits::InteractionLimits;
    use crate::presentation::protocol::Operation;

    fn supports(kinds: &[Kind]) -> Supports {
        let mut supports = Supports::default();
        for kind in kinds {
            supports.set(
                *kind,
                Support {
                    operations: kind.operations(),
                    limits: InteractionLimits::default(),
                },
            );
        }
        supports
    }

    fn requirements(kinds: &[(Kind, Necessity)]) -> Requirements {
        let mut requirements = Requirements::default();
        for (kind, need) in kinds {
            requirements.set(
                *kind,
                *need,
                Requirement {
                    required: kind.operations(),
                    optional: Operations::NONE,
                },
            );
        }
        requirements
    }

    #[test]
    fn no_order_of_arrival_decides() {
        let both = supports(&[Kind::OpenExternal]);
        let wanted = requirements(&[(Kind::OpenExternal, Necessity::Required)]);
        let (tui, web) = (
            Candidate {
                key: ProviderKey(1),
                id: "tui",
                supports: &both,
            },
            Candidate {
                key: ProviderKey(2),
                id: "web",
                supports: &both,
            },
        );
        for order in [[tui, web], [web, tui]] {
            let undecided = select("plugin", &wanted, &order, &[], None);
            assert_eq!(undecided.chosen, None);
            assert_eq!(undecided.issues[0].code, IssueCode::SupportAmbiguous);
            let rule = Rule {
                consumer: None,
                providers: vec!["gone".into(), "web".into(), "tui".into()],
            };
            let ruled = select("plugin", &wanted, &order, &[rule], None);
            assert_eq!(ruled.chosen.map(|(key, _)| key), Some(ProviderKey(2)));
            assert_eq!(
                select("plugin", &wanted, &order, &[], Some("tui"))
                    .chosen
                    .map(|(key, _)| key),
                Some(ProviderKey(1))
            );
            assert_eq!(
                select("plugin", &wanted, &order, &[], Some("nobody")).chosen,
                None
            );
        }
    }

    #[test]
    fn the_first_matching_rule_is_final() {
        let both = supports(&[Kind::CopyText]);
        let wanted = requirements(&[(Kind::CopyText, Necessity::Required)]);
        let tui = Candidate {
            key: ProviderKey(1),
            id: "tui",
            supports: &both,
        };
        let rules = [
            Rule {
                consumer: Some("plugin".into()),
                providers: vec!["web".into()],
            },
            Rule {
                consumer: None,
                providers: vec!["tui".into()],
            },
        ];
        assert_eq!(select("plugin", &wanted, &[tui], &rules, None).chosen, None);
        assert!(
            select("other", &wanted, &[tui], &rules, None)
                .chosen
                .is_some()
        );
    }

    #[test]
    fn nobody_serves_itself_and_optional_kinds_may_be_missing() {
        let some = supports(&[Kind::Notification]);
        let wanted = requirements(&[
            (Kind::Notification, Necessity::Required),
            (Kind::OpenExternal, Necessity::Optional),
        ]);
        let own = Candidate {
            key: ProviderKey(1),
            id: "plugin",
            supports: &some,
        };
        assert_eq!(select("plugin", &wanted, &[own], &[], None).chosen, None);
        let other = Candidate {
            key: ProviderKey(2),
            id: "tui",
            supports: &some,
        };
        let selection = select("plugin", &wanted, &[own, other], &[], None);
        assert_eq!(
            selection.chosen,
            Some((
                ProviderKey(2),
                Operations::NONE.with(Operation::Notification)
            ))
        );
        assert_eq!(selection.issues.len(), 1);
        assert_eq!(selection.issues[0].code, IssueCode::OptionalSupportMissing);
    }
}
