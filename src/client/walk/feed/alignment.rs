//! Where a page lies against the rows that are known: told by the rows themselves, in their order.
//!
//! A feed lists its rows as they arrived or by their time. In the first rows only come in front, but times rise and
//! fall, as a late row stands where it arrived; in the second times fall, but a late row comes in between. So a time
//! never proves where a page lies; equal rows in the same order do.

use std::collections::HashMap;

use crate::api::Orders;
use crate::model::{Millis, OrderColumns};

/// Rows kept for lining pages up.
const KEPT: usize = 4000;
/// The overlap where all known rows are of one instant, so that only their order tells them from others.
const TIMELESS: usize = 16;
/// So few known rows may be gone but for one.
const FEW: usize = 2;
/// The overlap where times do not fall from row to row.
const UNSORTED: usize = 4;

/// How a page lies against the known rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alignment {
    /// The page's first row is at this position.
    At(i128),
    /// Several positions fit.
    Unclear,
    /// The page lies before all rows that are kept.
    Newer,
    /// The page does not meet the known rows: it lies before or behind them.
    Elsewhere,
    /// The page holds known rows, but not as they were.
    Contradicts,
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
        let for_want_of_time = if one_instant {
            TIMELESS
        } else if falls(rows) {
            0
        } else {
            UNSORTED
        };
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
        let (Some(&first), Some(&kept_first)) =
            (rows.timestamp.first(), self.rows.timestamp.first())
        else {
            return Alignment::Elsewhere;
        };
        let needed = self.needed();
        let end = i128::from(self.end);
        let start = self.start();
        let len = rows.len() as i128;
        let highest = highest.min(end - 1);
        // Equal rows are of one instant, which rules out nearly all places: the page's first row among the known ones,
        // or their first in the page.
        let within = instants(&self.rows, first).rev().map(|row| row as i128);
        let before = instants(rows, kept_first)
            .filter(|row| *row > 0)
            .map(|row| -(row as i128));
        let mut fits: Vec<(i128, usize)> = within
            .chain(before)
            .filter(|at| start + at <= highest)
            .filter_map(|at| Some((start + at, meeting(&self.rows, rows, at)?)))
            .collect();
        let brings_fresh = |at: i128| at + len > end;
        if !sure {
            // A page from behind may show a row or two that look like ours: only as many as mark a place do, and rows of
            // one instant are often alike.
            let apart = Some(&first) > self.rows.timestamp.last();
            let marks = if apart { needed } else { needed.max(TIMELESS) };
            fits.retain(|&(_, met)| met >= marks);
            return match fits.as_slice() {
                [(at, _)] if !self.adrift || self.stands_apart(rows, *at, full) => {
                    Alignment::At(*at)
                }
                _ => Alignment::Elsewhere,
            };
        }
        let Some(&(_, most)) = fits.iter().max_by_key(|(_, met)| met) else {
            return self.align_changed(rows);
        };
        // A short chance meeting does not make a long one doubtful.
        fits.retain(|(_, met)| met * 2 >= most);
        match fits.as_slice() {
            &[(at, _)] if self.adrift && brings_fresh(at) && !self.stands_apart(rows, at, full) => {
                Alignment::Unclear
            }
            &[(at, met)] if met >= needed || !brings_fresh(at) => Alignment::At(at),
            // The first of several is the one with the fewest arrivals, which is safe to believe.
            [(at, _), ..] if !fits.iter().any(|&(at, _)| brings_fresh(at)) => Alignment::At(*at),
            _ => Alignment::Unclear,
        }
    }

    /// Whether a page is of a later time than the known rows; none where times rise too often to tell.
    pub(super) fn looks_newer(&self, rows: &OrderColumns) -> Option<bool> {
        let tells = |rows: &OrderColumns| {
            let rises = rows.timestamp.windows(2).filter(|pair| match pair {
                [newer, older] => newer < older,
                _ => false,
            });
            rises.count() * 10 <= rows.len()
        };
        (tells(rows) && tells(&self.rows)).then(|| middle(rows) > middle(&self.rows))
    }

    /// The position of the first row that is kept.
    fn start(&self) -> i128 {
        i128::from(self.end) - self.rows.len() as i128
    }

    /// Whether time sets the known rows, which are all much the same, apart from all others on a page that puts the
    /// first of them at `at`: then no row of the page can be an equal one that arrived later.
    fn stands_apart(&self, rows: &OrderColumns, at: i128, full: bool) -> bool {
        let Some(instant) = self.rows.timestamp.first() else {
            return false;
        };
        let before = usize::try_from(self.start() - at - 1)
            .ok()
            .and_then(|before| rows.timestamp.get(before));
        before.is_none_or(|at| at > instant)
            && (!full || rows.timestamp.last().is_some_and(|at| at < instant))
    }

    /// Where a page lies that begins before the known rows' end and shows them nowhere as they were.
    ///
    /// It is newer than all of them; or late rows have come in between, as they do where a feed goes by time; or rows
    /// were taken back, changed or put elsewhere.
    fn align_changed(&self, rows: &OrderColumns) -> Alignment {
        let met = Met::new(&self.rows, rows);
        let sorted = falls(&self.rows) && falls(rows);
        if let Some(place) = met.tail {
            // The last known rows are there, so they tell where it goes on. But where times do not fall, rows come in
            // front only, and none comes between two others.
            return if sorted {
                Alignment::At(i128::from(self.end) - 1 - place as i128)
            } else {
                Alignment::Contradicts
            };
        }
        let newer = match (rows.timestamp.last(), self.rows.timestamp.first()) {
            (Some(last), Some(first)) => last > first,
            _ => false,
        };
        match met.last {
            None => Alignment::Newer,
            // In a feed by time, a page that ends before our rows begin.
            Some(_) if sorted && newer => Alignment::Newer,
            // Rows that come twice here and there prove nothing, unless many of them come in the same order.
            Some(_) if met.repeats && met.longest < TIMELESS => {
                let one_instant = self.rows.timestamp.first() == self.rows.timestamp.last();
                if sorted && !one_instant {
                    Alignment::Unclear
                } else {
                    Alignment::Newer
                }
            }
            Some((place, row)) if sorted => {
                // As many arrivals at least as moved the last row that they meet in.
                let at = self.start() + row as i128 - place as i128;
                if at + rows.len() as i128 <= i128::from(self.end) {
                    Alignment::At(at)
                } else {
                    Alignment::Contradicts
                }
            }
            // Two orders may be alike by chance; where one row alone meets another, nothing was put elsewhere.
            Some(_) if met.places == 1 && self.rows.len() > FEW => Alignment::Newer,
            Some(_) => Alignment::Contradicts,
        }
    }
}

