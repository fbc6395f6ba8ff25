//! The rules of liquidation orders.

use rust_decimal::Decimal;

use crate::archive::GivenOrders;
use crate::model::{
    DecimalColumn, Labels, Settlement, contradicts_product, exchange_name, is_dollar,
    may_be_inverse, product, published_size, quotient,
};
use crate::tables::amount_unit::{AmountUnit, ContractSizes, Counted, UNSTATED_UNIT};
use crate::tables::attribution::UNKNOWN_EXCHANGE;
use crate::tables::reading::{ReadRows, UnvaluedOrders, take_orders};
use crate::tables::row_fault::RowFault;
use crate::tables::rules::bar_rules::per_coin;
use crate::tables::rules::contracts::Resolved;
use crate::tables::rules::judge::{Judge, Judged, by_code, contracts_of, listed_symbols};
use crate::tables::rules::pair_rules::{CellFault, other_exchange};

/// Maximum value of an order in USD. The sum of ten billion such orders fits a decimal.
const MOST_USD: Decimal = Decimal::from_parts(2_808_348_672, 232_830_643, 0, false, 0);

/// Verdicts on the distinct names of orders.
///
/// Unknown exchanges, contracts of pairs, contracts of native ids, and [`Terms`].
type Known<'a> = (
    &'a [Option<String>],
    &'a [Resolved],
    Option<&'a [Resolved]>,
    &'a Terms,
);

/// Price, quantity and value in USD of an accepted order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Numbers {
    price: Decimal,
    qty: Decimal,
    value_usd: Decimal,
}

/// Numbers of an order that its row may state.
#[derive(Clone, Copy, Debug)]
struct StatedNumbers {
    value_usd: Option<Decimal>,
    /// The value in the quote currency.
    quote_value: Option<Decimal>,
    contract_size: Option<Decimal>,
}

impl StatedNumbers {
    /// The stated value in USD. A value in the quote currency is one if the currency counts as USD.
    fn value(self, contract: &Resolved) -> Result<Option<Decimal>, CellFault> {
        let quote = self
            .quote_value
            .filter(|_| contract.foreign_quote().is_none());
        match (self.value_usd, quote) {
            (Some(value), Some(quote)) if contradicts_product(Decimal::ONE, quote, value) => {
                let reason = "differs from the value in the quote currency".to_owned();
                Err(("value_usd", reason, format!("{value} ({quote})")))
            }
            (value, quote) => Ok(value.or(quote)),
        }
    }
}

