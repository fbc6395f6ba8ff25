//! Garbage and changed messages of every venue: each costs only its own rows.

use std::time::Duration;

use crate::bench::{Doubles, Folder, assert_stored, content_of, orders, true_of};
use crate::doubles::{Act, Garbage, dialect};
use crate::venue_faults::{SOCKETS, quick};

/// Whether the connection cannot go on after it.
fn is_fatal(garbage: Garbage) -> bool {
    match garbage {
        Garbage::InvalidUtf8 | Garbage::Huge | Garbage::HugeHead | Garbage::BadOpcode => true,
        Garbage::Binary | Garbage::TruncatedJson | Garbage::Alien => false,
    }
}

#[tokio::test(start_paused = true)]
async fn an_invalid_message_of_every_exchange_is_counted_once() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&SOCKETS);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for garbage in [
        Garbage::Binary,
        Garbage::TruncatedJson,
        Garbage::Alien,
        Garbage::InvalidUtf8,
        Garbage::BadOpcode,
        Garbage::HugeHead,
    ] {
        let before = collecting.status();
        for exchange in doubles.exchanges().values() {
            assert!(exchange.act_on(exchange.tally().sockets.len() - 1, Act::Garbage(garbage)));
        }
        collecting
            .until(&format!("{garbage:?} is counted everywhere"), |status| {
                let venues = status.venues.iter().zip(&before.venues);
                venues.into_iter().all(|(now, before)| {
                    now.rejected > before.rejected && (!is_fatal(garbage) || now.gaps > before.gaps)
                })
            })
            .await;
        let after = collecting.until_live().await;
        for (now, before) in after.venues.iter().zip(&before.venues) {
            let (counted, gaps) = (now.rejected - before.rejected, now.gaps - before.gaps);
            let expected = (1, u64::from(is_fatal(garbage)));
            assert_eq!((counted, gaps), expected, "{garbage:?}: {now:?}");
        }
        for exchange in doubles.exchanges().values() {
            happened.extend(exchange.liquidate(3));
        }
        collecting.until_stored(happened.len()).await;
    }
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

/// Venues with named members in their rows, and a member that every row needs.
const NEEDED: [(&str, &str); 14] = [
    ("binance", "z"),
    ("bybit", "v"),
    ("okx", "bkPx"),
    ("gate", "size"),
    ("bitget", "price"),
    ("htx", "direction"),
    ("aster", "S"),
    ("deribit", "amount"),
    ("kraken", "price"),
    ("dydx", "size"),
    ("lighter", "usd_amount"),
    ("lighter_rh", "price"),
    ("pacifica", "a"),
    ("extended", "q"),
];

