//! Estimated maps as they were served: what was shown then, to be held against what is made of it now.

use std::io::Read;

use arrow_array::ArrayRef;
use arrow_schema::SchemaRef;
use rusqlite::params;

use super::manifest::{self, Day};
use super::row::{
    Columns, Fault, Is, Row, check_name, check_time, instants, next, not_readable, schema, texts,
    texts_or_null,
};
use super::scan::{Filter, Room, Scan};
use super::{Archive, ArchiveError};
use crate::model::{Millis, record};

/// The longest reply that is kept, in bytes.
const LONGEST: usize = 16 << 20;
/// Bytes of replies that one read gives, at most.
const MOST_READ: usize = 1 << 30;
/// The strength of the journal's compression.
const LEVEL: i32 = 3;

record! {
    /// One estimated map as it was served.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct MapRow {
        /// The endpoint it answers: `heatmap`, `liqmap`, `levels` or `maxpain`.
        pub kind: String,
        /// Coin symbol.
        pub symbol: String,
        /// The question's other parameters with their defaults spelled out, as in an address: `range=24h&model=2`.
        pub params: String,
        /// Close of the last bar it was made of.
        pub timestamp: Millis,
        /// When it was computed, by the server's clock.
        pub computed_at: Millis,
        /// The reply: the body that was sent, to the last byte.
        pub reply: String,
        /// What the estimate rested on, as JSON.
        pub explain: Option<String>,
    }
}

impl MapRow {
    /// The SHA-256 of the reply: another reply to the same question, because older bars had come in, is another row.
    fn digest(&self) -> String {
        manifest::checksum(self.reply.as_bytes())
    }
}

impl Row for MapRow {
    const TABLE: &'static str = "maps";
    const COLUMNS: &'static [&'static str] = &[
        "kind",
        "symbol",
        "params",
        "timestamp",
        "computed_at",
        "digest",
        "reply",
        "explain",
    ];
    const CREATE: &'static str = "
        CREATE TABLE maps (
            id INTEGER PRIMARY KEY AUTOINCREMENT,
            kind TEXT NOT NULL,
            symbol TEXT NOT NULL,
            params TEXT NOT NULL,
            timestamp INTEGER NOT NULL,
            computed_at INTEGER NOT NULL,
            digest TEXT NOT NULL,
            reply BLOB NOT NULL,
            explain TEXT,
            UNIQUE (symbol, kind, params, timestamp, digest)
        ) STRICT;
        CREATE INDEX maps_by_time ON maps (timestamp);";
    const GROUP: usize = 16;
    const COIN: &'static str = "symbol";
    const KIND: Option<&'static str> = Some("kind");
    const APART: &'static str = "kind";
    const BULK: Option<&'static str> = Some("reply");

    fn check(&self) -> Result<(), Fault> {
        check_name("kind", &self.kind)?;
        check_name("symbol", &self.symbol)?;
        check_name("reply", &self.reply)?;
        if self.reply.len() > LONGEST {
            let message = format!("{} bytes are more than {LONGEST}", self.reply.len());
            return Err(("reply", message));
        }
        check_time("timestamp", self.timestamp)?;
        check_time("computed_at", self.computed_at)
    }

    fn write(&self, statement: &mut rusqlite::Statement<'_>) -> rusqlite::Result<usize> {
        let packed = zstd::bulk::compress(self.reply.as_bytes(), LEVEL)
            .map_err(|fault| rusqlite::Error::ToSqlConversionFailure(Box::new(fault)))?;
        statement.execute(params![
            self.kind,
            self.symbol,
            self.params,
            self.timestamp.0,
            self.computed_at.0,
            self.digest(),
            packed,
            self.explain,
        ])
    }

    fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<Self> {
        let packed = row.get_ref(7)?.as_blob()?;
        let reply = unpacked(packed).map_err(|fault| not_readable(7, fault))?;
        Ok(Self {
            kind: row.get(1)?,
            symbol: row.get(2)?,
            params: row.get(3)?,
            timestamp: Millis(row.get(4)?),
            computed_at: Millis(row.get(5)?),
            reply,
            explain: row.get(8)?,
        })
    }

    fn key(&self) -> String {
        format!(
            "{}\n{}\n{}\n{}\n{}",
            self.symbol,
            self.kind,
            self.params,
            self.timestamp.0,
            self.digest()
        )
    }

    fn exchange(&self) -> Option<&str> {
        None
    }

    fn symbol(&self) -> &str {
        &self.symbol
    }

    fn coin(&self) -> &str {
        &self.symbol
    }

    fn kind(&self) -> Option<&str> {
        Some(&self.kind)
    }

    fn timestamp(&self) -> Millis {
        self.timestamp
    }

    fn received_at(&self) -> Millis {
        self.computed_at
    }

    fn weight(&self) -> usize {
        self.reply.len()
    }

    fn sort_for_file(rows: &mut [Self]) {
        rows.sort_by(|a, b| {
            (&a.symbol, &a.kind, &a.params, a.timestamp, a.computed_at).cmp(&(
                &b.symbol,
                &b.kind,
                &b.params,
                b.timestamp,
                b.computed_at,
            ))
        });
    }

    fn schema() -> SchemaRef {
        schema(&[
            ("kind", Is::Text),
            ("symbol", Is::Text),
            ("params", Is::Text),
            ("timestamp", Is::Instant),
            ("computed_at", Is::Instant),
            ("reply", Is::Text),
            ("explain", Is::TextOrNull),
        ])
    }

    fn encode(rows: &[Self]) -> Result<Vec<ArrayRef>, Fault> {
        Ok(vec![
            texts(rows, |row| &row.kind),
            texts(rows, |row| &row.symbol),
            texts(rows, |row| &row.params),
            instants(rows, |row| row.timestamp),
            instants(rows, |row| row.computed_at),
            texts(rows, |row| &row.reply),
            texts_or_null(rows, |row| row.explain.as_deref()),
        ])
    }

    fn decode(columns: &Columns<'_>, _interval: i64) -> Result<Vec<Self>, Fault> {
        let mut kind = columns.texts("kind")?;
        let mut symbol = columns.texts("symbol")?;
        let mut params = columns.texts("params")?;
        let mut timestamp = columns.instants("timestamp")?;
        let mut computed_at = columns.instants("computed_at")?;
        let mut reply = columns.texts("reply")?;
        let mut explain = columns.texts("explain")?;
        (0..columns.len())
            .map(|_| {
                Ok(Self {
                    kind: next("kind", &mut kind)?,
                    symbol: next("symbol", &mut symbol)?,
                    params: next("params", &mut params)?,
                    timestamp: next("timestamp", &mut timestamp)?,
                    computed_at: next("computed_at", &mut computed_at)?,
                    reply: next("reply", &mut reply)?,
                    explain: explain.next().flatten(),
                })
            })
            .collect()
    }
}

