//! Finds the position of a page among the known rows, by comparing the rows in their order.
//!
//! A feed lists rows by arrival or by time. In a feed by arrival, new rows appear only at the front. Its times are not
//! sorted, because a late row stands at the place of its arrival. In a feed by time, times are sorted, but a late row
//! appears between older rows. A time therefore never proves a position. Only a sequence of equal rows in equal order
//! does.

use std::collections::HashMap;

use crate::contract::Orders;
use crate::model::{Millis, OrderColumns};

/// Number of known rows that are stored for alignment.
const RETAINED: usize = 4000;
/// Required overlap in rows if all known rows have the same instant, so that only their order identifies them.
const TIMELESS: usize = 16;
/// If at most this many rows are known, a page may contain only one of them because the others were withdrawn.
const FEW: usize = 2;
/// Required overlap in rows if the times of the known rows are not sorted.
const UNSORTED: usize = 4;

/// The position of a page among the known rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alignment {
    /// The first row of the page has this position.
    At(i128),
    /// The page fits at several positions.
    Unclear,
    /// All rows of the page are newer than all stored rows.
    Newer,
    /// The page does not overlap the known rows.
    Elsewhere,
    /// The page contains known rows, but they are changed or in another order.
    Contradicts,
}

/// The part of the known rows that alignment needs.
#[derive(Debug, Default)]
pub(super) struct KnownRows {
    /// The last known rows, at most [`RETAINED`].
    pub(super) rows: OrderColumns,
    /// The position after the last known row.
    pub(super) end: u64,
    /// Number of rows at the end of the known rows that are equal to the last one.
    pub(super) run: usize,
    /// Required overlap after pages that fit at several positions, doubled by each such page.
    pub(super) wider: usize,
    /// Required overlap that follows from the known rows; see `measure`.
    overlap: usize,
    /// Whether the stored rows repeat a pattern, so that all of them together may still match at several positions.
    adrift: bool,
}

impl KnownRows {
    /// The overlap that a request must ask for, in rows.
    pub(super) fn needed(&self) -> usize {
        self.overlap.max(self.wider).min(self.rows.len())
    }

    /// Appends the rows of a page, beginning with index `fresh`.
    pub(super) fn extend(&mut self, page: &OrderColumns, fresh: usize) {
        let length = page.len();
        self.end += (length - fresh) as u64;
        self.rows
            .append(page, fresh.max(length.saturating_sub(RETAINED))..length);
        let many = self.rows.len();
        if many > 2 * RETAINED {
            let mut stored = OrderColumns::with_capacity(2 * RETAINED + usize::from(Orders::MAX));
            stored.append(&self.rows, many - RETAINED..many);
            self.rows = stored;
        }
    }

    /// Computes how many known rows a page must contain to be aligned.
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

