//! A reference replay: each quantity of each bar is computed from the tables directly.

use std::collections::BTreeSet;

use liqdata::engine::{Observations, Parameters, Step, Tier, TurnoverClock};
use liqdata::model::{
    Millis, Model, ObservedBar, ObservedOpenInterest, ObservedOrder, Side, maintenance_margin,
    nearest_f64,
};
use proptest::prelude::*;

use super::oracle::Oracle;
use super::{DAY, MINUTE, NOW, bar, order, reading};

/// A market of one coin: bars with gaps, open interest of some exchanges, and orders.
#[derive(Clone, Debug)]
pub(crate) struct Market {
    pub(crate) coin: &'static str,
    pub(crate) bars: Vec<ObservedBar>,
    pub(crate) open_interest: Vec<ObservedOpenInterest>,
    pub(crate) orders: Vec<ObservedOrder>,
}

impl Market {
    pub(crate) fn observations(&self, now: i64) -> Observations {
        Observations::new(
            self.orders.clone(),
            self.bars.clone(),
            self.open_interest.clone(),
            Some(Millis(now)),
        )
        .unwrap()
    }
}

/// Markets without outliers.
pub(crate) fn markets(interval: i64, most: usize) -> impl Strategy<Value = Market> {
    markets_with(interval, most, 1_700.0)
}

/// Markets with outliers anywhere in open interest and bars.
pub(crate) fn doubtful_markets(interval: i64, most: usize) -> impl Strategy<Value = Market> {
    let factors = prop::collection::vec(
        prop_oneof![20 => Just(1.0), 1 => Just(10.0), 1 => Just(0.01)],
        most,
    );
    (markets_with(interval, most, 100.0), factors).prop_map(|(mut market, factors)| {
        for (bar, factor) in market.bars.iter_mut().zip(factors) {
            for price in [&mut bar.open, &mut bar.high, &mut bar.low, &mut bar.close] {
                *price *= factor;
            }
        }
        market
    })
}

fn markets_with(
    interval: i64,
    most: usize,
    least_open_interest: f64,
) -> impl Strategy<Value = Market> {
    let one = (
        -0.02..0.02_f64,
        0.0..0.006_f64,
        0.0..0.006_f64,
        prop_oneof![Just(0.0), 0.0..50.0_f64],
        prop_oneof![19 => Just(1_i64), 1 => 2..9_i64],
    );
    let span = interval * most as i64;
    let readings = prop_oneof![
        1 => Just(Vec::new()),
        6 => prop::collection::vec((0..2_u8, -span / 4..span, least_open_interest..2000.0), 1..40),
    ];
    let orders = {
        // Also exactly at the open of a bar, where the previous one ends.
        let time = prop_oneof![0..span, (0..most as i64).prop_map(move |i| i * interval)];
        prop::collection::vec((any::<bool>(), 1..90_000_i64, time), 0..30)
    };
    (
        prop::sample::select(vec!["BTC", "PEPE"]),
        prop::collection::vec(one, 2..most),
        readings,
        orders,
        prop_oneof![Just(1.0), Just(91_000.0), Just(1.3e-5)],
    )
        .prop_map(move |(coin, moves, readings, orders, price)| {
            let mut price = price;
            let mut open_time = NOW;
            let bars = moves
                .into_iter()
                .map(|(change, above, below, volume, bars)| {
                    let open: f64 = price;
                    price *= f64::exp(change);
                    let mut bar = bar(coin, open_time, open);
                    bar.interval = Some(interval);
                    bar.close = price;
                    bar.high = open.max(price) * f64::exp(above);
                    bar.low = open.min(price) * f64::exp(-below);
                    bar.volume = volume;
                    open_time += bars * interval;
                    bar
                })
                .collect();
            let mut seen = BTreeSet::new();
            let open_interest = readings
                .into_iter()
                .map(|(venue, at, value)| {
                    reading(
                        coin,
                        Some(["okx", "bybit"][usize::from(venue)]),
                        NOW + at,
                        value,
                    )
                })
                .filter(|row| seen.insert((row.exchange.clone(), row.timestamp)))
                .collect();
            let orders = orders
                .into_iter()
                .map(|(long, usd, at)| {
                    let side = if long { Side::Long } else { Side::Short };
                    let pair = if coin == "BTC" {
                        "BTCUSDT"
                    } else {
                        "1000PEPEUSDT"
                    };
                    order("okx", pair, side, usd, NOW + at)
                })
                .collect();
            Market {
                coin,
                bars,
                open_interest,
                orders,
            }
        })
}

