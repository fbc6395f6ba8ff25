//! Small numbers as Parquet packs them: one run where all are the same, else bit by bit.

/// How many bits a number below `distinct` takes; one at least.
pub(crate) fn width_of(distinct: usize) -> u8 {
    let most = distinct.saturating_sub(1);
    let width = usize::BITS - most.leading_zeros();
    u8::try_from(width.clamp(1, 32)).unwrap_or(32)
}

/// Writes numbers of so many bits each.
pub(crate) fn write_numbers(numbers: &[u32], width: u8, into: &mut Vec<u8>) {
    let bits = u32::from(width);
    if let Some((first, rest)) = numbers.split_first()
        && rest.iter().all(|number| number == first)
    {
        write_count((numbers.len() as u64) << 1, into);
        let bytes = first.to_le_bytes();
        into.extend(bytes.iter().take(usize::from(width.div_ceil(8))));
        return;
    }
    let eights = numbers.len().div_ceil(8);
    write_count((eights as u64) << 1 | 1, into);
    let end = into.len() + eights * usize::from(width);
    let (mut held, mut filled) = (0_u64, 0);
    for number in numbers {
        held |= u64::from(*number) << filled;
        filled += bits;
        if filled >= 32 {
            let low = held & u64::from(u32::MAX);
            into.extend(low.to_le_bytes().iter().take(4));
            held >>= 32;
            filled -= 32;
        }
    }
    into.extend(held.to_le_bytes().iter().take(filled.div_ceil(8) as usize));
    // Of the last eight those that are none are zeros.
    into.resize(end, 0);
}

/// Writes a count, seven bits a byte.
pub(crate) fn write_count(mut count: u64, into: &mut Vec<u8>) {
    loop {
        let low = u8::try_from(count & 0x7f).unwrap_or_default();
        count >>= 7;
        if count == 0 {
            into.push(low);
            return;
        }
        into.push(low | 0x80);
    }
}

#[cfg(test)]
mod tests {
    use crate::archive::import::runs_of_numbers::*;

    #[test]
    fn a_width_is_what_the_largest_takes() {
        for (distinct, width) in [
            (0, 1),
            (1, 1),
            (2, 1),
            (3, 2),
            (4, 2),
            (5, 3),
            (256, 8),
            (257, 9),
        ] {
            assert_eq!(width_of(distinct), width, "{distinct}");
        }
    }

    #[test]
    fn numbers_are_packed_as_the_format_says() {
        let mut packed = Vec::new();
        // The example of the format's own description.
        write_numbers(&[0, 1, 2, 3, 4, 5, 6, 7], 3, &mut packed);
        assert_eq!(packed, [0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010]);
        packed.clear();
        write_numbers(&[5; 300], 3, &mut packed);
        assert_eq!(packed, [0xd8, 0x04, 5]);
        packed.clear();
        write_numbers(&[1, 0, 1], 1, &mut packed);
        assert_eq!(packed, [0b11, 0b101]);
        packed.clear();
        write_numbers(&[u32::MAX, 0], 32, &mut packed);
        assert_eq!(packed.len(), 1 + 32);
    }
}
