//! REST requests, endpoints, paging, bars and prices.

pub(super) mod bars;
pub(super) mod endpoints;
pub(super) mod paging;
pub(super) mod prices;
pub(super) mod request;
