//! Checks the pages about the exchanges and the settings against the code.

use std::collections::{BTreeMap, BTreeSet};

use liqdata::collect::Settings;
use liqdata::feeds::{Control, Instrument, LifeSign, Listing, PriceKind, VENUES, Venue};
use liqdata::model::{Millis, Vocabulary};

const PAGE: &str = concat!(
    include_str!("../../../docs/reference/feeds.md"),
    include_str!("../../../docs/reference/collecting.md"),
    include_str!("../../../docs/dev/exchange-facts.md")
);

/// The page's words, wherever its lines break.
fn words() -> String {
    PAGE.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// More markets than one connection of any venue takes.
fn many() -> Vec<Listing> {
    let instrument = Instrument::read("COIN", "USDC", "linear", "1").unwrap();
    let of = |number: u32| Listing {
        native_id: number.to_string(),
        instrument: instrument.clone(),
        perpetual: true,
        trading: true,
    };
    (0..250).map(of).collect()
}

/// Text from `start` to the next blank line.
fn paragraph<'a>(text: &'a str, start: &str) -> &'a str {
    let (_, text) = text.split_once(start).expect(start);
    text.split("\n\n").next().unwrap_or_default()
}

#[test]
fn pages_about_all_exchanges_name_each() {
    let paragraphs = [
        paragraph(
            include_str!("../../../python/liqdata/feeds.py"),
            "exchange : str\n",
        ),
        paragraph(PAGE, "| exchange |"),
    ];
    for venue in VENUES {
        let name = format!("`{}`", venue.name());
        assert!(paragraphs.iter().all(|text| text.contains(&name)), "{name}");
    }
}

