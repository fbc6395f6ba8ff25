//! Runs work on blocking threads and limits how much of it runs concurrently.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::market::refusal::Refusal;

/// Runs `work` on a blocking thread once `lane` has a free permit; without `lane`, immediately.
pub(crate) async fn run_blocking<T, F>(
    lane: Option<Arc<Semaphore>>,
    work: impl FnOnce() -> Result<T, F> + Send + 'static,
) -> Result<T, F>
where
    T: Send + 'static,
    F: From<Refusal> + Send + 'static,
{
    let room = match lane {
        // This fails only if the semaphore is closed.
        Some(lane) => Some(lane.acquire_owned().await.map_err(Refusal::defect)?),
        None => None,
    };
    let worked = spawn_blocking(move || {
        // The permit is released when the work ends, even if the caller has stopped waiting.
        let _room = room;
        work()
    });
    worked
        .await
        .unwrap_or_else(|failure| Err(Refusal::defect(failure).into()))
}
