//! Maps of other services that `liqdata record` stored in the folder of an archive.
//!
//! Each source has an archive of its own with its maps, and a file that lists the maps in the form of the contract, which a
//! server can send. The file is written after a map is stored, so a listed map can be read.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

use crate::archive::{Archive, ArchiveError, Filter};
use crate::market::refusal::Refusal;
use crate::market::revision::{Revision, wall_clock};
use crate::model::{MapRow, Millis};

/// The folder of all recordings of an archive.
const FOLDER: &str = "recorded";
/// The file that lists the maps of a source.
const LIST: &str = "recorder.json";
/// Length of the first time range that is searched for a map; each further one is four times as long.
const FIRST: i64 = 15 * Millis::MINUTE;

/// Maps of one question that a source was asked again and again.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(crate) struct RecordedSeries {
    /// Name of the endpoint that sends the maps.
    pub(crate) endpoint: String,
    pub(crate) symbol: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) range: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) exchange: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) model: Option<i64>,
    /// Parameters of the stored rows.
    #[serde(skip_serializing)]
    pub(crate) params: String,
    /// Version of the stored rows.
    #[serde(skip_serializing)]
    pub(crate) version: Option<String>,
    /// Time of the first map.
    pub(crate) since: Millis,
    /// Time of the last map.
    pub(crate) last: Millis,
}

impl RecordedSeries {
    /// Says what a query must name to get the maps.
    fn described(&self) -> String {
        let exchange = self.exchange.as_ref();
        [
            Some(self.endpoint.clone()),
            Some(self.symbol.clone()),
            self.range.clone(),
            exchange.map(|exchange| format!("exchange={exchange}")),
        ]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
    }

    /// Refuses a map at or before `until`, when there was none.
    pub(crate) fn begins_later(&self, source: &str, until: Millis) -> Refusal {
        let (described, since) = (self.described(), self.since);
        Refusal::not_recorded(format!(
            "{source} has no recorded {described} at or before {until}: the first one is of {since}"
        ))
    }
}

/// A recorded source with the maps that a server can send.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct RecordedSource {
    pub(crate) source: String,
    pub(crate) maps: Vec<RecordedSeries>,
}

impl RecordedSource {
    /// Refuses another source than this, the only recorded one.
    pub(crate) fn check_name(&self, asked: &str) -> Result<(), Refusal> {
        if asked == self.source {
            return Ok(());
        }
        Err(Refusal::no_such_recording(
            asked,
            &[format!("{:?}", self.source)],
        ))
    }
}

/// What a query asks of a recorded source.
#[derive(Clone, Copy, Debug)]
pub struct RecordedQuestion<'a> {
    /// Name of the source.
    pub source: &'a str,
    /// Name of the endpoint.
    pub endpoint: &'static str,
    /// The coin.
    pub symbol: &'a str,
    /// Name of the range, if the endpoint has one.
    pub range: Option<&'a str>,
    /// The exchange; `None` for maps that are not limited to one.
    pub exchange: Option<&'a str>,
    /// The model of the map if the source has maps of several models.
    pub model: Option<i64>,
}

impl RecordedQuestion<'_> {
    /// The series among `all` that has the maps.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] that says which maps there are.
    pub(crate) fn series(self, all: &[RecordedSeries]) -> Result<&RecordedSeries, Refusal> {
        let fits = |series: &&RecordedSeries| {
            series.endpoint == self.endpoint
                && series.symbol == self.symbol
                && series.range.as_deref() == self.range
                && series.exchange.as_deref() == self.exchange
        };
        let of_model =
            |series: &&RecordedSeries| self.model.is_some() && series.model == self.model;
        let mut fitting = all.iter().filter(fits);
        let first = fitting.clone().next();
        fitting
            .find(of_model)
            .or(first)
            .ok_or_else(|| no_such_map(self, all))
    }
}

#[derive(Deserialize)]
struct RecorderState {
    #[serde(default)]
    served: BTreeMap<String, RecordedSeries>,
}

/// A source that was read before.
#[derive(Debug)]
struct ReadBefore {
    series: Vec<RecordedSeries>,
    revision: Revision,
}

/// The recordings of an archive.
#[derive(Debug, Default)]
pub(crate) struct Recordings {
    read: Mutex<BTreeMap<String, ReadBefore>>,
    open: Mutex<BTreeMap<String, Arc<Archive>>>,
}

