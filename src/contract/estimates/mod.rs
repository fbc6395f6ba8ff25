//! Endpoints of estimated liquidations: heatmaps, liquidation maps, levels, max pain and recorded maps.

mod amounts;
pub(super) mod grid_bytes;
pub(super) mod heatmap;
pub(super) mod levels;
pub(super) mod liqmap;
pub(super) mod maps;
pub(super) mod maxpain;
