//! The key that signs URLs of files (spec: gateway, 配置; G16).

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// Keeps this use of the shared secret apart from every other.
const KEY_LABEL: &[u8] = b"dsh-ag-ui: key of file URLs";

/// The key that signs URLs, derived from the shared secret: rotating that one invalidates every URL.
#[derive(Clone, Zeroize, ZeroizeOnDrop)]
pub struct UrlKey([u8; 32]);

impl UrlKey {
    pub(super) fn derive(secret: &str) -> Self {
        Self(
            mac(secret.as_bytes(), &[KEY_LABEL])
                .finalize()
                .into_bytes()
                .into(),
        )
    }

    /// The code of some pieces.
    pub(super) fn mac(&self, pieces: &[&[u8]]) -> Hmac<Sha256> {
        mac(&self.0, pieces)
    }
}

/// The code of pieces, each length-prefixed, so that they cannot run together.
fn mac(key: &[u8], pieces: &[&[u8]]) -> Hmac<Sha256> {
    // A key of any length will do.
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap_or_else(|_| {
        <Hmac<Sha256> as KeyInit>::new(&hmac::digest::Key::<Hmac<Sha256>>::default())
    });
    for piece in pieces {
        mac.update(&(piece.len() as u64).to_le_bytes());
        mac.update(piece);
    }
    mac
}

impl std::fmt::Debug for UrlKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UrlKey(..)")
    }
}
