//! Tables of liquidation orders to import.
//!
//! A row without a dedupe key gets a key derived from its values and from the number of equal rows before it. Equal
//! rows are therefore all stored, because they may be separate orders.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow_array::ArrayRef;
use arrow_array::builder::StringBuilder;
use foldhash::quality::SeedableRandomState;
use rust_decimal::Decimal;

use crate::archive::catalog::manifest::Partition;
use crate::archive::import::arrays;
use crate::archive::import::column_table::{
    ColumnTable, NameIndex, attos, is_time, segment_columns, spelled, taken,
};
use crate::archive::import::covered_time::CoveredTime;
use crate::archive::rows::orders::{MAX_ORDER_USD, OrderRow, has_time, source_of_key};
use crate::archive::rows::row::{Fault, KeySource, check_time};
use crate::model::{
    Completeness, DecimalColumn, FixedPoint, Labels, Millis, Order, Side, Symbol, Vocabulary,
    coin_of_pair, contradicts_product, exchange_name, is_worth_its_product, push_decimal, seeded,
};

/// Kind of the price if the table does not state it.
const PRICE_KIND: &str = "fill";
/// Completeness if the table does not state it.
const COMPLETENESS: Completeness = Completeness::Unknown;

/// Columns of an order table, with names as spelled in the source.
#[derive(Clone, Debug, Default)]
pub struct GivenOrders {
    /// Exchange.
    pub exchange: Labels,
    /// Traded pair.
    pub symbol: Labels,
    /// Coin; blank if the coin follows from the pair.
    pub coin: Option<Labels>,
    /// Side of the liquidated position.
    pub side: Vec<Side>,
    /// Price.
    pub price: DecimalColumn,
    /// Order quantity in base units.
    pub qty: DecimalColumn,
    /// Value of the order in USD.
    pub value_usd: DecimalColumn,
    /// Event time.
    pub timestamp: Vec<Millis>,
    /// When the order was received; the event time if unknown.
    pub received_at: Vec<Millis>,
    /// Identifier that all fills of one liquidation share; blank if unknown.
    pub group_id: Option<Labels>,
    /// Key that identifies the order on its exchange.
    ///
    /// If blank, the key is derived from the row's values.
    pub dedupe_key: Option<Vec<String>>,
    /// Kind of the price, such as `avg_fill`; if absent or blank, `fill`.
    pub price_kind: Option<Labels>,
    /// Whether the source reports every order; if absent, unknown.
    pub completeness: Option<Vec<Completeness>>,
    /// Identifier that the exchange gave the order; blank if unknown.
    pub native_id: Option<Labels>,
    /// Whether the second and later of equal orders have a key already, so that equal rows without a key are one order.
    ///
    /// Otherwise equal rows without a key are numbered.
    pub is_numbered: bool,
}

/// A table of liquidation orders.
#[derive(Clone, Debug, Default)]
pub struct OrderTable {
    given: GivenOrders,
    exchange: Labels,
    symbol: Labels,
    coin: Labels,
    /// For each repeated row, the number of equal rows up to and including this row.
    ///
    /// At least 2.
    repetitions: HashMap<usize, u32>,
    /// Whether equal rows without a key are one order.
    has_repeats: bool,
}

