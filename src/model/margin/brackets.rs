//! Maintenance margin brackets that exchanges publish, each table with its date.
//!
//! A bracket is a range of notional with its own maintenance margin rate. A position pays the rate of each bracket on
//! the part of its notional inside that bracket. Equivalently `margin = rate · notional − deduction`, with
//! `deduction_i = deduction_{i−1} + floor_i (rate_i − rate_{i−1})`. Exchanges change their brackets, so each table is
//! valid for its date. No estimate depends on them.

use crate::model::margin::liquidation_price::Terms;
use crate::model::record;
use crate::model::{Coin, Millis, Side, exchange_name};

/// Binance's leverage bracket endpoint, as recorded in the freqtrade release of that day.
const BINANCE: (Millis, &str) = (
    Millis(1_790_640_000_000),
    "leverage brackets of the exchange as recorded by freqtrade 2026.9, 2026-09-29",
);
/// Hyperliquid's market list and its documentation of margin tiers.
const HYPERLIQUID: (Millis, &str) = (
    Millis(1_790_467_200_000),
    "margin tables of the exchange's meta, recorded 2026-09-27; maintenance is half of the initial margin",
);

record! {
    /// One maintenance margin bracket of an exchange.
    #[derive(Clone, Debug, PartialEq)]
    pub struct BracketRow {
        /// Exchange.
        pub exchange: &'static str,
        /// The exchange's name of the market.
        pub symbol: &'static str,
        /// Number of the bracket, from 1.
        pub tier: i64,
        /// Upper bound of the notional; absent for the last bracket.
        #[unit("USD")]
        pub notional_cap_usd: Option<f64>,
        /// Maintenance margin rate.
        pub maintenance_margin: f64,
        /// Highest allowed leverage.
        pub max_leverage: f64,
        /// Deduction from rate times notional, because lower parts pay lower rates.
        #[unit("USD")]
        pub deduction_usd: f64,
        /// Date of the table.
        pub as_of: Millis,
        /// Source of the table.
        pub source: &'static str,
    }
}

/// One bracket: upper notional bound in USD, maintenance margin rate, highest leverage.
type Step = (f64, f64, f64);

/// The brackets of one contract of an exchange.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Brackets {
    exchange: &'static str,
    symbol: &'static str,
    published: (Millis, &'static str),
    steps: &'static [Step],
}

/// All recorded tables.
const ALL: &[Brackets] = &[
    of("binance", "BTCUSDT", BINANCE, BTC),
    of("binance", "ETHUSDT", BINANCE, ETH),
    of("binance", "SOLUSDT", BINANCE, SOL),
    of("binance", "XRPUSDT", BINANCE, XRP),
    of("binance", "DOGEUSDT", BINANCE, DOGE),
    of("binance", "1000PEPEUSDT", BINANCE, PEPE),
    of("hyperliquid", "BTC", HYPERLIQUID, BTC_THERE),
    of("hyperliquid", "ETH", HYPERLIQUID, ETH_THERE),
];

