//! A heatmap while it arrives: the cells of each row are read as soon as the row is there, and its bytes forgotten.
//!
//! What a body needs in memory is then the result and little more. Only plain bodies are read so. Should a surprise come
//! when bytes have been forgotten already, their rows are written out again from the cells, which are exact, and in as
//! many bytes as they took, so that the verdict and the place it names are those of the body as it was sent.

use std::mem;

use memchr::{memchr, memmem};

use super::{Matrix, Members};
use crate::model::HeatmapGrid;
use crate::wire::intake::{Arrived, Feed, Intake};
use crate::wire::quick::Cursor;

const MATRIX: &[u8] = b"\"matrix\"";
/// How much behind the name of the matrix has to be there before its bracket is looked for.
const BEHIND: usize = 16;
/// The most cells that room is made for ahead of those that have come, while the length of the body is unknown.
const AHEAD: usize = 1 << 16;

/// A heatmap on its way in.
#[derive(Debug, Default)]
pub struct Arriving {
    announced: Option<usize>,
    stage: Stage,
    /// Up to the bracket that opens the matrix.
    head: Vec<u8>,
    members: Members,
    rows: Rows,
    /// What has arrived and has not been read.
    rest: Vec<u8>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Stage {
    /// Before the name of the matrix, or at that place.
    #[default]
    Head,
    Named(usize),
    /// Before a row of the matrix.
    Row,
    /// Behind a row of the matrix.
    Separator,
    /// Behind the matrix.
    Tail,
    /// Not as plain as that: all of it is kept.
    Body,
}

/// The rows that have been read.
#[derive(Debug, Default)]
struct Rows {
    cells: Vec<f64>,
    width: usize,
    /// How many bytes each took, with what stood between it and the row before.
    lengths: Vec<usize>,
    /// How many bytes have been read behind the last one.
    behind: usize,
    /// How many cells the axes ask for.
    expected: usize,
}

impl Feed for Arriving {
    fn begin(&mut self, announced: Option<usize>) {
        *self = Self {
            announced,
            ..Self::default()
        };
    }

    fn feed(&mut self, chunk: &[u8]) {
        match self.stage {
            Stage::Head | Stage::Named(_) => {
                // Its last bytes may be the beginning of the name.
                let searched = self.rest.len().saturating_sub(MATRIX.len() - 1);
                self.rest.extend_from_slice(chunk);
                if self.stage == Stage::Head {
                    let unsearched = self.rest.get(searched..).unwrap_or_default();
                    if let Some(at) = memmem::find(unsearched, MATRIX) {
                        self.stage = Stage::Named(searched + at);
                    }
                }
                if let Stage::Named(at) = self.stage
                    && self.rest.len() - at >= MATRIX.len() + BEHIND
                {
                    self.open();
                }
            }
            Stage::Row | Stage::Separator => self.read(chunk),
            Stage::Tail | Stage::Body => self.rest.extend_from_slice(chunk),
        }
    }
}

impl Intake for Arriving {
    type Reply = HeatmapGrid;

    fn finish(mut self, enveloped: bool) -> Arrived<HeatmapGrid> {
        if matches!(self.stage, Stage::Named(_)) {
            self.open();
        }
        if self.stage == Stage::Tail && !enveloped {
            let mut members = mem::take(&mut self.members);
            if tail(&self.rest, &mut members).is_some() && members.whole() {
                let matrix = self.rows.matrix();
                if let Some(sheet) = members.with(matrix) {
                    return match sheet.in_order() {
                        Ok(heatmap) => Arrived::Reply(heatmap),
                        Err(damage) => Arrived::Damage(damage),
                    };
                }
            }
        }
        self.give_up(&[]);
        Arrived::Body(self.rest)
    }
}

impl Arriving {
    /// Reads the head, in which the name of the matrix has appeared.
    fn open(&mut self) {
        let mut members = Members::default();
        let Some(length) = head(&self.rest, &mut members) else {
            self.stage = Stage::Body;
            return;
        };
        self.rows.expected = members.cells();
        // A cell takes two bytes at least, so the body bounds what its axes may ask for.
        let most = self.announced.map_or(AHEAD, |length| length / 2);
        self.rows.cells.reserve_exact(self.rows.expected.min(most));
        self.members = members;
        self.stage = Stage::Row;
        let rest = self.rest.split_off(length);
        self.head = mem::take(&mut self.rest);
        self.read(&rest);
    }

    /// Reads the rows that `chunk` completes and keeps what is left.
    fn read(&mut self, mut chunk: &[u8]) {
        if !self.rest.is_empty() {
            // The row that was cut off ends with the next bracket.
            let Some(end) = memchr(b']', chunk) else {
                self.rest.extend_from_slice(chunk);
                return;
            };
            let (row, behind) = chunk.split_at(end + 1);
            let mut whole = mem::take(&mut self.rest);
            whole.extend_from_slice(row);
            let (used, plain) = self.take_rows(&whole);
            if !plain {
                whole.drain(..used);
                self.rest = whole;
                self.give_up(behind);
                return;
            }
            // Its room serves the next one.
            whole.clear();
            self.rest = whole;
            chunk = behind;
        }
        let (used, plain) = self.take_rows(chunk);
        let unread = chunk.get(used..).unwrap_or_default();
        if plain {
            self.rest.extend_from_slice(unread);
        } else {
            self.give_up(unread);
        }
    }

