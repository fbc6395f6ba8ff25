//! Where a page lies against the rows that are known: by time first, then row by row.

use crate::api::Orders;
use crate::model::{Millis, OrderColumns};

/// Rows kept for lining pages up.
const KEPT: usize = 4000;
/// The overlap where all known rows are of one instant, so that only their order tells them from others.
const TIMELESS: usize = 16;

/// How a page lies against the known rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alignment {
    /// The page's first row is at this position.
    At(i128),
    /// Several positions fit.
    Unclear,
    /// The page lies before all rows that are kept.
    Newer,
    /// The page begins behind the known rows: rows in between are missing.
    Older,
}

/// The rows that are known, as far as pages are lined up with them.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// The last known rows.
    pub(super) rows: OrderColumns,
    /// The position behind the last known row.
    pub(super) end: u64,
    /// How many equal rows the known ones end with.
    pub(super) run: usize,
    /// The overlap that unclear pages have asked for.
    pub(super) wider: usize,
    /// The overlap that the rows themselves need.
    overlap: usize,
    /// Whether the known rows repeat from first to last, so that none of them marks a place.
    adrift: bool,
}

impl Known {
    /// The overlap to ask for.
    pub(super) fn needed(&self) -> usize {
        self.overlap.max(self.wider).min(self.rows.len())
    }

    /// Makes the rows of a page from `fresh` on known.
    pub(super) fn extend(&mut self, page: &OrderColumns, fresh: usize) {
        let length = page.len();
        self.end += (length - fresh) as u64;
        self.rows
            .append(page, fresh.max(length.saturating_sub(KEPT))..length);
        let many = self.rows.len();
        if many > 2 * KEPT {
            let mut kept = OrderColumns::with_capacity(2 * KEPT + usize::from(Orders::MAX));
            kept.append(&self.rows, many - KEPT..many);
            self.rows = kept;
        }
    }

    /// Looks how much of the known rows must be met again to tell where a page lies.
    pub(super) fn measure(&mut self) {
        let rows = &self.rows;
        let last = rows.len().saturating_sub(1);
        let equal = |&row: &usize| rows.same(row, rows, last);
        self.run = (0..rows.len()).rev().take_while(equal).count();
        let repeated = repeated(rows);
        let one_instant = rows.timestamp.first() == rows.timestamp.last();
        let for_want_of_time = if one_instant { TIMELESS } else { 0 };
        self.overlap = (repeated + 2).max(for_want_of_time).min(rows.len());
        self.adrift = repeated > 0 && repeated + 2 > rows.len();
    }

    /// How `rows` lie against the known ones: at position `highest` at most, as many as were asked for where they are a
    /// `full` page, and `sure` not to begin behind them.
    pub(super) fn align(
        &self,
        rows: &OrderColumns,
        highest: i128,
        full: bool,
        sure: bool,
    ) -> Alignment {
        let (Some(first), Some(last)) = ends(rows) else {
            return Alignment::Older;
        };
        let (Some(kept_first), Some(kept_last)) = ends(&self.rows) else {
            return Alignment::Older;
        };
        let timeless = kept_first == kept_last;
        if !sure && !timeless {
            // All on the page may be of our last row's instant or older: equal rows prove nothing there.
            return Alignment::Older;
        }
        let needed = self.needed();
        let end = i128::from(self.end);
        let start = end - self.rows.len() as i128;
        let len = rows.len() as i128;
        let highest = highest.min(end - 1);
        // Time alone rules out nearly all places: the page's first row among the known ones, or their first in the page.
        let within = instants(&self.rows, first).rev().map(|row| row as i128);
        let before = instants(rows, kept_first)
            .filter(|row| *row > 0)
            .map(|row| -(row as i128));
        let mut fits: Vec<(i128, usize)> = within
            .chain(before)
            .filter(|at| start + at <= highest)
            .filter_map(|at| Some((start + at, meeting(&self.rows, rows, at)?)))
            .collect();
        let Some(&(_, most)) = fits.iter().max_by_key(|(_, met)| met) else {
            let reaches_back = last <= kept_last && kept_first > kept_last;
            return if sure && reaches_back {
                self.align_by_last_rows(rows)
            } else if sure {
                Alignment::Newer
            } else {
                Alignment::Older
            };
        };
        // A short chance meeting does not make a long one doubtful.
        fits.retain(|(_, met)| met * 2 >= most);
        if fits.len() > 1 {
            // Rows in front of the first kept one have arrived after it, so they are not older.
            fits.retain(|&(at, _)| {
                usize::try_from(start - at - 1)
                    .ok()
                    .and_then(|before| rows.timestamp.get(before))
                    .is_none_or(|&at| at >= kept_first)
            });
        }
        let brings_fresh = |at: i128| at + len > end;
        // A row that is newer than ours and stands right in front of them is no row from far behind.
        let newer_in_front = |at: i128| {
            usize::try_from(start - at - 1)
                .ok()
                .and_then(|before| rows.timestamp.get(before))
                .is_some_and(|&at| at > kept_first)
        };
        match fits.as_slice() {
            // Where time does not tell newer from older, rows in front of ours may as well be rows far behind.
            &[(at, _)] if !sure && at < start && !newer_in_front(at) => Alignment::Older,
            &[(at, _)] if self.adrift && brings_fresh(at) && !self.stands_apart(rows, at, full) => {
                Alignment::Unclear
            }
            &[(at, met)] if met >= needed || (sure && !brings_fresh(at)) => Alignment::At(at),
            [_] if sure => Alignment::Unclear,
            // Behind rows that are newer than ours there can only be too little of ours, not too much.
            fits if !sure
                && first > kept_first
                && !fits.iter().any(|&(at, _)| brings_fresh(at)) =>
            {
                match fits {
                    // The feed ends with the page, so the fewest arrivals are safe to believe.
                    [(at, _), ..] if !full => Alignment::At(*at),
                    _ => Alignment::Newer,
                }
            }
            [_] => Alignment::Older,
            // The first of several is the one with the fewest arrivals, which is safe to believe.
            [(at, _), ..] if sure && !fits.iter().any(|&(at, _)| brings_fresh(at)) => {
                Alignment::At(*at)
            }
            _ => Alignment::Unclear,
        }
    }

