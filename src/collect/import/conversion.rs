//! Conversion of the rows of a file to those of a table, by the layout of the file.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow_array::{ArrayRef, StringArray, TimestampMillisecondArray};
use rust_decimal::Decimal;

use crate::archive::{Completeness, GivenOrders};
use crate::collect::import::column_rows::{boolean, text};
use crate::collect::import::fills::{fills, skipped_fills};
use crate::collect::import::occurrence::{Occurrences, numbered};
use crate::collect::import::order_columns::{
    KeyColumns, MarketColumns, UNKNOWN_PRICE, given_or, values,
};
use crate::collect::import::refused::RowReason;
use crate::feeds::dumps::{
    AmountMeaning, Clock, FileBatch, FileMarket, FileName, FileTable, Format, Label, OrderKey,
    SideMeaning, UnitSize, any_instant, coin_margined, place, whole_epoch,
};
use crate::model::{
    DecimalColumn, Labels, Millis, Side, Symbol, Vocabulary, exchange_name, known_exchange,
};
use crate::tables::{
    AmountUnit, BarColumns, ColumnFault, ContractSizes, Counted, Defaults, InputCell, InputCells,
    InterestColumns, RawTable, ReadRows, RowFault, SideOf, TableKind, TotalColumns, UNKNOWN_SIZE,
    UnvaluedOrders, column_of, exact_cell, other_length, read_bars, read_interest, read_orders,
    read_totals,
};

/// Interval in milliseconds after which unchanged open interest of a ticker is returned again.
const FRESH: i64 = 5 * Millis::MINUTE;
/// Number of decimals of a volume in coins that is computed from USD.
const PLACES: u32 = 8;
/// Exchanges of which ccxt gives the volume of bars in contracts.
const IN_CONTRACTS: [&str; 4] = ["bitmex", "gate", "kucoin", "mexc"];

/// The rows of one kind of table.
#[derive(Debug)]
pub(super) enum TableRows {
    Orders(ReadRows<UnvaluedOrders>),
    Bars(ReadRows<BarColumns>),
    OpenInterest(ReadRows<InterestColumns>),
    Totals(ReadRows<TotalColumns>),
    /// Positions are judged together, so their columns are only collected.
    Positions(Vec<(String, InputCells)>),
}

/// The rows of a batch.
#[derive(Debug)]
pub(super) struct ConvertedBatch {
    pub(super) rows: TableRows,
    /// The line of each row of the batch.
    pub(super) lines: Vec<u64>,
    /// Number of rows that are no rows of the table, such as ordinary trades of an account.
    pub(super) skipped: u64,
    /// Number of rows that repeat the row before.
    pub(super) repeated: u64,
}

impl ConvertedBatch {
    /// Whether the last row cannot be read, as in a file that is cut short.
    pub(super) fn is_last_unreadable(&self) -> bool {
        let faults = match &self.rows {
            TableRows::Orders(read) => &read.faults,
            TableRows::Bars(read) => &read.faults,
            TableRows::OpenInterest(read) => &read.faults,
            TableRows::Totals(read) => &read.faults,
            TableRows::Positions(_) => return false,
        };
        faults.iter().any(|fault| fault.row + 1 == self.lines.len())
    }
}

/// Converts the rows of one file.
pub(super) struct Conversion<'a> {
    pub(super) table: FileTable,
    /// The columns of the file that are read, and of those the refused ones at the end.
    wanted: Vec<usize>,
    defaults: Defaults,
    /// The length of the bars in the name of the file.
    named_length: Option<i64>,
    /// When the file was written last.
    written_at: Option<Millis>,
    /// The sizes of contracts that the caller gives.
    sizes: &'a ContractSizes,
    seen: Occurrences,
    markets: HashMap<(String, String), Result<FileMarket, RowReason>>,
    /// Last open interest of each contract of a ticker, with its time.
    last: HashMap<String, (Decimal, Millis)>,
}

