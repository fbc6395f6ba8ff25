//! Columns that state the same thing: rows in which they differ are faulty.

use std::borrow::Cow;
use std::collections::HashMap;

use rust_decimal::Decimal;

use crate::model::{
    DecimalColumn, Labels, Millis, Side, Symbol, coin_of_base, contradicts_product, exchange_name,
    is_coin, named_exchange,
};
use crate::tables::cells::{InputCell, InputCells};
use crate::tables::reading::column_reader::{ColumnReader, is_less_exact};
use crate::tables::reading::times::instant;
use crate::tables::row_fault::RowFault;

/// Maximum difference in milliseconds of two times of an order. Programs round times to seconds.
const APART: i64 = 1000;
/// Maximum relative difference of two quantities of an order.
const ROUNDED: Decimal = Decimal::from_parts(1, 0, 0, false, 6);
/// Words of exchanges for orders and trades that are no liquidations.
const ORDINARY: [&str; 16] = [
    "fill",
    "trade",
    "block",
    "adl",
    "autodeleverage",
    "autodeleveraging",
    "deleverage",
    "deleveraged",
    "deleveraging",
    "assignment",
    "termination",
    "settlement",
    "delivery",
    "funding",
    "stop",
    "takeprofit",
];
/// Words for types of ordinary orders. Liquidation orders of some exchanges have such a type, too.
const ORDER_TYPES: [&str; 2] = ["limit", "market"];
/// Exchanges of which liquidations are orders of such a type.
const WITH_TYPES: [&str; 2] = ["binance", "aster"];
/// Words for orders without a fill.
const UNFILLED: [&str; 6] = [
    "new",
    "canceled",
    "cancelled",
    "rejected",
    "pending",
    "unfilled",
];
/// Words that deny.
const DENIALS: [&str; 8] = ["", "false", "f", "no", "n", "0", "00", "none"];

/// The text of a cell.
fn word<'c>(cell: &'c InputCell<'_>) -> Cow<'c, str> {
    match cell {
        InputCell::Missing => Cow::Borrowed(""),
        InputCell::Text(text) | InputCell::Other(text) => Cow::Borrowed(text.trim()),
        cell if cell.is_missing() => Cow::Borrowed(""),
        cell => Cow::Owned(cell.shown()),
    }
}

/// For each code of a name, which other names were found to differ from it.
type Known = HashMap<u32, HashMap<String, bool>>;