    /// Whether time sets the known rows, which are all much the same, apart from all others on a page that puts the
    /// first of them at `at`: then no row of the page can be an equal one that arrived later.
    fn stands_apart(&self, rows: &OrderColumns, at: i128, full: bool) -> bool {
        let Some(instant) = self.rows.timestamp.first() else {
            return false;
        };
        let start = i128::from(self.end) - self.rows.len() as i128;
        let before = usize::try_from(start - at - 1)
            .ok()
            .and_then(|before| rows.timestamp.get(before));
        before.is_none_or(|at| at > instant)
            && (!full || rows.timestamp.last().is_some_and(|at| at < instant))
    }

    /// Where a page lies that begins within the known rows but differs from them: late rows have come in between, or
    /// rows were taken back. The last known rows still tell where it goes on.
    fn align_by_last_rows(&self, rows: &OrderColumns) -> Alignment {
        for count in [self.needed(), 1] {
            let count = count.min(self.rows.len());
            let start = self.rows.len() - count;
            let mut places = (0..(rows.len() + 1).saturating_sub(count.max(1))).filter(|place| {
                count > 0 && (0..count).all(|row| rows.same(place + row, &self.rows, start + row))
            });
            match (places.next(), places.next()) {
                (Some(place), None) => {
                    return Alignment::At(i128::from(self.end) - count as i128 - place as i128);
                }
                (Some(_), Some(_)) => return Alignment::Unclear,
                (None, _) => {}
            }
        }
        Alignment::Newer
    }
}

/// The instants of the first and the last row.
fn ends(rows: &OrderColumns) -> (Option<Millis>, Option<Millis>) {
    (
        rows.timestamp.first().copied(),
        rows.timestamp.last().copied(),
    )
}

/// How many rows of `rows` meet known ones, if all that meet are equal; `at` is the index among `kept` of the first.
fn meeting(kept: &OrderColumns, rows: &OrderColumns, at: i128) -> Option<usize> {
    let skipped = usize::try_from(-at).unwrap_or(0);
    let at = usize::try_from(at).unwrap_or(0);
    let met = kept
        .len()
        .saturating_sub(at)
        .min(rows.len().saturating_sub(skipped));
    let equal = (0..met).all(|row| kept.same(at + row, rows, skipped + row));
    (met > 0 && equal).then_some(met)
}

/// The length of the longest ending of `kept` that occurs twice in it.
///
/// A page must share two rows more to be lined up: the ending that occurs once, and the row before it, so that a run of
/// equal rows is shared together with the row that it follows.
fn repeated(kept: &OrderColumns) -> usize {
    let Some((last, &instant)) = kept.timestamp.iter().enumerate().next_back() else {
        return 0;
    };
    instants(kept, instant)
        .filter(|row| *row < last)
        .map(|row| {
            let shift = last - row;
            (shift..=last)
                .rev()
                .take_while(|&row| kept.same(row, kept, row - shift))
                .count()
        })
        .max()
        .unwrap_or(0)
}

/// The rows of an instant, in order.
fn instants(rows: &OrderColumns, instant: Millis) -> impl DoubleEndedIterator<Item = usize> {
    let all = rows.timestamp.iter().enumerate();
    all.filter(move |(_, at)| **at == instant)
        .map(|(row, _)| row)
}
