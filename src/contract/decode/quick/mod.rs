//! Fast reader for plain JSON bodies and frames: one pass over the bytes.
//!
//! A text is plain if its strings have no escapes, its nesting is at most 8 levels deep, and it has exactly the members
//! that the caller reads or skips. Every function returns `None` at the first unexpected byte. A tolerant reader then
//! reads the body and reports errors. If a fast read succeeds, its result equals that of the tolerant reader.

mod digits;
mod text;

use super::number::nearest_double;
use crate::model::ShortDecimal;
use digits::{common, digits, leading_digits, scaled, short_double, strip};
use text::quote;

/// The leading integer of `text` and its digit count; `None` beyond 19 digits.
#[inline]
pub fn leading_number(mut text: &[u8]) -> Option<(u64, usize)> {
    digits(&mut text, 0).filter(|(_, count)| *count < 20)
}

/// The text of eight zero cells in a row; sparse matrices have many of them.
const ZEROS: &[u8; 16] = b"0,0,0,0,0,0,0,0,";

/// Maximum nesting depth of objects and arrays.
const DEPTH: u8 = 8;

/// The unread rest of a JSON text.
#[derive(Clone, Copy, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    /// Number of open containers that [`Cursor::opens`] and [`Cursor::each`] entered.
    depth: u8,
}

impl<'a> Cursor<'a> {
    /// A cursor over bytes that may be invalid UTF-8.
    ///
    /// Strings that are read are validated as UTF-8; skipped values are not.
    #[inline]
    pub fn of(bytes: &'a [u8]) -> Self {
        Self {
            rest: bytes,
            depth: 0,
        }
    }

    /// Number of unread bytes.
    #[inline]
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Skips whitespace.
    #[inline]
    fn blanks(&mut self) {
        while let Some((b' ' | b'\n' | b'\r' | b'\t', rest)) = self.rest.split_first() {
            self.rest = rest;
        }
    }

    /// The next byte after whitespace.
    #[inline]
    pub fn peek(&mut self) -> Option<u8> {
        self.blanks();
        self.rest.first().copied()
    }

    /// Consumes `byte` after whitespace; returns whether `byte` was found.
    #[inline]
    pub(in crate::contract) fn takes(&mut self, byte: u8) -> bool {
        self.blanks();
        strip(&mut self.rest, byte)
    }

    /// Consumes `byte` after whitespace.
    #[inline]
    pub(in crate::contract) fn take(&mut self, byte: u8) -> Option<()> {
        self.takes(byte).then_some(())
    }

    /// Consumes exactly `text` after whitespace.
    pub(super) fn word(&mut self, text: &str) -> Option<()> {
        self.blanks();
        self.exactly(text)
    }

    /// Consumes exactly `text`, without preceding whitespace.
    #[inline]
    pub fn exactly(&mut self, text: &str) -> Option<()> {
        self.rest = self.rest.strip_prefix(text.as_bytes())?;
        Some(())
    }

    /// Succeeds if only whitespace is left.
    #[inline]
    pub fn end(&mut self) -> Option<()> {
        self.blanks();
        self.rest.is_empty().then_some(())
    }

