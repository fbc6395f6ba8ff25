//! The simulation of one coin: price path, traders, exits and liquidations.

use rand::{Rng, RngExt};

use super::coins::{SimulatedCoin, VENUE_COUNT, VENUES, count, nearest};
use super::position_book::PositionBook;
use super::price_path::{
    BARS, BarShocks, FINE, INTERVAL, MINUTE_STEPS, PriceProcess, STEPS, VolatilityProcess, WARM_UP,
    exponential, normal,
};
use super::published_positions::PublishedPositions;
use super::traders::{self, Habits, Plan};
use crate::model::{Bar, Millis, Side};

/// Length of a step in milliseconds. No event falls on the boundary of a step.
const STEP: i64 = INTERVAL / STEPS as i64;

/// Size of market orders that change the price by a factor of e.
///
/// The unit is the coin's `scale`.
const DEPTH: f64 = 5.0;

/// A liquidation, as an exchange publishes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Liquidation {
    pub(super) time: Millis,
    pub(super) side: Side,
    pub(super) venue: usize,
    pub(super) lots: i64,
    /// Average fill price, in ticks.
    pub(super) ticks: i64,
    /// Mark price that triggered the liquidation.
    #[cfg_attr(
        not(test),
        expect(dead_code, reason = "tests hold the bars against it")
    )]
    pub(super) trigger: f64,
}

/// State and history of one simulated coin.
#[derive(Debug)]
pub(super) struct CoinSimulation {
    pub(super) coin: SimulatedCoin,
    habits: Habits,
    /// The bars after the warm-up: of five minutes, and of one minute from two days before now on.
    pub(super) bars: Vec<Bar>,
    /// Open interest in lots by exchange, at the first open and every five minutes.
    pub(super) open_interest: Vec<[i64; VENUE_COUNT]>,
    /// Liquidations after the warm-up, oldest first.
    pub(super) liquidations: Vec<Liquidation>,
    /// The position book at the end of the simulation.
    pub(super) book: PositionBook,
    /// The published positions at the instant up to which the market is simulated.
    pub(super) published: PublishedPositions,
}

/// A bar that is still being built; prices are in ticks and volume in lots.
#[derive(Clone, Copy, Debug)]
struct BarBuilder {
    open: i64,
    high: i64,
    low: i64,
    close: i64,
    traded: i64,
}

impl CoinSimulation {
    /// Simulates `coin` up to `end`, with the market-wide shocks `market`.
    ///
    /// Stops early when `goes_on` returns false after a bar.
    pub(super) fn live(
        coin: SimulatedCoin,
        habits: Habits,
        market: &[BarShocks],
        end: Millis,
        rng: &mut impl Rng,
        goes_on: &(dyn Fn() -> bool + Sync),
    ) -> Self {
        let mut coins_own = VolatilityProcess::new(0.7);
        let mut price = PriceProcess::new(coin.start);
        let mut history = Self {
            coin,
            habits,
            bars: Vec::with_capacity(BARS + FINE * (usize::from(STEPS / MINUTE_STEPS) - 1)),
            open_interest: Vec::with_capacity(BARS + 1),
            liquidations: Vec::new(),
            book: PositionBook::new(market.len()),
            published: PublishedPositions::default(),
        };
        let mut last = coin.ticks(coin.start);
        let mut wait = exponential(rng);
        let mut momentum = 0.0;
        let mut parts = Vec::with_capacity(usize::from(STEPS));
        let first = end.back(span(WARM_UP + BARS));
        for (number, weather) in market.iter().enumerate() {
            let recorded = number >= WARM_UP;
            if number == WARM_UP {
                history.liquidations.clear();
                history.open_interest.push(history.open_lots());
            }
            let open_time = first.on(span(number));
            let own = coins_own.next(open_time, rng);
            let liveliness = mixed(coin.correlation, weather.volatility, own.volatility);
            let arrivals = coin.arrivals * liveliness.powf(0.8) / f64::from(STEPS);
            let steps = if number < WARM_UP + BARS - FINE {
                usize::from(STEPS)
            } else {
                usize::from(MINUTE_STEPS)
            };
            let mut bar = BarBuilder::new(last);
            bar.traded = history.book.expire(number, coin.price(last));
            for (step, (common, own)) in weather.shocks.iter().zip(own.shocks).enumerate() {
                if step > 0 && step % steps == 0 {
                    parts.push(std::mem::replace(&mut bar, BarBuilder::new(last)));
                }
                let shock = coin.volatility * mixed(coin.correlation, *common, own);
                let to = coin.ticks(price.step(shock));
                momentum = momentum * 0.98 + shock / coin.volatility;
                let mut leg = Leg {
                    from: last,
                    to,
                    start: open_time.on(span_of_steps(step)),
                };
                while wait < arrivals {
                    let part = wait / arrivals;
                    wait += exponential(rng);
                    bar.traded += history.arrive(&leg, part, momentum, number, rng);
                }
                wait -= arrivals;
                bar.traded += history.sweep(&mut leg, &mut price, rng);
                bar.reach(to);
                last = to;
            }
            parts.push(bar);
            if recorded {
                let others = history.others(liveliness, rng) / whole(parts.len());
                for (place, part) in parts.iter().enumerate() {
                    let open_time = open_time.on(span_of_steps(place * steps));
                    let traded = part.traded.saturating_add(others.max(1));
                    let bar = part.closed(&coin, open_time, span_of_steps(steps), traded);
                    history.bars.push(bar);
                }
                history.open_interest.push(history.open_lots());
            }
            parts.clear();
            if number + 1 == WARM_UP + BARS {
                history.published = history.published_at(end, coin.price(last));
            }
            if !goes_on() {
                break;
            }
        }
        history.book.finish();
        history
    }

