//! Incremental heatmap reader: decodes each row on arrival and drops its bytes.
//!
//! Memory use is little more than the result. Only plain bodies are read this way. If something unexpected follows
//! after rows were dropped, the reader buffers the rest of the body, puts zeros of equal length in place of the
//! dropped rows, and reads all of it with the tolerant reader. The result and the error place are those of the
//! original body. The decoded cells replace the zeros.

use std::mem;

use memchr::{memchr, memmem, memrchr};

use super::matrix::Matrix;
use super::sheet::HeatmapFields;
use crate::model::{HeatmapGrid, Millis};
use crate::wire::damage::DecodeError;
use crate::wire::envelope::{settled_reading, tolerant};
use crate::wire::intake::{BodyReader, Feed, Reading};
use crate::wire::quick::{Cursor, first};
use crate::wire::reply::Reply;
use crate::wire::time::InstantPlace;
use crate::wire::token::AxisInstant;

const MATRIX: &[u8] = b"\"matrix\"";
/// Bytes that must follow the name of the matrix before its bracket is searched.
const BEHIND: usize = 16;
/// Bytes searched for that name per step.
const PIECE: usize = 64 << 10;
/// Most cells reserved in advance while the length of the body is unknown.
const AHEAD: usize = 1 << 16;

impl Reply for HeatmapGrid {
    type Fields = HeatmapFields;

    fn of(sheet: HeatmapFields) -> Result<Self, DecodeError> {
        sheet.in_order()
    }

    fn echo(&self) -> Vec<(&'static str, String)> {
        vec![
            ("symbol", self.symbol.clone()),
            ("range", self.range.clone()),
            ("model", self.model.to_string()),
        ]
    }

    fn instants(&mut self, mut visit: impl FnMut(InstantPlace, &mut Millis)) {
        visit(InstantPlace::Member("updatedAt"), &mut self.updated_at);
        for (place, at) in self.times.iter_mut().enumerate() {
            visit(InstantPlace::Item("times", place), at);
        }
    }

    fn quick(body: &[u8], enveloped: bool) -> Option<Self> {
        if enveloped {
            return None;
        }
        let mut arriving = Arriving::default();
        arriving.begin(Some(body.len()));
        arriving.feed(body);
        arriving.plain()?.in_order().ok()
    }

    fn arriving() -> Option<Box<dyn BodyReader<Self>>> {
        Some(Box::<Arriving>::default())
    }
}

/// The state of a heatmap read.
#[derive(Debug, Default)]
struct Arriving {
    announced: Option<usize>,
    stage: Stage,
    /// Buffered body: up to the bracket that opens the matrix, or all that the tolerant reader gets.
    buffer: Vec<u8>,
    /// Start of the zeros that replace dropped rows.
    rewritten: Option<usize>,
    members: Members,
    rows: Rows,
    /// Received bytes after the rows that are not decoded yet.
    rest: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Before or at the name of the matrix.
    #[default]
    Head,
    Named(usize),
    /// Before a row of the matrix.
    Row,
    /// After a row of the matrix.
    Separator,
    /// After the matrix.
    Tail,
    /// Not plain: the rest is buffered.
    Body,
}

impl Feed for Arriving {
    fn begin(&mut self, announced: Option<usize>) {
        *self = Self {
            announced,
            ..Self::default()
        };
    }

    fn feed(&mut self, mut chunk: &[u8]) {
        while matches!(self.stage, Stage::Head | Stage::Named(_)) && !chunk.is_empty() {
            let (piece, behind) = chunk.split_at(PIECE.min(chunk.len()));
            self.search(piece);
            chunk = behind;
        }
        match self.stage {
            Stage::Row | Stage::Separator => self.read(chunk),
            Stage::Tail => self.rest.extend_from_slice(chunk),
            Stage::Head | Stage::Named(_) | Stage::Body => self.buffer.extend_from_slice(chunk),
        }
    }
}

impl BodyReader<HeatmapGrid> for Arriving {
    fn finish(&mut self) -> Result<Reading<HeatmapGrid>, DecodeError> {
        if let Some(sheet) = self.plain() {
            return settled_reading(sheet.in_order()?);
        }
        self.give_up(&[]);
        let read = &self.rows.cells;
        let reading = tolerant(&self.buffer, false, |mut sheet: HeatmapFields| {
            if let Some(zeros) = sheet.matrix.cells.get_mut(..read.len()) {
                zeros.copy_from_slice(read);
            }
            sheet.in_order()
        });
        // A refusal must show the original bytes.
        if let Ok(Reading::Refused { .. }) = reading {
            self.buffer.truncate(self.rewritten.unwrap_or(usize::MAX));
        }
        reading
    }

