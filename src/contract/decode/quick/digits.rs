//! Number parsing, eight digits at a time.

use crate::model::{POWERS_OF_TEN, POWERS_OF_TEN_F64, ShortDecimal};

/// Maximum number of digits of a number that is parsed here.
const DIGITS: usize = 19;
/// A double represents every integer of at most this many digits exactly.
const EXACT_DIGITS: usize = 15;
/// Every integer of at most this many digits fits a signed 64-bit integer.
const SHORT: usize = 18;

/// Eight zeros as text.
const ZEROS: u64 = 0x3030_3030_3030_3030;

/// 5^-1 to 5^-18 as normalized 128-bit fractions, rounded up.
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

/// A number of the common form: up to seven digits, optionally followed by a point and up to 16 digits.
#[derive(Clone, Copy)]
pub(super) struct Common {
    /// All digits as one integer.
    pub(super) size: u64,
    /// Number of digits.
    pub(super) count: usize,
    /// Number of digits after the point.
    pub(super) behind: usize,
    /// Length in bytes.
    pub(super) length: usize,
}

/// Parses an unsigned number of the common form at the start of `from`.
///
/// After one length check the parser works in registers. It finds the end of the number independently of the value, so
/// that the processor can start on the next number early.
#[inline]
pub(super) fn common(from: &[u8]) -> Option<Common> {
    let chunk = from.first_chunk::<24>()?;
    let (words, _) = chunk.as_chunks::<8>();
    let &[first, second, third] = words else {
        return None;
    };
    let (first, second, third) = (
        u64::from_le_bytes(first) ^ ZEROS,
        u64::from_le_bytes(second) ^ ZEROS,
        u64::from_le_bytes(third) ^ ZEROS,
    );
    let stops = others(first);
    let whole = place(stops);
    if whole == 0 || whole == 8 || (whole > 1 && first.trailing_zeros() >= 8) {
        return None;
    }
    let size = eight(first << (64 - 8 * whole));
    if (first >> (8 * whole)) & 0xFF != u64::from(b'.' ^ b'0') {
        return Some(Common {
            size,
            count: whole,
            behind: 0,
            length: whole,
        });
    }
    let length = match (stops & (stops - 1), others(second)) {
        (0, 0) => 16 + place(others(third)),
        (0, stops) => 8 + place(stops),
        (stops, _) => place(stops),
    };
    let behind = length - whole - 1;
    let joined = |low: u64, high: u64| low >> (8 * whole) >> 8 | high << (56 - 8 * whole);
    let part = joined(first, second);
    let size = match behind {
        1..=8 => size
            .wrapping_mul(*POWERS_OF_TEN.get(behind)?)
            .wrapping_add(eight(part << (64 - 8 * behind))),
        9..=16 => {
            let more = behind - 8;
            size.wrapping_mul(*POWERS_OF_TEN.get(8)?)
                .wrapping_add(eight(part))
                .wrapping_mul(*POWERS_OF_TEN.get(more)?)
                .wrapping_add(eight(joined(second, third) << (64 - 8 * more)))
        }
        _ => return None,
    };
    if whole + behind > DIGITS {
        return None;
    }
    Some(Common {
        size,
        count: whole + behind,
        behind,
        length,
    })
}

/// Sets the high bit of each byte that is not a digit. `digits` is the text XOR `ZEROS`.
#[inline]
fn others(digits: u64) -> u64 {
    (digits.wrapping_add(0x7676_7676_7676_7676) | digits) & 0x8080_8080_8080_8080
}

/// Index of the first byte with its high bit set; 8 if there is none.
#[inline]
fn place(bits: u64) -> usize {
    (bits.trailing_zeros() / 8) as usize
}

#[inline]
pub(super) fn strip(rest: &mut &[u8], byte: u8) -> bool {
    match rest.split_first() {
        Some((&first, behind)) if first == byte => {
            *rest = behind;
            true
        }
        _ => false,
    }
}

