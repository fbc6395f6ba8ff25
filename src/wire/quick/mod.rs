//! A quick read of plain bodies: one pass over the bytes, without the machinery that tolerance takes.
//!
//! Everything here gives `None` at the first surprise, and the body is then read by the tolerant readers: what is
//! accepted, what is refused and why is theirs to say. What is read here is exactly what they would have read.

mod digits;

use super::number::nearest_double;
pub(crate) use digits::leading_digits;
use digits::{common, digits, scaled, short_double, strip};

/// The whole number that `text` starts with, and how many digits it has; `None` where they are more than 19.
#[inline]
pub(crate) fn leading_number(mut text: &[u8]) -> Option<(u64, usize)> {
    digits(&mut text, 0).filter(|(_, count)| *count < 20)
}

/// Zeros in a row, as sparse matrices have them.
const ZEROS: &[u8; 16] = b"0,0,0,0,0,0,0,0,";

/// What is left of a body.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    /// Of bytes that need not be text as a whole: what is taken for text is looked at.
    pub(super) fn of(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// How many bytes are left.
    pub(super) fn left(&self) -> usize {
        self.rest.len()
    }

    fn blanks(&mut self) {
        while let Some((b' ' | b'\n' | b'\r' | b'\t', rest)) = self.rest.split_first() {
            self.rest = rest;
        }
    }

    /// Takes `byte`, blanks before it aside; whether it was there.
    pub(super) fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        match self.rest.split_first() {
            Some((&first, rest)) if first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Takes `byte`, blanks before it aside.
    pub(super) fn take(&mut self, byte: u8) -> Option<()> {
        self.takes(byte).then_some(())
    }

    /// Takes exactly `text`, blanks before it aside.
    pub(super) fn word(&mut self, text: &str) -> Option<()> {
        self.blanks();
        self.rest = self.rest.strip_prefix(text.as_bytes())?;
        Some(())
    }

    /// Takes exactly `text`, which no blanks may come before.
    #[inline]
    pub(super) fn exactly(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text.as_bytes())?;
        Some(())
    }

    /// Nothing but blanks is left.
    pub(super) fn end(&mut self) -> Option<()> {
        self.blanks();
        self.rest.is_empty().then_some(())
    }

    /// A string without escapes.
    pub(super) fn string(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        self.text()
    }

    /// What is left of a string without escapes behind its first quote.
    pub(super) fn text(&mut self) -> Option<&'a str> {
        let end = self
            .rest
            .iter()
            .position(|&byte| byte == b'"' || byte == b'\\' || byte < b' ')?;
        let (text, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest.strip_prefix(b"\"")?;
        std::str::from_utf8(text).ok()
    }

    /// As [`Cursor::text`], of ASCII alone.
    #[inline]
    pub(super) fn plain_text(&mut self) -> Option<&'a str> {
        let mut end = 0;
        for chunk in self.rest.as_chunks::<8>().0 {
            let within = ends_text(u64::from_le_bytes(*chunk));
            end += within;
            if within < 8 {
                break;
            }
        }
        let (text, rest) = self.rest.split_at_checked(end)?;
        if let Some(rest) = rest.strip_prefix(b"\"") {
            self.rest = rest;
            return std::str::from_utf8(text).ok();
        }
        // The last bytes of a body, or what plain text has not.
        None
    }

    /// The name of a member, with its colon.
    pub(super) fn key(&mut self) -> Option<&'a str> {
        let name = self.string()?;
        self.take(b':')?;
        Some(name)
    }

    /// A comma (true) or `close` (false).
    pub(super) fn more(&mut self, close: u8) -> Option<bool> {
        if self.takes(b',') {
            return Some(true);
        }
        self.take(close).map(|()| false)
    }

    /// A whole number of at most 18 digits.
    pub(super) fn whole(&mut self) -> Option<i64> {
        self.blanks();
        let mut rest = self.rest;
        let negative = strip(&mut rest, b'-');
        let (value, count) = digits(&mut rest, 0)?;
        let bad_start = count > 1 && self.rest.get(usize::from(negative)) == Some(&b'0');
        if count == 0 || count > 18 || bad_start || matches!(rest.first(), Some(b'.' | b'e' | b'E'))
        {
            return None;
        }
        self.rest = rest;
        let value = i64::try_from(value).ok()?;
        Some(if negative { -value } else { value })
    }

    /// A number.
    #[inline]
    pub(super) fn double(&mut self) -> Option<f64> {
        self.blanks();
        match short_double(self.rest) {
            Some((value, rest)) => {
                self.rest = rest;
                Some(value)
            }
            None => self.long_double(),
        }
    }

    /// A number with an exponent, or with more digits than usual.
    #[cold]
    fn long_double(&mut self) -> Option<f64> {
        nearest_double(self.number()?).ok()
    }

    /// The text of a number, whose grammar is not looked at.
    pub(super) fn number(&mut self) -> Option<&'a str> {
        self.blanks();
        let end = self
            .rest
            .iter()
            .position(|byte| !matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'))?;
        let (text, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        std::str::from_utf8(text).ok()
    }

    /// A number of at most 18 digits and without an exponent: its digits, and how many stand behind the point.
    #[inline]
    pub(super) fn short_decimal(&mut self) -> Option<(i64, u8)> {
        let (size, scale, rest) = digits::short_decimal(self.rest)?;
        self.rest = rest;
        Some((size, scale))
    }

    /// Passes over a value that is neither an array nor an object.
    pub(super) fn skip(&mut self) -> Option<()> {
        self.blanks();
        match self.rest.first()? {
            b'"' => self.string().map(|_| ()),
            b'n' => self.word("null"),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            _ => self.double().map(|_| ()),
        }
    }

    /// The rows of a list in an envelope, each read by `row`, to the end of the body.
    pub(super) fn rows(&mut self, mut row: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        for word in ["{", "\"success\"", ":", "true", ",", "\"data\"", ":", "["] {
            self.word(word)?;
        }
        if !self.takes(b']') {
            loop {
                row(self)?;
                if !self.more(b']')? {
                    break;
                }
            }
        }
        self.take(b'}')?;
        self.end()
    }

    /// An array of what `item` reads.
    pub(super) fn list<T>(&mut self, item: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        self.take(b'[')?;
        if self.takes(b']') {
            return Some(items);
        }
        loop {
            items.push(item(self)?);
            if !self.more(b']')? {
                return Some(items);
            }
        }
    }

    /// Appends numbers of the common form to `cells` as long as each has a comma behind it.
    #[inline]
    pub(super) fn common(&mut self, cells: &mut Vec<f64>) {
        loop {
            if self.rest.first() == Some(&b'0') {
                while let Some(rest) = self.rest.strip_prefix(ZEROS) {
                    cells.extend_from_slice(&[0.0; ZEROS.len() / 2]);
                    self.rest = rest;
                }
                while let Some(rest) = self.rest.strip_prefix(b"0,") {
                    cells.push(0.0);
                    self.rest = rest;
                }
            }
            let Some(number) = common(self.rest) else {
                return;
            };
            let Some((b',', rest)) = self.rest.get(number.length..).and_then(<[u8]>::split_first)
            else {
                return;
            };
            let Some(value) = scaled(number.size, number.behind, number.count) else {
                return;
            };
            cells.push(value);
            self.rest = rest;
        }
    }

    /// Appends the numbers of an array to `cells`; how many there were.
    pub(super) fn doubles(&mut self, cells: &mut Vec<f64>) -> Option<usize> {
        let start = cells.len();
        self.take(b'[')?;
        if self.takes(b']') {
            return Some(0);
        }
        loop {
            self.common(cells);
            cells.push(self.double()?);
            if !self.more(b']')? {
                return Some(cells.len() - start);
            }
        }
    }
}

