//! The line-by-line reader of a file.

use std::collections::HashMap;
use std::io::{self, Cursor, Read as _};
use std::vec;

use csv::ByteRecord;

use super::format::{Format, UnclearFile};
use super::row::DumpRow;
use super::table::CsvTable;
use super::{binance, ccxt, hyperliquid, tardis};
use crate::feeds::dumps::cells::{DumpLine, RowError, columns};
use crate::feeds::dumps::detection::{detect, header};
use crate::feeds::dumps::file_name::FileName;
use crate::model::{Millis, Vocabulary, exchange_name};

/// Bytes that format detection reads.
const HEAD: u64 = 64 << 10;
/// Lines that format detection reads.
const LINES: usize = 400;
/// The largest JSON file in bytes.
const LARGEST: u64 = 1 << 30;

/// The reader of one file.
pub struct DumpReader<'a> {
    format: Format,
    span: Option<(Millis, Millis)>,
    source: Source<'a>,
    decoder: Decoder,
    record: ByteRecord,
    width: usize,
    is_over: bool,
}

enum Source<'a> {
    Csv(Box<csv::Reader<Box<dyn io::Read + 'a>>>),
    Lines(u64, vec::IntoIter<ByteRecord>),
    HyperliquidFills(hyperliquid::HyperliquidFills<'a>),
}

enum Decoder {
    BinanceLiquidations(binance::BinanceLiquidations),
    Metrics(binance::Metrics),
    Klines(binance::Klines),
    TardisLiquidations(tardis::TardisLiquidations),
    Ticker(tardis::Ticker),
    CsvTable(Box<CsvTable>),
    /// The source supplies rows itself.
    None,
}

impl std::fmt::Debug for DumpReader<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Rows")
            .field("format", &self.format)
            .finish_non_exhaustive()
    }
}

impl<'a> DumpReader<'a> {
    /// Opens a file; `format` and `exchange` are the caller's, if known.
    ///
    /// # Errors
    ///
    /// [`UnclearFile`] if the format is ambiguous, or if required information is missing.
    pub fn open(
        name: &FileName,
        format: Option<Format>,
        exchange: Option<&str>,
        mut bytes: Box<dyn io::Read + 'a>,
    ) -> Result<Self, UnclearFile> {
        let unclear = |message: String| UnclearFile {
            file: name.shown.clone(),
            message,
        };
        let mut head = Vec::new();
        // A truncated file is read up to its end, where it reports the error.
        let mut rest: Box<dyn io::Read + 'a> =
            match bytes.by_ref().take(HEAD).read_to_end(&mut head) {
                Ok(_) => bytes,
                Err(fault) if head.is_empty() => {
                    return Err(unclear(format!("it cannot be read: {fault}")));
                }
                Err(fault) => Box::new(Broken(fault)),
            };
        let mark: &[u8] = b"\xEF\xBB\xBF";
        let skipped = if head.starts_with(mark) {
            mark.len()
        } else {
            0
        };
        let text = String::from_utf8_lossy(head.get(skipped..).unwrap_or_default()).into_owned();
        let first = first_lines(&text);
        let found = match format {
            Some(format) => format,
            None => detect(name, &text, &first)
                .map_err(|why| unclear(format!("{why}; formats: {}", Format::spellings())))?,
        };
        let mut whole = Cursor::new(head);
        whole.set_position(u64::try_from(skipped).unwrap_or_default());
        rest = Box::new(whole.chain(rest));
        let (source, width, decoder) = begin(found, name, exchange, &first, rest)
            .map_err(|why| unclear(format!("as {}: {why}", found.name())))?;
        Ok(Self {
            format: found,
            span: name.span(),
            source,
            decoder,
            record: ByteRecord::new(),
            width,
            is_over: false,
        })
    }

    /// The format of the file.
    #[must_use]
    pub fn format(&self) -> Format {
        self.format
    }

    /// The time range in the file's name.
    #[must_use]
    pub fn span(&self) -> Option<(Millis, Millis)> {
        self.span
    }

    /// The next line, numbered from 1: its row, `None` if it adds nothing, or its error. Reading stops at an error
    /// that affects the rest of the file.
    pub fn next_line(&mut self) -> Option<(u64, Result<Option<DumpRow>, RowError>)> {
        if self.is_over {
            return None;
        }
        let line = match &mut self.source {
            Source::Csv(reader) => match reader.read_byte_record(&mut self.record) {
                Ok(true) => self.record.position().map_or(0, csv::Position::line),
                Ok(false) => return None,
                Err(fault) => {
                    self.is_over = true;
                    let line = reader.position().line();
                    let reason = "the file cannot be read from here on: it is cut short or damaged";
                    return Some((line, Err(RowError::last(reason, &fault.to_string()))));
                }
            },
            Source::Lines(line, rest) => {
                self.record = rest.next()?;
                *line += 1;
                *line
            }
            Source::HyperliquidFills(fills) => {
                let (line, read) = fills.next()?;
                self.is_over = matches!(&read, Err(flaw) if flaw.is_last);
                return Some((line, read.map(Some)));
            }
        };
        Some((line, self.decoded()))
    }

