//! Shares one check for new rows among concurrent callers, because each check costs a query and a thread switch.
//!
//! A caller never gets the result of a check that began before its call. So it sees everything that was committed
//! before its call.

use std::future::Future;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::sync::Mutex;

use crate::market::refusal::Refusal;

/// Runs one check at a time; callers that arrive before a check begins share it.
#[derive(Debug, Default)]
pub(crate) struct SharedLook {
    /// The number of checks that have begun.
    begun: AtomicU64,
    /// The number of the last check that succeeded.
    last: Mutex<u64>,
}

impl SharedLook {
    /// Waits for a check that begins after this call: either `look` or the check of another caller.
    pub(crate) async fn fresh(
        &self,
        look: impl Future<Output = Result<(), Refusal>>,
    ) -> Result<(), Refusal> {
        let before = self.begun.load(Ordering::SeqCst);
        let mut last = self.last.lock().await;
        if *last > before {
            return Ok(());
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        look.await?;
        *last = number;
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::sync::Arc;

    use futures_util::future::join_all;
    use tokio::sync::Semaphore;
    use tokio::task::{JoinHandle, yield_now};

    use crate::market::shared_refresh::*;

    /// A check that waits for a permit and then succeeds if `good`.
    fn ask(looks: &Arc<SharedLook>, door: &Arc<Semaphore>, good: bool) -> JoinHandle<bool> {
        let (looks, door) = (Arc::clone(looks), Arc::clone(door));
        tokio::spawn(async move {
            let look = async {
                door.acquire().await.unwrap().forget();
                if good {
                    Ok(())
                } else {
                    Err(Refusal::defect("a test"))
                }
            };
            looks.fresh(look).await.is_ok()
        })
    }

    #[tokio::test]
    async fn who_asks_during_a_look_shares_the_next_one() {
        let looks = Arc::new(SharedLook::default());
        let door = Arc::new(Semaphore::new(0));
        let first = ask(&looks, &door, true);
        while looks.begun.load(Ordering::SeqCst) == 0 {
            yield_now().await;
        }
        let later: Vec<_> = (0..20).map(|_| ask(&looks, &door, true)).collect();
        yield_now().await;
        door.add_permits(1);
        assert!(first.await.unwrap());
        for _ in 0..20 {
            yield_now().await;
        }
        assert!(!later.iter().any(JoinHandle::is_finished));
        door.add_permits(1);
        for good in join_all(later).await {
            assert!(good.unwrap());
        }
        assert_eq!(looks.begun.load(Ordering::SeqCst), 2);
    }

    #[tokio::test]
    async fn a_failed_or_cancelled_refresh_is_not_shared() {
        let looks = Arc::new(SharedLook::default());
        let door = Arc::new(Semaphore::new(0));
        let given_up = ask(&looks, &door, true);
        yield_now().await;
        let failing = ask(&looks, &door, false);
        let good = ask(&looks, &door, true);
        yield_now().await;
        given_up.abort();
        door.add_permits(2);
        assert!(!failing.await.unwrap());
        assert!(good.await.unwrap());
    }
}
