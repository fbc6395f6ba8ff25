//! Cached market lists replace refused ones, and markets that were listed since are known gaps.

use liqdata::archive::Archive;
use liqdata::collect::{CollectPlan, Settings, VenueState, VenueStatus};
use liqdata::model::Millis;

use crate::bench::{Collecting, Doubles, Folder, assert_stored, quick};
use crate::doubles::{Exchange, Limit};
use crate::market_lists::{assert_missing, now, until_covered};

/// The lists of markets of each exchange.
const LISTS: [(&str, &str); 3] = [
    ("bybit", "/v5/market/instruments-info"),
    ("okx", "/api/v5/public/instruments"),
    ("coinex", "/v2/futures/market"),
];

fn refuse(exchange: &Exchange, venue: &str) {
    let (_, path) = LISTS.into_iter().find(|(name, _)| *name == venue).unwrap();
    exchange.fault(|faults| faults.broken = vec![path.to_owned()]);
}

/// Until the lists of these exchanges are stored as they are now.
async fn stored(collecting: &Collecting, folder: &Folder, venues: &[&str]) {
    collecting
        .until("the lists are stored", |_| {
            let file = |venue: &&str| format!("state/markets-{venue}.json");
            let mut files = venues.iter().map(file);
            files.all(|file| folder.archive().join(file).exists())
        })
        .await;
}

#[tokio::test(start_paused = true)]
async fn cached_market_lists_replace_refused_ones_from_the_start() {
    let venues = ["bybit", "okx"];
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&venues));
    let plan = doubles.plan(quick());
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    stored(&collecting, &folder, &venues).await;
    let read_until = now(doubles.of("okx"));
    collecting.stop().await;
    for venue in venues {
        refuse(doubles.of(venue), venue);
    }
    let begun = now(doubles.of("okx"));
    let collecting = doubles.collect(&folder.archive(), &plan);
    let mut happened = Vec::new();
    for venue in venues {
        let is_connected = |one: &VenueStatus| {
            let all = one.sockets > 0 && one.sockets == one.sockets_wanted;
            all && one.markets_as_of.is_some()
        };
        let status = collecting.until_of(venue, "it is connected", is_connected);
        let status = status.await;
        assert_eq!(status.state, VenueState::Degraded, "{status:?}");
        assert!(status.markets_as_of.unwrap() <= read_until, "{status:?}");
        happened.extend(doubles.of(venue).liquidate(20));
    }
    collecting.until_stored(happened.len()).await;
    collecting
        .until_of("okx", "it is said", |one| {
            one.trouble
                .as_ref()
                .is_some_and(|said| said.contains("is used instead"))
        })
        .await;
    let refused_until = now(doubles.of("okx"));
    for venue in venues {
        doubles.of(venue).mend();
    }
    collecting.until_live().await;
    let lives = now(doubles.of("okx"));
    for venue in venues {
        assert_eq!(collecting.of(venue).markets_as_of, None);
        until_covered(&collecting, &folder, venue, lives).await;
    }
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
    // Markets may have been listed meanwhile.
    for venue in venues {
        assert_missing(&folder, venue, begun, refused_until);
    }
}

/// Bybit after a process that cached its lists has ended, and how many sockets that wanted.
async fn known_to_one_before(settings: Settings) -> (Folder, Doubles, CollectPlan, u64) {
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&["bybit"]));
    let plan = doubles.plan(settings);
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    stored(&collecting, &folder, &["bybit"]).await;
    let wanted = collecting.of("bybit").sockets_wanted;
    collecting.stop().await;
    (folder, doubles, plan, wanted)
}

#[tokio::test(start_paused = true)]
async fn an_empty_market_list_at_the_start_does_not_replace_the_cached_list() {
    let mut settings = quick();
    settings.pace.delist = 600.0;
    let (folder, doubles, plan, wanted) = known_to_one_before(settings).await;
    let bybit = doubles.of("bybit");
    let inverse: Vec<_> = bybit.book().of_class("inverse").collect();
    for market in inverse {
        bybit.book().withdraw(market.native_id);
    }
    let collecting = doubles.collect(&folder.archive(), &plan);
    assert_eq!(wanted, 2);
    collecting
        .until_of("bybit", "it is listened to as before", |one| {
            one.sockets == wanted && one.markets_as_of.is_some()
        })
        .await;
    collecting.stop().await;
}

#[tokio::test(start_paused = true)]
async fn cached_market_lists_are_used_during_a_cooldown() {
    let mut settings = quick();
    settings.pace.request = 0.5;
    let (folder, doubles, plan, wanted) = known_to_one_before(settings).await;
    let bybit = doubles.of("bybit");
    bybit.fault(|faults| {
        faults.rest = Some(Limit {
            status: 403,
            retry_after: Some(600),
        });
    });
    let collecting = doubles.collect(&folder.archive(), &plan);
    let status = collecting.until_of("bybit", "it is connected", |one| {
        one.sockets == wanted && one.markets_as_of.is_some()
    });
    assert_eq!(status.await.state, VenueState::Degraded);
    let happened = bybit.liquidate(20);
    collecting.until_stored(happened.len()).await;
    assert_eq!(bybit.tally().rest.last().unwrap().status, 403);
    collecting.stop().await;
    assert_stored(&folder.archive(), &happened);
}

#[tokio::test(start_paused = true)]
async fn a_market_listed_during_a_refusal_is_a_gap_for_the_next_process() {
    let venues = ["bybit", "coinex"];
    let (folder, doubles) = (Folder::new(), Doubles::in_memory(&venues));
    let mut settings = quick();
    settings.pace.instruments = 0.2;
    settings.pace.late = 0.05;
    let plan = doubles.plan(settings);
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    stored(&collecting, &folder, &venues).await;
    for venue in venues {
        let exchange = doubles.of(venue);
        let before = exchange.tally().rest.len();
        refuse(exchange, venue);
        exchange
            .until(|tally| tally.rest.iter().skip(before).any(|one| one.status == 503))
            .await;
        exchange.book().announce("NEWUSDT");
    }
    let (bybit, coinex) = (doubles.of("bybit"), doubles.of("coinex"));
    let listed = now(bybit);
    let unsubscribed = bybit.imagine_of("NEWUSDT", [listed.0]);
    bybit.publish(&unsubscribed);
    let unpolled = coinex.imagine_of("NEWUSDT", [listed.0]);
    coinex.record(&unpolled);
    collecting
        .until("it goes on so for a while", |status| {
            status.at > listed.on(600)
        })
        .await;
    collecting.stop().await;
    for venue in venues {
        doubles.of(venue).mend();
    }
    let collecting = doubles.collect(&folder.archive(), &plan);
    collecting.until_live().await;
    collecting.until_stored(unpolled.len()).await;
    let gaps_of_it = || {
        let archive = Archive::read(folder.archive()).unwrap();
        let gaps = archive
            .coverage()
            .topic_gaps(Millis(0), Millis(i64::MAX / 2), None);
        let mut gaps = gaps.unwrap();
        gaps.retain(|gap| gap.exchange == "bybit" && gap.topic.contains("NEWUSDT"));
        gaps
    };
    collecting
        .until("it is on record", |_| !gaps_of_it().is_empty())
        .await;
    collecting.stop().await;
    let gaps = gaps_of_it();
    let [gap] = gaps.as_slice() else {
        panic!("{gaps:?}");
    };
    assert!(gap.start <= listed && gap.end > listed, "{gap:?}");
    assert!(gap.topics > 5, "{gap:?}");
    assert_stored(&folder.archive(), &unpolled);
}
