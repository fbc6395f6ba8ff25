//! Properties of the venues: their names, their pairs, and which are complete.

use liqdata::feeds::{Completeness, VENUES, Venue, hyperliquid};
use liqdata::model::{EXCHANGES, Symbol};

#[test]
fn only_venues_that_claim_it_count_as_complete() {
    let complete: Vec<&str> = VENUES
        .iter()
        .filter(|venue| venue.completeness() == Completeness::Complete)
        .map(|venue| venue.name())
        .collect();
    assert_eq!(
        complete,
        [
            "bybit",
            "gate",
            "deribit",
            "kraken",
            "bitmex",
            "bitfinex",
            "dydx",
            "lighter",
            "lighter_rh",
            "pacifica",
            "extended"
        ]
    );
}

#[test]
fn every_known_exchange_has_a_feed() {
    let mut known = VENUES.map(Venue::name).to_vec();
    known.push(hyperliquid::EXCHANGE);
    assert_eq!(known, EXCHANGES);
}

#[test]
fn a_native_id_reads_back_as_its_pair() {
    for venue in VENUES {
        for pair in ["BTCUSDT", "BTCUSD", "ETHUSDC", "SOLUSDT"] {
            let symbol = Symbol::read(pair).unwrap();
            let Some(native_id) = venue.native_id(&symbol) else {
                continue;
            };
            let again = Symbol::read(&native_id).unwrap();
            let found = (again.name(), again.kind());
            let wanted = (symbol.name(), symbol.kind());
            assert_eq!(found, wanted, "{} {native_id}", venue.name());
        }
        let dated = Symbol::read("BTC-USDT-261225").unwrap();
        assert_eq!(venue.native_id(&dated), None);
    }
}
