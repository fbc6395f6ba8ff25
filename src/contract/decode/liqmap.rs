//! Decodes liquidation maps; one flat table holds the tiers of all bins.
//!
//! A bin is a price interval on one side of the market. A tier is a leverage; its value is the USD in the bin.

use std::collections::BTreeMap;

use super::damage::DecodeError;
use super::heatmap::spread;
use super::number::whole_number;
use super::quick::{Cursor, first};
use super::reply::Reply;
use super::time::InstantPlace;
use super::token::object;
use crate::model::{
    EstimateLabels, LiquidationMap, MapBin, Measured, Millis, Side, SideUsd, Within,
};

/// The members of a liquidation map. Each bin still has its own tiers, because `leverages` may follow `bins`.
#[derive(Debug)]
pub struct LiqmapFields {
    success: Option<bool>,
    symbol: String,
    range: String,
    updated_at: Millis,
    current_price: f64,
    bin_width: f64,
    leverages: Vec<i64>,
    bins: Vec<Bin>,
    measured: Option<Measured>,
    units: Option<String>,
    view: Option<String>,
    simulated: Option<bool>,
    source: Option<String>,
    recorded_at: Option<Millis>,
    outside: Option<SideUsd>,
    within: Option<Within>,
}

object!(LiqmapFields, "a liquidation map", {
    success, symbol, range, updated_at: "updatedAt", current_price: "currentPrice",
    bin_width: "binWidth", leverages, bins, measured, units, view, simulated, source,
    recorded_at: "recordedAt", outside, within,
});

object!(Measured, "the source of a map", {
    seen_share: "seenShare", observed_at: "observedAt", positions, accounts, unplaced_usd: "unplacedUsd",
    crossed_usd: "crossedUsd",
});

#[derive(Debug)]
struct Bin {
    price: f64,
    side: Side,
    tiers: BTreeMap<i64, f64>,
    total: f64,
}

object!(Bin, "a bin of a liquidation map", { price, side, tiers, total });