impl<'a> Conversion<'a> {
    /// Prepares the conversion; the error says which information is missing.
    pub(super) fn new(
        table: FileTable,
        name: &FileName,
        exchange: Option<&str>,
        sizes: &'a ContractSizes,
        written_at: Option<Millis>,
    ) -> Result<Self, String> {
        let layout = table.layout;
        let kind = layout.format.kind();
        let has = |ours: &str| {
            table
                .columns
                .iter()
                .any(|(name, _)| column_of(name) == Some(ours))
        };
        let of_klines = (layout.format == Format::BinanceKlines).then_some("binance");
        let exchange = layout
            .exchange
            .or(exchange)
            .or(of_klines)
            .map(exchange_name);
        if exchange.is_none() && !has("exchange") && kind != TableKind::Positions {
            return Err(
                "nothing names the exchange of its rows: give exchange=, or a column \"exchange\""
                    .to_owned(),
            );
        }
        if let (Some(named), Some(exchange)) = (name.exchange(), &exchange)
            && known_exchange(exchange).is_some_and(|exchange| exchange != named)
        {
            return Err(format!(
                "its name says that its rows are of {named:?}, and the exchange given is {exchange:?}; rename the file if \
                 that is right"
            ));
        }
        let is_named = layout.is_named_by_file || name.symbol_or_given().is_some();
        if !has("symbol") && !has("coin") && !is_named && kind != TableKind::Positions {
            return Err(
                "no symbol is known: name the file after it, as BTC_USDT-5m.csv".to_owned(),
            );
        }
        let refused = layout.refused.iter();
        let refused = refused.filter_map(|rule| place(&table.header, rule.column));
        let columns = table.columns.iter().map(|(_, place)| *place);
        Ok(Self {
            wanted: columns.chain(refused).collect(),
            defaults: Defaults {
                unit: unit(&table, name, exchange.as_deref()),
                exchange,
                symbol: if layout.is_named_by_file {
                    name.contract_or_given()
                } else {
                    name.symbol_or_given()
                },
                interval: name.interval(),
                side: match layout.side {
                    SideMeaning::Position => SideOf::Position,
                    SideMeaning::Order if layout.exchanges.is_empty() => SideOf::Order,
                    SideMeaning::Order => SideOf::AnyOrder,
                },
                needs_exchange: true,
                needs_exact: true,
            },
            named_length: name.interval(),
            written_at,
            sizes,
            seen: Occurrences::new(),
            markets: HashMap::new(),
            last: HashMap::new(),
            table,
        })
    }

    /// The indexes of the columns of the file that are read.
    pub(super) fn wanted(&self) -> &[usize] {
        &self.wanted
    }

    /// Converts the first rows, to find faults of the whole file.
    pub(super) fn check(&mut self, batch: FileBatch) -> Result<(), String> {
        let is_stated = self.table.columns.iter().any(|(name, _)| {
            name == "last_instant" || matches!(column_of(name), Some("interval" | "closes_at"))
        });
        let needs_length = matches!(self.table.layout.label, Label::End | Label::Start);
        let batch = self.convert(batch)?;
        let times = match &batch.rows {
            TableRows::Bars(read) => {
                if let Some(named) = self.named_length.filter(|_| !is_stated)
                    && let Some(why) = other_length(&read.columns, named)
                {
                    return Err(why);
                }
                spacing(
                    &read.columns.exchange,
                    &read.columns.symbol,
                    &read.columns.timestamp,
                )
            }
            TableRows::OpenInterest(read) => spacing(
                &read.columns.exchange,
                &read.columns.symbol,
                &read.columns.timestamp,
            ),
            // The batches of a file must agree about the length.
            TableRows::Totals(read) if !is_stated && self.defaults.interval.is_none() => {
                self.defaults.interval = spacing(
                    &read.columns.exchange,
                    &read.columns.symbol,
                    &read.columns.timestamp,
                );
                None
            }
            _ => None,
        };
        if needs_length && self.defaults.interval.is_none() {
            let length = times.filter(|length| length % Millis::MINUTE == 0);
            if length.is_none() {
                return Err(format!(
                    "the bar interval is unknown: {}",
                    crate::tables::HOW
                ));
            }
            self.defaults.interval = length;
        }
        self.seen = Occurrences::new();
        self.last.clear();
        Ok(())
    }

    /// The length of bars that do not state it, which [`check`](Self::check) may find.
    pub(super) fn length(&self) -> Option<i64> {
        self.defaults.interval
    }

    /// Sets the length of bars that do not state it.
    pub(super) fn set_length(&mut self, length: Option<i64>) {
        self.defaults.interval = length;
    }