    /// The open positions of traders on exchanges that publish them.
    fn published_at(&self, at: Millis, price: f64) -> PublishedPositions {
        let open = self.book.open().filter_map(|position| {
            let venue = VENUES.get(position.venue)?;
            venue
                .shows_positions
                .then_some((venue.name, position.terms))
        });
        PublishedPositions {
            at,
            price,
            open: open.collect(),
            lots: self.open_lots().iter().sum(),
        }
    }

    /// Opens a position for a new trader; returns its lots.
    ///
    /// The trader arrives at the fraction `part` of the leg.
    fn arrive(
        &mut self,
        leg: &Leg,
        part: f64,
        momentum: f64,
        number: usize,
        rng: &mut impl Rng,
    ) -> i64 {
        let Some(plan) = Plan::draw(&self.coin, &self.habits, rng) else {
            return 0;
        };
        let shares = VENUES.iter().map(|venue| f64::from(venue.share) / 100.0);
        let venue = traders::place(shares, rng);
        let (longs, shorts) = self.book.open_lots(venue);
        let side = traders::side(momentum, longs, shorts, rng);
        let entry = self.coin.price(leg.ticks(part));
        let (terms, exits) = plan.take(&self.coin, side, entry);
        let due = number.saturating_add(plan.bars);
        self.book.enter(terms, exits, venue, leg.time(part), due);
        terms.lots
    }

    /// Moves the mark price along the leg; returns the closed lots.
    ///
    /// Every position that the price reaches is closed.
    fn sweep(&mut self, leg: &mut Leg, price: &mut PriceProcess, rng: &mut impl Rng) -> i64 {
        let Self {
            coin,
            book,
            liquidations,
            ..
        } = self;
        let mut traded = 0_i64;
        book.cross(coin.price(leg.to), |ended| {
            traded = traded.saturating_add(ended.lots);
            if !ended.liquidated {
                return;
            }
            let (from, to) = (coin.price(leg.from), coin.price(leg.to));
            let part = (ended.trigger - from) / (to - from);
            // The fill price lies between the trigger and the price at the end of the step.
            let slipped: f64 = rng.random();
            let fill = ended.trigger + (to - ended.trigger) * slipped * slipped * 0.6;
            liquidations.push(Liquidation {
                time: leg.time(part),
                side: ended.side,
                venue: ended.venue,
                lots: ended.lots,
                ticks: coin.ticks(fill),
                trigger: ended.trigger,
            });
            let usd = coin.quantity(ended.lots) * fill;
            let push = usd / (DEPTH * coin.scale);
            price.press(match ended.side {
                Side::Long => -push,
                Side::Short => push,
            });
        });
        traded
    }

    /// Returns open interest in lots by exchange.
    ///
    /// It is the larger of the traders' two sides; the market maker takes the difference.
    fn open_lots(&self) -> [i64; VENUE_COUNT] {
        std::array::from_fn(|venue| {
            let (longs, shorts) = self.book.open_lots(venue);
            longs.max(shorts)
        })
    }

    /// Draws the lots traded in five minutes by short-term traders; at least one lot.
    fn others(&self, liveliness: f64, rng: &mut impl Rng) -> i64 {
        let open_interest: i64 = self.open_lots().iter().sum();
        let turnover = 2.5 / 288.0 * liveliness.powf(1.3) * (0.4 * normal(rng)).exp();
        nearest(count(open_interest) * turnover).max(1)
    }
}

/// The straight line along which the mark price moves in one step.
#[derive(Clone, Copy, Debug)]
struct Leg {
    from: i64,
    to: i64,
    start: Millis,
}

impl Leg {
    /// Returns the instant at the fraction `part` of the leg, strictly inside the step.
    fn time(&self, part: f64) -> Millis {
        let inside = nearest(part * count(STEP - 2));
        self.start.on(1 + inside.clamp(0, STEP - 2))
    }

    /// Returns the price at the fraction `part` of the leg, in ticks.
    fn ticks(&self, part: f64) -> i64 {
        self.from + nearest(part * count(self.to - self.from))
    }
}

impl BarBuilder {
    fn new(open: i64) -> Self {
        Self {
            open,
            high: open,
            low: open,
            close: open,
            traded: 0,
        }
    }

    fn reach(&mut self, ticks: i64) {
        self.high = self.high.max(ticks);
        self.low = self.low.min(ticks);
        self.close = ticks;
    }

    fn closed(&self, coin: &SimulatedCoin, open_time: Millis, interval: i64, traded: i64) -> Bar {
        Bar {
            open_time,
            interval,
            open: coin.price(self.open),
            high: coin.price(self.high),
            low: coin.price(self.low),
            close: coin.price(self.close),
            volume: coin.quantity(traded),
        }
    }
}

/// Mixes a market-wide shock with one of the coin, by their correlation.
fn mixed(correlation: f64, market: f64, own: f64) -> f64 {
    correlation * market + (1.0 - correlation * correlation).sqrt() * own
}

/// Returns the length of `intervals` intervals in milliseconds.
pub(super) fn span(intervals: usize) -> i64 {
    whole(intervals).saturating_mul(INTERVAL)
}

/// Returns the length of `steps` steps in milliseconds.
fn span_of_steps(steps: usize) -> i64 {
    whole(steps).saturating_mul(STEP)
}

fn whole(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
