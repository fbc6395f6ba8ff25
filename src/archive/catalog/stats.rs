//! What is known of the whole archive without reading it: its newest instant, its coins, and which rows it has let go.

use std::collections::{BTreeMap, BTreeSet};

use rusqlite::{Connection, OptionalExtension, params};
use uuid::Uuid;

use crate::archive::batch::Batch;
use crate::archive::journal::table;
use crate::archive::rows::bars::BarRow;
use crate::archive::rows::open_interest::OpenInterestRow;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::model::{Millis, record};

pub(crate) const CREATE: &str = "
    CREATE TABLE state (name TEXT PRIMARY KEY, value INTEGER NOT NULL) STRICT;
    CREATE TABLE coins (symbol TEXT PRIMARY KEY, known_from INTEGER NOT NULL, last_close INTEGER NOT NULL) STRICT;";

/// The number that tells this archive's order of arrival from any other's.
const SERIES: &str = "series";
/// The newest of the orders' event times, the bars' closes and the readings of open interest.
const NEWEST: &str = "newest";
/// The end of the last day of a copy that was made of days that were over.
const CLOSED: &str = "closed";

record! {
    /// A coin that has bars.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct KnownCoin {
        /// Coin symbol.
        pub symbol: String,
        /// When its first bar had closed and been received.
        pub known_from: Millis,
        /// When its last bar closed.
        pub last_close: Millis,
    }
}

/// A place in the archive's order of arrival, behind the last row of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Number of the last order.
    pub orders: i64,
    /// Number of the last bar.
    pub bars: i64,
    /// Number of the last reading of open interest.
    pub open_interest: i64,
}

/// What is known of the whole archive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Known {
    /// Tells its order of arrival from that of any other archive.
    pub series: u64,
    /// The newest of the orders' event times, the bars' closes and the readings of open interest.
    pub newest: Option<Millis>,
    /// Behind everything.
    pub end: Place,
    /// Rows up to here may have left the journal for files.
    pub rolled: Place,
}

impl Place {
    /// The number of the last row of a table, if it is one of those.
    fn of(&mut self, table: &str) -> Option<&mut i64> {
        match table {
            OrderRow::TABLE => Some(&mut self.orders),
            BarRow::TABLE => Some(&mut self.bars),
            OpenInterestRow::TABLE => Some(&mut self.open_interest),
            _ => None,
        }
    }
}

fn put(journal: &Connection, name: &str, value: i64) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO state (name, value) VALUES (?1, ?2)
             ON CONFLICT (name) DO UPDATE SET value = max(value, excluded.value)",
        )?
        .execute(params![name, value])
        .map(drop)
}

/// Gives a new archive its series.
pub(crate) fn begin(journal: &Connection) -> rusqlite::Result<()> {
    // The last of a version 7's bits are random; 62 of them make a number above zero.
    let (_, random) = Uuid::now_v7().as_u64_pair();
    put(
        journal,
        SERIES,
        i64::try_from(random & (u64::MAX >> 2)).unwrap_or_default(),
    )
}

/// Gives a copy the series of what it was made of, and what is known of it.
pub(crate) fn begin_as(
    journal: &Connection,
    series: u64,
    newest: Option<Millis>,
    closed: Option<Millis>,
) -> rusqlite::Result<()> {
    journal.execute("DELETE FROM state", [])?;
    put(journal, SERIES, i64::try_from(series).unwrap_or_default())?;
    for (name, at) in [(NEWEST, newest), (CLOSED, closed)] {
        if let Some(at) = at {
            put(journal, name, at.0)?;
        }
    }
    Ok(())
}

/// The end of the last day of a copy.
pub(crate) fn closed(journal: &Connection) -> rusqlite::Result<Option<Millis>> {
    journal
        .prepare_cached("SELECT value FROM state WHERE name = ?1")?
        .query_row([CLOSED], |line| line.get(0).map(Millis))
        .optional()
}

/// Takes note of a coin's bars.
pub(crate) fn note_coin(
    journal: &Connection,
    symbol: &str,
    known_from: i64,
    last_close: i64,
) -> rusqlite::Result<()> {
    journal
        .prepare_cached(
            "INSERT INTO coins (symbol, known_from, last_close) VALUES (?1, ?2, ?3)
             ON CONFLICT (symbol) DO UPDATE SET known_from = min(known_from, excluded.known_from),
                                                last_close = max(last_close, excluded.last_close)",
        )?
        .execute(params![symbol, known_from, last_close])
        .map(drop)
}

/// What is to be known of rows that come to an archive.
#[derive(Debug, Default)]
pub(crate) struct Noted {
    newest: Option<Millis>,
    /// When the first bar of a coin was known, and when its last one closed.
    coins: BTreeMap<String, (Millis, Millis)>,
}

impl Noted {
    /// Takes note of rows.
    pub(crate) fn take<R: Row>(&mut self, rows: &[R]) {
        for row in rows {
            let final_at = row.known_at();
            self.take_newest(final_at);
            // Only bars have a length.
            if R::HAS_INTERVAL {
                self.take_coin(row.symbol(), final_at.max(row.received_at()), final_at);
            }
        }
    }

    /// Takes note of rows of which the newest is final at this instant.
    pub(crate) fn take_newest(&mut self, final_at: Millis) {
        self.newest = self.newest.max(Some(final_at));
    }