/// Appends the leading digits of `rest` to the number `before`.
///
/// Returns the value and the number of digits appended, or `None` if there are too many digits.
#[inline]
pub(super) fn digits(rest: &mut &[u8], before: u64) -> Option<(u64, usize)> {
    let (mut value, mut count) = (before, 0);
    while let Some(chunk) = rest.first_chunk::<8>() {
        let (part, length) = up_to_eight(u64::from_le_bytes(*chunk));
        value = value
            .wrapping_mul(*POWERS_OF_TEN.get(length)?)
            .wrapping_add(part);
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

/// Number of leading digits of `text`.
#[inline]
pub(super) fn leading_digits(text: &[u8]) -> usize {
    let mut length = 0;
    let (words, rest) = text.as_chunks::<8>();
    for word in words {
        match place(others(u64::from_le_bytes(*word) ^ ZEROS)) {
            8 => length += 8,
            more => return length + more,
        }
    }
    length + rest.iter().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Value and count of the leading digits of eight bytes.
#[inline]
fn up_to_eight(bytes: u64) -> (u64, usize) {
    let digits = bytes ^ ZEROS;
    match place(others(digits)) {
        0 => (0, 0),
        8 => (eight(digits), 8),
        count => (eight(digits << (64 - 8 * count)), count),
    }
}

/// The value of eight digits, with the first digit in the lowest byte.
#[inline]
fn eight(digits: u64) -> u64 {
    const MASK: u64 = 0x0000_00FF_0000_00FF;
    let pairs = digits.wrapping_mul(10).wrapping_add(digits >> 8);
    let high = (pairs & MASK).wrapping_mul(0x000F_4240_0000_0064);
    let low = ((pairs >> 16) & MASK).wrapping_mul(0x0000_2710_0000_0001);
    high.wrapping_add(low) >> 32
}

/// A number without an exponent, of at most 19 digits.
struct Plain {
    negative: bool,
    size: u64,
    count: usize,
    behind: usize,
}

/// Parses a number without an exponent; also returns the rest of `from`.
#[inline]
fn plain(from: &[u8]) -> Option<(Plain, &[u8])> {
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
    Some((
        Plain {
            negative,
            size,
            count,
            behind,
        },
        rest,
    ))
}

/// Parses a number of at most 18 digits without an exponent; also returns the rest of `from`.
#[inline]
pub(super) fn short_decimal(from: &[u8]) -> Option<(ShortDecimal, &[u8])> {
    if let Some(number) = common(from)
        && number.count <= SHORT
        && let Some(rest) = from.get(number.length..)
        && rest.first() == Some(&b'"')
    {
        let digits = i64::try_from(number.size).ok()?;
        let scale = u8::try_from(number.behind).ok()?;
        return Some((ShortDecimal { digits, scale }, rest));
    }
    let (number, rest) = plain(from)?;
    if number.count > SHORT {
        return None;
    }
    let size = i64::try_from(number.size).ok()?;
    let digits = if number.negative { -size } else { size };
    let scale = u8::try_from(number.behind).ok()?;
    Some((ShortDecimal { digits, scale }, rest))
}

/// Parses a number of at most 19 digits without an exponent; also returns the rest of `from`.
#[inline]
pub(super) fn short_double(from: &[u8]) -> Option<(f64, &[u8])> {
    let (number, rest) = plain(from)?;
    let value = scaled(number.size, number.behind, number.count)?;
    Some((if number.negative { -value } else { value }, rest))
}

/// The double nearest to `size · 10^-behind`; `None` defers to the slow path. `size` has `count` digits.
#[inline]
#[expect(
    clippy::cast_precision_loss,
    reason = "exact below 16 digits, otherwise rounding to the nearest double is intended"
)]
pub(super) fn scaled(size: u64, behind: usize, count: usize) -> Option<f64> {
    if behind == 0 {
        return Some(size as f64);
    }
    if count <= EXACT_DIGITS {
        // Both operands are exact, so the quotient is the nearest double (Clinger).
        return Some(size.cast_signed() as f64 / *POWERS_OF_TEN_F64.get(behind)?);
    }
    if size == 0 {
        return Some(0.0);
    }
    nearest(size, behind)
}

/// Like [`scaled`], by the Eisel–Lemire algorithm.
///
/// Multiplies `size` by 5^-`behind` in 128 bits and rounds half to even.
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
    // The binary exponent of 10^-behind. It is in range, because a number has at most 19 digits.
    let power = (-i64::try_from(behind).ok()? * 217_706) >> 16;
    let exponent = u64::try_from(power + 63 + 1023 - i64::from(shift)).ok()? + upper;
    if low <= 1 && behind <= 4 && mantissa & 3 == 1 && mantissa << drop == high {
        mantissa &= !1;
    }
    mantissa = (mantissa + (mantissa & 1)) >> 1;
    // A carry out of the mantissa increments the exponent.
    Some(f64::from_bits(
        mantissa.wrapping_sub(1 << 52).wrapping_add(exponent << 52),
    ))
}

/// The upper and lower half of a product.
#[inline]
#[expect(
    clippy::cast_possible_truncation,
    reason = "truncation to the halves is intended"
)]
fn wide(a: u64, b: u64) -> (u64, u64) {
    let product = u128::from(a) * u128::from(b);
    ((product >> 64) as u64, product as u64)
}
