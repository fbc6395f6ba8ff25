//! Row types that declare their columns: bars, positions, totals, observations.

pub(super) mod bar;
pub(super) mod cascade;
pub(super) mod chart;
pub(super) mod observation;
pub(super) mod period;
pub(super) mod period_total;
pub(super) mod position;
pub(super) mod record;
pub(super) mod served_map;
pub(super) mod totals;
