//! A quick read of plain bodies: one pass over the bytes, without the machinery that tolerance takes.
//!
//! Everything here gives `None` at the first surprise, and the body is then read by the tolerant readers: what is
//! accepted, what is refused and why is theirs to say. What is read here is exactly what they would have read.

use super::number::nearest_double;

/// Most digits of a number that is read eight at a time.
const DIGITS: usize = 19;
/// Most digits whose whole number a double holds for sure.
const EXACT_DIGITS: usize = 15;
/// Zeros in a row, as sparse matrices have them.
const ZEROS: &[u8; 16] = b"0,0,0,0,0,0,0,0,";

/// 10^0 to 10^19.
const TENS: [u64; 20] = {
    let mut tens = [1; 20];
    let mut i = 1;
    while i < tens.len() {
        #[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
        {
            tens[i] = tens[i - 1] * 10;
        }
        i += 1;
    }
    tens
};

/// 5^-1 to 5^-18 as 128 bits, the first one set, rounded up.
const FIFTHS: [(u64, u64); 18] = [
    (0xcccc_cccc_cccc_cccc, 0xcccc_cccc_cccc_cccd),
    (0xa3d7_0a3d_70a3_d70a, 0x3d70_a3d7_0a3d_70a4),
    (0x8312_6e97_8d4f_df3b, 0x645a_1cac_0831_26ea),
    (0xd1b7_1758_e219_652b, 0xd3c3_6113_404e_a4a9),
    (0xa7c5_ac47_1b47_8423, 0x0fcf_80dc_3372_1d54),
    (0x8637_bd05_af6c_69b5, 0xa63f_9a49_c2c1_b110),
    (0xd6bf_94d5_e57a_42bc, 0x3d32_9076_0469_1b4d),
    (0xabcc_7711_8461_cefc, 0xfdc2_0d2b_36ba_7c3e),
    (0x8970_5f41_36b4_a597, 0x3168_0a88_f895_3031),
    (0xdbe6_fece_bded_d5be, 0xb573_440e_5a88_4d1c),
    (0xafeb_ff0b_cb24_aafe, 0xf78f_69a5_1539_d749),
    (0x8cbc_cc09_6f50_88cb, 0xf93f_87b7_442e_45d4),
    (0xe12e_1342_4bb4_0e13, 0x2865_a5f2_06b0_6fba),
    (0xb424_dc35_095c_d80f, 0x5384_84c1_9ef3_8c95),
    (0x901d_7cf7_3ab0_acd9, 0x0f9d_3701_4bf6_0a11),
    (0xe695_94be_c44d_e15b, 0x4c2e_be68_7989_a9b4),
    (0xb877_aa32_36a4_b449, 0x09be_feb9_fad4_87c3),
    (0x9392_ee8e_921d_5d07, 0x3aff_322e_6243_9fd0),
];

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
        if let Some(number) = common(self.rest)
            && number.count <= 18
            && let Some(rest) = self.rest.get(number.length..)
            && rest.first() == Some(&b'"')
        {
            self.rest = rest;
            let size = i64::try_from(number.size).ok()?;
            return Some((size, u8::try_from(number.behind).ok()?));
        }
        let mut rest = self.rest;
        let negative = strip(&mut rest, b'-');
        let zero = rest.first() == Some(&b'0');
        let (mut size, mut count) = digits(&mut rest, 0)?;
        if count == 0 || (zero && count > 1) {
            return None;
        }
        let mut behind = 0;
        if strip(&mut rest, b'.') {
            (size, behind) = digits(&mut rest, size)?;
            count += behind;
            if behind == 0 {
                return None;
            }
        }
        if count > 18 || matches!(rest.first(), Some(b'e' | b'E')) {
            return None;
        }
        self.rest = rest;
        let size = i64::try_from(size).ok()?;
        Some((
            if negative { -size } else { size },
            u8::try_from(behind).ok()?,
        ))
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

/// What a number of the common form writes: at most seven digits, or these, a point and at most 15 digits behind it.
#[derive(Clone, Copy)]
struct Common {
    /// All digits as one number, and how many they are.
    size: u64,
    count: usize,
    /// How many of them stand behind the point.
    behind: usize,
    /// How many bytes it takes.
    length: usize,
}

/// The number of the common form that `from` starts with, signs apart. It is read out of registers: one look at the
/// length of what is left is all it takes.
#[inline]
fn common(from: &[u8]) -> Option<Common> {
    let chunk = from.first_chunk::<24>()?;
    let (words, _) = chunk.as_chunks::<8>();
    let &[first, second, third] = words else {
        return None;
    };
    let (first, second) = (u64::from_le_bytes(first), u64::from_le_bytes(second));
    let digits = first ^ 0x3030_3030_3030_3030;
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    let count = (others.trailing_zeros() / 8) as usize;
    if count == 0 || count == 8 || (count > 1 && digits.trailing_zeros() >= 8) {
        return None;
    }
    let whole = eight(digits << (64 - 8 * count));
    let ends = first >> (8 * count);
    if ends & 0xFF != u64::from(b'.') {
        return Some(Common {
            size: whole,
            count,
            behind: 0,
            length: count,
        });
    }
    let joined = |low: u64, high: u64| low >> (8 * count) >> 8 | high << (56 - 8 * count);
    let (part, mut behind) = up_to_eight(joined(first, second));
    let mut size = whole.wrapping_mul(*TENS.get(behind)?).wrapping_add(part);
    if behind == 8 {
        let (part, more) = up_to_eight(joined(second, u64::from_le_bytes(third)));
        if more == 8 {
            return None;
        }
        size = size.wrapping_mul(*TENS.get(more)?).wrapping_add(part);
        behind += more;
    }
    if behind == 0 || count + behind > DIGITS {
        return None;
    }
    Some(Common {
        size,
        count: count + behind,
        behind,
        length: count + 1 + behind,
    })
}

