//! Import of files into an archive: rows are read ([`dumps`](crate::feeds::dumps)), converted to those of tables, checked
//! ([`tables`](crate::tables)) and stored ([`Writer::import`](crate::archive::Writer::import)).
//!
//! Accepted rows are stored in lots. A lot is stored completely or not at all, and a stored row is never changed.
//! Therefore, an interrupted import is completed by running it again. Refused rows are counted by reason, with the
//! place of the first row.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use crate::archive::{
    Archive, ArchiveError, Completeness, CoveredTime, GivenOrders, ImportScope, ImportedSession,
    IngestOrigin, PositionRow, RejectedRow, Tables, Writer,
};
use crate::collect::clock::machine;
use crate::collect::import::conversion::{Conversion, ConvertedBatch, TableRows};
use crate::collect::import::file_rows::FileRows;
use crate::collect::import::files::{FileSource, Place, Unopened, sources};
use crate::collect::import::pending_interest::{PendingInterest, ToCoins};
use crate::collect::import::positions::{PositionsFault, archive_positions};
use crate::collect::import::refused::{Refused, refuse, refuse_all};
use crate::feeds::dumps::{FileName, Format, RowError, UnclearFile, detect};
use crate::model::{ALL_EXCHANGES, Millis, ObservedPosition, TimeRange, sort_small};
use crate::tables::{
    BarColumns, ContractBook, ContractSizes, ExchangeAttribution, InputCells, InterestColumns,
    Judge, QuoteRates, RawTable, ReadRows, RowFault, Spacings, TableKind, TotalColumns,
    UnknownExchange, append_orders, bar_table, first, interest_table, order_table, read_positions,
    total_rows,
};

/// Number of rows in a full lot.
const LOT: usize = 250_000;
/// Minimum number of rows of a lot that is stored at the end of a file, before it is full. Less is read again after an
/// interruption.
const WHOLE: usize = 50_000;
/// Number of rows that are checked together.
const CHUNK: usize = 1 << 15;
/// Maximum number of chunks that are read before the rows before them are stored.
const AHEAD: usize = 2;
/// Number of rows from which faults of a whole file are found before anything is written.
const FIRST: usize = 400;
/// How long the rows of a day stay in the journal after the end of the day, in milliseconds.
pub(crate) const LATE: i64 = Millis::HOUR;

/// Files to import, and how to read them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The paths of the files.
    pub paths: Vec<PathBuf>,
    /// The names of files in messages, where they differ from the paths.
    pub names: BTreeMap<PathBuf, String>,
    /// The format of all files; detected for each file if absent.
    pub format: Option<Format>,
    /// The exchange of rows that do not name one.
    pub exchange: Option<String>,
    /// The symbol of the rows of files in which neither a column nor the name of the file has it.
    pub symbol: Option<String>,
    /// Whether rows of exchanges that are unknown to liqdata and to the archive are accepted.
    pub takes_new_exchanges: bool,
    /// The contracts of the archive's bars and open-interest readings, as far as they are known.
    pub contracts: Vec<SeriesContract>,
    /// Exchange rates of other quote currencies, in USD per unit.
    pub rates: QuoteRates,
    /// The sizes of contracts of rows that count contracts.
    pub sizes: ContractSizes,
    /// Whether to write nothing and only count what would be accepted and refused.
    pub is_dry_run: bool,
    /// The origin that is recorded with the rows.
    pub ingest: Option<IngestOrigin>,
}

/// The contract that supplies the bars or the open interest of a coin on an exchange.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SeriesContract {
    /// `bars` or `open_interest`.
    pub table: String,
    /// Exchange, in lower case.
    pub exchange: String,
    /// Coin.
    pub coin: String,
    /// Name of the contract, as its files spell it.
    pub contract: String,
}

impl From<[String; 4]> for SeriesContract {
    fn from([table, exchange, coin, contract]: [String; 4]) -> Self {
        Self {
            table,
            exchange,
            coin,
            contract,
        }
    }
}

