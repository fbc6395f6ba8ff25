//! Liquidation orders.

use std::cmp::Ordering;
use std::hash::{Hash as _, Hasher};

use rust_decimal::Decimal;

use crate::archive::rows::row::{
    Fault, KeySource, Row, check_amount, check_decimal, check_name, check_text, check_time,
};
use crate::model::{
    Completeness, ContractKind, GroupedOrder, Millis, ObservedOrder, Order, OrderBrief, Side,
    Symbol, record,
};

/// Maximum value of an order in USD.
///
/// The limit exceeds the open interest of all exchanges together. A hundred million orders of this value can be summed
/// exactly.
pub(crate) const MAX_ORDER_USD: Decimal = Decimal::from_parts(3_567_587_328, 232, 0, false, 0);

/// One liquidation order with all of its attributes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrderRow {
    /// Exchange, pair, side, price, quantity, value and time of the order.
    pub order: Order,
    /// Coin.
    pub coin: String,
    /// Kind of the price, such as `avg_fill` or `bankruptcy`.
    pub price_kind: String,
    /// Whether the channel reports every order.
    pub completeness: Completeness,
    /// Identifier given by the exchange, if any.
    pub native_id: Option<String>,
    /// Key that identifies the order within its exchange.
    ///
    /// If an exchange sends an order again, the key is the same.
    pub dedupe_key: String,
    /// When the order was received.
    pub received_at: Millis,
    /// The raw message that the order was decoded from, if it is stored.
    pub raw: Option<String>,
    /// The exchange's identifier of a group of orders, such as all fills of one liquidation.
    pub group_id: Option<String>,
}

record! {
    impl OrderRow {
        exchange: String = order.exchange,
        symbol: String = order.symbol,
        coin: String = coin,
        side: Side = order.side,
        price: Decimal = order.price,
        price_kind: String = price_kind,
        qty: Decimal = order.qty,
        value_usd: Decimal = order.value_usd,
        timestamp: Millis = order.timestamp,
        received_at: Millis = received_at,
        completeness: Completeness = completeness,
        native_id: Option<String> = native_id,
        dedupe_key: String = dedupe_key,
        raw: Option<String> = raw,
        group_id: Option<String> = group_id,
    }
    made of {
        order: Order { exchange, symbol, side, price, qty, value_usd, timestamp },
        coin,
        price_kind,
        completeness,
        native_id,
        dedupe_key,
        received_at,
        raw,
        group_id,
    }
}

impl OrderRow {
    /// Whether another order has a key of another source and the same values, so that both are one order.
    ///
    /// The values are exchange, contract, side, price, quantity and millisecond. Keys that no exchange assigned count as
    /// of one source.
    #[must_use]
    pub fn is_of_another_source(&self, other: &Self) -> bool {
        self.is_same_event(other, true)
    }

    /// The dated contract of the order, as letters and digits; `None` for other contracts.
    fn dated_contract(&self) -> Option<String> {
        let key = self.dedupe_key.as_str();
        let spelled = || spelled_contract(key).map(|(contract, _)| contract);
        let contract = self.native_id.as_deref().or_else(spelled)?;
        let plain = || contract.chars().filter(char::is_ascii_alphanumeric);
        is_dated(contract).then(|| plain().collect::<String>().to_uppercase())
    }

    /// Returns the column that cannot be stored exactly, and the reason.
    #[must_use]
    pub fn fault(&self) -> Option<(&'static str, String)> {
        self.check().err()
    }
}

impl From<OrderRow> for ObservedOrder {
    fn from(row: OrderRow) -> Self {
        Self {
            order: row.order,
            coin: Some(row.coin),
            received_at: Some(row.received_at),
            group_id: row.group_id,
        }
    }
}

impl From<OrderRow> for GroupedOrder {
    fn from(row: OrderRow) -> Self {
        Self {
            order: row.order,
            group_id: row.group_id,
        }
    }
}

impl<'a> From<&'a OrderRow> for OrderBrief<'a> {
    fn from(row: &'a OrderRow) -> Self {
        Self::of(&row.order, &row.coin, row.received_at)
    }
}

/// Splits the dedupe key of an imported order at its side.
///
/// Returns the contract, as the file spells it, and the part after the side. Returns `None` for orders that were not
/// imported.
fn spelled_contract(key: &str) -> Option<(&str, &str)> {
    let contract_and_rest = key.strip_prefix("file|")?;
    let mut sides = ["|LONG|", "|SHORT|"].into_iter();
    sides.find_map(|side| contract_and_rest.rsplit_once(side))
}

/// Whether the dedupe key of an imported order contains this time.
pub(crate) fn has_time(key: &str, at: Millis) -> bool {
    let time = spelled_contract(key).and_then(|(_, said)| said.split('|').next());
    time.is_some_and(|time| time == itoa::Buffer::new().format(at.0))
}

/// What assigned a dedupe key.
pub(crate) fn source_of_key(exchange: &str, key: &str) -> KeySource {
    match key.split_once('|') {
        Some(("file", _)) => KeySource::Values,
        Some((name, _)) if name == exchange => KeySource::Exchange,
        _ => KeySource::Other,
    }
}

