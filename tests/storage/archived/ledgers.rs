//! The ledger of an archive: it starts at checkpoints, which are stored in files, and late rows drop them.

use std::fs;
use std::path::Path;

use liqdata::archive::{Archive, BarRow, Batch};
use liqdata::contract::{Heatmap, Liqmap, RawModel};
use liqdata::engine::Observations;
use liqdata::market::{Market, MarketQuery};
use liqdata::model::Millis;
use rust_decimal::Decimal;

use crate::archive::folder::Folder;
use crate::archived::world::{START, bar, order, reading};

const DAYS: i64 = 130;
const HOURS: i64 = 24 * DAYS;

fn hour(hour: i64) -> BarRow {
    let received = START + (hour + 1) * Millis::HOUR + 900;
    let bar = bar("binance", hour * 60, received);
    BarRow {
        interval: Millis::HOUR,
        high: bar.high + Decimal::from(150),
        low: bar.low - Decimal::from(150),
        ..bar
    }
}

/// Months of hours, without the bars of `missing`.
fn months(missing: &[i64]) -> Batch {
    let at = |hour: i64| START + hour * Millis::HOUR;
    Batch {
        bars: (0..HOURS)
            .filter(|one| !missing.contains(one))
            .map(hour)
            .collect(),
        open_interest: (0..=HOURS)
            .map(|hour| reading("okx", hour * 60, at(hour)))
            .collect(),
        orders: (0..HOURS / 3)
            .map(|place| {
                // Longs and shorts of BTC alone.
                let key = u64::try_from(place).unwrap() % 2 + 6 * u64::try_from(place).unwrap();
                order(key, at(3 * place) + 600_000, at(3 * place) + 600_250)
            })
            .collect(),
        ..Batch::default()
    }
}

fn reply<E: MarketQuery>(market: &Market, question: &E, as_of: Option<Millis>) -> String {
    let answered = market.answer(question, as_of).unwrap();
    serde_json::to_string(&answered.reply).unwrap()
}

fn heatmap(range: &str, model: u8) -> Heatmap {
    Heatmap::new("BTC", range, RawModel::Number(model.into()), None).unwrap()
}

fn map(model: u8) -> Liqmap {
    Liqmap::new(
        "BTC",
        "all",
        Some(RawModel::Number(model.into())),
        None,
        None,
    )
    .unwrap()
}

/// Estimates of all open positions, now and as of two instants.
fn estimates(market: &Market) -> Vec<String> {
    let now = market.now();
    let mut made = Vec::new();
    for as_of in [
        None,
        Some(now.back(3 * Millis::DAY)),
        Some(now.back(50 * Millis::DAY + 1)),
    ] {
        for (range, model) in [("24h", 2), ("7d", 2), ("1M", 2), ("24h", 3)] {
            made.push(reply(market, &heatmap(range, model), as_of));
        }
        for model in [2, 3] {
            made.push(reply(market, &map(model), as_of));
        }
    }
    made.push(reply(market, &heatmap("3M", 2), None));
    made
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let Ok(entries) = fs::read_dir(folder.join("ledger")) else {
        return Vec::new();
    };
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_ledger_from_checkpoints_equals_a_full_replay() {
    let folder = Folder::new();
    let batch = months(&[]);
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&batch).unwrap();
    writer.compact(Millis(START + DAYS * Millis::DAY)).unwrap();

    let bars = batch.bars.iter().cloned().map(Into::into).collect();
    let readings = batch
        .open_interest
        .iter()
        .cloned()
        .map(Into::into)
        .collect();
    let tables = Observations::new(Vec::new(), bars, readings, None).unwrap();
    let tables = Market::fixed(tables, "tables");
    let market = Market::open(folder.archive(), None).unwrap();
    for range in ["24h", "7d", "1M", "3M", "all"] {
        assert_eq!(
            reply(&market, &heatmap(range, 2), None),
            reply(&tables, &heatmap(range, 2), None),
            "{range}"
        );
    }
    let wanted = estimates(&market);
    assert_eq!(reply(&market, &map(2), None), reply(&tables, &map(2), None));
    assert_eq!(estimates(&market), wanted);

    // Files of an earlier process, no files, and damaged files.
    assert!(files(Path::new(&folder.archive())).len() >= 6);
    let again = || estimates(&Market::open(folder.archive(), None).unwrap());
    assert_eq!(again(), wanted);
    for file in files(Path::new(&folder.archive())) {
        let mut bytes = fs::read(&file).unwrap();
        let place = bytes.len() / 2;
        bytes[place] ^= 1;
        fs::write(&file, bytes).unwrap();
    }
    assert_eq!(again(), wanted);
    fs::remove_dir_all(folder.archive().join("ledger")).unwrap();
    assert_eq!(again(), wanted);
    assert!(
        market
            .archive()
            .unwrap()
            .integrity()
            .verify()
            .unwrap()
            .is_sound()
    );
}

#[test]
fn late_rows_drop_the_checkpoints_after_them() {
    let folder = Folder::new();
    let missing = [40 * 24, 40 * 24 + 1, 40 * 24 + 2];
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&months(&missing)).unwrap();
    writer.compact(Millis(START + DAYS * Millis::DAY)).unwrap();
    let market = Market::open(folder.archive(), None).unwrap();
    let before = estimates(&market);
    let earlier = reply(&market, &map(2), Some(Millis(START + 40 * Millis::DAY)));

    let received_at = Millis(START + DAYS * Millis::DAY);
    let bars = missing.map(|place| BarRow {
        received_at,
        ..hour(place)
    });
    writer
        .append(&Batch {
            bars: bars.to_vec(),
            ..Batch::default()
        })
        .unwrap();
    let after = estimates(&market);
    assert_ne!(after[0], before[0]);
    let fresh = Market::open(folder.archive(), None).unwrap();
    assert_eq!(estimates(&fresh), after);
    // As of an instant before the receipt, nothing has changed.
    assert_eq!(after[6..18], before[6..18]);
    assert_eq!(
        reply(&market, &map(2), Some(Millis(START + 40 * Millis::DAY))),
        earlier
    );
    writer.compact(Millis(START + DAYS * Millis::DAY)).unwrap();
    let compacted = Market::open(folder.archive(), None).unwrap();
    assert_eq!(estimates(&compacted), after);
    assert_eq!(estimates(&market), after);
}
