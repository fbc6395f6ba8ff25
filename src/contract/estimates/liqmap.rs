//! `/api/liq-map`: estimated liquidations by price and leverage tier.

use std::collections::BTreeMap;

use serde::de::{Deserializer, Error, MapAccess};
use serde::ser::{Serialize, SerializeSeq, SerializeStruct, Serializer};
use serde_json::{Value, json};

use crate::contract::decode::{Cursor, DecodeError, InstantPlace, Read, at, spread};
use crate::contract::endpoint::endpoint;
use crate::contract::parameter::{Exchange, ModelChoice};
use crate::contract::reply::{
    ByNumber, Candidate, Cells, Data, Datum, Field, Group, ListOf, Member, MemberValue, Nullable,
    object, reply, titled,
};
use crate::model::{
    BinBounds, BinWidth, Coin, EstimateLabels, ExactPart, FineCells, LiquidationMap, MapBin,
    MapCluster, MapRange, MapSource, MapView, Measured, Millis, Opened, PriceBound, ShownPrices,
    Side, SideUsd, Span, Vocabulary,
};

endpoint! {
    /// Asks for the liquidation map of a coin.
    Liqmap = "liqmap" at "/api/liq-map", "estimated liquidations by price and leverage";
    symbol: Coin = "BTC", "coin";
    range: MapRange = "1d", "1d or 7d; 12h, 3d, 1M, 3M, 6M, 1y and all are an extension of our server";
    model: Option<ModelChoice>, "2, 3 or a model with your own parameters; an extension of our server";
    bin: Option<BinWidth>, "width of a price bin; if absent, about 0.1 % of the price; an extension of our server";
    exchange: Option<Exchange>, "exchange to which the estimate is limited; if absent, all exchanges together; an \
                                 extension of our server";
    [extension] span: Option<Span> = "reach", "reach: prices between the low and the high of the range, and prices that are likely to be reached; all: all prices; an extension of our server";
    [extension] low: Option<PriceBound>, "lowest price of the bins; an extension of our server";
    [extension] high: Option<PriceBound>, "highest price of the bins; an extension of our server";
    [extension] opened: Option<Opened>, "ever: all open positions (the default of the range all); range: positions opened within the range (the default of the other ranges); an extension of our server";
    [extension] source: Option<MapSource>, "estimate; positions for the map of observed positions of any age; or the name of a \
        recorded source: its newest map of the coin and range as it was served, no later than as_of if given; an extension of our server";
    [extension] view: Option<MapView> = "modelled", "modelled: the model spreads all open interest; blended: known positions of accounts stand at their own liquidation prices, and the model spreads the rest of the open interest; an extension of our server";
    => bare LiquidationMap; large
}

impl Liqmap {
    /// The positions that the map counts.
    #[must_use]
    pub fn opened(&self) -> Opened {
        self.opened.unwrap_or(match self.view {
            Some(MapView::Blended) => Opened::Ever,
            _ => Opened::usual(self.range),
        })
    }

    /// The prices that the map shows.
    #[must_use]
    pub fn shown(&self) -> ShownPrices {
        ShownPrices {
            span: self.span.unwrap_or(Span::Reach),
            low: self.low.map(PriceBound::get),
            high: self.high.map(PriceBound::get),
        }
    }
}

reply! {
    LiquidationMap = "a liquidation map", bare, repeats symbol range; {
        symbol: String, "the coin asked for";
        range: String, "the range asked for";
        updated_at "updatedAt": Millis ["ms"], "the time of the last input";
        current_price "currentPrice": f64 ["USD"], "the last close";
        bin_width "binWidth": f64 ["USD"], "width of a price bin";
        leverages: Vec<i64>, "the leverages of the tiers";
        bins: Bins ["USD"], "for each bin, price, side, USD by tier and in total";
        [extension] measured: Option<Measured>, "facts about the observed positions; only with source=positions";
        labels: Group<EstimateLabels>;
        [extension] outside: Option<SideUsd> ["USD"], "amounts of the bins that the map does not show";
        [extension] within: Option<ByNumber<SideUsd>> ["USD"], "amounts over all bins, by distance from the price in percent";
        [extension] clusters: Option<ListOf<MapCluster>>, "runs of neighbouring bins of one side, each at least the mean of the bins of its side; largest first";
        [extension] bounds: Option<BinBounds>, "the ends of the 80 % interval of each bin; only with a fitted model";
        [extension] exact_share "exactShare": Option<Vec<f64>>, "share of each bin that is positions of accounts; only with view=blended";
        [extension] exact: Option<ExactPart>, "the same of the whole map, and the exchanges with known positions; only with view=blended";
        [extension] fine: Option<FineCells>, "the bins on the grid of the model, for the amount that a price move crosses";
    }
    besides { tiers: Vec::new() }
    checked by fitting
}