impl Judge<'_> {
    /// Returns the accepted orders, in units of their pairs; `None` if `goes_on` stopped the checks.
    pub(crate) fn orders(&mut self, read: ReadRows<UnvaluedOrders>) -> Option<Judged<GivenOrders>> {
        let ReadRows {
            columns:
                UnvaluedOrders {
                    given: mut orders,
                    is_unvalued,
                    quote_value,
                    contract_size,
                    unit,
                },
            places,
            mut faults,
        } = read;
        let exchanges = self.exchanges(&orders.exchange);
        if let Some(symbols) = listed_symbols(&orders.exchange, &orders.symbol) {
            let spelled = std::mem::replace(&mut orders.symbol, symbols);
            // The contract is known by the name that its exchange gives it.
            let given = spelled.iter().zip(orders.symbol.iter());
            let natives =
                given.map(|(spelled, symbol)| if spelled == symbol { "" } else { spelled });
            let natives: Labels = natives.collect();
            orders.native_id.get_or_insert(natives);
        }
        let contracts = contracts_of(&orders.symbol);
        let natives = orders.native_id.as_ref().map(contracts_of);
        let terms = Terms::of(&orders, &contracts, unit, self.sizes);
        let mut good = Vec::with_capacity(places.len());
        let mut changed: Vec<(usize, Numbers)> = Vec::new();
        for row in 0..places.len() {
            if !self.look(row) {
                return None;
            }
            let is_valued = !is_unvalued.get(row).copied().unwrap_or_default();
            let of_row = |cells: &Option<Vec<Option<Decimal>>>| {
                let cells = cells.as_ref()?;
                cells.get(row).copied().flatten()
            };
            let stated = StatedNumbers {
                value_usd: is_valued.then(|| orders.value_usd.get(row).unwrap_or_default()),
                quote_value: of_row(&quote_value),
                contract_size: of_row(&contract_size).filter(|_| unit == AmountUnit::Unstated),
            };
            let verdict = self.order(
                &orders,
                row,
                stated,
                (&exchanges, &contracts, natives.as_deref(), &terms),
            );
            match verdict {
                Ok(numbers) => {
                    good.push(row);
                    if let Some(numbers) = numbers {
                        changed.push((row, numbers));
                    }
                }
                Err((column, reason, shown)) => {
                    let place = places.get(row).copied().unwrap_or_default();
                    faults.push(RowFault::new(place, column, reason, shown));
                }
            }
        }
        if self.is_stopped() {
            return None;
        }
        if !changed.is_empty() {
            let with = |column: &DecimalColumn, of: fn(&Numbers) -> Decimal| -> DecimalColumn {
                let mut rest = changed.iter().peekable();
                let cells = column.iter().enumerate().map(|(row, cell)| {
                    let change = rest.next_if(|(changed, _)| *changed == row);
                    change.map_or(cell, |(_, numbers)| of(numbers))
                });
                cells.collect()
            };
            orders.price = with(&orders.price, |numbers| numbers.price);
            orders.qty = with(&orders.qty, |numbers| numbers.qty);
            orders.value_usd = with(&orders.value_usd, |numbers| numbers.value_usd);
        }
        orders.symbol = named(orders.symbol, &contracts);
        if good.len() < places.len() {
            orders = take_orders(&orders, &good);
        }
        let places = good.iter().filter_map(|row| places.get(*row).copied());
        Some(Judged {
            columns: orders,
            places: places.collect(),
            repeated: 0,
            faults,
        })
    }

    /// Checks an order, and returns its numbers if they differ from the cells of the table.
    fn order(
        &self,
        orders: &GivenOrders,
        row: usize,
        stated: StatedNumbers,
        (exchanges, contracts, natives, terms): Known<'_>,
    ) -> Result<Option<Numbers>, CellFault> {
        let at = orders.timestamp.get(row).copied().unwrap_or_default();
        if let Some((reason, shown)) = self.time(at) {
            return Err(("timestamp", reason.to_owned(), shown));
        }
        if let Some(Some(unknown)) = by_code(exchanges, &orders.exchange, row) {
            return Err(("exchange", UNKNOWN_EXCHANGE.to_owned(), unknown.clone()));
        }
        let contract = by_code(contracts, &orders.symbol, row);
        let Some(contract) = contract else {
            return Err((
                "symbol",
                "blank; name a trading pair".to_owned(),
                String::new(),
            ));
        };
        if let Some(why) = contract.no_orders() {
            return Err(("symbol", why, contract.spelled.clone()));
        }
        // The pair does not show whether the contract is an option. The exchange's own contract id does.
        let native = orders.native_id.as_ref().zip(natives);
        let native = native.and_then(|(names, natives)| by_code(natives, names, row));
        if let Some(why) = native.and_then(Resolved::is_option) {
            return Err((
                "symbol",
                why,
                native.map_or_else(String::new, |native| native.spelled.clone()),
            ));
        }
        let terms = terms.at(orders, row).copied().unwrap_or_default();
        if let Some(other) = terms.other_exchange {
            return Err(other_exchange(contract, other));
        }
        let (price, qty) = (orders.price.get(row), orders.qty.get(row));
        let (price, qty) = (price.unwrap_or_default(), qty.unwrap_or_default());
        for (column, value) in [("price", price), ("qty", qty)] {
            if value <= Decimal::ZERO {
                return Err((column, "not above 0".to_owned(), value.to_string()));
            }
        }
        let amounts = [
            ("value_usd", stated.value_usd),
            ("quote_value", stated.quote_value),
        ];
        for (column, value) in amounts {
            if let Some(value) = value.filter(|value| *value < Decimal::ZERO) {
                return Err((column, "below 0".to_owned(), value.to_string()));
            }
        }
        let value = stated.value(contract)?;
        let terms = match stated.contract_size.filter(|_| self.sizes.is_empty()) {
            Some(size) => {
                let exchange = exchange_name(orders.exchange.get(row).unwrap_or_default());
                let worth = value.or(stated.quote_value);
                sized(terms, (&exchange, contract), size, (price, qty, worth))?
            }
            None => terms,
        };
        if let Some(value) = value.filter(|value| *value > MOST_USD) {
            let reason = format!("above {MOST_USD}");
            return Err(("value_usd", reason, value.to_string()));
        }
        let rate = || self.rate(contract, at);
        let plain = terms.counted == Ok(Counted::Base(Decimal::ONE)) && terms.scale == 1;
        if plain
            && let Some(value) = stated.value_usd
            && (!terms.is_in_dollars || !contradicts_product(price, qty, value))
        {
            return Ok(None);
        }
        let mut numbers = converted(price, qty, value, terms, rate)?;
        // A value in another quote currency is compared in that currency.
        if let Some(quote) = stated
            .quote_value
            .filter(|_| contract.foreign_quote().is_some())
            && contradicts_product(price, numbers.qty, quote)
        {
            return Err(contradiction("quote_value", quote, price, qty));
        }
        if terms.scale != 1 {
            let unscaled = in_coins(numbers.price, numbers.qty, terms.scale);
            (numbers.price, numbers.qty) = unscaled.ok_or_else(|| {
                let shown = format!("{price} × {qty}");
                ("price", "does not fit a decimal in coins".to_owned(), shown)
            })?;
        }
        Ok(Some(numbers))
    }

    /// USD per unit of a contract's quote currency at an instant.
    pub(super) fn rate(
        &self,
        contract: &Resolved,
        at: crate::model::Millis,
    ) -> Result<Decimal, (&'static str, String, String)> {
        let Some(quote) = contract.foreign_quote() else {
            return Ok(Decimal::ONE);
        };
        let shown = || contract.spelled.clone();
        if !self.rates.has(quote) {
            let reason = format!(
                "is quoted in {quote}, which does not count as USD; quote_rates= converts it"
            );
            return Err(("symbol", reason, shown()));
        }
        self.rates.at(quote, at).ok_or_else(|| {
            let reason =
                format!("is quoted in {quote}, and quote_rates has no rate for it at {at}");
            ("symbol", reason, shown())
        })
    }
}

