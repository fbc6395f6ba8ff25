//! Rows of undone ingests, and which rows of an import replace them.
//!
//! A row that replaces undone rows counts from the commit of its import. Reads as of an earlier instant return the undone
//! rows, if they are as of an instant before the undo.

use std::collections::{HashMap, HashSet};

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::Day;
use crate::archive::compaction::undo;
use crate::archive::import::existing_rows::content;
use crate::archive::rows::row::Row;
use crate::archive::store::write_store::WriteStore;
use crate::model::Millis;

/// Columns that say where an event was.
const NAMES: [&str; 3] = ["exchange", "symbol", "coin"];

/// Exchange and coin of a row.
type Series = (String, String);

/// The undone rows of one series.
#[derive(Default)]
struct UndoneSeries {
    /// For each ingest, the time from the first to the last undone row; the end is exclusive.
    times: HashMap<String, (Millis, Millis)>,
    /// Number of undone rows that no imported row between them replaces.
    left: usize,
}

impl UndoneSeries {
    fn is_around(&self, at: Millis) -> bool {
        let mut times = self.times.values();
        times.any(|(start, end)| *start <= at && at < *end)
    }
}

/// The undone rows of a day and of the days next to it.
#[derive(Default)]
pub(crate) struct UndoneRows {
    keys: HashSet<String>,
    series: HashMap<Series, UndoneSeries>,
    /// Hashes of the values of undone orders, without their time.
    ///
    /// They find orders that were stored with a wrong time.
    values: HashSet<u64>,
    /// Hashes of the values of undone rows, without their exchange and symbol.
    ///
    /// They find rows that were stored under a wrong name. Contains only rows of series that the import does not have.
    unnamed: HashSet<u64>,
}

impl UndoneRows {
    /// Reads the undone rows of a table near a day.
    ///
    /// `given` contains exchange, coin and time of the imported rows of the day. `near` also contains those of the days
    /// next to it, because rows of another day may replace undone rows too.
    pub(crate) fn read<'a, R: Row>(
        writer: &WriteStore,
        day: Day,
        given: &[(&str, &str, Millis)],
        near: impl Iterator<Item = (&'a str, &'a str, Millis)>,
    ) -> Result<Self, ArchiveError> {
        let segments = writer
            .store
            .ask(|journal| manifest::undone(journal, R::TABLE, day))?;
        let mut undone = Self::default();
        if segments.is_empty() {
            return Ok(undone);
        }
        let names = given.iter().map(|(exchange, coin, _)| (*exchange, *coin));
        let names: HashSet<(&str, &str)> = names.collect();
        for segment in segments {
            let ingest = segment.ingest.clone().unwrap_or_default();
            for row in undo::rows_of::<R>(writer, &segment)? {
                undone.add(&row, &ingest, &names);
            }
        }
        for (exchange, coin, at) in near {
            let series = (exchange.to_owned(), coin.to_owned());
            if let Some(series) = undone.series.get_mut(&series)
                && series.is_around(at)
            {
                series.left = series.left.saturating_sub(1);
            }
        }
        Ok(undone)
    }

    fn add<R: Row>(&mut self, row: &R, ingest: &str, given: &HashSet<(&str, &str)>) {
        let (exchange, coin) = (row.exchange().unwrap_or_default(), row.coin());
        let (start, end) = (row.timestamp(), row.timestamp().on(row.interval().max(1)));
        let series = (exchange.to_owned(), coin.to_owned());
        let series = self.series.entry(series).or_default();
        series.left += 1;
        let times = series.times.entry(ingest.to_owned());
        times
            .and_modify(|(first, last)| (*first, *last) = ((*first).min(start), (*last).max(end)))
            .or_insert((start, end));
        if R::HAS_SOURCES {
            self.values.insert(content(row, &["timestamp"]));
        }
        if !given.contains(&(exchange, coin)) {
            self.unnamed.insert(content(row, &NAMES));
        }
        self.keys.insert(row.key());
    }

    /// Whether a row replaces undone rows.
    ///
    /// It does if it has the key of an undone row, if it is between undone rows of its exchange and coin, or if it
    /// differs from an undone row only in its time (of orders), or only in its exchange and symbol.
    pub(crate) fn are_replaced_by<R: Row>(&mut self, row: &R) -> bool {
        if self.keys.is_empty() {
            return false;
        }
        let series = (
            row.exchange().unwrap_or_default().to_owned(),
            row.coin().to_owned(),
        );
        if let Some(series) = self.series.get_mut(&series) {
            if series.is_around(row.timestamp()) {
                return true;
            }
            // At most as many rows have moved in time as undone rows are left.
            if series.left > 0 && self.values.contains(&content(row, &["timestamp"])) {
                series.left -= 1;
                return true;
            }
        }
        self.keys.contains(&row.key()) || self.unnamed.contains(&content(row, &NAMES))
    }
}