/// Which known rows a page holds, whatever their order.
struct Met {
    /// The place on the page of the last known row, where it and the one before it are on the page once each, in their
    /// order.
    tail: Option<usize>,
    /// The last place on the page that holds a known row, and which.
    last: Option<(usize, usize)>,
    /// How many places on the page hold a known row.
    places: usize,
    /// The most known rows that follow each other on the page as they did.
    longest: usize,
    /// Whether some of the known rows look the same.
    repeats: bool,
}

impl Met {
    fn new(kept: &OrderColumns, rows: &OrderColumns) -> Self {
        let mut at: HashMap<Millis, Vec<usize>> = HashMap::new();
        for (row, instant) in kept.timestamp.iter().enumerate() {
            at.entry(*instant).or_default().push(row);
        }
        let known = |instant: &Millis| at.get(instant).map_or(&[][..], Vec::as_slice);
        let repeats = at.values().any(|alike| {
            let others = alike.iter().enumerate();
            // Of a crowd of one instant nothing is said for certain.
            alike.len() > 64
                || others.clone().any(|(nth, &row)| {
                    let rest = alike.get(nth + 1..).unwrap_or_default();
                    rest.iter().any(|&other| kept.same(row, kept, other))
                })
        });
        let mut last = None;
        let (mut longest, mut places) = (0, 0);
        // For each known row that the page's last row equals, how many before both are equal, too.
        let mut running: HashMap<usize, usize> = HashMap::new();
        for (place, instant) in rows.timestamp.iter().enumerate() {
            let mut next = HashMap::new();
            for &row in known(instant) {
                if kept.same(row, rows, place) {
                    let before = row.checked_sub(1).and_then(|row| running.get(&row));
                    let length = before.map_or(1, |before| before + 1);
                    longest = longest.max(length);
                    next.insert(row, length);
                    last = Some((place, row));
                }
            }
            places += usize::from(!next.is_empty());
            running = next;
        }
        let only = |row: Option<usize>| {
            let row = row?;
            let mut places = instants(rows, *kept.timestamp.get(row)?)
                .filter(|&place| kept.same(row, rows, place));
            let place = places.next()?;
            let alike = |&other: &usize| kept.same(row, kept, other);
            let alone = instants(kept, *kept.timestamp.get(row)?)
                .filter(alike)
                .count()
                == 1;
            (alone && places.next().is_none()).then_some(place)
        };
        let tail = only(kept.len().checked_sub(1));
        let before = only(kept.len().checked_sub(2));
        Self {
            tail: tail.filter(|&tail| before.is_some_and(|before| before < tail)),
            last,
            places,
            longest,
            repeats,
        }
    }
}

/// The instant in the middle of all.
fn middle(rows: &OrderColumns) -> Option<Millis> {
    let mut instants = rows.timestamp.clone();
    let half = instants.len().checked_div(2)?;
    (half < instants.len()).then(|| *instants.select_nth_unstable(half).1)
}

/// Whether no row is of a later instant than the one before it.
fn falls(rows: &OrderColumns) -> bool {
    rows.timestamp.is_sorted_by(|newer, older| newer >= older)
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