#[tokio::test(start_paused = true)]
async fn new_members_of_every_exchange_are_ignored_and_missing_ones_lose_only_their_rows() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&NEEDED.map(|(venue, _)| venue));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        exchange.fault(|faults| faults.new_field = true);
        happened.extend(exchange.liquidate(20));
        exchange.drained().await;
        exchange.mend();
    }
    collecting.until_stored(happened.len()).await;
    assert!(
        collecting
            .status()
            .venues
            .iter()
            .all(|one| one.rejected == 0)
    );
    for (venue, needed) in NEEDED {
        let exchange = doubles.of(venue);
        exchange.fault(|faults| faults.removed_field = Some(needed.to_owned()));
        exchange.liquidate(6);
        exchange.drained().await;
        exchange.mend();
        happened.extend(exchange.liquidate(20));
    }
    let status = collecting.until_stored(happened.len()).await;
    for one in &status.venues {
        assert_eq!(
            (one.rejected, one.gaps),
            (6, 0),
            "six rows and no connection: {one:?}"
        );
    }
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn rows_of_an_unlisted_market_wait_and_delay_no_other_market() {
    let unknown = [
        ("binance", "NEWUSD_PERP"),
        ("okx", "NEW-USDT-SWAP"),
        ("gate", "NEW_USD"),
        ("htx", "NEW-USD"),
    ];
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&unknown.map(|(venue, _)| venue));
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for (venue, unknown) in unknown {
        let exchange = doubles.of(venue);
        let now = exchange.book().now();
        let new = exchange.imagine_of(unknown, [now, now, now + 1]);
        exchange.publish(&new);
        collecting
            .until_of(venue, "the rows are pending", |one| one.pending == 3)
            .await;
        happened.extend(exchange.liquidate(20));
        collecting.until_stored(happened.len()).await;
        assert_eq!(
            collecting.of(venue).pending,
            3,
            "they wait, none is guessed at"
        );
        exchange.book().announce(unknown);
        happened.extend(new);
        collecting.until_stored(happened.len()).await;
        let status = collecting
            .until_of(venue, "none is pending", |one| one.pending == 0)
            .await;
        assert_eq!((status.rejected, status.unpriced), (0, 0), "{status:?}");
    }
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn a_market_that_is_listed_later_is_subscribed() {
    let later = [
        ("bybit", "NEWUSDT"),
        ("kraken", "PF_NEWUSD"),
        ("dydx", "NEW-USD"),
        ("lighter", "77"),
        ("pacifica", "NEW"),
    ];
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&later.map(|(venue, _)| venue));
    let mut settings = quick();
    settings.pace.instruments = 0.5;
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(settings));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for (venue, native_id) in later {
        let exchange = doubles.of(venue);
        exchange.book().announce(native_id);
        let market = exchange.book().market(native_id).unwrap();
        let topics = dialect(venue).unwrap().topics(market);
        exchange
            .until(|tally| {
                tally
                    .subscribed
                    .iter()
                    .any(|(_, topic)| topics.contains(topic))
            })
            .await;
        let now = exchange.book().now();
        let new = exchange.imagine_of(native_id, [now, now + 1]);
        exchange.publish(&new);
        happened.extend(new);
    }
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}

#[tokio::test(start_paused = true)]
async fn a_row_that_arrives_eight_minutes_late_has_its_event_time() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&["okx"]);
    let exchange = doubles.of("okx");
    exchange.fault(|faults| {
        faults
            .gone
            .push("/api/v5/public/liquidation-orders".to_owned());
    });
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let late = exchange.book().now() - 8 * 60_000;
    let happened = exchange.liquidate_at([late, late + 90_000]);
    collecting.until_stored(2).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
    let rows = orders(&archive);
    assert!(
        rows.iter()
            .all(|row| row.received_at.0 >= late + 8 * 60_000),
        "{rows:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn an_order_of_gate_over_socket_and_rest_is_one_order() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&["gate"]);
    let exchange = doubles.of("gate");
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let sent = exchange.liquidate(20);
    collecting.until_stored(20).await;
    collecting.stop().await;
    // REST reports those and some that were not sent, with the price of the fill and whole seconds.
    let unsent = exchange.imagine(std::iter::repeat_n(exchange.book().now(), 15));
    exchange.record(&unsent);
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_stored(15).await;
    let archive = folder.archive();
    collecting.stop().await;
    let rows = orders(&archive);
    assert_eq!(rows.len(), 35);
    let dialect = dialect("gate").unwrap();
    let stored: Vec<_> = rows.iter().map(content_of).collect();
    for truth in sent.iter().chain(&unsent) {
        let ways = [true_of(truth), true_of(&dialect.reported_by_rest(truth))];
        assert_eq!(
            stored.iter().filter(|row| ways.contains(row)).count(),
            1,
            "{truth:?}"
        );
    }
}

#[tokio::test(start_paused = true)]
async fn slow_exchanges_lose_nothing() {
    let folder = Folder::new();
    let doubles = Doubles::in_memory(&SOCKETS);
    for exchange in doubles.exchanges().values() {
        exchange.fault(|faults| faults.slow = Some(Duration::from_millis(20)));
    }
    let collecting = doubles.collect(&folder.archive(), &doubles.plan(quick()));
    collecting.until_live().await;
    let mut happened = Vec::new();
    for exchange in doubles.exchanges().values() {
        happened.extend(exchange.liquidate(30));
    }
    collecting.until_stored(happened.len()).await;
    let archive = folder.archive();
    collecting.stop().await;
    assert_stored(&archive, &happened);
}
