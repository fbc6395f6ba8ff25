//! A bound for the bytes of one record.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Most bytes of a record: of a line, or of quoted cells over several lines.
pub(crate) const LONGEST_RECORD: u64 = 64 << 20;
/// Most bytes of a cell.
pub(crate) const LONGEST_CELL: usize = 1 << 20;

/// Fails once a record is longer than it may be, so that memory stays bounded.
pub(crate) struct RecordLimit<R> {
    from: R,
    /// Bytes read since the last record.
    read: Rc<Cell<u64>>,
}

impl<R> RecordLimit<R> {
    /// The limited source, and the counter that its caller sets to 0 before each record.
    pub(crate) fn new(from: R) -> (Self, Rc<Cell<u64>>) {
        let read = Rc::new(Cell::new(0));
        let own = Self {
            from,
            read: Rc::clone(&read),
        };
        (own, read)
    }
}

impl<R: Read> Read for RecordLimit<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.read.get() > LONGEST_RECORD {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        let more = self.from.read(into)?;
        let all = self
            .read
            .get()
            .saturating_add(u64::try_from(more).unwrap_or(u64::MAX));
        self.read.set(all);
        Ok(more)
    }
}