    fn decoded(&mut self) -> Result<Option<DumpRow>, RowError> {
        let line = DumpLine(&self.record);
        if self.record.len() != self.width {
            let reason = "the line has more or fewer cells than the first one";
            return Err(RowError::new(
                reason,
                &format!("{} cells", self.record.len()),
            ));
        }
        match &mut self.decoder {
            Decoder::BinanceLiquidations(of) => of.row(line),
            Decoder::Metrics(of) => of.row(line),
            Decoder::Klines(of) => of.row(line),
            Decoder::TardisLiquidations(of) => of.row(line),
            Decoder::CsvTable(of) => of.row(line),
            Decoder::Ticker(of) => return of.row(line),
            Decoder::None => return Ok(None),
        }
        .map(Some)
    }
}

/// A source that fails to read.
struct Broken(io::Error);

impl io::Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0.kind(), self.0.to_string()))
    }
}

/// The cells of the first lines of a text. An incomplete last line is skipped.
fn first_lines(text: &str) -> Vec<Vec<String>> {
    let whole = match text.rfind('\n') {
        Some(end) => text.get(..end).unwrap_or(text),
        None => text,
    };
    let mut reader = plain(whole.as_bytes());
    let lines = reader.records().map_while(Result::ok).take(LINES);
    lines
        .map(|line| line.iter().map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

fn plain<R: io::Read>(bytes: R) -> csv::Reader<R> {
    csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .buffer_capacity(256 << 10)
        .from_reader(bytes)
}

type Begun<'a> = (Source<'a>, usize, Decoder);

/// The decoder for a format, and the number of cells per line.
fn begin<'a>(
    format: Format,
    name: &FileName,
    exchange: Option<&str>,
    first: &[Vec<String>],
    mut bytes: Box<dyn io::Read + 'a>,
) -> Result<Begun<'a>, String> {
    let names = |names: &[&str]| {
        names
            .iter()
            .map(|name| (*name).to_owned())
            .collect::<Vec<_>>()
    };
    if format == Format::HyperliquidFills {
        let fills = hyperliquid::HyperliquidFills::of(bytes);
        return Ok((Source::HyperliquidFills(fills), 0, Decoder::None));
    }
    if format == Format::CcxtOhlcv {
        let mut text = String::new();
        bytes
            .by_ref()
            .take(LARGEST)
            .read_to_string(&mut text)
            .map_err(|fault| format!("it cannot be read: {fault}"))?;
        let lines = ccxt::lines(&text)?;
        let texts = |line: &ByteRecord| {
            let cells = line
                .iter()
                .map(|cell| String::from_utf8_lossy(cell).into_owned());
            cells.collect::<Vec<_>>()
        };
        let first: Vec<Vec<String>> = lines.iter().take(LINES).map(texts).collect();
        let columns = names(&ccxt::COLUMNS);
        let table = CsvTable::new(format, &columns, &first, name, exchange)?;
        let width = columns.len();
        return Ok((
            Source::Lines(0, lines.into_iter()),
            width,
            Decoder::CsvTable(Box::new(table)),
        ));
    }
    let line = first.first().ok_or("it is empty")?;
    let found = header(line);
    let header = match (&found, format) {
        (Some(header), _) => header.clone(),
        (None, Format::BinanceLiquidations) => names(&binance::LIQUIDATIONS_BARE),
        (None, Format::BinanceKlines) => names(&binance::KLINES_BARE),
        (None, _) => return Err("its first line is not a header".to_owned()),
    };
    let missing = || format!("its columns ({}) are not those", header.join(", "));
    let contract = || {
        name.contract().ok_or(
            "its name does not begin with the contract, as BTCUSDT-1m-2024-01.csv does, and nothing else names it",
        )
    };
    let decoder = match format {
        Format::BinanceLiquidations => Decoder::BinanceLiquidations(binance::BinanceLiquidations {
            contract: contract()?,
            columns: columns(&header, binance::LIQUIDATIONS).ok_or_else(missing)?,
        }),
        Format::BinanceMetrics => Decoder::Metrics(binance::Metrics {
            columns: columns(&header, binance::METRICS).ok_or_else(missing)?,
        }),
        Format::BinanceKlines => {
            let exchange = exchange.map_or_else(|| "binance".to_owned(), exchange_name);
            let klines = binance::Klines::new(&exchange, &contract()?, &header)
                .map_err(|flaw| format!("{}: {}", flaw.shown, flaw.reason))?;
            Decoder::Klines(klines.ok_or_else(missing)?)
        }
        Format::TardisLiquidations => Decoder::TardisLiquidations(tardis::TardisLiquidations {
            common: columns(&header, tardis::COMMON).ok_or_else(missing)?,
            columns: columns(&header, tardis::LIQUIDATIONS).ok_or_else(missing)?,
        }),
        Format::TardisDerivativeTicker => Decoder::Ticker(tardis::Ticker {
            common: columns(&header, tardis::COMMON).ok_or_else(missing)?,
            columns: columns(&header, tardis::TICKER).ok_or_else(missing)?,
            last: HashMap::new(),
        }),
        _ => Decoder::CsvTable(Box::new(CsvTable::new(
            format,
            &header,
            first.get(1..).unwrap_or_default(),
            name,
            exchange,
        )?)),
    };
    let mut reader = plain(bytes);
    if found.is_some() {
        // The header was read before, so it is skipped.
        let _ = reader.read_byte_record(&mut ByteRecord::new());
    }
    Ok((Source::Csv(Box::new(reader)), line.len(), decoder))
}