/// Fills `slot`, which must be empty.
pub(super) fn first<T>(slot: &mut Option<T>, value: Option<T>) -> Option<()> {
    if slot.is_some() {
        return None;
    }
    *slot = Some(value?);
    Some(())
}

/// How many of eight bytes stand before a quote, or before what plain text has not: a backslash, control characters,
/// bytes beyond ASCII.
#[inline]
fn ends_text(bytes: u64) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const TOPS: u64 = 0x8080_8080_8080_8080;
    // A borrow marks bytes behind the first that is meant, never one before it.
    let below = |bytes: u64, bound: u8| bytes.wrapping_sub(ONES * u64::from(bound)) & !bytes;
    let quote = below(bytes ^ (ONES * u64::from(b'"')), 1);
    let backslash = below(bytes ^ (ONES * u64::from(b'\\')), 1);
    let others = (quote | backslash | below(bytes, b' ') | bytes) & TOPS;
    (others.trailing_zeros() / 8) as usize
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn leading_digits_end_at_any_other_byte() {
        for byte in 0..=u8::MAX {
            for before in 0..24 {
                let mut text = vec![b'7'; before];
                text.extend([byte, b'7', b'7', 0xFF, b'7', b'7', b'7', b'7', b'7']);
                let digits = before + if byte.is_ascii_digit() { 3 } else { 0 };
                assert_eq!(leading_digits(&text), digits, "{byte} behind {before}");
                let number = leading_number(&text).map(|(_, count)| count);
                assert_eq!(
                    number,
                    (digits < 20).then_some(digits),
                    "{byte} behind {before}"
                );
            }
        }
        assert_eq!(
            leading_number(b"1790000000123,"),
            Some((1_790_000_000_123, 13))
        );
        assert_eq!(
            leading_number(b"9999999999999999999"),
            Some((9_999_999_999_999_999_999, 19))
        );
    }

    fn read(text: &str) -> Option<f64> {
        let body = format!("{text}]");
        let mut cursor = Cursor::of(body.as_bytes());
        let value = cursor.double()?;
        cursor.take(b']')?;
        cursor.end()?;
        Some(value)
    }

    #[test]
    fn only_jsons_grammar_is_a_number() {
        for text in [
            "", "-", "+1", ".5", "5.", "01", "-01", "00.5", "1_000", "NaN", "-inf", "1e", "1e+",
            "0x10", "1.5.2", "--1", "1e400", "null", "\"1\"",
        ] {
            assert_eq!(read(text), None, "{text:?}");
        }
    }

    #[test]
    fn special_numbers_are_read_as_the_standard_library_reads_them() {
        for text in [
            "0",
            "-0",
            "0.0",
            "-0.00000000000000000",
            "1",
            "9007199254740993",
            "9007199254740992.5",
            "1234567890123456789",
            "9999999999999999999",
            "99999999999999999999",
            "1e22",
            "1E-7",
            "0.1",
            "0.30000000000000004",
            "123456.78901234567",
            "0.000000000000000001",
            "1.7976931348623157e308",
            "5e-324",
            "4503599627370497.5",
            "2.2250738585072014e-308",
        ] {
            let value: f64 = text.parse().unwrap();
            assert_eq!(read(text).unwrap().to_bits(), value.to_bits(), "{text}");
        }
    }

    #[test]
    fn a_row_is_read_to_its_end() {
        for (body, cells) in [
            ("[]", vec![]),
            ("[ 0 ,0,1.5 ]", vec![0.0, 0.0, 1.5]),
            ("[0,0,0,0,0,0,0,0,0,0,0]", vec![0.0; 11]),
        ] {
            let mut read = Vec::new();
            let mut cursor = Cursor::of(body.as_bytes());
            assert_eq!(cursor.doubles(&mut read), Some(cells.len()), "{body}");
            assert_eq!((read, cursor.end()), (cells, Some(())), "{body}");
        }
        for body in [
            "[", "[1", "[1,", "[1,]", "[,1]", "[1 2]", "[0,0,", "[null]", "[0,]",
        ] {
            assert_eq!(
                Cursor::of(body.as_bytes()).doubles(&mut Vec::new()),
                None,
                "{body}"
            );
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4000))]

        #[test]
        fn every_printed_double_is_read_back(value in proptest::num::f64::NORMAL) {
            let value = value % 1e12;
            let text = format!("{value}");
            prop_assert_eq!(read(&text).unwrap().to_bits(), value.to_bits(), "{}", text);
        }

        #[test]
        fn every_number_is_read_as_the_standard_library_reads_it(text in "-?(0|[1-9][0-9]{0,19})(\\.[0-9]{1,20})?(e-?[0-9]{1,2})?") {
            let value: f64 = text.parse().unwrap();
            prop_assert_eq!(read(&text).map(f64::to_bits), Some(value.to_bits()), "{}", text);
        }

        #[test]
        fn every_number_of_a_row_is_read_as_the_standard_library_reads_it(
            texts in prop::collection::vec("-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,17})?(e-?[0-9])?|0|[1-9][0-9]{0,6}\\.[0-9]{1,15}", 1..30),
        ) {
            let values: Vec<u64> = texts.iter().map(|text| text.parse::<f64>().unwrap().to_bits()).collect();
            let mut cells = Vec::new();
            let body = format!("[{}]", texts.join(","));
            prop_assert_eq!(Cursor::of(body.as_bytes()).doubles(&mut cells), Some(texts.len()), "{}", body);
            prop_assert_eq!(cells.iter().map(|cell| cell.to_bits()).collect::<Vec<_>>(), values, "{}", body);
        }

        #[test]
        fn what_is_no_number_is_refused_within_a_row_too(
            before in "[1-9][0-9]{0,2}\\.[0-9]{1,9}",
            text in "0[0-9]{1,6}(\\.[0-9]{1,9})?|[1-9]{1,7}\\.|\\.[0-9]{1,5}|[0-9]{0,3}x[0-9]|[1-9]\\.[0-9]\\.[0-9]|[1-9]e|-",
        ) {
            let body = format!("[{before},{text},1.5,1.5,1.5,1.5,1.5,1.5,1.5]");
            prop_assert_eq!(Cursor::of(body.as_bytes()).doubles(&mut Vec::new()), None, "{}", body);
        }

        #[test]
        fn ties_between_two_doubles_go_to_the_even_one(mantissa in 1_u64 << 52..1 << 53, down in 1_u32..8) {
            let twice = ((u128::from(mantissa) * 2 + 1) * 10_u128.pow(down)) >> down;
            let digits = twice.to_string();
            let (whole, fraction) = digits.split_at(digits.len() - down as usize);
            let text = format!("{whole}.{fraction}");
            let value: f64 = text.parse().unwrap();
            prop_assert_eq!(read(&text).unwrap().to_bits(), value.to_bits(), "{}", text);
        }
    }
}
