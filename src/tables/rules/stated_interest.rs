//! Open interest that a reading states in several units.

use rust_decimal::Decimal;

use crate::model::{Symbol, may_be_inverse, product, quotient};
use crate::tables::amount_unit::Counted;
use crate::tables::reading::StatedRow;
use crate::tables::rules::stated_volumes::is_of_contracts;

/// Exchanges that publish open interest in contracts with its value.
const IN_CONTRACTS: [&str; 7] = ["bitmex", "deribit", "gate", "htx", "kucoin", "mexc", "okx"];

/// The amount of a reading that other columns decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StatedInterest {
    /// Units of the listed pair.
    Units(Decimal),
    /// USD, which a later price converts.
    Usd(Decimal),
    /// The column `open_interest` counts.
    Given,
}

/// The amount of a reading. `rate` is the value of the quote currency in USD. The error is the fault reason.
pub(super) fn stated_interest(
    amount: Decimal,
    stated: StatedRow,
    counted: Result<Counted, &'static str>,
    (exchange, symbol): (&str, Option<&Symbol>),
    rate: Decimal,
) -> Result<StatedInterest, &'static str> {
    // Programs write 0 for what they do not know.
    let known =
        |stated: Option<Decimal>| stated.filter(|stated| !stated.is_zero() || amount.is_zero());
    if let Some(coins) = known(stated.base) {
        return Ok(StatedInterest::Units(coins));
    }
    let is_inverse = symbol.is_some_and(|symbol| may_be_inverse(exchange, symbol));
    let value = known(stated.quote);
    if let Some(coins) = value.filter(|_| is_inverse && exchange == "binance") {
        return Ok(StatedInterest::Units(coins));
    }
    let in_quote = || value.filter(|_| !is_inverse)?.checked_mul(rate);
    let Some(usd) = known(stated.usd).or_else(in_quote) else {
        return Ok(StatedInterest::Given);
    };
    let counts = match counted {
        Ok(Counted::Base(size)) => product(amount, size),
        _ => None,
    };
    let price = stated.price.filter(|price| *price > Decimal::ZERO);
    if let Some(price) = price.and_then(|price| price.checked_mul(rate)) {
        let coins = quotient(usd, price).ok_or(UNFIT)?;
        let is_given = counts.is_some_and(|counts| is_near(counts, coins));
        if is_given {
            return Ok(StatedInterest::Given);
        }
        // The amount counts contracts, or USD of contracts of a fixed value.
        let is_known = is_inverse && is_near(amount, usd) || is_of_contracts(amount, coins);
        return if is_known {
            Ok(StatedInterest::Units(coins))
        } else {
            Err(UNFIT)
        };
    }
    let counts_coins = counts.is_some_and(|counts| counts != amount)
        || counts.is_some() && !exchange.is_empty() && !IN_CONTRACTS.contains(&exchange);
    Ok(if counts_coins {
        StatedInterest::Given
    } else {
        StatedInterest::Usd(usd)
    })
}

/// Whether two amounts differ by at most 1 %.
fn is_near(one: Decimal, other: Decimal) -> bool {
    let apart = one.checked_sub(other).map(|apart| apart.abs());
    let most = other.abs().checked_div(Decimal::ONE_HUNDRED);
    apart.zip(most).is_some_and(|(apart, most)| apart <= most)
}

/// Fault reason of an amount that contradicts another one of its row.
const UNFIT: &str = "contradicts the open interest in USD at the price of the row";

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::tables::rules::stated_interest::*;

    #[test]
    fn the_amount_is_the_one_in_coins_or_follows_from_usd() {
        use StatedInterest::{Given, Units, Usd};
        let number = |text: &str| -> Option<Decimal> { text.parse().ok() };
        let whole = |value: i64| Decimal::from(value);
        for (pair, amount, [base, quote, usd, price], expected) in [
            (
                "okx BTC-USDT-SWAP",
                3_000_000,
                ["30000", "", "1260000000", ""],
                Ok(Units(whole(30_000))),
            ),
            (
                "gate BTC_USDT",
                300_000_000,
                ["", "", "1260000000", "42000"],
                Ok(Units(whole(30_000))),
            ),
            (
                "gate BTC_USDT",
                300_000_000,
                ["", "1260000000", "", ""],
                Ok(Usd(whole(1_260_000_000))),
            ),
            (
                "binance BTCUSD_PERP",
                5_000_000,
                ["", "11904", "", ""],
                Ok(Units(whole(11_904))),
            ),
            (
                "binance BTCUSDT",
                30_000,
                ["", "1260000000", "", ""],
                Ok(Given),
            ),
            (
                "binance BTCUSDT",
                30_000,
                ["", "", "1260000000", "42100"],
                Ok(Given),
            ),
            (
                "binance BTCUSDT",
                30_000,
                ["", "", "30000", "42000"],
                Err(UNFIT),
            ),
            (
                "okx BTC-USDT-SWAP",
                30_000,
                ["", "", "", "42000"],
                Ok(Given),
            ),
        ] {
            let (exchange, spelled) = pair.split_once(' ').unwrap();
            let symbol = Symbol::read(spelled);
            let stated = StatedRow {
                base: number(base),
                quote: number(quote),
                usd: number(usd),
                either: None,
                price: number(price),
            };
            let counted = Ok(Counted::Base(Decimal::ONE));
            let of = (exchange, symbol.as_ref());
            let made = stated_interest(whole(amount), stated, counted, of, Decimal::ONE);
            assert_eq!(made, expected, "{pair} {amount}");
        }
    }
}
