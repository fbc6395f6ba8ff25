//! The dialects, one file per venue.

mod aster;
mod binance;
mod bitfinex;
mod bitget;
mod bybit;
mod coinex;
mod deribit;
mod dydx;
mod extended;
mod gate;
mod htx;
mod kraken;
mod lighter;
mod okx;
mod orderly;
mod pacifica;

use super::dialect::Dialect;

static DIALECTS: &[&dyn Dialect] = &[
    &binance::Binance,
    &bybit::Bybit,
    &okx::Okx,
    &gate::Gate,
    &bitget::Bitget,
    &htx::Htx,
    &aster::Aster,
    &deribit::Deribit,
    &kraken::Kraken,
    &bitfinex::Bitfinex,
    &dydx::Dydx,
    &coinex::Coinex,
    &lighter::MAIN,
    &lighter::ON_ROBINHOOD_CHAIN,
    &pacifica::Pacifica,
    &extended::Extended,
    &orderly::Orderly,
];

/// Every venue with a double.
pub fn names() -> Vec<&'static str> {
    DIALECTS.iter().map(|dialect| dialect.venue()).collect()
}

/// The dialect of a venue.
pub fn dialect(venue: &str) -> Option<&'static dyn Dialect> {
    DIALECTS
        .iter()
        .copied()
        .find(|dialect| dialect.venue() == venue)
}
