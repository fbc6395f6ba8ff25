//! A simulated market in which all positions are recorded, to test estimates without a network.
//!
//! Liquidations are not drawn from a template: they result from the positions of simulated traders. Three groups of
//! traders arrive one by one. Each trader takes a side, a size from a heavy-tailed distribution, and a leverage of 2x
//! to 125x under the margin brackets of the coin. A position closes after a holding time, at a stop loss, at a take
//! profit, or by liquidation. Some traders add margin, so their liquidation price is farther away than the nominal
//! leverage implies. The price has clustered volatility, jumps and weak mean reversion. Each liquidation moves the
//! price, so it can trigger further liquidations; a part of this price impact reverts.
//!
//! Every contract has a long and a short side. New traders favour the side of their exchange that has fewer open lots.
//! The market maker of the exchange takes the difference between the two sides. Its leverage is 2x and it adds margin
//! in every bar, so it is never liquidated. Open interest is the sum of all positions on one side, including that of
//! the market maker.
//!
//! One exchange publishes only the largest liquidation of each symbol and second, the recording of another one has a
//! gap, and a third publishes the open positions of its traders.
//!
//! The mark price equals the traded price. It moves along a straight line in each step of half a minute, so the instant
//! at which it reaches a price is exact. The simulation starts ten days before the first returned bar, so that
//! positions have built up by then.

mod coin_simulation;
mod coins;
mod position_book;
mod price_path;
mod published_positions;
mod traders;

use std::panic::resume_unwind;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rust_decimal::Decimal;

use crate::model::{
    Bar, CoverageGap, GapState, Millis, ObservedBar, ObservedOpenInterest, ObservedOrder, Order,
    Position, PositionRow, Sampling, Side, SimulatedFeeds, liquidation_price,
};
use coin_simulation::{CoinSimulation, Liquidation, span};
use coins::{COINS, SimulatedCoin, SimulatedVenue, VENUE_COUNT, VENUES, nearest};
use price_path::{BARS, BarShocks, INTERVAL, VolatilityProcess, WARM_UP};
pub use traders::Habits;

/// Leverage of the market makers.
const MAKER_LEVERAGE: f64 = 2.0;
/// Maximum size of a fill in USD, on exchanges that publish fills.
const FILL: f64 = 100_000.0;
/// Time in which a sampled exchange publishes one liquidation of a symbol.
const SECOND: i64 = 1000;
/// Start of the gap in the recording, before the last close.
const GAP_BACK: i64 = 9 * Millis::HOUR;
/// Length of the gap in the recording.
const GAP: i64 = 45 * Millis::MINUTE;

/// Result of a simulation: the observations, and the positions that produced them.
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The instant up to which the market is simulated.
    pub now: Millis,
    /// The liquidations that were published and recorded since the first bar, oldest first.
    pub orders: Vec<ObservedOrder>,
    /// Bars and open interest of each coin.
    coins: Vec<CoinSeries>,
    /// Open positions at the last close. For each coin, the positions of traders, oldest first, precede those of the
    /// market makers.
    pub positions: Vec<Position>,
    /// The account positions that one exchange publishes: a part of the open positions at `now` rounded down to five
    /// minutes.
    pub published: Vec<PositionRow>,
    /// The exchanges that leave out liquidations, and the gaps in the recording.
    pub feeds: SimulatedFeeds,
}

/// Bars and open interest of a simulated coin.
#[derive(Clone, Debug, PartialEq)]
struct CoinSeries {
    coin: SimulatedCoin,
    bars: Vec<Bar>,
    /// Lots by exchange, every five minutes from the first open on.
    open_interest: Vec<[i64; VENUE_COUNT]>,
}

impl Simulation {
    /// Bars of each coin, over 30 days up to `now` rounded down to five minutes.
    ///
    /// Their length is five minutes, and one minute from two days before `now` on. Bars simulated after `now` follow.
    pub fn bars(&self) -> impl Iterator<Item = ObservedBar<&'static str>> {
        self.coins.iter().flat_map(|CoinSeries { coin, bars, .. }| {
            let bars = bars.iter();
            bars.map(|bar| bar.of_coin(coin.symbol))
        })
    }

    /// Open interest by coin and exchange, at the first open and every five minutes.
    pub fn open_interest(&self) -> impl Iterator<Item = ObservedOpenInterest<&'static str>> {
        let first = last_close(self.now).back(span(BARS));
        self.coins.iter().flat_map(move |series| {
            let instants = series.open_interest.iter().enumerate();
            instants.flat_map(move |(place, lots)| {
                let venues = VENUES.iter().zip(lots);
                venues.map(move |(venue, lots)| ObservedOpenInterest {
                    symbol: series.coin.symbol,
                    exchange: Some(venue.name),
                    timestamp: first.on(span(place)),
                    open_interest: series.coin.quantity(*lots),
                })
            })
        })
    }
}

/// Simulates a market up to `now`.
///
/// Equal seeds and instants give identical markets, bit for bit.
///
/// # Examples
///
/// ```
/// use liqdata::model::{Millis, Side};
/// use liqdata::simulate::simulate;
///
/// let market = simulate(0, Millis(1_781_136_000_000));
/// let last = market.bars().filter(|bar| bar.symbol == "BTC").last().map(|bar| bar.close);
/// let longs = market.positions.iter().filter(|p| p.symbol == "BTC" && p.side == Side::Long);
/// assert!(longs.into_iter().all(|position| Some(position.liquidation_price) < last));
/// ```
#[must_use]
pub fn simulate(seed: u64, now: Millis) -> Simulation {
    simulate_with(Habits::default(), seed, now)
}

