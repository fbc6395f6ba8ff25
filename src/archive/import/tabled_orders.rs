//! Orders of a table by columns.
//!
//! Nothing names them, so that what tells one from all others is made of what it says, and of how often the same stood
//! before: nothing tells that one of two equal rows stands there by mistake.

use std::collections::HashMap;

use rust_decimal::Decimal;

use crate::archive::catalog::manifest::Partition;
use crate::archive::coverage::sessions::ImportedSession;
use crate::archive::import::tabled::{Cells, Sound, Tabled, attos, is_time, spelled, taken};
use crate::archive::rows::orders::{MAX_ORDER_USD, OrderRow};
use crate::archive::rows::row::check_time;
use crate::model::{
    Completeness, DecimalColumn, FixedPoint, Labels, Millis, Order, Side, Symbol, Vocabulary,
    coin_of_pair, exchange_name, is_far_from_product, is_worth_its_product, push_decimal,
};

/// What a price of a table is a price of.
const PRICE_KIND: &str = "fill";
/// A table does not say whether it tells every order.
const COMPLETENESS: Completeness = Completeness::Unknown;

/// The numbers of an order's exchange and pair, and its side.
type Names<'a> = (Option<&'a u32>, Option<&'a u32>, Option<&'a Side>);

/// What a table says of its orders, column by column, names as it spells them.
#[derive(Clone, Debug, Default)]
pub struct GivenOrders {
    /// Exchanges.
    pub exchange: Labels,
    /// Pairs.
    pub symbol: Labels,
    /// Coins; blank where the pair says it.
    pub coin: Option<Labels>,
    /// Sides of the positions.
    pub side: Vec<Side>,
    /// Prices.
    pub price: DecimalColumn,
    /// Quantities in base units.
    pub qty: DecimalColumn,
    /// Notionals in USD.
    pub value_usd: DecimalColumn,
    /// Event times.
    pub timestamp: Vec<Millis>,
    /// When they were received; when they happened where that is not known.
    pub received_at: Vec<Millis>,
    /// What fills of one liquidation have in common; blank where that is not known.
    pub group_id: Option<Labels>,
}

/// Orders of a table, in our spelling.
#[derive(Clone, Debug, Default)]
pub struct OrderTable {
    given: GivenOrders,
    exchange: Labels,
    symbol: Labels,
    coin: Labels,
    /// How often the same stood there up to a row, where that is not once.
    times: HashMap<usize, u32>,
}

impl OrderTable {
    /// The orders of these columns; `None` where they are not of one length.
    #[must_use]
    pub fn of(given: GivenOrders) -> Option<Self> {
        let rows = given.timestamp.len();
        let lengths = [
            given.exchange.len(),
            given.symbol.len(),
            given.coin.as_ref().map_or(rows, Labels::len),
            given.side.len(),
            given.price.len(),
            given.qty.len(),
            given.value_usd.len(),
            given.received_at.len(),
            given.group_id.as_ref().map_or(rows, Labels::len),
        ];
        if lengths.iter().any(|length| *length != rows) {
            return None;
        }
        let exchange = spelled(&given.exchange, exchange_name)?;
        let symbol = spelled(&given.symbol, |pair| {
            Symbol::read(pair).map_or_else(|| pair.to_owned(), |named| named.name().to_owned())
        })?;
        let of_pair = spelled(&given.symbol, |pair| coin_of_pair(pair).0)?;
        let coin = match &given.coin {
            None => of_pair,
            Some(own) => (own.iter().zip(of_pair.iter()))
                .map(|(own, of_pair)| if own.is_empty() { of_pair } else { own })
                .collect(),
        };
        let mut table = Self {
            given,
            exchange,
            symbol,
            coin,
            times: HashMap::new(),
        };
        table.times = table.counted();
        Some(table)
    }

