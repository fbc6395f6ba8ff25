//! The trait for live readers: the revision of a source, and new orders in their order of arrival.

use std::future::pending;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use crate::market::arrivals::{ArrivalId, Arrivals};
use crate::market::refusal::Refusal;
use crate::market::revision::{Dependency, Revision, SourceState};

/// Revisions and arrivals of a source that may grow.
pub(crate) trait LiveSource: Send + Sync {
    /// Whether more orders may arrive.
    fn is_growing(&self) -> bool;

    /// Whether a check for new rows may have to wait for a disk.
    fn is_on_disk(&self) -> bool {
        false
    }

    /// The state of `dependency`. If new rows cannot be read, the state before them.
    fn last_state(&self, dependency: &Dependency) -> SourceState;

    /// The state of `dependency` after a check for new rows.
    fn state(&self, dependency: &Dependency) -> Result<SourceState, Refusal> {
        Ok(self.last_state(dependency))
    }

    /// The state of `dependency` at the last check; `None` while another thread reads new rows.
    fn cached_state(&self, dependency: &Dependency) -> Option<SourceState> {
        Some(self.last_state(dependency))
    }

    /// Waits until the revision of the observations differs from `seen`.
    fn changed(self: Arc<Self>, _seen: Revision) -> BoxFuture<'static, ()> {
        Box::pin(pending())
    }

    /// Up to `limit` orders that arrived after the position `after`; without `after`, from the first stored order on.
    fn arrivals(&self, after: Option<ArrivalId>, limit: usize) -> Result<Arrivals, Refusal>;

    /// The position after the newest order.
    fn newest(&self) -> Result<ArrivalId, Refusal>;
}
