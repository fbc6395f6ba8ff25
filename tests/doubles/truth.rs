//! Liquidations as a decoder must yield them, and the seeded stream they come from.

use liqdata::model::Side;
use rust_decimal::{Decimal, RoundingStrategy};

use super::market::{Market, Unit};

/// Sizes run through this many steps before one comes again, which keeps every event of a millisecond, and of a second,
/// different from the others.
const SIZES: u64 = 10_007;

/// One liquidation that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Truth {
    pub venue: &'static str,
    pub market: &'static Market,
    /// How many there were before it in its stream.
    pub seq: u64,
    /// How many of its market there are up to it.
    pub nth: u64,
    /// Side of the position that was liquidated.
    pub side: Side,
    /// The price on the socket, with the digits of the tick.
    pub price: Decimal,
    /// The size in the venue's own unit.
    pub size: Decimal,
    /// Event time in epoch milliseconds.
    pub time: i64,
}

impl Truth {
    pub fn native_id(&self) -> &'static str {
        self.market.native_id
    }

    /// The quantity in base units; quotients half to even at eight places.
    pub fn qty(&self) -> Decimal {
        if self.market.is_inverse() {
            (self.usd() / self.price)
                .round_dp_with_strategy(8, RoundingStrategy::MidpointNearestEven)
                .normalize()
        } else {
            (self.size * self.market.contract_size()).normalize()
        }
    }

    /// The value in USD.
    pub fn value(&self) -> Decimal {
        if self.market.is_inverse() {
            self.usd().normalize()
        } else {
            (self.qty() * self.price).normalize()
        }
    }

    fn usd(&self) -> Decimal {
        self.size * self.market.contract_size()
    }

    /// The size as a number of contracts, or as it is.
    pub fn size_text(&self) -> String {
        self.size.to_string()
    }

    /// `long` where a long died, else `short`.
    pub fn word(&self, long: &'static str, short: &'static str) -> &'static str {
        match self.side {
            Side::Long => long,
            Side::Short => short,
        }
    }

    /// An id of the trade or order, of the shape of a UUID.
    pub fn uuid(&self) -> String {
        let mixed = (self.seq ^ self.time.unsigned_abs().rotate_left(32))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15);
        format!(
            "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
            mixed >> 32,
            (mixed >> 16) & 0xffff,
            mixed & 0xfff,
            self.seq >> 48,
            self.seq & 0xffff_ffff_ffff
        )
    }
}

/// A seeded stream of liquidations of one venue.
#[derive(Clone, Debug)]
pub struct Liquidations {
    venue: &'static str,
    markets: &'static [Market],
    /// Last price of every market, in ticks.
    ticks: Vec<i64>,
    current: usize,
    rng: fastrand::Rng,
    seq: u64,
    /// How many there were of every market.
    counts: Vec<u64>,
}

impl Liquidations {
    pub fn new(venue: &'static str, markets: &'static [Market], seed: u64) -> Self {
        Self {
            venue,
            markets,
            ticks: markets.iter().map(|market| market.start.0).collect(),
            current: 0,
            rng: fastrand::Rng::with_seed(seed),
            seq: 0,
            counts: vec![0; markets.len()],
        }
    }

    /// The next liquidation of a listed contract, at `time`.
    ///
    /// Several of one contract tend to follow each other, as they do in a cascade.
    pub fn next(&mut self, time: i64) -> Truth {
        if self.rng.u8(..4) == 0 || !self.markets[self.current].listed {
            let listed: Vec<usize> = (0..self.markets.len())
                .filter(|at| self.markets[*at].listed)
                .collect();
            self.current = listed[self.rng.usize(..listed.len())];
        }
        self.of(self.current, time)
    }

    /// The next liquidation of the contract `native_id`, listed or not.
    pub fn next_of(&mut self, native_id: &str, time: i64) -> Truth {
        let at = self
            .markets
            .iter()
            .position(|market| market.native_id == native_id)
            .unwrap_or_else(|| panic!("{} has no {native_id}", self.venue));
        self.of(at, time)
    }

    fn of(&mut self, at: usize, time: i64) -> Truth {
        let market = &self.markets[at];
        let most = (market.start.0 / 2000).max(1);
        let moved = self.ticks[at] + self.rng.i64(-most..=most);
        self.ticks[at] = moved.clamp(market.start.0 / 2, market.start.0 * 2).max(1);
        let steps = 1 + self.seq % SIZES + SIZES * self.rng.u64(..3);
        let seq = self.seq;
        self.seq += 1;
        self.counts[at] += 1;
        Truth {
            venue: self.venue,
            market,
            seq,
            nth: self.counts[at],
            side: if self.rng.bool() {
                Side::Long
            } else {
                Side::Short
            },
            price: market.price(self.ticks[at]),
            size: Decimal::new(market.step.0 * steps.cast_signed(), market.step.1),
            time,
        }
    }
}
