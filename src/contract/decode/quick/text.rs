//! String scanning, eight bytes at a time without a branch per byte.

const WORD: usize = 8;
/// A word with the value 1 in every byte.
const ONES: u64 = u64::from_ne_bytes([1; WORD]);
/// A word with the high bit of every byte set.
const TOPS: u64 = ONES << 7;

/// Index of the first quote; `None` if a backslash or control character precedes it, or if there is no quote.
#[inline]
pub(super) fn quote(text: &[u8]) -> Option<usize> {
    let (words, tail) = text.as_chunks::<WORD>();
    let mut at = 0;
    for word in words {
        let (quotes, ends) = ends(u64::from_le_bytes(*word));
        if ends != 0 {
            at += (ends.trailing_zeros() / u8::BITS) as usize;
            return (quotes & ends & ends.wrapping_neg() != 0).then_some(at);
        }
        at += WORD;
    }
    quote_one_by_one(tail).map(|end| at + end)
}

/// Like [`quote`], byte by byte, for the last few bytes of a text.
#[cold]
#[inline(never)]
fn quote_one_by_one(text: &[u8]) -> Option<usize> {
    let end = text.iter().position(|&byte| is_end(byte))?;
    (text.get(end) == Some(&b'"')).then_some(end)
}

/// Whether `byte` ends plain text: a quote, a backslash or a control character.
#[inline]
fn is_end(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | ..b' ')
}

/// Two masks: high bits of the quotes, and of all bytes that end plain text.
///
/// In each mask, bits after the first set bit may be wrong.
#[inline]
fn ends(word: u64) -> (u64, u64) {
    // The subtraction sets the high bit of a byte below the bound. Its borrow may falsify the next byte.
    let below = |word: u64, bound: u8| word.wrapping_sub(ONES * u64::from(bound)) & !word & TOPS;
    let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
    let quotes = is(b'"');
    (quotes, quotes | is(b'\\') | below(word, b' '))
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_byte_is_classified() {
        for byte in 0..=u8::MAX {
            for before in 0..20 {
                let mut text = vec![b'a'; before];
                text.extend([byte, b'"']);
                let wanted = match byte {
                    b'"' => Some(before),
                    byte if is_end(byte) => None,
                    _ => Some(before + 1),
                };
                assert_eq!(quote(&text), wanted, "{byte} behind {before}");
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_first_quote_is_found_unless_something_odd_stands_before_it(
            text in "[\"ab!#\u{a2}é\\\\\n\0\u{1f}]{0,40}[ab!é]{0,20}\"?",
        ) {
            let text = text.as_bytes();
            for at in 0..text.len() {
                let text = &text[at..];
                let end = text.iter().position(|byte| is_end(*byte));
                let wanted = end.filter(|end| text[*end] == b'"');
                prop_assert_eq!(quote(text), wanted, "{:?}", text);
            }
        }
    }
}
