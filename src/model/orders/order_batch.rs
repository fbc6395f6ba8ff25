//! Batches of stored orders in columns, with dictionary-encoded names and fixed-point amounts.
//!
//! Totals over millions of orders are several times faster by column than by order: each distinct name is looked up
//! once, and no amount is converted to a decimal before the result.

use rust_decimal::Decimal;

use crate::model::Side;

/// Which columns of a batch to read, in addition to time, side and USD.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate column, requested or not"
)]
pub struct FiledColumns {
    /// Whether to read exchanges.
    pub exchange: bool,
    /// Whether to read trading pairs.
    pub symbol: bool,
    /// Whether to read coins.
    pub coin: bool,
    /// Whether to read prices and quantities.
    pub amounts: bool,
    /// Minimum USD value of the orders to read.
    pub least: Option<Decimal>,
}

/// A dictionary-encoded column: a code per row, and the distinct values.
#[derive(Clone, Debug)]
pub struct Numbered<'a, T> {
    /// The distinct values; the index of a value is its code.
    pub values: Vec<T>,
    /// The code of each row.
    pub numbers: &'a [i32],
}

impl<T: Copy> Numbered<'_, T> {
    /// The value in `row`.
    #[must_use]
    pub fn at(&self, row: usize) -> Option<T> {
        let number = usize::try_from(*self.numbers.get(row)?).ok()?;
        self.values.get(number).copied()
    }
}

/// The orders of one file in time order. All columns have the same length.
#[derive(Clone, Debug)]
pub struct FiledOrders<'a> {
    /// Event times, epoch milliseconds.
    pub timestamp: &'a [i64],
    /// Notionals in units of 10⁻¹⁸ USD; each fits a `Decimal`.
    pub value_usd: &'a [i128],
    /// Prices in units of 10⁻¹⁸, if requested.
    pub price: Option<&'a [i128]>,
    /// Quantities in units of 10⁻¹⁸, if requested.
    pub qty: Option<&'a [i128]>,
    /// Sides of the liquidated positions.
    pub side: Numbered<'a, Side>,
    /// Exchanges, if requested.
    pub exchange: Option<Numbered<'a, &'a str>>,
    /// Trading pairs, if requested.
    pub symbol: Option<Numbered<'a, &'a str>>,
    /// Coins, if requested.
    pub coin: Option<Numbered<'a, &'a str>>,
}
