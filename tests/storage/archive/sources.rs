//! Orders of several sources: each is stored once, by count, whichever source comes first.

use liqdata::archive::{
    Acknowledged, Archive, ImportOutcome, ImportScope, IngestOrigin, OrderRow, Tables, Writer,
};
use liqdata::model::Millis;

use crate::archive::folder::Folder;
use crate::archive::rows::{START, all_orders, of_orders, order, order_table};
use crate::archive::undo::origin;

const LATER: i64 = START + Millis::DAY;
/// The first day is over.
const UNTIL: Millis = Millis(LATER);

/// An order as another source has it: its key is not the exchange's, and the price is of an unknown kind.
fn elsewhere(row: &OrderRow, number: usize) -> OrderRow {
    OrderRow {
        dedupe_key: format!("tardis|{}|{number}", row.order.timestamp.0),
        price_kind: "unknown".to_owned(),
        native_id: Some(row.order.symbol.clone()),
        raw: None,
        group_id: None,
        ..row.clone()
    }
}

fn import(writer: &mut Writer, rows: &[OrderRow], origin: &IngestOrigin) -> ImportOutcome {
    let tables = Tables {
        orders: order_table(rows),
        ..Tables::default()
    };
    let scope = ImportScope {
        sessions: &[],
        until: UNTIL,
        ingest: Some(origin),
    };
    writer.import(tables, scope, &mut |_| true).unwrap().0
}

fn collect(writer: &mut Writer, rows: &[OrderRow]) -> Acknowledged {
    writer.append(&of_orders(rows.to_vec())).unwrap()
}

fn keys(writer: &Writer) -> Vec<String> {
    let mut keys: Vec<String> = all_orders(writer.archive())
        .into_iter()
        .map(|row| row.dedupe_key)
        .collect();
    keys.sort();
    keys
}

#[test]
fn an_order_that_a_file_had_first_is_not_collected_again_and_outlives_its_undo() {
    for compacts in [false, true] {
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        // One order in a segment, one in the journal, and one that is only in the file.
        let [filed, journaled, alone] =
            [(1, START + 5), (2, LATER + 5), (3, START + 9)].map(|(key, at)| order(key, at));
        let rows: Vec<OrderRow> = [&filed, &journaled, &alone]
            .map(|row| elsewhere(row, 1))
            .to_vec();
        let ingest = origin("file");
        assert_eq!(import(&mut writer, &rows, &ingest).new, 3);
        let stored = keys(&writer);
        for _ in 0..2 {
            let collected = collect(&mut writer, &[filed.clone(), journaled.clone()]);
            assert_eq!((collected.orders, collected.repeated), (0, 2));
            assert_eq!(keys(&writer), stored);
        }
        if compacts {
            writer.compact(Millis(START + 9 * Millis::DAY)).unwrap();
            assert_eq!(keys(&writer), stored);
        }
        writer.undo(&ingest.id).unwrap();
        let left: Vec<Millis> = all_orders(writer.archive())
            .iter()
            .map(|row| row.order.timestamp)
            .collect();
        assert_eq!(left, [filed.order.timestamp, journaled.order.timestamp]);
        let collected = collect(&mut writer, &[filed, journaled, alone]);
        assert_eq!((collected.orders, collected.repeated), (1, 2));
        assert!(writer.archive().integrity().verify().unwrap().is_sound());
    }
}