    /// Reads whole rows and what stands between them: how many bytes, and whether they were plain so far.
    fn take_rows(&mut self, bytes: &[u8]) -> (usize, bool) {
        let mut used = 0;
        loop {
            let unread = bytes.get(used..).unwrap_or_default();
            match self.stage {
                Stage::Row => {
                    let Some(end) = memchr(b']', unread) else {
                        return (used, true);
                    };
                    let row = unread.get(..=end).unwrap_or_default();
                    if self.rows.take(row).is_none() {
                        return (used, false);
                    }
                    used += row.len();
                    self.stage = Stage::Separator;
                }
                Stage::Separator => {
                    let Some(&byte) = unread.first() else {
                        return (used, true);
                    };
                    match byte {
                        b' ' | b'\n' | b'\r' | b'\t' => {}
                        b',' => self.stage = Stage::Row,
                        b']' => self.stage = Stage::Tail,
                        _ => return (used, false),
                    }
                    used += 1;
                    self.rows.behind += 1;
                }
                _ => return (used, true),
            }
        }
    }

    /// Keeps the whole body from here on; `behind` is what follows the bytes that are kept unread.
    fn give_up(&mut self, behind: &[u8]) {
        if !matches!(self.stage, Stage::Head | Stage::Named(_) | Stage::Body) {
            let mut body = mem::take(&mut self.head);
            let rows = mem::take(&mut self.rows);
            rows.write(&mut body, self.stage);
            body.append(&mut self.rest);
            self.rest = body;
        }
        self.rest.extend_from_slice(behind);
        self.stage = Stage::Body;
    }
}

impl Rows {
    /// Takes one row, which ends with the last of `bytes`; `None` where it is not plain, or of another length.
    fn take(&mut self, bytes: &[u8]) -> Option<()> {
        let before = self.cells.len();
        if self.cells.capacity() - before < self.width {
            let missing = self.expected.saturating_sub(before);
            let ahead = missing.min(before.max(AHEAD)).max(self.width);
            self.cells.reserve_exact(ahead);
        }
        let mut from = Cursor::of(bytes);
        let length = from.doubles(&mut self.cells);
        if length.is_none()
            || from.end().is_none()
            || (before > 0 || !self.lengths.is_empty()) && length != Some(self.width)
        {
            self.cells.truncate(before);
            return None;
        }
        self.width = length?;
        self.lengths.push(self.behind + bytes.len());
        self.behind = 0;
        Some(())
    }

    fn matrix(&mut self) -> Matrix {
        Matrix {
            cells: mem::take(&mut self.cells),
            rows: self.lengths.len(),
            width: self.width,
            odd: None,
        }
    }

    /// Writes the rows out again, each in as many bytes as it took, as far as `stage` says they go.
    fn write(&self, body: &mut Vec<u8>, stage: Stage) {
        let mut cells = self.cells.iter();
        let mut text = String::new();
        for (row, length) in self.lengths.iter().enumerate() {
            text.clear();
            text.push_str(if row == 0 { "[" } else { ",[" });
            for (column, cell) in cells.by_ref().take(self.width).enumerate() {
                if column > 0 {
                    text.push(',');
                }
                write_cell(&mut text, *cell);
            }
            pad(&mut text, length.saturating_sub(1));
            text.push(']');
            body.extend_from_slice(text.as_bytes());
        }
        text.clear();
        match stage {
            Stage::Row if !self.lengths.is_empty() => text.push(','),
            Stage::Tail => text.push(']'),
            _ => {}
        }
        pad(&mut text, self.behind);
        body.extend_from_slice(text.as_bytes());
    }
}

/// Writes a number that is read back as the same, in as few bytes as any other way to write it takes.
fn write_cell(text: &mut String, cell: f64) {
    let plain = format!("{cell}");
    let scientific = format!("{cell:e}");
    let whole = whole_mantissa(&scientific);
    let shortest = [&plain, &scientific]
        .into_iter()
        .chain(&whole)
        .min_by_key(|spelling| spelling.len());
    text.push_str(shortest.unwrap_or(&plain));
}

/// `125e8` for `1.25e10`.
fn whole_mantissa(scientific: &str) -> Option<String> {
    let (mantissa, exponent) = scientific.split_once('e')?;
    let (first, decimals) = mantissa.split_once('.')?;
    let exponent = exponent.parse::<i32>().ok()? - i32::try_from(decimals.len()).ok()?;
    Some(format!("{first}{decimals}e{exponent}"))
}

fn pad(text: &mut String, length: usize) {
    while text.len() < length {
        text.push(' ');
    }
}

/// Reads the members before the matrix; how many bytes they take, the bracket that opens the matrix included.
fn head(bytes: &[u8], members: &mut Members) -> Option<usize> {
    let mut from = Cursor::of(bytes);
    from.take(b'{')?;
    loop {
        match from.key()? {
            "matrix" => {
                from.take(b'[')?;
                return Some(bytes.len() - from.left());
            }
            name => members.take(name, &mut from)?,
        }
        if !from.more(b'}')? {
            return None;
        }
    }
}

/// Reads the members behind the matrix and the end.
fn tail(bytes: &[u8], members: &mut Members) -> Option<()> {
    let mut from = Cursor::of(bytes);
    while from.more(b'}')? {
        let name = from.key()?;
        members.take(name, &mut from)?;
    }
    from.end()
}