    /// Converts a batch; the error is a fault of a column.
    pub(super) fn convert(&mut self, batch: FileBatch) -> Result<ConvertedBatch, String> {
        let FileBatch { columns, lines, .. } = batch;
        let rows = lines.len();
        let layout = self.table.layout;
        let (ours, others) = columns
            .split_at_checked(self.table.columns.len())
            .unwrap_or((&columns, &[]));
        let mut faults = self.refused(others, rows);
        let names = self.table.columns.iter().map(|(name, _)| name.clone());
        let mut found: Vec<(String, InputCells)> = names
            .zip(ours.iter().cloned().map(InputCells::Arrow))
            .collect();
        if layout.clock == Clock::AnyEpoch {
            read_times(&mut found, &mut faults);
        }
        let is_order_price = average_or_order(&mut found);
        self.name_coins(&mut found);
        let mut skipped = Vec::new();
        if layout.format == Format::HyperliquidFills {
            skipped = skipped_fills(&found, rows);
            fills(&mut found, &mut faults);
        }
        let mut goes_on = || true;
        let mut count = ConvertedBatch {
            rows: TableRows::Positions(Vec::new()),
            lines,
            skipped: 0,
            repeated: 0,
        };
        let kind = layout.format.kind();
        if kind == TableKind::Positions {
            count.rows = TableRows::Positions(found);
            return Ok(count);
        }
        let table = RawTable::new(found).map_err(|fault| column_fault(&fault))?;
        // The columns of known programs are known to be those of liquidations.
        let table = if layout.needs.is_empty() {
            table.with_names(self.table.header.clone())
        } else {
            table
        };
        let stopped = || "the reading was stopped".to_owned();
        match kind {
            TableKind::Orders => {
                let read = read_orders(&table, &self.defaults, &mut goes_on);
                let read = read
                    .map_err(|fault| column_fault(&fault))?
                    .ok_or_else(stopped)?;
                let mut read = read;
                explain(&mut read.faults, &mut faults);
                faults.extend(self.order_faults(&table, &mut read, &is_order_price));
                let (read, dropped) = without(read, &faults, &skipped, UnvaluedOrders::take);
                count.skipped = dropped;
                count.rows = TableRows::Orders(read);
            }
            TableKind::Bars => {
                let read = read_bars(&table, &self.defaults, &mut goes_on);
                let mut read = read
                    .map_err(|fault| column_fault(&fault))?
                    .ok_or_else(stopped)?;
                explain(&mut read.faults, &mut faults);
                self.bar_faults(&mut read, &mut faults);
                let (read, _) = without(read, &faults, &skipped, BarColumns::take);
                count.rows = TableRows::Bars(read);
            }
            TableKind::Totals => {
                let read = read_totals(&table, &self.defaults, &mut goes_on);
                let mut read = read
                    .map_err(|fault| column_fault(&fault))?
                    .ok_or_else(stopped)?;
                explain(&mut read.faults, &mut faults);
                let series = (&*read.columns.timestamp, &*read.columns.interval);
                self.open_when_written("period", series, &read.places, &mut faults);
                let (read, _) = without(read, &faults, &skipped, TotalColumns::take);
                count.rows = TableRows::Totals(read);
            }
            _ => {
                let read = read_interest(&table, &self.defaults, &mut goes_on);
                let mut read = read
                    .map_err(|fault| column_fault(&fault))?
                    .ok_or_else(stopped)?;
                explain(&mut read.faults, &mut faults);
                let unchanged = self.interest_faults(&table, &mut read, &mut faults);
                let (read, dropped) = without(read, &faults, &unchanged, InterestColumns::take);
                count.repeated = dropped;
                count.rows = TableRows::OpenInterest(read);
            }
        }
        Ok(count)
    }

