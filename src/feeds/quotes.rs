//! Where the strings of a frame begin and end: its quotes, found 64 bytes at a time without a branch per byte.

/// Bytes that are looked at together.
const BLOCK: usize = 64;
const WORD: usize = 8;
/// A one in every byte of a word.
const ONES: u64 = u64::from_ne_bytes([1; WORD]);

/// The quotes of a text without escapes and control characters, found as far as they are asked for.
#[derive(Debug)]
pub(super) struct Quotes {
    /// The block whose quotes these are.
    block: usize,
    /// A bit for each byte of the block, the first byte's lowest.
    found: u64,
}

impl Quotes {
    /// Of no text yet.
    pub(super) const fn new() -> Self {
        Self {
            block: usize::MAX,
            found: 0,
        }
    }

    /// Where the first quote from `at` on stands; `None` where there is none, or an escape or a control character
    /// somewhere near.
    #[inline]
    pub(super) fn next(&mut self, text: &[u8], at: usize) -> Option<usize> {
        let mut block = at / BLOCK;
        if block != self.block {
            self.look(text, block)?;
        }
        let mut left = self.found & (u64::MAX << (at % BLOCK));
        while left == 0 {
            block += 1;
            self.look(text, block)?;
            left = self.found;
        }
        Some(block * BLOCK + left.trailing_zeros() as usize)
    }

    fn look(&mut self, text: &[u8], block: usize) -> Option<()> {
        let rest = text.get(block * BLOCK..).filter(|rest| !rest.is_empty())?;
        self.found = if let Some(bytes) = rest.first_chunk() {
            quotes(bytes)?
        } else {
            let mut bytes = [b' '; BLOCK];
            bytes.get_mut(..rest.len())?.copy_from_slice(rest);
            quotes(&bytes)?
        };
        self.block = block;
        Some(())
    }
}

/// A bit for each byte that is a quote; `None` where one is a backslash or a control character.
#[inline]
fn quotes(bytes: &[u8; BLOCK]) -> Option<u64> {
    let odd = |odd: u8, byte: &u8| odd | u8::from(*byte < b' ') | u8::from(*byte == b'\\');
    if bytes.iter().fold(0, odd) != 0 {
        return None;
    }
    let (words, _) = bytes.as_chunks::<WORD>();
    let all = words.iter().rev().fold(0, |all, word| {
        (all << WORD) | equal(u64::from_le_bytes(*word), b'"')
    });
    Some(all)
}

/// A bit for each byte of `word` that is `byte`, the lowest byte's lowest.
#[inline]
fn equal(word: u64, byte: u8) -> u64 {
    const LOW: u64 = ONES * 0x7f;
    // One multiplication brings the bytes' lowest bits together in the highest byte.
    const GATHER: u64 = 0x0102_0408_1020_4080;
    let differs = word ^ (ONES * u64::from(byte));
    // The highest bit of each byte says whether any of its bits is set.
    let any = ((differs & LOW) + LOW) | differs;
    ((!any >> 7) & ONES).wrapping_mul(GATHER) >> (u64::BITS - u8::BITS)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn quotes_are_found_where_they_are(
            text in "[\"ab!#\u{a2}é]{0,200}",
            odd in prop::option::of((any::<prop::sample::Index>(), prop::sample::select(vec!['\\', '\n', '\0', '\u{1f}']))),
        ) {
            let mut text: Vec<char> = text.chars().collect();
            if let Some((at, odd)) = odd {
                let at = at.index(text.len() + 1);
                text.insert(at, odd);
            }
            let text: String = text.into_iter().collect();
            let text = text.as_bytes();
            let mut quotes = Quotes::new();
            for at in 0..text.len() + 70 {
                let there = (at..text.len()).find(|&at| text.get(at) == Some(&b'"'));
                let found = quotes.next(text, at);
                // Whole blocks are refused for what is odd in them.
                let looked_at = (there.unwrap_or(text.len()) / BLOCK + 1) * BLOCK;
                let odd = (at / BLOCK * BLOCK..looked_at.min(text.len()))
                    .any(|at| text.get(at).is_some_and(|&byte| byte < b' ' || byte == b'\\'));
                prop_assert_eq!(found, there.filter(|_| !odd), "{} of {:?}", at, text);
            }
        }
    }
}
