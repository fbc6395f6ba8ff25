//! The last price of each market, where a venue tells them all at once: with its lists of markets, or by requests of its own.
//!
//! They measure the orders of coins that nothing else measures, so a market that tells none, such as one that is not traded
//! yet, is passed over.

use rust_decimal::Decimal;

use super::ask::Ask;
use super::error::Error;
use super::event::is_above_zero;
use super::frame::Frame;
use super::members::{Cell, Part};
use super::place::{Place, text_of};
use crate::wire::exact_decimal;

/// The last price that a venue tells of a market, of one listed unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quoted {
    /// The venue's own name of the contract.
    pub native_id: String,
    /// The price.
    pub price: Decimal,
}

impl Quoted {
    /// The price of a market, where it tells one.
    pub(super) fn read(native_id: Cell<'_>, price: Cell<'_>) -> Option<Self> {
        let native_id = text_of(native_id)?.into_owned();
        let price = exact_decimal(&text_of(price)?).ok()?;
        is_above_zero(price).then_some(Self { native_id, price })
    }
}

/// How a venue tells the last price of its markets.
#[derive(Debug)]
pub(super) struct Prices {
    /// The requests that tell them; none where the lists of markets do.
    pub(super) asks: fn() -> Vec<Ask>,
    /// The prices in a reply.
    pub(super) read: fn(&Frame<'_>) -> Result<Vec<Quoted>, Error>,
}

impl Prices {
    /// Those that stand in the lists of markets.
    pub(super) const fn listed(read: fn(&Frame<'_>) -> Result<Vec<Quoted>, Error>) -> Self {
        Self {
            asks: Vec::new,
            read,
        }
    }
}

/// The prices in a list of markets.
pub(super) fn quoted<T>(
    place: &Place<'_>,
    rows: &Part<T>,
    read: impl Fn(&T) -> Option<Quoted>,
) -> Result<Vec<Quoted>, Error> {
    let rows = place.list(rows)?.iter().filter_map(|row| match row {
        Part::Object(row) => read(row),
        _ => None,
    });
    Ok(rows.collect())
}
