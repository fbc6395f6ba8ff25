//! The liquidation map: bins into one flat table of tiers.

use std::collections::BTreeMap;

use serde::Deserializer;

use super::damage::Damage;
use super::heatmap::spread;
use super::reply::reply;
use super::token::{Read, object};
use crate::model::{LiquidationMap, MapBin, Millis, Side};

/// A map as it stands in the body, its tiers not yet placed: `leverages` may come after `bins`.
struct Sheet {
    success: Option<bool>,
    symbol: String,
    range: String,
    updated_at: Millis,
    current_price: f64,
    bin_width: f64,
    leverages: Vec<i64>,
    bins: Vec<Bin>,
}

object!(Sheet, "a liquidation map", {
    success: "success",
    symbol: "symbol",
    range: "range",
    updated_at: "updatedAt",
    current_price: "currentPrice",
    bin_width: "binWidth",
    leverages: "leverages",
    bins: "bins",
});

struct Bin {
    price: f64,
    side: Side,
    tiers: BTreeMap<i64, f64>,
    total: f64,
}

object!(Bin, "a bin of a liquidation map", {
    price: "price",
    side: "side",
    tiers: "tiers",
    total: "total",
});

impl Sheet {
    fn placed(self) -> Result<LiquidationMap, Damage> {
        if self.success == Some(false) {
            return Err(Damage::at("success", "is false"));
        }
        let mut columns = BTreeMap::new();
        for (column, &leverage) in self.leverages.iter().enumerate() {
            if columns.insert(leverage, column).is_some() {
                return Err(Damage::at(
                    format!("leverages[{column}]"),
                    format!("{leverage} is given twice"),
                ));
            }
        }
        let width = self.leverages.len();
        let mut tiers = spread(f64::NAN, self.bins.len(), width)
            .map_err(|message| Damage::at("bins", message))?;
        let mut bins = Vec::with_capacity(self.bins.len());
        for (i, bin) in self.bins.into_iter().enumerate() {
            for (leverage, usd) in bin.tiers {
                let cell = columns
                    .get(&leverage)
                    .and_then(|column| tiers.get_mut(i * width + column))
                    .ok_or_else(|| {
                        Damage::at(
                            format!("bins[{i}].tiers.{leverage}"),
                            format!("{leverage} is not one of leverages {:?}", self.leverages),
                        )
                    })?;
                *cell = usd;
            }
            bins.push(MapBin {
                price: bin.price,
                side: bin.side,
                total: bin.total,
            });
        }
        Ok(LiquidationMap {
            symbol: self.symbol,
            range: self.range,
            updated_at: self.updated_at,
            current_price: self.current_price,
            bin_width: self.bin_width,
            leverages: self.leverages,
            bins,
            tiers,
        })
    }
}

impl<'de> Read<'de> for LiquidationMap {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Sheet::read(from)?.placed().map_err(Damage::raise)
    }
}

reply!(LiquidationMap);
