//! Incremental heatmap reader: decodes each row on arrival and drops its bytes.
//!
//! The reader needs little more memory than the result. It reads only plain bodies (see `decode::quick`). At the first
//! unexpected byte it writes zeros with the same number of bytes in place of the dropped rows, and buffers the rest of
//! the body. The tolerant reader then reads this body, and the decoded cells replace the zeros. The result and the
//! place of an error equal those of the original body.

use std::mem;

use memchr::{memchr, memmem, memrchr};

use super::matrix::Matrix;
use crate::contract::decode::damage::DecodeError;
use crate::contract::decode::envelope::{settled_reading, tolerant};
use crate::contract::decode::intake::{BodyReader, Feed, Reading};
use crate::contract::decode::quick::Cursor;
use crate::contract::decode::reply::Reply;
use crate::contract::decode::time::InstantPlace;
use crate::contract::estimates::grid_bytes::{MAGIC, grid_of_bytes};
use crate::contract::reply::{Members, Slots};
use crate::model::{HeatmapGrid, Millis};

const MATRIX: &[u8] = b"\"matrix\"";
/// Number of bytes after the matrix name that must arrive before the bracket is looked for.
const BEHIND: usize = 16;
/// Number of bytes searched for the matrix name per step.
const PIECE: usize = 64 << 10;
/// Maximum number of cells reserved at first if the length of the body is unknown.
const AHEAD: usize = 1 << 16;

impl Reply for HeatmapGrid {
    type Fields = Slots<Self>;

    fn of(slots: Slots<Self>) -> Result<Self, DecodeError> {
        slots.settle()
    }

    fn echo(&self) -> Vec<(&'static str, String)> {
        vec![
            ("symbol", self.symbol.clone()),
            ("range", self.range.clone()),
            ("model", self.model.to_string()),
        ]
    }

    fn instants(&mut self, mut visit: impl FnMut(InstantPlace, &mut Millis)) {
        Members::instants(self, &mut visit);
    }

    fn quick(body: &[u8], enveloped: bool) -> Option<Self> {
        if enveloped {
            return None;
        }
        let mut arriving = Arriving::default();
        arriving.begin(Some(body.len()));
        arriving.feed(body);
        arriving.plain()?.settle().ok()
    }

    fn arriving() -> Option<Box<dyn BodyReader<Self>>> {
        Some(Box::<Arriving>::default())
    }
}

/// The decoded members of a plain body.
type HeatmapSlots = <HeatmapGrid as Members>::Slots;

/// The incremental heatmap reader.
#[derive(Debug, Default)]
struct Arriving {
    announced: Option<usize>,
    stage: Stage,
    /// The body up to the opening bracket of the matrix; in stage `Body`, the whole body for the tolerant reader.
    buffer: Vec<u8>,
    /// Index in `buffer` of the zeros that replace dropped rows.
    rewritten: Option<usize>,
    members: HeatmapSlots,
    rows: Rows,
    /// Received bytes after the rows that are not decoded yet.
    rest: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// The name of the matrix has not arrived.
    #[default]
    Head,
    /// The name of the matrix starts at this index of the buffer.
    Named(usize),
    /// Before a row of the matrix.
    Row,
    /// After a row of the matrix.
    Separator,
    /// After the matrix.
    Tail,
    /// The body is not plain, and all its bytes are buffered.
    Body,
    /// The body is not JSON but a heatmap in bytes, and is buffered.
    Bytes,
}

impl Feed for Arriving {
    fn begin(&mut self, announced: Option<usize>) {
        *self = Self {
            announced,
            ..Self::default()
        };
    }

    fn feed(&mut self, mut chunk: &[u8]) {
        if self.buffer.is_empty() && self.stage == Stage::Head && chunk.first() == MAGIC.first() {
            self.stage = Stage::Bytes;
        }
        while matches!(self.stage, Stage::Head | Stage::Named(_)) && !chunk.is_empty() {
            let (piece, behind) = chunk.split_at(PIECE.min(chunk.len()));
            self.search(piece);
            chunk = behind;
        }
        match self.stage {
            Stage::Row | Stage::Separator => self.read(chunk),
            Stage::Tail => self.rest.extend_from_slice(chunk),
            Stage::Head | Stage::Named(_) | Stage::Body | Stage::Bytes => {
                self.buffer.extend_from_slice(chunk);
            }
        }
    }
}

