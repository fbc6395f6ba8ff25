//! Orders as they lie in a file: column by column, names by numbers, amounts as whole numbers.
//!
//! Sums over millions of orders are made of columns several times as fast as of one order after the other: a name is
//! looked at once for all rows that have it, and no amount becomes a decimal before it is told.

use rust_decimal::Decimal;

use crate::model::Side;

/// What is looked at of the orders of a file beside their instants, sides and USD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FiledColumns {
    /// Their exchanges.
    pub exchange: bool,
    /// Their pairs.
    pub symbol: bool,
    /// Their coins.
    pub coin: bool,
    /// Only those of at least so many USD.
    pub least: Option<Decimal>,
}

/// A column whose values are known by numbers.
#[derive(Clone, Debug)]
pub struct Numbered<'a, T> {
    /// The values; the number of one is its place.
    pub values: Vec<T>,
    /// The number of each row's value; all have one.
    pub numbers: &'a [i32],
}

impl<T: Copy> Numbered<'_, T> {
    /// The value of a row.
    #[must_use]
    pub fn at(&self, row: usize) -> Option<T> {
        let number = usize::try_from(*self.numbers.get(row)?).ok()?;
        self.values.get(number).copied()
    }
}

/// Orders of a file, in the order in which they lie there, which is that of time; all columns are of one length.
#[derive(Clone, Debug)]
pub struct FiledOrders<'a> {
    /// Event times, epoch milliseconds.
    pub timestamp: &'a [i64],
    /// Notionals in 10⁻¹⁸ USD, each of which a [`Decimal`] can hold.
    pub value_usd: &'a [i128],
    /// Sides of the liquidated positions.
    pub side: Numbered<'a, Side>,
    /// Exchanges, where they were asked for.
    pub exchange: Option<Numbered<'a, &'a str>>,
    /// Pairs, where they were asked for.
    pub symbol: Option<Numbered<'a, &'a str>>,
    /// Coins, where they were asked for.
    pub coin: Option<Numbered<'a, &'a str>>,
}
