//! The rules of liquidation orders.

use rust_decimal::Decimal;

use crate::archive::GivenOrders;
use crate::model::{Labels, exchange_name, is_far_from_product, is_worth_its_product};
use crate::tables::attribution::UNKNOWN_EXCHANGE;
use crate::tables::reading::{ReadRows, take_orders};
use crate::tables::row_fault::RowFault;
use crate::tables::rules::contracts::Resolved;
use crate::tables::rules::judge::{Judge, Judged, by_code, contracts_of};

/// Maximum value of an order in USD. The sum of ten billion such orders fits a decimal.
const MOST_USD: Decimal = Decimal::from_parts(2_808_348_672, 232_830_643, 0, false, 0);

/// Verdicts on the distinct names of orders.
///
/// Unknown exchanges, contracts of pairs, contracts of native ids, and [`Products`].
type Known<'a> = (
    &'a [Option<String>],
    &'a [Resolved],
    Option<&'a [Resolved]>,
    &'a Products,
);

impl Judge<'_> {
    /// Returns the accepted orders; `None` if `goes_on` stopped the checks.
    pub(crate) fn orders(
        &mut self,
        read: ReadRows<(GivenOrders, Vec<bool>)>,
    ) -> Option<Judged<GivenOrders>> {
        let ReadRows {
            columns: (mut orders, is_unvalued),
            places,
            mut faults,
        } = read;
        let exchanges = self.exchanges(&orders.exchange);
        let contracts = contracts_of(&orders.symbol);
        let natives = orders.native_id.as_ref().map(contracts_of);
        let products = Products::of(&orders);
        let mut values = orders.value_usd.clone();
        if is_unvalued.contains(&true) {
            values = crate::model::DecimalColumn::with_capacity(places.len());
        }
        let is_filling = values.is_empty();
        let mut good = Vec::with_capacity(places.len());
        for row in 0..places.len() {
            if !self.look(row) {
                return None;
            }
            let stated = !is_unvalued.get(row).copied().unwrap_or_default();
            let verdict = self.order(
                &orders,
                row,
                stated,
                (&exchanges, &contracts, natives.as_deref(), &products),
            );
            if is_filling {
                values.push(*verdict.as_ref().unwrap_or(&Decimal::ZERO));
            }
            match verdict {
                Ok(_) => good.push(row),
                Err((column, reason, shown)) => {
                    let place = places.get(row).copied().unwrap_or_default();
                    faults.push(RowFault::new(place, column, reason, shown));
                }
            }
        }
        if self.is_stopped() {
            return None;
        }
        orders.value_usd = values;
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

    /// Checks an order and returns its value in USD.
    ///
    /// The error is the faulty column, the reason and the cell. `stated` says whether the table gives the value.
    fn order(
        &self,
        orders: &GivenOrders,
        row: usize,
        stated: bool,
        (exchanges, contracts, natives, products): Known<'_>,
    ) -> Result<Decimal, (&'static str, String, String)> {
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
        if let Some(why) = native
            .filter(|native| native.symbol.is_some())
            .and_then(Resolved::no_orders)
        {
            return Err((
                "symbol",
                why,
                native.map_or_else(String::new, |native| native.spelled.clone()),
            ));
        }
        let (price, qty) = (orders.price.get(row), orders.qty.get(row));
        let (price, qty) = (price.unwrap_or_default(), qty.unwrap_or_default());
        for (column, value) in [("price", price), ("qty", qty)] {
            if value <= Decimal::ZERO {
                return Err((column, "not above 0".to_owned(), value.to_string()));
            }
        }
        if !stated {
            let rate = self.rate(contract, at)?;
            let product = price
                .checked_mul(qty)
                .and_then(|worth| worth.checked_mul(rate));
            return product.map(|worth| worth.normalize()).ok_or_else(|| {
                let reason = "blank, and price × qty does not fit a decimal";
                ("value_usd", reason.to_owned(), format!("{price} × {qty}"))
            });
        }
        let value = orders.value_usd.get(row).unwrap_or_default();
        if value < Decimal::ZERO {
            return Err(("value_usd", "below 0".to_owned(), value.to_string()));
        }
        if value > MOST_USD {
            let reason = format!("above {MOST_USD}");
            return Err(("value_usd", reason, value.to_string()));
        }
        let number = |column: &crate::model::DecimalColumn| column.f64(row).unwrap_or_default();
        let (one, many, all) = (
            number(&orders.price),
            number(&orders.qty),
            number(&orders.value_usd),
        );
        if products.are_values(row) && is_far_from_product(one, many, all) {
            let reason = "not within a factor of ten of price × qty";
            return Err((
                "value_usd",
                reason.to_owned(),
                format!("{value} (price {price}, qty {qty})"),
            ));
        }
        Ok(value)
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

/// Whether price times quantity is the value in USD.
///
/// There is one verdict for each distinct exchange and symbol.
struct Products {
    exchange: Labels,
    symbol: Labels,
    known: Vec<Vec<bool>>,
}

impl Products {
    fn of(orders: &GivenOrders) -> Self {
        let symbols = orders.symbol.names();
        let known = orders.exchange.names().iter().map(|exchange| {
            let exchange = exchange_name(exchange);
            let known = symbols.iter();
            known
                .map(|symbol| is_worth_its_product(&exchange, symbol))
                .collect()
        });
        Self {
            known: known.collect(),
            exchange: orders.exchange.clone(),
            symbol: orders.symbol.clone(),
        }
    }

    fn are_values(&self, row: usize) -> bool {
        by_code(&self.known, &self.exchange, row)
            .and_then(|of_exchange| by_code(of_exchange, &self.symbol, row))
            .copied()
            .unwrap_or_default()
    }
}
