//! The columns of each kind of table.

use rust_decimal::Decimal;

use crate::archive::GivenOrders;
use crate::model::{Labels, Millis, Symbol, coin_of_base, is_dollar, own_name};
use crate::tables::amount_unit::{AmountUnit, ContractSizes};
use crate::tables::amounts::AmountColumn;
use crate::tables::raw_table::{ColumnFault, RawTable};
use crate::tables::reading::column_reader::ColumnReader;
use crate::tables::reading::stated::{StatedAmounts, open_bars};
use crate::tables::row_fault::{BLANK, RowFault};

/// What the side of a row is the side of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum SideOf {
    /// That of the liquidated position.
    #[default]
    Position,
    /// That of the order that closed the position.
    Order,
    /// That of the order, also of exchanges that call the side of the position `Buy` or `Sell`.
    AnyOrder,
}

/// Defaults for values that a table leaves out, and requirements on its rows.
///
/// The caller or the file name gives the defaults.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defaults {
    /// The exchange of rows that name none.
    pub(crate) exchange: Option<String>,
    /// The symbol of all rows, if the table has no column of symbols.
    pub(crate) symbol: Option<String>,
    /// The length of bars that do not state it, in milliseconds.
    pub(crate) interval: Option<i64>,
    /// What the side column has the sides of.
    pub(crate) side: SideOf,
    /// Whether a row without an exchange is faulty.
    pub(crate) needs_exchange: bool,
    /// The unit of quantities, volumes and open interest that the columns do not name.
    pub(crate) unit: AmountUnit,
    /// Whether every number must be an exact decimal, as an archive requires.
    pub(crate) needs_exact: bool,
}

/// The readable rows of a table, and the faults of its other rows.
#[derive(Debug, Default)]
pub(crate) struct ReadRows<T> {
    pub(crate) columns: T,
    /// Index in the table of each readable row.
    pub(crate) places: Vec<usize>,
    /// Faults of the rows that cannot be read.
    pub(crate) faults: Vec<RowFault>,
}

/// Orders, before the rules fill in what the table leaves out.
#[derive(Clone, Debug, Default)]
pub(crate) struct UnvaluedOrders {
    pub(crate) given: GivenOrders,
    /// Whether the table lacks the value in USD, by row.
    pub(crate) is_unvalued: Vec<bool>,
    /// The values in the quote currency, if the table has them.
    pub(crate) quote_value: Option<Vec<Option<Decimal>>>,
    /// The sizes of the contracts, if the table has them.
    pub(crate) contract_size: Option<Vec<Option<Decimal>>>,
    /// The unit of the quantities.
    pub(crate) unit: AmountUnit,
}

impl UnvaluedOrders {
    /// Copies `rows`, in the given sequence.
    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        let numbers = |cells: &Option<Vec<Option<Decimal>>>| {
            let cells = cells.as_ref()?;
            Some(picked(cells, rows))
        };
        Self {
            given: take_orders(&self.given, rows),
            is_unvalued: picked(&self.is_unvalued, rows),
            quote_value: numbers(&self.quote_value),
            contract_size: numbers(&self.contract_size),
            unit: self.unit,
        }
    }
}

/// Price bars.
#[derive(Clone, Debug, Default)]
pub(crate) struct BarColumns {
    /// Exchanges; blank where unknown.
    pub(crate) exchange: Labels,
    pub(crate) symbol: Labels,
    pub(crate) timestamp: Vec<Millis>,
    /// Lengths in milliseconds; `None` for rows that state none.
    pub(crate) interval: Vec<Option<i64>>,
    pub(crate) open: AmountColumn,
    pub(crate) high: AmountColumn,
    pub(crate) low: AmountColumn,
    pub(crate) close: AmountColumn,
    /// Traded volume, in `unit`.
    pub(crate) volume: AmountColumn,
    pub(crate) unit: AmountUnit,
    /// Numbers of trades, if the table has them.
    pub(crate) trades: Option<AmountColumn>,
    /// Volumes in other units, if the table has them.
    pub(crate) stated: Option<StatedAmounts>,
    /// Whether a row says that the bar is not final; empty if no row does.
    pub(crate) is_open: Vec<bool>,
}