#[test]
fn equal_orders_of_two_sources_are_matched_by_count() {
    for at in [START + 5, LATER + 5] {
        for (collected, filed) in [(1, 1), (1, 2), (2, 1), (2, 2), (0, 2), (3, 2)] {
            for file_first in [false, true] {
                let folder = Folder::new();
                let mut writer = Archive::create_or_open(folder.archive()).unwrap();
                let own = |number: usize| OrderRow {
                    dedupe_key: format!("bybit|{at}|{number}"),
                    ..order(1, at)
                };
                let own: Vec<OrderRow> = (0..collected).map(own).collect();
                let other: Vec<OrderRow> = (0..filed)
                    .map(|number| elsewhere(&order(1, at), number))
                    .collect();
                let ingest = origin("file");
                for step in 0..4 {
                    if (step % 2 == 0) == file_first {
                        import(&mut writer, &other, &ingest);
                    } else {
                        collect(&mut writer, &own);
                    }
                }
                let said = format!("{at} {collected} {filed} {file_first}");
                assert_eq!(keys(&writer).len(), collected.max(filed), "{said}");
                // A third source has as many as both together.
                let third: Vec<OrderRow> = (0..collected.max(filed))
                    .map(|number| OrderRow {
                        dedupe_key: format!("mine{number}"),
                        ..order(1, at)
                    })
                    .collect();
                let outcome = import(&mut writer, &third, &origin("third"));
                let count = u64::try_from(third.len()).unwrap();
                assert_eq!((outcome.new, outcome.repeated), (0, count), "{said}");
            }
        }
    }
}

#[test]
fn orders_that_differ_in_a_value_are_two_orders() {
    let base = order(1, START + 5);
    let with = |change: &dyn Fn(&mut OrderRow)| {
        let mut row = elsewhere(&base, 1);
        change(&mut row);
        row
    };
    let others = [
        with(&|row| row.order.timestamp = Millis(START + 6)),
        with(&|row| row.order.timestamp = Millis(START)),
        with(&|row| row.order.price += row.order.price),
        with(&|row| row.order.qty += row.order.qty),
        with(&|row| row.order.side = order(2, 0).order.side),
        with(&|row| row.order.exchange = "okx".to_owned()),
        with(&|row| row.order.symbol = "ETHUSDC".to_owned()),
        with(&|row| row.native_id = Some("ETHUSDT-26MAR27".to_owned())),
    ];
    for other in others {
        let folder = Folder::new();
        let mut writer = Archive::create_or_open(folder.archive()).unwrap();
        collect(&mut writer, std::slice::from_ref(&base));
        assert_eq!(
            import(&mut writer, std::slice::from_ref(&other), &origin("file")).new,
            1,
            "{other:?}"
        );
        assert_eq!(
            collect(&mut writer, std::slice::from_ref(&base)).repeated,
            1
        );
        assert_eq!(all_orders(writer.archive()).len(), 2);
    }
}

#[test]
fn one_table_with_rows_of_several_sources_has_each_order_once() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let row = OrderRow {
        dedupe_key: "bybit|a".to_owned(),
        ..order(1, START + 5)
    };
    let mut values = row.clone();
    values.dedupe_key.clear();
    let rows = [row.clone(), elsewhere(&row, 1), values, elsewhere(&row, 2)];
    let outcome = import(&mut writer, &rows, &origin("both"));
    assert_eq!((outcome.new, outcome.repeated), (2, 2));
    assert_eq!(import(&mut writer, &rows, &origin("again")).new, 0);
}

#[test]
fn an_undone_order_may_come_from_another_source() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    let row = order(1, START + 5);
    let first = origin("first");
    import(&mut writer, &[elsewhere(&row, 1)], &first);
    let again = OrderRow {
        dedupe_key: String::new(),
        ..row
    };
    let second = origin("second");
    assert_eq!(
        import(&mut writer, std::slice::from_ref(&again), &second).repeated,
        1
    );
    let undone = writer.undo(&first.id).unwrap();
    let named: Vec<(&str, u64)> = undone
        .iter()
        .map(|one| (one.id.as_str(), one.run_again))
        .collect();
    assert_eq!(named, [(first.id.as_str(), 0), (second.id.as_str(), 1)]);
    assert!(all_orders(writer.archive()).is_empty());
    assert_eq!(import(&mut writer, &[again], &second).new, 1);
    assert_eq!(all_orders(writer.archive()).len(), 1);
}