/// Checks that bounds and fine cells fit bins and leverages.
fn fitting(map: &LiquidationMap) -> Result<(), DecodeError> {
    if let Some(bounds) = &map.bounds {
        let bins = map.bins.len();
        for (name, ends) in [("low", bounds.low.len()), ("high", bounds.high.len())] {
            if ends != bins {
                let message = format!("has {ends} values; there are {bins} bins");
                return Err(DecodeError::at(name, message).below("bounds"));
            }
        }
    }
    if let Some(shares) = &map.exact_share
        && shares.len() != map.bins.len()
    {
        let (shares, bins) = (shares.len(), map.bins.len());
        let message = format!("has {shares} values; there are {bins} bins");
        return Err(DecodeError::at("exactShare", message));
    }
    if let Some(fine) = &map.fine {
        let (cells, leverages) = (fine.usd.len(), map.leverages.len());
        if fine.bins(leverages).is_none() {
            let message = format!("has {cells} values, which {leverages} leverages do not divide");
            return Err(DecodeError::at("usd", message).below("fine"));
        }
    }
    Ok(())
}

object! {
    MapCluster = "a cluster of a liquidation map" {
        side: UpperSide, "side of the positions";
        low_price: f64 ["USD"], "lower edge";
        high_price: f64 ["USD"], "upper edge";
        peak_price: f64 ["USD"], "centre of the largest bin";
        distance_pct: f64 ["%"], "signed distance of the edge nearest to the price, in percent of the price";
        amount: f64, "sum of the bins, in the units of the map";
        side_share: f64, "share of all bins of the side, 0 to 1";
        low_amount: Nullable<f64>, "sum of the low ends of the bins' intervals; null without a validated interval";
        high_amount: Nullable<f64>, "sum of the high ends; null without a validated interval";
    }
}

object! {
    BinBounds = "the intervals of the bins of a map" {
        low: Vec<f64>, "the low end of each bin, in the units of the map";
        high: HighEnds, "the high end of each bin; null for a bin without a validated interval, which has no upper bound";
    }
}

object! {
    FineCells = "a map on the grid of the model" {
        p0: f64 ["USD"], "price at which bin 0 begins";
        h: f64, "width of a bin in log price";
        first: i64, "number of the first bin";
        longs_end "longsEnd": i64, "number of the first bin without longs";
        usd: Vec<f64> ["USD"], "amounts by leverage and bin: all bins of the first leverage, then those of the next";
    }
}

/// High ends of intervals: `null` in JSON, infinity in memory.
pub struct HighEnds;

impl MemberValue for HighEnds {
    type Value = Vec<f64>;
    const KIND: &'static str = Cells::KIND;

