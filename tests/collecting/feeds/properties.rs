//! Properties of every decoder for any input: bytes, JSON of the venues' words, samples with bytes changed.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use liqdata::feeds::{Instruments, VENUES, answer, decode};
use liqdata::model::Millis;
use proptest::prelude::*;
use serde_json::Value;

use crate::feeds::keys;

/// Words in the venues' frames.
const WORDS: &str = "
    forceOrder SELL BUY Buy Sell sell buy long short net 1 0 -1.5 1790000000000 allLiquidation.BTCUSDT
    liquidation-orders BTC-USDT-SWAP BTCUSDT BTCUSD_PERP XBTUSD futures.public_liquidates update notify
    public.*.liquidation_orders trade liquidation insert pos LIQUIDATED v4_trades channel_data update/trade
    00000 200 trades.x subscription MT tBTCF0:USTF0 2.0
";

/// Names of the members in the venues' frames.
const KEYS: &str = "
    e o s S z p ap T st stream data topic v arg channel instId details posSide side bkPx sz ts code list
    symbol price amount event result contract size time order_size order_price fill_price left op
    contract_code direction volume created_at jsonrpc method params trades liquidation instrument_name
    trade_id timestamp feed product_id uid type qty table action orderID leavesQty id contents createdAt
    market liq_price liq_amount liquidation_trades market_id usd_amount is_maker_ask
";

fn any_of(words: &'static str) -> impl Strategy<Value = &'static str> + Clone {
    prop::sample::select(words.split_whitespace().collect::<Vec<_>>())
}

/// JSON made of the words the venues use, so that it comes close to their frames.
fn near_json() -> impl Strategy<Value = Value> {
    let (word, key) = (any_of(WORDS), any_of(KEYS));
    let leaf = prop_oneof![
        word.prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e6..1e6_f64).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
        ".{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 64, 12, move |inside| {
        prop_oneof![
            prop::collection::vec(inside.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((key.clone(), inside), 0..12).prop_map(|members| {
                members
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect::<serde_json::Map<_, _>>()
                    .into()
            }),
        ]
    })
}

/// One sample frame of a venue, with a few of its bytes changed.
fn damaged() -> impl Strategy<Value = (&'static str, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/feeds");
    let samples: Vec<(&'static str, String)> = VENUES
        .iter()
        .flat_map(|venue| {
            let text = fs::read_to_string(folder.join(format!("{}.jsonl", venue.name()))).unwrap();
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            lines.into_iter().map(|line| (venue.name(), line))
        })
        .collect();
    let changes = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (prop::sample::select(samples), changes).prop_map(|((exchange, line), changes)| {
        let mut bytes = line.into_bytes();
        for (at, byte) in changes {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        (exchange, bytes)
    })
}

fn holds(exchange: &str, frame: &[u8]) -> Result<(), TestCaseError> {
    let none = Instruments::default();
    let first = decode(exchange, frame, None, &none);
    prop_assert_eq!(&first, &decode(exchange, frame, None, &none));
    if let Ok(events) = first {
        let distinct: HashSet<&str> = keys(&events).into_iter().collect();
        prop_assert_eq!(distinct.len(), events.len());
        for event in &events {
            prop_assert_eq!(event.exchange, exchange);
            prop_assert!(event.price > rust_decimal::Decimal::ZERO);
            prop_assert!(event.value_usd.is_none() || event.qty.is_some());
        }
    }
    let _ = answer(exchange, frame);
    Ok(())
}

proptest! {
    #[test]
    fn random_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for venue in VENUES {
            holds(venue.name(), &bytes)?;
        }
    }

    #[test]
    fn random_json_never_panics_and_decodes_the_same_again(json in near_json()) {
        let text = json.to_string();
        for venue in VENUES {
            holds(venue.name(), text.as_bytes())?;
        }
    }

    #[test]
    fn a_damaged_frame_never_panics_and_decodes_the_same_again((exchange, frame) in damaged()) {
        holds(exchange, &frame)?;
    }

    #[test]
    fn a_replayed_frame_has_the_keys_it_had((exchange, frame) in damaged(), received in any::<i64>()) {
        let none = Instruments::default();
        let first = decode(exchange, &frame, None, &none);
        let again = decode(exchange, &frame, Some(Millis(received)), &none);
        if let (Ok(first), Ok(again)) = (first, again) {
            prop_assert_eq!(keys(&first), keys(&again));
        }
    }
}
