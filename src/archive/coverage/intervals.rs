//! Arithmetic of stretches of time, each from an instant until before another.

use crate::model::Millis;

/// From an instant until before another.
pub(crate) type Span = (Millis, Millis);

/// What is left of `spans` outside of all `holes`, in order and apart from each other.
pub(crate) fn without(spans: &[Span], holes: &[Span]) -> Vec<Span> {
    let mut left = joined(spans);
    for (from, to) in joined(holes) {
        left = left
            .into_iter()
            .flat_map(|(start, end)| [(start, end.min(from)), (start.max(to), end)])
            .filter(|(start, end)| start < end)
            .collect();
    }
    left
}

/// The same time in as few stretches as there can be, in order.
fn joined(spans: &[Span]) -> Vec<Span> {
    let mut spans: Vec<Span> = spans.iter().copied().filter(|(a, b)| a < b).collect();
    spans.sort_unstable();
    let mut all: Vec<Span> = Vec::new();
    for (start, end) in spans {
        match all.last_mut() {
            Some(last) if start <= last.1 => last.1 = last.1.max(end),
            _ => all.push((start, end)),
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use crate::archive::coverage::intervals::*;

    fn left(spans: &[(i64, i64)], holes: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let of = |spans: &[(i64, i64)]| -> Vec<Span> {
            let spans = spans.iter();
            spans.map(|(a, b)| (Millis(*a), Millis(*b))).collect()
        };
        let left = without(&of(spans), &of(holes));
        left.into_iter().map(|(a, b)| (a.0, b.0)).collect()
    }

    #[test]
    fn holes_are_cut_out_wherever_they_lie() {
        assert_eq!(left(&[(0, 10)], &[]), [(0, 10)]);
        assert_eq!(left(&[(0, 10)], &[(3, 5)]), [(0, 3), (5, 10)]);
        assert_eq!(left(&[(0, 10)], &[(3, 5), (4, 8)]), [(0, 3), (8, 10)]);
        assert_eq!(left(&[(0, 10)], &[(-5, 2), (9, 20)]), [(2, 9)]);
        assert_eq!(left(&[(0, 10)], &[(0, 10)]), []);
        assert_eq!(left(&[(0, 10)], &[(10, 12), (-2, 0)]), [(0, 10)]);
    }

    #[test]
    fn stretches_that_touch_are_one_and_empty_ones_none() {
        assert_eq!(left(&[(5, 9), (0, 5), (7, 7)], &[]), [(0, 9)]);
        assert_eq!(left(&[(0, 2), (4, 6)], &[(1, 5)]), [(0, 1), (5, 6)]);
    }
}