/// Fills `slot`, which must be empty.
pub(super) fn first<T>(slot: &mut Option<T>, value: Option<T>) -> Option<()> {
    if slot.is_some() {
        return None;
    }
    *slot = Some(value?);
    Some(())
}

fn strip(rest: &mut &[u8], byte: u8) -> bool {
    match rest.split_first() {
        Some((&first, behind)) if first == byte => {
            *rest = behind;
            true
        }
        _ => false,
    }
}

/// `before` followed by the digits that `rest` starts with, and how many they are; `None` where there are too many.
#[inline]
fn digits(rest: &mut &[u8], before: u64) -> Option<(u64, usize)> {
    let (mut value, mut count) = (before, 0);
    while let Some(chunk) = rest.first_chunk::<8>() {
        let (part, length) = up_to_eight(u64::from_le_bytes(*chunk));
        value = value.wrapping_mul(*TENS.get(length)?).wrapping_add(part);
        count += length;
        *rest = rest.get(length..)?;
        if length < 8 {
            return Some((value, count));
        }
        if count > DIGITS {
            return None;
        }
    }
    while let Some((&byte, behind)) = rest.split_first()
        && byte.is_ascii_digit()
    {
        value = value.wrapping_mul(10).wrapping_add(u64::from(byte - b'0'));
        count += 1;
        *rest = behind;
    }
    Some((value, count))
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

/// The digits that eight bytes start with: their value and how many.
#[inline]
fn up_to_eight(bytes: u64) -> (u64, usize) {
    let digits = bytes ^ 0x3030_3030_3030_3030;
    let others = (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080;
    match others.trailing_zeros() / 8 {
        0 => (0, 0),
        8 => (eight(digits), 8),
        count => (eight(digits << (64 - 8 * count)), count as usize),
    }
}

/// The number that eight digits write, the first one in the lowest byte.
#[inline]
fn eight(digits: u64) -> u64 {
    const MASK: u64 = 0x0000_00FF_0000_00FF;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & MASK).wrapping_mul(0x000F_4240_0000_0064);
    let low = ((pairs >> 16) & MASK).wrapping_mul(0x0000_2710_0000_0001);
    high.wrapping_add(low) >> 32
}

/// A number without an exponent and of at most 19 digits, and what follows it.
#[inline]
fn short_double(from: &[u8]) -> Option<(f64, &[u8])> {
    let mut rest = from;
    let negative = strip(&mut rest, b'-');
    let zero = rest.first() == Some(&b'0');
    let (mut size, mut count) = digits(&mut rest, 0)?;
    if count == 0 || (zero && count > 1) {
        return None;
    }
    let mut behind = 0;
    if strip(&mut rest, b'.') {
        (size, behind) = digits(&mut rest, size)?;
        count += behind;
        if behind == 0 {
            return None;
        }
    }
    if count > DIGITS || matches!(rest.first(), Some(b'e' | b'E')) {
        return None;
    }
    let value = scaled(size, behind, count)?;
    Some((if negative { -value } else { value }, rest))
}

/// The double nearest to `size · 10^-behind`, `size` having `count` digits; `None` leaves it to a slower way.
#[inline]
#[expect(
    clippy::cast_precision_loss,
    reason = "below 16 digits exact, else the nearest double is meant"
)]
fn scaled(size: u64, behind: usize, count: usize) -> Option<f64> {
    if behind == 0 {
        return Some(size as f64);
    }
    if count <= EXACT_DIGITS {
        // Both operands are exact, so the quotient is the nearest double (Clinger).
        return Some(size as f64 / *TENS.get(behind)? as f64);
    }
    if size == 0 {
        return Some(0.0);
    }
    nearest(size, behind)
}

/// The same by Eisel and Lemire's method: the product with 128 bits of 5^-behind, rounded half to even.
#[inline]
fn nearest(size: u64, behind: usize) -> Option<f64> {
    let (high_fifth, low_fifth) = *FIFTHS.get(behind - 1)?;
    let shift = size.leading_zeros();
    let size = size << shift;
    let (mut high, mut low) = wide(size, high_fifth);
    if high & 0x1FF == 0x1FF {
        let (more, _) = wide(size, low_fifth);
        let (sum, carry) = low.overflowing_add(more);
        low = sum;
        high += u64::from(carry);
    }
    let upper = high >> 63;
    let drop = upper + 9;
    let mut mantissa = high >> drop;
    // The binary exponent of 10^-behind, biased: at most 19 digits keep it far from both ends.
    let power = (-i64::try_from(behind).ok()? * 217_706) >> 16;
    let exponent = u64::try_from(power + 63 + 1023 - i64::from(shift)).ok()? + upper;
    if low <= 1 && behind <= 4 && mantissa & 3 == 1 && mantissa << drop == high {
        mantissa &= !1;
    }
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    // A carry out of the mantissa adds one to the exponent by itself.
    Some(f64::from_bits(
        mantissa.wrapping_sub(1 << 52).wrapping_add(exponent << 52),
    ))
}

/// The upper and the lower half of a product.
#[inline]
#[expect(clippy::cast_possible_truncation, reason = "the halves are meant")]
fn wide(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    ((product >> 64) as u64, product as u64)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
