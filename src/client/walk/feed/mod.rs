//! Decides which pages of a growing feed to request, and which of their rows are new.

mod alignment;

use std::ops::Range;

use self::alignment::{Alignment, KnownRows};
use crate::api::Orders;
use crate::client::error::Error;
use crate::model::OrderColumns;

/// The largest page of the contract.
pub(super) const LARGEST: usize = Orders::MAX as usize;
/// The maximum number of pages in flight.
pub(super) const FLIGHT: usize = 8;
/// After this many pages in a row without a new row the feed counts as too fast.
const PATIENCE: u32 = 200;

/// A page to request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRequest {
    pub(super) offset: u64,
    pub(super) limit: usize,
    /// The confirmed shift when the page was requested; the true shift is never smaller.
    floor: u64,
    /// Number of rows added to the offset for expected arrivals.
    lead: u64,
}

/// The result of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PageOutcome {
    /// The rows to return, possibly none. Pages requested later remain valid.
    Rows(Range<usize>),
    /// The page did not overlap the known rows, so pages requested later will not either.
    Astray,
}

/// Why the walk cannot go on.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum FeedWalkError {
    #[error(
        "a run of {run} equal rows up to row {at} is too long to be aligned with pages of {page} rows; use a larger \
         page_size"
    )]
    Run { run: usize, at: u64, page: usize },
    #[error("the rows up to row {at} repeat so often that pages cannot be aligned")]
    Repeats { at: u64 },
    #[error(
        "the page at offset {offset} shows rows from before row {at} in another order: the service withdrew, changed or \
         moved rows, so the walk cannot continue"
    )]
    Contradicts { offset: u64, at: u64 },
    #[error(
        "{PATIENCE} pages in a row had no row beyond row {at}: the feed grows faster than it can be read"
    )]
    Fast { at: u64 },
}

impl From<FeedWalkError> for Error {
    fn from(lost: FeedWalkError) -> Self {
        Self::UnexpectedReply {
            path: "data".to_owned(),
            message: lost.to_string(),
        }
    }
}

/// The state of a walk.
#[derive(Debug)]
pub(super) struct GrowingFeed {
    page: usize,
    /// Rows still to return.
    wanted: u64,
    known: KnownRows,
    /// Confirmed arrivals.
    shift: u64,
    /// Arrivals expected before the next page is read.
    expected: u64,
    /// A lower bound of the arrivals since `shift`, derived from pages that had only newer rows.
    passed: u64,
    /// Pages read since `shift` was confirmed.
    reads: u32,
    /// Pages in a row without a new row.
    misses: u32,
    /// Pages in flight.
    flight: usize,
    /// The longest page so far.
    longest: usize,
    /// The length of the last page, if it was shorter than requested and no page was longer. It is probably the last
    /// one, but a service may return less than requested, so one more page is read.
    closed: Option<usize>,
    /// Whether the next page begins behind the last known row. If it is empty, the feed ends there.
    beyond: bool,
    begun: bool,
    ended: bool,
}

impl GrowingFeed {
    pub(super) fn new(page: usize, wanted: u64) -> Self {
        Self {
            page,
            wanted,
            known: KnownRows::default(),
            shift: 0,
            expected: 0,
            passed: 0,
            reads: 0,
            misses: 0,
            flight: 1,
            longest: 0,
            closed: None,
            beyond: false,
            begun: false,
            ended: false,
        }
    }

