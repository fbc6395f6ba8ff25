//! What is acknowledged comes back as it was.

use liqdata::archive::{Acknowledged, Archive, ArchiveError, Batch, Filter, TotalRow};
use liqdata::model::{ExactSum, Millis};
use rust_decimal::Decimal;

use crate::archive::folder::{Folder, files};
use crate::archive::rows::{START, all_orders, bar, of_orders, order, reading, sorted, sound};

fn mixed() -> Batch {
    Batch {
        orders: (0..500)
            .map(|key| order(key, START + i64::try_from(key).unwrap() * 400_000))
            .collect(),
        bars: (0..300)
            .map(|minute| bar("BTC", minute * 10, 100 + minute))
            .collect(),
        open_interest: (0..100)
            .map(|n| reading("ETH", START + n * 3_600_000))
            .collect(),
        totals: (0..4).map(total).collect(),
        ..Batch::default()
    }
}

/// The total of an hour.
fn total(hour: i64) -> TotalRow {
    let timestamp = Millis(START + hour * Millis::HOUR);
    TotalRow {
        exchange: "okx".to_owned(),
        symbol: "BTC".to_owned(),
        interval: Millis::HOUR,
        timestamp,
        long_usd: Decimal::new(hour, 3),
        short_usd: Decimal::ONE,
        received_at: timestamp.on(Millis::HOUR),
    }
}

fn check(archive: &Archive, batch: &Batch) {
    assert_eq!(all_orders(archive), sorted(batch.orders.clone()));
    let bars = sound(archive.observed_bars(&Filter::default()).unwrap());
    assert_eq!(bars, batch.bars);
    let readings = sound(archive.open_interest(&Filter::default()).unwrap());
    assert_eq!(readings, batch.open_interest);
    assert_eq!(
        sound(archive.totals(&Filter::default()).unwrap()),
        batch.totals
    );
}

#[test]
fn rows_are_read_unchanged_after_a_restart_and_a_compaction() {
    let folder = Folder::new();
    let batch = mixed();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let acknowledged = writer.append(&batch).unwrap();
    assert_eq!(
        acknowledged,
        Acknowledged {
            orders: 500,
            bars: 300,
            open_interest: 100,
            maps: 0,
            positions: 0,
            totals: 4,
            repeated: 0
        }
    );
    check(writer.archive(), &batch);
    drop(writer);

    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    check(writer.archive(), &batch);
    let rolled = writer.compact(Millis(START + 2 * Millis::DAY)).unwrap();
    assert!(rolled.rows > 0 && rolled.rows < 904, "{rolled:?}");
    check(writer.archive(), &batch);
    let rest = writer.compact(Millis(START + 100 * Millis::DAY)).unwrap();
    assert_eq!(rolled.rows + rest.rows, 904);
    check(writer.archive(), &batch);
    drop(writer);

    let reader = Archive::read(folder.archive()).unwrap();
    check(&reader, &batch);
    let verified = reader.integrity().verify().unwrap();
    assert!(verified.is_sound(), "{verified:?}");
    assert_eq!(verified.rows, 904);
    assert!(verified.unlisted.is_empty());
}

#[test]
fn the_tree_is_laid_out_for_other_engines() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&mixed()).unwrap();
    let rolled = writer.compact(Millis(START + 100 * Millis::DAY)).unwrap();
    let mut parts = rolled.parts.clone();
    parts.sort();
    assert_eq!(parts, files(&folder.archive(), "parquet"));
    let folders: std::collections::BTreeSet<String> = parts
        .iter()
        .map(|path| {
            let folder_of = path.parent().unwrap().strip_prefix(folder.archive());
            folder_of.unwrap().to_str().unwrap().to_owned()
        })
        .collect();
    assert!(folders.contains("orders/date=2024-10-04"), "{folders:?}");
    assert!(folders.contains("bars/interval=1m/date=2024-10-04"));
    assert!(folders.contains("open_interest/date=2024-10-04"));
    assert!(folders.contains("totals/interval=1h/date=2024-10-04"));
    assert!(files(&folder.archive(), "tmp").is_empty());
}

#[test]
fn a_file_has_exact_decimals_instants_in_utc_and_plain_text() {
    use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let batch = of_orders(mixed().orders);
    writer.append(&batch).unwrap();
    writer.compact(Millis(START + 100 * Millis::DAY)).unwrap();
    let mut sum = 0_i128;
    for path in files(&folder.archive(), "parquet") {
        let file = std::fs::File::open(path).unwrap();
        let reader = ParquetRecordBatchReaderBuilder::try_new(file).unwrap();
        let types: Vec<String> = reader
            .schema()
            .fields()
            .iter()
            .map(|field| format!("{} {}", field.name(), field.data_type()))
            .collect();
        assert!(
            types.contains(&"price Decimal128(38, 18)".to_owned()),
            "{types:?}"
        );
        assert!(
            types.contains(&"timestamp Timestamp(ms, \"UTC\")".to_owned()),
            "{types:?}"
        );
        assert!(types.contains(&"symbol Utf8".to_owned()), "{types:?}");
        for batch in reader.build().unwrap() {
            let batch = batch.unwrap();
            let values = batch.column_by_name("value_usd").unwrap();
            let values = values
                .as_any()
                .downcast_ref::<arrow_array::Decimal128Array>()
                .unwrap();
            sum += values.iter().flatten().sum::<i128>();
        }
    }
    let mut expected = ExactSum::default();
    for row in &batch.orders {
        expected.add(row.order.value_usd);
    }
    assert_eq!(
        Decimal::try_from_i128_with_scale(sum, 18).unwrap(),
        expected.decimal()
    );
}

