//! Readings of open interest in USD on their way from a file into an archive, which keeps coins.
//!
//! What a coin was worth is told by the archive's own bars, and by whoever knows how readings are held against them.

use crate::feeds::dumps::RowReading;

/// Why a reading is not kept that has no price.
pub(super) const UNPRICED: &str =
    "open_interest_usd: the archive has no bar of its time to bring it to coins with";

/// Brings readings in USD to coins, each or why it is not; a sentence where they are not USD.
pub type ToCoins<'a> =
    dyn FnMut(Vec<RowReading>) -> Result<Vec<Result<RowReading, String>>, String> + 'a;

/// A reading in coins, or why it has no price, and where it stood.
type Brought = (Result<RowReading, String>, Place);

/// Where a row stood: the number of its file, and its line there.
type Place = (usize, u64);

/// Readings in USD, and where each stood.
#[derive(Debug, Default)]
pub(super) struct InUsd {
    rows: Vec<RowReading>,
    places: Vec<Place>,
}

impl InUsd {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn add(&mut self, row: RowReading, place: Place) {
        self.rows.push(row);
        self.places.push(place);
    }

    /// The readings in coins, each with where it stood.
    pub(super) fn brought(self, to_coins: &mut ToCoins<'_>) -> Result<Vec<Brought>, String> {
        let made = to_coins(self.rows)?;
        Ok(made.into_iter().zip(self.places).collect())
    }
}
