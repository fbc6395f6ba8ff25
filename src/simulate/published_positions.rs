//! The account positions that one exchange of a simulated market publishes.

use rust_decimal::Decimal;
use rust_decimal::prelude::FromPrimitive;

use super::coins::SimulatedCoin;
use super::traders::PositionTerms;
use crate::model::{Millis, PositionRow};

/// The published positions in one coin, as of one instant.
#[derive(Debug, Default)]
pub(super) struct PublishedPositions {
    pub(super) at: Millis,
    /// The mark price.
    pub(super) price: f64,
    /// Each position with its exchange, oldest first.
    pub(super) open: Vec<(&'static str, PositionTerms)>,
    /// Open interest of all exchanges, in lots of one side.
    pub(super) lots: i64,
}

impl PublishedPositions {
    /// The positions as rows of one snapshot. Accounts are numbered, one for each position.
    pub(super) fn rows(&self, coin: &SimulatedCoin) -> Vec<PositionRow> {
        let exact = |value: f64| Decimal::from_f64(value).unwrap_or_default();
        let lots: i64 = self.open.iter().map(|(_, terms)| terms.lots).sum();
        let all = 2.0 * coin.quantity(self.lots);
        let seen_share = (all > 0.0).then(|| coin.quantity(lots) / all);
        let row = |(number, (exchange, terms)): (usize, &(&'static str, PositionTerms))| {
            let qty = coin.quantity(terms.lots);
            PositionRow {
                exchange: (*exchange).to_owned(),
                account: format!("simulated-{number}"),
                coin: coin.symbol.to_owned(),
                side: terms.side,
                qty: exact(qty),
                entry_price: Some(exact(terms.entry)),
                leverage: Some(terms.leverage),
                margin_mode: Some("isolated".to_owned()),
                liquidation_price: Some(exact(terms.liquidation)),
                value_usd: exact(qty * self.price),
                observed_at: self.at,
                timestamp: self.at,
                seen_share,
            }
        };
        (1..).zip(&self.open).map(row).collect()
    }
}
