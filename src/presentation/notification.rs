//! Merging of notifications that are not shown yet (spec: presentation, Notification; P7).
//!
//! A notification with a deduplication key takes the place of a queued one of the same key, within one invocation only.
//! Both are answered by what becomes of the one that is shown.

use super::request::RequestKey;
use std::collections::VecDeque;

/// What makes two notifications duplicates. Invocation and origin are part of it, so that nothing merges across them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct MergeKey {
    /// The Host's number of the invocation, which has one origin.
    pub invocation: u64,
    /// `deduplicationKey`.
    pub key: Box<str>,
}

/// The queued request that a new one with `key` replaces.
pub fn superseded<'q>(
    queue: &VecDeque<RequestKey>,
    key: &MergeKey,
    key_of: impl Fn(RequestKey) -> Option<&'q MergeKey>,
) -> Option<RequestKey> {
    queue
        .iter()
        .copied()
        .find(|queued| key_of(*queued) == Some(key))
}

/// Puts `new` where `old` stands.
pub fn replace(queue: &mut VecDeque<RequestKey>, old: RequestKey, new: RequestKey) {
    if let Some(place) = queue.iter_mut().find(|queued| **queued == old) {
        *place = new;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_meet_within_one_invocation_only() {
        let keys = [
            MergeKey {
                invocation: 1,
                key: "k".into(),
            },
            MergeKey {
                invocation: 2,
                key: "k".into(),
            },
        ];
        let queue: VecDeque<RequestKey> = [RequestKey(0), RequestKey(1)].into();
        let key_of =
            |request: RequestKey| keys.get(usize::try_from(request.0).unwrap_or(usize::MAX));
        assert_eq!(superseded(&queue, &keys[1], key_of), Some(RequestKey(1)));
        assert_eq!(
            superseded(
                &queue,
                &MergeKey {
                    invocation: 3,
                    key: "k".into()
                },
                key_of
            ),
            None
        );
    }

    #[test]
    fn the_later_one_keeps_the_place() {
        let mut queue: VecDeque<RequestKey> = [RequestKey(0), RequestKey(1), RequestKey(2)].into();
        replace(&mut queue, RequestKey(1), RequestKey(9));
        assert_eq!(queue, [RequestKey(0), RequestKey(9), RequestKey(2)]);
    }
}
