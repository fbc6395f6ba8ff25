//! Reads stored estimated maps, with a limit on their size.

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest::Day;
use crate::archive::filter::{Filter, MemoryBudget};
use crate::archive::rows::maps::MapRow;
use crate::archive::scan::table_scan;
use crate::archive::scan::table_scan::Scan;
use crate::archive::store::store::Store;
use crate::model::Millis;

/// Maximum size of the result of one read, in bytes.
const MOST_READ: usize = 1 << 30;

/// Implements `Archive::maps`.
pub(crate) fn maps(
    store: &Store,
    filter: &Filter,
    kind: Option<&str>,
) -> Result<Scan<MapRow>, ArchiveError> {
    maps_within(store, filter, kind, MOST_READ)
}

/// Implements `Archive::maps_within`.
pub(crate) fn maps_within(
    store: &Store,
    filter: &Filter,
    kind: Option<&str>,
    most: usize,
) -> Result<Scan<MapRow>, ArchiveError> {
    let most = most.min(MOST_READ);
    filter.check()?;
    let filter = &Filter {
        kind: kind.map(str::to_owned).or_else(|| filter.kind.clone()),
        ..filter.clone()
    };
    let mut all = Scan::default();
    let mut room = MemoryBudget::of(most);
    for day in table_scan::days_with_rows::<MapRow>(store, filter)? {
        let found = table_scan::day_within::<MapRow>(store, day, filter, &mut room)?;
        if room.is_exceeded() {
            return Err(ArchiveError::BadRange {
                parameter: "start",
                message: format!(
                    "the maps are larger than {} MiB; request a shorter time range, one coin or one kind",
                    most >> 20
                ),
            });
        }
        all.rows.extend(found.rows);
        all.damaged.extend(found.damaged);
    }
    all.rows.sort_by(|a, b| {
        (a.timestamp, &a.symbol, &a.kind, &a.params, a.computed_at).cmp(&(
            b.timestamp,
            &b.symbol,
            &b.kind,
            &b.params,
            b.computed_at,
        ))
    });
    Ok(all)
}

/// Implements `CatalogView::map_bytes`.
pub(crate) fn map_bytes(store: &Store, at: Millis) -> Result<u64, ArchiveError> {
    let day = Day::of(at);
    store.ask(|journal| {
        let sum: i64 = journal
            .prepare_cached(
                "SELECT coalesce((SELECT sum(length(reply)) FROM maps
                                  WHERE timestamp >= ?1 AND timestamp < ?2), 0)
                      + coalesce((SELECT sum(bytes) FROM manifest
                                  WHERE holds = 'maps' AND day = ?3 AND state = 'active'), 0)",
            )?
            .query_row([day.start().0, day.end().0, day.0], |row| row.get(0))?;
        Ok(u64::try_from(sum).unwrap_or_default())
    })
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::archive::archive::Archive;
    use crate::archive::batch::Batch;
    use crate::archive::rows::row::Row;
    use crate::archive::scan::maps_reader::*;

    const HOUR: i64 = Millis::HOUR;

    fn map(kind: &str, hour: i64, bytes: usize) -> MapRow {
        MapRow {
            kind: kind.to_owned(),
            symbol: "BTC".to_owned(),
            params: String::new(),
            timestamp: Millis(hour * HOUR),
            computed_at: Millis(hour * HOUR + 1),
            reply: "x".repeat(bytes),
            explain: None,
            version: None,
        }
    }

    /// A day with large maps of one kind and small maps of another kind.
    fn day() -> Batch {
        let maps =
            (0..24).flat_map(|hour| [map("heatmap", hour, 1 << 20), map("levels", hour, 1000)]);
        Batch {
            maps: maps.collect(),
            ..Batch::default()
        }
    }

    #[test]
    fn a_read_holds_what_is_asked_for_and_no_more_than_it_may() {
        let folder = std::env::temp_dir().join(format!("liqdata-maps-{}", std::process::id()));
        let mut writer = Archive::create_or_open(&folder).unwrap();
        writer.append(&day()).unwrap();
        // In the first pass all rows are in the journal, in the second in segments, in the third in both.
        for rolled in [false, true, true] {
            if rolled {
                writer.compact(Millis(Millis::DAY)).unwrap();
            }
            let of_kind = |kind| Filter {
                kind: Some(String::from(kind)),
                ..Filter::default()
            };
            for filter in [Filter::default(), of_kind("heatmap")] {
                let mut room = MemoryBudget::of(5 << 20);
                let rows = table_scan::day_within::<MapRow>(
                    &writer.archive().store,
                    Day(0),
                    &filter,
                    &mut room,
                );
                let weight: usize = rows.unwrap().rows.iter().map(Row::weight).sum();
                assert!(room.is_exceeded());
                assert!(weight <= 5 << 20, "{weight}");
                let fault = writer
                    .archive()
                    .maps_within(&filter, None, 5 << 20)
                    .unwrap_err();
                assert!(fault.to_string().contains("larger than 5 MiB"), "{fault}");
            }
            // Maps that the filter excludes do not count toward the memory limit.
            let all = Filter::default();
            let levels = writer
                .archive()
                .maps_within(&all, Some("levels"), 24_000)
                .unwrap();
            assert_eq!(levels.rows.len(), 24);
            assert!(
                writer
                    .archive()
                    .maps_within(&all, Some("levels"), 23_999)
                    .is_err()
            );
            let range = Filter {
                start: Some(Millis(3 * HOUR)),
                end: Some(Millis(5 * HOUR)),
                ..Filter::default()
            };
            let some = writer
                .archive()
                .maps_within(&range, None, (2 << 20) + 2000)
                .unwrap();
            assert_eq!(some.rows.len(), 4);
            // In the next pass the journal contains duplicates of compacted maps, which must not count toward the
            // limit.
            writer.append(&day()).unwrap();
        }
        drop(writer);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