    /// The faults of rows that the layout refuses.
    fn refused(&self, columns: &[ArrayRef], rows: usize) -> BTreeMap<usize, RowReason> {
        let mut faults = BTreeMap::new();
        let rules = self.table.layout.refused.iter();
        let rules = rules.filter_map(|rule| {
            let found = place(&self.table.header, rule.column)?;
            Some((rule, self.table.header.get(found)?))
        });
        for ((rule, _), column) in rules.zip(columns) {
            let cells = InputCells::Arrow(column.clone());
            for row in 0..rows {
                let word = match boolean(column, row) {
                    Some(is) => is.to_string().into(),
                    None => text(cells.at(row)),
                };
                let is = |words: &[&str]| {
                    words
                        .iter()
                        .any(|one| one.eq_ignore_ascii_case(word.trim()))
                };
                if is(rule.refused) || !rule.allowed.is_empty() && !is(rule.allowed) {
                    let name = rule.column.first().copied().unwrap_or_default();
                    faults.insert(row, (name, rule.reason.to_owned(), word.into_owned()));
                }
            }
        }
        faults
    }

    /// Names the column that has the coins of coin-margined contracts of Binance, and the quote currency of others.
    fn name_coins(&self, found: &mut Vec<(String, InputCells)>) {
        let layout = self.table.layout;
        let Some(place) = found.iter().position(|(name, _)| name == "coins") else {
            return;
        };
        let is_binance = self.defaults.exchange.as_deref() == Some("binance");
        let symbol = self.defaults.symbol.as_deref();
        let is_coin_margined = symbol.is_some_and(|symbol| coin_margined(symbol).is_some());
        let ours = match layout.format.kind() {
            TableKind::OpenInterest => "open_interest_value",
            _ if is_binance && is_coin_margined => "home_notional",
            // Binance's volumes are in coins.
            _ if is_binance => {
                found.swap_remove(place);
                return;
            }
            _ => "quote_volume",
        };
        if let Some((name, _)) = found.get_mut(place) {
            ours.clone_into(name);
        }
    }

    /// The market of a row of a recording program.
    fn market(&mut self, exchange: &str, contract: &str) -> Result<FileMarket, RowReason> {
        let key = (exchange.to_owned(), contract.to_owned());
        let layout = self.table.layout;
        let market = self.markets.entry(key);
        let sizes = self.sizes;
        let made = || {
            let mut market = FileMarket::of(&layout, exchange, contract)?;
            let symbol = Symbol::read(contract).or_else(|| Symbol::read(&market.symbol));
            if let (UnitSize::Unknown, Some(symbol)) = (market.unit, symbol) {
                let of = (market.exchange, contract, &symbol);
                market.unit = match sizes.counted(AmountUnit::Contracts, of) {
                    Ok(Counted::Base(size)) => UnitSize::Coins(size),
                    Ok(Counted::Usd(worth)) => UnitSize::Usd(worth),
                    _ => UnitSize::Unknown,
                };
            }
            Ok(market)
        };
        market.or_insert_with(made).clone()
    }

    /// Whether the exchange and the symbol of a row are those of a recording program or of one exchange.
    fn has_markets(&self) -> bool {
        let layout = self.table.layout;
        !layout.exchanges.is_empty()
            || layout.exchange.is_some() && layout.format.kind() == TableKind::Orders
    }

    /// Completes orders of a table: keys, contracts and kinds of price that are not given.
    fn complete(&mut self, orders: &mut GivenOrders, contracts: &Labels) {
        let rows = orders.timestamp.len();
        let mut keys = Vec::with_capacity(rows);
        for row in 0..rows {
            let contract = contracts.get(row).unwrap_or_default();
            let exchange = orders.exchange.get(row).unwrap_or_default();
            let given = orders.dedupe_key.as_ref().and_then(|keys| keys.get(row));
            keys.push(match given.filter(|key| !key.is_empty()) {
                Some(given) => given.clone(),
                None => self
                    .seen
                    .repeated(exchange, contract, values(orders, row))
                    .unwrap_or_default(),
            });
        }
        let blank = || std::iter::repeat_n("", rows).collect::<Labels>();
        orders.coin.get_or_insert_with(blank);
        orders.group_id.get_or_insert_with(blank);
        let kinds = given_or(orders.price_kind.as_ref(), rows, |_| UNKNOWN_PRICE);
        orders.price_kind = Some(kinds);
        let natives = given_or(orders.native_id.as_ref(), rows, |row| {
            contracts.get(row).unwrap_or_default()
        });
        orders.native_id = Some(natives);
        orders.completeness = Some(vec![Completeness::Unknown; rows]);
        orders.dedupe_key = Some(keys);
    }

