//! The service's description of itself, made of the table that answers and refuses as well.

use serde::Serialize;

use crate::api::{ENDPOINTS, EVERYWHERE, EXPLAINED, EXTENSIONS, EndpointEntry, Parameter};
use crate::market::{Dependency, Market, wall_clock};
use crate::model::{Damage, Millis, MissedStretch};
use crate::server::reject::Rejection;

/// So many milliseconds after it was last written down that somebody waits to hear a venue, he is at it.
const AT_WORK: i64 = Millis::MINUTE;

/// What `GET /api` says.
#[derive(Serialize)]
pub(crate) struct Index<'a> {
    success: bool,
    service: &'static str,
    version: &'static str,
    source: &'a str,
    simulated: bool,
    /// Absent where nothing has been observed yet, as below.
    now: Option<Millis>,
    coins: Vec<String>,
    endpoints: &'static [EndpointEntry],
    everywhere: [Parameter; 2],
    /// What the header `Prefer` may ask for.
    preferences: [&'static str; 1],
    extensions: &'static [EndpointEntry],
}

/// What `GET /health` says.
#[derive(Serialize)]
pub(crate) struct Health {
    success: bool,
    now: Option<Millis>,
}

/// What `GET /ready` says.
#[derive(Serialize)]
pub(crate) struct Readiness {
    success: bool,
    now: Option<Millis>,
    /// How long ago that was by the clock, in milliseconds; never negative.
    age: Option<i64>,
    /// Files whose rows are missing from the answers.
    damaged: Vec<Damage>,
}

impl<'a> Index<'a> {
    pub(crate) fn of(market: &'a Market) -> Self {
        Self {
            success: true,
            service: "liqdata",
            version: env!("CARGO_PKG_VERSION"),
            source: market.source_told(),
            simulated: market.is_simulated(),
            now: market.known_until(),
            coins: market.coins(),
            endpoints: ENDPOINTS,
            everywhere: EVERYWHERE,
            preferences: [EXPLAINED],
            extensions: EXTENSIONS,
        }
    }
}

impl Readiness {
    /// # Errors
    ///
    /// A refusal where the market's archive cannot be read, the newest that it knows is older than `max_age`
    /// milliseconds or there is none, or none of those who are to be listened to for it has been heard.
    pub(crate) fn of(market: &Market, max_age: Option<i64>) -> Result<Self, Rejection> {
        // Cannot be answered where the journal cannot be.
        market.standing(&Dependency::Record)?;
        let (clock, now) = (wall_clock(), market.known_until());
        let age = now.map(|now| (clock.0 - now.0).max(0));
        let unheard = market.unheard()?;
        let is_now = |gap: &MissedStretch| gap.end.on(AT_WORK) > clock;
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