const fn of(
    exchange: &'static str,
    symbol: &'static str,
    published: (Millis, &'static str),
    steps: &'static [Step],
) -> Brackets {
    Brackets {
        exchange,
        symbol,
        published,
        steps,
    }
}

const BTC: &[Step] = &[
    (300_000.0, 0.004, 150.0),
    (800_000.0, 0.005, 100.0),
    (3_000_000.0, 0.0065, 75.0),
    (12_000_000.0, 0.01, 50.0),
    (70_000_000.0, 0.02, 25.0),
    (100_000_000.0, 0.025, 20.0),
    (230_000_000.0, 0.05, 10.0),
    (480_000_000.0, 0.1, 5.0),
    (600_000_000.0, 0.125, 4.0),
    (800_000_000.0, 0.15, 3.0),
    (1_200_000_000.0, 0.25, 2.0),
    (1_800_000_000.0, 0.5, 1.0),
];
const ETH: &[Step] = &[
    (300_000.0, 0.004, 150.0),
    (800_000.0, 0.005, 100.0),
    (3_000_000.0, 0.0065, 75.0),
    (12_000_000.0, 0.01, 50.0),
    (50_000_000.0, 0.02, 25.0),
    (65_000_000.0, 0.025, 20.0),
    (150_000_000.0, 0.05, 10.0),
    (320_000_000.0, 0.1, 5.0),
    (400_000_000.0, 0.125, 4.0),
    (530_000_000.0, 0.15, 3.0),
    (800_000_000.0, 0.25, 2.0),
    (1_200_000_000.0, 0.5, 1.0),
];
const SOL: &[Step] = &[
    (50_000.0, 0.005, 100.0),
    (400_000.0, 0.0065, 75.0),
    (1_000_000.0, 0.01, 50.0),
    (4_000_000.0, 0.02, 25.0),
    (8_000_000.0, 0.025, 20.0),
    (40_000_000.0, 0.05, 10.0),
    (80_000_000.0, 0.1, 5.0),
    (100_000_000.0, 0.125, 4.0),
    (200_000_000.0, 0.25, 2.0),
    (400_000_000.0, 0.5, 1.0),
];
const XRP: &[Step] = &[
    (40_000.0, 0.005, 100.0),
    (80_000.0, 0.006, 75.0),
    (150_000.0, 0.01, 50.0),
    (400_000.0, 0.0125, 40.0),
    (1_000_000.0, 0.02, 25.0),
    (2_000_000.0, 0.025, 20.0),
    (10_000_000.0, 0.05, 10.0),
    (20_000_000.0, 0.1, 5.0),
    (25_000_000.0, 0.125, 4.0),
    (50_000_000.0, 0.25, 2.0),
    (100_000_000.0, 0.5, 1.0),
];
const DOGE: &[Step] = &[
    (80_000.0, 0.0065, 75.0),
    (150_000.0, 0.01, 50.0),
    (750_000.0, 0.0125, 40.0),
    (2_000_000.0, 0.02, 25.0),
    (4_000_000.0, 0.025, 20.0),
    (20_000_000.0, 0.05, 10.0),
    (40_000_000.0, 0.1, 5.0),
    (50_000_000.0, 0.125, 4.0),
    (100_000_000.0, 0.25, 2.0),
    (200_000_000.0, 0.5, 1.0),
];
const PEPE: &[Step] = &[
    (20_000.0, 0.0065, 75.0),
    (200_000.0, 0.01, 50.0),
    (300_000.0, 0.015, 40.0),
    (1_500_000.0, 0.02, 25.0),
    (3_000_000.0, 0.025, 20.0),
    (15_000_000.0, 0.05, 10.0),
    (20_000_000.0, 0.1, 5.0),
    (25_000_000.0, 0.125, 4.0),
    (30_000_000.0, 0.25, 2.0),
    (35_000_000.0, 0.5, 1.0),
];
const BTC_THERE: &[Step] = &[(150e6, 0.5 / 40.0, 40.0), (f64::INFINITY, 0.5 / 20.0, 20.0)];
const ETH_THERE: &[Step] = &[(100e6, 0.5 / 25.0, 25.0), (f64::INFINITY, 0.5 / 15.0, 15.0)];

/// The coin of a contract's symbol, without a scale such as 1000.
fn coin(symbol: &str) -> Option<Coin> {
    Coin::new(symbol)
}

impl Brackets {
    /// The brackets of `symbol`, a coin or pair in any spelling, on `exchange`; `None` if there is no table.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::model::Brackets;
    ///
    /// let brackets = Brackets::of("binance", "BTC").unwrap();
    /// assert_eq!(brackets.at(1e6), (0.0065, 1500.0));
    /// ```
    #[must_use]
    pub fn of(exchange: &str, symbol: &str) -> Option<&'static Self> {
        let (exchange, wanted) = (exchange_name(exchange), coin(symbol)?);
        let matches =
            |own: &&Self| own.exchange == exchange && coin(own.symbol).as_ref() == Some(&wanted);
        ALL.iter().find(matches)
    }

    /// The exchange and symbol of each contract with recorded brackets.
    pub fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
        ALL.iter().map(|own| (own.exchange, own.symbol))
    }

    /// The brackets as rows, in ascending order of notional.
    #[must_use]
    pub fn rows(&self) -> Vec<BracketRow> {
        let row = |(place, ((cap, rate, leverage), deduction)): (i64, (Step, f64))| BracketRow {
            exchange: self.exchange,
            symbol: self.symbol,
            tier: place,
            notional_cap_usd: cap.is_finite().then_some(cap),
            maintenance_margin: rate,
            max_leverage: leverage,
            deduction_usd: deduction,
            as_of: self.published.0,
            source: self.published.1,
        };
        (1..).zip(deducted(self.steps)).map(row).collect()
    }

    /// Rate and deduction in USD at this notional. Above the last bracket, those of the last bracket apply.
    #[must_use]
    pub fn at(&self, notional: f64) -> (f64, f64) {
        let mut found = (0.0, 0.0);
        for ((_, rate, _), deduction) in deducted(self.steps) {
            // The margin is a convex function of the notional, so it is the maximum over all brackets.
            if found == (0.0, 0.0) || rate * notional - deduction > found.0 * notional - found.1 {
                found = (rate, deduction);
            }
        }
        found
    }

    /// The highest leverage at this notional; `None` above the last bracket.
    #[must_use]
    pub fn max_leverage(&self, notional: f64) -> Option<f64> {
        self.steps
            .iter()
            .find(|(cap, ..)| notional <= *cap)
            .map(|(.., leverage)| *leverage)
    }

    /// The price at which an isolated position of `notional` USD at its entry is liquidated.
    ///
    /// The notional at the liquidation price decides the bracket. The margin is the maximum over all brackets, so the
    /// liquidation price that the market reaches first applies.
    #[must_use]
    pub fn liquidation_price(&self, side: Side, entry: f64, notional: f64, terms: Terms) -> f64 {
        let qty = notional / entry;
        let prices = deducted(self.steps).map(|((_, maintenance, _), deduction)| {
            let terms = Terms {
                maintenance,
                deduction: deduction / qty,
                ..terms
            };
            terms.liquidation_price(side, entry)
        });
        match side {
            Side::Long => prices.fold(0.0, f64::max),
            Side::Short => prices.fold(f64::INFINITY, f64::min),
        }
    }
}