    fn buffered(&self) -> &[u8] {
        &self.buffer
    }
}

impl Arriving {
    /// Searches a piece of the head for the name of the matrix.
    fn search(&mut self, piece: &[u8]) {
        // The end of the previous piece may be the start of the name.
        let searched = self.buffer.len().saturating_sub(MATRIX.len() - 1);
        self.buffer.extend_from_slice(piece);
        if self.stage == Stage::Head {
            let unsearched = self.buffer.get(searched..).unwrap_or_default();
            if let Some(at) = memmem::find(unsearched, MATRIX) {
                self.stage = Stage::Named(searched + at);
            }
        }
        if let Stage::Named(at) = self.stage
            && self.buffer.len() - at >= MATRIX.len() + BEHIND
        {
            self.open();
        }
    }

    /// Reads the head, which contains the name of the matrix.
    fn open(&mut self) {
        let mut from = Cursor::of(&self.buffer);
        if self.members.head(&mut from).is_none() {
            self.stage = Stage::Body;
            return;
        }
        let unread = from.left();
        self.rows.expected = self.members.cells();
        // A cell takes at least two bytes, so the body length bounds the size of the axes.
        let most = self.announced.map_or(AHEAD, |length| length / 2);
        self.rows.cells.reserve_exact(self.rows.expected.min(most));
        self.stage = Stage::Row;
        let rest = self.buffer.split_off(self.buffer.len() - unread);
        self.read(&rest);
    }

    /// Reads the rows that `chunk` completes and buffers the rest.
    fn read(&mut self, mut chunk: &[u8]) {
        if !self.rest.is_empty() {
            // A partial row ends at the next bracket.
            let Some(end) = memchr(b']', chunk) else {
                self.rest.extend_from_slice(chunk);
                return;
            };
            let (row, behind) = chunk.split_at(end + 1);
            let mut whole = mem::take(&mut self.rest);
            whole.extend_from_slice(row);
            let used = self.rows.take(&whole, &mut self.stage);
            whole.drain(..used.unwrap_or_else(|used| used));
            // Reuse the buffer for the next partial row.
            self.rest = whole;
            if used.is_err() {
                self.give_up(behind);
                return;
            }
            chunk = behind;
        }
        let complete = memrchr(b']', chunk).map_or(0, |end| end + 1);
        let (complete, behind) = chunk.split_at(complete);
        let used = self.rows.take(complete, &mut self.stage);
        let unread = complete.get(used.unwrap_or_else(|used| used)..);
        self.rest.extend_from_slice(unread.unwrap_or_default());
        if used.is_ok() {
            self.rest.extend_from_slice(behind);
        } else {
            self.give_up(behind);
        }
    }

    /// The decoded sheet, if the whole body was plain.
    fn plain(&mut self) -> Option<HeatmapFields> {
        if matches!(self.stage, Stage::Named(_)) {
            self.open();
        }
        if self.stage != Stage::Tail {
            return None;
        }
        let mut members = mem::take(&mut self.members);
        members.tail(&self.rest)?;
        members.with(|| self.rows.matrix())
    }

    /// Buffers the body from here on; `behind` follows the unread bytes.
    fn give_up(&mut self, behind: &[u8]) {
        if matches!(self.stage, Stage::Row | Stage::Separator | Stage::Tail) {
            self.rewritten = Some(self.buffer.len());
            self.rows.stand_in(&mut self.buffer, self.stage);
        }
        self.stage = Stage::Body;
        self.buffer.append(&mut self.rest);
        self.buffer.extend_from_slice(behind);
    }
}

/// The decoded rows.
#[derive(Debug, Default)]
struct Rows {
    cells: Vec<f64>,
    count: usize,
    width: usize,
    /// Bytes of the rows and their separators.
    bytes: usize,
    /// Number of cells by the axes.
    expected: usize,
}

impl Rows {
    /// Reads the rows in `bytes` and their separators. Returns the bytes up to the end of the matrix, or up to the
    /// first unexpected byte as an error.
    fn take(&mut self, bytes: &[u8], stage: &mut Stage) -> Result<usize, usize> {
        let mut from = Cursor::of(bytes);
        let used = loop {
            let used = bytes.len() - from.left();
            match *stage {
                Stage::Row if self.row(&mut from).is_some() => *stage = Stage::Separator,
                Stage::Separator if from.end().is_some() => break Ok(bytes.len()),
                Stage::Separator if from.takes(b',') => *stage = Stage::Row,
                Stage::Separator if from.takes(b']') => *stage = Stage::Tail,
                Stage::Row if bytes.is_empty() => break Ok(0),
                Stage::Tail => break Ok(used),
                _ => break Err(used),
            }
        };
        self.bytes += used.unwrap_or_else(|used| used);
        used
    }