    /// How many orders there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.given.timestamp.len()
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.timestamp.is_empty()
    }

    /// The row at a place.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<OrderRow> {
        let mut dedupe_key = String::with_capacity(96);
        self.write_key(row, &mut dedupe_key);
        Some(OrderRow {
            order: Order {
                exchange: self.exchange.get(row)?.to_owned(),
                symbol: self.symbol.get(row)?.to_owned(),
                side: *self.given.side.get(row)?,
                price: self.given.price.get(row)?,
                qty: self.given.qty.get(row)?,
                value_usd: self.given.value_usd.get(row)?,
                timestamp: *self.given.timestamp.get(row)?,
            },
            coin: self.coin.get(row)?.to_owned(),
            price_kind: PRICE_KIND.to_owned(),
            completeness: COMPLETENESS,
            native_id: None,
            dedupe_key,
            received_at: *self.given.received_at.get(row)?,
            raw: None,
            group_id: self.group(row).map(str::to_owned),
        })
    }

    /// What an order has in common with others, where that is known.
    fn group(&self, row: usize) -> Option<&str> {
        let group = self.given.group_id.as_ref()?.get(row)?;
        (!group.is_empty()).then_some(group)
    }

    /// When an order happened.
    #[must_use]
    pub fn timestamp(&self, row: usize) -> Option<Millis> {
        self.given.timestamp.get(row).copied()
    }

    /// Why the worth of an order is not taken, and what stands there: it contradicts the price and the quantity.
    #[must_use]
    pub fn contradiction(&self, row: usize) -> Option<(String, String)> {
        let GivenOrders {
            price,
            qty,
            value_usd,
            ..
        } = &self.given;
        if !is_far_from_product(price.f64(row)?, qty.f64(row)?, value_usd.f64(row)?)
            || !is_worth_its_product(self.exchange.get(row)?, self.given.symbol.get(row)?)
        {
            return None;
        }
        let (price, qty, value) = (price.get(row)?, qty.get(row)?, value_usd.get(row)?);
        Some((
            "orders: value_usd is more than ten times off price × qty".to_owned(),
            format!("{value}, where {price} × {qty} is told"),
        ))
    }

    /// The orders of these rows, in this order.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        let given = &self.given;
        let given = GivenOrders {
            exchange: given.exchange.take(rows),
            symbol: given.symbol.take(rows),
            coin: given.coin.as_ref().map(|coin| coin.take(rows)),
            side: taken(&given.side, rows),
            price: given.price.take(rows),
            qty: given.qty.take(rows),
            value_usd: given.value_usd.take(rows),
            timestamp: taken(&given.timestamp, rows),
            received_at: taken(&given.received_at, rows),
            group_id: given.group_id.as_ref().map(|group| group.take(rows)),
        };
        let mut table = Self {
            given,
            exchange: self.exchange.take(rows),
            symbol: self.symbol.take(rows),
            coin: self.coin.take(rows),
            times: HashMap::new(),
        };
        table.times = table.counted();
        table
    }

    /// That orders of tables tell of a time of an exchange.
    #[must_use]
    pub fn telling(exchange: String, start: Millis, end: Millis) -> ImportedSession {
        ImportedSession {
            exchange,
            completeness: COMPLETENESS,
            start,
            end,
        }
    }

    /// Of which time of which exchange they tell.
    #[must_use]
    pub fn told(&self) -> Vec<ImportedSession> {
        let mut ends: Vec<Option<(Millis, Millis)>> = vec![None; self.exchange.names().len()];
        for (code, at) in self.exchange.codes().iter().zip(&self.given.timestamp) {
            // Its row is refused.
            if check_time("timestamp", *at).is_err() {
                continue;
            }
            if let Some(ends) = ends.get_mut(*code as usize) {
                let (first, last) = ends.unwrap_or((*at, *at));
                *ends = Some((first.min(*at), last.max(*at)));
            }
        }
        let names = self.exchange.names().iter().zip(ends);
        let mut told: Vec<ImportedSession> = names
            .filter_map(|(exchange, ends)| {
                let (start, end) = ends?;
                Some(Self::telling(exchange.clone(), start, end))
            })
            .collect();
        told.sort_by(|one, other| one.exchange.cmp(&other.exchange));
        told
    }

    /// How often the same stood there up to a row, where that is not once. The same has the same time.
    fn counted(&self) -> HashMap<usize, u32> {
        let at = |row: &usize| self.given.timestamp.get(*row);
        let mut rows: Vec<usize> = (0..self.len()).collect();
        if !rows.is_sorted_by_key(&at) {
            rows.sort_by_key(|row| at(row));
        }
        let mut times = HashMap::new();
        let mut met: HashMap<_, u32> = HashMap::new();
        for together in rows.chunk_by(|one, other| at(one) == at(other)) {
            if together.len() < 2 {
                continue;
            }
            met.clear();
            for row in together {
                let count = met.entry(self.said(*row)).or_default();
                *count += 1;
                if *count > 1 {
                    times.insert(*row, *count);
                }
            }
        }
        times
    }

    /// What a row says beside its time and value. Decimals are equal by value.
    fn said(&self, row: usize) -> (Names<'_>, [Option<Decimal>; 2]) {
        (
            (
                self.exchange.codes().get(row),
                self.given.symbol.codes().get(row),
                self.given.side.get(row),
            ),
            [self.given.qty.get(row), self.given.price.get(row)],
        )
    }
}