    /// Takes note of bars of a coin, of which the first is known from an instant on and the last closed at another.
    pub(crate) fn take_coin(&mut self, symbol: &str, known_from: Millis, last_close: Millis) {
        if let Some(coin) = self.coins.get_mut(symbol) {
            *coin = (coin.0.min(known_from), coin.1.max(last_close));
        } else {
            self.coins
                .insert(symbol.to_owned(), (known_from, last_close));
        }
    }

    /// Writes it down.
    pub(crate) fn write(&self, journal: &Connection) -> rusqlite::Result<()> {
        if let Some(newest) = self.newest {
            put(journal, NEWEST, newest.0)?;
        }
        self.coins
            .iter()
            .try_for_each(|(symbol, (from, last))| note_coin(journal, symbol, from.0, last.0))
    }
}

/// Takes note of a batch.
pub(crate) fn note(journal: &Connection, batch: &Batch) -> rusqlite::Result<()> {
    let mut noted = Noted::default();
    noted.take(&batch.orders);
    noted.take(&batch.bars);
    noted.take(&batch.open_interest);
    noted.write(journal)
}

/// Takes note that `rows` have come to the files of `table` past the journal: whoever reads on from a place in the order of
/// arrival has missed them there.
pub(crate) fn pass_over(journal: &Connection, table: &str, rows: u64) -> rusqlite::Result<()> {
    let by = i64::try_from(rows).unwrap_or(i64::MAX);
    let moved = journal
        .prepare_cached("UPDATE sqlite_sequence SET seq = seq + ?2 WHERE name = ?1")?
        .execute(params![table, by])?;
    if moved == 0 {
        journal
            .prepare_cached("INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)")?
            .execute(params![table, by])?;
    }
    let last: i64 = journal
        .prepare_cached("SELECT seq FROM sqlite_sequence WHERE name = ?1")?
        .query_row([table], |line| line.get(0))?;
    put(journal, table, last)
}

/// The last number that was given to a row of a table: what `SQLite` remembers of it has no checksum, what has left the journal has.
pub(crate) fn last_given(journal: &Connection, table: &str) -> rusqlite::Result<i64> {
    let remembered = "SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?1";
    let left = "SELECT coalesce(max(value), 0) FROM state WHERE name = ?1";
    let mut last = 0;
    for query in [remembered, left] {
        let number: i64 = journal.query_row(query, [table], |line| line.get(0))?;
        last = last.max(number);
    }
    Ok(last)
}

/// Lets the next rows of a table have numbers behind this one.
pub(crate) fn give_behind(journal: &Connection, table: &str, last: i64) -> rusqlite::Result<()> {
    journal.execute("DELETE FROM sqlite_sequence WHERE name = ?1", [table])?;
    journal
        .execute(
            "INSERT INTO sqlite_sequence (name, seq) VALUES (?1, ?2)",
            params![table, last],
        )
        .map(drop)
}

/// Takes note that rows of these numbers leave a table.
pub(crate) fn let_go(journal: &Connection, table: &str, ids: &[i64]) -> rusqlite::Result<()> {
    match ids.iter().max() {
        Some(last) => put(journal, table, *last),
        None => Ok(()),
    }
}

/// What is known, as of one transaction.
pub(crate) fn known(journal: &Connection) -> rusqlite::Result<Known> {
    let mut known = Known::default();
    let mut sequences = journal.prepare_cached("SELECT name, seq FROM sqlite_sequence")?;
    let mut rows = sequences.query([])?;
    while let Some(row) = rows.next()? {
        if let Some(number) = known.end.of(row.get_ref(0)?.as_str()?) {
            *number = row.get(1)?;
        }
    }
    let mut states = journal.prepare_cached("SELECT name, value FROM state")?;
    let mut rows = states.query([])?;
    while let Some(row) = rows.next()? {
        let value: i64 = row.get(1)?;
        match row.get_ref(0)?.as_str()? {
            SERIES => known.series = u64::try_from(value).unwrap_or_default(),
            NEWEST => known.newest = Some(Millis(value)),
            table => {
                if let Some(number) = known.rolled.of(table) {
                    *number = value;
                }
            }
        }
    }
    Ok(known)
}

/// The coins of which a bar had closed and been received by `as_of`, by name; all of them where it is absent.
pub(crate) fn coins(
    journal: &Connection,
    as_of: Option<Millis>,
) -> rusqlite::Result<Vec<KnownCoin>> {
    journal
        .prepare_cached(&format!(
            "SELECT {} FROM coins WHERE ?1 IS NULL OR known_from <= ?1 ORDER BY symbol",
            table::columns::<KnownCoin>()
        ))?
        .query_map([as_of.map(|at| at.0)], |row| table::read(row, 0))?
        .collect()
}

/// The exchanges that the journal or a file has rows of.
pub(crate) fn exchanges(journal: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut found = BTreeSet::new();
    for table in [
        "part_venues",
        OrderRow::TABLE,
        BarRow::TABLE,
        OpenInterestRow::TABLE,
        PositionRow::TABLE,
    ] {
        let mut names = journal.prepare(&format!("SELECT DISTINCT exchange FROM {table}"))?;
        for name in names.query_map([], |row| row.get(0))? {
            found.insert(name?);
        }
    }
    Ok(found)
}
