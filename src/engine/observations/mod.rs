//! Observed tables: checks, sorting, derived values, and views as of an instant.

pub(super) mod bar_intervals;
pub(super) mod bar_sources;
pub(super) mod coin_history;
pub(super) mod excursions;
pub(super) mod known_positions;
pub(super) mod known_rows;
pub(super) mod observations;
pub(super) mod open_interest_series;
pub(super) mod open_interest_units;
pub(super) mod period_liquidations;
pub(super) mod resampling;
pub(super) mod row_store;
pub(super) mod table_checks;
pub(super) mod view;