/// Readings of open interest.
#[derive(Clone, Debug, Default)]
pub(crate) struct InterestColumns {
    /// Exchanges; blank where unknown.
    pub(crate) exchange: Labels,
    pub(crate) symbol: Labels,
    pub(crate) timestamp: Vec<Millis>,
    pub(crate) open_interest: AmountColumn,
    /// Amounts in other units, if the table has them.
    pub(crate) stated: Option<StatedAmounts>,
    /// Whether `open_interest` is in USD. If not, it is in `unit`.
    pub(crate) in_usd: bool,
    pub(crate) unit: AmountUnit,
    /// The price at each reading, if the table has it. It converts amounts in USD to coins.
    pub(crate) price: Option<AmountColumn>,
    pub(crate) received_at: Option<Vec<Millis>>,
}

/// Liquidated USD by period.
#[derive(Clone, Debug, Default)]
pub(crate) struct TotalColumns {
    /// Exchanges; blank where unknown.
    pub(crate) exchange: Labels,
    pub(crate) symbol: Labels,
    pub(crate) timestamp: Vec<Millis>,
    /// Lengths in milliseconds; `None` for rows that state none.
    pub(crate) interval: Vec<Option<i64>>,
    pub(crate) long_usd: AmountColumn,
    pub(crate) short_usd: AmountColumn,
    /// [`NOT_STATED`] where a cell is blank.
    pub(crate) received_at: Option<Vec<Millis>>,
}

/// The instant of a blank cell.
pub(crate) const NOT_STATED: Millis = Millis(i64::MIN);

impl BarColumns {
    /// Copies `rows`, in the given sequence.
    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        Self {
            exchange: self.exchange.take(rows),
            symbol: self.symbol.take(rows),
            timestamp: picked(&self.timestamp, rows),
            interval: picked(&self.interval, rows),
            open: self.open.take(rows),
            high: self.high.take(rows),
            low: self.low.take(rows),
            close: self.close.take(rows),
            volume: self.volume.take(rows),
            unit: self.unit,
            trades: self.trades.as_ref().map(|trades| trades.take(rows)),
            stated: self.stated.as_ref().map(|stated| stated.take(rows)),
            is_open: picked(&self.is_open, rows),
        }
    }
}

impl BarColumns {
    /// Appends bars.
    pub(crate) fn append(&mut self, more: &Self) {
        let rows = more.timestamp.len();
        self.exchange.append(&more.exchange, 0..rows);
        self.symbol.append(&more.symbol, 0..rows);
        self.timestamp.extend_from_slice(&more.timestamp);
        self.interval.extend_from_slice(&more.interval);
        self.open.append(&more.open);
        self.high.append(&more.high);
        self.low.append(&more.low);
        self.close.append(&more.close);
        self.volume.append(&more.volume);
    }
}

impl InterestColumns {
    /// Appends readings of the same unit.
    pub(crate) fn append(&mut self, more: &Self) {
        let (before, rows) = (self.timestamp.len(), more.timestamp.len());
        self.exchange.append(&more.exchange, 0..rows);
        self.symbol.append(&more.symbol, 0..rows);
        if self.received_at.is_some() || more.received_at.is_some() {
            let own = self.timestamp.clone();
            let received = self.received_at.get_or_insert(own);
            received.truncate(before);
            received.extend_from_slice(more.received_at.as_ref().unwrap_or(&more.timestamp));
        }
        self.timestamp.extend_from_slice(&more.timestamp);
        self.open_interest.append(&more.open_interest);
        self.in_usd = more.in_usd;
    }

    /// Copies `rows`, in the given sequence.
    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        Self {
            exchange: self.exchange.take(rows),
            symbol: self.symbol.take(rows),
            timestamp: picked(&self.timestamp, rows),
            open_interest: self.open_interest.take(rows),
            stated: self.stated.as_ref().map(|stated| stated.take(rows)),
            in_usd: self.in_usd,
            unit: self.unit,
            price: self.price.as_ref().map(|prices| prices.take(rows)),
            received_at: self
                .received_at
                .as_ref()
                .map(|received| picked(received, rows)),
        }
    }
}

impl TotalColumns {
    /// Appends totals.
    pub(crate) fn append(&mut self, more: &Self) {
        let (before, rows) = (self.timestamp.len(), more.timestamp.len());
        self.exchange.append(&more.exchange, 0..rows);
        self.symbol.append(&more.symbol, 0..rows);
        if self.received_at.is_some() || more.received_at.is_some() {
            let received = self.received_at.get_or_insert_default();
            received.resize(before, NOT_STATED);
            received.extend(more.received_at.iter().flatten());
            received.resize(before + rows, NOT_STATED);
        }
        self.timestamp.extend_from_slice(&more.timestamp);
        self.interval.extend_from_slice(&more.interval);
        self.long_usd.append(&more.long_usd);
        self.short_usd.append(&more.short_usd);
    }