/// Why an import failed.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// The format or the exchange of a file is unclear.
    #[error(transparent)]
    UnclearFile(#[from] UnclearFile),
    /// A file cannot be opened.
    #[error(transparent)]
    Unopened(#[from] Unopened),
    /// The given exchange is unknown.
    #[error(transparent)]
    Exchange(#[from] UnknownExchange),
    /// The archive cannot be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// The outcome of an import.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Number of rows that were read.
    pub rows: u64,
    /// Number of rows that are new in the archive.
    pub new: u64,
    /// Number of rows that the archive had already, or that were read twice.
    pub repeated: u64,
    /// Refused rows, by reason.
    pub refused: Vec<Refused>,
    /// The format of each file.
    pub files: Vec<(String, Format)>,
    /// The contracts of the bars and open-interest readings.
    pub contracts: Vec<SeriesContract>,
    /// Files that are truncated or damaged; their rows before the damage are stored.
    pub cut_short: Vec<String>,
    /// Whether the import was interrupted; if so, only stored and refused rows are counted.
    pub is_interrupted: bool,
}

/// A file that was read to its end, with all accepted rows stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The file, as the caller named it.
    pub path: PathBuf,
    /// Number of rows that were read.
    pub rows: u64,
    /// Refused rows, by reason.
    pub refused: Vec<Refused>,
    /// The format of the file, or of each of its members.
    pub files: Vec<(String, Format)>,
    /// The contracts of all bars and open-interest readings read so far.
    pub contracts: Vec<SeriesContract>,
    /// Number of new rows that the import has stored so far.
    pub stored: u64,
}

impl From<Finished> for Ingested {
    /// The outcome of importing the same file again: every accepted row is repeated.
    fn from(file: Finished) -> Self {
        let refused: u64 = file.refused.iter().map(|refused| refused.count).sum();
        Self {
            rows: file.rows,
            new: 0,
            repeated: file.rows.saturating_sub(refused),
            refused: file.refused,
            files: file.files,
            contracts: file.contracts,
            ..Self::default()
        }
    }
}

/// A file that is being read.
#[derive(Debug, Default)]
struct Part {
    read: Finished,
    /// Number of sources in the file that are not read yet.
    left: usize,
    /// Whether the file was reported as finished, or must not be reported.
    is_reported: bool,
    /// Whether a source in the file is truncated or damaged.
    is_cut_short: bool,
}

/// Why the archive rejected a row.
pub(crate) fn reason(rejected: &RejectedRow) -> String {
    let RejectedRow { table, column, .. } = rejected;
    if rejected.differs {
        format!("the archive has the row of {table} with other values")
    } else {
        format!("{table}: {column} cannot be stored exactly")
    }
}

/// Stores files in the archive in the folder `path`, which is created if it is missing.
///
/// `should_continue` gets the number of rows read and returns whether to continue; rows that are already stored stay.
/// `finished` gets each file as soon as all its rows are stored. Open interest is read last, after the bars, and
/// converted or checked by `to_coins`.
///
/// # Errors
///
/// [`IngestError::Exchange`], [`IngestError::UnclearFile`] and [`IngestError::Unopened`] before anything is written;
/// [`IngestError::UnclearFile`] for a file of open interest that has another unit than it states;
/// [`IngestError::Archive`] if another process writes to the archive, or if it cannot be written.
pub fn ingest(
    path: &Path,
    files: &Files,
    should_continue: &mut dyn FnMut(u64) -> bool,
    finished: &mut dyn FnMut(Finished),
    to_coins: &mut ToCoins<'_>,
) -> Result<Ingested, IngestError> {
    let exchange = files.exchange.as_deref();
    let mut attribution = ExchangeAttribution::of(path, files.takes_new_exchanges);
    if let Some(name) = exchange.filter(|name| *name != ALL_EXCHANGES)
        && let Some(unknown) = attribution.unknown(name)?
    {
        return Err(unknown.into());
    }
    let Some((found, parts)) = prepared(files, should_continue)? else {
        return Ok(Ingested {
            is_interrupted: true,
            ..Ingested::default()
        });
    };
    // A new archive is created with its first rows.
    let is_begun = !files.is_dry_run && Archive::read_if_begun(path)?.is_some();
    let writer = is_begun
        .then(|| Archive::create_or_open(path))
        .transpose()?;
    let mut intake = Intake {
        writer,
        attribution,
        rates: &files.rates,
        sizes: &files.sizes,
        should_continue,
        finished,
        to_coins,
        done: Ingested::default(),
        names: Vec::new(),
        parts,
        lot: Lot::default(),
        interest: PendingInterest::default(),
        sessions: Vec::new(),
        book: ContractBook::default(),
        ingest: files.ingest.as_ref(),
        is_dry_run: files.is_dry_run,
        path,
        exchange,
    };
    for known in &files.contracts {
        let SeriesContract {
            table,
            exchange,
            coin,
            contract,
        } = known;
        intake.book.add(table, exchange, coin, contract);
    }
    let is_read = thread::scope(|scope| {
        let (send, rows) = sync_channel(AHEAD);
        let sources = &found;
        thread::Builder::new()
            .name("liqdata-files".to_owned())
            .spawn_scoped(scope, move || read_all(sources, files, &send))
            .map_err(|fault| ArchiveError::of_file(path, fault))?;
        for (source, (format, _), part) in &found {
            let shown = source.name.shown.clone();
            intake.done.files.push((shown.clone(), *format));
            if let Some(part) = intake.parts.get_mut(*part) {
                part.read.files.push((shown.clone(), *format));
            }
            intake.names.push((shown, *part));
            if !intake.file(&rows, *format, source)? {
                return Ok(false);
            }
        }
        Ok::<_, IngestError>(true)
    })?;
    let is_whole = is_read && intake.convert()? && intake.store()?;
    Ok(intake.end(is_whole))
}

/// Rows of a source, or its end.
enum FileChunk {
    /// Lines that are no rows with their errors, and rows.
    Rows(Vec<(u64, RowError)>, Box<ConvertedBatch>),
    /// Whether each row of the source is one line.
    End(bool),
}

/// A chunk, or why the source cannot be read.
type ReadChunk = Result<FileChunk, IngestError>;

/// Reads and converts the rows of all sources, while the rows before them are checked and stored.
fn read_all(sources: &[Source], files: &Files, send: &SyncSender<ReadChunk>) {
    for (source, (_, length), _) in sources {
        let read = source.with(|mut rows| {
            let mut conversion = conversion(source, &rows, files)?;
            conversion.set_length(*length);
            while let Some(mut batch) = rows.next(conversion.wanted(), CHUNK) {
                let faults = std::mem::take(&mut batch.faults);
                let chunk = FileChunk::Rows(faults, Box::new(conversion.convert(batch)?));
                if send.send(Ok(chunk)).is_err() {
                    return Ok(false);
                }
            }
            Ok(send.send(Ok(FileChunk::End(rows.is_by_lines()))).is_ok())
        });
        let fault: IngestError = match read.map(Result::flatten) {
            Ok(Ok(true)) => continue,
            Ok(Ok(false)) => return,
            Ok(Err(message)) => unclear(&source.name, message).into(),
            Err(unopened) => unopened.into(),
        };
        // The receiver is gone if the import was stopped.
        let _ = send.send(Err(fault));
        return;
    }
}

/// The sources of files in the order in which they are read, and the files.
type Prepared = (Vec<Source>, Vec<Part>);

/// A source, its format with the length of its bars, and the index of its file.
type Source = (FileSource, (Format, Option<i64>), usize);

/// Finds the sources and formats of all files, before anything is written. `None` if `should_continue` stopped it.
fn prepared(
    files: &Files,
    should_continue: &mut dyn FnMut(u64) -> bool,
) -> Result<Option<Prepared>, IngestError> {
    let mut found: Vec<Source> = Vec::new();
    let mut parts = Vec::new();
    for (number, file) in files.paths.iter().enumerate() {
        let mut part = Part::default();
        part.read.path.clone_from(file);
        let shown = files.names.get(file).map(String::as_str);
        let shown = shown.map_or_else(|| file.to_string_lossy(), Into::into);
        for mut source in sources(file, &shown)? {
            source.name.given.clone_from(&files.symbol);
            if !should_continue(0) {
                return Ok(None);
            }
            let opened = source.with(|mut rows| {
                let mut conversion = conversion(&source, &rows, files)?;
                // Orders have no length, so one row shows the faults of their columns.
                let is_orders = conversion.table.layout.format.kind() == TableKind::Orders;
                let first = if is_orders { 1 } else { FIRST };
                if let Some(batch) = rows.next(conversion.wanted(), first) {
                    conversion.check(batch)?;
                }
                Ok((conversion.table.layout.format, conversion.length()))
            })?;
            let format = opened
                .flatten()
                .map_err(|message| unclear(&source.name, message))?;
            part.left += 1;
            found.push((source, format, number));
        }
        parts.push(part);
    }
    // Files are sorted by their dates, so that rows of one day are stored together. Open interest comes last, because it
    // is converted and checked with the bars.
    sort_small(&mut found, |one, other| {
        let place = |(source, (format, _), _): &Source| {
            let is_interest = format.kind() == TableKind::OpenInterest;
            (is_interest, format.is_in_usd(), source.name.span())
        };
        place(one).cmp(&place(other))
    });
    Ok(Some((found, parts)))
}

/// Detects the format of a source; the error says why it is unclear.
fn conversion<'a>(
    source: &FileSource,
    rows: &FileRows<'_>,
    files: &'a Files,
) -> Result<Conversion<'a>, String> {
    let table = detect(&source.name, rows.head(), files.format)?;
    let exchange = files.exchange.as_deref();
    Conversion::new(
        table,
        &source.name,
        exchange,
        &files.sizes,
        source.written_at(),
    )
}

