//! Queries: the inputs of each endpoint, and how its reply is computed.
//!
//! `market_query` has the trait of all queries. The other files implement it for one endpoint or a group of endpoints.
//! `market_history` has the trait for reads of any time range.

pub(super) mod cascades;
pub(super) mod feature_table;
pub(super) mod features;
pub(super) mod history;
pub(super) mod hourly_maps;
pub(super) mod market_history;
pub(super) mod market_query;
pub(super) mod measured_map;
pub(super) mod observations;
pub(super) mod order_pages;
pub(super) mod recorded_map;
pub(super) mod time_range;
pub(super) mod totals;
pub(super) mod undercount;
