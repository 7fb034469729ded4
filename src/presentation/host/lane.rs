//! One provider's work of one kind: what runs and what waits.

use super::{Effect, Host, Presenting};
use crate::presentation::protocol::Kind;
use crate::presentation::request::{ProviderKey, RequestKey};
use std::collections::VecDeque;

/// What runs and what waits.
#[derive(Debug, Default)]
pub(super) struct Lane {
    /// Requests that the provider holds.
    pub(super) active: u64,
    /// Requests that wait for it, in order.
    pub(super) queue: VecDeque<RequestKey>,
}

impl Host {
    /// Offers waiting requests while the lane has room.
    pub(super) fn dispatch(&mut self, provider: ProviderKey, kind: Kind) {
        loop {
            let Some(found) = self.providers.get(&provider) else {
                return;
            };
            let room = self.limits_of(found, kind).max_concurrent_requests;
            let presenting = found.presenting;
            let Some(lane) = self.lane_mut(provider, kind) else {
                return;
            };
            if room.is_some_and(|room| lane.active >= room) {
                return;
            }
            let Some(key) = lane.queue.pop_front() else {
                return;
            };
            let Some(request) = self.requests.get_mut(&key) else {
                debug_assert!(false, "a queued request is live");
                continue;
            };
            match request.lifecycle.offer(provider) {
                Ok(holder) => {
                    if presenting == Presenting::OnOffer {
                        // Its very own, just granted: it cannot be refused.
                        let _ = request.lifecycle.present(holder);
                    }
                    if let Some(lane) = self.lane_mut(provider, kind) {
                        lane.active += 1;
                    }
                    self.effects.push_back(Effect::Offer {
                        request: key,
                        provider,
                        epoch: holder.epoch,
                    });
                }
                Err(_) => debug_assert!(false, "a queued request is in state Queued"),
            }
        }
    }

    pub(super) fn lane_mut(&mut self, provider: ProviderKey, kind: Kind) -> Option<&mut Lane> {
        self.providers
            .get_mut(&provider)
            .map(|found| &mut found.lanes[kind.index()])
    }

    /// The lane has one running request less.
    pub(super) fn leave_lane(&mut self, provider: ProviderKey, kind: Kind) {
        if let Some(lane) = self.lane_mut(provider, kind) {
            debug_assert!(lane.active > 0, "what leaves was running");
            lane.active = lane.active.saturating_sub(1);
        }
    }

    /// The lane has one waiting request less.
    pub(super) fn leave_queue(&mut self, provider: ProviderKey, kind: Kind, key: RequestKey) {
        if let Some(lane) = self.lane_mut(provider, kind) {
            lane.queue.retain(|queued| *queued != key);
        }
    }
}