fn unclear(name: &FileName, message: String) -> UnclearFile {
    UnclearFile {
        file: name.shown.clone(),
        message,
    }
}

/// Accepted rows that are not stored yet, each with its place in the files.
#[derive(Debug, Default)]
struct Lot {
    orders: GivenOrders,
    bars: BarColumns,
    open_interest: InterestColumns,
    positions: Vec<PositionRow>,
    totals: TotalColumns,
    places: Places,
}

/// The place of each row of a lot.
#[derive(Debug, Default)]
struct Places {
    orders: Vec<Place>,
    bars: Vec<Place>,
    open_interest: Vec<Place>,
    positions: Vec<Place>,
    totals: Vec<Place>,
}

impl Lot {
    fn len(&self) -> usize {
        let Places {
            orders,
            bars,
            open_interest,
            positions,
            totals,
        } = &self.places;
        orders.len() + bars.len() + open_interest.len() + positions.len() + totals.len()
    }
}

/// Stores the rows of files in an archive.
struct Intake<'a> {
    /// `None` in a dry run, and before the first rows of a new archive.
    writer: Option<Writer>,
    is_dry_run: bool,
    attribution: ExchangeAttribution,
    rates: &'a QuoteRates,
    sizes: &'a ContractSizes,
    should_continue: &'a mut dyn FnMut(u64) -> bool,
    finished: &'a mut dyn FnMut(Finished),
    to_coins: &'a mut ToCoins<'a>,
    done: Ingested,
    /// The shown name of each source, and the index of its file in `parts`.
    names: Vec<(String, usize)>,
    parts: Vec<Part>,
    lot: Lot,
    /// Open-interest readings that are not converted or checked yet.
    interest: PendingInterest,
    /// Sessions of completely read sources, which are stored together with their last rows.
    sessions: Vec<ImportedSession>,
    book: ContractBook,
    ingest: Option<&'a IngestOrigin>,
    /// The folder of the archive.
    path: &'a Path,
    /// The exchange of rows that do not name one.
    exchange: Option<&'a str>,
}

