//! Where a page lies against the rows that are known: by time first, then row by row.

use super::{Ask, Feed};
use crate::model::{Millis, OrderColumns};

/// How a page lies against the known rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lie {
    /// The page's first row is at this position.
    At(i128),
    /// Several positions fit.
    Unclear,
    /// The page lies before all rows that are kept.
    Newer,
    /// The page begins behind the known rows: rows in between are missing.
    Older,
}

impl Feed {
    /// How `rows` lie against the kept ones; `sure` tells that they cannot begin behind them.
    pub(super) fn lie(&self, ask: &Ask, rows: &OrderColumns, sure: bool) -> Lie {
        let (Some(first), Some(last)) = ends(rows) else {
            return Lie::Older;
        };
        let (Some(kept_first), Some(kept_last)) = ends(&self.kept) else {
            return Lie::Older;
        };
        let timeless = kept_first == kept_last;
        if !sure && !timeless {
            // All on the page may be of our last row's instant or older: equal rows prove nothing there.
            return Lie::Older;
        }
        let needed = self.needed();
        let end = i128::from(self.end);
        let start = end - self.kept.len() as i128;
        let len = rows.len() as i128;
        let highest = (end - 1).min(i128::from(ask.offset) - i128::from(ask.floor));
        // Time alone rules out nearly all places: the page's first row among the known ones, or their first in the page.
        let within = instants(&self.kept, first).rev().map(|row| row as i128);
        let before = instants(rows, kept_first)
            .filter(|row| *row > 0)
            .map(|row| -(row as i128));
        let mut fits: Vec<(i128, usize)> = within
            .chain(before)
            .filter(|at| start + at <= highest)
            .filter_map(|at| Some((start + at, meeting(&self.kept, rows, at)?)))
            .collect();
        let Some(&(_, most)) = fits.iter().max_by_key(|(_, met)| met) else {
            let reaches_back = last <= kept_last && kept_first > kept_last;
            return if sure && reaches_back {
                self.lie_by_last_rows(rows)
            } else if sure {
                Lie::Newer
            } else {
                Lie::Older
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
        let full = rows.len() >= ask.limit;
        // A row that is newer than ours and stands right in front of them is no row from far behind.
        let newer_in_front = |at: i128| {
            usize::try_from(start - at - 1)
                .ok()
                .and_then(|before| rows.timestamp.get(before))
                .is_some_and(|&at| at > kept_first)
        };
        match fits.as_slice() {
            // Where time does not tell newer from older, rows in front of ours may as well be rows far behind.
            &[(at, _)] if !sure && at < start && !newer_in_front(at) => Lie::Older,
            &[(at, _)] if self.adrift && brings_fresh(at) && !self.stands_apart(rows, at, full) => {
                Lie::Unclear
            }
            &[(at, met)] if met >= needed || (sure && !brings_fresh(at)) => Lie::At(at),
            [_] if sure => Lie::Unclear,
            // Behind rows that are newer than ours there can only be too little of ours, not too much.
            fits if !sure
                && first > kept_first
                && !fits.iter().any(|&(at, _)| brings_fresh(at)) =>
            {
                match fits {
                    // The feed ends with the page, so the fewest arrivals are safe to believe.
                    [(at, _), ..] if rows.len() < ask.limit => Lie::At(*at),
                    _ => Lie::Newer,
                }
            }
            [_] => Lie::Older,
            // The first of several is the one with the fewest arrivals, which is safe to believe.
            [(at, _), ..] if sure && !fits.iter().any(|&(at, _)| brings_fresh(at)) => Lie::At(*at),
            _ => Lie::Unclear,
        }
    }

    /// Whether time sets the known rows, which are all much the same, apart from all others on a page that puts the
    /// first of them at `at`: then no row of the page can be an equal one that arrived later.
    fn stands_apart(&self, rows: &OrderColumns, at: i128, full: bool) -> bool {
        let Some(instant) = self.kept.timestamp.first() else {
            return false;
        };
        let start = i128::from(self.end) - self.kept.len() as i128;
        let before = usize::try_from(start - at - 1)
            .ok()
            .and_then(|before| rows.timestamp.get(before));
        before.is_none_or(|at| at > instant)
            && (!full || rows.timestamp.last().is_some_and(|at| at < instant))
    }

    /// Where a page lies that begins within the known rows but differs from them: late rows have come in between, or
    /// rows were taken back. The last known rows still tell where it goes on.
    fn lie_by_last_rows(&self, rows: &OrderColumns) -> Lie {
        for count in [self.needed(), 1] {
            let count = count.min(self.kept.len());
            let start = self.kept.len() - count;
            let mut places = (0..(rows.len() + 1).saturating_sub(count.max(1))).filter(|place| {
                count > 0 && (0..count).all(|row| rows.same(place + row, &self.kept, start + row))
            });
            match (places.next(), places.next()) {
                (Some(place), None) => {
                    return Lie::At(i128::from(self.end) - count as i128 - place as i128);
                }
                (Some(_), Some(_)) => return Lie::Unclear,
                (None, _) => {}
            }
        }
        Lie::Newer
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
pub(super) fn repeated(kept: &OrderColumns) -> usize {
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