    /// Completes orders: their market, quantity and value, key and kind of price. Returns the faults.
    fn order_faults(
        &mut self,
        table: &RawTable,
        read: &mut ReadRows<UnvaluedOrders>,
        is_order_price: &[bool],
    ) -> BTreeMap<usize, RowReason> {
        let mut faults = BTreeMap::new();
        let layout = self.table.layout;
        let UnvaluedOrders {
            given: orders,
            is_unvalued,
            ..
        } = &mut read.columns;
        let contracts = orders.symbol.clone();
        if !self.has_markets() {
            self.complete(orders, &contracts);
            return faults;
        }
        let rows = orders.timestamp.len();
        let mut keys = vec![String::new(); rows];
        let columns = KeyColumns::of(table, layout.key);
        let mut made = MarketColumns::default();
        // Markets by the codes of exchange and contract.
        let mut markets: HashMap<_, Result<FileMarket, RowReason>> = HashMap::new();
        for (row, key) in keys.iter_mut().enumerate() {
            let place = read.places.get(row).copied().unwrap_or_default();
            let contract = contracts.get(row).unwrap_or_default();
            let exchange = orders.exchange.get(row).unwrap_or_default();
            let codes = (orders.exchange.codes().get(row), contracts.codes().get(row));
            let market = markets.entry(codes).or_insert_with(|| {
                match FileMarket::unreadable(&layout, exchange) {
                    Some(why) => Err(("price", why.to_owned(), exchange.to_owned())),
                    None => self.market(exchange, contract),
                }
            });
            let (side, at, amount, price) = values(orders, row);
            let market = match market {
                Ok(market) => market,
                Err(fault) => {
                    faults.insert(place, fault.clone());
                    made.push(None, amount, None);
                    continue;
                }
            };
            let amounts = market.unit.amounts(amount, price);
            let is_sound = amount > Decimal::ZERO && price > Decimal::ZERO;
            let (qty, value) = match amounts {
                Ok(amounts) => amounts,
                // The rules refuse such a price or quantity.
                Err(_) if !is_sound => (amount, None),
                Err(why) => {
                    faults.insert(place, ("qty", why.to_owned(), contract.to_owned()));
                    (amount, None)
                }
            };
            if market.is_side_of_position
                && let Some(side) = orders.side.get_mut(row)
            {
                *side = match side {
                    Side::Long => Side::Short,
                    Side::Short => Side::Long,
                };
            }
            let is_order = is_order_price.get(place) == Some(&true);
            let id = columns.id(place);
            *key = columns.key((place, id.as_deref()), contract, (side, at, amount, price));
            // Without an id, equal lines are distinct orders.
            if matches!(layout.key, OrderKey::Id(_))
                && id.is_none()
                && let Some(times) = self
                    .seen
                    .count(exchange, contract, (side, at, amount, price))
            {
                *key = numbered(std::mem::take(key), times);
            }
            let kind = if is_order {
                Some("order")
            } else {
                market.price_kind.map(Vocabulary::name)
            };
            made.kind(kind);
            made.push(Some(market), qty, value);
        }
        made.put(orders, is_unvalued);
        orders.group_id = Some(std::iter::repeat_n("", rows).collect());
        orders.native_id = Some(contracts);
        orders.dedupe_key = Some(keys);
        faults
    }

    /// Converts the volume and the label of bars, and finds faults.
    fn bar_faults(
        &mut self,
        read: &mut ReadRows<BarColumns>,
        faults: &mut BTreeMap<usize, RowReason>,
    ) {
        let layout = self.table.layout;
        let bars = &mut read.columns;
        let mut volumes = Vec::new();
        for row in 0..bars.timestamp.len() {
            let place = read.places.get(row).copied().unwrap_or_default();
            if layout.amount == AmountMeaning::Usd {
                let [high, low, usd] =
                    [&bars.high, &bars.low, &bars.volume].map(|one| one.get(row));
                let volume = in_coins(usd, high, low);
                if volume.is_none() {
                    let reason = "does not fit a decimal in coins".to_owned();
                    let shown = usd.unwrap_or_default().to_string();
                    faults.insert(place, ("volume_usd", reason, shown));
                }
                volumes.push(volume.unwrap_or_default());
            }
            if layout.label == Label::End
                && let (Some(at), Some(interval)) = (
                    bars.timestamp.get_mut(row),
                    bars.interval
                        .get(row)
                        .copied()
                        .flatten()
                        .or(self.defaults.interval),
                )
            {
                *at = at.back(interval);
            }
        }
        let series = (&*bars.timestamp, &*bars.interval);
        self.open_when_written("bar", series, &read.places, faults);
        if layout.amount == AmountMeaning::Usd {
            bars.volume = volumes.into_iter().collect();
        }
        if !layout.exchanges.is_empty() {
            let found = (bars.exchange.clone(), bars.symbol.clone());
            bars.exchange = self.own_exchanges(&found, &read.places, faults, true);
        }
    }

