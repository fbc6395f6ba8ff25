//! Queries: what each endpoint asks of a market, and how its reply is computed.
//!
//! `market_query` holds the trait; the other files implement it, one endpoint or group of endpoints each.

pub(super) mod cascades;
pub(super) mod history;
pub(super) mod market_history;
pub(super) mod market_query;
pub(super) mod measured_map;
pub(super) mod observations;
pub(super) mod order_pages;
pub(super) mod positions;
pub(super) mod undercount;