    /// The next page to request, while `flying` pages are in flight; `last` is the latest of them.
    ///
    /// Pages are processed in the order of request. Returns `None` while enough pages are in flight.
    pub(super) fn ask(
        &self,
        flying: usize,
        last: Option<&PageRequest>,
    ) -> Result<Option<PageRequest>, FeedWalkError> {
        if self.ended || flying >= self.flight {
            return Ok(None);
        }
        let wanted = usize::try_from(self.wanted).unwrap_or(usize::MAX);
        if !self.begun {
            return Ok(Some(PageRequest {
                offset: 0,
                // At least two rows, because a single row cannot be distinguished from an equal one.
                limit: self.page.max(2).min(wanted),
                floor: 0,
                lead: 0,
            }));
        }
        match self.can_line_up() {
            Ok(()) => {}
            // Pages in flight may still bring rows that make alignment possible.
            Err(_) if last.is_some() => return Ok(None),
            Err(why) => return Err(why),
        }
        let overlap = self.known.needed();
        // The offset behind the last row that is known or requested. Arrivals shift the offsets of all rows equally.
        let behind = last.map_or(self.shift + self.known.end, |last| {
            last.offset + last.limit as u64
        });
        let coming =
            usize::try_from(behind.saturating_sub(self.shift + self.known.end)).unwrap_or(0);
        let left = wanted.saturating_sub(coming);
        if left == 0 {
            return Ok(None);
        }
        // The overlap is part of the page size if that leaves room for a new row; else the page gets longer.
        let fresh = self.page.saturating_sub(overlap).max(1).min(left);
        let narrow = (overlap + fresh).min(LARGEST);
        // Each miss doubles the page, because a fast feed needs longer pages.
        let limit = narrow
            .saturating_mul(1 << self.misses.min(10))
            .min(LARGEST.max(narrow));
        // Without a lead, the page overlaps the end of the known rows. If so many arrivals are expected that it would
        // hardly reach beyond that end, a lead is added. The page still overlaps the known rows if fewer rows arrive
        // than expected.
        let likely = self.closed.map_or(limit, |closed| limit.min(closed));
        let room = likely.saturating_sub(overlap).max(1) as u64;
        let lead = if self.beyond {
            overlap as u64
        } else if self.expected < room / 4 * 3 {
            0
        } else {
            self.expected.saturating_sub(room.div_ceil(2))
        };
        if last.is_some_and(|last| last.lead > 0 || lead > 0) {
            return Ok(None);
        }
        Ok(Some(PageRequest {
            offset: behind.saturating_sub(overlap as u64) + lead,
            limit,
            floor: self.shift,
            lead,
        }))
    }

    /// Checks that a page can hold the overlap that alignment needs.
    fn can_line_up(&self) -> Result<(), FeedWalkError> {
        if self.known.run > self.page || self.known.run + 2 > LARGEST {
            return Err(FeedWalkError::Run {
                run: self.known.run,
                at: self.known.end,
                page: self.page,
            });
        }
        if self.known.needed() >= LARGEST {
            return Err(FeedWalkError::Repeats { at: self.known.end });
        }
        Ok(())
    }

    /// Whether the page begins within the known rows however few rows have arrived.
    fn surely_meets(&self, ask: &PageRequest) -> bool {
        ask.offset <= ask.floor + self.known.end.saturating_sub(self.known.needed() as u64)
    }

    /// Processes a page.
    pub(super) fn take(
        &mut self,
        ask: &PageRequest,
        rows: &OrderColumns,
    ) -> Result<PageOutcome, FeedWalkError> {
        if self.ended {
            return Ok(PageOutcome::Astray);
        }
        let short = rows.len() < ask.limit && rows.len() < self.longest;
        self.longest = self.longest.max(rows.len());
        if !self.begun {
            self.begun = true;
            self.ended = rows.is_empty();
            self.closed = (rows.len() < ask.limit).then_some(rows.len());
            return Ok(PageOutcome::Rows(self.keep(rows, 0)));
        }
        let sure = self.surely_meets(ask);
        if rows.is_empty() && ask.offset <= ask.floor + self.known.end {
            // The feed ends here: an older row than the known ones would lie at or behind this offset, so the page
            // would not be empty.
            self.ended = true;
            return Ok(PageOutcome::Rows(0..0));
        }
        self.beyond = false;
        self.reads += 1;
        let highest = i128::from(ask.offset) - i128::from(ask.floor);
        let full = rows.len() >= ask.limit;
        let alignment = self.known.align(rows, highest, full, sure);
        if let Some(closed) = self.closed {
            let behind = match alignment {
                Alignment::At(at) => at + rows.len() as i128 - i128::from(self.known.end),
                _ => -1,
            };
            // An earlier page was shorter than requested. If this page is longer, the earlier one was short because
            // the feed ended. A short page that ends with the last known row ends the feed too. A page as long as any
            // other does not: arrivals may have displaced further rows.
            if rows.len() > closed || (behind == 0 && short) {
                self.ended = true;
                return Ok(PageOutcome::Rows(0..0));
            }
        }
        match alignment {
            Alignment::At(position) => self.met(ask, rows, position, short).map(PageOutcome::Rows),
            Alignment::Unclear | Alignment::Contradicts => {
                self.missed()?;
                let overlap = self.known.needed();
                let most = self.known.rows.len().min(LARGEST - 1);
                let widest = sure && overlap >= most;
                if widest && alignment == Alignment::Contradicts {
                    return Err(FeedWalkError::Contradicts {
                        offset: ask.offset,
                        at: self.known.end,
                    });
                }
                if widest && ask.limit >= LARGEST {
                    return Err(FeedWalkError::Repeats { at: self.known.end });
                }
                self.known.wider = (overlap * 2).clamp(1, most);
                self.expected = 0;
                Ok(PageOutcome::Astray)
            }
            Alignment::Newer if short => {
                // A short page ends the feed. Its rows are all newer than the known ones, so no older rows exist any
                // more.
                self.ended = true;
                Ok(PageOutcome::Rows(0..0))
            }
            Alignment::Newer => {
                self.missed()?;
                let behind = self.behind(ask, rows);
                self.shift += behind;
                self.reads = 0;
                self.passed = 0;
                // The expected arrivals are only raised if times could show an overshoot. Otherwise the walk proceeds
                // page by page.
                self.expected = if self.known.looks_newer(rows) == Some(true) {
                    self.expected.max(behind) * 2
                } else {
                    0
                };
                Ok(PageOutcome::Astray)
            }
            Alignment::Elsewhere => {
                self.missed()?;
                // Times give only a guess of the position. Nothing but the offset of the next request depends on it.
                match self.known.looks_newer(rows) {
                    Some(true) => {
                        let passed = self.behind(ask, rows).max(self.passed);
                        let step = (self.expected.max(passed) - self.passed) * 2;
                        self.passed = passed;
                        self.expected = passed + step;
                    }
                    Some(false) => {
                        if ask.lead <= self.passed {
                            self.passed = ask.lead / 2;
                        }
                        self.expected = self.passed + (ask.lead - self.passed) / 2;
                    }
                    // The next request starts where the overlap is certain.
                    None => (self.passed, self.expected) = (0, 0),
                }
                Ok(PageOutcome::Astray)
            }
        }
    }