/// The fault of a value that contradicts price and quantity.
fn contradiction(column: &'static str, value: Decimal, price: Decimal, qty: Decimal) -> CellFault {
    let reason = "not within 1 % of price × qty".to_owned();
    let shown = format!("{value} (price {price}, qty {qty})");
    (column, reason, shown)
}

/// The terms of an order of which a column states the size of the contract.
///
/// The quantity counts contracts or coins; a stated value says which. Without one, whole quantities are contracts, unless
/// the exchange publishes another size.
fn sized(
    terms: OrderTerms,
    (exchange, contract): (&str, &Resolved),
    size: Decimal,
    (price, qty, worth): (Decimal, Decimal, Option<Decimal>),
) -> Result<OrderTerms, CellFault> {
    if size <= Decimal::ZERO {
        let reason = "not above 0".to_owned();
        return Err(("contract_size", reason, size.to_string()));
    }
    let Some(symbol) = &contract.symbol else {
        return Ok(terms);
    };
    let is_usd = may_be_inverse(exchange, symbol);
    let published = published_size(exchange, &contract.spelled);
    let is_published = published.is_none_or(|one| (one.size, one.is_usd) == (size, is_usd));
    let amount = product(qty, size);
    let counts_contracts = match (worth, amount) {
        (Some(worth), Some(amount)) if is_usd => !contradicts_product(Decimal::ONE, amount, worth),
        (Some(worth), Some(amount)) => !contradicts_product(price, amount, worth),
        (Some(_), None) => false,
        (None, _) if is_published && qty.fract().is_zero() => true,
        (None, _) => {
            return Ok(OrderTerms {
                counted: Err(UNSTATED_UNIT),
                ..terms
            });
        }
    };
    let counted = if is_usd {
        Counted::Usd(size)
    } else {
        Counted::Base(size)
    };
    Ok(OrderTerms {
        counted: if counts_contracts {
            Ok(counted)
        } else {
            terms.counted
        },
        ..terms
    })
}

/// The numbers of an order in units of its pair and in USD.
fn converted(
    price: Decimal,
    qty: Decimal,
    stated: Option<Decimal>,
    terms: OrderTerms,
    rate: impl Fn() -> Result<Decimal, CellFault>,
) -> Result<Numbers, CellFault> {
    let unfit = || {
        let reason = "price × qty does not fit a decimal".to_owned();
        ("value_usd", reason, format!("{price} × {qty}"))
    };
    let shown = || format!("{qty} (price {price})");
    let numbers = |qty: Decimal, value_usd: Decimal| Numbers {
        price,
        qty,
        value_usd,
    };
    let contradiction = |value: Decimal| contradiction("value_usd", value, price, qty);
    match terms.counted {
        Err(reason) => {
            // The value decides how many coins these are: it is price × qty, or a whole number of USD per contract.
            let value = stated.ok_or_else(|| ("qty", reason.to_owned(), shown()))?;
            if !contradicts_product(price, qty, value) {
                return Ok(numbers(qty, value));
            }
            let is_size = |size: &Decimal| {
                product(qty, *size)
                    .is_some_and(|usd| !contradicts_product(Decimal::ONE, usd, value))
            };
            if !USD_SIZES.iter().any(is_size) {
                return Err(contradiction(value));
            }
            let coins = quotient(value, price).ok_or_else(unfit)?;
            Ok(numbers(coins, value))
        }
        Ok(counted) => {
            // A stated value in another quote currency is not compared, so it needs no rate.
            let is_compared = stated.is_none() || terms.is_in_dollars;
            let in_usd = |quote: Option<Decimal>| -> Result<Decimal, CellFault> {
                if !is_compared {
                    return Ok(Decimal::ZERO);
                }
                let rate = rate()?;
                let usd = quote.and_then(|quote| quote.checked_mul(rate));
                Ok(usd.ok_or_else(unfit)?.normalize())
            };
            let (coins, usd) = match counted {
                Counted::Base(size) => {
                    let coins = product(qty, size).ok_or_else(unfit)?;
                    (coins, in_usd(price.checked_mul(coins))?)
                }
                Counted::Quote => {
                    let coins = quotient(qty, price).ok_or_else(unfit)?;
                    (coins, in_usd(Some(qty))?)
                }
                Counted::Usd(size) => {
                    let usd = product(qty, size).ok_or_else(unfit)?;
                    let quote = quotient(usd, rate()?).ok_or_else(unfit)?;
                    (quotient(quote, price).ok_or_else(unfit)?, usd)
                }
            };
            let is_contradicted = |value: Decimal| match counted {
                Counted::Base(_) => contradicts_product(price, coins, value),
                Counted::Usd(_) | Counted::Quote => contradicts_product(Decimal::ONE, usd, value),
            };
            match stated {
                Some(value) if is_compared && is_contradicted(value) => Err(contradiction(value)),
                stated => Ok(numbers(coins, stated.unwrap_or(usd))),
            }
        }
    }
}

