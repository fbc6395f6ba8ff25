//! The prices that an estimate shows, and the sums over what it does not show.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::{Side, Vocabulary};

/// Which prices an estimate shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Span {
    /// Prices that the market had in the range, or that lie within four standard deviations of its moves.
    Reach,
    /// All prices.
    All,
}

impl Vocabulary for Span {
    const ALL: &'static [Self] = &[Self::Reach, Self::All];

    fn name(self) -> &'static str {
        match self {
            Self::Reach => "reach",
            Self::All => "all",
        }
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A requested price at which an estimate begins or ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PriceBound(f64);

// A bound is never NaN.
impl Eq for PriceBound {}

impl PriceBound {
    /// A bound; `None` unless `price` is finite and above zero.
    #[must_use]
    pub fn new(price: f64) -> Option<Self> {
        (price.is_finite() && price > 0.0).then_some(Self(price))
    }

    /// The bound as a number.
    #[must_use]
    pub fn get(self) -> f64 {
        self.0
    }
}

/// The requested prices of an estimate: a span, with ends that replace its own.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShownPrices {
    /// The span.
    pub span: Span,
    /// The lowest price, if it is given.
    pub low: Option<f64>,
    /// The highest price, if it is given.
    pub high: Option<f64>,
}

impl ShownPrices {
    /// All prices.
    pub const ALL: Self = Self::of(Span::All);

    /// The prices of a span.
    #[must_use]
    pub const fn of(span: Span) -> Self {
        Self {
            span,
            low: None,
            high: None,
        }
    }
}

/// USD of longs and of shorts.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SideUsd {
    /// USD of longs.
    pub long_usd: f64,
    /// USD of shorts.
    pub short_usd: f64,
}

impl SideUsd {
    /// Adds USD to a side.
    pub fn add(&mut self, side: Side, usd: f64) {
        match side {
            Side::Long => self.long_usd += usd,
            Side::Short => self.short_usd += usd,
        }
    }
}

/// USD of longs and of shorts, by heatmap column; NaN in unknown columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ColumnUsd {
    /// USD of longs.
    pub long_usd: Vec<f64>,
    /// USD of shorts.
    pub short_usd: Vec<f64>,
}

/// Distances from the current price at which an estimate is summed, in percent.
pub const DISTANCES: [u8; 4] = [1, 2, 5, 10];

/// USD by side up to a distance from the current price; keys are [`DISTANCES`] in percent.
pub type Within = BTreeMap<i64, SideUsd>;

/// USD by side up to a distance, for one and for seven days.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RangesWithin {
    /// Of the positions opened in the last day.
    pub d1: Option<Within>,
    /// Of the positions opened in the last seven days.
    pub d7: Option<Within>,
}
