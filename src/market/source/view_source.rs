//! The trait for estimates: views of a source.
//!
//! A [`View`] is a read-only picture of the observations as of one instant.

use std::fmt::Debug;

use crate::engine::View;
use crate::market::refusal::Refusal;
use crate::model::{Chosen, Damage, Millis};

/// The part of a coin's history that a reply is computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredHistory {
    /// Coin symbol.
    pub coin: String,
    /// Length of the window in milliseconds.
    pub range: i64,
    /// Name of the window, as in queries.
    pub range_name: &'static str,
    /// Whether the estimate uses liquidation orders.
    pub orders: bool,
    /// The exchange of the orders; all exchanges if absent.
    pub exchange: Option<String>,
    /// Age of the last bar, in milliseconds, from which on the bar is too old for the estimate.
    pub lasts: i64,
    /// The ledger of all open positions, if the estimate counts these.
    pub ledger: Option<RequiredLedger>,
    /// Whether the estimate places known positions of accounts.
    pub positions: bool,
}

/// The ledger of all open positions that a reply is computed from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredLedger {
    /// The model; the default one of the coin if absent.
    pub model: Option<Chosen>,
    /// Milliseconds before the last close at which the first state is needed.
    pub back: i64,
}

/// Views of the observations as of an instant; without `as_of`, as of now.
pub(crate) trait ViewSource: Debug + Send + Sync {
    /// Calls `work` with the orders known at `as_of` and with the history that `needed` describes.
    fn view(
        &self,
        as_of: Option<Millis>,
        needed: Option<&RequiredHistory>,
        work: &mut dyn FnMut(&View<'_>),
    ) -> Result<(), Refusal>;

    /// The damaged files that may affect the estimate for `needed`. The last bar of the estimate closed at `closed`.
    fn damage_behind(
        &self,
        _needed: &RequiredHistory,
        _closed: Millis,
    ) -> Result<Vec<Damage>, Refusal> {
        Ok(Vec::new())
    }

    /// Whether one view as of now can answer queries as of any earlier instant from the data known at that instant.
    fn shows_the_past(&self) -> bool {
        true
    }

    /// The instant that a query is about: `as_of`, or else the instant that the source was opened as of.
    fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        Ok(as_of)
    }

    /// The instant that the source was opened as of, if any.
    fn opened_as_of(&self) -> Option<Millis> {
        None
    }
}

/// Calls `work` with a view of `source`; returns its result.
pub(crate) fn view_of<T>(
    source: &(impl ViewSource + ?Sized),
    as_of: Option<Millis>,
    needed: Option<&RequiredHistory>,
    work: impl FnOnce(&View<'_>) -> T,
) -> Result<T, Refusal> {
    let (mut work, mut made) = (Some(work), None);
    source.view(as_of, needed, &mut |view| {
        made = work.take().map(|work| work(view));
    })?;
    made.ok_or_else(|| Refusal::defect("a source of observations showed no view"))
}