    /// The periods of a file end with those that were open when it was written.
    fn open_when_written(
        &self,
        what: &str,
        (starts, lengths): (&[Millis], &[Option<i64>]),
        places: &[usize],
        faults: &mut BTreeMap<usize, RowReason>,
    ) {
        let last = starts.iter().max().copied().unwrap_or_default();
        for ((place, at), length) in places.iter().zip(starts).zip(lengths) {
            if let (Some(written), Some(length)) = (self.written_at, length)
                && *at <= written
                && written.max(last) < at.on(*length)
            {
                let reason = format!("the {what} was still open when the file was written");
                faults.insert(*place, ("timestamp", reason, at.to_string()));
            }
        }
    }

    /// The exchanges of rows of a recording program. Rows of which the amount is not in coins are faulty if `in_coins`.
    fn own_exchanges(
        &mut self,
        (exchanges, contracts): &(Labels, Labels),
        places: &[usize],
        faults: &mut BTreeMap<usize, RowReason>,
        in_coins: bool,
    ) -> Labels {
        let mut own = Labels::default();
        for (row, place) in places.iter().enumerate() {
            let contract = contracts.get(row).unwrap_or_default();
            let market = self.market(exchanges.get(row).unwrap_or_default(), contract);
            own.push(market.as_ref().map_or("", |market| market.exchange));
            match market {
                Err(fault) => {
                    faults.insert(*place, fault);
                }
                Ok(market) if in_coins && market.unit != UnitSize::Coins(Decimal::ONE) => {
                    faults.insert(
                        *place,
                        ("volume", UNKNOWN_SIZE.to_owned(), contract.to_owned()),
                    );
                }
                Ok(_) => {}
            }
        }
        own
    }

    /// Converts amount and label of readings, and finds faults. Returns the rows that repeat the reading before.
    fn interest_faults(
        &mut self,
        table: &RawTable,
        read: &mut ReadRows<InterestColumns>,
        faults: &mut BTreeMap<usize, RowReason>,
    ) -> Vec<usize> {
        let layout = self.table.layout;
        let mut unchanged = Vec::new();
        let readings = &mut read.columns;
        for at in &mut readings.timestamp {
            match layout.label {
                Label::Start => *at = at.on(self.defaults.interval.unwrap_or_default()),
                Label::Moved(from, by) if *at >= from => *at = at.on(by),
                _ => {}
            }
        }
        if layout.label != Label::Instant && readings.received_at.is_some() {
            readings.received_at = Some(readings.timestamp.clone());
        }
        if layout.exchanges.is_empty() {
            return unchanged;
        }
        let found = (readings.exchange.clone(), readings.symbol.clone());
        readings.exchange = self.own_exchanges(&found, &read.places, faults, false);
        let is_ticker = layout.format == Format::TardisDerivativeTicker;
        let mut coins = DecimalColumn::with_capacity(read.places.len());
        let mut in_usd: Vec<usize> = Vec::new();
        for (row, place) in read.places.iter().enumerate() {
            let amount = readings.open_interest.get(row).unwrap_or_default();
            let contract = found.1.get(row).unwrap_or_default();
            let at = readings.timestamp.get(row).copied().unwrap_or_default();
            let is_known = |(known, before): &(Decimal, Millis)| {
                *known == amount && at.0.saturating_sub(before.0) < FRESH
            };
            if is_ticker && self.last.get(contract).is_some_and(is_known) {
                unchanged.push(*place);
                coins.push(amount);
                continue;
            }
            let market = self.market(found.0.get(row).unwrap_or_default(), contract);
            let price = ["mark_price", "last_price"].into_iter().find_map(|name| {
                let price = exact_cell(&table.get(name)?.at(*place))?;
                (price > Decimal::ZERO).then_some(price)
            });
            let made = market.map(|market| match (market.unit, price) {
                // Without a price, bars convert the USD later.
                (UnitSize::Usd(worth), None) => {
                    in_usd.push(*place);
                    UnitSize::Coins(worth).amounts(amount, Decimal::ONE)
                }
                (unit, price) => unit.amounts(amount, price.unwrap_or_default()),
            });
            match made {
                Ok(Ok((made, _))) => coins.push(made),
                Ok(Err(why)) => {
                    coins.push(Decimal::ZERO);
                    faults.insert(
                        *place,
                        ("open_interest", why.to_owned(), contract.to_owned()),
                    );
                }
                Err(_) => coins.push(Decimal::ZERO),
            }
            if is_ticker && !faults.contains_key(place) {
                self.last.insert(contract.to_owned(), (amount, at));
            }
        }
        readings.open_interest = coins.into();
        let is_other =
            |place: &&usize| !faults.contains_key(place) && in_usd.binary_search(place).is_err();
        readings.in_usd = !in_usd.is_empty() && !read.places.iter().any(|place| is_other(&place));
        if !readings.in_usd {
            for place in in_usd {
                let reason =
                    "is in USD, and other readings are in coins; a column mark_price converts it";
                faults.insert(place, ("open_interest", reason.to_owned(), String::new()));
            }
        }
        unchanged
    }
}

