//! Detection of separator and decimal mark in delimited text.

use csv::ByteRecord;

use crate::feeds::dumps::row_error::RowError;

/// Supported separators of cells; a comma is the most common.
const SEPARATORS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Number of lines among which the header is searched.
const TITLES: usize = 4;
/// Maximum number of lines from which the decimal mark is detected.
const LINES: usize = 200;

/// The separator between cells, and the decimal mark of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CsvDialect {
    pub(crate) separator: u8,
    pub(crate) has_decimal_commas: bool,
    /// Whether lines end in a carriage return; the CSV library counts the line feed after it as part of the next line.
    pub(crate) has_returns: bool,
}

impl CsvDialect {
    /// Detects the dialect of a text.
    ///
    /// The error says that tabs separate the cells, or that commas may be decimal marks or group thousands.
    pub(crate) fn of(text: &str) -> Result<Self, String> {
        let separator = separator(text);
        if separator == b'\t' {
            return Err(
                "its columns are separated by tabs; separate them by commas or semicolons"
                    .to_owned(),
            );
        }
        let mut dialect = Self {
            separator,
            has_decimal_commas: false,
            has_returns: text
                .split('\n')
                .next()
                .is_some_and(|line| line.ends_with('\r')),
        };
        if separator == b',' {
            return Ok(dialect);
        }
        let mut reader = dialect.reader(text.as_bytes());
        let lines = reader.records().map_while(Result::ok).take(LINES);
        let (mut points, mut commas, mut thousands) = (0_usize, 0_usize, None);
        for line in lines {
            for cell in line.iter().map(str::trim) {
                points += usize::from(parts(cell, '.').is_some());
                if let Some((whole, fraction)) = parts(cell, ',') {
                    commas += 1;
                    let is_group =
                        fraction.len() == 3 && !whole.starts_with('0') && whole.len() < 4;
                    if is_group && thousands.is_none() {
                        thousands = Some(cell.to_owned());
                    } else if !is_group {
                        // One number without exactly three digits after the comma shows that commas are decimal marks.
                        thousands = Some(String::new());
                    }
                }
            }
        }
        if let Some(cell) = thousands.filter(|cell| points == 0 && !cell.is_empty()) {
            return Err(format!(
                "its numbers have a comma before three digits ({cell}), which is a decimal comma or groups thousands; \
                 write them with a decimal point"
            ));
        }
        dialect.has_decimal_commas = commas > 0 && points == 0;
        Ok(dialect)
    }

    /// Creates a CSV reader for this dialect.
    pub(crate) fn reader<R: std::io::Read>(self, bytes: R) -> csv::Reader<R> {
        csv::ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(self.separator)
            .buffer_capacity(64 << 10)
            .from_reader(bytes)
    }

    /// Replaces the decimal commas of a record with points.
    pub(crate) fn with_points(self, record: &mut ByteRecord) -> Result<(), RowError> {
        if !self.has_decimal_commas {
            return Ok(());
        }
        let mut changed = ByteRecord::with_capacity(record.as_slice().len(), record.len());
        for cell in &*record {
            let text = std::str::from_utf8(cell).unwrap_or_default().trim();
            if parts(text, '.').is_some() {
                let reason = "the number has a point although the file uses decimal commas, so it is ambiguous";
                return Err(RowError::new(reason, text));
            }
            match parts(text, ',') {
                Some(_) => changed.push_field(text.replace(',', ".").as_bytes()),
                None => changed.push_field(cell),
            }
        }
        changed.set_position(record.position().cloned());
        *record = changed;
        Ok(())
    }
}

/// Splits a number at its only `mark` into the digits before and after it.
fn parts(cell: &str, mark: char) -> Option<(&str, &str)> {
    let (whole, fraction) = cell.strip_prefix('-').unwrap_or(cell).split_once(mark)?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(whole) && digits(fraction)).then_some((whole, fraction))
}

/// Returns the most frequent separator of the header; the header is the line with the most separators.
fn separator(text: &str) -> u8 {
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    let mut best = (0_usize, b',');
    for line in lines.take(TITLES) {
        let mut of_line = (0_usize, b',');
        for separator in SEPARATORS {
            let found = count(line, separator);
            // If commas and another separator are equally frequent, the commas are decimal marks.
            if found > of_line.0 || found == of_line.0 && found > 0 && of_line.1 == b',' {
                of_line = (found, separator);
            }
        }
        if of_line.0 > best.0 {
            best = of_line;
        }
    }
    best.1
}

/// Counts the occurrences of a separator outside quoted cells.
fn count(line: &str, separator: u8) -> usize {
    let mut is_quoted = false;
    let mut found = 0;
    for byte in line.bytes() {
        if byte == b'"' {
            is_quoted = !is_quoted;
        } else if byte == separator && !is_quoted {
            found += 1;
        }
    }
    found
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::dumps::syntax::csv_dialect::*;

    #[test]
    fn first_lines_decide_on_separator_and_decimal_mark() {
        for (text, separator, has_decimal_commas) in [
            ("time,price\n1,2.5\n", b',', false),
            ("time;price\n1;2.5\n", b';', false),
            ("time;price\n1;2,5\n", b';', true),
            ("1704153600000;100,5;102,25\n", b';', true),
            ("time|price|qty\n1|2|3\n", b'|', false),
            ("https://a.example/x,y\ntime;open;high;low\n", b';', false),
            ("\"a;b;c\",price\n1,2\n", b',', false),
            ("sep=;\ntime;price\n1;2,55\n1;42,000\n", b';', true),
            ("time\n1\n", b',', false),
            ("", b',', false),
        ] {
            let expected = CsvDialect {
                separator,
                has_decimal_commas,
                has_returns: false,
            };
            assert_eq!(CsvDialect::of(text), Ok(expected), "{text:?}");
        }
        let tabs = CsvDialect::of("time\tprice\n1\t2\n").unwrap_err();
        assert!(tabs.contains("tabs"), "{tabs}");
        let unclear = CsvDialect::of("time;price\n1;42,000\n2;43,500\n").unwrap_err();
        assert!(unclear.contains("42,000"), "{unclear}");
    }

    #[test]
    fn decimal_commas_become_points_and_a_point_is_refused() {
        let dialect = CsvDialect {
            separator: b';',
            has_decimal_commas: true,
            has_returns: false,
        };
        let mut record = ByteRecord::from(vec!["BTC,USDT", "-2000,5", "7"]);
        dialect.with_points(&mut record).unwrap();
        assert_eq!(record, ByteRecord::from(vec!["BTC,USDT", "-2000.5", "7"]));
        let mut record = ByteRecord::from(vec!["1.234"]);
        assert_eq!(dialect.with_points(&mut record).unwrap_err().shown, "1.234");
    }
}