/// Writes a decimal behind `text` without zeros at its end.
fn push_plain(text: &mut String, column: &DecimalColumn, row: usize) {
    push_decimal(text, column.get(row).unwrap_or_default());
}

impl Tabled for OrderTable {
    type Row = OrderRow;

    fn len(&self) -> usize {
        Self::len(self)
    }

    fn row(&self, row: usize) -> Option<OrderRow> {
        Self::row(self, row)
    }

    fn timestamps(&self) -> &[Millis] {
        &self.given.timestamp
    }

    fn exchanges(&self) -> &Labels {
        &self.exchange
    }

    fn coins(&self) -> &Labels {
        &self.coin
    }

    fn names(&self) -> Sound {
        Sound::of(&[&self.exchange, &self.symbol, &self.coin])
    }

    fn is_sound(&self, names: &Sound, row: usize) -> bool {
        let GivenOrders {
            price,
            qty,
            value_usd,
            timestamp,
            received_at,
            ..
        } = &self.given;
        let is_above = |column| attos(column, row).is_some_and(|value| value > 0);
        // Files that are made of columns have no groups: those of rows do.
        self.group(row).is_none()
            && names.is_named(0, &self.exchange, row)
            && names.is_named(1, &self.symbol, row)
            && names.is_named(2, &self.coin, row)
            && is_above(price)
            && is_above(qty)
            && attos(value_usd, row).is_some_and(|value| (0..=MOST).contains(&value))
            && is_time(timestamp, row, 0)
            && is_time(received_at, row, 0)
    }

    fn arrange(&self, names: &Sound, rows: &mut [usize]) -> bool {
        let times = &self.given.timestamp;
        let place = |row: &usize| (times.get(*row), names.rank(0, &self.exchange, *row));
        let is_later = |one: &usize, other: &usize| times.get(*one) < times.get(*other);
        if rows.is_sorted_by(is_later) {
            return true;
        }
        rows.sort_by_key(place);
        // Few are of the same instant and exchange.
        for together in rows.chunk_by_mut(|one, other| place(one) == place(other)) {
            if together.len() > 1 {
                together.sort_by_cached_key(|row| {
                    let mut key = String::new();
                    self.write_key(*row, &mut key);
                    key
                });
            }
        }
        // The same never stands twice, as it is counted.
        true
    }

