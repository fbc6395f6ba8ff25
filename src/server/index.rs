//! The service's description of itself, made of the table that answers and refuses as well.

use serde::Serialize;

use crate::api::{ENDPOINTS, EVERYWHERE, EXTENSIONS, Entry, Parameter};
use crate::market::Market;
use crate::model::Millis;

/// What `GET /api` says.
#[derive(Serialize)]
pub(super) struct Index<'a> {
    success: bool,
    service: &'static str,
    version: &'static str,
    source: &'a str,
    simulated: bool,
    now: Millis,
    coins: Vec<String>,
    endpoints: &'static [Entry],
    everywhere: [Parameter; 2],
    extensions: &'static [Entry],
}

/// What `GET /health` says.
#[derive(Serialize)]
pub(super) struct Health {
    success: bool,
    now: Millis,
}

impl<'a> Index<'a> {
    pub(super) fn of(market: &'a Market) -> Self {
        Self {
            success: true,
            service: "liqdata",
            version: env!("CARGO_PKG_VERSION"),
            source: market.source(),
            simulated: market.is_simulated(),
            now: market.now(),
            coins: market.coins(),
            endpoints: ENDPOINTS,
            everywhere: EVERYWHERE,
            extensions: EXTENSIONS,
        }
    }
}

impl Health {
    pub(super) fn of(market: &Market) -> Self {
        Self {
            success: true,
            now: market.now(),
        }
    }
}