impl BodyReader<HeatmapGrid> for Arriving {
    fn finish(&mut self) -> Result<Reading<HeatmapGrid>, DecodeError> {
        if self.stage == Stage::Bytes {
            return settled_reading(grid_of_bytes(&self.buffer)?);
        }
        if let Some(slots) = self.plain() {
            return settled_reading(slots.settle()?);
        }
        self.give_up(&[]);
        let read = &self.rows.cells;
        let reading = tolerant(&self.buffer, false, |mut slots: Slots<HeatmapGrid>| {
            let matrix = slots.slots.matrix.as_mut();
            if let Some(zeros) = matrix.and_then(|matrix| matrix.cells.get_mut(..read.len())) {
                zeros.copy_from_slice(read);
            }
            slots.settle()
        });
        // For a refusal, `buffered` must return original bytes only: the part before the zeros.
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
    /// Buffers a piece of the head and searches it for the matrix name.
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

    /// Reads the buffered members up to the opening bracket of the matrix.
    fn open(&mut self) {
        let mut from = Cursor::of(&self.buffer);
        if head(&mut self.members, &mut from).is_none() {
            self.stage = Stage::Body;
            return;
        }
        let unread = from.left();
        self.rows.expected = cells(&self.members);
        // A cell takes at least two bytes, so the body length bounds the size of the axes.
        let most = self.announced.map_or(AHEAD, |length| length / 2);
        self.rows.cells.reserve_exact(self.rows.expected.min(most));
        self.stage = Stage::Row;
        let rest = self.buffer.split_off(self.buffer.len() - unread);
        self.read(&rest);
    }

    /// Reads the rows that `chunk` completes and buffers the remaining bytes.
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

    /// The decoded heatmap members, if the whole body was plain.
    fn plain(&mut self) -> Option<Slots<HeatmapGrid>> {
        if matches!(self.stage, Stage::Named(_)) {
            self.open();
        }
        if self.stage != Stage::Tail {
            return None;
        }
        let mut slots = mem::take(&mut self.members);
        tail(&mut slots, &self.rest)?;
        slots.matrix = Some(self.rows.matrix());
        Some(Slots {
            slots,
            success: None,
        })
    }

    /// Switches to buffering for the tolerant reader; `behind` follows the unread bytes.
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

/// The decoded rows of the matrix.
#[derive(Debug, Default)]
struct Rows {
    cells: Vec<f64>,
    count: usize,
    width: usize,
    /// Number of body bytes of these rows and their separators.
    bytes: usize,
    /// Number of cells that the axes imply; 0 if an axis follows the matrix.
    expected: usize,
}

impl Rows {
    /// Reads the rows in `bytes` and their separators.
    ///
    /// Returns the number of bytes read. It is an error if an unexpected byte follows them.
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

    /// Reads one row; `None` if it is not plain or differs in length from the first row.
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

    /// Writes zeros with the same number of rows, cells and bytes as the decoded rows.
    ///
    /// The zeros fit, because each decoded cell took at least two bytes with its separator.
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

/// Reads the members before the matrix, up to its opening bracket.
fn head(slots: &mut HeatmapSlots, from: &mut Cursor<'_>) -> Option<()> {
    from.take(b'{')?;
    loop {
        match from.key()? {
            "matrix" => return from.take(b'['),
            name => <HeatmapGrid as Members>::quick(slots, name, from)?.then_some(())?,
        }
        from.take(b',')?;
    }
}

/// Reads the members after the matrix and the end of the body.
fn tail(slots: &mut HeatmapSlots, bytes: &[u8]) -> Option<()> {
    let mut from = Cursor::of(bytes);
    while from.more(b'}')? {
        let name = from.key()?;
        <HeatmapGrid as Members>::quick(slots, name, &mut from)?.then_some(())?;
    }
    from.end()
}

/// Number of cells that the axes imply; 0 unless both axes have been read.
fn cells(slots: &HeatmapSlots) -> usize {
    let prices = slots.prices.as_ref().map_or(0, Vec::len);
    let times = slots.times.as_ref().map_or(0, Vec::len);
    prices.saturating_mul(times)
}
