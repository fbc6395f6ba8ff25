//! Sequence numbers and totals of an exchange as evidence of completeness.
//!
//! Where a venue numbers its messages, a lost frame is a gap, is backfilled, and is reported.

use liqdata::archive::{Archive, Completeness, Evidence};
use liqdata::market::Market;
use liqdata::model::{GapState, Millis, TimeRange};

use crate::bench::{Doubles, Folder, assert_stored, gaps, quick};
use crate::doubles::Act;

const VENUES: [(&str, &str); 3] = [
    ("deribit", "BTC-PERPETUAL"),
    ("dydx", "BTC-USD"),
    ("kraken", "PF_XBTUSD"),
];

/// How long each event was on its way, in milliseconds.
const UNDER_WAY: i64 = 3000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_frame_is_detected_by_its_sequence_number_and_backfilled() {
    let venues = VENUES.map(|(venue, _)| venue);
    let (folder, doubles) = (Folder::new(), Doubles::on_loopback(&venues).await);
    let mut settings = quick();
    settings.pace.late = 0.05;
    settings.pace.acknowledge = 0.5;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let begun = collecting.status().at;
    let (mut happened, mut lost_events) = (Vec::new(), Vec::new());
    for (number, lost) in [(0, false), (1, false), (2, true), (3, false), (4, false)] {
        for (venue, market) in VENUES {
            let exchange = doubles.of(venue);
            if lost {
                assert_eq!(exchange.act(Act::Skip), 1, "{venue}");
            }
            let events = exchange.imagine_of(market, [exchange.book().now() - UNDER_WAY + number]);
            if lost {
                lost_events.push((venue, events[0].time));
            }
            exchange.publish(&events);
            happened.extend(events);
            exchange.drained().await;
        }
    }
    collecting
        .until("a hole is found in each", |status| {
            status.venues.iter().all(|one| one.holes == 1)
        })
        .await;
    collecting.until_stored(happened.len()).await;
    let market = Market::open(folder.archive(), None).unwrap();
    collecting
        .until("the gaps are recovered", |_| {
            let gaps = market.gaps(None, TimeRange::ALL).unwrap();
            let is_recovered = |(venue, _): &(&str, &str)| {
                let mut of_venue = gaps.iter().filter(|gap| gap.exchange == *venue);
                of_venue.any(|gap| gap.state == GapState::Recovered)
            };
            VENUES.iter().all(is_recovered)
        })
        .await;
    let now = Millis(doubles.of("kraken").book().now()).on(1000);
    collecting
        .until("the checked numbers are on record", |_| {
            let archive = Archive::read(folder.archive()).unwrap();
            let covered = archive.coverage().by_exchange(begun, now).unwrap();
            let is_verified = |one: &liqdata::archive::VenueCoverage| {
                let is_checked = one.numbered.is_some_and(|numbers| numbers >= 3);
                let word = (one.completeness, one.known_by);
                is_checked
                    && one.holes == Some(1)
                    && word == (Completeness::Complete, Evidence::Verified)
            };
            covered.len() == 3 && covered.iter().all(is_verified)
        })
        .await;
    // The status has the same.
    collecting
        .until("the status has it", |status| {
            status.venues.iter().all(|one| {
                one.known_by == Some(Evidence::Verified)
                    && one.connected_share.is_some()
                    && one.recovered >= Some(1)
            })
        })
        .await;
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
    let gaps = gaps(&folder.archive());
    assert_eq!(gaps.len(), 3, "{gaps:?}");
    for (venue, at) in lost_events {
        let gap = gaps.iter().find(|gap| gap.exchange == venue).unwrap();
        let holds = gap.start.0 <= at && at < gap.end.0;
        assert!(holds, "{venue}: {at} is not in {gap:?}");
    }
    assert!(
        gaps.iter().all(|gap| gap
            .reason
            .contains("1 missing in the exchange's own numbers")
            || gap
                .reason
                .contains("2 missing in the exchange's own numbers")),
        "{gaps:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn the_totals_of_an_exchange_are_compared_with_the_stored_orders() {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["gate"]));
    let gate = doubles.of("gate");
    let mut settings = quick();
    settings.coins = vec!["BTC".to_owned()];
    settings.backfill_hours = Some(3);
    settings.pace.poll = 2.0;
    // The last hour that is over for long enough.
    let hour = (gate.book().now() - 300_000).div_euclid(3_600_000) - 1;
    let times = [1, 1_000_000, 3_599_999].map(|at| hour * 3_600_000 + at);
    let mut happened = gate.imagine_of("BTC_USDT", times);
    happened.extend(gate.imagine_of("ETH_USDT", times));
    gate.record(&happened);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_stored(happened.len()).await;
    let total: f64 = happened
        .iter()
        .filter(|truth| truth.native_id() == "BTC_USDT")
        .map(|truth| truth.value().to_string().parse::<f64>().unwrap())
        .sum();
    let now = Millis(gate.book().now());
    collecting
        .until("both sums are reported", |_| {
            let archive = Archive::read(folder.archive()).unwrap();
            let covered = archive
                .coverage()
                .by_exchange(now.back(60_000), now.on(60_000))
                .unwrap();
            covered.iter().any(|one| {
                let theirs = one
                    .exchange_usd
                    .is_some_and(|usd| (usd - total).abs() < 0.01);
                // Of fills, which are better than the order by a fifth of a percent.
                let ours = one.compared_usd.map(|usd| (usd / total - 1.0).abs());
                theirs && ours.is_some_and(|off| off < 0.003)
            })
        })
        .await;
    collecting.stop().await;
}
