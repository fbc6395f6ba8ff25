//! Columns of orders that a file does not state as tables need them: market, key, contract and kind of price.

use std::borrow::Cow;

use rust_decimal::Decimal;

use crate::archive::{Completeness, GivenOrders};
use crate::collect::import::column_rows::text;
use crate::collect::import::occurrence::OrderValues;
use crate::feeds::dumps::{FileMarket, OrderKey};
use crate::model::{DecimalColumn, Labels, Side, stripped};
use crate::tables::{InputCells, RawTable};

/// The price kind of orders if their file format does not define it.
pub(super) const UNKNOWN_PRICE: &str = "unknown";

/// The given cells of a column; `other` gives those that are blank or missing.
pub(super) fn given_or<'a>(
    given: Option<&'a Labels>,
    rows: usize,
    other: impl Fn(usize) -> &'a str,
) -> Labels {
    let cell = |row: usize| given.and_then(|given| given.get(row));
    (0..rows)
        .map(|row| {
            cell(row)
                .filter(|cell| !cell.is_empty())
                .unwrap_or_else(|| other(row))
        })
        .collect()
}

/// The columns from which the keys of a batch of orders are made.
pub(super) struct KeyColumns<'a> {
    key: OrderKey,
    id: Option<&'a InputCells>,
    time: Option<&'a InputCells>,
}

impl<'a> KeyColumns<'a> {
    pub(super) fn of(table: &'a RawTable, key: OrderKey) -> Self {
        Self {
            key,
            id: table.get("id"),
            time: table.get("timestamp_text"),
        }
    }

    /// The id of an order in its file.
    pub(super) fn id(&self, row: usize) -> Option<Cow<'a, str>> {
        let id = text(self.id?.at(row));
        (!id.trim().is_empty() && id != "None").then_some(id)
    }

    /// The key of an order in a file of a recording program or of one exchange. Its numbers have no trailing zeros.
    pub(super) fn key(
        &self,
        (row, id): (usize, Option<&str>),
        contract: &str,
        (side, at, amount, price): OrderValues,
    ) -> String {
        let word = if side == Side::Long { "sell" } else { "buy" };
        match (self.key, id) {
            (OrderKey::Id("hyperliquid"), Some(id)) => {
                let side = if side == Side::Long { "A" } else { "B" };
                ["hyperliquid", contract, id, side].join("|")
            }
            (OrderKey::Id(writer), Some(id)) => [writer, contract, id].join("|"),
            (OrderKey::Id("tardis"), None) => {
                let cell = self.time.map(|cells| text(cells.at(row)));
                let micros = cell.unwrap_or_else(|| at.0.to_string().into());
                format!("tardis|{contract}|{word}|{micros}|{amount}|{price}")
            }
            (OrderKey::Id(writer), None) => {
                format!("{writer}|{contract}|{word}|{}|{amount}|{price}", at.0)
            }
            (OrderKey::Binance, _) => {
                let word = word.to_uppercase();
                format!("binance|{contract}|{word}|{}|{amount}|{price}", at.0)
            }
            (OrderKey::Values, _) => String::new(),
        }
    }
}

/// Columns of orders that come from their markets.
#[derive(Default)]
pub(super) struct MarketColumns {
    exchange: Labels,
    symbol: Labels,
    coin: Labels,
    price_kind: Labels,
    completeness: Vec<Completeness>,
    qty: DecimalColumn,
    value_usd: DecimalColumn,
    is_unvalued: Vec<bool>,
}

impl MarketColumns {
    pub(super) fn kind(&mut self, kind: Option<&str>) {
        self.price_kind.push(kind.unwrap_or(UNKNOWN_PRICE));
    }

    pub(super) fn push(
        &mut self,
        market: Option<&FileMarket>,
        qty: Decimal,
        value: Option<Decimal>,
    ) {
        if market.is_none() {
            self.kind(None);
        }
        self.exchange
            .push(market.map_or("", |market| market.exchange));
        self.symbol.push(market.map_or("", |market| &market.symbol));
        self.coin.push(market.map_or("", |market| &market.coin));
        self.completeness
            .push(market.map_or(Completeness::Unknown, |market| market.completeness));
        self.qty.push(qty);
        self.value_usd.push(value.unwrap_or_default());
        self.is_unvalued.push(value.is_none());
    }

    pub(super) fn put(self, orders: &mut GivenOrders, is_unvalued: &mut Vec<bool>) {
        orders.exchange = self.exchange;
        orders.symbol = self.symbol;
        orders.coin = Some(self.coin);
        orders.price_kind = Some(self.price_kind);
        orders.completeness = Some(self.completeness);
        orders.qty = self.qty;
        orders.value_usd = self.value_usd;
        *is_unvalued = self.is_unvalued;
    }
}

/// Side, time, quantity and price of an order, without trailing zeros.
pub(super) fn values(orders: &GivenOrders, row: usize) -> OrderValues {
    let number = |column: &DecimalColumn| stripped(column.get(row).unwrap_or_default());
    (
        orders.side.get(row).copied().unwrap_or(Side::Long),
        orders.timestamp.get(row).copied().unwrap_or_default(),
        number(&orders.qty),
        number(&orders.price),
    )
}