#[test]
fn a_repeated_row_stays_unchanged() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let batch = mixed();
    writer.append(&batch).unwrap();
    let again = writer.append(&batch).unwrap();
    assert_eq!(
        again,
        Acknowledged {
            repeated: 904,
            ..Acknowledged::default()
        }
    );
    let mut later = order(3, batch.orders[3].order.timestamp.0);
    later.received_at = Millis(START + 50 * Millis::DAY);
    let within = of_orders(vec![later.clone(), order(9999, START), order(9999, START)]);
    let acknowledged = writer.append(&within).unwrap();
    assert_eq!((acknowledged.orders, acknowledged.repeated), (1, 2));
    let mut expected = batch.orders.clone();
    expected.push(order(9999, START));
    assert_eq!(all_orders(writer.archive()), sorted(expected.clone()));

    // And once more after everything lies in files.
    writer.compact(Millis(START + 100 * Millis::DAY)).unwrap();
    let before = files(&folder.archive(), "parquet");
    writer.append(&batch).unwrap();
    writer.append(&of_orders(vec![later])).unwrap();
    assert_eq!(all_orders(writer.archive()), sorted(expected.clone()));
    let rolled = writer.compact(Millis(START + 100 * Millis::DAY)).unwrap();
    assert_eq!((rolled.rows, rolled.repeated), (0, 904));
    assert_eq!(files(&folder.archive(), "parquet"), before);
    check(
        writer.archive(),
        &Batch {
            orders: expected,
            ..batch
        },
    );
}

#[test]
fn a_late_row_of_a_compacted_day_gets_its_own_file() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let mut rows: Vec<_> = (0..10).map(|key| order(key, START + 5)).collect();
    writer.append(&of_orders(rows.clone())).unwrap();
    let end = Millis(START + Millis::DAY);
    assert_eq!(writer.compact(end).unwrap().parts.len(), 1);
    rows.push(order(10, START + 6));
    writer.append(&of_orders(rows.clone())).unwrap();
    assert_eq!(all_orders(writer.archive()), sorted(rows.clone()));
    let rolled = writer.compact(end).unwrap();
    assert_eq!((rolled.rows, rolled.repeated), (1, 10));
    assert_eq!(all_orders(writer.archive()), sorted(rows));
}

#[test]
fn a_heavy_day_has_files_for_each_exchange() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let rows: Vec<_> = (0..50_001)
        .map(|key| order(key, START + i64::try_from(key).unwrap()))
        .collect();
    writer.append(&of_orders(rows.clone())).unwrap();
    let rolled = writer.compact(Millis(START + Millis::DAY)).unwrap();
    assert_eq!((rolled.parts.len(), rolled.rows), (3, 50_001));
    assert_eq!(all_orders(writer.archive()), sorted(rows));
    let one = Filter {
        exchange: Some("okx".to_owned()),
        ..Filter::default()
    };
    let found = sound(writer.archive().orders(&one).unwrap());
    assert_eq!(found.len(), 50_001 / 3);
    assert!(found.iter().all(|row| row.order.exchange == "okx"));
}

#[test]
fn a_value_that_would_be_rounded_rejects_its_whole_batch() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let mut fine = order(1, START);
    fine.order.qty = "0.0000000000000000001".parse().unwrap();
    let refused = writer
        .append(&of_orders(vec![order(0, START), fine]))
        .unwrap_err();
    let ArchiveError::BadRow {
        table,
        column,
        row,
        message,
    } = &refused
    else {
        panic!("{refused}");
    };
    assert_eq!((*table, *column, *row), ("orders", "qty", 1));
    assert!(message.contains("19 decimals"), "{message}");
    assert!(all_orders(writer.archive()).is_empty());

    // The finest and the largest that can be kept.
    let mut edge = order(2, START);
    edge.order.price = "99999999999999999999".parse().unwrap();
    edge.order.qty = "9999999999.999999999999999999".parse().unwrap();
    edge.order.value_usd = "0.000000000000000001".parse().unwrap();
    writer.append(&of_orders(vec![edge.clone()])).unwrap();
    assert_eq!(all_orders(writer.archive()), [edge.clone()]);
    writer.compact(Millis(START + Millis::DAY)).unwrap();
    assert_eq!(all_orders(writer.archive()), [edge]);
}

#[test]
fn an_invalid_row_is_refused_by_name() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let mut cases = Vec::new();
    let mut blank = order(0, START);
    blank.dedupe_key = " ".to_owned();
    cases.push((of_orders(vec![blank]), "dedupe_key"));
    let mut endless = order(0, START);
    endless.order.symbol = "X".repeat(257);
    cases.push((of_orders(vec![endless]), "symbol"));
    let mut free = order(0, START);
    free.order.price = Decimal::ZERO;
    cases.push((of_orders(vec![free]), "price"));
    let mut priceless = order(0, START);
    priceless.order.value_usd = "1000000000000.01".parse().unwrap();
    cases.push((of_orders(vec![priceless]), "value_usd"));
    cases.push((of_orders(vec![order(0, -1)]), "timestamp"));
    let mut upside_down = bar("BTC", 0, 100);
    upside_down.high = 98.into();
    let of_bars = |bar| Batch {
        bars: vec![bar],
        ..Batch::default()
    };
    cases.push((of_bars(upside_down), "open"));
    let mut odd = bar("BTC", 0, 100);
    odd.interval = 7 * Millis::MINUTE;
    cases.push((of_bars(odd), "interval"));
    let mut shifted = bar("BTC", 0, 100);
    shifted.timestamp = Millis(START + 1);
    cases.push((of_bars(shifted), "timestamp"));
    for (batch, name) in cases {
        match writer.append(&batch).unwrap_err() {
            ArchiveError::BadRow { column, .. } => assert_eq!(column, name),
            other => panic!("{other}"),
        }
    }
}