impl OrderTable {
    /// Creates a table from columns; returns `None` if the lengths of the columns differ.
    #[must_use]
    pub fn of(given: GivenOrders) -> Option<Self> {
        let rows = given.timestamp.len();
        let optional = |length: Option<usize>| length.unwrap_or(rows);
        let lengths = [
            given.exchange.len(),
            given.symbol.len(),
            optional(given.coin.as_ref().map(Labels::len)),
            given.side.len(),
            given.price.len(),
            given.qty.len(),
            given.value_usd.len(),
            given.received_at.len(),
            optional(given.group_id.as_ref().map(Labels::len)),
            optional(given.dedupe_key.as_ref().map(Vec::len)),
            optional(given.price_kind.as_ref().map(Labels::len)),
            optional(given.completeness.as_ref().map(Vec::len)),
            optional(given.native_id.as_ref().map(Labels::len)),
        ];
        if lengths.iter().any(|length| *length != rows) {
            return None;
        }
        let exchange = spelled(&given.exchange, exchange_name)?;
        let symbol = spelled(&given.symbol, |pair| {
            Symbol::read(pair).map_or_else(|| pair.to_owned(), |named| named.name().to_owned())
        })?;
        let mut given = given;
        if let Some(kinds) = &given.price_kind
            && kinds.names().iter().any(String::is_empty)
        {
            let kind = |kind: &str| if kind.is_empty() { PRICE_KIND } else { kind }.to_owned();
            given.price_kind = Some(spelled(kinds, kind)?);
        }
        let of_pair = spelled(&given.symbol, |pair| coin_of_pair(pair).0)?;
        let coin = match &given.coin {
            None => of_pair,
            Some(own) => (own.iter().zip(of_pair.iter()))
                .map(|(own, of_pair)| if own.is_empty() { of_pair } else { own })
                .collect(),
        };
        Some(Self::with_names(given, exchange, symbol, coin))
    }

    fn with_names(given: GivenOrders, exchange: Labels, symbol: Labels, coin: Labels) -> Self {
        let mut table = Self {
            given,
            exchange,
            symbol,
            coin,
            repetitions: HashMap::new(),
            has_repeats: false,
        };
        table.repetitions = table.count_repetitions();
        if table.given.is_numbered {
            table.has_repeats = !std::mem::take(&mut table.repetitions).is_empty();
        }
        table
    }

    /// Number of orders.
    #[must_use]
    pub fn len(&self) -> usize {
        self.given.timestamp.len()
    }

