//! Liquidatable shares: how much of the new positions of an exchange and coin can be liquidated by a move of the price.
//!
//! The rest closes, gets more margin, or shares the margin of other positions before its liquidation price is reached.

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::model::{Side, Vocabulary};

/// A liquidatable share that a caller has chosen.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiquidatableShare {
    /// Exchange.
    pub exchange: String,
    /// Coin.
    pub coin: String,
    /// Side; `None` for both.
    #[serde(
        default,
        skip_serializing_if = "Option::is_none",
        deserialize_with = "side"
    )]
    pub side: Option<Side>,
    /// Share of new positions that gets a liquidation price, from 0 to 1.
    pub share: f64,
}

fn side<'de, D: Deserializer<'de>>(source: D) -> Result<Option<Side>, D::Error> {
    let given: Option<String> = Deserialize::deserialize(source)?;
    let read = |text: String| {
        let problem = || de::Error::custom(format!("side {text:?} is not allowed"));
        Side::read(&text).ok_or_else(problem)
    };
    given.map(read).transpose()
}

/// A measured share, with a 95 % interval over resampled days.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredShare {
    /// Exchange.
    pub exchange: &'static str,
    /// Coin.
    pub coin: &'static str,
    /// Side.
    pub side: Side,
    /// Share of new positions that gets a liquidation price, relative to the longs of BTC.
    pub share: f64,
    /// Lower end of the interval.
    pub lower: f64,
    /// Upper end of the interval.
    pub upper: f64,
    /// First and last day of the liquidations, in UTC.
    pub days: (&'static str, &'static str),
    /// Source of the liquidations.
    pub source: &'static str,
}

/// The source of the shares of Hyperliquid.
const HYPERLIQUID: &str = "USD liquidated per day on Hyperliquid (public domain), over the USD crossed in the map of \
                           its own open interest";

/// A row of Hyperliquid.
const fn hyperliquid(
    coin: &'static str,
    side: Side,
    [share, lower, upper]: [f64; 3],
) -> MeasuredShare {
    MeasuredShare {
        exchange: "hyperliquid",
        coin,
        side,
        share,
        lower,
        upper,
        days: ("2025-12-08", "2025-12-31"),
        source: HYPERLIQUID,
    }
}

/// The measured shares. All other exchanges and coins have the share 1, which is not measured.
pub const MEASURED_SHARES: [MeasuredShare; 6] = [
    hyperliquid("BTC", Side::Long, [1.0, 1.0, 1.0]),
    hyperliquid("BTC", Side::Short, [0.324, 0.157, 0.608]),
    hyperliquid("ETH", Side::Long, [0.26, 0.175, 0.355]),
    hyperliquid("ETH", Side::Short, [0.084, 0.032, 0.171]),
    hyperliquid("SOL", Side::Long, [0.354, 0.211, 0.521]),
    hyperliquid("SOL", Side::Short, [0.115, 0.036, 0.264]),
];

/// The shares of one exchange and coin, for longs and shorts.
#[derive(Clone, Debug, PartialEq)]
pub struct ExchangeShare {
    /// Exchange.
    pub exchange: String,
    /// Share of new positions that gets a liquidation price, for longs and shorts.
    pub shares: [f64; 2],
}

/// The shares of a coin, by exchange: those in `own`, or the measured ones.
#[must_use]
pub fn shares_of(own: Option<&[LiquidatableShare]>, coin: &str) -> Vec<ExchangeShare> {
    let mut found: Vec<ExchangeShare> = Vec::new();
    let mut add = |exchange: &str, side: Option<Side>, share: f64| {
        let place = found.iter().position(|one| one.exchange == exchange);
        let place = place.unwrap_or_else(|| {
            found.push(ExchangeShare {
                exchange: exchange.to_owned(),
                shares: [1.0; 2],
            });
            found.len() - 1
        });
        if let Some(one) = found.get_mut(place) {
            for (of_side, stated) in Side::ALL.iter().zip(&mut one.shares) {
                if side.is_none_or(|side| side == *of_side) {
                    *stated = share;
                }
            }
        }
    };
    match own {
        Some(own) => {
            for one in own.iter().filter(|one| one.coin == coin) {
                add(&one.exchange, one.side, one.share);
            }
        }
        None => {
            for one in MEASURED_SHARES.iter().filter(|one| one.coin == coin) {
                add(one.exchange, Some(one.side), one.share);
            }
        }
    }
    found
}

/// The coins with shares: those in `own`, or the measured ones.
pub fn coins_with_shares(own: Option<&[LiquidatableShare]>) -> Vec<String> {
    let mut coins: Vec<String> = match own {
        Some(own) => own.iter().map(|one| one.coin.clone()).collect(),
        None => MEASURED_SHARES
            .iter()
            .map(|one| one.coin.to_owned())
            .collect(),
    };
    coins.sort();
    coins.dedup();
    coins
}