/// The steps, each with its deduction in USD.
fn deducted(steps: &[Step]) -> impl Iterator<Item = (Step, f64)> {
    let mut before: Option<(f64, f64, f64)> = None;
    steps.iter().map(move |&(cap, rate, leverage)| {
        let deduction = before.map_or(0.0, |(floor, lower, sum)| sum + floor * (rate - lower));
        // Rates are decimals, so anything below a millionth of a dollar is rounding error.
        let deduction = (deduction * 1e6).round() / 1e6;
        before = Some((cap, rate, deduction));
        ((cap, rate, leverage), deduction)
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::model::margin::brackets::*;
    use crate::model::{Contract, MarginOf};

    /// An older table of BTC brackets, from the explanation of the formula by the exchange.
    const EXPLAINED: Brackets = of(
        "binance",
        "BTCUSDT",
        BINANCE,
        &[
            (50_000.0, 0.004, 125.0),
            (250_000.0, 0.005, 100.0),
            (1_000_000.0, 0.01, 50.0),
            (5_000_000.0, 0.025, 20.0),
        ],
    );

    #[test]
    fn the_examples_of_the_venue_come_out() {
        assert_eq!(EXPLAINED.at(264_000.0), (0.01, 1_300.0));
        assert_eq!(EXPLAINED.at(500_000.0), (0.01, 1_300.0));
        assert_eq!(EXPLAINED.max_leverage(264_000.0), Some(50.0));
        assert_eq!(EXPLAINED.max_leverage(5_000_001.0), None);
    }

    #[test]
    fn the_margin_is_continuous_convex_and_never_below_nothing() {
        for (exchange, symbol) in Brackets::known() {
            let brackets = Brackets::of(exchange, symbol).unwrap();
            let rows = brackets.rows();
            for (lower, upper) in rows.iter().zip(rows.iter().skip(1)) {
                let cap = lower.notional_cap_usd.unwrap();
                let margin = |row: &BracketRow| row.maintenance_margin * cap - row.deduction_usd;
                assert!((margin(lower) / margin(upper) - 1.0).abs() < 1e-12);
                assert!(margin(lower) > 0.0);
                assert!(upper.maintenance_margin > lower.maintenance_margin);
                assert!(upper.max_leverage < lower.max_leverage);
                assert!(upper.notional_cap_usd.is_none_or(|next| next > cap));
                // Inside a bracket, `at` returns the rate and deduction of that bracket.
                let at = |notional: f64| brackets.at(notional);
                assert_eq!(
                    at(cap * 0.999),
                    (lower.maintenance_margin, lower.deduction_usd)
                );
                assert_eq!(
                    at(cap * 1.001),
                    (upper.maintenance_margin, upper.deduction_usd)
                );
                assert!(lower.maintenance_margin < 1.0 / lower.max_leverage);
            }
        }
    }

    #[test]
    fn the_deductions_are_those_that_binance_publishes() {
        let last = |symbol: &str| {
            let rows = Brackets::of("binance", symbol).unwrap().rows();
            rows.last().unwrap().deduction_usd
        };
        for (symbol, published) in [
            ("BTC", 421_482_000.0),
            ("ETH", 280_507_000.0),
            ("SOL", 66_731_475.0),
            ("XRP", 16_683_735.0),
            ("DOGE", 33_366_280.0),
            ("PEPE", 11_960_070.0),
        ] {
            assert!((last(symbol) - published).abs() < 1e-3, "{symbol}");
        }
    }

    #[test]
    fn a_coin_a_pair_and_a_scaled_name_mean_the_same() {
        let symbol = |name: &str| Brackets::of("binance", name).map(|own| own.symbol);
        assert_eq!(symbol("BTCUSDT"), symbol("BTC"));
        assert_eq!(symbol("PEPE"), Some("1000PEPEUSDT"));
        assert_eq!(symbol("1000PEPEUSDT"), symbol("PEPE"));
        assert_eq!(symbol("NOPE"), None);
        assert_eq!(Brackets::of("bybit", "BTC"), None);
    }

    #[test]
    fn at_the_price_the_equity_is_the_margin() {
        let brackets = Brackets::of("binance", "BTC").unwrap();
        for notional in [1e4, 299e3, 301e3, 5e6, 99e6, 101e6, 1.5e9] {
            let entry = 60_000.0;
            let leverage = brackets.max_leverage(notional).unwrap();
            let terms = Terms {
                leverage,
                maintenance: 0.0,
                fee: 0.0,
                deduction: 0.0,
                contract: Contract::Linear,
                margin_of: MarginOf::Mark,
            };
            for side in [Side::Long, Side::Short] {
                let price = brackets.liquidation_price(side, entry, notional, terms);
                let qty = notional / entry;
                let sign = if side == Side::Long { 1.0 } else { -1.0 };
                let equity = notional / leverage + sign * qty * (price - entry);
                let (rate, deduction) = brackets.at(qty * price);
                let margin = rate * qty * price - deduction;
                assert!(
                    (equity - margin).abs() < 1e-6 * notional,
                    "{notional}: {equity} {margin}"
                );
            }
        }
    }
}
