//! The row-by-row reader of a historical file.

use std::collections::HashMap;
use std::io::{self, Cursor, Read as _};

use csv::ByteRecord;

use super::format::{Format, UnclearFile};
use super::row::DumpRow;
use super::table::CsvTable;
use super::{binance, hyperliquid, tardis};
use crate::feeds::dumps::cells::{DumpLine, RowError, columns};
use crate::feeds::dumps::content::{LONGEST_CELL, text_of};
use crate::feeds::dumps::detection::{by_header, header, lower, shown, twice, without};
use crate::feeds::dumps::file_name::FileName;
use crate::feeds::dumps::layouts::{
    CryptofeedLiquidations, KnownLayout, bare_header, known_layout,
};
use crate::feeds::dumps::occurrence::Occurrences;
use crate::feeds::dumps::syntax::{
    CsvDialect, CsvRecords, CsvStart, JsonKind, JsonRecords, JsonTableShape, OHLCV,
};
use crate::model::{Millis, Vocabulary, exchange_name};

/// Number of bytes that format detection reads.
const HEAD: u64 = 64 << 10;
/// Maximum number of lines that format detection reads.
const LINES: usize = 400;

/// Reads the rows of one file.
pub struct DumpReader<'a> {
    format: Format,
    span: Option<(Millis, Millis)>,
    source: Source<'a>,
    layout: Option<KnownLayout>,
    decoder: Decoder,
    record: ByteRecord,
    header: Vec<String>,
    is_over: bool,
}

