//! The service's description of itself, made of the table that answers and refuses as well.

use serde::Serialize;

use super::reject::Rejection;
use crate::api::{ENDPOINTS, EVERYWHERE, EXTENSIONS, Entry, Parameter};
use crate::market::{Basis, Market, wall_clock};
use crate::model::{Damage, Millis};

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

/// What `GET /ready` says.
#[derive(Serialize)]
pub(super) struct Readiness {
    success: bool,
    now: Millis,
    /// How long ago that was by the clock, in milliseconds; never negative.
    age: i64,
    /// Files whose rows are missing from the answers.
    damaged: Vec<Damage>,
}

impl<'a> Index<'a> {
    pub(super) fn of(market: &'a Market) -> Self {
        Self {
            success: true,
            service: "liqdata",
            version: env!("CARGO_PKG_VERSION"),
            source: market.source_told(),
            simulated: market.is_simulated(),
            now: market.now(),
            coins: market.coins(),
            endpoints: ENDPOINTS,
            everywhere: EVERYWHERE,
            extensions: EXTENSIONS,
        }
    }
}

impl Readiness {
    /// # Errors
    ///
    /// A refusal where the market's archive cannot be read, or the newest that it knows is older than `max_age`
    /// milliseconds.
    pub(super) fn of(market: &Market, max_age: Option<i64>) -> Result<Self, Rejection> {
        // Cannot be answered where the journal cannot be.
        market.standing(&Basis::Record)?;
        let now = market.now();
        let age = (wall_clock().0 - now.0).max(0);
        if let Some(allowed) = max_age.filter(|allowed| age > *allowed) {
            return Err(Rejection::Stale { age, allowed });
        }
        let damaged = market.damage()?.into_iter();
        Ok(Self {
            success: true,
            now,
            age,
            damaged: damaged.map(Into::into).collect(),
        })
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