    /// Finds the position of the page `rows`, which is at most `highest`. `full` says that the page is as long as
    /// requested. `sure` says that the page begins within the known rows.
    pub(super) fn align(
        &self,
        rows: &OrderColumns,
        highest: i128,
        full: bool,
        sure: bool,
    ) -> Alignment {
        let (Some(&first), Some(&stored_first)) =
            (rows.timestamp.first(), self.rows.timestamp.first())
        else {
            return Alignment::Elsewhere;
        };
        let needed = self.needed();
        let end = i128::from(self.end);
        let start = self.start();
        let len = rows.len() as i128;
        let highest = highest.min(end - 1);
        // Tries only positions at which the first instant of the page or of the stored rows meets an equal instant.
        // Nearly all positions are thus excluded.
        let within = instants(&self.rows, first).rev().map(|row| row as i128);
        let before = instants(rows, stored_first)
            .filter(|row| *row > 0)
            .map(|row| -(row as i128));
        let mut fits: Vec<(i128, usize)> = within
            .chain(before)
            .filter(|at| start + at <= highest)
            .filter_map(|at| Some((start + at, meeting(&self.rows, rows, at)?)))
            .collect();
        let brings_fresh = |at: i128| at + len > end;
        if !sure {
            // All rows of the page may be newer, with one or two of them equal to known rows by chance. Only a long
            // match proves a position. Rows of one instant are often equal, so they need an even longer match.
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
        // Drops matches of less than half the maximum length, so that a short match by chance does not make a long one
        // ambiguous.
        fits.retain(|(_, met)| met * 2 >= most);
        match fits.as_slice() {
            &[(at, _)] if self.adrift && brings_fresh(at) && !self.stands_apart(rows, at, full) => {
                Alignment::Unclear
            }
            &[(at, met)] if met >= needed || !brings_fresh(at) => Alignment::At(at),
            // If several positions fit and none of them adds new rows, the first one, with the fewest arrivals, is
            // safe.
            [(at, _), ..] if !fits.iter().any(|&(at, _)| brings_fresh(at)) => Alignment::At(*at),
            _ => Alignment::Unclear,
        }
    }

    /// Whether a page is newer than the known rows, judging by their times. `None` if the times are not sorted well
    /// enough.
    pub(super) fn looks_newer(&self, rows: &OrderColumns) -> Option<bool> {
        let is_ordered = |rows: &OrderColumns| {
            let rises = rows.timestamp.windows(2).filter(|pair| match pair {
                [newer, older] => newer < older,
                _ => false,
            });
            rises.count() * 10 <= rows.len()
        };
        (is_ordered(rows) && is_ordered(&self.rows)).then(|| middle(rows) > middle(&self.rows))
    }

    /// Returns the position of the first stored row.
    fn start(&self) -> i128 {
        i128::from(self.end) - self.rows.len() as i128
    }

    /// Whether the page rows directly before and after the stored rows have other instants, if the page starts at `at`.
    ///
    /// If so, the match contains no equal row that arrived later.
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

    /// Finds the position of a page that begins within the known rows but does not contain them unchanged.
    ///
    /// There are three possible causes. All rows of the page are newer than the known rows. Or late rows were inserted
    /// between known rows, in a feed by time. Or rows were withdrawn, changed or moved.
    fn align_changed(&self, rows: &OrderColumns) -> Alignment {
        let met = Met::new(&self.rows, rows);
        let sorted = falls(&self.rows) && falls(rows);
        if let Some(place) = met.tail {
            // The page contains the last known rows, which give the position. But rows are inserted between known rows
            // only in a feed with sorted times.
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
            // In a feed by time, all rows of the page are newer than the known rows.
            Some(_) if sorted && newer => Alignment::Newer,
            // If some known rows are equal to each other, single matches prove nothing, unless many known rows match in
            // the same order.
            Some(_) if met.repeats && met.longest < TIMELESS => {
                let one_instant = self.rows.timestamp.first() == self.rows.timestamp.last();
                if sorted && !one_instant {
                    Alignment::Unclear
                } else {
                    Alignment::Newer
                }
            }
            Some((place, row)) if sorted => {
                // The number of arrivals is at least the distance by which the last common row has moved.
                let at = self.start() + row as i128 - place as i128;
                if at + rows.len() as i128 <= i128::from(self.end) {
                    Alignment::At(at)
                } else {
                    Alignment::Contradicts
                }
            }
            // Two orders may be equal by chance. A single match therefore does not prove that rows were moved.
            Some(_) if met.places == 1 && self.rows.len() > FEW => Alignment::Newer,
            Some(_) => Alignment::Contradicts,
        }
    }
}

/// Which known rows a page contains, in any order.
struct Met {
    /// Index on the page of the last known row. Only present if this row and the one before it occur once each and in
    /// order.
    tail: Option<usize>,
    /// The last index on the page that has a known row, and the index of that row among the stored rows.
    last: Option<(usize, usize)>,
    /// Number of indexes on the page that have a known row.
    places: usize,
    /// Length of the longest sequence of known rows on the page.
    longest: usize,
    /// Whether some of the known rows are equal to each other.
    repeats: bool,
}

impl Met {
    fn new(stored: &OrderColumns, rows: &OrderColumns) -> Self {
        let mut at: HashMap<Millis, Vec<usize>> = HashMap::new();
        for (row, instant) in stored.timestamp.iter().enumerate() {
            at.entry(*instant).or_default().push(row);
        }
        let known = |instant: &Millis| at.get(instant).map_or(&[][..], Vec::as_slice);
        let repeats = at.values().any(|alike| {
            let others = alike.iter().enumerate();
            // If too many rows have the same instant, or some of these are equal, no match is certain.
            alike.len() > 64
                || others.clone().any(|(nth, &row)| {
                    let rest = alike.get(nth + 1..).unwrap_or_default();
                    rest.iter().any(|&other| stored.same(row, stored, other))
                })
        });
        let mut last = None;
        let (mut longest, mut places) = (0, 0);
        // For each known row that equals the current page row: length of the common sequence that ends with both rows.
        let mut running: HashMap<usize, usize> = HashMap::new();
        for (place, instant) in rows.timestamp.iter().enumerate() {
            let mut next = HashMap::new();
            for &row in known(instant) {
                if stored.same(row, rows, place) {
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
            let mut places = instants(rows, *stored.timestamp.get(row)?)
                .filter(|&place| stored.same(row, rows, place));
            let place = places.next()?;
            let alike = |&other: &usize| stored.same(row, stored, other);
            let alone = instants(stored, *stored.timestamp.get(row)?)
                .filter(alike)
                .count()
                == 1;
            (alone && places.next().is_none()).then_some(place)
        };
        let tail = only(stored.len().checked_sub(1));
        let before = only(stored.len().checked_sub(2));
        Self {
            tail: tail.filter(|&tail| before.is_some_and(|before| before < tail)),
            last,
            places,
            longest,
            repeats,
        }
    }
}

/// Returns the median instant of the rows.
fn middle(rows: &OrderColumns) -> Option<Millis> {
    let mut instants = rows.timestamp.clone();
    let half = instants.len().checked_div(2)?;
    (half < instants.len()).then(|| *instants.select_nth_unstable(half).1)
}

/// Whether the times are sorted, newest first.
fn falls(rows: &OrderColumns) -> bool {
    rows.timestamp.is_sorted_by(|newer, older| newer >= older)
}

/// Returns the number of overlapping rows if all of them are equal, otherwise `None`. `at` is the index of the page's
/// first row among the stored rows; it may be negative.
fn meeting(stored: &OrderColumns, rows: &OrderColumns, at: i128) -> Option<usize> {
    let skipped = usize::try_from(-at).unwrap_or(0);
    let at = usize::try_from(at).unwrap_or(0);
    let met = stored
        .len()
        .saturating_sub(at)
        .min(rows.len().saturating_sub(skipped));
    let equal = (0..met).all(|row| stored.same(at + row, rows, skipped + row));
    (met > 0 && equal).then_some(met)
}

/// Returns the length of the longest sequence at the end of `stored` that occurs at least twice.
///
/// To be aligned, a page must contain two more rows: one that makes the sequence unique, and the row before it. If the
/// stored rows end with equal rows, the overlap thus includes the row before these.
fn repeated(stored: &OrderColumns) -> usize {
    let Some((last, &instant)) = stored.timestamp.iter().enumerate().next_back() else {
        return 0;
    };
    instants(stored, instant)
        .filter(|row| *row < last)
        .map(|row| {
            let shift = last - row;
            (shift..=last)
                .rev()
                .take_while(|&row| stored.same(row, stored, row - shift))
                .count()
        })
        .max()
        .unwrap_or(0)
}

/// Returns the indexes of the rows that have the instant `instant`, in ascending order.
fn instants(rows: &OrderColumns, instant: Millis) -> impl DoubleEndedIterator<Item = usize> {
    let all = rows.timestamp.iter().enumerate();
    all.filter(move |(_, at)| **at == instant)
        .map(|(row, _)| row)
}