enum Source<'a> {
    Csv(Box<CsvRecords<'a>>),
    Json(Box<JsonRecords<'a>>),
    HyperliquidFills(hyperliquid::HyperliquidFills<'a>),
}

enum Decoder {
    BinanceLiquidations(binance::BinanceLiquidations),
    Metrics(binance::Metrics),
    Klines(binance::Klines),
    TardisLiquidations(tardis::TardisLiquidations),
    Ticker(tardis::Ticker),
    Cryptofeed(CryptofeedLiquidations),
    CsvTable(Box<CsvTable>),
    /// No decoder, because the source already returns decoded rows.
    None,
}

impl std::fmt::Debug for DumpReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

/// The first part of a file: its syntax, its header and its first rows.
struct Begin {
    syntax: Syntax,
    /// Column names in lower case; `None` for a file without a header.
    header: Option<Vec<String>>,
    rows: Vec<Vec<String>>,
}

enum Syntax {
    Csv {
        dialect: CsvDialect,
        titles: usize,
        has_header: bool,
    },
    /// JSON of this shape; the names are the members of its dicts, empty for lists.
    Json(JsonTableShape, Vec<String>),
}

impl Begin {
    /// Reads syntax, header and first rows from the start of a text.
    fn of(text: &str) -> Result<Self, String> {
        if let Some(shape) = JsonTableShape::of(text)? {
            let (names, mut rows) = JsonRecords::start(shape, text, LINES);
            let header = match (shape.kind, rows.first()) {
                (JsonKind::Dicts, _) => lower(&names),
                // Lists of this length have the columns of Binance's klines files.
                (JsonKind::Lists, Some(row)) if row.len() == binance::KLINES_BARE.len() => {
                    binance::KLINES_BARE.map(str::to_owned).to_vec()
                }
                (JsonKind::Lists, Some(row)) if is_named(row) => lower(&rows.remove(0)),
                (JsonKind::Lists, _) => OHLCV.map(str::to_owned).to_vec(),
            };
            return Ok(Self {
                syntax: Syntax::Json(shape, names),
                header: Some(header),
                rows,
            });
        }
        let dialect = CsvDialect::of(text)?;
        let start = CsvStart::of(dialect, text, LINES);
        let titles = start.titles;
        let mut rows = start.lines;
        let first = rows.first().ok_or("it is empty")?;
        let bare = bare_header(first);
        let has_header = bare.is_none() && header(first).is_some();
        let header = bare.or_else(|| header(first));
        if has_header {
            rows.remove(0);
        }
        let syntax = Syntax::Csv {
            dialect,
            titles,
            has_header,
        };
        Ok(Self {
            syntax,
            header,
            rows,
        })
    }
}

impl<'a> DumpReader<'a> {
    /// Opens a file; `format` and `exchange` override what is detected.
    ///
    /// # Errors
    ///
    /// [`UnclearFile`] if the file is not text, if the format is ambiguous, or if required information is missing.
    pub fn open(
        name: &FileName,
        format: Option<Format>,
        exchange: Option<&str>,
        bytes: Box<dyn io::Read + 'a>,
    ) -> Result<Self, UnclearFile> {
        let unclear = |message: String| UnclearFile {
            file: name.shown.clone(),
            message,
        };
        let mut bytes = text_of(bytes).map_err(|why| unclear(why.to_owned()))?;
        let mut head = Vec::new();
        // If reading fails after some bytes, these are decoded first, and the error follows after the last of them.
        let read = bytes.by_ref().take(HEAD).read_to_end(&mut head);
        if let (Err(fault), true) = (&read, head.is_empty()) {
            return Err(unclear(format!("it cannot be read: {fault}")));
        }
        let mark: &[u8] = b"\xEF\xBB\xBF";
        let skipped = if head.starts_with(mark) {
            mark.len()
        } else {
            0
        };
        let text = String::from_utf8_lossy(head.get(skipped..).unwrap_or_default()).into_owned();
        let mut whole = Cursor::new(head);
        whole.set_position(u64::try_from(skipped).unwrap_or_default());
        let rest: Box<dyn io::Read + 'a> = match read {
            Ok(_) => bytes,
            Err(fault) => Box::new(Broken(fault)),
        };
        let bytes: Box<dyn io::Read + 'a> = Box::new(whole.chain(rest));
        let is_fills = hyperliquid::is_fills(text.trim_start());
        if format == Some(Format::HyperliquidFills) || format.is_none() && is_fills {
            let fills = hyperliquid::HyperliquidFills::of(bytes);
            return Ok(Self {
                format: Format::HyperliquidFills,
                span: name.span(),
                source: Source::HyperliquidFills(fills),
                layout: None,
                decoder: Decoder::None,
                record: ByteRecord::new(),
                header: Vec::new(),
                is_over: false,
            });
        }
        let asked = format;
        let begin = Begin::of(&text).map_err(unclear)?;
        let (format, layout) = begin.detect(name, asked).map_err(|why| {
            unclear(match asked {
                Some(format) => format!("as {}: {why}", format.name()),
                None => format!("{why}; formats: {}", Format::spellings()),
            })
        })?;
        let (header, decoder) = begin
            .decoder(name, format, layout.as_ref(), exchange)
            .map_err(|why| unclear(format!("as {}: {why}", format.name())))?;
        let source = match begin.syntax {
            Syntax::Csv {
                dialect,
                titles,
                has_header,
            } => {
                let records = CsvRecords::new(dialect, titles, has_header, bytes);
                Source::Csv(Box::new(records))
            }
            Syntax::Json(shape, names) => {
                Source::Json(Box::new(JsonRecords::new(shape, names, bytes)))
            }
        };
        Ok(Self {
            format,
            span: name.span(),
            source,
            layout,
            decoder,
            record: ByteRecord::new(),
            header,
            is_over: false,
        })
    }

    /// The format of the file.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// Returns the time range in the file's name, if any.
    #[must_use]
    pub fn span(&self) -> Option<(Millis, Millis)> {
        self.span
    }

    /// Whether each row is one line.
    ///
    /// In such a file, an incomplete last line may mean that the file is truncated. JSON has an end mark.
    #[must_use]
    pub fn is_by_lines(&self) -> bool {
        !matches!(self.source, Source::Json(_))
    }

    /// Reads the next line or row, which are numbered from 1.
    ///
    /// The result is the decoded row, `None` if the line adds no row, or an error. Reading stops after an error that
    /// affects the rest of the file.
    pub fn next_line(&mut self) -> Option<(u64, Result<Option<DumpRow>, RowError>)> {
        if self.is_over {
            return None;
        }
        let (line, read) = match &mut self.source {
            Source::Csv(records) => records.next(&mut self.record)?,
            Source::Json(records) => loop {
                let (line, read) = records.next(&mut self.record)?;
                if read.is_ok() && is_header(&self.record, &self.header) {
                    continue;
                }
                break (line, read);
            },
            Source::HyperliquidFills(fills) => {
                let (line, read) = fills.next()?;
                self.is_over = matches!(&read, Err(flaw) if flaw.is_last);
                return Some((line, read.map(Some)));
            }
        };
        let decoded = match read {
            Ok(()) => self.decoded(),
            Err(fault) => {
                self.is_over = fault.is_last;
                Err(fault)
            }
        };
        Some((line, decoded))
    }

    fn decoded(&mut self) -> Result<Option<DumpRow>, RowError> {
        if self.record.len() != self.header.len() {
            let shown = format!("{} cells", self.record.len());
            let reason = match self.source {
                Source::Json(_) => format!(
                    "the row has more or fewer cells than the {} of {}",
                    self.header.len(),
                    self.header.join(", ")
                ),
                _ => "the line has more or fewer cells than the first one".to_owned(),
            };
            return Err(RowError::new(reason, &shown));
        }
        if let Some(cell) = self.record.iter().find(|cell| cell.len() > LONGEST_CELL) {
            let shown = format!("{} bytes", cell.len());
            return Err(RowError::new("a cell is longer than 1 MiB", &shown));
        }
        if let Some(layout) = &self.layout {
            self.record = layout.row(&self.record)?;
        }
        let line = DumpLine(&self.record);
        match &mut self.decoder {
            Decoder::BinanceLiquidations(of) => of.row(line),
            Decoder::Metrics(of) => of.row(line),
            Decoder::Klines(of) => of.row(line),
            Decoder::TardisLiquidations(of) => of.row(line),
            Decoder::Cryptofeed(of) => of.row(line),
            Decoder::CsvTable(of) => of.row(line),
            Decoder::Ticker(of) => return of.row(line),
            Decoder::None => return Ok(None),
        }
        .map(Some)
    }
}

/// A source on which every read fails with this error.
struct Broken(io::Error);

impl io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0.kind(), self.0.to_string()))
    }
}

