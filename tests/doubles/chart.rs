//! Candles and open interest of a market, fixed by the seed, the market and the minute.

use rust_decimal::Decimal;

use super::market::Market;

pub const MINUTE: i64 = 60_000;

/// One candle of any length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candle {
    pub start: i64,
    pub open: Decimal,
    pub high: Decimal,
    pub low: Decimal,
    pub close: Decimal,
    /// In the market's unit of size.
    pub volume: Decimal,
    /// The part of the volume in which the taker bought.
    pub bought: Decimal,
    pub trades: u64,
}

/// A number of 64 bits that depends on all of its inputs.
fn mixed(seed: u64, name: &str, at: i64) -> u64 {
    let mut state = seed ^ at.unsigned_abs().wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for byte in name.bytes() {
        state = (state ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    state ^= state >> 30;
    state = state.wrapping_mul(0xbf58_476d_1ce4_e5b9);
    state ^= state >> 27;
    state = state.wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ (state >> 31)
}

/// A tent between -span and +span with the given period.
fn tent(at: i64, period: i64, span: i64) -> i64 {
    let phase = at.rem_euclid(period);
    let half = period / 2;
    let height = if phase < half { phase } else { period - phase };
    span * (2 * height - half) / half
}

/// The last price of a minute, in ticks.
fn ticks(seed: u64, market: &Market, minute: i64) -> i64 {
    let start = market.start.0;
    let noise = (mixed(seed, market.native_id, minute) % 1001).cast_signed() - 500;
    start
        + tent(minute, 1440, start / 40)
        + tent(minute, 11_520, start / 15)
        + start * noise / 500_000
}

/// The candle of one minute, given its start.
fn minute(seed: u64, market: &Market, start: i64) -> Candle {
    let at = start.div_euclid(MINUTE);
    let (open, close) = (ticks(seed, market, at - 1), ticks(seed, market, at));
    let draw = mixed(seed ^ 0x5eed, market.native_id, at);
    let reach = (market.start.0 / 3000).max(1);
    let above = (draw % 1000).cast_signed() * reach / 1000;
    let below = ((draw >> 10) % 1000).cast_signed() * reach / 1000;
    let steps = 1 + ((draw >> 20) % 100_000).cast_signed();
    Candle {
        start,
        open: market.price(open),
        high: market.price(open.max(close) + above),
        low: market.price((open.min(close) - below).max(1)),
        close: market.price(close),
        volume: Decimal::new(steps * market.step.0, market.step.1),
        bought: Decimal::new(steps / 2 * market.step.0, market.step.1),
        trades: 1 + (draw >> 40) % 500,
    }
}

/// The candle of `length` milliseconds, a whole number of minutes, that starts at `start`; minutes after `until` are left out.
pub fn candle(seed: u64, market: &Market, start: i64, length: i64, until: i64) -> Candle {
    let mut whole = minute(seed, market, start);
    let mut at = start + MINUTE;
    while at < start + length && at <= until {
        let next = minute(seed, market, at);
        whole.high = whole.high.max(next.high);
        whole.low = whole.low.min(next.low);
        whole.close = next.close;
        whole.volume += next.volume;
        whole.bought += next.bought;
        whole.trades += next.trades;
        at += MINUTE;
    }
    whole
}

/// The open interest of one side at an instant, in the market's unit of size.
pub fn open_interest(seed: u64, market: &Market, at: i64) -> Decimal {
    let five = at.div_euclid(5 * MINUTE);
    let noise = (mixed(seed ^ 0x01, market.native_id, five) % 20_001).cast_signed();
    let steps = 20_000_000 + tent(five, 2016, 3_000_000) + noise;
    Decimal::new(steps * market.step.0, market.step.1)
}

/// The price at an instant: the close of its minute.
pub fn price(seed: u64, market: &Market, at: i64) -> Decimal {
    market.price(ticks(seed, market, at.div_euclid(MINUTE)))
}