    /// Whether there are no orders.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.given.timestamp.is_empty()
    }

    /// Returns the order with a row number.
    #[must_use]
    pub fn row(&self, row: usize) -> Option<OrderRow> {
        let given = &self.given;
        let mut dedupe_key = String::new();
        self.write_key(row, &mut dedupe_key);
        let text = |column: &Option<Labels>| -> Option<String> {
            let text = column.as_ref()?.get(row)?;
            (!text.is_empty()).then(|| text.to_owned())
        };
        Some(OrderRow {
            order: Order {
                exchange: self.exchange.get(row)?.to_owned(),
                symbol: self.symbol.get(row)?.to_owned(),
                side: *given.side.get(row)?,
                price: given.price.get(row)?,
                qty: given.qty.get(row)?,
                value_usd: given.value_usd.get(row)?,
                timestamp: *given.timestamp.get(row)?,
            },
            coin: self.coin.get(row)?.to_owned(),
            price_kind: match &given.price_kind {
                Some(kinds) => kinds.get(row)?.to_owned(),
                None => PRICE_KIND.to_owned(),
            },
            completeness: self.completeness(row)?,
            native_id: text(&given.native_id),
            dedupe_key,
            received_at: *given.received_at.get(row)?,
            raw: None,
            group_id: text(&given.group_id),
        })
    }

    fn completeness(&self, row: usize) -> Option<Completeness> {
        match &self.given.completeness {
            Some(all) => all.get(row).copied(),
            None => Some(COMPLETENESS),
        }
    }

    /// Event time of an order.
    #[must_use]
    pub fn timestamp(&self, row: usize) -> Option<Millis> {
        self.given.timestamp.get(row).copied()
    }

    /// Checks whether the value contradicts price and quantity.
    ///
    /// If so, returns the reason and the three numbers.
    #[must_use]
    pub fn contradiction(&self, row: usize) -> Option<(String, String)> {
        let GivenOrders {
            price,
            qty,
            value_usd,
            ..
        } = &self.given;
        let (price, qty, value) = (price.get(row)?, qty.get(row)?, value_usd.get(row)?);
        if !contradicts_product(price, qty, value)
            || !is_worth_its_product(self.exchange.get(row)?, self.given.symbol.get(row)?)
        {
            return None;
        }
        Some((
            "orders: value_usd is not within 1 % of price × qty".to_owned(),
            format!("{value}, but price × qty is {price} × {qty}"),
        ))
    }

    /// Copies the orders of the row numbers `rows`, in this order.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        let given = &self.given;
        let labels = |column: &Option<Labels>| column.as_ref().map(|column| column.take(rows));
        let keys = given.dedupe_key.as_ref().map(|keys| {
            let keys = rows.iter().filter_map(|row| keys.get(*row).cloned());
            keys.collect()
        });
        let given = GivenOrders {
            exchange: given.exchange.take(rows),
            symbol: given.symbol.take(rows),
            coin: labels(&given.coin),
            side: taken(&given.side, rows),
            price: given.price.take(rows),
            qty: given.qty.take(rows),
            value_usd: given.value_usd.take(rows),
            timestamp: taken(&given.timestamp, rows),
            received_at: taken(&given.received_at, rows),
            group_id: labels(&given.group_id),
            dedupe_key: keys,
            price_kind: labels(&given.price_kind),
            completeness: given.completeness.as_ref().map(|all| taken(all, rows)),
            native_id: labels(&given.native_id),
            is_numbered: given.is_numbered,
        };
        let names = [&self.exchange, &self.symbol, &self.coin];
        let [exchange, symbol, coin] = names.map(|column| column.take(rows));
        Self::with_names(given, exchange, symbol, coin)
    }

    /// The time for which the table contains orders.
    #[must_use]
    pub fn covered_time(&self) -> CoveredTime {
        let mut covered = CoveredTime::default();
        for row in 0..self.len() {
            let (Some(at), Some(received_at), Some(exchange), Some(completeness)) = (
                self.timestamp(row),
                self.received_at(row),
                self.exchange.get(row),
                self.completeness(row),
            ) else {
                continue;
            };
            // The import rejects other rows, so they do not extend the time.
            if check_time("timestamp", at).is_ok() {
                covered.add(exchange, completeness, at, received_at);
            }
        }
        covered
    }

    /// The dedupe key of a row in the table, if it is not blank.
    fn own_key(&self, row: usize) -> Option<&str> {
        let key = self.given.dedupe_key.as_ref()?.get(row)?;
        (!key.is_empty()).then_some(key)
    }

    /// Appends the dedupe key of a row to `text`.
    fn write_key(&self, row: usize, text: &mut String) {
        if let Some(own) = self.own_key(row) {
            text.push_str(own);
            return;
        }
        let given = &self.given;
        let decimal = |text: &mut String, column: &DecimalColumn| {
            text.push('|');
            push_decimal(text, column.get(row).unwrap_or_default());
        };
        text.push_str("file|");
        text.push_str(given.symbol.get(row).unwrap_or_default());
        text.push('|');
        text.push_str(given.side.get(row).map_or("", |side| side.name()));
        text.push('|');
        let at = given.timestamp.get(row).copied().unwrap_or_default();
        text.push_str(itoa::Buffer::new().format(at.0));
        decimal(text, &given.qty);
        decimal(text, &given.price);
        if let Some(number) = self.repetitions.get(&row) {
            text.push('|');
            text.push_str(itoa::Buffer::new().format(*number));
        }
    }

    /// Numbers equal rows without a dedupe key.
    ///
    /// Only rows with the same time can be equal.
    fn count_repetitions(&self) -> HashMap<usize, u32> {
        let at = |row: &usize| self.given.timestamp.get(*row);
        let rows = 0..self.len();
        let mut rows: Vec<usize> = rows.filter(|row| self.own_key(*row).is_none()).collect();
        if !rows.is_sorted_by_key(&at) {
            rows.sort_by_key(|row| at(row));
        }
        let mut repetitions = HashMap::new();
        let mut counts: HashMap<_, u32> = HashMap::new();
        for same_instant in rows.chunk_by(|one, other| at(one) == at(other)) {
            if same_instant.len() < 2 {
                continue;
            }
            counts.clear();
            for row in same_instant {
                let count = counts.entry(self.values(*row)).or_default();
                *count += 1;
                if *count > 1 {
                    repetitions.insert(*row, *count);
                }
            }
        }
        repetitions
    }

    /// The values in the derived key of a row, without the time.
    ///
    /// Decimals are compared by value, not by text.
    fn values(&self, row: usize) -> OrderValues<'_> {
        (
            self.exchange.codes().get(row),
            self.given.symbol.codes().get(row),
            self.given.side.get(row),
            [self.given.qty.get(row), self.given.price.get(row)],
        )
    }
}

