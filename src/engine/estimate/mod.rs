//! The estimates: heatmap, liquidation map, key levels and max pain, all read from one ledger.

pub(super) mod blend;
pub(super) mod crossings;
pub(super) mod estimate_basis;
pub(super) mod heatmap;
pub(super) mod instant_series;
pub(super) mod levels;
pub(super) mod liquidation_map;
pub(super) mod map_clusters;
pub(super) mod map_features;
pub(super) mod max_pain;
pub(super) mod position_map;
pub(super) mod reach;
pub(super) mod swept;