/// Whether all cells of a JSON list are column names.
fn is_named(row: &[String]) -> bool {
    let is_name = |cell: &String| cell.starts_with(|first: char| first.is_alphabetic());
    row.iter().all(is_name)
}

/// Whether a row repeats the header.
fn is_header(record: &ByteRecord, header: &[String]) -> bool {
    record.len() == header.len()
        && record
            .iter()
            .zip(header)
            .all(|(cell, name)| cell.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
}

impl Begin {
    /// Determines the format, and the layout if a known program wrote the file.
    ///
    /// `asked` is the format that the caller named.
    fn detect(
        &self,
        name: &FileName,
        asked: Option<Format>,
    ) -> Result<(Format, Option<KnownLayout>), String> {
        let is_lists =
            matches!(&self.syntax, Syntax::Json(shape, _) if shape.kind == JsonKind::Lists);
        let Some(header) = &self.header else {
            let line = self.rows.first().ok_or("it is empty")?;
            let format = asked.map_or_else(|| without(name, line), Ok)?;
            refuse_untraded(name, format)?;
            return Ok((format, None));
        };
        if let Some(column) = twice(header) {
            return Err(format!("column {column:?} is given twice; allowed: once"));
        }
        if is_lists && asked.is_none() && OHLCV.iter().eq(header) {
            refuse_untraded(name, Format::CcxtOhlcv)?;
            return Ok((Format::CcxtOhlcv, None));
        }
        let layout = known_layout(name, header, self.rows.first())?;
        let format = match (asked, &layout) {
            (Some(asked), Some(layout)) if asked != layout.format => {
                let (writer, is) = (layout.writer, layout.format.name());
                return Err(format!("its columns match {writer}; give format=\"{is}\""));
            }
            (Some(Format::CcxtOhlcv), _) if !is_lists => {
                return Err("it is not a JSON list of lists".to_owned());
            }
            (Some(asked), _) => asked,
            (None, Some(layout)) => layout.format,
            (None, None) if CryptofeedLiquidations::new(header).is_some() => Format::ForceOrders,
            (None, None) => by_header(name, header, self.rows.first())?,
        };
        refuse_untraded(name, format)?;
        Ok((format, layout))
    }

    /// Returns the column names of the rows, and the decoder of the format.
    fn decoder(
        &self,
        name: &FileName,
        format: Format,
        layout: Option<&KnownLayout>,
        exchange: Option<&str>,
    ) -> Result<(Vec<String>, Decoder), String> {
        let names = |names: &[&str]| {
            let names = names.iter().map(|name| (*name).to_owned());
            names.collect::<Vec<_>>()
        };
        let header = match (&self.header, format) {
            (Some(header), _) => header.clone(),
            (None, Format::BinanceLiquidations) => names(&binance::LIQUIDATIONS_BARE),
            (None, Format::BinanceKlines) => names(&binance::KLINES_BARE),
            (None, _) => return Err("its first line is not a header".to_owned()),
        };
        let missing = || {
            format!(
                "its columns ({}) are not those of this format",
                shown(&header)
            )
        };
        let contract = || {
            name.contract().ok_or(
                "its name does not begin with a contract, as BTCUSDT-1m-2024-01.csv does, and nothing else names the \
                 contract",
            )
        };
        let decoder = match format {
            Format::BinanceLiquidations => {
                Decoder::BinanceLiquidations(binance::BinanceLiquidations {
                    contract: contract()?,
                    columns: columns(&header, binance::LIQUIDATIONS).ok_or_else(missing)?,
                })
            }
            Format::BinanceMetrics => Decoder::Metrics(binance::Metrics {
                columns: columns(&header, binance::METRICS).ok_or_else(missing)?,
            }),
            Format::BinanceKlines => {
                let exchange = exchange.map_or_else(|| "binance".to_owned(), exchange_name);
                let klines = binance::Klines::new(&exchange, &contract()?, &header);
                Decoder::Klines(klines.ok_or_else(missing)?)
            }
            Format::TardisLiquidations => Decoder::TardisLiquidations(tardis::TardisLiquidations {
                common: columns(&header, tardis::COMMON).ok_or_else(missing)?,
                columns: columns(&header, tardis::LIQUIDATIONS).ok_or_else(missing)?,
                seen: Occurrences::new(),
            }),
            Format::TardisDerivativeTicker => Decoder::Ticker(tardis::Ticker {
                common: columns(&header, tardis::COMMON).ok_or_else(missing)?,
                columns: columns(&header, tardis::TICKER).ok_or_else(missing)?,
                last: HashMap::new(),
            }),
            _ => match (CryptofeedLiquidations::new(&header), layout) {
                (Some(liquidations), _) if format == Format::ForceOrders => {
                    Decoder::Cryptofeed(liquidations)
                }
                (_, Some(layout)) => {
                    let rows = layout.rows(&self.rows);
                    let table = CsvTable::new(format, &layout.header, &rows, name, exchange)?;
                    Decoder::CsvTable(Box::new(table))
                }
                _ => {
                    let table = CsvTable::new(format, &header, &self.rows, name, exchange)?;
                    Decoder::CsvTable(Box::new(table))
                }
            },
        };
        Ok((header, decoder))
    }
}

/// Rejects a file of bars if its name says that the prices are not trade prices.
fn refuse_untraded(name: &FileName, format: Format) -> Result<(), String> {
    let is_bars = matches!(
        format,
        Format::Bars | Format::BinanceKlines | Format::CcxtOhlcv | Format::CoinGlassPrices
    );
    match name.untraded().filter(|_| is_bars) {
        Some(what) => Err(format!(
            "its name says that it contains {what}; bars must be made of trade prices"
        )),
        None => Ok(()),
    }
}