    fn schema() -> Value {
        Cells::schema()
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let mut ends = Cells::read(from)?;
        for end in ends.iter_mut().filter(|end| end.is_nan()) {
            *end = f64::INFINITY;
        }
        Ok(ends)
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Vec<f64>> {
        from.list(|from| match from.peek() {
            Some(b'n') => from.exactly("null").map(|()| f64::INFINITY),
            _ => from.double(),
        })
    }

    fn write<S: Serializer>(value: &Vec<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    fn data(value: &mut Vec<f64>) -> Data {
        Data::Floats(std::mem::take(value))
    }
}

/// A side in upper case, as rows have it.
pub struct UpperSide;

impl MemberValue for UpperSide {
    type Value = Side;
    const KIND: &'static str = "text";

    fn schema() -> Value {
        let names: Vec<&str> = Side::ALL.iter().map(|side| side.name()).collect();
        titled("Side", json!({"type": "string", "enum": names}))
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Side, D::Error> {
        Read::read(from)
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Side> {
        Side::read(from.string()?)
    }

    fn write<S: Serializer>(side: &Side, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(side.name())
    }

    fn data(side: &mut Side) -> Data {
        Data::Text(side.name().into())
    }
}

object! {
    Measured = "the source of a map" {
        seen_share "seenShare": Nullable<f64>, "share of the coin's open interest, both sides, that the positions make up; null if unknown";
        observed_at "observedAt": Millis ["ms"], "when the snapshot of the positions was complete";
        positions: i64, "number of observed positions";
        accounts: i64, "number of accounts with these positions";
        unplaced_usd "unplacedUsd": f64 ["USD"], "amount of the positions without a liquidation price, which are in no bin";
        crossed_usd "crossedUsd": f64 ["USD"], "amount of the positions with a liquidation price that the market has crossed, which are in no bin";
    }
    checked by plausible
}

fn plausible(measured: &Measured) -> Result<(), DecodeError> {
    let fault = measured.fault();
    fault.map_or(Ok(()), |(member, message)| {
        Err(DecodeError::at(member, message))
    })
}

/// A bin of a map as it is sent.
#[derive(Debug)]
pub struct Bin {
    price: f64,
    side: Side,
    tiers: Vec<(i64, f64)>,
    total: f64,
}

object! {
    Bin = "a bin of a liquidation map" {
        price: f64 ["USD"], "price at the centre of the bin";
        side: LowerSide, "side of the positions";
        tiers: ByLeverage ["USD"], "amount by leverage";
        total: f64 ["USD"], "amount over all leverages";
    }
}

/// A side in lower case.
#[derive(Debug)]
pub struct LowerSide;

impl MemberValue for LowerSide {
    type Value = Side;
    const KIND: &'static str = "text";

    fn schema() -> Value {
        titled(
            "BinSide",
            json!({"type": "string", "enum": ["long", "short"]}),
        )
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Side, D::Error> {
        Read::read(from)
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Side> {
        Side::read(from.string()?)
    }

    fn write<S: Serializer>(side: &Side, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(side.lower())
    }

    fn data(side: &mut Side) -> Data {
        Data::Text(side.lower().into())
    }
}

/// USD by leverage, in the order of the leverages.
#[derive(Debug)]
pub struct ByLeverage;

impl MemberValue for ByLeverage {
    type Value = Vec<(i64, f64)>;
    const KIND: &'static str = "object";

    fn schema() -> Value {
        ByNumber::<f64>::schema()
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self::Value, D::Error> {
        Ok(ByNumber::<f64>::read(from)?.into_iter().collect())
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Self::Value> {
        Some(
            <ByNumber<f64> as MemberValue>::quick(from)?
                .into_iter()
                .collect(),
        )
    }

    fn write<S: Serializer>(tiers: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(tiers.iter().copied())
    }

    fn data(tiers: &mut Self::Value) -> Data {
        <ByNumber<f64> as MemberValue>::data(&mut tiers.iter().copied().collect())
    }
}

/// The bins of a map; one flat table holds the tiers of all of them.
#[derive(Debug)]
pub struct Bins;

impl Field<LiquidationMap> for Bins {
    type Value = Vec<MapBin>;
    type Slot = Option<Vec<Bin>>;

    fn describe(declared: Member, to: &mut Vec<Member>) {
        <ListOf<Bin> as Field<LiquidationMap>>::describe(declared, to);
    }

    fn fill<'de, A: MapAccess<'de>>(
        slot: &mut Self::Slot,
        key: Candidate<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error> {
        <ListOf<Bin> as Field<LiquidationMap>>::fill(slot, key, members)
    }

    fn quick(slot: &mut Self::Slot, key: Candidate<'_>, from: &mut Cursor<'_>) -> Option<bool> {
        <ListOf<Bin> as Field<LiquidationMap>>::quick(slot, key, from)
    }

    fn settle<E: Error>(slot: &mut Self::Slot, name: &'static str) -> Result<Vec<MapBin>, E> {
        let bins = slot.as_ref().ok_or_else(|| at(name, "is missing"))?;
        let bins = bins.iter().map(|bin| MapBin {
            price: bin.price,
            side: bin.side,
            total: bin.total,
        });
        Ok(bins.collect())
    }

    fn complete(slot: Self::Slot, map: &mut LiquidationMap) -> Result<(), DecodeError> {
        let mut columns = BTreeMap::new();
        for (column, &leverage) in map.leverages.iter().enumerate() {
            if columns.insert(leverage, column).is_some() {
                return Err(DecodeError::at(
                    format!("leverages[{column}]"),
                    format!("{leverage} is given twice"),
                ));
            }
        }
        let width = map.leverages.len();
        let mut tiers = spread(f64::NAN, map.bins.len(), width)
            .map_err(|message| DecodeError::at("bins", message))?;
        for (i, bin) in slot.into_iter().flatten().enumerate() {
            for (leverage, usd) in bin.tiers {
                let cell = columns
                    .get(&leverage)
                    .and_then(|column| tiers.get_mut(i * width + column))
                    .ok_or_else(|| {
                        DecodeError::at(
                            format!("bins[{i}].tiers.{leverage}"),
                            format!("{leverage} is not one of leverages {:?}", map.leverages),
                        )
                    })?;
                *cell = usd;
            }
        }
        map.tiers = tiers;
        Ok(())
    }

    fn write<S: SerializeStruct>(
        map: &LiquidationMap,
        _: &Vec<MapBin>,
        name: &'static str,
        object: &mut S,
    ) -> Result<(), S::Error> {
        object.serialize_field(name, &SentBins(map))
    }

    fn data(
        map: &mut LiquidationMap,
        _: fn(&mut LiquidationMap) -> &mut Vec<MapBin>,
        declared: &Member,
        to: &mut Vec<Datum>,
    ) {
        let numbers = |of: fn(&MapBin) -> f64| Data::Floats(map.bins.iter().map(of).collect());
        let sides = map.bins.iter().map(|bin| bin.side).collect();
        let columns = [
            ("prices", numbers(|bin| bin.price)),
            ("sides", Data::Sides(sides)),
            ("total", numbers(|bin| bin.total)),
        ];
        let mut tiers = std::mem::take(&mut map.tiers);
        // A tier that a bin omits has no USD.
        tiers
            .iter_mut()
            .filter(|usd| usd.is_nan())
            .for_each(|usd| *usd = 0.0);
        let tiers = (
            "tiers",
            Data::Table(tiers, [map.bins.len(), map.leverages.len()]),
        );
        to.extend(
            columns
                .into_iter()
                .chain([tiers])
                .map(|(name, data)| Datum {
                    name: name.into(),
                    field: name.into(),
                    extension: declared.extension,
                    data,
                }),
        );
    }

    fn instants(
        _: &mut Vec<MapBin>,
        _: &'static str,
        _: &mut dyn FnMut(InstantPlace, &mut Millis),
    ) {
    }
}

/// Serializes the bins; a tier that is NaN is left out.
struct SentBins<'a>(&'a LiquidationMap);

impl Serialize for SentBins<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let map = self.0;
        let width = map.leverages.len();
        let mut seq = serializer.serialize_seq(Some(map.bins.len()))?;
        for (i, bin) in map.bins.iter().enumerate() {
            let usd = map.tiers.get(i * width..(i + 1) * width);
            let tiers = map.leverages.iter().zip(usd.unwrap_or_default());
            let known = tiers.filter(|(_, usd)| !usd.is_nan());
            seq.serialize_element(&Bin {
                price: bin.price,
                side: bin.side,
                tiers: known.map(|(leverage, usd)| (*leverage, *usd)).collect(),
                total: bin.total,
            })?;
        }
        seq.end()
    }
}
