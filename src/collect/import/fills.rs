//! Conversion of the fills of a Hyperliquid node: which are liquidations, and of which side.

use std::collections::BTreeMap;
use std::sync::Arc;

use arrow_array::StringArray;
use rust_decimal::Decimal;

use crate::collect::import::column_rows::{boolean, text};
use crate::collect::import::refused::RowReason;
use crate::feeds::hyperliquid::DELEVERAGED;
use crate::tables::{InputCells, exact_cell};

/// The fills that are no liquidation, or of an account that was deleveraged.
pub(super) fn skipped_fills(found: &[(String, InputCells)], rows: usize) -> Vec<usize> {
    let column = |wanted: &str| {
        found
            .iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, cells)| cells)
    };
    let liquidated = column("is_liquidation");
    let direction = column("direction");
    (0..rows)
        .filter(|row| {
            let is_none = liquidated.is_some_and(|cells| match cells {
                InputCells::Arrow(array) => boolean(array, *row) != Some(true),
                cells @ InputCells::Source(_) => text(cells.at(*row)) != "true",
            });
            is_none || direction.is_some_and(|cells| text(cells.at(*row)) == DELEVERAGED)
        })
        .collect()
}

/// Reads the side of fills, and finds faults of their coin and side.
pub(super) fn fills(found: &mut [(String, InputCells)], faults: &mut BTreeMap<usize, RowReason>) {
    let column = |wanted: &str| {
        found
            .iter()
            .find(|(name, _)| name == wanted)
            .map(|(_, cells)| cells)
    };
    let cell = |name: &str, row: usize| column(name).map_or("".into(), |cells| text(cells.at(row)));
    let rows = column("side").map_or(0, InputCells::len);
    let mut sides = Vec::with_capacity(rows);
    for row in 0..rows {
        let (coin, quote) = (cell("symbol", row), cell("quote", row));
        let before = column("start_position").and_then(|cells| exact_cell(&cells.at(row)));
        let word = cell("side", row);
        let mut fault = |column: &'static str, reason: &str, shown: &str| {
            faults
                .entry(row)
                .or_insert((column, reason.to_owned(), shown.to_owned()));
        };
        if coin.contains(':') || !quote.is_empty() && quote != "USDC" {
            fault(
                "coin",
                "the quote currency of this builder's market is unknown",
                &coin,
            );
        } else if coin.contains(['/', '@', '#', '+']) {
            fault("coin", "not a perpetual contract", &coin);
        }
        let side = match (&*word, before) {
            ("A" | "sell", Some(before)) if before > Decimal::ZERO => "SELL",
            ("B" | "buy", Some(before)) if before < Decimal::ZERO => "BUY",
            ("A" | "B" | "sell" | "buy", Some(before)) => {
                let reason = "the fill does not close the position";
                fault("startPosition", reason, &format!("{word} of {before}"));
                "BUY"
            }
            ("A" | "B" | "sell" | "buy", None) => {
                fault(
                    "startPosition",
                    "not an exact decimal",
                    &cell("start_position", row),
                );
                "BUY"
            }
            (other, _) => {
                fault("side", "not A or B", other);
                "BUY"
            }
        };
        sides.push(Some(side));
    }
    let sides: StringArray = sides.into_iter().collect();
    if let Some((_, cells)) = found.iter_mut().find(|(name, _)| name == "side") {
        *cells = InputCells::Arrow(Arc::new(sides));
    }
}