impl Intake<'_> {
    /// Takes the rows of a source. Returns false if `should_continue` stopped it.
    fn file(
        &mut self,
        rows: &Receiver<ReadChunk>,
        format: Format,
        source: &FileSource,
    ) -> Result<bool, IngestError> {
        let file = self.names.len().saturating_sub(1);
        let before = self.done.rows;
        let mut read = FileProgress::default();
        let (mut is_whole, mut is_last_sound) = (true, true);
        let mut positions = ReadRows::default();
        let is_by_lines = loop {
            // The reader ends early only if it panics, which the scope of its thread passes on.
            let Ok(received) = rows.recv() else {
                return Ok(false);
            };
            let (faults, chunk) = match received? {
                FileChunk::Rows(faults, chunk) => (faults, *chunk),
                FileChunk::End(is_by_lines) => break is_by_lines,
            };
            let last = chunk.lines.last().copied();
            is_last_sound = faults.last().is_none_or(|(line, _)| Some(*line) < last);
            self.done.rows += (chunk.lines.len() + faults.len()) as u64;
            for (line, fault) in faults {
                is_whole &= !fault.is_last;
                self.refuse(&fault.reason, &fault.shown, (file, line));
            }
            is_last_sound &= !chunk.is_last_unreadable();
            self.done.rows -= chunk.skipped;
            self.done.repeated += chunk.repeated;
            let goes_on = match chunk.rows {
                TableRows::Positions(columns) => {
                    let read = positions_of(columns, &chunk.lines, &mut positions);
                    read.map_err(|message| unclear(&source.name, message))?;
                    true
                }
                rows => self.chunk(ConvertedBatch { rows, ..chunk }, file, &mut read)?,
            };
            if !goes_on || !(self.should_continue)(self.done.rows) {
                return Ok(false);
            }
        };
        self.positions(positions, file, &source.name)?;
        is_whole &= is_last_sound || !(is_by_lines && source.ends_within_a_line());
        // A file of a day without liquidations covers its day, too.
        if format == Format::BinanceLiquidations
            && is_whole
            && read.covered.is_empty()
            && let Some((first, last)) = source.name.span()
        {
            self.sessions.push(ImportedSession {
                exchange: "binance".to_owned(),
                completeness: Completeness::Sampled,
                start: first,
                end: last,
                known_at: last,
            });
        }
        let span = source.name.span().filter(|_| is_whole);
        let span = span.map(|(start, end)| TimeRange::new(start, end));
        self.sessions.extend(read.covered.sessions(span));
        if let Some((name, _)) = self.names.get(file).filter(|_| !is_whole) {
            self.done.cut_short.push(name.clone());
        }
        let read = self.done.rows - before;
        if let Some(part) = part_of(&self.names, &mut self.parts, file) {
            part.read.rows += read;
            part.left = part.left.saturating_sub(1);
            part.is_cut_short |= !is_whole;
        }
        if self.lot.len() >= WHOLE {
            return Ok(self.store()?);
        }
        Ok(true)
    }

    /// Adds the positions of a source to the lot.
    fn positions(
        &mut self,
        positions: ReadRows<Vec<ObservedPosition>>,
        file: usize,
        name: &FileName,
    ) -> Result<(), IngestError> {
        let ReadRows {
            columns, places, ..
        } = positions;
        if columns.is_empty() {
            return Ok(());
        }
        let made = archive_positions(self.path, columns, self.exchange, &mut self.attribution);
        let (rows, found, refused) = made.map_err(|fault| match fault {
            PositionsFault::Archive(fault) => IngestError::Archive(fault),
            PositionsFault::Row((row, column, why)) => {
                let row = places.get(row).copied().unwrap_or_default();
                unclear(name, format!("column {column:?}, row {row}: {why}")).into()
            }
        })?;
        for mut refused in refused {
            let row = refused
                .place
                .rsplit(':')
                .next()
                .and_then(|row| row.parse().ok());
            let row = row.and_then(|row: usize| places.get(row)).copied();
            refused.place = format!("{}:{}", name.shown, row.unwrap_or_default());
            refuse_all(&mut self.done.refused, &refused);
            if let Some(part) = part_of(&self.names, &mut self.parts, file) {
                refuse_all(&mut part.read.refused, &refused);
            }
        }
        let lot = &mut self.lot;
        let lines = found.iter().filter_map(|row| places.get(*row));
        lot.places
            .positions
            .extend(lines.map(|line| (file, *line as u64)));
        lot.positions.extend(rows);
        Ok(())
    }

    /// Checks rows of a source and adds the accepted rows to the lot. Returns false if `should_continue` stopped it.
    fn chunk(
        &mut self,
        chunk: ConvertedBatch,
        file: usize,
        progress: &mut FileProgress,
    ) -> Result<bool, IngestError> {
        let (mut orders, mut bars, mut open_interest, mut totals) = Default::default();
        match chunk.rows {
            TableRows::Orders(read) => orders = read,
            TableRows::Bars(read) => bars = read,
            TableRows::OpenInterest(read) => open_interest = read,
            TableRows::Totals(read) => totals = read,
            TableRows::Positions(_) => {}
        }
        progress.lengths(&mut bars.columns);
        let lines = chunk.lines;
        let (attribution, done) = (&mut self.attribution, self.done.rows);
        let (mut failed, mut is_unknown) = (None, false);
        let mut unknown = |name: &str| match attribution.unknown(name) {
            Ok(unknown) => unknown.map(|unknown| {
                is_unknown = true;
                unknown.in_a_line()
            }),
            Err(fault) => {
                failed.get_or_insert(fault);
                None
            }
        };
        let should_continue = &mut *self.should_continue;
        let mut should_continue = || should_continue(done);
        let mut judge = Judge::new(
            machine(),
            self.rates,
            self.sizes,
            &mut self.book,
            &mut unknown,
            &mut should_continue,
        )
        .of_closed_bars();
        let orders = judge.orders(orders);
        let bars = judge.bars(bars);
        let open_interest = judge.open_interest(open_interest);
        let totals = judge.archived_totals(totals);
        if let Some(fault) = failed {
            return Err(fault.into());
        }
        let (Some(orders), Some(bars), Some(open_interest), Some(totals)) =
            (orders, bars, open_interest, totals)
        else {
            return Ok(false);
        };
        // A file with an unknown exchange does not count as finished, because it can be read again once the name is
        // known.
        if is_unknown && let Some(part) = part_of(&self.names, &mut self.parts, file) {
            part.is_reported = true;
        }
        self.done.repeated += bars.repeated + open_interest.repeated + totals.repeated;
        let mut faults: Vec<&RowFault> = (orders.faults.iter())
            .chain(&bars.faults)
            .chain(&open_interest.faults)
            .chain(&totals.faults)
            .collect();
        faults.sort_by_key(|fault| fault.row);
        for fault in faults {
            let line = lines.get(fault.row).copied().unwrap_or_default();
            self.refuse(&fault.counted(), &fault.shown, (file, line));
        }
        progress.cover(&orders.columns);
        let found_at = |places: &[usize]| -> Vec<Place> {
            let lines = places.iter().filter_map(|row| lines.get(*row));
            lines.map(|line| (file, *line)).collect()
        };
        let lot = &mut self.lot;
        lot.places.orders.extend(found_at(&orders.places));
        lot.places.bars.extend(found_at(&bars.places));
        append_orders(&mut lot.orders, orders.columns);
        lot.bars.append(&bars.columns);
        lot.places.totals.extend(found_at(&totals.places));
        lot.totals.append(&totals.columns);
        let places = found_at(&open_interest.places);
        if !places.is_empty() {
            self.interest.add(open_interest.columns, file, places);
        }
        if self.interest.are_many() && !self.convert()? {
            return Ok(false);
        }
        if self.lot.len() >= LOT {
            self.sessions.extend(progress.sessions());
            return Ok(self.store()?);
        }
        Ok(true)
    }

    /// Stores the lot with its bars, then converts the readings of open interest to coins. Returns false if `should_continue` stopped it.
    fn convert(&mut self) -> Result<bool, IngestError> {
        if self.interest.is_empty() {
            return Ok(true);
        }
        if !self.store()? {
            return Ok(false);
        }
        let (should_continue, read) = (&mut *self.should_continue, self.done.rows);
        let unclear = |names: &[(String, usize)], file: usize, message| {
            let name = names.get(file).map(|(name, _)| name.clone());
            let file = name.unwrap_or_default();
            UnclearFile { file, message }
        };
        let converted = self
            .interest
            .converted(self.to_coins, &mut || should_continue(read))
            .map_err(|(file, message)| unclear(&self.names, file, message))?;
        let Some(converted) = converted else {
            return Ok(false);
        };
        for of_file in converted {
            if let Some(why) = self.interest.fault_of(&of_file) {
                // The readings of the files before this one are valid, so they are stored.
                self.store()?;
                return Err(unclear(&self.names, of_file.file, why).into());
            }
            for (place, why) in &of_file.refused {
                self.refuse(why.reason(), why.why(), *place);
            }
            self.lot.places.open_interest.extend(of_file.places);
            self.lot.open_interest.append(&of_file.readings);
        }
        Ok(true)
    }

    /// The outcome of the import. After an interruption, only stored and refused rows count as read.
    fn end(self, is_whole: bool) -> Ingested {
        let contracts = contracts(&self.book);
        let mut done = Ingested {
            contracts,
            is_interrupted: !is_whole,
            ..self.done
        };
        if !is_whole {
            let refused = done.refused.iter().map(|refused| refused.count);
            done.rows = done.new + done.repeated + refused.sum::<u64>();
        }
        // In the order of the rows, whichever rule found the first fault.
        done.refused.sort_by_key(|refused| {
            let (name, line) = refused.place.rsplit_once(':').unwrap_or_default();
            let file = self.names.iter().position(|(file, _)| file == name);
            (file, line.parse::<u64>().ok())
        });
        done
    }

    fn refuse(&mut self, reason: &str, shown: &str, (file, line): Place) {
        let name = self.names.get(file).map_or("", |(name, _)| name);
        let place = format!("{name}:{line}");
        refuse(&mut self.done.refused, (reason, shown), &place);
        if let Some(part) = part_of(&self.names, &mut self.parts, file) {
            refuse(&mut part.read.refused, (reason, shown), &place);
        }
    }

    /// Reports the files of which all accepted rows are stored.
    fn report_finished(&mut self) {
        if self.is_dry_run {
            return;
        }
        let contracts = contracts(&self.book);
        let waiting = self.interest.files();
        let waiting: BTreeSet<usize> = waiting
            .filter_map(|number| self.names.get(number))
            .map(|(_, part)| *part)
            .collect();
        for (number, part) in self.parts.iter_mut().enumerate() {
            let is_read = part.left == 0 && !waiting.contains(&number);
            if is_read && !part.is_reported && !part.is_cut_short {
                part.is_reported = true;
                (self.finished)(Finished {
                    contracts: contracts.clone(),
                    stored: self.done.new,
                    ..std::mem::take(&mut part.read)
                });
            }
        }
    }

    /// Stores the lot. Returns false if `should_continue` stopped it.
    fn store(&mut self) -> Result<bool, ArchiveError> {
        let mut lot = std::mem::take(&mut self.lot);
        // Equal rows of one file are numbered; those of two files are the same orders.
        lot.orders.is_numbered = true;
        let sessions = std::mem::take(&mut self.sessions);
        if self.is_dry_run {
            self.done.new += lot.len() as u64;
            return Ok(true);
        }
        if self.writer.is_none() && (lot.len() > 0 || !sessions.is_empty()) {
            self.writer = Some(Archive::create_or_open(self.path)?);
        }
        let Some(writer) = &mut self.writer else {
            self.report_finished();
            return Ok(true);
        };
        let (should_continue, read) = (&mut *self.should_continue, self.done.rows);
        let tables = Tables {
            orders: order_table(lot.orders),
            bars: bar_table(lot.bars),
            open_interest: interest_table(lot.open_interest),
            positions: lot.positions,
            totals: total_rows(&lot.totals),
        };
        let scope = ImportScope {
            sessions: &sessions,
            until: machine().back(LATE),
            ingest: self.ingest,
        };
        let (outcome, is_whole) = writer.import(tables, scope, &mut |_| should_continue(read))?;
        self.done.new += outcome.new;
        self.done.repeated += outcome.repeated;
        for rejected in outcome.rejected {
            let places = match rejected.table {
                "orders" => &lot.places.orders,
                "bars" => &lot.places.bars,
                "positions" => &lot.places.positions,
                "totals" => &lot.places.totals,
                _ => &lot.places.open_interest,
            };
            let place = places.get(rejected.row).copied().unwrap_or_default();
            self.refuse(&reason(&rejected), &rejected.message, place);
        }
        if is_whole {
            self.report_finished();
        }
        Ok(is_whole)
    }
}

