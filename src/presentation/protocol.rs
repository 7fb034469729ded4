//! The five protocol identities and the operations that they carry (spec: presentation, Summary; P1).

/// The version of every presentation protocol.
pub const API_VERSION: &str = "presentation.dsh/v1alpha1";

/// A protocol kind. Each is declared, implemented, negotiated and authorised alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kind {
    /// Opens an HTTP(S) URI in the user's environment.
    OpenExternal,
    /// Writes text to the user's clipboard.
    CopyText,
    /// Shows a transient message.
    Notification,
    /// Asks a question, an approval or a secret.
    UserInteraction,
    /// Receives one HTTP redirect at the user's end.
    ExternalRedirect,
}

impl Kind {
    /// The kinds in the order of the specification.
    pub const ALL: [Kind; 5] = [
        Kind::OpenExternal,
        Kind::CopyText,
        Kind::Notification,
        Kind::UserInteraction,
        Kind::ExternalRedirect,
    ];

    /// The published name.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Kind::OpenExternal => "OpenExternal",
            Kind::CopyText => "CopyText",
            Kind::Notification => "Notification",
            Kind::UserInteraction => "UserInteraction",
            Kind::ExternalRedirect => "ExternalRedirect",
        }
    }

    /// The kind with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The one operation name that the kind carries on the wire.
    #[must_use]
    pub const fn wire_operation(self) -> &'static str {
        match self {
            Kind::OpenExternal => "openExternal",
            Kind::CopyText => "copyText",
            Kind::Notification => "notify",
            Kind::UserInteraction => "interact",
            Kind::ExternalRedirect => "receive",
        }
    }

    /// Position in [`Kind::ALL`].
    #[must_use]
    pub const fn index(self) -> usize {
        self as usize
    }

    /// The operations that the kind can carry.
    #[must_use]
    pub fn operations(self) -> Operations {
        Operation::ALL
            .into_iter()
            .filter(|operation| operation.kind() == self)
            .collect()
    }
}

/// One thing a consumer can be permitted to ask for: a kind, and within `UserInteraction` its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operation {
    /// `OpenExternal`.
    OpenExternal,
    /// `CopyText`.
    CopyText,
    /// `Notification`.
    Notification,
    /// `UserInteraction`, a structured question.
    Question,
    /// `UserInteraction`, an approval.
    Approval,
    /// `UserInteraction`, a secret.
    SecretInput,
    /// `ExternalRedirect`.
    ExternalRedirect,
}

impl Operation {
    /// Every operation.
    pub const ALL: [Operation; 7] = [
        Operation::OpenExternal,
        Operation::CopyText,
        Operation::Notification,
        Operation::Question,
        Operation::Approval,
        Operation::SecretInput,
        Operation::ExternalRedirect,
    ];

    /// The operations of `UserInteraction`, in the order of the specification.
    pub const INTERACTIONS: [Operation; 3] = [
        Operation::Question,
        Operation::Approval,
        Operation::SecretInput,
    ];

    /// The protocol kind that carries it.
    #[must_use]
    pub const fn kind(self) -> Kind {
        match self {
            Operation::OpenExternal => Kind::OpenExternal,
            Operation::CopyText => Kind::CopyText,
            Operation::Notification => Kind::Notification,
            Operation::Question | Operation::Approval | Operation::SecretInput => {
                Kind::UserInteraction
            }
            Operation::ExternalRedirect => Kind::ExternalRedirect,
        }
    }

    /// The name used in declarations and permissions: the interaction's own, otherwise the kind's.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Operation::Question => "question",
            Operation::Approval => "approval",
            Operation::SecretInput => "secret-input",
            other => other.kind().as_str(),
        }
    }

    /// The operation with this name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Operation> {
        Operation::ALL
            .into_iter()
            .find(|operation| operation.as_str() == name)
    }

    /// The `UserInteraction` operation with this name.
    #[must_use]
    pub fn parse_interaction(name: &str) -> Option<Operation> {
        Operation::INTERACTIONS
            .into_iter()
            .find(|operation| operation.as_str() == name)
    }

    /// Once shown, its provider's loss ends the request; it never moves by itself (P4).
    #[must_use]
    pub const fn is_sealed_when_presented(self) -> bool {
        matches!(self, Operation::Approval | Operation::SecretInput)
    }
}

/// A set of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations(u8);

impl Operations {
    /// No operation.
    pub const NONE: Operations = Operations(0);

    /// Every operation.
    #[must_use]
    pub fn all() -> Operations {
        Operation::ALL.into_iter().collect()
    }

    /// Whether `operation` is in the set.
    #[must_use]
    pub const fn contains(self, operation: Operation) -> bool {
        self.0 & (1 << operation as u8) != 0
    }

    /// The set with `operation`.
    #[must_use]
    pub const fn with(self, operation: Operation) -> Operations {
        Operations(self.0 | 1 << operation as u8)
    }

    /// What is in both sets.
    #[must_use]
    pub const fn intersection(self, other: Operations) -> Operations {
        Operations(self.0 & other.0)
    }

    /// What is in either set.
    #[must_use]
    pub const fn union(self, other: Operations) -> Operations {
        Operations(self.0 | other.0)
    }

    /// What is in this set and not in `other`.
    #[must_use]
    pub const fn difference(self, other: Operations) -> Operations {
        Operations(self.0 & !other.0)
    }

    /// Whether the set is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The operations in the set, in declaration order.
    pub fn iter(self) -> impl Iterator<Item = Operation> {
        Operation::ALL
            .into_iter()
            .filter(move |operation| self.contains(*operation))
    }
}

impl FromIterator<Operation> for Operations {
    fn from_iter<I: IntoIterator<Item = Operation>>(operations: I) -> Self {
        operations
            .into_iter()
            .fold(Operations::NONE, Operations::with)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn kinds_keep_the_order_and_names_of_the_specification() {
        let names: Vec<_> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
        assert_eq!(
            names,
            [
                "OpenExternal",
                "CopyText",
                "Notification",
                "UserInteraction",
                "ExternalRedirect"
            ]
        );
        let wire: Vec<_> = Kind::ALL.iter().map(|kind| kind.wire_operation()).collect();
        assert_eq!(
            wire,
            ["openExternal", "copyText", "notify", "interact", "receive"]
        );
        for (index, kind) in Kind::ALL.into_iter().enumerate() {
            assert_eq!(kind.index(), index);
            assert_eq!(Kind::parse(kind.as_str()), Some(kind));
        }
    }

    #[test]
    fn operation_sets_behave_as_sets() {
        let asked: Operations = [Operation::Question, Operation::Approval]
            .into_iter()
            .collect();
        assert!(asked.contains(Operation::Approval));
        assert!(!asked.contains(Operation::SecretInput));
        assert_eq!(
            asked
                .difference(Operations::NONE.with(Operation::Question))
                .iter()
                .next(),
            Some(Operation::Approval)
        );
        assert_eq!(Kind::UserInteraction.operations().iter().count(), 3);
        assert_eq!(Operations::all().iter().count(), 7);
        for operation in Operation::ALL {
            assert_eq!(Operation::parse(operation.as_str()), Some(operation));
        }
    }
}
