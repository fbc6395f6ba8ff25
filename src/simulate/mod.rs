//! A simulated market with known positions, to test estimates without a network.
//!
//! Liquidations are not drawn from a template. Three groups of traders arrive one by one. Each takes a side, a size
//! from a heavy-tailed distribution and a leverage of 2x to 125x under the margin brackets of the coin. Positions close
//! after a holding time, at a stop, at a profit, or by liquidation. Some traders add margin, so their liquidation price
//! is farther away than the nominal leverage implies. The price has clustered volatility, jumps and weak mean
//! reversion. Liquidations move the price, so one can trigger the next; part of the impact reverts.
//!
//! Every contract has a long and a short side. New traders favour the lighter side of their exchange. The market maker
//! of the exchange holds the difference at 2x with margin added every bar, so it is never liquidated. Open interest is
//! the sum of one side, the maker included.
//!
//! The mark price equals the traded price. It moves in straight legs of half a minute, so every crossing has an exact
//! instant. A warm-up of ten days precedes the first shown bar, so that the book is grown.

mod coin_simulation;
mod coins;
mod position_book;
mod price_path;
mod traders;

use std::panic::resume_unwind;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rust_decimal::Decimal;

use crate::model::{
    Bar, Millis, ObservedBar, ObservedOpenInterest, ObservedOrder, Order, Position, Side,
    liquidation_price,
};
use coin_simulation::{CoinSimulation, Liquidation};
use coins::{COINS, SimulatedCoin, SimulatedVenue, VENUES, nearest};
use price_path::{BARS, BarShocks, INTERVAL, VolatilityProcess, WARM_UP};
pub use traders::Habits;

/// Leverage of the market makers.
const MAKER_LEVERAGE: f64 = 2.0;
/// Largest fill in USD on an exchange that publishes liquidations by fill.
const FILL: f64 = 100_000.0;

/// A simulated market: observations and the positions behind them.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The instant of the simulation.
    pub now: Millis,
    /// Liquidations from 24 hours before `now` on, oldest first.
    pub orders: Vec<ObservedOrder>,
    /// Five-minute bars per coin: 30 days up to `now`, rounded down to a bar, and the bars beyond.
    pub bars: Vec<ObservedBar>,
    /// Open interest per coin and exchange, at the first open and at every close.
    pub open_interest: Vec<ObservedOpenInterest>,
    /// Open positions at the last close: per coin the traders, oldest first, then the market makers.
    pub positions: Vec<Position>,
}

/// Simulates a market up to `now`.
///
/// The same seed and instant give the same market, bit for bit.
///
/// # Examples
///
/// ```
/// use liqdata::model::{Millis, Side};
/// use liqdata::simulate::simulate;
///
/// let market = simulate(0, Millis(1_781_136_000_000));
/// let last = market.bars.iter().rfind(|bar| bar.symbol == "BTC").map(|bar| bar.close);
/// let longs = market.positions.iter().filter(|p| p.symbol == "BTC" && p.side == Side::Long);
/// assert!(longs.into_iter().all(|position| Some(position.liquidation_price) < last));
/// ```
#[must_use]
pub fn simulate(seed: u64, now: Millis) -> Simulation {
    simulate_with(Habits::default(), seed, now)
}

/// As [`simulate`], with other habits of the traders.
#[must_use]
pub fn simulate_with(habits: Habits, seed: u64, now: Millis) -> Simulation {
    simulate_beyond(habits, seed, now, 0)
}

/// As [`simulate_with`], continued for `bars` more bars.
///
/// Everything up to `now` is the same for any `bars`. The positions are those at the end.
///
/// # Examples
///
/// ```
/// use liqdata::model::Millis;
/// use liqdata::simulate::{Habits, simulate_beyond, simulate};
///
/// let now = Millis(1_781_136_000_000);
/// let (until, beyond) = (simulate(0, now), simulate_beyond(Habits::default(), 0, now, 12));
/// assert!(beyond.orders.starts_with(&until.orders));
/// assert_eq!(beyond.bars.len(), until.bars.len() / 8640 * 8652);
/// ```
#[must_use]
pub fn simulate_beyond(habits: Habits, seed: u64, now: Millis, bars: usize) -> Simulation {
    simulate_watched(habits, seed, now, bars, &|| true)
}

