//! `/api/liq-heatmap`: estimated liquidations over price and time.

use serde::de::{Error, MapAccess};
use serde::ser::{Serialize, SerializeSeq, SerializeStruct, Serializer};
use serde_json::{Value, json};

use crate::contract::decode::{Cursor, DecodeError, InstantPlace, Matrix, at, fill};
use crate::contract::endpoint::endpoint;
use crate::contract::parameter::{Exchange, ModelChoice};
use crate::contract::reply::{
    Candidate, Cells, Data, Datum, EndpointReply, Field, Group, Member, ReplyShape, object, shape,
};
use crate::model::{
    Coin, ColumnUsd, EstimateLabels, ExactPart, HeatmapGrid, HeatmapRange, MapSource, MapView,
    Millis, Opened, PriceBound, ShownPrices, Span,
};

endpoint! {
    /// Asks for the heatmap of a coin.
    Heatmap = "heatmap" at "/api/liq-heatmap", "estimated liquidations over price and time";
    symbol: Coin = "BTC", "coin";
    range: HeatmapRange = "24h", "12h, 24h, 3d, 7d or 1M; 3M, 6M, 1y and all are an extension of our server";
    model: ModelChoice = "2", "2: exposed open interest; 3: liquidations expected to be reported; or a model with \
                          your own parameters";
    exchange: Option<Exchange>, "exchange to which the estimate is limited; if absent, all exchanges together; an \
                                 extension of our server";
    [extension] span: Option<Span> = "reach", "reach: prices between the low and the high of the range, and prices that are likely to be reached; all: all prices; an extension of our server";
    [extension] low: Option<PriceBound>, "lowest price of the rows; an extension of our server";
    [extension] high: Option<PriceBound>, "highest price of the rows; an extension of our server";
    [extension] opened: Option<Opened> = "ever", "ever: all open positions; range: positions opened within the range; an extension of our server";
    [extension] source: Option<MapSource>, "estimate, or the name of a recorded source: its newest map of the coin and range as it was \
        served, no later than as_of if given; an extension of our server";
    [extension] view: Option<MapView> = "modelled", "modelled: the model spreads all open interest; blended: known positions of accounts stand at their own liquidation prices, and the model spreads the rest of the open interest; an extension of our server";
    => bare HeatmapGrid; large
}

impl Heatmap {
    /// The positions that the heatmap counts.
    #[must_use]
    pub fn opened(&self) -> Opened {
        self.opened.unwrap_or(Opened::Ever)
    }

    /// The prices that the heatmap shows.
    #[must_use]
    pub fn shown(&self) -> ShownPrices {
        ShownPrices {
            span: self.span.unwrap_or(Span::Reach),
            low: self.low.map(PriceBound::get),
            high: self.high.map(PriceBound::get),
        }
    }
}

object! {
    HeatmapGrid = "a heatmap" {
        symbol: String, "the coin asked for";
        range: String, "the range asked for";
        model: i64, "the model asked for";
        updated_at "updatedAt": Millis ["ms"], "the time of the last input";
        current_price "currentPrice": f64 ["USD"], "the last close";
        prices: Vec<f64> ["USD"], "the price of each row of the matrix";
        times: Vec<Millis> ["ms"], "the end of each column of the matrix";
        matrix: Matrix ["USD"], "the estimate, a list for each price";
        labels: Group<EstimateLabels>;
        [extension] step "stepMs": Option<i64> ["ms"], "the length of a column; the last one may be shorter";
        [extension] row_step "rowStep": Option<f64>, "the width of a row in log price; absent if the rows differ in width";
        [extension] edges: Option<Vec<f64>> ["USD"], "the prices at which rows begin, and at which the last one ends; only if the rows differ in width";
        [extension] outside: Option<ColumnUsd> ["USD"], "amounts at prices that the heatmap does not show, by column";
        [extension] exact_share "exactShare": Option<Cells>, "share of known positions in each row of the last column, null for an empty row; only with view=blended";
        [extension] exact: Option<ExactPart>, "the same of the whole last column, and the exchanges with known positions; only with view=blended";
    }
    checked by fitting
    ; bare
}