    /// A lower bound of the arrivals since `shift`, if the whole page lies before the first stored row.
    fn behind(&self, ask: &PageRequest, rows: &OrderColumns) -> u64 {
        let first = self.known.end - self.known.rows.len() as u64;
        (ask.offset + rows.len() as u64).saturating_sub(self.shift + first)
    }

    /// Processes a page that starts at `position`.
    fn met(
        &mut self,
        ask: &PageRequest,
        rows: &OrderColumns,
        position: i128,
        short: bool,
    ) -> Result<Range<usize>, FeedWalkError> {
        let shift = u64::try_from(i128::from(ask.offset) - position).unwrap_or(0);
        let arrived = shift.saturating_sub(self.shift);
        self.shift = self.shift.max(shift);
        self.expected = arrived.div_ceil(u64::from(self.reads.max(1)));
        self.passed = 0;
        self.reads = 0;
        let known = usize::try_from(i128::from(self.known.end) - position).unwrap_or(usize::MAX);
        let length = rows.len();
        let full = length >= ask.limit;
        if known >= length {
            self.ended = short;
            if full {
                self.closed = None;
            } else if known == length {
                self.closed = Some(length);
                // The page has no room beyond the overlap, so the next page begins behind the known rows.
                self.beyond = length <= self.known.needed();
            }
            if !self.ended {
                self.missed()?;
            }
            return Ok(0..0);
        }
        self.misses = 0;
        self.known.wider = 0;
        self.closed = (!full).then_some(length);
        self.flight = if full {
            (self.flight + 1).min(FLIGHT)
        } else {
            1
        };
        self.ended = short;
        Ok(self.keep(rows, known))
    }

    fn missed(&mut self) -> Result<(), FeedWalkError> {
        self.misses += 1;
        self.flight = 1;
        if self.misses >= PATIENCE {
            // The feed may calm down.
            self.misses = 0;
            return Err(FeedWalkError::Fast { at: self.known.end });
        }
        Ok(())
    }

    /// Appends the new rows of a page to the known rows. Returns the range of rows to return to the caller.
    fn keep(&mut self, page: &OrderColumns, fresh: usize) -> Range<usize> {
        self.known.extend(page, fresh);
        let left = usize::try_from(self.wanted).unwrap_or(usize::MAX);
        let wanted = fresh..page.len().min(fresh.saturating_add(left));
        self.wanted -= wanted.len() as u64;
        self.ended |= self.wanted == 0;
        if !self.ended {
            self.known.measure();
        }
        wanted
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests;