/// The unit of the amounts of a file.
fn unit(table: &FileTable, name: &FileName, exchange: Option<&str>) -> AmountUnit {
    let layout = table.layout;
    let kind = layout.format.kind();
    let is_of_ccxt = layout.format == Format::CcxtOhlcv || name.is_of_ccxt();
    let is_one = exchange.is_some_and(|exchange| IN_CONTRACTS.contains(&exchange));
    match layout.amount {
        AmountMeaning::Unstated if kind == TableKind::Bars && is_of_ccxt && is_one => {
            AmountUnit::Contracts
        }
        AmountMeaning::Binance if kind == TableKind::Orders && layout.exchange.is_none() => {
            AmountUnit::Published
        }
        AmountMeaning::Binance if kind == TableKind::Orders => AmountUnit::Base,
        // The amounts of Binance's other contracts are in coins; other exchanges write the same files.
        AmountMeaning::Binance if exchange == Some("binance") => AmountUnit::Published,
        AmountMeaning::Unstated | AmountMeaning::Binance => AmountUnit::Unstated,
        AmountMeaning::Contracts => AmountUnit::Contracts,
        // Amounts of the other formats are converted to coins here.
        _ => AmountUnit::Base,
    }
}

/// Leaves out faulty rows, adds their faults, and leaves out rows to `skip`. Also returns the number of these.
fn without<T>(
    mut read: ReadRows<T>,
    faults: &BTreeMap<usize, RowReason>,
    skip: &[usize],
    take: impl FnOnce(&T, &[usize]) -> T,
) -> (ReadRows<T>, u64) {
    let is_skipped = |place: &usize| skip.binary_search(place).is_ok();
    let before = read.places.len() + read.faults.len();
    if !faults.is_empty() || !skip.is_empty() {
        let places = read.places.iter().enumerate();
        let good: Vec<usize> = places
            .filter(|(_, place)| !faults.contains_key(place) && !is_skipped(place))
            .map(|(row, _)| row)
            .collect();
        read.faults
            .retain(|fault| !faults.contains_key(&fault.row) && !is_skipped(&fault.row));
        read.faults
            .extend(faults.iter().filter(|(row, _)| !is_skipped(row)).map(
                |(row, (column, reason, shown))| {
                    RowFault::new(*row, column, reason.clone(), shown.clone())
                },
            ));
        if good.len() < read.places.len() {
            read.columns = take(&read.columns, &good);
            let places = good.iter().filter_map(|row| read.places.get(*row).copied());
            read.places = places.collect();
        }
    }
    let after = read.places.len() + read.faults.len();
    (read, before.saturating_sub(after) as u64)
}