/// The documented parameters of both models.
pub(crate) fn parameters(coin: &str) -> Parameters {
    let leverages = [
        2.0, 3.0, 4.0, 5.0, 7.0, 10.0, 15.0, 20.0, 25.0, 33.0, 50.0, 75.0, 100.0, 125.0_f64,
    ];
    let sum: f64 = leverages.iter().map(|leverage| leverage.powf(-0.75)).sum();
    let tier = |leverage: f64| Tier {
        leverage,
        maintenance: maintenance_margin(coin, leverage),
        weight: leverage.powf(-0.75) / sum,
    };
    Parameters {
        kappa: 0.21,
        clocks: vec![
            TurnoverClock {
                share: 0.3,
                per_day: 0.1,
            },
            TurnoverClock {
                share: 0.7,
                per_day: 16.0,
            },
        ],
        ..Parameters::new(leverages.map(tier).to_vec())
    }
}

/// The reference replay of a market.
pub(crate) struct Definition<'a> {
    pub(crate) market: &'a Market,
    pub(crate) bars: Vec<ObservedBar>,
    pub(crate) interval: i64,
}

impl<'a> Definition<'a> {
    pub(crate) fn new(market: &'a Market, now: i64, range: i64) -> Self {
        let interval = market.bars[0].interval.unwrap();
        let closed = |bar: &&ObservedBar| bar.timestamp.0 + interval <= now;
        let end = market
            .bars
            .iter()
            .filter(closed)
            .map(|bar| bar.timestamp.0 + interval)
            .max()
            .unwrap();
        Self {
            market,
            bars: market
                .bars
                .iter()
                .filter(closed)
                .filter(|bar| bar.timestamp.0 >= end - range)
                .cloned()
                .collect(),
            interval,
        }
    }

    pub(crate) fn end(&self) -> i64 {
        self.bars.last().unwrap().timestamp.0 + self.interval
    }

    /// Last fresh reading of each exchange.
    fn fresh_readings(&self, at: i64) -> [Option<f64>; 2] {
        ["bybit", "okx"].map(|venue| {
            let latest = self
                .market
                .open_interest
                .iter()
                .filter(|row| row.exchange.as_deref() == Some(venue))
                .filter(|row| (at - 15 * MINUTE..=at).contains(&row.timestamp.0))
                .max_by_key(|row| row.timestamp);
            latest.map(|row| row.open_interest)
        })
    }

    pub(crate) fn open_interest(&self, at: i64) -> Option<f64> {
        self.fresh_readings(at)
            .into_iter()
            .flatten()
            .reduce(|sum, value| sum + value)
    }

    /// Factor from the exchanges fresh before to those fresh now.
    fn regrouped(before: [Option<f64>; 2], now: [Option<f64>; 2]) -> Option<f64> {
        let fresh = |readings: [Option<f64>; 2]| readings.map(|value| value.is_some());
        let was: f64 = before.into_iter().flatten().sum();
        let these = before.into_iter().zip(now);
        let these: f64 = these
            .filter_map(|(before, now)| now.map(|now| before.unwrap_or(now)))
            .sum();
        (fresh(before) != fresh(now) && was > 0.0).then(|| these / was)
    }

    /// Mean volume of the previous seven days.
    pub(crate) fn before(&self, bar: &ObservedBar) -> Option<f64> {
        let volumes: Vec<f64> = self
            .market
            .bars
            .iter()
            .filter(|other| {
                (bar.timestamp.0 - 7 * DAY..bar.timestamp.0).contains(&other.timestamp.0)
            })
            .map(|other| other.volume)
            .collect();
        (!volumes.is_empty()).then(|| volumes.iter().sum::<f64>() / volumes.len() as f64)
    }

