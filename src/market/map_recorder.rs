//! Records in the archive those estimated maps that servers send and somebody wants to keep, without delaying replies.
//!
//! Maps are heatmaps, liquidation maps, key levels and max pain. A thread receives the reply bodies and passes them to
//! the [`WriteQueue`] of the archive in batches. The queue of bodies is bounded in bytes. A map that does not fit, or
//! that the archive refuses, is counted as lost and logged; its reply is still sent.

use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use bytes::Bytes;

use crate::archive::{Archive, ArchiveError, Batch, MapRow, WriteQueue};
use crate::contract::{Arguments, BadQuery, Endpoint, Heatmap, Levels, Liqmap, Maxpain};
use crate::engine::EstimateBasis;
use crate::model::Millis;

/// Maximum size of all queued bodies, in bytes.
const ROOM: usize = 64 << 20;
/// A batch is written once its bodies reach this many bytes.
const TOGETHER: usize = 4 << 20;
/// Poll interval while waiting for the thread to end.
const LOOK: Duration = Duration::from_millis(5);

/// A map as a server sent it.
#[derive(Debug)]
pub(crate) struct ServedMap {
    pub(crate) kind: &'static str,
    pub(crate) symbol: String,
    pub(crate) params: String,
    pub(crate) closed: Millis,
    pub(crate) computed_at: Millis,
    pub(crate) body: Bytes,
    pub(crate) explain: Option<EstimateBasis>,
}

/// A query for maps to record, such as `heatmap?symbol=BTC&range=1d`.
///
/// Parameters that it does not name may have any value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedMaps {
    kind: &'static str,
    parameters: Vec<(&'static str, String)>,
}

impl WantedMaps {
    /// Reads the name of an endpoint of maps, optionally with parameters.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for another endpoint, or an invalid parameter.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::market::WantedMaps;
    ///
    /// assert!(WantedMaps::read("heatmap?symbol=BTC&range=1d").is_ok());
    /// assert!(WantedMaps::read("levels").is_ok());
    /// assert!(WantedMaps::read("heatmap?range=1s").is_err());
    /// ```
    pub fn read(text: &str) -> Result<Self, BadQuery> {
        let (name, query) = text.split_once('?').unwrap_or((text, ""));
        let pairs = url::form_urlencoded::parse(query.as_bytes()).into_owned();
        let pairs: Vec<(String, String)> = pairs.collect();
        match name.trim_start_matches("/api/") {
            Heatmap::NAME => Self::of::<Heatmap>(pairs),
            Liqmap::NAME => Self::of::<Liqmap>(pairs),
            Levels::NAME => Self::of::<Levels>(pairs),
            Maxpain::NAME => Self::of::<Maxpain>(pairs),
            _ => {
                let names = [Heatmap::NAME, Liqmap::NAME, Levels::NAME, Maxpain::NAME];
                let allowed = format!(
                    "{}, each with parameters or without, such as heatmap?symbol=BTC",
                    names.join(", ")
                );
                Err(BadQuery::new(
                    "maps",
                    format!("{text:?} is not allowed"),
                    allowed,
                ))
            }
        }
    }

    fn of<E: Endpoint>(mut pairs: Vec<(String, String)>) -> Result<Self, BadQuery> {
        let named: Vec<String> = pairs.iter().map(|(name, _)| name.clone()).collect();
        // Every endpoint of maps has a symbol, which may be any here.
        if !named.iter().any(|name| name == SYMBOL) {
            pairs.push((SYMBOL.to_owned(), "BTC".to_owned()));
        }
        let endpoint = E::from_arguments(&Arguments::from_query(pairs, E::PARAMETERS)?)?;
        let mut parameters = endpoint.to_query();
        parameters.retain(|(name, _)| named.iter().any(|one| one == name));
        Ok(Self {
            kind: E::NAME,
            parameters,
        })
    }

    fn has(&self, map: &ServedMap, query: &[(&'static str, String)]) -> bool {
        let is_like = |wanted: &(&'static str, String)| match wanted.0 {
            SYMBOL => wanted.1.eq_ignore_ascii_case(&map.symbol),
            _ => query.contains(wanted),
        };
        self.kind == map.kind && self.parameters.iter().all(is_like)
    }
}

/// The parameter of the coin.
const SYMBOL: &str = "symbol";

/// Counts of recorded and lost maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MapStatus {
    /// Maps that are durably stored and were not stored before.
    pub recorded: u64,
    /// Maps that were served but not recorded.
    pub lost: u64,
}

#[derive(Debug, Default)]
struct MapCounts {
    waiting: AtomicUsize,
    recorded: AtomicU64,
    lost: AtomicU64,
    /// Whether the last map was lost. Of consecutive losses, only the first is logged.
    losing: AtomicBool,
}

impl MapCounts {
    fn lose(&self, maps: usize, why: &dyn std::fmt::Display) {
        let count = u64::try_from(maps).unwrap_or(u64::MAX);
        self.lost.fetch_add(count, Ordering::Relaxed);
        if !self.losing.swap(true, Ordering::Relaxed) {
            log::warn!(target: "liqdata::archive", "estimated maps are not recorded: {why}");
        }
    }
}

/// Records the estimated maps that servers of an archive send.
///
/// It must run in the process that writes the archive.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
///
/// use liqdata::archive::{Archive, GroupCommitWriter};
/// use liqdata::market::{MapRecorder, Market, WantedMaps};
///
/// # let folder = std::env::temp_dir().join(format!("liqdata-maps-doc-{}", std::process::id()));
/// let keeper = GroupCommitWriter::start(Archive::create_or_open(&folder)?)?;
/// let wanted = vec![WantedMaps::read("heatmap?symbol=BTC")?];
/// let maps = Arc::new(MapRecorder::start(&folder, keeper.queue(), wanted, 1 << 30)?);
/// let market = Market::open(&folder, None)?.keeping(Arc::clone(&maps));
/// // … serve it …
/// maps.finish(std::time::Duration::from_secs(2));
/// keeper.stop()?;
/// # drop(market);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MapRecorder {
    wanted: Vec<WantedMaps>,
    sender: Mutex<Option<Sender<ServedMap>>>,
    thread: JoinHandle<()>,
    counts: Arc<MapCounts>,
}

