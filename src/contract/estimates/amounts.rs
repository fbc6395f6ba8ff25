//! Objects that several estimates contain.

use crate::contract::reply::{ByNumber, Cells, ListOf, Nullable, OptionalGroup, Words, object};
use crate::model::{
    ColumnUsd, EstimateLabels, EstimateView, ExactPart, MeasuredExchange, Millis, RangesWithin,
    ServedBy, SideUsd, Units,
};

object! {
    EstimateLabels = "the labels of an estimate" {
        [extension] units: Words<Units>, "usd, or relative: comparable only inside one estimate, because open interest is unknown";
        [extension] view: Words<EstimateView>, "what the amounts count: exposed open interest, liquidations expected to be reported, or measured positions";
        [extension] simulated: Option<bool>, "whether the market is simulated";
        [extension] price_at "priceAt": Option<Millis> ["ms"], "the instant of the current price: the close of its bar, or the reading of its mark price";
        served_by: OptionalGroup<ServedBy>;
    }
}

object! {
    ServedBy = "the source of a recorded map" {
        [extension] source: String, "the recorded source; only of a recorded map";
        [extension] recorded_at "recordedAt": Millis ["ms"], "when the map was recorded; only of a recorded map";
    }
}

object! {
    SideUsd = "the USD of longs and shorts" {
        long_usd: f64 ["USD"], "amount of the longs";
        short_usd: f64 ["USD"], "amount of the shorts";
    }
}

object! {
    ColumnUsd = "the USD outside of a heatmap" {
        long_usd: Cells ["USD"], "amount of the longs, by column";
        short_usd: Cells ["USD"], "amount of the shorts, by column";
    }
}

object! {
    ExactPart = "the measured part of a blended map" {
        share: Nullable<f64>, "share of all amounts that are positions of accounts, 0 to 1; null for an empty map";
        within: ByNumber<f64>, "the same up to a distance from the price in percent; a distance without amounts is left out";
        exchanges: ListOf<MeasuredExchange>, "the exchanges with known positions";
    }
}

object! {
    MeasuredExchange = "the known positions of an exchange" {
        exchange: String, "name of the exchange";
        observed_at "observedAt": Millis ["ms"], "when the snapshot of the positions was complete";
        positions: i64, "number of positions";
        accounts: i64, "number of accounts with these positions";
        long_share "longShare": Nullable<f64>, "share of the open interest of longs that the positions make up; null if it is unknown";
        short_share "shortShare": Nullable<f64>, "the same of shorts";
        long_scale "longScale": f64, "factor of the modelled longs of the exchange, fitted to its known positions";
        short_scale "shortScale": f64, "the same of shorts";
        unplaced_usd "unplacedUsd": f64 ["USD"], "amount of the positions without a liquidation price, which are in no bin";
        crossed_usd "crossedUsd": f64 ["USD"], "amount of the positions with a liquidation price that the market has crossed, which are in no bin";
    }
}

object! {
    RangesWithin = "the USD near the price" {
        d1: Option<ByNumber<SideUsd>> ["USD"], "of positions opened in the last day, by distance from the price in percent";
        d7: Option<ByNumber<SideUsd>> ["USD"], "of positions opened in the last seven days, by distance from the price in percent";
    }
}
