//! Set arithmetic of time ranges.

use crate::model::TimeRange;

/// The parts of `ranges` outside all `holes`, sorted and disjoint.
pub(crate) fn without(ranges: &[TimeRange], holes: &[TimeRange]) -> Vec<TimeRange> {
    let mut left = TimeRange::merged(ranges);
    for hole in TimeRange::merged(holes) {
        left = left
            .into_iter()
            .flat_map(|TimeRange { start, end }| {
                [
                    TimeRange::new(start, end.min(hole.start)),
                    TimeRange::new(start.max(hole.end), end),
                ]
            })
            .filter(|range| !range.is_empty())
            .collect();
    }
    left
}

#[cfg(test)]
mod tests {
    use crate::archive::coverage::intervals::*;
    use crate::model::Millis;

    fn left(ranges: &[(i64, i64)], holes: &[(i64, i64)]) -> Vec<(i64, i64)> {
        let of = |ranges: &[(i64, i64)]| -> Vec<TimeRange> {
            let ranges = ranges.iter();
            ranges
                .map(|(start, end)| TimeRange::new(Millis(*start), Millis(*end)))
                .collect()
        };
        let left = without(&of(ranges), &of(holes)).into_iter();
        left.map(|range| (range.start.0, range.end.0)).collect()
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
    fn adjacent_ranges_are_merged_and_empty_ones_dropped() {
        assert_eq!(left(&[(5, 9), (0, 5), (7, 7)], &[]), [(0, 9)]);
        assert_eq!(left(&[(0, 2), (4, 6)], &[(1, 5)]), [(0, 1), (5, 6)]);
    }
}