    /// Copies `rows`, in the given sequence.
    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        Self {
            exchange: self.exchange.take(rows),
            symbol: self.symbol.take(rows),
            timestamp: picked(&self.timestamp, rows),
            interval: picked(&self.interval, rows),
            long_usd: self.long_usd.take(rows),
            short_usd: self.short_usd.take(rows),
            received_at: (self.received_at.as_ref()).map(|received| picked(received, rows)),
        }
    }
}

/// Copies the cells of `rows`, in the given sequence.
pub(crate) fn picked<T: Copy>(cells: &[T], rows: &[usize]) -> Vec<T> {
    rows.iter()
        .filter_map(|row| cells.get(*row).copied())
        .collect()
}

/// Copies `rows` of the orders, in the given sequence.
pub(crate) fn take_orders(orders: &GivenOrders, rows: &[usize]) -> GivenOrders {
    GivenOrders {
        exchange: orders.exchange.take(rows),
        symbol: orders.symbol.take(rows),
        coin: orders.coin.as_ref().map(|coin| coin.take(rows)),
        side: picked(&orders.side, rows),
        price: orders.price.take(rows),
        qty: orders.qty.take(rows),
        value_usd: orders.value_usd.take(rows),
        timestamp: picked(&orders.timestamp, rows),
        received_at: picked(&orders.received_at, rows),
        group_id: orders.group_id.as_ref().map(|group| group.take(rows)),
        dedupe_key: orders.dedupe_key.as_ref().map(|keys| {
            let keys = rows.iter().filter_map(|row| keys.get(*row).cloned());
            keys.collect()
        }),
        price_kind: orders.price_kind.as_ref().map(|kinds| kinds.take(rows)),
        completeness: orders
            .completeness
            .as_ref()
            .map(|completeness| picked(completeness, rows)),
        native_id: orders.native_id.as_ref().map(|natives| natives.take(rows)),
        is_numbered: orders.is_numbered,
    }
}

/// Appends orders. Both tables must have the same optional columns.
pub(crate) fn append_orders(orders: &mut GivenOrders, more: GivenOrders) {
    let rows = more.timestamp.len();
    let is_first = orders.timestamp.is_empty();
    let labels = |into: &mut Option<Labels>, from: &Option<Labels>| {
        if let Some(from) = from {
            if is_first {
                into.get_or_insert_with(Labels::default);
            }
            if let Some(into) = into {
                into.append(from, 0..rows);
            }
        }
    };
    labels(&mut orders.coin, &more.coin);
    labels(&mut orders.group_id, &more.group_id);
    labels(&mut orders.price_kind, &more.price_kind);
    labels(&mut orders.native_id, &more.native_id);
    orders.exchange.append(&more.exchange, 0..rows);
    orders.symbol.append(&more.symbol, 0..rows);
    orders.side.extend_from_slice(&more.side);
    orders.price.append(&more.price, 0..rows);
    orders.qty.append(&more.qty, 0..rows);
    orders.value_usd.append(&more.value_usd, 0..rows);
    orders.timestamp.extend_from_slice(&more.timestamp);
    orders.received_at.extend_from_slice(&more.received_at);
    if let Some(keys) = more.dedupe_key {
        orders.dedupe_key.get_or_insert_with(Vec::new).extend(keys);
    }
    if let Some(completeness) = &more.completeness {
        orders
            .completeness
            .get_or_insert_with(Vec::new)
            .extend_from_slice(completeness);
    }
}

/// The column of amounts and its unit. BitMEX writes amounts in coins as well as in contracts.
fn in_coins(
    table: &RawTable,
    name: &'static str,
    defaults: &Defaults,
) -> (&'static str, AmountUnit) {
    if table.has("home_notional") {
        ("home_notional", AmountUnit::Base)
    } else if name == "volume" && !table.has(name) {
        ("base_volume", AmountUnit::Base)
    } else {
        (name, defaults.unit)
    }
}

/// The column of the times at which bars or periods open.
fn opens(table: &RawTable) -> &'static str {
    if table.has("opens_at") {
        "opens_at"
    } else {
        "timestamp"
    }
}

