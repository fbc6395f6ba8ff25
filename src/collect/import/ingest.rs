//! Bringing the past into an archive: files are read row by row ([`dumps`](crate::feeds::dumps)), gathered, and kept a lot at
//! a time ([`Writer::file`](crate::archive::Writer::file)).
//!
//! A lot is there whole or not at all, and a row that is there already is left as it was, so that whatever cuts an ingest
//! short is made good by doing it again. What is not kept is counted by its reason, with where it stood first.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::archive::{
    Archive, ArchiveError, BarRow, Batch, Completeness, ImportedSession, OpenInterestRow, OrderRow,
    RejectedRow, Writer,
};
use crate::collect::clock::machine;
use crate::collect::import::attribution::{ExchangeAttribution, UNKNOWN, UnknownExchange};
use crate::collect::import::files::{Source, Unopened, sources};
use crate::collect::import::in_usd::{InUsd, ToCoins};
use crate::collect::import::refused::{Refused, refuse};
use crate::collect::import::validation::{latest, of_the_future};
use crate::feeds::dumps::{DumpReader, DumpRow, Format, RowBar, RowOrder, RowReading, UnclearFile};
use crate::model::{Millis, Symbol, Vocabulary, sort_small};

/// Rows that are gathered before they are kept.
const LOT: usize = 250_000;
/// Rows of whole files after which they are kept, so that little is to be read again.
const WHOLE: usize = 50_000;
/// Lines between two looks whether to go on.
const LOOK: u64 = 1024;
/// How long after its end a day is left in the journal.
pub(crate) const LATE: i64 = Millis::HOUR;

/// What is to be ingested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The files.
    pub paths: Vec<PathBuf>,
    /// What messages call them, where that is not their path.
    pub names: BTreeMap<PathBuf, String>,
    /// What they are, where that is known.
    pub format: Option<Format>,
    /// The exchange of rows without one.
    pub exchange: Option<String>,
    /// Whether they may be of an exchange that is not known yet.
    pub takes_new_exchanges: bool,
    /// Of which contracts the archive's bars and readings are known to be.
    pub contracts: Vec<Contract>,
}

/// Of which contract the bars or the open interest of a coin on an exchange are.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Contract {
    /// `bars` or `open_interest`.
    pub table: String,
    /// Exchange, lower case.
    pub exchange: String,
    /// Coin.
    pub coin: String,
    /// The contract as its files spell it.
    pub contract: String,
}