    fn cells(&self, column: &'static str, _: Partition) -> Cells<'_> {
        let given = &self.given;
        match column {
            "exchange" => Cells::Named(&self.exchange),
            "symbol" => Cells::Named(&self.symbol),
            "coin" => Cells::Named(&self.coin),
            "side" => Cells::Sides(&given.side),
            "price" => Cells::Exact(&given.price),
            "price_kind" => Cells::Same(PRICE_KIND),
            "qty" => Cells::Exact(&given.qty),
            "value_usd" => Cells::Exact(&given.value_usd),
            "timestamp" => Cells::Times(&given.timestamp, 0),
            "received_at" => Cells::Times(&given.received_at, 0),
            "completeness" => Cells::Same(COMPLETENESS.name()),
            "dedupe_key" => Cells::KeyIndex,
            _ => Cells::Nothing,
        }
    }

    fn write_key(&self, row: usize, text: &mut String) {
        let given = &self.given;
        text.push_str("file|");
        text.push_str(given.symbol.get(row).unwrap_or_default());
        text.push('|');
        text.push_str(given.side.get(row).map_or("", |side| side.name()));
        text.push('|');
        let at = given.timestamp.get(row).copied().unwrap_or_default();
        text.push_str(itoa::Buffer::new().format(at.0));
        text.push('|');
        push_plain(text, &given.qty, row);
        text.push('|');
        push_plain(text, &given.price, row);
        // Of most tables no row stands twice.
        if let Some(times) = self.times.get(&row) {
            text.push('|');
            text.push_str(itoa::Buffer::new().format(*times));
        }
    }
}

/// The largest value of an order in units of 10⁻¹⁸.
const MOST: i128 = {
    assert!(MAX_ORDER_USD.scale() == 0, "a whole number");
    MAX_ORDER_USD.mantissa() * 10_i128.pow(FixedPoint::SCALE as u32)
};

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::archive::import::tabled_orders::*;

    #[test]
    fn what_tells_an_order_from_all_others_stays_what_it_was() {
        let decimals = |texts: [&str; 4]| -> DecimalColumn {
            let values = texts.map(|text| text.parse::<Decimal>().unwrap());
            values.into_iter().collect()
        };
        let at = [Millis(5), Millis(5), Millis(4), Millis(5)].to_vec();
        let given = GivenOrders {
            exchange: ["okex", "okx", "okx", "OKX"].into_iter().collect(),
            symbol: ["BTC-USDT-SWAP"; 4].into_iter().collect(),
            coin: None,
            side: vec![Side::Long; 4],
            price: decimals(["40000.0", "40000", "1000", "40000.00"]),
            qty: decimals(["0.50", "0.5", "100", "0.5"]),
            value_usd: decimals(["1", "1", "1", "1"]),
            timestamp: at.clone(),
            received_at: at,
            group_id: None,
        };
        let table = OrderTable::of(given).unwrap();
        let rows: Vec<OrderRow> = (0..4).map(|row| table.row(row).unwrap()).collect();
        let keys: Vec<&str> = rows.iter().map(|row| row.dedupe_key.as_str()).collect();
        // An archive that was ingested before has these.
        assert_eq!(
            keys,
            [
                "file|BTC-USDT-SWAP|LONG|5|0.5|40000",
                "file|BTC-USDT-SWAP|LONG|5|0.5|40000|2",
                "file|BTC-USDT-SWAP|LONG|4|100|1000",
                "file|BTC-USDT-SWAP|LONG|5|0.5|40000|3"
            ]
        );
        let first = rows.first().unwrap();
        let names = (first.order.exchange.as_str(), first.coin.as_str());
        assert_eq!(names, ("okx", "BTC"));
    }

    #[test]
    fn a_time_that_no_row_may_have_is_none_of_which_they_tell() {
        let ones = || {
            [1, 1, 1]
                .map(Decimal::from)
                .into_iter()
                .collect::<DecimalColumn>()
        };
        let at = [Millis(7), Millis(-1), Millis(5)].to_vec();
        let given = GivenOrders {
            exchange: ["okx"; 3].into_iter().collect(),
            symbol: ["BTCUSDT"; 3].into_iter().collect(),
            side: vec![Side::Long; 3],
            price: ones(),
            qty: ones(),
            value_usd: ones(),
            timestamp: at.clone(),
            received_at: at,
            ..GivenOrders::default()
        };
        let told = OrderTable::of(given).unwrap().told();
        let ends: Vec<(Millis, Millis)> = told.iter().map(|told| (told.start, told.end)).collect();
        assert_eq!(ends, [(Millis(5), Millis(7))]);
    }

    #[test]
    fn columns_of_other_lengths_are_no_table() {
        let given = GivenOrders {
            side: vec![Side::Long],
            ..GivenOrders::default()
        };
        assert!(OrderTable::of(given).is_none());
        assert!(OrderTable::of(GivenOrders::default()).unwrap().is_empty());
    }
}