impl ColumnReader<'_> {
    /// Adds a fault for each row in which a cell of another column differs from the one that is read.
    fn check_names(
        &mut self,
        (column, read): (&'static str, &Labels),
        others: &[(&str, &InputCells)],
        differs: impl Fn(&str, &str) -> bool,
        reason: &str,
    ) {
        for (name, cells) in others {
            let mut known = Known::new();
            for (row, code) in read.codes().iter().enumerate() {
                if !self.look(row) {
                    return;
                }
                let cell = cells.at(row);
                let other = word(&cell);
                if other.is_empty() {
                    continue;
                }
                let known = known.entry(*code).or_default();
                let is_other = known.get(&*other).copied().unwrap_or_else(|| {
                    let mine = read.get(row).unwrap_or_default();
                    let differs = !mine.is_empty() && differs(mine, &other);
                    known.insert(other.to_string(), differs);
                    differs
                });
                if is_other {
                    let mine = read.get(row).unwrap_or_default();
                    let shown = match column {
                        "coin" => format!("{other} (symbol {mine})"),
                        _ => format!("{mine} ({name} {other})"),
                    };
                    let reason = reason.replace("{}", name);
                    self.fault(RowFault::new(row, column, reason, shown));
                }
            }
        }
    }

    /// Compares the names of exchanges in several columns. A word that names no exchange says nothing.
    pub(super) fn check_exchanges(&mut self, exchanges: &Labels) {
        let table = self.table;
        let differs = |mine: &str, other: &str| {
            named_exchange(other).is_some_and(|other| other != exchange_name(mine))
        };
        let others = table.others("exchange");
        let reason = "differs from the column \"{}\"";
        self.check_names(("exchange", exchanges), &others, differs, reason);
    }

    /// Compares the symbols with all other columns that may name the contract or the coin.
    pub(super) fn check_symbols(&mut self, symbols: &Labels) {
        let table = self.table;
        let pairs = table.others("symbol");
        let reason = "differs from the column \"{}\"";
        self.check_names(("symbol", symbols), &pairs, is_other_pair, reason);
        let named: Vec<(&str, &InputCells)> = table
            .all("instrument")
            .chain(table.all("native_id"))
            .collect();
        let reason = "names another coin than the column \"{}\"";
        self.check_names(("symbol", symbols), &named, names_other_coin, reason);
        if table.has("symbol") {
            let coins: Vec<(&str, &InputCells)> = table.all("coin").collect();
            let reason = "names another coin than the symbol";
            let is_other = |symbol: &str, coin: &str| {
                Symbol::read(symbol).is_some_and(|symbol| is_other_coin(&symbol, coin))
            };
            self.check_names(("coin", symbols), &coins, is_other, reason);
        }
    }

    /// Compares the decimals of several columns with those that are read.
    pub(super) fn check_decimals(&mut self, column: &'static str, read: &DecimalColumn) {
        let table = self.table;
        for (name, cells) in table.others(column) {
            for (row, one) in read.iter().enumerate() {
                if !self.look(row) {
                    return;
                }
                let cell = cells.at(row);
                if cell.is_missing() {
                    continue;
                }
                let is_same = Self::exact(&cell).is_ok_and(|other| {
                    if column == "value_usd" {
                        !contradicts_product(Decimal::ONE, one, other)
                    } else {
                        let apart = one.checked_sub(other).map(|apart| apart.abs());
                        let most = one.abs().checked_mul(ROUNDED);
                        apart.zip(most).is_some_and(|(apart, most)| apart <= most)
                    }
                });
                if !is_same {
                    let reason = format!("differs from the column {name:?}");
                    let shown = format!("{} ({name} {})", one.normalize(), cell.shown());
                    self.fault(RowFault::new(row, column, reason, shown));
                }
            }
        }
    }

    /// Reads decimals that a row may lack; `None` if there is no such column. Rows in which several columns of this
    /// meaning differ are faulty.
    pub(super) fn stated_decimals(&mut self, column: &'static str) -> Option<Vec<Option<Decimal>>> {
        self.table.get(column)?;
        let (numbers, missing) = self.some_decimals(column, true);
        let mut stated: Vec<Option<Decimal>> = numbers.iter().map(Some).collect();
        for row in missing {
            if let Some(cell) = stated.get_mut(row) {
                *cell = None;
            }
        }
        for (name, cells) in self.table.others(column) {
            for (row, stated) in stated.iter_mut().enumerate() {
                let cell = cells.at(row);
                let Ok(other) = Self::exact(&cell) else {
                    if !cell.is_missing() {
                        let reason = format!("the column {name:?} is not an exact decimal");
                        self.fault(RowFault::new(row, column, reason, cell.shown()));
                    }
                    continue;
                };
                let one = *stated.get_or_insert(other);
                if contradicts_product(Decimal::ONE, one, other) {
                    let reason = format!("differs from the column {name:?}");
                    let shown = format!("{} ({name} {other})", one.normalize());
                    self.fault(RowFault::new(row, column, reason, shown));
                }
            }
        }
        Some(stated)
    }

    /// Compares the instants of several columns. A date says only the day, and a cell that is none says nothing.
    pub(super) fn check_instants(&mut self, read: &[Millis]) {
        let table = self.table;
        for (name, cells) in table.others("timestamp") {
            for (row, at) in read.iter().enumerate() {
                if !self.look(row) {
                    return;
                }
                let cell = cells.at(row);
                let Ok(other) = instant(&cell) else {
                    continue;
                };
                let is_date = matches!(&cell, InputCell::Text(text) if text.trim().len() <= 10 && text.contains('-'));
                let is_near = |one: i64, other: i64| one.abs_diff(other) < APART.unsigned_abs();
                let is_same = if is_date {
                    at.0.div_euclid(Millis::DAY) == other.0.div_euclid(Millis::DAY)
                } else {
                    is_near(at.0, other.0)
                        || is_near(at.0, other.0.saturating_mul(1000))
                        || is_near(at.0, other.0 / 1000)
                        || is_near(at.0, other.0 / 1_000_000)
                };
                if !is_same {
                    let reason = format!("differs from the column {name:?}");
                    let shown = format!("{at} ({name} {})", cell.shown());
                    self.fault(RowFault::new(row, "timestamp", reason, shown));
                }
            }
        }
    }

    /// Adds a fault for each row in which another column says the other side.
    pub(super) fn check_sides(&mut self, sides: &[Side]) {
        let table = self.table;
        let columns: Vec<(&str, &InputCells)> = table
            .all("liquidated_side")
            .chain(table.others("position_side"))
            .collect();
        for (name, cells) in columns {
            for (row, side) in sides.iter().enumerate() {
                let cell = cells.at(row);
                let other = word(&cell);
                if Side::read(&other).is_some_and(|other| other != *side) {
                    let reason = format!("contradicts the column {name:?}");
                    let shown = format!("{} ({name} {other})", side.lower());
                    self.fault(RowFault::new(row, "side", reason, shown));
                }
            }
        }
    }

    /// Adds a fault for each row that a column says is no liquidation, or no filled order.
    pub(super) fn check_liquidations(&mut self, exchanges: &Labels) {
        let table = self.table;
        let is_tape = table.column_of_trades().is_some() && !table.has("is_liquidation");
        for column in ["is_liquidation", "type", "status"] {
            for (shown, cells) in table.all(column) {
                for row in 0..exchanges.codes().len() {
                    if !self.look(row) {
                        return;
                    }
                    let cell = cells.at(row);
                    let text = word(&cell);
                    let plain: String = text
                        .to_lowercase()
                        .chars()
                        .filter(char::is_ascii_alphanumeric)
                        .collect();
                    let says = |words: &[&str]| words.contains(&plain.as_str());
                    let reason = match column {
                        "is_liquidation" => says(&DENIALS).then_some("the row is no liquidation"),
                        "status" => says(&UNFILLED).then_some("the order was not filled"),
                        _ => {
                            let exchange = exchange_name(exchanges.get(row).unwrap_or_default());
                            let is_order = says(&ORDER_TYPES)
                                && matches!(shown, "type" | "trade_type" | "tradetype")
                                && !WITH_TYPES.contains(&exchange.as_str());
                            let is_other =
                                !plain.contains("liq") && (is_tape || is_order || says(&ORDINARY));
                            is_other.then_some("the row is no liquidation")
                        }
                    };
                    if let Some(reason) = reason {
                        self.fault(RowFault::new(
                            row,
                            column,
                            reason,
                            format!("{text} ({shown})"),
                        ));
                    }
                }
            }
        }
    }
}

/// Whether a coin is another one than that of the symbol.
fn is_other_coin(symbol: &Symbol, coin: &str) -> bool {
    if coin.is_empty() || is_less_exact(symbol, coin) {
        return false;
    }
    let named = Symbol::read(coin);
    let is_same = named.is_some_and(|named| named.coin() == symbol.coin());
    !is_same && coin_of_base(coin).0 != symbol.coin()
}

/// Whether a word certainly names a contract or a coin, and another coin than the symbol.
fn names_other_coin(symbol: &str, word: &str) -> bool {
    let (Some(symbol), Some(named)) = (Symbol::read(symbol), Symbol::read(word)) else {
        return false;
    };
    let is_certain = named.is_clear() && (named.quote().is_some() || is_coin(named.coin()));
    is_certain && named.coin() != symbol.coin() && is_other_coin(&symbol, word)
}

/// Whether two columns of pairs name two contracts.
fn is_other_pair(symbol: &str, other: &str) -> bool {
    match (Symbol::read(symbol), Symbol::read(other)) {
        (Some(one), Some(two)) if one.quote().is_some() && two.quote().is_some() => {
            one.name() != two.name()
        }
        (Some(one), Some(_)) => is_other_coin(&one, other),
        _ => false,
    }
}