/// Replaces the fault of a missing time by the reason why the cell is none.
fn explain(found: &mut [RowFault], faults: &mut BTreeMap<usize, RowReason>) {
    faults.retain(|row, (column, reason, shown)| {
        if *column != "timestamp" && *column != "received_at" {
            return true;
        }
        let known = found.iter_mut().find(|fault| fault.row == *row);
        match known {
            Some(fault) if fault.column == *column => {
                reason.clone_into(fault.reason.to_mut());
                shown.clone_into(&mut fault.shown);
                false
            }
            // Another cell of the row is faulty, too.
            Some(_) => false,
            None => true,
        }
    });
}

/// The message for a fault of a column.
fn column_fault(fault: &ColumnFault) -> String {
    format!("column {:?} {}", fault.column, fault.message)
}

/// The commonest distance between the rows of a series.
fn spacing(exchanges: &Labels, symbols: &Labels, times: &[Millis]) -> Option<i64> {
    let mut spacings = crate::tables::Spacings::default();
    for (series, at) in exchanges.iter().zip(symbols.iter()).zip(times) {
        spacings.add(series, *at);
    }
    spacings.overall().map(|spacing| spacing.commonest)
}

/// Reads the columns of times of which the size gives the unit.
fn read_times(found: &mut Vec<(String, InputCells)>, faults: &mut BTreeMap<usize, RowReason>) {
    let date = found.iter().position(|(name, _)| name == "date");
    let date = date.map(|place| found.swap_remove(place).1);
    let mut text_of_time = None;
    for (name, cells) in &mut *found {
        let (ours, later) = match name.as_str() {
            "timestamp" => ("timestamp", 0),
            "received_at" => ("received_at", 0),
            // The last instant of a bar is a millisecond or a microsecond before its end.
            "last_instant" => ("closes_at", 1),
            _ => continue,
        };
        let mut times = Vec::with_capacity(cells.len());
        for row in 0..cells.len() {
            let cell = cells.at(row);
            let at = match &cell {
                InputCell::Instant(at) => Some(Millis(*at)),
                InputCell::Int(at) => whole_epoch(*at),
                InputCell::Text(at) => any_instant(at.trim()),
                cell => any_instant(&text(cell.clone())),
            };
            let dated = || any_instant(&text(date.as_ref()?.at(row)));
            let at = at.or_else(|| (ours == "timestamp").then(dated).flatten());
            if at.is_none() && !cell.is_missing() {
                let reason = "not an instant (an epoch, or ISO 8601)".to_owned();
                faults.insert(row, (ours, reason, text(cell).into_owned()));
            }
            times.push(at.map(|at| at.on(later).0));
        }
        let times = InputCells::Arrow(Arc::new(TimestampMillisecondArray::from(times)));
        let was = std::mem::replace(cells, times);
        if ours == "timestamp" {
            text_of_time = Some(was);
        }
        ours.clone_into(name);
    }
    found.extend(text_of_time.map(|cells| ("timestamp_text".to_owned(), cells)));
}

/// Replaces an average price of 0 by the price of the order. Returns for each row whether it was replaced.
fn average_or_order(found: &mut Vec<(String, InputCells)>) -> Vec<bool> {
    let Some(place) = found.iter().position(|(name, _)| name == "order_price") else {
        return Vec::new();
    };
    let (_, ordered) = found.swap_remove(place);
    let Some((_, paid)) = found.iter_mut().find(|(name, _)| name == "price") else {
        return Vec::new();
    };
    let is_zero = |row: usize| exact_cell(&paid.at(row)).is_some_and(|paid| paid.is_zero());
    let are: Vec<bool> = (0..ordered.len()).map(is_zero).collect();
    if are.contains(&true) {
        *paid = chosen(&are, &ordered, paid);
    }
    are
}

/// The cells of `one` where `are` says so, else those of `other`, as text.
fn chosen(are: &[bool], one: &InputCells, other: &InputCells) -> InputCells {
    let cells = are.iter().enumerate().map(|(row, is)| {
        let cells = if *is { one } else { other };
        text(cells.at(row))
    });
    InputCells::Arrow(Arc::new(StringArray::from_iter_values(cells)))
}

/// Converts a volume in USD to coins, at the midpoint of high and low.
fn in_coins(usd: Option<Decimal>, high: Option<Decimal>, low: Option<Decimal>) -> Option<Decimal> {
    let middle = high?.checked_add(low?)?.checked_div(Decimal::TWO)?;
    let coins = usd?.checked_div(middle)?.round_dp(PLACES);
    Some(coins.normalize())
}
