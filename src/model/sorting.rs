//! A sort with little code: the standard library's sort adds kilobytes of code at every call site.

use std::cmp::Ordering;

/// Sorts like [`slice::sort_by`] with a twentieth of the code. It is slower, so use it for short or rarely sorted
/// lists.
///
/// # Examples
///
/// ```
/// use liqdata::model::sort_small;
///
/// let mut words = ["on", "a", "to"];
/// sort_small(&mut words, |one, other| one.len().cmp(&other.len()));
/// assert_eq!(words, ["a", "on", "to"]);
/// ```
pub fn sort_small<T>(things: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let mut places = order(things.len(), &mut |one, other| match (
        things.get(one),
        things.get(other),
    ) {
        (Some(one), Some(other)) => compare(one, other),
        _ => Ordering::Equal,
    });
    // Apply the permutation in place, one cycle at a time.
    for first in 0..places.len() {
        let mut at = first;
        while let Some(from) = places.get_mut(at) {
            let from = std::mem::replace(from, at);
            if from == first || from == at {
                break;
            }
            things.swap(at, from);
            at = from;
        }
    }
}

/// The indices from 0 to `count` - 1 in sorted order; equal items stay in their order.
#[inline(never)]
fn order(count: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    let mut places: Vec<usize> = (0..count).collect();
    places.sort_by(|one, other| compare(*one, *other));
    places
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_the_standard_librarys_order(keys in prop::collection::vec(0..9_u8, 0..200)) {
            let mut things: Vec<(u8, usize)> = keys.into_iter().zip(0..).collect();
            let mut expected = things.clone();
            expected.sort_by_key(|(key, _)| *key);
            sort_small(&mut things, |one, other| one.0.cmp(&other.0));
            prop_assert_eq!(things, expected);
        }
    }
}