/// Why nothing, or not everything, was ingested.
#[derive(Debug, thiserror::Error)]
pub enum IngestError {
    /// It is not clear what a file is, or something it does not say was not given.
    #[error(transparent)]
    UnclearFile(#[from] UnclearFile),
    /// A file cannot be opened.
    #[error(transparent)]
    Unopened(#[from] Unopened),
    /// The exchange that was named is none that is known.
    #[error(transparent)]
    Exchange(#[from] UnknownExchange),
    /// The archive cannot be written.
    #[error(transparent)]
    Archive(#[from] ArchiveError),
}

/// What became of what was to be ingested.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ingested {
    /// Rows that were read.
    pub rows: u64,
    /// Those that are new in the archive.
    pub new: u64,
    /// Those that were there before, or were read twice.
    pub repeated: u64,
    /// Those that were not kept, by their reasons.
    pub refused: Vec<Refused>,
    /// What each file was taken for.
    pub files: Vec<(String, Format)>,
    /// Of which contracts the bars and readings are.
    pub contracts: Vec<Contract>,
    /// Files that are cut short or damaged: what they have up to there is kept.
    pub cut_short: Vec<String>,
    /// Of which time the orders of tables tell, with what was told before.
    pub told: Vec<ImportedSession>,
    /// Whether it was ended before its end; then the rows are those of which it is settled what became of them.
    pub is_interrupted: bool,
}

/// A file that was read to its end, of which all that can be kept is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Finished {
    /// The file, as it was named.
    pub path: PathBuf,
    /// Rows that were read.
    pub rows: u64,
    /// Those that were not kept, by their reasons.
    pub refused: Vec<Refused>,
    /// What it, or each of its members, was taken for.
    pub files: Vec<(String, Format)>,
    /// Of which contracts the bars and readings are of all that was read so far.
    pub contracts: Vec<Contract>,
}

impl From<Finished> for Ingested {
    /// Read once more it would be this.
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

/// A file on its way.
#[derive(Debug, Default)]
struct Part {
    read: Finished,
    /// Members that are to be read.
    left: usize,
    told: bool,
    /// Whether a member is cut short.
    is_cut_short: bool,
}

/// Why the archive did not keep a row.
pub(crate) fn reason(unfit: &RejectedRow) -> String {
    let RejectedRow { table, column, .. } = unfit;
    if unfit.differs {
        format!("the archive has the row of {table} with other values")
    } else {
        format!("{table}: {column} cannot be kept as it is")
    }
}

/// Brings files into the archive in the folder `path`, which is made where it is missing. `goes_on` is told how many rows have
/// been read, and says whether to go on; where it did not, what was kept until then stays. `finished` is told of each file as
/// soon as it is kept to its end. Open interest in USD comes last, when the bars beside it are there, and is brought to coins by
/// `to_coins`.
///
/// # Errors
///
/// [`IngestError::Exchange`], [`IngestError::UnclearFile`] and [`IngestError::Unopened`] before anything is written, and
/// [`IngestError::UnclearFile`] of a file of open interest in USD that is none; [`IngestError::Archive`] where another writes to
/// the archive or it cannot be written.
pub fn ingest(
    path: &Path,
    files: &Files,
    goes_on: &mut dyn FnMut(u64) -> bool,
    finished: &mut dyn FnMut(Finished),
    to_coins: &mut ToCoins<'_>,
) -> Result<Ingested, IngestError> {
    let exchange = files.exchange.as_deref();
    let mut whose = ExchangeAttribution::of(path, files.takes_new_exchanges);
    if let Some(name) = exchange
        && let Some(unknown) = whose.unknown(name)?
    {
        return Err(unknown.into());
    }
    let mut found: Vec<(Source, Format, usize)> = Vec::new();
    let mut parts = Vec::new();
    for (number, file) in files.paths.iter().enumerate() {
        let mut part = Part::default();
        part.read.path.clone_from(file);
        let shown = files.names.get(file).map(String::as_str);
        let shown = shown.map_or_else(|| file.to_string_lossy(), Into::into);
        for source in sources(file, &shown)? {
            if !goes_on(0) {
                return Ok(Ingested {
                    is_interrupted: true,
                    ..Ingested::default()
                });
            }
            let format = source.with(|bytes| {
                DumpReader::open(&source.name, files.format, exchange, bytes)
                    .map(|rows| rows.format())
            })??;
            part.left += 1;
            found.push((source, format, number));
        }
        parts.push(part);
    }
    // Files of one day are kept together, however many contracts they are of.
    sort_small(&mut found, |one, other| {
        let place = |(source, format, _): &(Source, Format, usize)| {
            (format.is_in_usd(), source.name.span())
        };
        place(one).cmp(&place(other))
    });
    let mut writer = Archive::create_or_open(path)?;
    let mut intake = Intake::new(&mut writer, whose, goes_on, finished, to_coins);
    intake.parts = parts;
    for known in &files.contracts {
        let key = [&known.table, &known.exchange, &known.coin].map(String::clone);
        intake.contracts.insert(key, known.contract.clone());
    }
    for (source, format, part) in &found {
        let shown = source.name.shown.clone();
        intake.done.files.push((shown.clone(), *format));
        if let Some(part) = intake.parts.get_mut(*part) {
            part.read.files.push((shown.clone(), *format));
        }
        intake.names.push((shown, *part));
        let went_on = source.with(|bytes| {
            let rows = DumpReader::open(&source.name, Some(*format), exchange, bytes)?;
            let is_by_lines = rows.is_by_lines();
            intake.file(rows, || is_by_lines && source.ends_within_a_line())
        })??;
        if !went_on {
            return Ok(intake.end(false));
        }
    }
    let is_whole = intake.bring_to_coins()? && intake.keep()?;
    Ok(intake.end(is_whole))
}

/// Where a row stood: the number of its file, and its line there.
type Place = (usize, u64);

/// Where each of the gathered rows stood.
#[derive(Debug, Default)]
struct Places {
    orders: Vec<Place>,
    bars: Vec<Place>,
    open_interest: Vec<Place>,
}

/// The time of which a source tells an exchange's orders so far.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    completeness: Completeness,
    first: Millis,
    last: Millis,
}

/// Rows on their way from files into an archive.
struct Intake<'a> {
    writer: &'a mut Writer,
    whose: ExchangeAttribution,
    goes_on: &'a mut dyn FnMut(u64) -> bool,
    finished: &'a mut dyn FnMut(Finished),
    to_coins: &'a mut ToCoins<'a>,
    done: Ingested,
    /// What is read, as it is shown, and the number of its file among the parts.
    names: Vec<(String, usize)>,
    parts: Vec<Part>,
    rows: Batch,
    places: Places,
    /// Readings in USD that are not brought to coins yet.
    in_usd: InUsd,
    /// What has been read to its end, and is told once its rows are kept.
    told: Vec<ImportedSession>,
    /// Of which contract the bars and the open interest of a coin on an exchange are.
    contracts: HashMap<[String; 3], String>,
    /// Table, exchange, coin and contract of the last row that was.
    latest: Option<(&'static str, [String; 3])>,
}

impl<'a> Intake<'a> {
    fn new(
        writer: &'a mut Writer,
        whose: ExchangeAttribution,
        goes_on: &'a mut dyn FnMut(u64) -> bool,
        finished: &'a mut dyn FnMut(Finished),
        to_coins: &'a mut ToCoins<'_>,
    ) -> Self {
        Self {
            writer,
            whose,
            goes_on,
            finished,
            to_coins,
            done: Ingested::default(),
            names: Vec::new(),
            parts: Vec::new(),
            rows: Batch::default(),
            places: Places::default(),
            in_usd: InUsd::default(),
            told: Vec::new(),
            contracts: HashMap::new(),
            latest: None,
        }
    }

    /// Reads a file; gives whether it came to the end.
    fn file(
        &mut self,
        mut rows: DumpReader<'_>,
        ends_within_a_line: impl FnOnce() -> bool,
    ) -> Result<bool, IngestError> {
        let file = self.names.len().saturating_sub(1);
        let before = self.done.rows;
        let mut stretches: BTreeMap<String, Stretch> = BTreeMap::new();
        let (mut is_whole, mut is_last_sound) = (true, true);
        let latest = latest();
        while let Some((line, read)) = rows.next_line() {
            self.done.rows += 1;
            let place = (file, line);
            is_last_sound = read.is_ok();
            let unfit = match &read {
                Ok(Some(row)) => {
                    let (table, exchange, at) = of_what(row);
                    match self.of_nobody(exchange, file)? {
                        None => of_the_future(table, at, latest),
                        unknown => unknown,
                    }
                }
                _ => None,
            };
            match (unfit, read) {
                (Some((reason, shown)), _) => self.refuse(&reason, &shown, place),
                (None, Ok(Some(DumpRow::Order(row)))) => {
                    stretch(
                        &mut stretches,
                        &row.order.exchange,
                        row.completeness,
                        row.order.timestamp,
                    );
                    self.rows.orders.push(order(row));
                    self.places.orders.push(place);
                }
                (None, Ok(Some(DumpRow::Bar(row)))) => {
                    if self.is_of_one("bars", (&row.exchange, &row.coin, &row.contract), place) {
                        self.rows.bars.push(bar(row));
                        self.places.bars.push(place);
                    }
                }
                (None, Ok(Some(DumpRow::Reading(row)))) => {
                    let of = (&*row.exchange, &*row.coin, &*row.contract);
                    if self.is_of_one("open_interest", of, place) {
                        self.rows.open_interest.push(reading(row));
                        self.places.open_interest.push(place);
                    }
                }
                (None, Ok(Some(DumpRow::ReadingInUsd(row)))) => {
                    let of = (&*row.exchange, &*row.coin, &*row.contract);
                    if self.is_of_one("open_interest", of, place) {
                        self.in_usd.add(row, place);
                        if self.in_usd.are_many() && !self.bring_to_coins()? {
                            return Ok(false);
                        }
                    }
                }
                (None, Ok(None)) => self.done.repeated += 1,
                (None, Err(flaw)) => {
                    is_whole &= !flaw.is_last;
                    self.refuse(&flaw.reason, &flaw.shown, place);
                }
            }
            if self.done.rows.is_multiple_of(LOOK) && !(self.goes_on)(self.done.rows) {
                return Ok(false);
            }
            if self.gathered() >= LOT {
                self.tell(&stretches, None);
                if !self.keep()? {
                    return Ok(false);
                }
            }
        }
        is_whole &= is_last_sound || !ends_within_a_line();
        // Of a day without a line, too, it is told that there was none.
        if rows.format() == Format::BinanceLiquidations
            && is_whole
            && stretches.is_empty()
            && let Some((first, last)) = rows.span()
        {
            let completeness = Completeness::Sampled;
            stretches.insert(
                "binance".to_owned(),
                Stretch {
                    completeness,
                    first,
                    last,
                },
            );
        }
        self.tell(&stretches, rows.span().filter(|_| is_whole));
        if let Some((name, _)) = self.names.get(file).filter(|_| !is_whole) {
            self.done.cut_short.push(name.clone());
        }
        let read = self.done.rows - before;
        if let Some(part) = part_of(&self.names, &mut self.parts, file) {
            part.read.rows += read;
            part.left = part.left.saturating_sub(1);
            part.is_cut_short |= !is_whole;
        }
        if self.gathered() >= WHOLE {
            return Ok(self.keep()?);
        }
        Ok(true)
    }

    /// Takes the readings in USD for what they are in coins, now that the bars that came before are there; gives whether to go
    /// on.
    fn bring_to_coins(&mut self) -> Result<bool, IngestError> {
        if self.in_usd.is_empty() {
            return Ok(true);
        }
        if !self.keep()? {
            return Ok(false);
        }
        let (goes_on, read) = (&mut *self.goes_on, self.done.rows);
        let unclear = |names: &[(String, usize)], file: usize, message| {
            let name = names.get(file).map(|(name, _)| name.clone());
            let file = name.unwrap_or_default();
            UnclearFile { file, message }
        };
        let brought = self
            .in_usd
            .brought(self.to_coins, &mut || goes_on(read))
            .map_err(|(file, message)| unclear(&self.names, file, message))?;
        let Some(brought) = brought else {
            return Ok(false);
        };
        for of_file in brought {
            if let Some(why) = self.in_usd.fault_of(&of_file) {
                // What came before it is readings.
                self.keep()?;
                return Err(unclear(&self.names, of_file.file, why).into());
            }
            for (line, row) in of_file.rows {
                let place = (of_file.file, line);
                match row {
                    Ok(row) => {
                        self.rows.open_interest.push(reading(row));
                        self.places.open_interest.push(place);
                    }
                    Err(left) => self.refuse(left.reason(), left.why(), place),
                }
            }
        }
        Ok(true)
    }

    /// Takes note of the time that rows tell of, which is that of their source where one is known.
    fn tell(&mut self, stretches: &BTreeMap<String, Stretch>, span: Option<(Millis, Millis)>) {
        for (exchange, stretch) in stretches {
            let (start, end) = span.unwrap_or((stretch.first, stretch.last));
            self.told.push(ImportedSession {
                exchange: exchange.clone(),
                completeness: stretch.completeness,
                start: start.min(stretch.first),
                end: end.max(stretch.last),
            });
        }
    }

    /// What became of everything; where it was ended before, of what is settled.
    fn end(self, is_whole: bool) -> Ingested {
        let contracts = self.contracts();
        let mut done = Ingested {
            contracts,
            is_interrupted: !is_whole,
            ..self.done
        };
        if !is_whole {
            let refused = done.refused.iter().map(|refused| refused.count);
            done.rows = done.new + done.repeated + refused.sum::<u64>();
        }
        done
    }

    fn gathered(&self) -> usize {
        self.rows.orders.len() + self.rows.bars.len() + self.rows.open_interest.len()
    }

    /// Why a line is not taken that names an exchange which is not known, and what stands there. Its file is not on record as
    /// read to its end: once the name is known it is read again.
    fn of_nobody(
        &mut self,
        exchange: &str,
        file: usize,
    ) -> Result<Option<(String, String)>, ArchiveError> {
        let Some(unknown) = self.whose.unknown(exchange)? else {
            return Ok(None);
        };
        if let Some(part) = part_of(&self.names, &mut self.parts, file) {
            part.told = true;
        }
        Ok(Some((UNKNOWN.to_owned(), unknown.in_a_line())))
    }

    /// Whether a row is of the contract that the coin's others are of; else it is refused.
    fn is_of_one(
        &mut self,
        table: &'static str,
        (exchange, coin, contract): (&str, &str, &str),
        place: Place,
    ) -> bool {
        // Files are of one contract, most of them.
        if let Some((of, [whose, which, named])) = &self.latest
            && *of == table
            && whose == exchange
            && which == coin
            && named == contract
        {
            return true;
        }
        let key = [table, exchange, coin].map(str::to_owned);
        let first = self
            .contracts
            .entry(key)
            .or_insert_with(|| contract.to_owned());
        if first == contract || is_same_contract(first, contract) {
            self.latest = Some((table, [exchange, coin, contract].map(str::to_owned)));
            return true;
        }
        let reason = format!(
            "{table} of a coin on an exchange are those of one contract, and another one of the coin came before"
        );
        let shown = format!("{contract} after {first}");
        self.refuse(&reason, &shown, place);
        false
    }

    fn refuse(&mut self, reason: &str, shown: &str, (file, line): Place) {
        let name = self.names.get(file).map_or("", |(name, _)| name);
        let place = format!("{name}:{line}");
        refuse(&mut self.done.refused, (reason, shown), &place);
        if let Some(part) = part_of(&self.names, &mut self.parts, file) {
            refuse(&mut part.read.refused, (reason, shown), &place);
        }
    }

    /// Of which contracts the bars and readings are so far.
    fn contracts(&self) -> Vec<Contract> {
        let known = self.contracts.iter();
        let mut contracts: Vec<Contract> = known
            .map(|([table, exchange, coin], contract)| Contract {
                table: table.clone(),
                exchange: exchange.clone(),
                coin: coin.clone(),
                contract: contract.clone(),
            })
            .collect();
        sort_small(&mut contracts, Ord::cmp);
        contracts
    }

    /// Tells of the files of which nothing is left to read or to keep.
    fn tell_finished(&mut self) {
        let contracts = self.contracts();
        let waiting = self.in_usd.files();
        let waiting: BTreeSet<usize> = waiting
            .filter_map(|number| self.names.get(number))
            .map(|(_, part)| *part)
            .collect();
        for (number, part) in self.parts.iter_mut().enumerate() {
            let is_read = part.left == 0 && !waiting.contains(&number);
            if is_read && !part.told && !part.is_cut_short {
                part.told = true;
                (self.finished)(Finished {
                    contracts: contracts.clone(),
                    ..std::mem::take(&mut part.read)
                });
            }
        }
    }

    /// Keeps what was gathered; gives whether it was kept.
    fn keep(&mut self) -> Result<bool, ArchiveError> {
        let rows = std::mem::take(&mut self.rows);
        let places = std::mem::take(&mut self.places);
        let told = std::mem::take(&mut self.told);
        let (goes_on, read) = (&mut *self.goes_on, self.done.rows);
        let filed = self
            .writer
            .file(rows, &told, machine().back(LATE), &mut || goes_on(read))?;
        let Some(filed) = filed else {
            return Ok(false);
        };
        self.done.new += filed.new;
        self.done.repeated += filed.repeated;
        for unfit in filed.rejected {
            let places = match unfit.table {
                "orders" => &places.orders,
                "bars" => &places.bars,
                _ => &places.open_interest,
            };
            let place = places.get(unfit.row);
            let reason = reason(&unfit);
            self.refuse(&reason, &unfit.message, place.copied().unwrap_or_default());
        }
        self.tell_finished();
        Ok(true)
    }
}

/// Whether two spellings are of one contract: `BTCUSDT` and `BTC/USDT:USDT`.
fn is_same_contract(one: &str, other: &str) -> bool {
    let read = |text| Symbol::read(text).map(|read| (read.name().to_owned(), read.kind()));
    let (one, other) = (read(one), read(other));
    one.is_some() && one == other
}

/// Of which table a row is, whose, and when it tells: a bar when it closes.
fn of_what(row: &DumpRow) -> (&'static str, &str, Millis) {
    match row {
        DumpRow::Order(row) => ("orders", &row.order.exchange, row.order.timestamp),
        DumpRow::Bar(row) => ("bars", &row.exchange, row.timestamp.on(row.interval)),
        DumpRow::Reading(row) | DumpRow::ReadingInUsd(row) => {
            ("open_interest", &row.exchange, row.timestamp)
        }
    }
}

/// The part that what is read under this number belongs to.
fn part_of<'a>(
    names: &[(String, usize)],
    parts: &'a mut [Part],
    number: usize,
) -> Option<&'a mut Part> {
    let (_, part) = names.get(number)?;
    parts.get_mut(*part)
}