/// The contracts of the bars and open-interest readings so far.
fn contracts(book: &ContractBook) -> Vec<SeriesContract> {
    book.all()
        .map(|one| one.map(str::to_owned).into())
        .collect()
}

/// The file to which the source with index `number` belongs.
fn part_of<'a>(
    names: &[(String, usize)],
    parts: &'a mut [Part],
    number: usize,
) -> Option<&'a mut Part> {
    let (_, part) = names.get(number)?;
    parts.get_mut(*part)
}

/// Reads positions; the error is the first row that cannot be read.
fn positions_of(
    columns: Vec<(String, InputCells)>,
    lines: &[u64],
    all: &mut ReadRows<Vec<ObservedPosition>>,
) -> Result<(), String> {
    let table = RawTable::new(columns);
    let read = table.and_then(|table| read_positions(&table, &mut || true));
    let read = read.map_err(|fault| format!("column {:?} {}", fault.column, fault.message))?;
    let read = read.unwrap_or_default();
    let line = |row: usize| lines.get(row).copied().unwrap_or_default();
    if let Some(fault) = first(&read.faults) {
        let (column, row) = (fault.column, line(fault.row));
        return Err(format!("column {column:?}, row {row}: {}", fault.message()));
    }
    let places = read.places.iter();
    let places = places.map(|row| usize::try_from(line(*row)).unwrap_or_default());
    all.places.extend(places);
    all.columns.extend(read.columns);
    Ok(())
}

