//! Reading of delimited text as records of limited length.
//!
//! Title lines and repeated headers are skipped.

use std::cell::Cell;
use std::io::Read;
use std::rc::Rc;

use csv::ByteRecord;

use crate::feeds::dumps::content::{LONGEST_RECORD, RecordLimit};
use crate::feeds::dumps::row_error::RowError;
use crate::feeds::dumps::syntax::csv_dialect::CsvDialect;

/// Reads the records of delimited text.
pub(crate) struct CsvRecords<'a> {
    reader: csv::Reader<RecordLimit<Box<dyn Read + 'a>>>,
    dialect: CsvDialect,
    /// Bytes read since the start of the current record.
    read: Rc<Cell<u64>>,
    /// Title lines and header, which are skipped wherever they are repeated.
    skipped: Vec<ByteRecord>,
}

/// The first lines of a text, split into cells.
pub(crate) struct CsvStart {
    /// Number of title lines before the header.
    pub(crate) titles: usize,
    /// The lines after the title lines.
    pub(crate) lines: Vec<Vec<String>>,
}

impl CsvStart {
    /// Reads the first lines of a text, at most `most`; an incomplete last line is omitted.
    pub(crate) fn of(dialect: CsvDialect, text: &str, most: usize) -> Self {
        let whole = match text.rfind('\n') {
            Some(end) => text.get(..end).unwrap_or(text),
            None => text,
        };
        let mut reader = dialect.reader(whole.as_bytes());
        let lines = reader.records().map_while(Result::ok).take(most);
        let mut lines: Vec<Vec<String>> = lines
            .map(|line| line.iter().map(|cell| cell.trim().to_owned()).collect())
            .collect();
        let mut titles = 0;
        while let [first, second, ..] = lines.as_slice()
            && is_title(first)
            && second.iter().filter(|cell| !cell.is_empty()).count() > 2
        {
            lines.remove(0);
            titles += 1;
        }
        Self { titles, lines }
    }
}

/// Whether a line has at most one cell that is not empty.
fn is_title(line: &[String]) -> bool {
    line.iter().filter(|cell| !cell.is_empty()).count() < 2
}

impl<'a> CsvRecords<'a> {
    /// Creates a reader that starts after title lines and header.
    pub(crate) fn new(
        dialect: CsvDialect,
        titles: usize,
        has_header: bool,
        bytes: Box<dyn Read + 'a>,
    ) -> Self {
        let (limited, read) = RecordLimit::new(bytes);
        let mut own = Self {
            reader: dialect.reader(limited),
            dialect,
            read,
            skipped: Vec::new(),
        };
        for _ in 0..titles + usize::from(has_header) {
            let mut line = ByteRecord::new();
            own.read.set(0);
            // The error is returned again when the next record is read.
            let _ = own.reader.read_byte_record(&mut line);
            own.skipped.push(line);
        }
        own
    }

    /// Returns the number of the line that begins at a position.
    fn line(&self, position: &csv::Position) -> u64 {
        let is_behind = self.dialect.has_returns && position.byte() > 0;
        position.line() + u64::from(is_behind)
    }

    /// Reads the next record; returns its line number, and its error if it cannot be read.
    pub(crate) fn next(&mut self, record: &mut ByteRecord) -> Option<(u64, Result<(), RowError>)> {
        loop {
            let begin = self.line(self.reader.position());
            self.read.set(0);
            match self.reader.read_byte_record(record) {
                Ok(true) => {}
                Ok(false) => return None,
                Err(fault) => {
                    let fault = if self.read.get() > LONGEST_RECORD {
                        let reason =
                            "the line is longer than 64 MiB, or a quotation mark is never closed";
                        RowError::last(reason, "")
                    } else {
                        RowError::unreadable(&fault.to_string())
                    };
                    return Some((begin, Err(fault)));
                }
            }
            if self.skipped.iter().any(|line| is_equal(line, record)) {
                continue;
            }
            let line = record
                .position()
                .map_or(begin, |position| self.line(position));
            return Some((line, self.dialect.with_points(record)));
        }
    }
}

/// Whether two records are equal apart from letter case and surrounding whitespace.
fn is_equal(one: &ByteRecord, other: &ByteRecord) -> bool {
    one.len() == other.len()
        && one
            .iter()
            .zip(other)
            .all(|(one, other)| one.trim_ascii().eq_ignore_ascii_case(other.trim_ascii()))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::dumps::syntax::csv_records::*;

    fn read(text: &str) -> (Vec<Vec<String>>, Vec<(u64, String)>) {
        let dialect = CsvDialect::of(text).unwrap();
        let start = CsvStart::of(dialect, text, 100);
        let bytes: Box<dyn Read> = Box::new(text.as_bytes());
        let mut records = CsvRecords::new(dialect, start.titles, true, bytes);
        let mut record = ByteRecord::new();
        let mut found = Vec::new();
        while let Some((line, read)) = records.next(&mut record) {
            read.unwrap();
            let cells = record.iter().map(String::from_utf8_lossy);
            found.push((line, cells.collect::<Vec<_>>().join(" ")));
        }
        (start.lines, found)
    }

    #[test]
    fn titles_and_repeated_headers_are_no_records() {
        let text = "https://example.org\r\nTime,Price,Qty\r\n1,2,3\r\nhttps://example.org\r\ntime,price,qty\r\n4,5,6\r\n";
        let (lines, found) = read(text);
        assert_eq!(lines.first().unwrap(), &["Time", "Price", "Qty"]);
        assert_eq!(found, [(3, "1 2 3".to_owned()), (6, "4 5 6".to_owned())]);
    }

    #[test]
    fn an_endless_line_and_an_open_quotation_mark_end_the_file() {
        for (begin, filling) in [("a,b\n1,", b'x'), ("a,b\n1,\"", b'\n')] {
            let endless = std::io::repeat(filling).take(LONGEST_RECORD * 3);
            let bytes: Box<dyn Read> = Box::new(begin.as_bytes().chain(endless));
            let dialect = CsvDialect::of("a,b\n").unwrap();
            let mut records = CsvRecords::new(dialect, 0, true, bytes);
            let (line, read) = records.next(&mut ByteRecord::new()).unwrap();
            let fault = read.unwrap_err();
            assert_eq!((line, fault.is_last), (2, true));
            assert!(fault.reason.contains("64 MiB"), "{}", fault.reason);
        }
    }
}
