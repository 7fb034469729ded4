//! Handles and keys of the machine.

/// Names a thread towards the driver. Not used again before four billion other ids were given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadId(pub u32);

/// Names one HTTP response towards the driver. Not used again before four billion other ids were given out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ReaderId(pub u32);

/// Names a Tool body or a request to a person that waits inside the Host, as the driver numbered it. Unique within the
/// driver's life.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Token(pub u32);

/// Names an errand towards the driver. Never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ErrandId(pub u32);

/// Names a run inside the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct RunKey(pub(super) u32);

/// Who asks, as the trusted headers say.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Principal {
    /// Tenant id.
    pub tenant: String,
    /// User id.
    pub user: String,
}

/// The binding key of a thread: the exact tuple (spec: gateway, 架构).
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ThreadKey {
    /// Who owns the thread.
    pub principal: Principal,
    /// The client's thread id.
    pub thread_id: String,
}

impl ThreadKey {
    /// The durable session id: derived from the tuple, safe as a file name, and telling nothing of it (G5).
    #[must_use]
    pub fn session_id(&self) -> String {
        use sha2::{Digest as _, Sha256};
        use std::fmt::Write as _;
        let mut hash = Sha256::new();
        for part in [
            &self.principal.tenant,
            &self.principal.user,
            &self.thread_id,
        ] {
            // Length-prefixed, so that no two tuples run together.
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part.as_bytes());
        }
        let mut id = String::from("agui-");
        for byte in &hash.finalize()[..20] {
            let _ = write!(id, "{byte:02x}");
        }
        id
    }
}

/// Length of an interrupt's id: `interrupt-` and 32 hex digits. Clients send it back, whatever they may choose themselves.
pub(super) const INTERRUPT_ID_BYTES: usize = 42;

/// Whether `id` is of the grammar `[A-Za-z0-9][A-Za-z0-9._:-]*` and not longer than `max` bytes (G3).
#[must_use]
pub fn is_identity(id: &str, max: usize) -> bool {
    id.len() <= max
        && id
            .bytes()
            .next()
            .is_some_and(|byte| byte.is_ascii_alphanumeric())
        && id
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"._:-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(tenant: &str, user: &str, thread: &str) -> ThreadKey {
        ThreadKey {
            principal: Principal {
                tenant: tenant.into(),
                user: user.into(),
            },
            thread_id: thread.into(),
        }
    }

    #[test]
    fn session_ids_are_stable_and_do_not_run_together() {
        let id = key("t", "u", "thread-1").session_id();
        assert_eq!(id.len(), 45);
        assert_eq!(id, key("t", "u", "thread-1").session_id());
        assert_ne!(
            key("ab", "c", "d").session_id(),
            key("a", "bc", "d").session_id()
        );
        assert!(!id.contains("thread-1"));
    }

    #[test]
    fn the_identity_grammar() {
        assert!(is_identity("a", 1));
        assert!(is_identity("9f.A_:-z", 256));
        for bad in ["", "-a", ".a", "_a", "a b", "a/b", "é"] {
            assert!(!is_identity(bad, 256), "{bad}");
        }
        assert!(!is_identity("abc", 2));
    }
}
