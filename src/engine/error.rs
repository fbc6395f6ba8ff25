//! Why an estimate cannot be given.

use crate::model::Millis;

/// Why an estimate cannot be given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum EngineError {
    /// No bar of the coin has closed yet.
    #[error("{coin:?} is unknown: no bar of it has closed by {now}; known are {}", listed(.known))]
    UnknownCoin {
        /// The coin asked for.
        coin: String,
        /// The instant asked about.
        now: Millis,
        /// The coins that have a closed bar.
        known: Vec<String>,
    },
    /// The last bar of the coin closed before the window.
    #[error(
        "no bar of {coin:?} closed in the {range} before {now}; its last one closed at {last_close}"
    )]
    NoBars {
        /// The coin asked for.
        coin: String,
        /// The range asked for.
        range: &'static str,
        /// The instant asked about.
        now: Millis,
        /// When the coin's last bar closed.
        last_close: Millis,
    },
    /// The bars of the coin are too long for the range.
    #[error(
        "the bars of {coin:?} are too coarse for {range}: they are {} long, at most {} would do",
        span(*.interval), span(*.coarsest)
    )]
    TooCoarse {
        /// The coin asked for.
        coin: String,
        /// The range asked for.
        range: &'static str,
        /// Length of the longest bar in the window, in milliseconds.
        interval: i64,
        /// The longest that would do, in milliseconds.
        coarsest: i64,
    },
    /// The bars of the coin do not reach back to the start of a long window.
    #[error(
        "the bars of {coin:?} begin at {first}, and {range} begins at {start}; \"all\" takes what there is"
    )]
    TooShort {
        /// The coin asked for.
        coin: String,
        /// The range asked for.
        range: &'static str,
        /// Where the window begins.
        start: Millis,
        /// When the coin's first bar opened.
        first: Millis,
    },
    /// The ledger of an exchange is asked for whose open interest is not known.
    #[error("the open interest of {coin:?} on {exchange:?} is not known by {now}")]
    UnknownVenue {
        /// The coin asked for.
        coin: String,
        /// The exchange asked for.
        exchange: String,
        /// The instant asked about.
        now: Millis,
        /// The exchanges whose open interest is known.
        known: Vec<String>,
    },
    /// A map of so many bins, or of so wide ones, is none.
    #[error("{bin} is out of bounds for a map of {coin:?}, whose price is {price}")]
    BadBin {
        /// The coin asked for.
        coin: String,
        /// The width asked for.
        bin: String,
        /// The width at which there are as many bins as there may be.
        least: String,
        /// The current price.
        price: String,
    },
    /// No position of the coin is at hand.
    #[error(
        "no position of {coin:?} is there to be read: positions are collected where that is asked for (liqdata collect --positions), and those of a damaged file are told by no answer (liqdata verify)"
    )]
    NoPositions {
        /// The coin asked for.
        coin: String,
    },
    /// Bars of the length asked for cannot be made of the bars of the coin.
    #[error(
        "bars of {} cannot be made of the bars of {coin:?}, which are {} long; {}",
        span(*.size), either(.lengths), instead(.lengths, *.size)
    )]
    NoSuchLength {
        /// The coin asked for.
        coin: String,
        /// The length asked for, in milliseconds.
        size: i64,
        /// The lengths of the coin's bars, in milliseconds, the shortest first.
        lengths: Vec<i64>,
    },
}

fn listed(names: &[String]) -> String {
    if names.is_empty() {
        "no coins".to_owned()
    } else {
        names.join(", ")
    }
}

/// One length or another.
fn either(lengths: &[i64]) -> String {
    let lengths: Vec<String> = lengths.iter().map(|length| span(*length)).collect();
    lengths.join(" or ")
}

/// Which lengths would do where bars of `size` cannot be made.
fn instead(lengths: &[i64], size: i64) -> String {
    if lengths
        .iter()
        .any(|length| *length > 0 && size % length == 0)
    {
        "none of them lies within one, which opens at a multiple of its length since the epoch"
            .to_owned()
    } else {
        format!("allowed: whole multiples of {}", either(lengths))
    }
}

/// A length of time in the largest unit that measures it in whole numbers.
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
