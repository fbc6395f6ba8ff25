//! Decodes max pain: the strongest cluster of estimated liquidations on each side of the price.

use serde::Deserializer;

use super::reply::reply;
use super::token::{Read, object};
use crate::model::{Cluster, EstimateLabels, MaxPain, Millis, Pain, RangesWithin, SideUsd};

object!(Cluster, "a cluster", { price, usd, dist_pct: "distPct" });

object!(Pain, "the max pain of a range", {
    long, short, total_long: "totalLong", total_short: "totalShort",
});

object!(SideUsd, "the USD of longs and shorts", { long_usd, short_usd });

object!(RangesWithin, "the USD near the price", { d1, d7 });

/// The members of a max pain reply.
#[derive(Debug)]
struct MaxPainFields {
    symbol: String,
    price: f64,
    updated_at: Millis,
    d1: Option<Pain>,
    d7: Option<Pain>,
    units: Option<String>,
    view: Option<String>,
    simulated: Option<bool>,
    source: Option<String>,
    recorded_at: Option<Millis>,
    within: Option<RangesWithin>,
}

object!(MaxPainFields, "max pain", {
    symbol, price, updated_at: "updatedAt", d1, d7, units, view, simulated, source,
    recorded_at: "recordedAt", within,
});

impl<'de> Read<'de> for MaxPain {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let found = MaxPainFields::read(from)?;
        let labels = EstimateLabels::parse(
            found.units.as_deref(),
            found.view.as_deref(),
            found.simulated,
        )
        .served_by(found.source, found.recorded_at);
        Ok(Self {
            symbol: found.symbol,
            price: found.price,
            updated_at: found.updated_at,
            d1: found.d1,
            d7: found.d7,
            labels,
            within: found.within,
        })
    }
}

reply!(MaxPain, symbol; updated_at: "updatedAt");
