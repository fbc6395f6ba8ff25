//! Errors of estimates.

use crate::model::{Millis, PeriodLength};

/// Why an estimate cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EngineError {
    /// No bar of the coin has closed yet.
    #[error("{coin:?} is unknown: none of its bars has closed by {now}; known coins: {}", listed(.known))]
    UnknownCoin {
        /// The requested coin.
        coin: String,
        /// The instant as of which the estimate was requested.
        now: Millis,
        /// Coins with a closed bar.
        known: Vec<String>,
    },
    /// No bar of the coin closed in the window.
    #[error(
        "no bar of {coin:?} closed in the {range} before {now}; the last one closed at {last_close}"
    )]
    NoBars {
        /// The requested coin.
        coin: String,
        /// The requested range.
        range: &'static str,
        /// The instant as of which the estimate was requested.
        now: Millis,
        /// Close of the coin's last bar.
        last_close: Millis,
    },
    /// The bars of the coin are too long for the range.
    #[error(
        "the bars of {coin:?} are too long for {range}: {}; allowed: at most {}",
        span(*.interval), span(*.coarsest)
    )]
    TooCoarse {
        /// The requested coin.
        coin: String,
        /// The requested range.
        range: &'static str,
        /// Length of the longest bar in the window, in milliseconds.
        interval: i64,
        /// Maximum length of a bar, in milliseconds.
        coarsest: i64,
    },
    /// The bars of the coin start after the start of a long window.
    #[error(
        "the bars of {coin:?} start at {first}, after the start of {range} at {start}; use the range \"all\""
    )]
    TooShort {
        /// The requested coin.
        coin: String,
        /// The requested range.
        range: &'static str,
        /// Start of the window.
        start: Millis,
        /// Open time of the coin's first bar.
        first: Millis,
    },
    /// The open interest of the requested exchange is unknown.
    #[error("the open interest of {coin:?} on {exchange:?} is unknown at {now}")]
    UnknownVenue {
        /// The requested coin.
        coin: String,
        /// The requested exchange.
        exchange: String,
        /// The instant as of which the estimate was requested.
        now: Millis,
        /// Exchanges with known open interest.
        known: Vec<String>,
    },
    /// The bin width is out of bounds.
    #[error("bin width {bin} is out of bounds for a map of {coin:?} at the price {price}")]
    BadBin {
        /// The requested coin.
        coin: String,
        /// The requested width.
        bin: String,
        /// The minimum width.
        least: String,
        /// The current price.
        price: String,
    },
    /// There are no observed trading positions of the coin.
    #[error(
        "there are no positions of {coin:?}: collect them with liqdata collect --positions, or look for damaged files with liqdata verify"
    )]
    NoPositions {
        /// The requested coin.
        coin: String,
    },
    /// The bars of the coin cannot be resampled to the requested length.
    #[error(
        "bars of {} cannot be made from the bars of {coin:?}, which have a length of {}; {}",
        period(*.size), either(.lengths), instead(.lengths, *.size)
    )]
    NoSuchLength {
        /// The requested coin.
        coin: String,
        /// The requested length.
        size: PeriodLength,
        /// Lengths of the coin's bars in milliseconds, ascending.
        lengths: Vec<i64>,
    },
}

fn listed(coins: &[String]) -> String {
    if coins.is_empty() {
        "none, because there are no bars, and an estimate needs them".to_owned()
    } else {
        coins.join(", ")
    }
}

/// Lists lengths as alternatives.
fn either(lengths: &[i64]) -> String {
    let lengths: Vec<String> = lengths.iter().map(|length| span(*length)).collect();
    lengths.join(" or ")
}

/// Explains which lengths are allowed if `size` is not.
fn instead(lengths: &[i64], size: PeriodLength) -> String {
    if lengths.iter().any(|length| size.is_made_of(*length)) {
        "every bar crosses a boundary: bars of whole weeks start on Mondays, others at multiples of their length since \
         the epoch"
            .to_owned()
    } else if size == PeriodLength::Month {
        "allowed: months, of bars with a length that divides a day".to_owned()
    } else {
        format!("allowed: whole multiples of {}", either(lengths))
    }
}

/// Formats the length of a period.
fn period(size: PeriodLength) -> String {
    match size {
        PeriodLength::Fixed(size) => span(size),
        PeriodLength::Month => "1 month".to_owned(),
    }
}

/// Formats a duration in the largest unit that gives a whole number.
fn span(millis: i64) -> String {
    for (unit, length) in [
        ("d", Millis::DAY),
        ("h", Millis::HOUR),
        ("min", Millis::MINUTE),
        ("s", 1000),
    ] {
        if millis % length == 0 {
            return format!("{} {unit}", millis / length);
        }
    }
    format!("{millis} ms")
}