/// The cells of the page's rows about a venue, in the order of its tables.
fn rows_of(venue: &Venue) -> Vec<Vec<String>> {
    let starts = [" |", ","].map(|end| format!("| `{}`{end}", venue.name()));
    PAGE.lines()
        .filter(|line| starts.iter().any(|start| line.starts_with(start)))
        .map(|line| line.split('|').map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

#[test]
fn the_tables_of_the_page_agree_with_every_exchange() {
    for venue in VENUES {
        let name = venue.name();
        let rows = rows_of(venue);
        // Nothing connects to an exchange that closed.
        let (read, connected) = match (rows.as_slice(), venue.closed()) {
            ([read, connected], None) => (read, Some(connected)),
            ([read], Some(closed)) => {
                let (day, _) = closed.split_once(' ').unwrap();
                assert!(words().contains(day), "{name}: {closed}");
                (read, None)
            }
            _ => panic!("{name}: {rows:?}"),
        };
        let complete = venue.completeness().name();
        assert!(read[3].starts_with(complete), "{name}: {read:?}");
        let listed: Vec<&str> = PriceKind::ALL
            .iter()
            .map(|kind| kind.name())
            .filter(|kind| read[5].contains(&format!("`{kind}`")))
            .collect();
        let mut kinds: Vec<&str> = venue.price_kinds().iter().map(|kind| kind.name()).collect();
        kinds.sort_by_key(|kind| listed.iter().position(|one| one == kind));
        assert_eq!(listed, kinds, "{name}: {read:?}");
        let Some(connected) = connected else { continue };
        assert_eq!(
            connected[2].starts_with("none"),
            venue.is_polled(),
            "{name}"
        );
        let signs = venue.heartbeat().signs;
        for (sign, words) in [
            (LifeSign::Pong, "pong within"),
            (LifeSign::Ping, "their ping within"),
            (LifeSign::Control, "; "),
        ] {
            let within = signs.iter().find(|(known, _)| *known == sign);
            let is_stated = connected[3].contains(words);
            assert_eq!(
                is_stated,
                within.is_some() && !venue.is_polled(),
                "{name} {sign:?}"
            );
            if let Some((_, most)) = within.filter(|_| is_stated) {
                let seconds = format!("{} s", most.as_secs());
                assert!(connected[3].contains(&seconds), "{name}: {connected:?}");
            }
        }
        let back = venue.look_back();
        assert_eq!(
            connected[4] == "not possible",
            back == 0,
            "{name}: {connected:?}"
        );
        // Only exchanges without a backfill have redundant connections.
        let is_lost = back == 0 && !venue.is_polled();
        assert_eq!(
            venue.redundant_connections(),
            if is_lost { 2 } else { 1 },
            "{name}"
        );
        assert_eq!(
            connected[2].contains("twice"),
            is_lost,
            "{name}: {connected:?}"
        );
        if let Some((days, _)) = connected[4].split_once(" days") {
            assert_eq!(days.parse::<i64>().unwrap() * Millis::DAY, back, "{name}");
        }
        if let Some((most, _)) = connected[2].split_once(" markets each") {
            let lines = venue.lines(&many());
            let markets: Vec<usize> = lines.iter().map(|line| line.topics().count()).collect();
            assert_eq!(markets.first(), most.parse().ok().as_ref(), "{name}");
        }
        let has_history = ["binance", "bybit", "okx"].contains(&name);
        assert_eq!(
            !connected[5].is_empty(),
            has_history,
            "{name}: {connected:?}"
        );
        assert_eq!(venue.open_interest_look_back() > 0, has_history, "{name}");
    }
}

#[test]
fn exchanges_that_cut_connections_at_24_hours_are_rotated_at_23() {
    let page = words();
    let (text, _) = page
        .split_once("cut connections at 24 hours: at 23")
        .unwrap();
    let names = text.rsplit("**").nth(1).unwrap().to_lowercase();
    for venue in VENUES {
        let hours = venue.rotation().map(|after| after.as_secs() / 3600);
        assert_eq!(names.contains(venue.name()), hours == Some(23), "{hours:?}");
    }
}

/// The exchanges in the first column of the table under a heading.
fn listed_under(heading: &str) -> BTreeSet<String> {
    let (_, text) = PAGE.split_once(heading).unwrap();
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("|---"))
        .skip(1)
        .take_while(|line| line.starts_with('|'));
    let cells = rows.filter_map(|row| row.split('|').nth(1));
    let names = cells.flat_map(|cell| cell.trim().split(", "));
    let spelled = names.map(|name| match name {
        "on Robinhood Chain" => "lighter_rh".to_owned(),
        name => name.to_lowercase(),
    });
    spelled.collect()
}

#[test]
fn the_page_lists_the_exchanges_with_control_streams_and_with_prices() {
    let markets = many();
    let of = |is_one: &dyn Fn(&Venue) -> bool| -> BTreeSet<String> {
        let venues = VENUES.iter().filter(|venue| is_one(venue));
        venues.map(|venue| venue.name().to_owned()).collect()
    };
    let is_controlled = |venue: &Venue| {
        let lines = venue.lines(&markets);
        lines.iter().any(|line| line.control != Control::None)
    };
    assert_eq!(listed_under("## What is never silent"), of(&is_controlled));
    let has_prices = |venue: &Venue| venue.lists_prices() || !venue.price_requests().is_empty();
    assert_eq!(listed_under("## The exchange's own price"), of(&has_prices));
}

#[test]
fn the_page_states_how_far_back_each_exchange_reports() {
    let page = words();
    let (_, text) = page.split_once("the exchange remembers (").unwrap();
    let (text, _) = text.split_once(')').unwrap();
    let mut days: BTreeMap<String, i64> = BTreeMap::new();
    for together in text.replace(" days", "").split("; ") {
        let (names, number) = together.rsplit_once(' ').unwrap();
        for name in names.split(", ") {
            days.insert(name.to_lowercase(), number.parse().unwrap());
        }
    }
    let limits = VENUES.iter().filter(|venue| venue.look_back() > 0);
    let limits = limits.map(|venue| (venue.name().to_owned(), venue.look_back() / Millis::DAY));
    assert_eq!(days, limits.collect());
}

#[test]
fn the_page_states_how_late_each_exchange_may_report() {
    assert!(words().contains("(OKX: eight minutes, the others: half a minute;"));
    for venue in VENUES.iter().filter(|venue| venue.look_back() > 0) {
        let late = if venue.name() == "okx" {
            8 * Millis::MINUTE
        } else {
            30_000
        };
        assert_eq!(venue.late(), late, "{}", venue.name());
    }
}

/// The TOML of a page.
fn toml_of(page: &str) -> &str {
    let (_, toml) = page.split_once("```toml\n").unwrap();
    toml.split("```").next().unwrap()
}

#[test]
fn the_settings_on_the_pages_are_the_defaults() {
    let mut stated = Settings::read(toml_of(PAGE)).unwrap();
    let bybit = stated.exchanges.remove("bybit").unwrap();
    assert!(bybit.proxy.is_some() && bybit.hosts.len() == 2 && bybit.paths.len() == 1);
    assert!(stated.exchanges.is_empty());
    let default = Settings::default();
    let coins = "the history of BTC, ETH, SOL, XRP, DOGE and BNB";
    assert!(words().contains(coins));
    let named = default.coins.join(", ");
    assert_eq!(
        coins.replace(" and ", ", "),
        format!("the history of {named}")
    );
    assert_eq!(stated.coins, default.coins[..3]);
    stated.coins.clone_from(&default.coins);
    assert_eq!(stated, default);
    let positions = Settings::read(toml_of(include_str!(
        "../../../docs/explanation/positions.md"
    )))
    .unwrap();
    assert_eq!(positions, default);
}

#[test]
fn durations_and_limits_on_the_page_equal_the_settings() {
    const HOUR: f64 = 3600.0;
    let said = words();
    let all = Settings::default();
    let pace = all.pace;
    for (text, set, meant) in [
        ("then the new bars each minute", pace.bars, 60.0),
        ("the new open interest each five minutes", pace.poll, 300.0),
        ("a random wait of up to 1 s,", pace.retry_first, 1.0),
        ("which doubles up to 60 s", pace.retry_most, 60.0),
        ("starts again after 60 healthy seconds", pace.healthy, 60.0),
        (
            "for 40 seconds does not report what the other reported (`stale_connection`",
            pace.stale_connection,
            40.0,
        ),
        (
            "Binance is silent for ten minutes",
            pace.stale_exchange,
            600.0,
        ),
        (
            "closed two seconds after the new one is subscribed (`overlap`",
            pace.overlap,
            2.0,
        ),
        (
            "the markets are read again (every hour,",
            pace.instruments,
            HOUR,
        ),
        (
            "every 30 s while a multiplier is missing)",
            pace.instruments_least,
            30.0,
        ),
        (
            "is missing). It waits ten minutes at most",
            pace.pending,
            600.0,
        ),
        ("for six hours (`delist`", pace.delist, 6.0 * HOUR),
        ("more than a minute ahead", pace.ahead, 60.0),
        ("more than a day ago (`ahead`", pace.oldest, 24.0 * HOUR),
    ] {
        assert!(said.contains(text), "{text}");
        assert!((set - meant).abs() < f64::EPSILON, "{text}: {set}");
    }
    assert!(said.contains("`backfill_requests` (10,000)") && all.backfill_requests == 10_000);
    assert!(said.contains("up to 64 MB;") && all.dead_letter_bytes == 64 << 20);
    assert!(said.contains("(65,536 rows)") && all.queue_rows == 65_536);
    assert!(said.contains("for 30 days and up to 2 GiB") && all.raw_bytes == 2 << 30);
}
