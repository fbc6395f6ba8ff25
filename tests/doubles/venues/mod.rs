//! The dialects, one file per venue.

mod binance;
mod bybit;
mod okx;

use super::dialect::Dialect;

/// Every venue with a double.
pub const NAMES: [&str; 3] = ["binance", "bybit", "okx"];

/// The dialect of a venue.
pub fn dialect(venue: &str) -> Option<&'static dyn Dialect> {
    Some(match venue {
        "binance" => &binance::Binance,
        "bybit" => &bybit::Bybit,
        "okx" => &okx::Okx,
        _ => return None,
    })
}