/// The text that was compressed.
fn unpacked(packed: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    zstd::stream::read::Decoder::with_buffer(packed)?
        .take(LONGEST as u64)
        .read_to_string(&mut text)?;
    Ok(text)
}

impl Archive {
    /// The maps that `filter` asks for and, where one is named, of one kind, by time, coin, kind and parameters; those
    /// of one bar in the order in which they were computed.
    ///
    /// `start` and `end` are about the close of the last bar, `as_of` about when a map was computed.
    ///
    /// # Errors
    ///
    /// [`ArchiveError::BadRange`] where the filter's end is before its start, or the maps take more than a gibibyte;
    /// else [`ArchiveError`] where the archive cannot be read. A damaged file is no error: it is named beside the rows
    /// that are left.
    pub fn maps(&self, filter: &Filter, kind: Option<&str>) -> Result<Scan<MapRow>, ArchiveError> {
        self.maps_within(filter, kind, MOST_READ)
    }

    /// As [`Archive::maps`], of at most so many bytes: a read that finds more ends there.
    fn maps_within(
        &self,
        filter: &Filter,
        kind: Option<&str>,
        most: usize,
    ) -> Result<Scan<MapRow>, ArchiveError> {
        filter.check()?;
        let filter = &Filter {
            kind: kind.map(str::to_owned).or_else(|| filter.kind.clone()),
            ..filter.clone()
        };
        let mut all = Scan::default();
        let mut room = Room::of(most);
        for day in self.days::<MapRow>(filter)? {
            let found = self.day_within::<MapRow>(day, filter, &mut room)?;
            if room.is_over() {
                return Err(ArchiveError::BadRange {
                    parameter: "start",
                    message: format!(
                        "the maps asked for take more than {} MiB; ask for a shorter stretch of time, one coin or one \
                         kind",
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

    /// How many bytes the maps of the day of `at` take, compressed as they are kept.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn map_bytes(&self, at: Millis) -> Result<u64, ArchiveError> {
        let day = Day::of(at);
        self.ask(|journal| {
            let sum: i64 = journal
                .prepare_cached(
                    "SELECT coalesce((SELECT sum(length(reply)) FROM maps
                                      WHERE timestamp >= ?1 AND timestamp < ?2), 0)
                          + coalesce((SELECT sum(bytes) FROM manifest
                                      WHERE holds = 'maps' AND day = ?3 AND state = 'kept'), 0)",
                )?
                .query_row([day.start().0, day.end().0, day.0], |row| row.get(0))?;
            Ok(u64::try_from(sum).unwrap_or_default())
        })
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;
    use crate::archive::Batch;

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
        }
    }

    /// A day of large maps of one kind and small ones of another.
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
        // In the journal, in files, and in both.
        for rolled in [false, true, true] {
            if rolled {
                writer.roll(Millis(Millis::DAY)).unwrap();
            }
            let of_kind = |kind| Filter {
                kind: Some(String::from(kind)),
                ..Filter::default()
            };
            for filter in [Filter::default(), of_kind("heatmap")] {
                let mut room = Room::of(5 << 20);
                let rows = writer.day_within::<MapRow>(Day(0), &filter, &mut room);
                let weight: usize = rows.unwrap().rows.iter().map(Row::weight).sum();
                assert!(room.is_over());
                assert!(weight <= 5 << 20, "{weight}");
                let fault = writer.maps_within(&filter, None, 5 << 20).unwrap_err();
                assert!(fault.to_string().contains("more than 5 MiB"), "{fault}");
            }
            // What is not asked for takes no room.
            let all = Filter::default();
            let levels = writer.maps_within(&all, Some("levels"), 24_000).unwrap();
            assert_eq!(levels.rows.len(), 24);
            assert!(writer.maps_within(&all, Some("levels"), 23_999).is_err());
            let stretch = Filter {
                start: Some(Millis(3 * HOUR)),
                end: Some(Millis(5 * HOUR)),
                ..Filter::default()
            };
            let some = writer
                .maps_within(&stretch, None, (2 << 20) + 2000)
                .unwrap();
            assert_eq!(some.rows.len(), 4);
            // Nor does what is sent again once it has moved.
            writer.append(&day()).unwrap();
        }
        drop(writer);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
