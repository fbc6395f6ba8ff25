//! Work on threads that may block, with only so much of it at once.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::market::refusal::Refusal;

/// What `work` makes on a blocking thread, once there is room in `lane`.
pub(crate) async fn run_blocking<T, F>(
    lane: Option<Arc<Semaphore>>,
    work: impl FnOnce() -> Result<T, F> + Send + 'static,
) -> Result<T, F>
where
    T: Send + 'static,
    F: From<Refusal> + Send + 'static,
{
    let room = match lane {
        // A lane that is closed lets nobody in.
        Some(lane) => Some(lane.acquire_owned().await.map_err(Refusal::defect)?),
        None => None,
    };
    let worked = spawn_blocking(move || {
        // The room is given back when the work ends, even if nobody waits for it any more.
        let _room = room;
        work()
    });
    worked
        .await
        .unwrap_or_else(|failure| Err(Refusal::defect(failure).into()))
}
