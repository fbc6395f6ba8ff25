//! Decodes max pain: the strongest cluster of estimated liquidations on each side of the price.

use super::reply::reply;
use super::token::object;
use crate::model::{Cluster, MaxPain, Pain};

object!(Cluster, "a cluster", { price, usd, dist_pct: "distPct" });

object!(Pain, "the max pain of a range", {
    long, short, total_long: "totalLong", total_short: "totalShort",
});

object!(MaxPain, "max pain", { symbol, price, updated_at: "updatedAt", d1, d7 });

reply!(MaxPain, symbol; updated_at: "updatedAt");