/// Code of the exchange, code of the pair, side, and quantity with price of an order.
type OrderValues<'a> = (
    Option<&'a u32>,
    Option<&'a u32>,
    Option<&'a Side>,
    [Option<Decimal>; 2],
);

impl ColumnTable for OrderTable {
    type Row = OrderRow;

    fn len(&self) -> usize {
        Self::len(self)
    }

    fn row(&self, row: usize) -> Option<OrderRow> {
        Self::row(self, row)
    }

    fn timestamp(&self, row: usize) -> Option<Millis> {
        Self::timestamp(self, row)
    }

    fn received_at(&self, row: usize) -> Option<Millis> {
        self.given.received_at.get(row).copied()
    }

    fn exchange(&self, row: usize) -> Option<&str> {
        self.exchange.get(row)
    }

    fn coin(&self, row: usize) -> Option<&str> {
        self.coin.get(row)
    }

    fn names(&self) -> NameIndex {
        let mut columns = vec![&self.exchange, &self.symbol, &self.coin];
        columns.extend(&self.given.price_kind);
        NameIndex::of(&columns)
    }

    fn is_valid(&self, names: &NameIndex, row: usize) -> bool {
        let given = &self.given;
        let is_above = |column| attos(column, row).is_some_and(|value| value > 0);
        let price_kind = given.price_kind.as_ref();
        let is_blank = |key: &str| key.trim().is_empty();
        names.is_valid(0, &self.exchange, row)
            && names.is_valid(1, &self.symbol, row)
            && names.is_valid(2, &self.coin, row)
            && price_kind.is_none_or(|kinds| names.is_valid(3, kinds, row))
            && !self.own_key(row).is_some_and(is_blank)
            && is_above(&given.price)
            && is_above(&given.qty)
            && attos(&given.value_usd, row).is_some_and(|value| (0..=MOST_USD).contains(&value))
            && is_time(&given.timestamp, row, 0)
            && is_time(&given.received_at, row, 0)
    }

    fn has_time_in_key(&self, row: usize) -> bool {
        let at = self.timestamp(row);
        self.own_key(row)
            .is_none_or(|key| at.is_some_and(|at| has_time(key, at)))
    }

    fn arrange(&self, names: &NameIndex, rows: &mut [usize]) {
        let times = &self.given.timestamp;
        let place = |row: &usize| (times.get(*row), names.rank(0, &self.exchange, *row));
        let is_later = |one: &usize, other: &usize| times.get(*one) < times.get(*other);
        if rows.is_sorted_by(is_later) {
            return;
        }
        rows.sort_by_key(place);
        // Few orders have the same time and exchange, so the dedupe keys are compared only among those.
        for same_place in rows.chunk_by_mut(|one, other| place(one) == place(other)) {
            if same_place.len() > 1 {
                same_place.sort_by_cached_key(|row| {
                    let mut key = String::new();
                    self.write_key(*row, &mut key);
                    key
                });
            }
        }
    }

    fn has_unique_keys(&self, rows: &[usize]) -> bool {
        if self.has_repeats {
            return false;
        }
        // Other derived keys are unique, because equal rows are numbered.
        let Some(keys) = &self.given.dedupe_key else {
            return true;
        };
        let hashing: SeedableRandomState = seeded();
        let mut known = HashSet::with_capacity_and_hasher(rows.len(), hashing);
        let mut sources = rows.iter().map(|row| {
            let key = self.own_key(*row);
            let exchange = self.exchange.get(*row).unwrap_or_default();
            key.map_or(KeySource::Values, |key| source_of_key(exchange, key))
        });
        // Rows of different sources may be one order.
        let first = sources.next();
        if sources.any(|source| Some(source) != first) {
            return false;
        }
        let mut own = rows.iter().filter_map(|row| {
            let key = keys.get(*row).filter(|key| !key.is_empty())?;
            Some((self.exchange.codes().get(*row), key))
        });
        own.all(|(exchange, key)| !key.starts_with("file|") && known.insert((exchange, key)))
    }