/// Whether one of two keys of an exchange has a detail that the other lacks: milliseconds, or an id.
///
/// Some exchanges send such a detail only over one of their channels.
fn differs_in_detail(one: &str, other: &str) -> bool {
    let shared = |key: &'_ str| -> Option<String> {
        let (shared, detail) = key.rsplit_once('|')?;
        let millis = detail.strip_suffix("ms").unwrap_or_default();
        let is_detail = detail.starts_with("id ") || millis.parse::<u16>().is_ok();
        is_detail.then(|| shared.to_owned())
    };
    let is_less_exact = |less: &str, shared: &str| {
        let rest = less.strip_prefix(shared);
        rest.is_some_and(|rest| {
            rest.is_empty()
                || rest
                    .strip_prefix('|')
                    .is_some_and(|number| number.parse::<u32>().is_ok())
        })
    };
    match (shared(one), shared(other)) {
        (Some(shared), None) => is_less_exact(other, &shared),
        (None, Some(shared)) => is_less_exact(one, &shared),
        _ => false,
    }
}

/// Whether a contract has a delivery date, which the pair of an order does not include.
fn is_dated(contract: &str) -> bool {
    Symbol::read(contract).is_some_and(|symbol| symbol.kind() == ContractKind::Dated)
}

impl Row for OrderRow {
    const TABLE: &'static str = "orders";
    const UNIQUE: &'static str = "exchange, dedupe_key";
    const GROUP: usize = 32_768;
    const COIN: &'static str = "coin";
    const KEY: Option<&'static str> = Some("dedupe_key");
    const HAS_SOURCES: bool = true;

    fn check(&self) -> Result<(), Fault> {
        check_name("exchange", &self.order.exchange)?;
        check_name("symbol", &self.order.symbol)?;
        check_name("coin", &self.coin)?;
        check_name("price_kind", &self.price_kind)?;
        check_text("dedupe_key", &self.dedupe_key)?;
        for (column, value) in [("price", self.order.price), ("qty", self.order.qty)] {
            if value <= Decimal::ZERO {
                return Err((column, format!("{value} is not above 0")));
            }
            check_decimal(column, value)?;
        }
        if self.order.value_usd > MAX_ORDER_USD {
            return Err((
                "value_usd",
                format!(
                    "{} is above the largest allowed value of an order, {MAX_ORDER_USD}",
                    self.order.value_usd
                ),
            ));
        }
        check_amount("value_usd", self.order.value_usd)?;
        check_time("timestamp", self.order.timestamp)?;
        check_time("received_at", self.received_at)
    }

    fn key(&self) -> String {
        format!("{}\n{}", self.order.exchange, self.dedupe_key)
    }

    fn hash_key(&self, hasher: &mut impl Hasher) {
        let key = self.dedupe_key.as_str();
        let said = spelled_contract(key).map_or(key, |(_, said)| said);
        (&self.order.exchange, said).hash(hasher);
    }

    fn has_key_of(&self, other: &Self) -> bool {
        self.dedupe_key == other.dedupe_key && self.order.exchange == other.order.exchange
    }

    fn is_spelled_otherwise(&self, other: &Self) -> bool {
        let contract_and_rest =
            spelled_contract(&self.dedupe_key).zip(spelled_contract(&other.dedupe_key));
        let of = |row: &Self| (row.order.side, row.order.timestamp);
        contract_and_rest.is_some_and(|((contract, said), (another, as_said))| {
            said == as_said
                && of(self) == of(other)
                && self.order.exchange == other.order.exchange
                && self.order.symbol == other.order.symbol
                && contract != another
                && !is_dated(contract)
                && !is_dated(another)
        })
    }

    fn hash_event(&self, hasher: &mut impl Hasher) {
        let order = &self.order;
        let values = (order.side, order.timestamp, order.price, order.qty);
        (&order.exchange, &self.coin, values).hash(hasher);
    }

    fn is_same_event(&self, other: &Self, is_of_one_import: bool) -> bool {
        let (one, two) = (&self.order, &other.order);
        // A table may state only the coin.
        let is_coin = |row: &Self| row.order.symbol == row.coin;
        let is_like = one.timestamp == two.timestamp
            && one.side == two.side
            && one.price == two.price
            && one.qty == two.qty
            && one.exchange == two.exchange
            && self.coin == other.coin
            && (one.symbol == two.symbol || is_coin(self) || is_coin(other));
        is_like
            && match (self.key_source(), other.key_source()) {
                (KeySource::Exchange, KeySource::Exchange) => {
                    differs_in_detail(&self.dedupe_key, &other.dedupe_key)
                }
                (one, two) => one != two || !is_of_one_import,
            }
            && self.dated_contract() == other.dated_contract()
    }

    fn key_source(&self) -> KeySource {
        source_of_key(&self.order.exchange, &self.dedupe_key)
    }

    fn exchange(&self) -> Option<&str> {
        Some(&self.order.exchange)
    }

    fn symbol(&self) -> &str {
        &self.order.symbol
    }

    fn coin(&self) -> &str {
        &self.coin
    }

    fn timestamp(&self) -> Millis {
        self.order.timestamp
    }

    fn received_at(&self) -> Millis {
        self.received_at
    }

    fn weight(&self) -> usize {
        // The text fields take a few bytes each; doubling the size of the struct covers them.
        2 * size_of::<Self>() + self.raw.as_ref().map_or(0, String::len)
    }

    fn file_order(&self, other: &Self) -> Ordering {
        (self.order.timestamp, &self.order.exchange, &self.dedupe_key).cmp(&(
            other.order.timestamp,
            &other.order.exchange,
            &other.dedupe_key,
        ))
    }
}
