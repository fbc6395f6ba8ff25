//! Endpoints of estimated liquidations: heatmaps, liquidation maps, levels, max pain, recorded maps and features.

mod amounts;
pub(super) mod feature_table;
pub(super) mod features;
pub(super) mod grid_bytes;
pub(super) mod heatmap;
pub(super) mod levels;
pub(super) mod liqmap;
pub(super) mod maps;
pub(super) mod maxpain;