    /// Reads a string without escapes.
    pub(in crate::contract) fn string(&mut self) -> Option<&'a str> {
        self.take(b'"')?;
        self.text()
    }

    /// Reads the rest of a string without escapes, after its opening quote.
    #[inline]
    pub(super) fn text(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.quoted()?).ok()
    }

    /// Like [`text`](Self::text), but not validated as UTF-8.
    #[inline]
    fn quoted(&mut self) -> Option<&'a [u8]> {
        let end = quote(self.rest)?;
        let text = self.rest.get(..end)?;
        self.rest = self.rest.get(end + 1..)?;
        Some(text)
    }

    /// Reads a member name and its colon.
    #[inline]
    pub fn name(&mut self) -> Option<&'a [u8]> {
        self.take(b'"')?;
        let name = self.quoted()?;
        self.take(b':')?;
        Some(name)
    }

    /// Like [`name`](Self::name), but validated as UTF-8.
    pub(in crate::contract) fn key(&mut self) -> Option<&'a str> {
        std::str::from_utf8(self.name()?).ok()
    }

    /// Consumes a comma and returns `true`, or consumes `close` and returns `false`.
    #[inline]
    pub(in crate::contract) fn more(&mut self, close: u8) -> Option<bool> {
        if self.takes(b',') {
            return Some(true);
        }
        self.take(close).map(|()| false)
    }

    /// Reads `true` or `false`.
    pub(in crate::contract) fn boolean(&mut self) -> Option<bool> {
        if self.peek()? == b't' {
            self.word("true").map(|()| true)
        } else {
            self.word("false").map(|()| false)
        }
    }

    /// Enters a container that starts with `byte`.
    #[inline]
    fn enter(&mut self, byte: u8) -> Option<()> {
        self.take(byte)?;
        self.depth += 1;
        (self.depth <= DEPTH).then_some(())
    }

    /// Enters an object; returns whether it has members.
    #[inline]
    pub fn opens(&mut self) -> Option<bool> {
        self.enter(b'{')?;
        let is_empty = self.takes(b'}');
        self.depth -= u8::from(is_empty);
        Some(!is_empty)
    }

    /// Continues after a member of an [entered](Self::opens) object; returns whether another member follows.
    #[inline]
    pub fn goes_on(&mut self) -> Option<bool> {
        let more = self.more(b'}')?;
        self.depth -= u8::from(!more);
        Some(more)
    }

    /// Reads an array, each item with `item`.
    #[inline]
    pub fn each(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.enter(b'[')?;
        let mut goes_on = !self.takes(b']');
        while goes_on {
            item(self)?;
            goes_on = self.more(b']')?;
        }
        self.depth -= 1;
        Some(())
    }

    /// Skips a value.
    #[inline]
    pub fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'"' => {
                strip(&mut self.rest, b'"');
                self.quoted().map(drop)
            }
            b'-' | b'0'..=b'9' => self.skip_number(),
            first => self.skip_other(first),
        }
    }

    /// Skips an object, an array or a literal that starts with `first`.
    #[inline(never)]
    fn skip_other(&mut self, first: u8) -> Option<()> {
        match first {
            b'{' => {
                let mut goes_on = self.opens()?;
                while goes_on {
                    self.name()?;
                    self.skip()?;
                    goes_on = self.goes_on()?;
                }
                Some(())
            }
            b'[' => self.each(Self::skip),
            b'n' => self.exactly("null"),
            b't' => self.exactly("true"),
            _ => self.exactly("false"),
        }
    }

    /// Skips a value and validates it as UTF-8.
    pub(super) fn skip_text(&mut self) -> Option<()> {
        let from = self.rest;
        self.skip()?;
        let value = from.get(..from.len() - self.rest.len())?;
        std::str::from_utf8(value).ok().map(drop)
    }

    /// Skips a number without an exponent.
    #[inline]
    fn skip_number(&mut self) -> Option<()> {
        let mut rest = self.rest;
        strip(&mut rest, b'-');
        if !strip(&mut rest, b'0') {
            rest = behind_digits(rest)?;
        }
        if strip(&mut rest, b'.') {
            rest = behind_digits(rest)?;
        }
        self.rest = rest;
        (!matches!(rest.first(), Some(b'0'..=b'9' | b'e' | b'E'))).then_some(())
    }

    /// Reads an integer of at most 18 digits.
    pub(in crate::contract) fn whole(&mut self) -> Option<i64> {
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

    /// Reads a double.
    #[inline]
    pub(in crate::contract) fn double(&mut self) -> Option<f64> {
        self.blanks();
        match short_double(self.rest) {
            Some((value, rest)) => {
                self.rest = rest;
                Some(value)
            }
            None => self.long_double(),
        }
    }

    /// Reads a number with an exponent or many digits.
    #[cold]
    fn long_double(&mut self) -> Option<f64> {
        nearest_double(self.number()?).ok()
    }

    /// Reads the text of a number without checking its grammar.
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

    /// Reads a number of at most 18 digits without an exponent.
    #[inline]
    pub(super) fn short_decimal(&mut self) -> Option<ShortDecimal> {
        let (value, rest) = digits::short_decimal(self.rest)?;
        self.rest = rest;
        Some(value)
    }

    /// Reads an enveloped array, each row with `row`, to the end of the body.
    pub(super) fn rows(&mut self, row: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        for word in ["{", "\"success\"", ":", "true", ",", "\"data\"", ":"] {
            self.word(word)?;
        }
        self.each(row)?;
        self.take(b'}')?;
        self.end()
    }

    /// Reads an array of the values that `item` reads.
    pub(in crate::contract) fn list<T>(
        &mut self,
        item: impl Fn(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let mut items = Vec::new();
        self.each(|from| {
            items.push(item(from)?);
            Some(())
        })?;
        Some(items)
    }

    /// Appends numbers of the common form to `cells` while each is followed by a comma.
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

    /// Appends the numbers of an array to `cells` and returns their count.
    pub(in crate::contract) fn doubles(&mut self, cells: &mut Vec<f64>) -> Option<usize> {
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

/// Stores `value` in an empty `slot`; `None` if the slot is full or the value is `None`.
pub(in crate::contract) fn first<T>(slot: &mut Option<T>, value: Option<T>) -> Option<()> {
    if slot.is_some() {
        return None;
    }
    *slot = Some(value?);
    Some(())
}

/// The rest of `text` after its leading digits; `None` if `text` does not start with a digit.
#[inline]
fn behind_digits(text: &[u8]) -> Option<&[u8]> {
    let length = leading_digits(text);
    (length > 0).then_some(text.get(length..)?)
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
