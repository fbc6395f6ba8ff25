//! The rows of a file of text: CSV, JSON, or fills of a Hyperliquid node.

use std::io::{self, Cursor, Read as _};

use csv::ByteRecord;

use crate::feeds::dumps::batch::{BatchBuilder, FileBatch};
use crate::feeds::dumps::content::{Broken, LONGEST_CELL, text_of};
use crate::feeds::dumps::layouts::{KLINES, bare_header};
use crate::feeds::dumps::node_fills::{FILL_COLUMNS, NodeFills, is_fills};
use crate::feeds::dumps::row_error::RowError;
use crate::feeds::dumps::syntax::{
    CsvDialect, CsvRecords, CsvStart, JsonKind, JsonRecords, JsonTableShape, OHLCV,
};
use crate::tables::plain_text;

/// Number of bytes from which the syntax is detected.
const HEAD: u64 = 64 << 10;
/// Maximum number of records from which the keys of a JSON text are detected.
const RECORDS: usize = 400;
/// Maximum number of lines among which the first row of a CSV text is searched.
const LINES: usize = 32;

/// The first part of a file: its columns and its first rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileHead {
    /// The column names as the file writes them; `None` for a file without a header.
    pub(crate) header: Option<Vec<String>>,
    /// The cells of the first rows, as text.
    pub(crate) rows: Vec<Vec<String>>,
    /// Whether the rows are JSON lists, which have no names.
    pub(crate) is_lists: bool,
    /// Whether the rows are fills that a Hyperliquid node wrote.
    pub(crate) is_fills: bool,
}

/// Reads the rows of a text in batches.
pub(crate) struct TextRows<'a> {
    source: Source<'a>,
    pub(crate) head: FileHead,
    /// Number of cells of each row.
    width: usize,
    record: ByteRecord,
    is_over: bool,
}

enum Source<'a> {
    Csv(Box<CsvRecords<'a>>),
    Json(Box<JsonRecords<'a>>),
    Fills(NodeFills<'a>),
}

impl std::fmt::Debug for TextRows<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextRows")
            .field("head", &self.head)
            .finish_non_exhaustive()
    }
}

