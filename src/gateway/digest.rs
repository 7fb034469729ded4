//! 128-bit digests under a key of this process: "is this the content that I have seen?" for message ids and run ids.
//!
//! Digests of content are compared, never stored or sent; a keyed hash keeps a client from preparing collisions.

use std::hash::Hasher;

use siphasher::sip128::{Hasher128, SipHasher13};

/// A digest of some content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Digest(u128);

impl Digest {
    /// Enough of it to tell a few things apart.
    pub(super) fn low_bits(self) -> u32 {
        let [a, b, c, d, ..] = self.0.to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    /// 32 lower-case hexadecimal digits: a name that nobody can guess without the key.
    pub(super) fn hex(self) -> String {
        format!("{:032x}", self.0)
    }
}

/// The key of this process.
#[derive(Debug, Clone, Copy)]
pub(super) struct DigestKey([u8; 16]);

/// Digests content piece by piece. Every piece is length-prefixed, so that pieces cannot run together.
pub(super) struct Digester(SipHasher13);

impl DigestKey {
    /// A key nobody can guess: the standard library seeds its hasher state from the system's random source.
    pub(super) fn random() -> Self {
        use std::hash::{BuildHasher, RandomState};
        let half = |salt: u64| RandomState::new().hash_one(salt).to_le_bytes();
        let mut key = [0; 16];
        key[..8].copy_from_slice(&half(1));
        key[8..].copy_from_slice(&half(2));
        Self(key)
    }

    pub(super) fn digester(self) -> Digester {
        Digester(SipHasher13::new_with_key(&self.0))
    }

    pub(super) fn of(self, bytes: &[u8]) -> Digest {
        let mut digester = self.digester();
        digester.piece(bytes);
        digester.finish()
    }
}

impl Digester {
    pub(super) fn piece(&mut self, bytes: &[u8]) {
        self.0.write_u64(bytes.len() as u64);
        self.0.write(bytes);
    }

    /// A piece that may be missing; missing differs from empty.
    pub(super) fn optional(&mut self, piece: Option<&str>) {
        match piece {
            Some(piece) => self.piece(piece.as_bytes()),
            None => self.0.write_u64(u64::MAX),
        }
    }

    pub(super) fn finish(self) -> Digest {
        Digest(self.0.finish128().as_u128())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_run_together() {
        let key = DigestKey::random();
        let of = |pieces: &[&str]| {
            let mut digester = key.digester();
            pieces
                .iter()
                .for_each(|piece| digester.piece(piece.as_bytes()));
            digester.finish()
        };
        assert_eq!(of(&["ab", "c"]), of(&["ab", "c"]));
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
    }

    #[test]
    fn missing_is_not_empty() {
        let key = DigestKey::random();
        let of = |piece| {
            let mut digester = key.digester();
            digester.optional(piece);
            digester.finish()
        };
        assert_ne!(of(None), of(Some("")));
    }
}
