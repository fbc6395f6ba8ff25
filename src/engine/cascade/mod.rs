//! Cascades: orders of one coin and side that follow each other closely are one event.
//!
//! Two orders with no more than a gap between them belong together, whatever exchange they are of; an event counts once it
//! has gathered enough. That is runs declustering, its run length a time. Which orders belong together does not depend on
//! the order in which they are taken in, so shares of them are gathered side by side and joined.

pub(super) mod cascade_question;
mod clusters;
pub(super) mod event_prices;
mod percentile;

use std::sync::Arc;

pub use cascade_question::CascadeQuestion;
pub use clusters::Clusters;
pub use event_prices::{priced, reach};

use super::View;

/// The cascades of the orders that are seen.
#[must_use]
pub fn cascades(view: &View<'_>, asked: &Arc<CascadeQuestion>) -> Clusters {
    let mut clusters = Clusters::new(asked);
    let ring = view.ring();
    for place in view.seen(i64::MAX) {
        clusters.take(&ring.brief(place));
    }
    clusters
}
