//! Results of the estimate of open positions: heatmap, liquidation map, levels, max pain and their price grids.

pub(super) mod blended;
pub(super) mod fine_cells;
pub(super) mod grid;
pub(super) mod heatmap;
pub(super) mod labels;
pub(super) mod levels;
pub(super) mod liquidation_map;
pub(super) mod map_cluster;
pub(super) mod max_pain;
pub(super) mod opened;
pub(super) mod shares;
pub(super) mod span;
pub(super) mod specification;