impl LiqmapFields {
    fn placed(self) -> Result<LiquidationMap, DecodeError> {
        if self.success == Some(false) {
            return Err(DecodeError::at("success", "is false"));
        }
        if let Some((member, message)) = self.measured.as_ref().and_then(Measured::fault) {
            return Err(DecodeError::at(member, message).below("measured"));
        }
        let mut columns = BTreeMap::new();
        for (column, &leverage) in self.leverages.iter().enumerate() {
            if columns.insert(leverage, column).is_some() {
                return Err(DecodeError::at(
                    format!("leverages[{column}]"),
                    format!("{leverage} is given twice"),
                ));
            }
        }
        let width = self.leverages.len();
        let mut tiers = spread(f64::NAN, self.bins.len(), width)
            .map_err(|message| DecodeError::at("bins", message))?;
        let mut bins = Vec::with_capacity(self.bins.len());
        for (i, bin) in self.bins.into_iter().enumerate() {
            for (leverage, usd) in bin.tiers {
                let cell = columns
                    .get(&leverage)
                    .and_then(|column| tiers.get_mut(i * width + column))
                    .ok_or_else(|| {
                        DecodeError::at(
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
            measured: self.measured,
            labels: EstimateLabels::parse(
                self.units.as_deref(),
                self.view.as_deref(),
                self.simulated,
            )
            .served_by(self.source, self.recorded_at),
            outside: self.outside,
            within: self.within,
        })
    }
}

impl LiqmapFields {
    /// Reads a map with its members in any order.
    ///
    /// `None` if a member is missing, repeated or unknown, or if a tier key is not an integer.
    fn quick(from: &mut Cursor<'_>) -> Option<Self> {
        let (mut symbol, mut range, mut updated_at) = (None, None, None);
        let (mut current_price, mut bin_width, mut leverages, mut bins) = (None, None, None, None);
        let (mut units, mut view, mut simulated) = (None, None, None);
        let (mut outside, mut within) = (None, None);
        from.take(b'{')?;
        loop {
            match from.key()? {
                "symbol" => first(&mut symbol, from.string())?,
                "range" => first(&mut range, from.string())?,
                "updatedAt" => first(&mut updated_at, from.whole())?,
                "currentPrice" => first(&mut current_price, from.double())?,
                "binWidth" => first(&mut bin_width, from.double())?,
                "leverages" => first(&mut leverages, from.list(Cursor::whole))?,
                "bins" => first(&mut bins, from.list(Bin::quick))?,
                "units" => first(&mut units, from.string())?,
                "view" => first(&mut view, from.string())?,
                "simulated" => first(&mut simulated, from.boolean())?,
                "outside" => first(&mut outside, quick_usd(from))?,
                "within" => first(&mut within, quick_within(from))?,
                _ => return None,
            }
            if !from.more(b'}')? {
                break;
            }
        }
        Some(Self {
            success: None,
            symbol: symbol?.to_owned(),
            range: range?.to_owned(),
            updated_at: Millis(updated_at?),
            current_price: current_price?,
            bin_width: bin_width?,
            leverages: leverages?,
            bins: bins?,
            measured: None,
            units: units.map(str::to_owned),
            view: view.map(str::to_owned),
            simulated,
            source: None,
            recorded_at: None,
            outside,
            within,
        })
    }
}

/// Reads the USD of longs and shorts.
fn quick_usd(from: &mut Cursor<'_>) -> Option<SideUsd> {
    let (mut long_usd, mut short_usd) = (None, None);
    from.take(b'{')?;
    loop {
        match from.key()? {
            "long_usd" => first(&mut long_usd, from.double())?,
            "short_usd" => first(&mut short_usd, from.double())?,
            _ => return None,
        }
        if !from.more(b'}')? {
            break;
        }
    }
    Some(SideUsd {
        long_usd: long_usd?,
        short_usd: short_usd?,
    })
}

/// Reads the USD near the price.
fn quick_within(from: &mut Cursor<'_>) -> Option<Within> {
    let mut within = Within::new();
    from.take(b'{')?;
    if from.takes(b'}') {
        return Some(within);
    }
    loop {
        let distance = whole_number(from.key()?, "in 64 bits").ok()?;
        if within.insert(distance, quick_usd(from)?).is_some() {
            return None;
        }
        if !from.more(b'}')? {
            return Some(within);
        }
    }
}

impl Bin {
    fn quick(from: &mut Cursor<'_>) -> Option<Self> {
        let (mut price, mut side, mut tiers, mut total) = (None, None, None, None);
        from.take(b'{')?;
        loop {
            match from.key()? {
                "price" => first(&mut price, from.double())?,
                "side" => first(&mut side, Side::read(from.string()?))?,
                "tiers" => first(&mut tiers, Self::quick_tiers(from))?,
                "total" => first(&mut total, from.double())?,
                _ => return None,
            }
            if !from.more(b'}')? {
                break;
            }
        }
        Some(Self {
            price: price?,
            side: side?,
            tiers: tiers?,
            total: total?,
        })
    }

    fn quick_tiers(from: &mut Cursor<'_>) -> Option<BTreeMap<i64, f64>> {
        let mut tiers = BTreeMap::new();
        from.take(b'{')?;
        if from.takes(b'}') {
            return Some(tiers);
        }
        loop {
            let leverage = whole_number(from.key()?, "in 64 bits").ok()?;
            if tiers.insert(leverage, from.double()?).is_some() {
                return None;
            }
            if !from.more(b'}')? {
                return Some(tiers);
            }
        }
    }
}

impl Reply for LiquidationMap {
    type Fields = LiqmapFields;

    fn of(sheet: LiqmapFields) -> Result<Self, DecodeError> {
        sheet.placed()
    }

    fn echo(&self) -> Vec<(&'static str, String)> {
        vec![
            ("symbol", self.symbol.clone()),
            ("range", self.range.clone()),
        ]
    }

    fn instants(&mut self, mut visit: impl FnMut(InstantPlace, &mut Millis)) {
        visit(InstantPlace::Member("updatedAt"), &mut self.updated_at);
        if let Some(measured) = &mut self.measured {
            let place = InstantPlace::Member("measured.observedAt");
            visit(place, &mut measured.observed_at);
        }
    }

    fn quick(body: &[u8], enveloped: bool) -> Option<Self> {
        if enveloped {
            return None;
        }
        let mut from = Cursor::of(body);
        let sheet = LiqmapFields::quick(&mut from)?;
        from.end()?;
        sheet.placed().ok()
    }
}
