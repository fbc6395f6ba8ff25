//! Short names as integers, for fast comparison and lookup.

/// A name of at most 16 bytes, packed into integers that differ for different names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Short {
    first: u64,
    last: u64,
    len: usize,
}

impl Short {
    /// Packs a name; `None` if it is longer than 16 bytes.
    #[inline]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        // The first and the last eight bytes overlap or adjoin, so together they cover the name.
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

    /// The hash slot of an exchange, symbol and coin. Different combinations may have the same slot.
    #[inline]
    pub fn place([exchange, symbol, _]: &[Self; 3]) -> usize {
        // Fibonacci hashing: the upper bits of a product with an odd number near 2⁶⁴ divided by the golden ratio.
        let name = symbol.first ^ symbol.last.rotate_left(29) ^ exchange.first.rotate_left(47);
        let mixed = name.wrapping_mul(0x9E37_79B9_7F4A_7C15);
        usize::try_from(mixed >> 52).unwrap_or_default()
    }
}