    pub(crate) fn per_day(&self, bar: &ObservedBar) -> f64 {
        self.before(bar).unwrap_or(bar.volume) * DAY as f64 / self.interval as f64
    }

    /// Open interest that is known when the first bar opens.
    pub(crate) fn start(&self) -> Option<f64> {
        let first = self.bars[0].timestamp.0;
        let before = || {
            let readings = &self.market.open_interest;
            let last = readings
                .iter()
                .map(|row| row.timestamp.0)
                .filter(|at| *at <= first)
                .max()?;
            self.open_interest(last)
        };
        self.open_interest(first).or_else(before)
    }

    /// The first close at which open interest is known.
    pub(crate) fn known_from(&self) -> Option<i64> {
        if self.start().is_some() {
            return Some(i64::MIN);
        }
        let closes = self.bars.iter().map(|bar| bar.timestamp.0 + self.interval);
        closes
            .into_iter()
            .find(|close| self.open_interest(*close).is_some())
    }

    /// Quantities known at the close of a bar.
    pub(crate) fn realised(&self, bar: &ObservedBar) -> [Option<f64>; 2] {
        let close = bar.timestamp.0 + self.interval;
        let known: Vec<&ObservedOrder> = self
            .market
            .orders
            .iter()
            .filter(|row| row.order.timestamp.0 < close)
            .filter(|row| row.received_at.is_none_or(|at| at.0 <= close))
            .collect();
        let mut times = known.iter().map(|row| row.order.timestamp.0);
        if !times.any(|at| at >= close - DAY) {
            return [None; 2];
        }
        let scale = if self.market.coin == "PEPE" {
            1000.0
        } else {
            1.0
        };
        [Side::Long, Side::Short].map(|side| {
            Some(
                known
                    .iter()
                    .filter(|row| row.order.side == side)
                    .filter(|row| row.order.timestamp >= bar.timestamp)
                    .map(|row| nearest_f64(row.order.qty) * scale)
                    .sum(),
            )
        })
    }

    /// State of the ledger at `at`.
    pub(crate) fn ledger(&self, model: Model, at: i64) -> Oracle {
        let start = self.start();
        let mut is_relative = start.is_none();
        let mut ledger = Oracle::new(
            parameters(self.market.coin),
            start.unwrap_or_else(|| self.per_day(&self.bars[0])),
        );
        let mut last: Option<i64> = None;
        let mut read = None;
        for bar in &self.bars {
            let close = bar.timestamp.0 + self.interval;
            if close > at {
                break;
            }
            if let Some(last) = last
                && bar.timestamp.0 - last > 3 * self.interval
            {
                ledger.lapse((bar.timestamp.0 - last) as f64 / DAY as f64);
            }
            last = Some(close);
            let readings = self.fresh_readings(close);
            let level = self.open_interest(close);
            if let Some(level) = level.filter(|_| is_relative) {
                is_relative = false;
                if ledger.open_interest > 0.0 {
                    ledger.regroup(level / ledger.open_interest);
                } else {
                    ledger = Oracle::new(parameters(self.market.coin), level);
                }
                read = Some(readings);
            }
            if !is_relative && readings.iter().any(Option::is_some) {
                if let Some(factor) = read.and_then(|read| Self::regrouped(read, readings)) {
                    ledger.regroup(factor);
                }
                read = Some(readings);
            }
            let open_interest = if is_relative {
                self.per_day(bar)
            } else {
                level.unwrap_or(ledger.open_interest)
            };
            let usual = self.before(bar).filter(|mean| *mean > 0.0);
            ledger.step(&Step {
                low: bar.low,
                high: bar.high,
                close: bar.close,
                volume_ratio: usual.map_or(1.0, |mean| bar.volume / mean),
                days: self.interval as f64 / DAY as f64,
                open_interest,
                realised: match model {
                    Model::Exposure => [None; 2],
                    Model::Expected => self.realised(bar),
                },
            });
        }
        ledger
    }
}