impl<'a> TextRows<'a> {
    /// Detects the syntax of a text; `bytes` are uncompressed. The error says why it is not read.
    pub(crate) fn open(bytes: Box<dyn io::Read + 'a>) -> Result<Self, String> {
        let mut bytes = text_of(bytes)?;
        let mut head = Vec::new();
        // If reading fails after some bytes, these are decoded first, and the error follows after the last of them.
        let read = bytes.by_ref().take(HEAD).read_to_end(&mut head);
        if let (Err(fault), true) = (&read, head.is_empty()) {
            return Err(format!("it cannot be read: {fault}"));
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
        let (source, head) = if is_fills(text.trim_start()) {
            let header = FILL_COLUMNS.map(str::to_owned).to_vec();
            let head = FileHead {
                header: Some(header),
                is_fills: true,
                ..FileHead::default()
            };
            (Source::Fills(NodeFills::of(bytes)), head)
        } else if let Some(shape) = JsonTableShape::of(&text)? {
            let (names, mut rows) = JsonRecords::start(shape, &text, RECORDS);
            let header = match (shape.kind, rows.first()) {
                (JsonKind::Dicts, _) => names.clone(),
                // Lists of this length have the columns of Binance's klines files.
                (JsonKind::Lists, Some(row)) if row.len() == KLINES.len() => {
                    KLINES.map(str::to_owned).to_vec()
                }
                (JsonKind::Lists, Some(row)) if is_named(row) => rows.remove(0),
                (JsonKind::Lists, _) => OHLCV.map(str::to_owned).to_vec(),
            };
            let records = JsonRecords::new(shape, names, bytes);
            let head = FileHead {
                header: Some(header),
                rows,
                is_lists: shape.kind == JsonKind::Lists,
                is_fills: false,
            };
            (Source::Json(Box::new(records)), head)
        } else {
            let dialect = CsvDialect::of(&text)?;
            let start = CsvStart::of(dialect, &text, LINES);
            let mut rows = start.lines;
            let first = rows.first().ok_or("it is empty")?;
            let bare = bare_header(first);
            let has_header = bare.is_none() && is_header(first);
            let header = if has_header {
                Some(rows.remove(0))
            } else {
                bare.map(|names| names.iter().map(|name| (*name).to_owned()).collect())
            };
            let records = CsvRecords::new(dialect, start.titles, has_header, bytes);
            let head = FileHead {
                header,
                rows,
                ..FileHead::default()
            };
            (Source::Csv(Box::new(records)), head)
        };
        let width = head.header.as_ref().or(head.rows.first());
        Ok(Self {
            width: width.map_or(0, Vec::len),
            source,
            head,
            record: ByteRecord::new(),
            is_over: false,
        })
    }

    /// Whether each row is one line.
    ///
    /// In such a file, an incomplete last line may mean that the file is truncated. JSON has an end mark.
    pub(crate) fn is_by_lines(&self) -> bool {
        !matches!(self.source, Source::Json(_))
    }

    /// Reads the `wanted` columns of up to `most` lines; `None` at the end of the file.
    ///
    /// Reading stops after an error that affects the rest of the file.
    pub(crate) fn next(&mut self, wanted: &[usize], most: usize) -> Option<FileBatch> {
        let mut batch = BatchBuilder::new(wanted.len());
        while batch.len() < most && !self.is_over {
            let next = match &mut self.source {
                Source::Csv(records) => records.next(&mut self.record),
                Source::Json(records) => records.next(&mut self.record),
                Source::Fills(fills) => fills.next(&mut self.record),
            };
            let Some((line, read)) = next else {
                self.is_over = true;
                break;
            };
            if read.is_ok() && self.is_repeated_header() {
                continue;
            }
            match read.and_then(|()| self.sound(wanted)) {
                Ok(()) => {
                    let cell = |place: &usize| self.record.get(*place).unwrap_or_default();
                    let cells = wanted.iter().map(cell);
                    // `sound` has checked the cells, so none is replaced by a blank.
                    batch.push(
                        line,
                        cells.map(|cell| plain_text(std::str::from_utf8(cell).unwrap_or_default())),
                    );
                }
                Err(fault) => {
                    self.is_over = fault.is_last;
                    batch.fault(line, fault);
                }
            }
        }
        (batch.len() > 0).then(|| batch.end())
    }

    /// Whether the row of a JSON text repeats the header.
    fn is_repeated_header(&self) -> bool {
        let Some(header) = self.head.header.as_ref() else {
            return false;
        };
        self.head.is_lists
            && self.record.len() == header.len()
            && (self.record.iter().zip(header))
                .all(|(cell, name)| cell.trim_ascii().eq_ignore_ascii_case(name.as_bytes()))
    }

    /// Checks the number and the length of the cells, and the encoding of the wanted ones.
    fn sound(&self, wanted: &[usize]) -> Result<(), RowError> {
        if self.record.len() != self.width {
            let shown = format!("{} cells", self.record.len());
            let reason = match (&self.source, &self.head.header) {
                (Source::Json(_), Some(header)) => format!(
                    "the row has more or fewer cells than the {} of {}",
                    header.len(),
                    header.join(", ")
                ),
                _ => "the line has more or fewer cells than the first one".to_owned(),
            };
            return Err(RowError::new(reason, &shown));
        }
        if self.record.as_slice().len() > LONGEST_CELL
            && let Some(cell) = self.record.iter().find(|cell| cell.len() > LONGEST_CELL)
        {
            let shown = format!("{} bytes", cell.len());
            return Err(RowError::new("a cell is longer than 1 MiB", &shown));
        }
        if self.record.as_slice().is_ascii() {
            return Ok(());
        }
        for place in wanted {
            let cell = self.record.get(*place).unwrap_or_default();
            if std::str::from_utf8(cell).is_err() {
                let header = self.head.header.as_ref();
                let name = header.and_then(|header| header.get(*place));
                let name = name.map_or("a cell", String::as_str);
                return Err(RowError::new(format!("{name}: not UTF-8 text"), ""));
            }
        }
        Ok(())
    }
}

/// Whether all cells of a JSON list are column names.
fn is_named(row: &[String]) -> bool {
    let is_name = |cell: &String| cell.starts_with(|first: char| first.is_alphabetic());
    row.iter().all(is_name)
}

/// Whether the first line of a CSV text is a header.
fn is_header(first: &[String]) -> bool {
    first
        .first()
        .is_some_and(|cell| !cell.starts_with(|first: char| first.is_ascii_digit()))
}
