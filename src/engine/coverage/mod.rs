//! Coverage: how completely order feeds were recorded, and how many liquidations sampled feeds omit.

pub(super) mod exchange_coverage;
pub(super) mod feed_coverage;
pub(super) mod undercount;
