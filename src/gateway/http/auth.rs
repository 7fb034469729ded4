//! The bearer secret of the hop from BFF to gateway (spec: gateway, 信任姿态; G3).

use sha2::{Digest, Sha256};
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The shared secret. Only its digest is kept, so that comparison takes the same time whatever is offered, lengths
/// included, and no copy of the secret stays in memory.
#[derive(Zeroize, ZeroizeOnDrop)]
pub struct Secret {
    digest: [u8; 32],
}

impl Secret {
    /// Keeps a secret. The caller's copy is its own to erase.
    #[must_use]
    pub fn new(secret: &str) -> Self {
        Self {
            digest: Sha256::digest(secret).into(),
        }
    }

    /// Whether the value of an `authorization` header is `Bearer <secret>`.
    #[must_use]
    pub fn accepts(&self, authorization: &str) -> bool {
        let Some((scheme, offered)) = authorization.split_once(' ') else {
            return false;
        };
        if !scheme.eq_ignore_ascii_case("bearer") {
            return false;
        }
        let mut digest: [u8; 32] = Sha256::digest(offered).into();
        let equal = self.digest.ct_eq(&digest).into();
        digest.zeroize();
        equal
    }
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_secret_is_accepted() {
        let secret = Secret::new("0123456789abcdef");
        assert!(secret.accepts("Bearer 0123456789abcdef"));
        assert!(secret.accepts("bearer 0123456789abcdef"));
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer 0123456789abcdeF",
            "Bearer 0123456789abcdef ",
            "Basic 0123456789abcdef",
            "0123456789abcdef",
        ] {
            assert!(!secret.accepts(wrong), "{wrong}");
        }
    }

    #[test]
    fn debug_tells_nothing() {
        assert_eq!(
            format!("{:?}", Secret::new("0123456789abcdef")),
            "Secret(..)"
        );
    }
}