/// What is known of a file that is being read.
#[derive(Debug, Default)]
struct FileProgress {
    covered: CoveredTime,
    /// The length of the bars of each series, and the last one.
    lengths: BTreeMap<(String, String), i64>,
    latest: Option<Millis>,
    is_unsorted: bool,
}

impl FileProgress {
    /// Extends the covered time by orders.
    fn cover(&mut self, orders: &GivenOrders) {
        for (row, (at, received_at)) in orders.timestamp.iter().zip(&orders.received_at).enumerate()
        {
            // The archive refuses such a row.
            if at.0 < 0 {
                continue;
            }
            let exchange = orders.exchange.get(row).unwrap_or_default();
            let completeness = orders.completeness.as_ref();
            let completeness = completeness.and_then(|column| column.get(row).copied());
            let completeness = completeness.unwrap_or(Completeness::Unknown);
            self.covered.add(exchange, completeness, *at, *received_at);
            self.is_unsorted |= self
                .latest
                .is_some_and(|latest| *at < latest.back(Millis::DAY));
            self.latest = self.latest.max(Some(*at));
        }
    }

    /// The sessions of the time that is covered so far.
    ///
    /// A file that is not sorted by time may contain earlier orders, so it covers nothing before its end.
    fn sessions(&mut self) -> Vec<ImportedSession> {
        if self.is_unsorted {
            return Vec::new();
        }
        let sessions = self.covered.sessions(None);
        self.covered.keep_ends();
        sessions
    }

    /// Gives bars without a length that of their series in the rows before.
    fn lengths(&mut self, bars: &mut BarColumns) {
        if bars.interval.iter().all(Option::is_some) {
            return;
        }
        let series = |row: usize| {
            let name = |names: &crate::model::Labels| names.get(row).unwrap_or_default().to_owned();
            (name(&bars.exchange), name(&bars.symbol))
        };
        let mut spacings = Spacings::default();
        for (row, at) in bars.timestamp.iter().enumerate() {
            spacings.add(series(row), *at);
        }
        for (series, length) in spacings.commonest() {
            self.lengths.entry(series).or_insert(length);
        }
        let lengths = bars.interval.iter().enumerate();
        let lengths: Vec<Option<i64>> = lengths
            .map(|(row, length)| length.or_else(|| self.lengths.get(&series(row)).copied()))
            .collect();
        bars.interval = lengths;
    }
}