impl EndpointReply for HeatmapGrid {
    const SHAPE: ReplyShape = shape::<Self>();
}

/// Checks that `outside` has a value for each column.
fn fitting(map: &HeatmapGrid) -> Result<(), DecodeError> {
    let columns = map.times.len();
    if let Some(outside) = &map.outside {
        for (name, cells) in [
            ("long_usd", &outside.long_usd),
            ("short_usd", &outside.short_usd),
        ] {
            if cells.len() != columns {
                let message = format!("has {} values; there are {columns} times", cells.len());
                return Err(DecodeError::at(name, message).below("outside"));
            }
        }
    }
    if let Some(shares) = &map.exact_share
        && shares.len() != map.prices.len()
    {
        let (shares, rows) = (shares.len(), map.prices.len());
        let message = format!("has {shares} values; there are {rows} prices");
        return Err(DecodeError::at("exactShare", message));
    }
    Ok(())
}

/// The cells are sent as an array of rows, and stored row after row.
impl Field<HeatmapGrid> for Matrix {
    type Value = Vec<f64>;
    type Slot = Option<Self>;

    fn describe(declared: Member, to: &mut Vec<Member>) {
        fn schema() -> Value {
            json!({"type": "array", "items": {"type": "array", "items": {"type": ["number", "null"]}}})
        }
        to.push(Member {
            kind: "list",
            schema: Some(schema),
            ..declared
        });
    }

    fn fill<'de, A: MapAccess<'de>>(
        slot: &mut Option<Self>,
        key: Candidate<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error> {
        if key.name != key.key {
            return Ok(false);
        }
        fill(slot, key.key, members)?;
        Ok(true)
    }

    /// The matrix of a plain body is read while it arrives.
    fn quick(_: &mut Option<Self>, key: Candidate<'_>, _: &mut Cursor<'_>) -> Option<bool> {
        (key.name != key.key).then_some(false)
    }

    fn settle<E: Error>(slot: &mut Option<Self>, name: &'static str) -> Result<Vec<f64>, E> {
        slot.is_some()
            .then(Vec::new)
            .ok_or_else(|| at(name, "is missing"))
    }

    fn complete(slot: Option<Self>, map: &mut HeatmapGrid) -> Result<(), DecodeError> {
        let matrix = slot.unwrap_or_default();
        map.matrix = matrix
            .in_order(map.prices.len(), map.times.len())
            .map_err(|damage| damage.below("matrix"))?;
        Ok(())
    }

    fn write<S: SerializeStruct>(
        map: &HeatmapGrid,
        cells: &Vec<f64>,
        name: &'static str,
        object: &mut S,
    ) -> Result<(), S::Error> {
        let (prices, times) = (map.prices.len(), map.times.len());
        object.serialize_field(
            name,
            &Rows {
                cells,
                prices,
                times,
            },
        )
    }

    fn data(
        map: &mut HeatmapGrid,
        of: fn(&mut HeatmapGrid) -> &mut Vec<f64>,
        declared: &Member,
        to: &mut Vec<Datum>,
    ) {
        let shape = [map.prices.len(), map.times.len()];
        let cells = std::mem::take(of(map));
        to.push(Datum::of(declared, Data::Table(cells, shape)));
    }

    fn instants(_: &mut Vec<f64>, _: &'static str, _: &mut dyn FnMut(InstantPlace, &mut Millis)) {}
}

/// Serializes the flat list of cells as an array of rows.
struct Rows<'a> {
    cells: &'a [f64],
    prices: usize,
    times: usize,
}

impl Serialize for Rows<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(self.prices))?;
        if self.times == 0 {
            for _ in 0..self.prices {
                seq.serialize_element::<[f64; 0]>(&[])?;
            }
        } else {
            for row in self.cells.chunks_exact(self.times) {
                seq.serialize_element(row)?;
            }
        }
        seq.end()
    }
}