/// As [`simulate_beyond`], with a callback after every bar of a coin, [`bars_to_live`] times in all.
///
/// The simulation stops when it returns false; the result is then incomplete.
///
/// # Examples
///
/// ```
/// use std::sync::atomic::{AtomicUsize, Ordering};
///
/// use liqdata::model::Millis;
/// use liqdata::simulate::{Habits, simulate_watched};
///
/// let lived = AtomicUsize::new(0);
/// let goes_on = || lived.fetch_add(1, Ordering::Relaxed) < 100;
/// let _ = simulate_watched(Habits::default(), 0, Millis(1_781_136_000_000), 0, &goes_on);
/// assert!(lived.into_inner() < 200);
/// ```
#[must_use]
pub fn simulate_watched(
    habits: Habits,
    seed: u64,
    now: Millis,
    bars: usize,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Simulation {
    let end = Millis(now.0.div_euclid(INTERVAL).saturating_mul(INTERVAL));
    observed(&live(habits, seed, end, bars, goes_on), now)
}

/// Number of simulated bars over all coins, for `beyond` bars after now.
#[must_use]
pub fn bars_to_live(beyond: usize) -> usize {
    (WARM_UP + BARS)
        .saturating_add(beyond)
        .saturating_mul(COINS.len())
}

/// Simulates every coin up to `end` and `beyond` bars more.
fn live(
    habits: Habits,
    seed: u64,
    end: Millis,
    beyond: usize,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Vec<CoinSimulation> {
    let market = weather(end, beyond, &mut stream(seed, 0));
    // Each coin has its own random stream, so results do not depend on other coins or on thread timing.
    std::thread::scope(|scope| {
        let market = market.as_slice();
        let living: Vec<_> = (1..)
            .zip(COINS)
            .map(|(number, coin)| {
                scope.spawn(move || {
                    CoinSimulation::live(
                        coin,
                        habits,
                        market,
                        end,
                        &mut stream(seed, number),
                        goes_on,
                    )
                })
            })
            .collect();
        living
            .into_iter()
            .map(|coin| coin.join().unwrap_or_else(|cause| resume_unwind(cause)))
            .collect()
    })
}

fn stream(seed: u64, number: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    rng
}

/// Market shocks per bar, warm-up included.
fn weather(end: Millis, beyond: usize, rng: &mut ChaCha8Rng) -> Vec<BarShocks> {
    let mut climate = VolatilityProcess::new(1.0);
    let opens = (1..).map(|bars| end.back(INTERVAL.saturating_mul(bars)));
    let mut opens: Vec<Millis> = opens.take(WARM_UP + BARS).collect();
    opens.reverse();
    let after = (0..).map(|bars| end.on(INTERVAL.saturating_mul(bars)));
    opens
        .into_iter()
        .chain(after.take(beyond))
        .map(|open| climate.next(open, rng))
        .collect()
}

/// Turns simulated coins into observations and positions.
fn observed(histories: &[CoinSimulation], now: Millis) -> Simulation {
    let mut simulation = Simulation {
        now,
        orders: Vec::new(),
        bars: Vec::with_capacity(COINS.len() * BARS),
        open_interest: Vec::with_capacity(COINS.len() * (BARS + 1) * VENUES.len()),
        positions: Vec::new(),
    };
    let since = now.back(Millis::DAY);
    for history in histories {
        let coin = history.coin;
        for liquidation in &history.liquidations {
            if liquidation.time > since {
                publish(&coin, liquidation, &mut simulation.orders);
            }
        }
        hold(history, &mut simulation.positions);
        let first = history.bars.first().map(|bar| bar.open_time);
        let closes = history.bars.iter().map(Bar::close_time);
        for (timestamp, lots) in first.into_iter().chain(closes).zip(&history.open_interest) {
            let readings = VENUES.iter().zip(lots);
            simulation
                .open_interest
                .extend(readings.map(|(venue, &lots)| ObservedOpenInterest {
                    symbol: coin.symbol.to_owned(),
                    exchange: Some(venue.name.to_owned()),
                    timestamp,
                    open_interest: coin.quantity(lots),
                }));
        }
        simulation
            .bars
            .extend(history.bars.iter().map(|bar| bar.of_coin(coin.symbol)));
    }
    // Stable sort: orders of one millisecond stay in the order of the coins.
    simulation.orders.sort_by_key(|row| row.order.timestamp);
    simulation
}

/// Publishes a liquidation as one order, or by fills; equal fills are equal rows.
fn publish(coin: &SimulatedCoin, liquidation: &Liquidation, orders: &mut Vec<ObservedOrder>) {
    let Some(&venue) = VENUES.get(liquidation.venue) else {
        return;
    };
    let usd = coin.quantity(liquidation.lots) * coin.price(liquidation.ticks);
    let fills = if venue.by_fill {
        nearest((usd / FILL).ceil()).clamp(1, liquidation.lots)
    } else {
        1
    };
    let (each, rest) = (liquidation.lots / fills, liquidation.lots % fills);
    for _ in 1..fills {
        orders.push(row(coin, venue, liquidation, each));
    }
    orders.push(row(coin, venue, liquidation, each + rest));
}

fn row(
    coin: &SimulatedCoin,
    venue: SimulatedVenue,
    liquidation: &Liquidation,
    lots: i64,
) -> ObservedOrder {
    let (symbol, price, qty) = coin.listed(venue, liquidation.ticks, lots);
    // Exact: both have fewer than 14 digits and together at most 12 decimals.
    let value_usd: Decimal = price * qty;
    ObservedOrder {
        order: Order {
            exchange: venue.name.to_owned(),
            symbol,
            side: liquidation.side,
            price: price.normalize(),
            qty: qty.normalize(),
            value_usd: value_usd.normalize(),
            timestamp: liquidation.time,
        },
        coin: Some(coin.symbol.to_owned()),
        received_at: None,
        group_id: None,
    }
}

/// Lists the open positions of a coin, of traders and of market makers.
fn hold(history: &CoinSimulation, positions: &mut Vec<Position>) {
    let coin = history.coin;
    positions.extend(history.book.open().map(|open| Position {
        symbol: coin.symbol.to_owned(),
        side: open.terms.side,
        leverage: open.terms.leverage,
        entry_price: open.terms.entry,
        liquidation_price: open.terms.liquidation,
        qty: coin.quantity(open.terms.lots),
    }));
    let close = history.bars.last().map_or(coin.start, |bar| bar.close);
    for venue in 0..VENUES.len() {
        let (longs, shorts) = history.book.open_lots(venue);
        let side = if longs < shorts {
            Side::Long
        } else {
            Side::Short
        };
        let lots = longs.abs_diff(shorts).cast_signed();
        if lots > 0 {
            let qty = coin.quantity(lots);
            let (bracket, _) = coin.bracket(qty * close);
            positions.push(Position {
                symbol: coin.symbol.to_owned(),
                side,
                leverage: MAKER_LEVERAGE,
                entry_price: close,
                liquidation_price: liquidation_price(side, close, MAKER_LEVERAGE, bracket.rate),
                qty,
            });
        }
    }
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::cast_possible_wrap,
    reason = "tests"
)]
mod tests;