/// Does the same as [`simulate`], with the traders' behaviour changed by `habits`.
#[must_use]
pub fn simulate_with(habits: Habits, seed: u64, now: Millis) -> Simulation {
    simulate_beyond(habits, seed, now, 0)
}

/// Does the same as [`simulate_with`], and continues for `bars` more intervals of five minutes.
///
/// The orders, bars and open interest up to `now` do not depend on `bars`. The positions are those at the last close.
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
/// assert_eq!(beyond.bars().count(), until.bars().count() + 10 * 60);
/// ```
#[must_use]
pub fn simulate_beyond(habits: Habits, seed: u64, now: Millis, bars: usize) -> Simulation {
    simulate_watched(habits, seed, now, bars, &|| true)
}

/// Does the same as [`simulate_beyond`], and calls `goes_on` after every five minutes of each coin.
///
/// A full simulation calls it [`bars_to_live`] times. A coin's simulation stops when `goes_on` returns false; the
/// result is then incomplete.
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
    observed(live(habits, seed, last_close(now), bars, goes_on), now)
}

/// The last close of a bar of five minutes by `now`.
fn last_close(now: Millis) -> Millis {
    Millis(now.0.div_euclid(INTERVAL).saturating_mul(INTERVAL))
}

/// Returns the number of simulated intervals of five minutes of all coins.
///
/// `beyond` is the number of intervals after the simulated instant.
#[must_use]
pub fn bars_to_live(beyond: usize) -> usize {
    (WARM_UP + BARS)
        .saturating_add(beyond)
        .saturating_mul(COINS.len())
}

/// Simulates every coin up to `end`, and `beyond` intervals after it.
fn live(
    habits: Habits,
    seed: u64,
    end: Millis,
    beyond: usize,
    goes_on: &(dyn Fn() -> bool + Sync),
) -> Vec<CoinSimulation> {
    let market = weather(end, beyond, &mut stream(seed, 0));
    // Each coin has a separate random stream, so its result depends neither on other coins nor on thread timing.
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

/// Draws the market-wide shocks of each bar, including the warm-up.
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

/// Converts the simulated coins to observations and positions.
fn observed(histories: Vec<CoinSimulation>, now: Millis) -> Simulation {
    let mut simulation = Simulation {
        now,
        orders: Vec::new(),
        coins: Vec::with_capacity(histories.len()),
        positions: Vec::new(),
        published: Vec::new(),
        feeds: feeds(last_close(now)),
    };
    for history in histories {
        let coin = history.coin;
        for liquidation in published(&history.liquidations, &simulation.feeds.gaps) {
            publish(&coin, liquidation, &mut simulation.orders);
        }
        hold(&history, &mut simulation.positions);
        simulation.published.extend(history.published.rows(&coin));
        simulation.coins.push(CoinSeries {
            coin,
            bars: history.bars,
            open_interest: history.open_interest,
        });
    }
    // The sort is stable: orders of the same millisecond stay in the order of the coins.
    simulation.orders.sort_by_key(|row| row.order.timestamp);
    simulation
}

/// The exchanges that leave out liquidations, and the gap.
fn feeds(end: Millis) -> SimulatedFeeds {
    let start = end.back(GAP_BACK);
    let names = |is_meant: fn(&SimulatedVenue) -> bool| {
        let meant = VENUES.iter().filter(move |venue| is_meant(venue));
        meant.map(|venue| venue.name.to_owned())
    };
    let gaps = names(|venue| venue.has_gap).map(|exchange| CoverageGap {
        exchange,
        start,
        end: start.on(GAP),
        reason: "simulated: the connection was lost".to_owned(),
        state: GapState::Lost,
        ..CoverageGap::default()
    });
    let sampled = names(|venue| venue.is_sampled);
    SimulatedFeeds {
        sampled: sampled
            .map(|name| (name, Sampling::LatestOrLargest))
            .collect(),
        gaps: gaps.collect(),
        shares: VENUES
            .iter()
            .map(|venue| (venue.name.to_owned(), venue.share))
            .collect(),
    }
}

/// The liquidations of a coin, in order of time, that are published and recorded.
fn published<'a>(liquidations: &'a [Liquidation], gaps: &[CoverageGap]) -> Vec<&'a Liquidation> {
    let mut published: Vec<&Liquidation> = Vec::with_capacity(liquidations.len());
    let mut last_of_venue = [None; VENUE_COUNT];
    for liquidation in liquidations {
        let venue = VENUES.get(liquidation.venue);
        let Some((venue, last)) = venue.zip(last_of_venue.get_mut(liquidation.venue)) else {
            continue;
        };
        let at = liquidation.time;
        if gaps
            .iter()
            .any(|gap| (gap.start..gap.end).contains(&at) && gap.exchange == venue.name)
        {
            continue;
        }
        let shown = last.and_then(|place: usize| published.get_mut(place));
        if venue.is_sampled
            && let Some(shown) = shown
            && shown.time.0.div_euclid(SECOND) == at.0.div_euclid(SECOND)
        {
            // The largest of the second is published.
            if liquidation.lots * liquidation.ticks > shown.lots * shown.ticks {
                *shown = liquidation;
            }
        } else {
            *last = Some(published.len());
            published.push(liquidation);
        }
    }
    published
}

/// Publishes a liquidation as one order, or as one order per fill; two fills may have identical orders.
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
    // The product is exact: each factor has fewer than 14 digits, and both together have at most 12 decimals.
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

/// Appends the open positions of a coin: those of traders, then those of market makers.
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
