//! A limit on the length of one record.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

/// Maximum length of a record in bytes.
///
/// A record is a line, or several lines if quoted cells contain line breaks.
pub(crate) const LONGEST_RECORD: u64 = 64 << 20;
/// Maximum length of a cell in bytes.
pub(crate) const LONGEST_CELL: usize = 1 << 20;

/// A source that fails once a record exceeds the maximum length.
///
/// This bounds the memory use.
pub(crate) struct RecordLimit<R> {
    from: R,
    /// Bytes read since the start of the current record.
    read: Rc<Cell<u64>>,
}

impl<R> RecordLimit<R> {
    /// Wraps `from`; also returns the byte counter, which the caller resets to 0 before each record.
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
