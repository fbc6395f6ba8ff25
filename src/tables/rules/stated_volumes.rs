//! Volumes that a bar states in several units, judged against its prices.
//!
//! The quote volume of a bar divided by its volume in coins is the average price of its trades, which lies between low
//! and high. So a volume in contracts or in USD contradicts a quote volume.

use rust_decimal::Decimal;

use crate::model::{nearest_f64, product};
use crate::tables::amount_unit::Counted;
use crate::tables::reading::StatedRow;

/// Tolerance of the average price, as a share: some exchanges count trades that are not in the prices of a bar.
const TOLERANCE: f64 = 0.05;

/// The prices of a bar.
#[derive(Clone, Copy, Debug)]
pub(super) struct PriceRange {
    pub(super) low: f64,
    pub(super) high: f64,
}

impl PriceRange {
    /// Whether `quote` can be the price of `coins`. Both may be rounded in their last digit.
    fn fits(self, quote: Decimal, coins: Decimal) -> bool {
        let half = |value: Decimal| 0.5 * 0.1_f64.powi(i32::try_from(value.scale()).unwrap_or(0));
        // A whole number may be exact, as contracts are.
        let rounded = if coins.scale() > 0 { half(coins) } else { 0.0 };
        let (value, amount) = (nearest_f64(quote), nearest_f64(coins));
        let least = self.low * (1.0 - TOLERANCE) * (amount - rounded);
        let most = self.high * (1.0 + TOLERANCE) * (amount + rounded);
        (least - half(quote)..=most + half(quote)).contains(&value)
    }
}

/// The volume of a bar in units of its pair, if other columns decide it; `None` if `volume` counts as `counted` says.
///
/// `rate` is the value of the quote currency in USD. The error is the fault reason.
pub(super) fn stated_volume(
    volume: Decimal,
    stated: StatedRow,
    counted: Result<Counted, &'static str>,
    range: PriceRange,
    rate: Decimal,
) -> Result<Option<Decimal>, &'static str> {
    // Programs write 0 for what they do not know.
    let known =
        |stated: Option<Decimal>| stated.filter(|stated| !stated.is_zero() || volume.is_zero());
    let without_rate = |usd: Decimal| usd.checked_div(rate);
    let usd = known(stated.usd).and_then(without_rate);
    let (base, quote, either) = (
        known(stated.base),
        known(stated.quote),
        known(stated.either),
    );
    // An amount of an unknown unit may be in coins.
    let counts = match counted {
        Ok(Counted::Base(size)) => product(volume, size),
        Ok(_) => None,
        Err(_) => Some(volume),
    };
    let is = |coins: Decimal| {
        let is_volume = counted.is_ok() && counts == Some(coins);
        Ok((!is_volume).then_some(coins))
    };
    if let Some(quote) = quote.or(usd) {
        let mut units = [base, counts, either].into_iter().flatten();
        if let Some(coins) = units.find(|coins| range.fits(quote, *coins)) {
            return is(coins);
        }
        // The volume of a contract of a fixed value is in USD, and its turnover in coins.
        let is_inverse = usd.is_none() && range.fits(volume, quote);
        return if is_inverse { is(quote) } else { Err(UNFIT) };
    }
    if let Some(base) = base {
        let is_quote = base != volume && range.fits(base, volume);
        return if is_quote { Err(UNFIT) } else { is(base) };
    }
    match (either, counts) {
        (Some(either), Some(counts)) if range.fits(either, counts) => is(counts),
        (Some(either), _) if range.fits(volume, either) => is(either),
        (Some(either), _) if is_of_contracts(volume, either) => Err(UNFIT),
        _ => Ok(None),
    }
}

/// Whether one amount is that of the other in contracts of a size that is a power of ten.
pub(super) fn is_of_contracts(contracts: Decimal, coins: Decimal) -> bool {
    let Some(size) = coins.checked_div(contracts) else {
        return false;
    };
    let power = nearest_f64(size).log10();
    power.is_finite() && power.round() != 0.0 && (power - power.round()).abs() < 0.004
}

/// Fault reason of a volume that contradicts another one of its row.
const UNFIT: &str = "does not fit the other volumes of the bar at its prices, so it may count contracts or USD; \
                     contract_size= gives the size of a contract";

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::tables::rules::stated_volumes::*;

    const RANGE: PriceRange = PriceRange {
        low: 41_990.0,
        high: 42_010.0,
    };

    fn read(
        volume: &str,
        [base, quote, usd, either]: [&str; 4],
    ) -> Result<Option<Decimal>, &'static str> {
        let number = |text: &str| text.parse().ok();
        let stated = StatedRow {
            base: number(base),
            quote: number(quote),
            usd: number(usd),
            either: number(either),
            price: None,
        };
        let counted = Ok(Counted::Base(Decimal::ONE));
        stated_volume(
            volume.parse().unwrap(),
            stated,
            counted,
            RANGE,
            Decimal::ONE,
        )
    }

    #[test]
    fn the_volume_is_the_one_that_fits_the_prices() {
        let coins = Ok(Some("12.5".parse().unwrap()));
        assert_eq!(read("12.5", ["", "525000", "", ""]), Ok(None));
        assert_eq!(read("12.5", ["12.5", "", "525000", ""]), Ok(None));
        assert_eq!(read("12.5", ["", "0", "", ""]), Ok(None));
        assert_eq!(read("0", ["", "0", "0", ""]), Ok(None));
        assert_eq!(read("0.01", ["", "213", "", ""]), Ok(None));
        for (volume, others) in [
            ("1250", ["12.5", "525000", "", ""]),
            ("1250", ["12.5", "", "", ""]),
            ("525000", ["", "12.5", "", ""]),
            ("12500", ["", "525000", "", "12.5"]),
            ("525000", ["", "", "", "12.5"]),
        ] {
            assert_eq!(read(volume, others), coins, "{volume} {others:?}");
        }
        let stated = StatedRow {
            quote: "525000".parse().ok(),
            ..StatedRow::default()
        };
        let volume = "12.5".parse().unwrap();
        let unknown = stated_volume(volume, stated, Err("unknown"), RANGE, Decimal::ONE);
        assert_eq!(unknown, coins);
        for (volume, others) in [
            ("125000", ["", "525000", "", ""]),
            ("525000", ["", "", "525000", ""]),
            ("525000", ["", "", "12.5", ""]),
            ("12.5", ["525000", "", "", ""]),
            ("12500", ["", "", "", "12.5"]),
            ("1", ["", "4.2", "", ""]),
        ] {
            assert_eq!(read(volume, others), Err(UNFIT), "{volume} {others:?}");
        }
    }
}
