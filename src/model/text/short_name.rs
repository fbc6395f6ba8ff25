//! Short names as numbers, to be compared and looked up without going through their bytes.

/// A name of at most 16 bytes as numbers, which are those of no other name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    first: u64,
    last: u64,
    len: usize,
}

impl Short {
    /// The name, if it is so short.
    #[inline]
    pub(crate) fn of(bytes: &[u8]) -> Option<Self> {
        // Together the first and the last bytes are all of them.
        let (first, last) = match bytes.len() {
            0..4 => (
                bytes
                    .iter()
                    .fold(0, |all, byte| all << 8 | u64::from(*byte)),
                0,
            ),
            4..8 => (
                u32::from_le_bytes(*bytes.first_chunk()?).into(),
                u32::from_le_bytes(*bytes.last_chunk()?).into(),
            ),
            8..=16 => (
                u64::from_le_bytes(*bytes.first_chunk()?),
                u64::from_le_bytes(*bytes.last_chunk()?),
            ),
            _ => return None,
        };
        let len = bytes.len();
        Some(Self { first, last, len })
    }

    /// Where to look for an exchange, symbol and coin in a table; different ones may share a place.
    #[inline]
    pub(crate) fn place([exchange, symbol, _]: &[Self; 3]) -> usize {
        // Fibonacci hashing: the upper bits of a product with an odd number near 2⁶⁴ divided by the golden ratio.
        let name = symbol.first ^ symbol.last.rotate_left(29) ^ exchange.first.rotate_left(47);
        let mixed = name.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        usize::try_from(mixed >> 52).unwrap_or_default()
    }
}
