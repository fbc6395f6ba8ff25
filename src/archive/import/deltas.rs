//! Whole numbers by how far each is from the one before it, as Parquet has them (`DELTA_BINARY_PACKED`).
//!
//! Instants stand close together, so that a few bits tell each, and little is left to be compressed.

use crate::archive::import::runs_of_numbers::write_count;

/// Numbers of a block, and of a part of it whose numbers are of one width.
const BLOCK: usize = 128;
const PART: usize = 32;

/// Writes numbers behind `bytes`.
pub(crate) fn write_deltas(numbers: &[i64], bytes: &mut Vec<u8>) {
    write_count(BLOCK as u64, bytes);
    write_count((BLOCK / PART) as u64, bytes);
    write_count(numbers.len() as u64, bytes);
    push_signed(numbers.first().copied().unwrap_or_default(), bytes);
    let later = numbers.iter().skip(1);
    let apart = numbers.iter().zip(later);
    let apart: Vec<i64> = apart.map(|(one, next)| next.wrapping_sub(*one)).collect();
    let mut above = Vec::with_capacity(BLOCK);
    for block in apart.chunks(BLOCK) {
        let least = block.iter().min().copied().unwrap_or_default();
        push_signed(least, bytes);
        above.clear();
        above.extend(
            block
                .iter()
                .map(|one| one.wrapping_sub(least).cast_unsigned()),
        );
        let mut widths = [0; BLOCK / PART];
        for (width, part) in widths.iter_mut().zip(above.chunks(PART)) {
            let most = part.iter().max().copied().unwrap_or_default();
            *width = u64::BITS - most.leading_zeros();
        }
        bytes.extend(widths.iter().flat_map(|width| u8::try_from(*width)));
        for (width, part) in widths.into_iter().zip(above.chunks(PART)) {
            pack(part, width, bytes);
        }
    }
}

/// Writes the numbers of a part, `width` bits each, behind each other; what is missing of the part are zeros.
fn pack(part: &[u64], width: u32, bytes: &mut Vec<u8>) {
    let end = bytes.len() + PART / 8 * width as usize;
    let (mut held, mut bits): (u128, u32) = (0, 0);
    for number in part {
        held |= u128::from(*number) << bits;
        bits += width;
        while bits >= 32 {
            let [a, b, c, d, ..] = held.to_le_bytes();
            bytes.extend_from_slice(&[a, b, c, d]);
            held >>= 32;
            bits -= 32;
        }
    }
    let [a, b, c, d, ..] = held.to_le_bytes();
    bytes.extend_from_slice(&[a, b, c, d]);
    bytes.resize(end, 0);
}

/// Writes a number that may be below zero: those near to zero are short.
fn push_signed(number: i64, bytes: &mut Vec<u8>) {
    write_count(((number << 1) ^ (number >> 63)).cast_unsigned(), bytes);
}
