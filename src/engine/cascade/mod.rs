//! Cascades: orders of one coin and side in quick succession form an event.
//!
//! Consecutive orders at most a chosen time gap apart belong to the same event, whichever exchanges they are from.
//! Events below a minimum of USD are dropped. This is runs declustering with a run length in time (Ferro and Segers
//! 2003, Journal of the Royal Statistical Society B 65). The result does not depend on the sequence in which orders are
//! added. Therefore parts of the orders can be clustered in parallel and their results joined.

pub(super) mod cascade_question;
mod clusters;
pub(super) mod event_prices;
mod percentile;

use std::sync::Arc;

pub use cascade_question::CascadeQuestion;
pub use clusters::CascadeClusters;
pub use event_prices::{priced, reach};

use super::View;
use crate::model::TimeRange;

/// Clusters the visible orders into cascades.
#[must_use]
pub fn cascades(view: &View<'_>, asked: &Arc<CascadeQuestion>) -> CascadeClusters {
    let mut clusters = CascadeClusters::new(asked);
    let ring = view.ring();
    let range = TimeRange::new(asked.known_from(), TimeRange::ALL.end);
    for place in view.seen_between(range) {
        clusters.take(&ring.brief(place));
    }
    clusters
}