/// Refuses a table that lacks one of these columns.
fn require(table: &RawTable, names: &[&'static str]) -> Result<(), ColumnFault> {
    for name in names {
        if !table.has(name) {
            return Err(table.missing(name, ""));
        }
    }
    Ok(())
}

/// Refuses a table without symbols, or without exchanges if these are required.
///
/// A default symbol or exchange replaces the column.
fn require_names(table: &RawTable, defaults: &Defaults) -> Result<(), ColumnFault> {
    if defaults.needs_exchange && defaults.exchange.is_none() && !table.has("exchange") {
        return Err(table.missing("exchange", ""));
    }
    if table.symbols().is_none() && defaults.symbol.is_none() {
        return Err(table.missing("symbol", ""));
    }
    Ok(())
}

/// Reads exchanges. Rows without an exchange get the default one.
///
/// If exchanges are required and there is no default, rows without one are faulty.
fn exchanges(reader: &mut ColumnReader<'_>, defaults: &Defaults) -> Labels {
    let names = reader.names("exchange", true);
    reader.check_exchanges(&names);
    let Some(blank) = names.names().iter().position(String::is_empty) else {
        return names;
    };
    if let Some(exchange) = &defaults.exchange {
        let filled = names.iter().map(|name| match name {
            "" => exchange.as_str(),
            name => name,
        });
        return filled.collect();
    }
    if defaults.needs_exchange {
        for (row, code) in names.codes().iter().enumerate() {
            if *code as usize == blank {
                reader.fault(RowFault::new(row, "exchange", BLANK, ""));
            }
        }
    }
    names
}

/// Result of reading a table: its rows, or a fault of a column. `None` if `goes_on` stopped the reading.
type Reading<T> = Result<Option<ReadRows<T>>, ColumnFault>;

/// Returns the rows without a fault; `None` if reading was stopped.
fn readable<T>(
    reader: ColumnReader<'_>,
    columns: T,
    take: impl FnOnce(&T, &[usize]) -> T,
) -> Option<ReadRows<T>> {
    let (faults, places) = reader.end()?;
    let columns = if faults.is_empty() {
        columns
    } else {
        take(&columns, &places)
    };
    Some(ReadRows {
        columns,
        places,
        faults,
    })
}

/// Reads orders.
///
/// The rules later compute missing values in USD from price and quantity.
pub(crate) fn read_orders(
    table: &RawTable,
    defaults: &Defaults,
    goes_on: &mut dyn FnMut() -> bool,
) -> Reading<UnvaluedOrders> {
    if table.is_nothing() {
        return Ok(Some(ReadRows::default()));
    }
    require_names(table, defaults)?;
    require(table, &["timestamp", "price"])?;
    for names in [
        ["side", "position_side", "position_side"],
        ["qty", "home_notional", "base_value"],
    ] {
        if !names.iter().any(|name| table.has(name)) {
            return Err(table.missing(names[0], ""));
        }
    }
    let is_marked = table.has("is_liquidation") || table.has("type");
    if let Some(column) = table.column_of_trades().filter(|_| !is_marked) {
        let message = "is a column of trades, not of liquidations; if the rows are liquidations, leave the column out, \
                       or give a column is_liquidation"
            .to_owned();
        return Err(ColumnFault { column, message });
    }
    let (amounts, unit) = match in_coins(table, "qty", defaults) {
        ("qty", _) if table.has("base_value") => ("base_value", AmountUnit::Base),
        amounts => amounts,
    };
    let mut reader = ColumnReader::new(table, goes_on);
    let exchange = exchanges(&mut reader, defaults);
    let symbol = reader.symbols(defaults.symbol.as_deref());
    let side = reader.sides(
        defaults.side != SideOf::Position,
        (defaults.side != SideOf::AnyOrder).then_some(&exchange),
    );
    reader.check_liquidations(&exchange);
    let price = reader.decimals("price");
    let qty = reader.decimals(amounts);
    reader.check_decimals(amounts, &qty);
    let (value_usd, unvalued) = reader.some_decimals("value_usd", true);
    reader.check_decimals("value_usd", &value_usd);
    let quote_value = reader.stated_decimals("quote_value");
    let contract_size = reader.stated_decimals("contract_size");
    let timestamp = reader.instants("timestamp");
    reader.check_instants(&timestamp);
    let has_pairs = table.has("symbol") && table.has("coin");
    let coin = has_pairs.then(|| reader.coins(&symbol));
    let received_at = reader.some_instants("received_at", &timestamp);
    let [group_id, dedupe_key, native_id, price_kind] =
        ["group_id", "dedupe_key", "native_id", "price_kind"]
            .map(|name| table.has(name).then(|| reader.names(name, true)));
    let dedupe_key = dedupe_key.map(|keys| keys.iter().map(str::to_owned).collect());
    let given = GivenOrders {
        exchange,
        symbol,
        coin,
        side,
        price,
        qty,
        value_usd,
        timestamp,
        received_at,
        group_id,
        dedupe_key,
        price_kind,
        native_id,
        ..GivenOrders::default()
    };
    let mut is_unvalued = vec![false; table.rows()];
    for row in unvalued {
        if let Some(is_unvalued) = is_unvalued.get_mut(row) {
            *is_unvalued = true;
        }
    }
    let columns = UnvaluedOrders {
        given,
        is_unvalued,
        quote_value,
        contract_size,
        unit,
    };
    Ok(readable(reader, columns, UnvaluedOrders::take))
}

/// Reads price bars.
pub(crate) fn read_bars(
    table: &RawTable,
    defaults: &Defaults,
    goes_on: &mut dyn FnMut() -> bool,
) -> Reading<BarColumns> {
    if table.is_nothing() {
        return Ok(Some(ReadRows::default()));
    }
    let opens = opens(table);
    require(table, &[opens, "open", "high", "low", "close"])?;
    let volumes = ["volume", "home_notional", "base_volume"];
    if !volumes.iter().any(|name| table.has(name)) {
        return Err(table.missing("volume", ""));
    }
    if table.has("adj_close") {
        return Err(ColumnFault {
            column: "volume",
            message: "is that of Yahoo, because there is a column of adjusted closes: USD of all exchanges, not coins \
                      of a contract"
                .to_owned(),
        });
    }
    let (amounts, unit) = in_coins(table, "volume", defaults);
    require_names(table, defaults)?;
    let mut reader = ColumnReader::new(table, goes_on);
    let exchange = exchanges(&mut reader, defaults);
    let symbol = reader.symbols(defaults.symbol.as_deref());
    reader.check_price_types(table);
    let timestamp = reader.instants(opens);
    let mut interval = reader.lengths(&timestamp);
    if let Some(length) = defaults.interval {
        for stated in &mut interval {
            stated.get_or_insert(length);
        }
    }
    let columns = BarColumns {
        exchange,
        symbol,
        interval,
        open: reader.amounts("open", defaults.needs_exact),
        high: reader.amounts("high", defaults.needs_exact),
        low: reader.amounts("low", defaults.needs_exact),
        close: reader.amounts("close", defaults.needs_exact),
        volume: reader.amounts(amounts, defaults.needs_exact),
        trades: table
            .has("trades")
            .then(|| reader.some_decimals("trades", true).0.into()),
        // A volume in the base currency needs no other one.
        stated: StatedAmounts::read(
            table,
            ["base_volume", "quote_volume", "volume_usd", "amount", ""],
        )
        .filter(|_| amounts != "home_notional"),
        is_open: open_bars(table),
        unit,
        timestamp,
    };
    Ok(readable(reader, columns, BarColumns::take))
}

/// Reads open interest, in units of the listed pair or in USD.
pub(crate) fn read_interest(
    table: &RawTable,
    defaults: &Defaults,
    goes_on: &mut dyn FnMut() -> bool,
) -> Reading<InterestColumns> {
    if table.is_nothing() {
        return Ok(Some(ReadRows::default()));
    }
    require_names(table, defaults)?;
    require(table, &["timestamp"])?;
    let columns = ["open_interest", "open_interest_coins", "open_interest_usd"];
    let Some(column) = columns.into_iter().find(|name| table.has(name)) else {
        return Err(table.missing("open_interest", ", and so is \"open_interest_usd\""));
    };
    let in_usd = column == "open_interest_usd";
    let mut reader = ColumnReader::new(table, goes_on);
    let exchange = exchanges(&mut reader, defaults);
    let symbol = reader.symbols(defaults.symbol.as_deref());
    let timestamp = reader.instants("timestamp");
    let open_interest = reader.amounts(column, defaults.needs_exact);
    let received_at = table
        .has("received_at")
        .then(|| reader.some_instants("received_at", &timestamp));
    let columns = InterestColumns {
        exchange,
        symbol,
        timestamp,
        open_interest,
        stated: StatedAmounts::read(
            table,
            [
                "open_interest_coins",
                "open_interest_value",
                "open_interest_usd",
                "",
                "mark_price",
            ],
        ),
        in_usd,
        unit: defaults.unit,
        // In the tables of callers, a column of this name may have another meaning.
        price: (table.has("price") && defaults.unit != AmountUnit::Unstated)
            .then(|| reader.some_decimals("price", true).0.into()),
        received_at,
    };
    Ok(readable(reader, columns, InterestColumns::take))
}

/// Reads liquidated USD by period.
pub(crate) fn read_totals(
    table: &RawTable,
    defaults: &Defaults,
    goes_on: &mut dyn FnMut() -> bool,
) -> Reading<TotalColumns> {
    if table.is_nothing() {
        return Ok(Some(ReadRows::default()));
    }
    require_names(table, defaults)?;
    let opens = opens(table);
    require(table, &[opens, "long_usd", "short_usd"])?;
    let mut reader = ColumnReader::new(table, goes_on);
    // A `Market` object has one series of totals, whatever the exchange.
    let exchange = if defaults.needs_exchange {
        exchanges(&mut reader, defaults)
    } else {
        std::iter::repeat_n("", table.rows()).collect()
    };
    let symbol = reader.symbols(defaults.symbol.as_deref());
    let timestamp = reader.instants(opens);
    let mut interval = reader.lengths(&timestamp);
    if let Some(length) = defaults.interval {
        for stated in &mut interval {
            stated.get_or_insert(length);
        }
    }
    let received_at = (defaults.needs_exchange && table.has("received_at"))
        .then(|| reader.some_instants("received_at", &vec![NOT_STATED; table.rows()]));
    let columns = TotalColumns {
        exchange,
        symbol,
        interval,
        long_usd: reader.amounts("long_usd", defaults.needs_exact),
        short_usd: reader.amounts("short_usd", defaults.needs_exact),
        received_at,
        timestamp,
    };
    Ok(readable(reader, columns, TotalColumns::take))
}

/// Conversion rates, each with the instant from which it is valid.
pub(crate) type RateRows = Vec<(Millis, rust_decimal::Decimal)>;

/// Reads conversion rates: USD per unit of a quote currency, by time.
pub(crate) fn read_rates(table: &RawTable) -> Reading<RateRows> {
    require(table, &["timestamp", "rate"])?;
    let mut goes_on = || true;
    let mut reader = ColumnReader::new(table, &mut goes_on);
    let timestamp = reader.instants("timestamp");
    let rates = reader.decimals("rate");
    for (row, rate) in rates.iter().enumerate() {
        if rate <= rust_decimal::Decimal::ZERO {
            reader.fault(RowFault::new(
                row,
                "rate",
                "is not above 0",
                rate.to_string(),
            ));
        }
    }
    let Some((faults, places)) = reader.end() else {
        return Ok(None);
    };
    Ok(Some(ReadRows {
        columns: timestamp.into_iter().zip(rates.iter()).collect(),
        places,
        faults,
    }))
}

/// Reads sizes of contracts. Their unit is USD, or the base currency under any name; without a unit, the settlement of
/// the contract decides.
pub(crate) fn read_contract_sizes(table: &RawTable) -> Reading<ContractSizes> {
    require(table, &["symbol", "contract_size"])?;
    let mut goes_on = || true;
    let mut reader = ColumnReader::new(table, &mut goes_on);
    let symbols = reader.names("symbol", false);
    let sizes = reader.decimals("contract_size");
    let units = reader.names("multiplier_unit", true);
    let mut columns = ContractSizes::default();
    for (row, (symbol, size)) in symbols.iter().zip(sizes.iter()).enumerate() {
        if size <= rust_decimal::Decimal::ZERO {
            let shown = size.to_string();
            reader.fault(RowFault::new(row, "contract_size", "is not above 0", shown));
        }
        let unit = units.get(row).unwrap_or_default().to_uppercase();
        let base = Symbol::read(symbol).map(|symbol| coin_of_base(symbol.coin()).0);
        let is_base = |name: &str| base.as_deref() == Some(coin_of_base(name).0.as_str());
        let is_usd = match unit.as_str() {
            "" => None,
            "BASE" | "COIN" | "COINS" => Some(false),
            name if is_base(own_name(name)) => Some(false),
            name if name == "QUOTE" || is_dollar(name) => Some(true),
            _ => {
                let reason = "is not a unit; allowed: USD, or the base currency of the contract";
                reader.fault(RowFault::new(row, "multiplier_unit", reason, unit));
                continue;
            }
        };
        columns.add(symbol, size, is_usd);
    }
    let Some((faults, places)) = reader.end() else {
        return Ok(None);
    };
    Ok(Some(ReadRows {
        columns,
        places,
        faults,
    }))
}
