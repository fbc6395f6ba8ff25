//! What is claimed of the venues: their names, their pairs, and who tells everything.

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
fn the_exchanges_known_by_name_are_those_that_are_listened_to() {
    let mut known = VENUES.map(Venue::name).to_vec();
    known.push(hyperliquid::EXCHANGE);
    assert_eq!(known, EXCHANGES);
}

#[test]
fn a_venues_own_name_of_a_contract_means_the_pair_again() {
    for venue in VENUES {
        for pair in ["BTCUSDT", "BTCUSD", "ETHUSDC", "SOLUSDT"] {
            let symbol = Symbol::read(pair).unwrap();
            let Some(native_id) = venue.native_id(&symbol) else {
                continue;
            };
            let again = Symbol::read(&native_id).unwrap();
            let found = (again.name(), again.kind());
            let asked = (symbol.name(), symbol.kind());
            assert_eq!(found, asked, "{} {native_id}", venue.name());
        }
        let dated = Symbol::read("BTC-USDT-261225").unwrap();
        assert_eq!(venue.native_id(&dated), None);
    }
}
