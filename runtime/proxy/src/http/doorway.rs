//! How many connections there are at a time, and who has to leave when all places are taken.
//!
//! Whoever has not said anything yet that was taken leaves first, the longest there before the
//! others: connections that send half a request and wait keep nobody out. Knows no HTTP.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};

/// The places of a listener.
#[derive(Debug)]
pub(crate) struct Doorway {
    places: Arc<Semaphore>,
    strangers: Mutex<VecDeque<Arc<Notify>>>,
}

/// A place that is taken.
#[derive(Debug)]
pub(crate) struct Place {
    doorway: Arc<Doorway>,
    leave: Arc<Notify>,
    _permit: OwnedSemaphorePermit,
}

impl Doorway {
    pub(crate) fn new(places: usize) -> Arc<Self> {
        Arc::new(Self {
            places: Arc::new(Semaphore::new(places)),
            strangers: Mutex::default(),
        })
    }

    /// Takes a place for somebody who has come; where there is none, a stranger's. `None`: there
    /// are no places any more.
    pub(crate) async fn enter(self: &Arc<Self>) -> Option<Place> {
        let permit = match Arc::clone(&self.places).try_acquire_owned() {
            Ok(permit) => permit,
            Err(_) => {
                if let Some(stranger) = self.strangers().pop_front() {
                    stranger.notify_one();
                }
                Arc::clone(&self.places).acquire_owned().await.ok()?
            }
        };
        let place = Place {
            doorway: Arc::clone(self),
            leave: Arc::default(),
            _permit: permit,
        };
        place.is_stranger();
        Some(place)
    }

    /// The system has no room for more: the oldest strangers leave.
    pub(crate) fn make_room(&self) {
        let mut strangers = self.strangers();
        let leaving = strangers.len().min(16);
        strangers
            .drain(..leaving)
            .for_each(|stranger| stranger.notify_one());
    }

    fn strangers(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Notify>>> {
        self.strangers
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    /// Who has it said something that is taken.
    pub(crate) fn is_known(&self) {
        let mut strangers = self.doorway.strangers();
        strangers.retain(|other| !Arc::ptr_eq(other, &self.leave));
    }

    /// Who has it said nothing yet, or what is not taken.
    pub(crate) fn is_stranger(&self) {
        let mut strangers = self.doorway.strangers();
        if !strangers
            .iter()
            .any(|other| Arc::ptr_eq(other, &self.leave))
        {
            strangers.push_back(Arc::clone(&self.leave));
        }
    }

    /// Returns when somebody else needs the place.
    pub(crate) async fn is_needed(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.is_known();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::timeout;

    #[tokio::test]
    async fn strangers_leave_before_those_who_are_known() {
        let doorway = Doorway::new(2);
        let first = doorway.enter().await.unwrap();
        let second = Arc::new(doorway.enter().await.unwrap());
        first.is_known();
        let leaving = tokio::spawn({
            let second = Arc::clone(&second);
            async move { second.is_needed().await }
        });
        drop(second);
        let entering = tokio::spawn({
            let doorway = Arc::clone(&doorway);
            async move { doorway.enter().await }
        });
        let third = timeout(Duration::from_secs(5), entering)
            .await
            .unwrap()
            .unwrap()
            .unwrap();
        leaving.await.unwrap();
        third.is_known();
        let waits = timeout(Duration::from_millis(50), doorway.enter()).await;
        assert!(waits.is_err(), "those who are known keep their places");
        drop(first);
        assert!(
            timeout(Duration::from_secs(5), doorway.enter())
                .await
                .is_ok()
        );
    }
}
