//! Coverage: how completely order feeds were recorded, and what sampled feeds leave out.

pub(super) mod exchange_coverage;
pub(super) mod feed_coverage;
pub(super) mod undercount;