impl Recordings {
    /// All sources, by name.
    pub(crate) fn sources(archive: Option<&Path>) -> Result<Vec<RecordedSource>, Refusal> {
        let Some(folder) = archive.map(|archive| archive.join(FOLDER)) else {
            return Ok(Vec::new());
        };
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(fault) if fault.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(ArchiveError::of_file(&folder, source).into()),
        };
        let mut names: Vec<String> = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| folder.join(name).join("journal.sqlite").exists())
            .collect();
        names.sort_unstable();
        names
            .into_iter()
            .map(|source| {
                let maps = series_of(&folder.join(&source))?;
                Ok(RecordedSource { source, maps })
            })
            .collect()
    }

    /// The revision of the maps of a source, after a check for new maps.
    pub(crate) fn revision(
        &self,
        archive: Option<&Path>,
        source: &str,
    ) -> Result<Revision, Refusal> {
        let (_, series) = known(archive, source)?;
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        let before = read.get(source);
        let revision = match before {
            Some(before) if before.series == series => before.revision,
            Some(before) => before.revision.next(wall_clock()),
            None => Revision::first(),
        };
        read.insert(source.to_owned(), ReadBefore { series, revision });
        Ok(revision)
    }

    /// The newest recorded map at or before `as_of` that fits `asked`.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] that says which sources are recorded, or which maps the source has.
    pub(crate) fn newest_map(
        &self,
        archive: Option<&Path>,
        asked: RecordedQuestion<'_>,
        as_of: Option<Millis>,
        most: usize,
    ) -> Result<MapRow, Refusal> {
        let (folder, all) = known(archive, asked.source)?;
        let series = asked.series(&all)?;
        let until = as_of.map_or(series.last, |as_of| as_of.min(series.last));
        let reader = self.reader(&folder, asked.source)?;
        let (mut end, mut length) = (until.on(1), FIRST);
        while end > series.since {
            let start = end.back(length).max(series.since);
            let filter = Filter {
                start: Some(start),
                end: Some(end),
                coin: Some(asked.symbol.to_owned()),
                version: Some(
                    series
                        .version
                        .as_deref()
                        .unwrap_or(Filter::UNKNOWN)
                        .to_owned(),
                ),
                ..Filter::default()
            };
            let found = match reader.maps_within(&filter, Some(asked.endpoint), most) {
                // The time range has too many maps of other ranges.
                Err(ArchiveError::BadRange { .. }) if length > Millis::MINUTE => {
                    length /= 8;
                    continue;
                }
                found => found?,
            };
            if !found.damaged.is_empty() {
                let message = "a file with maps of this time cannot be read".to_owned();
                return Err(ArchiveError::Damaged {
                    path: folder,
                    message,
                }
                .into());
            }
            // They are sorted by time.
            let newest = found
                .rows
                .into_iter()
                .rfind(|row| row.params == series.params);
            if let Some(row) = newest {
                return Ok(row);
            }
            (end, length) = (start, length.saturating_mul(4));
        }
        Err(series.begins_later(asked.source, until))
    }

    /// The open archive of a source.
    fn reader(&self, folder: &Path, source: &str) -> Result<Arc<Archive>, Refusal> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = open.get(source)
            && known.check_journal().is_ok()
        {
            return Ok(Arc::clone(known));
        }
        let reader = Arc::new(Archive::read(folder)?);
        open.insert(source.to_owned(), Arc::clone(&reader));
        Ok(reader)
    }
}

fn no_such_map(asked: RecordedQuestion<'_>, all: &[RecordedSeries]) -> Refusal {
    let RecordedQuestion {
        source,
        endpoint,
        symbol,
        range,
        exchange,
        ..
    } = asked;
    let range = range.map(|range| format!(" {range}")).unwrap_or_default();
    let exchange = exchange
        .map(|exchange| format!(" exchange={exchange}"))
        .unwrap_or_default();
    let has: Vec<String> = all.iter().map(RecordedSeries::described).collect();
    let has = if has.is_empty() {
        format!(
            "its maps were recorded by an older liqdata, or lack a member of the contract such as the price, so a server \
             cannot send them; market.maps(source={source:?}) reads them in Python"
        )
    } else {
        format!("it has {}", has.join(", "))
    };
    Refusal::not_recorded(format!(
        "{source} has no recorded {endpoint} {symbol}{range}{exchange}; {has}"
    ))
}

/// The folder of a source and its maps.
fn known(archive: Option<&Path>, source: &str) -> Result<(PathBuf, Vec<RecordedSeries>), Refusal> {
    let sources = Recordings::sources(archive)?;
    let names = || sources.iter().map(|one| one.source.as_str());
    let place = names().position(|name| name == source);
    let (Some(place), Some(archive)) = (place, archive) else {
        let names: Vec<String> = names().map(|name| format!("{name:?}")).collect();
        return Err(Refusal::no_such_recording(source, &names));
    };
    let maps = sources.into_iter().nth(place).map(|one| one.maps);
    Ok((archive.join(FOLDER).join(source), maps.unwrap_or_default()))
}

/// The maps of the source in `folder`, as its recorder listed them.
fn series_of(folder: &Path) -> Result<Vec<RecordedSeries>, Refusal> {
    let file = folder.join(LIST);
    let text = match fs::read(&file) {
        Ok(text) => text,
        Err(fault) if fault.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(ArchiveError::of_file(&file, source).into()),
    };
    let state: RecorderState = serde_json::from_slice(&text).map_err(|fault| {
        let message = fault.to_string();
        Refusal::from(ArchiveError::Damaged {
            path: file,
            message,
        })
    })?;
    Ok(state.served.into_values().collect())
}