/// The sizes of contracts of a fixed value in USD.
const USD_SIZES: [Decimal; 3] = [Decimal::ONE, Decimal::TEN, Decimal::ONE_HUNDRED];

/// Price and quantity of single coins, from those of units of `scale` coins.
fn in_coins(price: Decimal, qty: Decimal, scale: u32) -> Option<(Decimal, Decimal)> {
    let scale = Decimal::from(scale);
    Some((per_coin(price, scale)?, product(qty, scale)?))
}

/// The symbols of accepted orders. A scaled name without a quote, such as kPEPE, becomes the name of its coin.
fn named(symbols: Labels, contracts: &[Resolved]) -> Labels {
    if contracts.iter().all(|contract| coin_scale(contract) == 1) {
        return symbols;
    }
    let codes = symbols.codes().iter();
    codes
        .map(|code| match contracts.get(*code as usize) {
            Some(contract) if coin_scale(contract) != 1 => contract.coin(),
            Some(contract) => contract.spelled.as_str(),
            None => "",
        })
        .collect()
}

/// Coins per listed unit of a name without a quote. The name of a pair keeps its scale.
fn coin_scale(contract: &Resolved) -> u32 {
    let symbol = contract.symbol.as_ref();
    symbol
        .filter(|symbol| symbol.quote().is_none())
        .map_or(1, crate::model::Symbol::scale)
}

/// How the numbers of an order count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OrderTerms {
    /// How its quantity becomes coins; the error is the fault reason.
    counted: Result<Counted, &'static str>,
    /// Whether price times quantity in units of the pair is the value in USD.
    is_in_dollars: bool,
    /// Coins per unit, if the name has no quote.
    scale: u32,
    /// The exchange that the symbol names, if the row names another one.
    other_exchange: Option<&'static str>,
}

impl Default for OrderTerms {
    fn default() -> Self {
        Self {
            counted: Ok(Counted::Base(Decimal::ONE)),
            is_in_dollars: false,
            scale: 1,
            other_exchange: None,
        }
    }
}

/// The terms of each distinct exchange and symbol.
struct Terms(Vec<Vec<OrderTerms>>);

impl Terms {
    fn of(
        orders: &GivenOrders,
        contracts: &[Resolved],
        unit: AmountUnit,
        sizes: &ContractSizes,
    ) -> Self {
        let of_exchange = |exchange: &String| {
            let exchange = exchange_name(exchange);
            let terms = contracts.iter().map(|contract| {
                let Some(symbol) = &contract.symbol else {
                    return OrderTerms::default();
                };
                let spelled = contract.spelled.as_str();
                OrderTerms {
                    counted: sizes.counted(unit, (&exchange, spelled, symbol)),
                    is_in_dollars: symbol.quote().is_some_and(is_dollar)
                        && symbol.settlement() != Some(Settlement::Quanto),
                    scale: coin_scale(contract),
                    other_exchange: contract.other_exchange(&exchange),
                }
            });
            terms.collect()
        };
        Self(orders.exchange.names().iter().map(of_exchange).collect())
    }

    fn at(&self, orders: &GivenOrders, row: usize) -> Option<&OrderTerms> {
        let of_exchange = by_code(&self.0, &orders.exchange, row)?;
        by_code(of_exchange, &orders.symbol, row)
    }
}