    /// Reads one row; `None` if it is not plain or has another length.
    fn row(&mut self, from: &mut Cursor<'_>) -> Option<()> {
        let before = self.cells.len();
        if self.cells.capacity() - before < self.width {
            let missing = self.expected.saturating_sub(before);
            let ahead = missing.min(before.max(AHEAD)).max(self.width);
            self.cells.reserve_exact(ahead);
        }
        let width = from.doubles(&mut self.cells);
        if width.is_none() || self.count > 0 && width != Some(self.width) {
            self.cells.truncate(before);
            return None;
        }
        self.width = width?;
        self.count += 1;
        Some(())
    }

    fn matrix(&mut self) -> Matrix {
        Matrix::even(mem::take(&mut self.cells), self.count, self.width)
    }

    /// Writes rows of zeros with the same number of rows and bytes; a cell and its separator take at least two bytes.
    fn stand_in(&self, body: &mut Vec<u8>, stage: Stage) {
        let end = body.len() + self.bytes;
        for row in 0..self.count {
            body.extend_from_slice(if row == 0 { b"[" } else { b",[" });
            for cell in 0..self.width {
                body.extend_from_slice(if cell == 0 { b"0" } else { b",0" });
            }
            body.push(b']');
        }
        match stage {
            Stage::Row if self.count > 0 => body.push(b','),
            Stage::Tail => body.push(b']'),
            _ => {}
        }
        body.resize(end, b' ');
    }
}

/// The decoded members of a plain body, each at most once.
#[derive(Debug, Default)]
struct Members {
    symbol: Option<String>,
    range: Option<String>,
    model: Option<i64>,
    updated_at: Option<i64>,
    current_price: Option<f64>,
    prices: Option<Vec<f64>>,
    times: Option<Vec<AxisInstant>>,
}

impl Members {
    /// Reads the members before the matrix, up to its opening bracket.
    fn head(&mut self, from: &mut Cursor<'_>) -> Option<()> {
        from.take(b'{')?;
        loop {
            match from.key()? {
                "matrix" => return from.take(b'['),
                name => self.take(name, from)?,
            }
            from.take(b',')?;
        }
    }

    /// Reads the members after the matrix and the end of the body.
    fn tail(&mut self, bytes: &[u8]) -> Option<()> {
        let mut from = Cursor::of(bytes);
        while from.more(b'}')? {
            let name = from.key()?;
            self.take(name, &mut from)?;
        }
        from.end()
    }

    /// Reads the member `name`, other than the matrix; times must be integers.
    fn take(&mut self, name: &str, from: &mut Cursor<'_>) -> Option<()> {
        match name {
            "symbol" => first(&mut self.symbol, from.string().map(str::to_owned)),
            "range" => first(&mut self.range, from.string().map(str::to_owned)),
            "model" => first(&mut self.model, from.whole()),
            "updatedAt" => first(&mut self.updated_at, from.whole()),
            "currentPrice" => first(&mut self.current_price, from.double()),
            "prices" => {
                let mut cells = Vec::new();
                from.doubles(&mut cells)?;
                first(&mut self.prices, Some(cells))
            }
            "times" => {
                let time = |from: &mut Cursor<'_>| from.whole().map(Millis).map(AxisInstant);
                first(&mut self.times, from.list(time))
            }
            _ => None,
        }
    }

    /// Number of cells by the axes, as far as known.
    fn cells(&self) -> usize {
        let prices = self.prices.as_ref().map_or(0, Vec::len);
        let times = self.times.as_ref().map_or(0, Vec::len);
        prices.saturating_mul(times)
    }

    /// The complete sheet, if only the matrix is missing.
    fn with(self, matrix: impl FnOnce() -> Matrix) -> Option<HeatmapFields> {
        Some(HeatmapFields {
            success: None,
            symbol: self.symbol?,
            range: self.range?,
            model: self.model?,
            updated_at: Millis(self.updated_at?),
            current_price: self.current_price?,
            prices: self.prices?,
            times: self.times?,
            matrix: matrix(),
        })
    }
}