impl MapRecorder {
    /// Starts to record the `wanted` maps into the archive in the folder `archive`.
    ///
    /// Stops once the maps of a day have `bytes` compressed bytes. The retention of the collector deletes old days.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the archive cannot be read or no thread can be started.
    pub fn start(
        archive: impl AsRef<Path>,
        queue: WriteQueue,
        wanted: Vec<WantedMaps>,
        bytes: u64,
    ) -> Result<Self, ArchiveError> {
        let path = archive.as_ref();
        let recorder = MapWriter {
            archive: Archive::read(path)?,
            queue,
            bytes,
            counts: Arc::default(),
        };
        let counts = Arc::clone(&recorder.counts);
        let (sender, received) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("liqdata-maps".to_owned())
            .spawn(move || recorder.work(&received))
            .map_err(|source| ArchiveError::Io {
                path: path.to_owned(),
                source,
            })?;
        Ok(Self {
            wanted,
            sender: Mutex::new(Some(sender)),
            thread,
            counts,
        })
    }

    /// Whether maps of an endpoint may be recorded.
    pub(crate) fn wants(&self, kind: &str) -> bool {
        self.wanted.iter().any(|one| one.kind == kind)
    }

    /// Queues a map of a query for recording, if it is wanted; never blocks.
    pub(crate) fn record(&self, map: ServedMap, query: &[(&'static str, String)]) {
        if !self.wanted.iter().any(|one| one.has(&map, query)) {
            return;
        }
        let size = map.body.len();
        let waiting = self.counts.waiting.fetch_add(size, Ordering::Relaxed);
        let why = if waiting > 0 && waiting.saturating_add(size) > ROOM {
            "maps arrive faster than they can be written"
        } else {
            let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
            if sender
                .as_ref()
                .is_some_and(|sender| sender.send(map).is_ok())
            {
                return;
            }
            "the archive has been closed"
        };
        self.counts.waiting.fetch_sub(size, Ordering::Relaxed);
        self.counts.lose(1, &why);
    }

    /// Counts so far.
    #[must_use]
    pub fn status(&self) -> MapStatus {
        MapStatus {
            recorded: self.counts.recorded.load(Ordering::Relaxed),
            lost: self.counts.lost.load(Ordering::Relaxed),
        }
    }

    /// Stops accepting maps and waits up to `patience` until the queued maps are durable.
    pub fn finish(&self, patience: Duration) {
        drop(
            self.sender
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
        let until = Instant::now() + patience;
        while !self.thread.is_finished() && Instant::now() < until {
            thread::sleep(LOOK);
        }
    }
}

/// Writes the maps that it receives, on the thread of the recorder.
struct MapWriter {
    archive: Archive,
    queue: WriteQueue,
    bytes: u64,
    counts: Arc<MapCounts>,
}

impl MapWriter {
    fn work(&self, received: &Receiver<ServedMap>) {
        while let Ok(first) = received.recv() {
            let mut bytes = first.body.len();
            let mut maps = vec![first];
            while bytes < TOGETHER
                && let Ok(next) = received.try_recv()
            {
                bytes += next.body.len();
                maps.push(next);
            }
            self.record(maps);
            self.counts.waiting.fetch_sub(bytes, Ordering::Relaxed);
        }
    }

    fn record(&self, maps: Vec<ServedMap>) {
        let sent = maps.len();
        match maps
            .first()
            .map(|first| self.archive.catalog().map_bytes(first.closed))
        {
            Some(Ok(bytes)) if bytes < self.bytes => {}
            Some(Ok(bytes)) => {
                let why = format!("the maps of the day already take {bytes} bytes");
                return self.counts.lose(sent, &why);
            }
            Some(Err(fault)) => return self.counts.lose(sent, &fault),
            None => return,
        }
        let mut rows: Vec<MapRow> = Vec::with_capacity(sent);
        for map in maps {
            match row(map) {
                Ok(row) => rows.push(row),
                Err(fault) => self.counts.lose(1, &fault),
            }
        }
        let sent = rows.len();
        if sent == 0 {
            return;
        }
        let batch = Batch {
            maps: rows,
            ..Batch::default()
        };
        let recorded = self
            .queue
            .send_blocking(batch)
            .and_then(crate::archive::CommitHandle::wait);
        match recorded {
            Ok(done) => {
                let new = u64::try_from(done.maps).unwrap_or(u64::MAX);
                self.counts.recorded.fetch_add(new, Ordering::Relaxed);
                self.counts.losing.store(false, Ordering::Relaxed);
            }
            Err(fault) => self.counts.lose(sent, &fault),
        }
    }
}

/// Converts a map to its archive row.
fn row(map: ServedMap) -> Result<MapRow, Box<dyn std::error::Error>> {
    let explain = map
        .explain
        .as_ref()
        .map(serde_json::to_string)
        .transpose()?;
    Ok(MapRow {
        kind: map.kind.to_owned(),
        symbol: map.symbol,
        params: map.params,
        timestamp: map.closed,
        computed_at: map.computed_at,
        reply: String::from_utf8(map.body.into())?,
        explain,
        version: map.explain.map(|explain| explain.model_version),
    })
}