    fn arrays(&self, _: Partition, rows: &[usize]) -> Result<Vec<ArrayRef>, Fault> {
        let given = &self.given;
        segment_columns::<OrderRow>(|column| match column {
            "exchange" => arrays::labels(&self.exchange, rows),
            "symbol" => arrays::labels(&self.symbol, rows),
            "coin" => arrays::labels(&self.coin, rows),
            "side" => arrays::words(&given.side, rows),
            "price" => arrays::decimals(&given.price, rows),
            "price_kind" => match &given.price_kind {
                Some(kinds) => arrays::labels(kinds, rows),
                None => arrays::constant(PRICE_KIND, rows),
            },
            "qty" => arrays::decimals(&given.qty, rows),
            "value_usd" => arrays::decimals(&given.value_usd, rows),
            "timestamp" => Ok(arrays::instants(&given.timestamp, rows, 0)),
            "received_at" => Ok(arrays::instants(&given.received_at, rows, 0)),
            "completeness" => match &given.completeness {
                Some(all) => arrays::words(all, rows),
                None => arrays::constant(COMPLETENESS.name(), rows),
            },
            "dedupe_key" => Ok(self.keys(rows)),
            "native_id" => arrays::optional_texts(given.native_id.as_ref(), rows),
            "group_id" => arrays::optional_texts(given.group_id.as_ref(), rows),
            "raw" => arrays::optional_texts(None, rows),
            _ => Err(arrays::MISSING.to_owned()),
        })
    }
}

impl OrderTable {
    fn keys(&self, rows: &[usize]) -> ArrayRef {
        let mut key = String::new();
        let mut keys = StringBuilder::with_capacity(rows.len(), 64 * rows.len());
        for row in rows {
            key.clear();
            self.write_key(*row, &mut key);
            keys.append_value(&key);
        }
        Arc::new(keys.finish())
    }
}

/// Maximum value of an order, in units of 10⁻¹⁸ USD.
const MOST_USD: i128 = {
    assert!(MAX_ORDER_USD.scale() == 0, "a whole number");
    MAX_ORDER_USD.mantissa() * 10_i128.pow(FixedPoint::SCALE as u32)
};

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::archive::import::orders::*;

    #[test]
    fn derived_keys_number_equal_rows_and_stay_stable() {
        let decimals = |texts: [&str; 4]| -> DecimalColumn {
            let values = texts.map(|text| text.parse::<Decimal>().unwrap());
            values.into_iter().collect()
        };
        let at = [Millis(5), Millis(5), Millis(4), Millis(5)].to_vec();
        let given = GivenOrders {
            exchange: ["okex", "okx", "okx", "OKX"].into_iter().collect(),
            symbol: ["BTC-USDT-SWAP"; 4].into_iter().collect(),
            side: vec![Side::Long; 4],
            price: decimals(["40000.0", "40000", "1000", "40000.00"]),
            qty: decimals(["0.50", "0.5", "100", "0.5"]),
            value_usd: decimals(["1", "1", "1", "1"]),
            timestamp: at.clone(),
            received_at: at,
            ..GivenOrders::default()
        };
        let table = OrderTable::of(given).unwrap();
        let rows: Vec<OrderRow> = (0..4).map(|row| table.row(row).unwrap()).collect();
        let keys: Vec<&str> = rows.iter().map(|row| row.dedupe_key.as_str()).collect();
        // Existing archives contain keys of this form, so the form must not change.
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
    fn a_session_ignores_invalid_times() {
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
        let sessions = OrderTable::of(given).unwrap().covered_time().sessions(None);
        let ends: Vec<(Millis, Millis)> = (sessions.iter())
            .map(|session| (session.start, session.end))
            .collect();
        assert_eq!(ends, [(Millis(5), Millis(7))]);
    }

    #[test]
    fn columns_of_different_lengths_make_no_table() {
        let given = GivenOrders {
            side: vec![Side::Long],
            ..GivenOrders::default()
        };
        assert!(OrderTable::of(given).is_none());
        assert!(OrderTable::of(GivenOrders::default()).unwrap().is_empty());
    }
}
