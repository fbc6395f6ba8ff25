//! Objects that several estimates contain.

use crate::contract::reply::{ByNumber, Cells, OptionalGroup, Words, object};
use crate::model::{
    ColumnUsd, EstimateLabels, EstimateView, Millis, RangesWithin, ServedBy, SideUsd, Units,
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
    RangesWithin = "the USD near the price" {
        d1: Option<ByNumber<SideUsd>> ["USD"], "of positions opened in the last day, by distance from the price in percent";
        d7: Option<ByNumber<SideUsd>> ["USD"], "of positions opened in the last seven days, by distance from the price in percent";
    }
}
