//! The pages `/api` (a list of the endpoints), `/health` and `/ready`.

use serde::Serialize;

use crate::contract::{
    ENDPOINTS, EVERYWHERE, EXPLAINED, EXTENSIONS, EndpointEntry, GRID_TYPE, Parameter,
};
use crate::market::{Dependency, Market, RecordedSource, wall_clock};
use crate::model::{CoverageGap, Damage, Millis};
use crate::server::reject::Rejection;

/// A gap in the collection counts as current if it ended less than this many milliseconds ago.
const AT_WORK: i64 = Millis::MINUTE;

/// The body of `GET /api`.
#[derive(Serialize)]
pub(crate) struct Index<'a> {
    success: bool,
    service: &'static str,
    version: &'static str,
    source: &'a str,
    simulated: bool,
    /// Time of the newest observation. Absent if nothing has been observed.
    now: Option<Millis>,
    coins: Vec<String>,
    endpoints: &'static [EndpointEntry],
    everywhere: [Parameter; 2],
    /// Accepted values of the `Prefer` header.
    preferences: [&'static str; 1],
    extensions: &'static [EndpointEntry],
    /// Media types of heatmaps other than JSON.
    forms: [&'static str; 1],
    /// Recorded maps of other services.
    recorded: Vec<RecordedSource>,
}

/// The body of `GET /health`.
#[derive(Serialize)]
pub(crate) struct Health {
    success: bool,
    now: Option<Millis>,
}

/// The body of `GET /ready`.
#[derive(Serialize)]
pub(crate) struct Readiness {
    success: bool,
    now: Option<Millis>,
    /// Age of the newest observation by the wall clock, in milliseconds; never negative.
    age: Option<i64>,
    /// Damaged archive files. Rows of damaged files are missing from answers.
    damaged: Vec<Damage>,
    /// Coins with a ledger that warms up. The first estimate of such a coin takes seconds.
    #[serde(rename = "warmingUp", skip_serializing_if = "Vec::is_empty")]
    warming_up: Vec<String>,
}

impl<'a> Index<'a> {
    pub(crate) fn of(market: &'a Market) -> Self {
        Self {
            success: true,
            service: "liqdata",
            version: env!("CARGO_PKG_VERSION"),
            source: market.public_source(),
            simulated: market.is_simulated(),
            now: market.known_until(),
            coins: market.coins(),
            endpoints: ENDPOINTS,
            everywhere: EVERYWHERE,
            preferences: [EXPLAINED],
            extensions: EXTENSIONS,
            forms: [GRID_TYPE],
            recorded: market.recorded_sources().unwrap_or_else(|fault| {
                log::warn!("the recorded sources are not listed: {fault}");
                Vec::new()
            }),
        }
    }
}

impl Readiness {
    /// # Errors
    ///
    /// A refusal if the archive cannot be read, if the newest observation is missing or older than `max_age`
    /// milliseconds, or if the collector is connected to none of its exchanges.
    pub(crate) fn of(market: &Market, max_age: Option<i64>) -> Result<Self, Rejection> {
        // Fails if the journal cannot be read.
        market.state(&Dependency::Record)?;
        let (clock, now) = (wall_clock(), market.known_until());
        let age = now.map(|now| (clock.0 - now.0).max(0));
        let unheard = market.silent_exchanges()?;
        let is_now = |gap: &CoverageGap| gap.end.on(AT_WORK) > clock;
        if !unheard.is_empty() && (now.is_none() || unheard.iter().any(is_now)) {
            return Err(Rejection::Unheard { gaps: unheard });
        }
        match (max_age, age) {
            (Some(allowed), Some(age)) if age > allowed => {
                return Err(Rejection::Stale { age, allowed });
            }
            (Some(_), None) => return Err(Rejection::Nothing),
            _ => {}
        }
        let damaged = market.damage()?.into_iter();
        Ok(Self {
            success: true,
            now,
            age,
            damaged: damaged.map(Into::into).collect(),
            warming_up: market.warming_up(),
        })
    }
}

impl Health {
    pub(crate) fn of(market: &Market) -> Self {
        Self {
            success: true,
            now: market.known_until(),
        }
    }
}
