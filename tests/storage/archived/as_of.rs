//! No answer as of an instant uses what was received later.

use std::sync::Arc;

use liqdata::archive::{Archive, Batch};
use liqdata::contract::Stream;
use liqdata::market::{Market, OrderFollower, OrderUpdate};
use liqdata::model::Millis;
use proptest::prelude::*;

use crate::archive::folder::Folder;
use crate::archived::world::{START, bar, everything, order, reading, two_days};

/// Rows that were received at any time: at once, a little late, or filled in long after.
fn rows() -> impl Strategy<Value = Batch> {
    let delay = || {
        prop_oneof![
            6 => 0_i64..2_000,
            2 => 0_i64..Millis::HOUR,
            2 => 0_i64..3 * Millis::DAY,
        ]
    };
    let minutes = 30 * 60;
    let orders = prop::collection::vec((0..minutes, 0_i64..60_000, delay()), 0..80);
    let delays = (delay(), delay(), delay());
    let holes = prop::collection::vec((0..minutes, 1_i64..200, delay()), 0..6);
    (orders, delays, holes).prop_map(move |(orders, (bars, fives, readings), holes)| {
        let at = |minute: i64| START + minute * Millis::MINUTE;
        // Stretches of bars that came another way than those around them.
        let late = |minute: i64, usual: i64| {
            holes
                .iter()
                .find(|(from, length, _)| (*from..from + length).contains(&minute))
                .map_or(usual, |(_, _, delay)| *delay)
        };
        Batch {
            orders: (0..)
                .zip(orders)
                .map(|(key, (minute, milli, delay))| {
                    order(key, at(minute) + milli, at(minute) + milli + delay)
                })
                .collect(),
            bars: (0..minutes)
                .flat_map(|minute| {
                    let close = at(minute + 1);
                    [
                        bar("okx", minute, close + late(minute, bars)),
                        bar("binance", minute, close + late(minute / 2, fives)),
                    ]
                })
                .collect(),
            open_interest: (0..minutes / 5)
                .map(|step| reading("okx", step * 5, at(step * 5) + late(step * 5, readings)))
                .collect(),
            ..Batch::default()
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("LIQDATA_SOAK").is_some() { 64 } else { 3 },
        max_shrink_iters: 40,
        ..ProptestConfig::default()
    })]
    #[test]
    fn an_answer_as_of_an_instant_uses_only_rows_received_by_then(
        all in rows(),
        instants in prop::collection::vec(START + Millis::HOUR..START + 32 * Millis::HOUR, 1..4),
        roll in any::<bool>(),
    ) {
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        writer.append(&all).unwrap();
        if roll {
            writer.compact(Millis(START + Millis::DAY)).unwrap();
        }
        let market = Market::open(folder.archive(), None).unwrap();
        for instant in instants {
            let at = Millis(instant);
            let mut then = all.clone();
            then.orders.retain(|row| row.received_at <= at);
            then.bars.retain(|row| row.received_at <= at);
            then.open_interest.retain(|row| row.received_at <= at);
            let past = Folder::new();
            Archive::create_or_open(past.archive()).unwrap().append(&then).unwrap();
            let known = Market::open(past.archive(), None).unwrap();
            // Asked as of the instant as well, because that is what sets the windows.
            let (mut now, mut once) = (everything(&market, Some(at)), everything(&known, Some(at)));
            if then.orders.is_empty() && then.bars.is_empty() {
                // Nothing that has names is in it: none can be misspelt.
                prop_assert!(now.pop().unwrap().starts_with("400 "));
                prop_assert!(once.pop().unwrap().starts_with("404 "));
            }
            prop_assert_eq!(now, once);
        }
    }
}

#[tokio::test]
async fn a_stream_as_of_an_instant_reports_missing_orders_once_and_ends() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&two_days()).unwrap();
    let as_of = Some(Millis(START + Millis::DAY));
    let market = Arc::new(Market::open(folder.archive(), as_of).unwrap());
    for (id, gaps) in [(None, 0), (Some("beef-7"), 1)] {
        let question = Stream::new(None, None, id).unwrap();
        let mut follower = OrderFollower::new(Arc::clone(&market), question, 16).unwrap();
        for _ in 0..gaps {
            let next = follower.next().await.unwrap();
            assert!(matches!(next, OrderUpdate::Gap { .. }), "{next:?}");
        }
        let next = follower.next().await.unwrap();
        assert!(matches!(next, OrderUpdate::End), "{next:?}");
    }
}