/// Takes note that an order tells of its time.
fn stretch(
    stretches: &mut BTreeMap<String, Stretch>,
    exchange: &str,
    completeness: Completeness,
    at: Millis,
) {
    if let Some(known) = stretches.get_mut(exchange) {
        known.first = known.first.min(at);
        known.last = known.last.max(at);
    } else {
        let (first, last) = (at, at);
        stretches.insert(
            exchange.to_owned(),
            Stretch {
                completeness,
                first,
                last,
            },
        );
    }
}

/// Without a time of receipt a row of the past counts as received when it was told: an order and a reading when it happened,
/// a bar when it closed.
fn order(row: RowOrder) -> OrderRow {
    OrderRow {
        coin: row.coin,
        price_kind: row
            .price_kind
            .map_or("unknown", Vocabulary::name)
            .to_owned(),
        completeness: row.completeness,
        native_id: row.native_id,
        dedupe_key: row.dedupe_key,
        received_at: row.received_at.unwrap_or(row.order.timestamp),
        order: row.order,
        raw: None,
        group_id: None,
    }
}

fn bar(row: RowBar) -> BarRow {
    let [open, high, low, close] = row.prices;
    BarRow {
        exchange: row.exchange,
        symbol: row.coin,
        interval: row.interval,
        timestamp: row.timestamp,
        open,
        high,
        low,
        close,
        volume: row.volume,
        received_at: row.timestamp.on(row.interval),
    }
}

fn reading(row: RowReading) -> OpenInterestRow {
    OpenInterestRow {
        exchange: row.exchange,
        symbol: row.coin,
        timestamp: row.timestamp,
        open_interest: row.open_interest,
        received_at: row.received_at.unwrap_or(row.timestamp),
    }
}
