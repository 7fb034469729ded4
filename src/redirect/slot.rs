//! The place of a receiver's one terminal outcome (spec: presentation, Result).

use std::sync::{Mutex, PoisonError};

use tokio::sync::oneshot;

use super::outcome::Outcome;

/// Something else settled the receiver first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the redirect receiver is already settled")]
pub struct AlreadySettled;

/// Holds the right to settle. Whoever takes it first decides the outcome; there is no second time.
#[derive(Debug)]
pub struct Slot(Mutex<Option<oneshot::Sender<Outcome>>>);

impl Slot {
    /// An open slot, and the end where its outcome arrives.
    #[must_use]
    pub fn open() -> (Self, oneshot::Receiver<Outcome>) {
        let (sender, receiver) = oneshot::channel();
        (Self(Mutex::new(Some(sender))), receiver)
    }

    /// Settles and delivers at once.
    ///
    /// # Errors
    /// [`AlreadySettled`]; `outcome` is dropped.
    pub fn settle(&self, outcome: Outcome) -> Result<(), AlreadySettled> {
        self.commit(outcome).map(drop)
    }

    /// Settles, but delivers only when the [`Delivery`] is dropped. So the browser has its page before the consumer,
    /// who may end the process, learns that the redirect arrived.
    ///
    /// # Errors
    /// [`AlreadySettled`]; `outcome` is dropped.
    pub fn commit(&self, outcome: Outcome) -> Result<Delivery, AlreadySettled> {
        let sender = self
            .0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
            .ok_or(AlreadySettled)?;
        Ok(Delivery(Some((sender, outcome))))
    }
}

/// A committed outcome on its way. Dropping it delivers.
#[derive(Debug)]
#[must_use = "dropping a delivery delivers it"]
pub struct Delivery(Option<(oneshot::Sender<Outcome>, Outcome)>);

impl Drop for Delivery {
    fn drop(&mut self) {
        if let Some((sender, outcome)) = self.0.take() {
            // Nobody listens any more when the runtime shuts down.
            let _ = sender.send(outcome);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::redirect::Query;

    #[test]
    fn the_first_commit_wins_and_arrives_when_its_delivery_is_dropped() {
        let (slot, mut outcome) = Slot::open();
        let delivery = slot.commit(Outcome::Submitted(Query::default())).unwrap();
        assert_eq!(slot.settle(Outcome::Cancelled), Err(AlreadySettled));
        assert!(outcome.try_recv().is_err());
        drop(delivery);
        assert_eq!(outcome.try_recv(), Ok(Outcome::Submitted(Query::default())));
    }

    #[test]
    fn threads_agree_on_one_winner() {
        for _ in 0..200 {
            let (slot, mut outcome) = Slot::open();
            let won: Vec<_> = std::thread::scope(|scope| {
                [Outcome::Cancelled, Outcome::Expired]
                    .map(|mine| {
                        let slot = &slot;
                        scope.spawn(move || slot.settle(mine.clone()).ok().map(|()| mine))
                    })
                    .into_iter()
                    .filter_map(|thread| thread.join().unwrap())
                    .collect()
            });
            assert_eq!(won, [outcome.try_recv().unwrap()]);
        }
    }
}
