//! Decides which pages of a growing feed to request, and which rows of a page are new.
//!
//! Known rows are those that the walk has read. Positions and `shift` are defined in [`super`].

mod alignment;

use std::ops::Range;

use self::alignment::{Alignment, KnownRows};
use crate::client::error::Error;
use crate::contract::Orders;
use crate::model::OrderColumns;

/// Maximum number of rows on a page that the API allows.
pub(super) const LARGEST: usize = Orders::MAX as usize;
/// The maximum number of pages in flight.
pub(super) const FLIGHT: usize = 8;
/// Number of consecutive pages without a new row after which the feed counts as too fast.
const PATIENCE: u32 = 200;

/// A page to request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageRequest {
    pub(super) offset: u64,
    pub(super) limit: usize,
    /// The confirmed shift at the time of the request. The true shift is at least as large.
    floor: u64,
    /// Number of rows by which the offset is increased, because that many arrivals are expected.
    lead: u64,
}

/// The result of a page.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum PageOutcome {
    /// Indexes of the page's rows to return, possibly none. Pages requested later remain valid.
    Rows(Range<usize>),
    /// The page does not overlap the known rows. Pages requested later will not overlap them either, so they are
    /// discarded.
    Astray,
}

/// Why the walk cannot continue.
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

/// The state of a walk over a feed.
#[derive(Debug)]
pub(super) struct GrowingFeed {
    page: usize,
    /// Number of rows that the walk may still return.
    wanted: u64,
    known: KnownRows,
    /// Number of arrivals that are confirmed by an alignment.
    shift: u64,
    /// Number of further arrivals expected before the next page is read.
    expected: u64,
    /// A lower bound of the number of arrivals since `shift` was confirmed, derived from pages with only newer rows.
    passed: u64,
    /// Number of pages read since `shift` was confirmed.
    reads: u32,
    /// Number of consecutive pages without a new row.
    misses: u32,
    /// Number of pages that may be in flight at present.
    flight: usize,
    /// Number of rows on the longest page so far.
    longest: usize,
    /// Number of rows on the last page, if it was shorter than requested and no page was longer. The feed probably ends
    /// with that page. But a service may always return fewer rows than requested, so one more page is read.
    closed: Option<usize>,
    /// Whether the next page begins directly behind the last known row. If that page is empty, the feed ends there.
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

    /// Returns the next page to request. `flying` is the number of pages in flight, and `last` is the page requested
    /// last.
    ///
    /// Pages are processed in the order of their requests. Returns `None` if no further page can be requested yet.
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
                // The first page has at least two rows, because a single row cannot be distinguished from an equal one.
                limit: self.page.max(2).min(wanted),
                floor: 0,
                lead: 0,
            }));
        }
        match self.can_line_up() {
            Ok(()) => {}
            // Pages in flight may contain rows that make alignment possible.
            Err(_) if last.is_some() => return Ok(None),
            Err(why) => return Err(why),
        }
        let overlap = self.known.needed();
        // The offset after the last row that is known or requested. Each arrival increases the offsets of all rows
        // equally.
        let behind = last.map_or(self.shift + self.known.end, |last| {
            last.offset + last.limit as u64
        });
        let coming =
            usize::try_from(behind.saturating_sub(self.shift + self.known.end)).unwrap_or(0);
        let left = wanted.saturating_sub(coming);
        if left == 0 {
            return Ok(None);
        }
        // The page size includes the overlap if that leaves room for a new row. Otherwise the page is longer than the
        // page size.
        let fresh = self.page.saturating_sub(overlap).max(1).min(left);
        let narrow = (overlap + fresh).min(LARGEST);
        // Each page without a new row doubles the next page, because a fast feed needs longer pages.
        let limit = narrow
            .saturating_mul(1 << self.misses.min(10))
            .min(LARGEST.max(narrow));
        // Without a lead, the page overlaps the end of the known rows. If many arrivals are expected, the page would
        // hardly extend beyond that end, so a lead is added to the offset. The lead is small enough that the page
        // overlaps the known rows even if fewer rows arrive.
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

    /// Checks that a page can contain the overlap that alignment needs.
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

    /// Whether the page begins within the known rows even if no row has arrived since `shift` was confirmed.
    fn surely_meets(&self, ask: &PageRequest) -> bool {
        ask.offset <= ask.floor + self.known.end.saturating_sub(self.known.needed() as u64)
    }

    /// Processes a page that was received for the request `ask`.
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
            // The feed ends here. A row older than the known rows would have at least this offset, so the page would
            // not be empty.
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
            // An earlier page had fewer rows than requested. If this page is longer, the service could return more
            // rows, so the earlier page was short because the feed ended. The feed also ends if a short page ends with
            // the last known row. A page as long as the longest one proves no end, because arrivals may have pushed
            // older rows off it.
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
                // A short page ends the feed. All its rows are newer than the known rows, so older rows have left the
                // feed.
                self.ended = true;
                Ok(PageOutcome::Rows(0..0))
            }
            Alignment::Newer => {
                self.missed()?;
                let behind = self.behind(ask, rows);
                self.shift += behind;
                self.reads = 0;
                self.passed = 0;
                // Expected arrivals are increased only if times can later show that the guess was too high. Otherwise
                // the walk requests the following pages without a lead.
                self.expected = if self.known.looks_newer(rows) == Some(true) {
                    self.expected.max(behind) * 2
                } else {
                    0
                };
                Ok(PageOutcome::Astray)
            }
            Alignment::Elsewhere => {
                self.missed()?;
                // Times allow only a guess of the page's position. The guess affects only the offset of the next
                // request.
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
                    // Without a usable time, the next request starts where it surely overlaps the known rows.
                    None => (self.passed, self.expected) = (0, 0),
                }
                Ok(PageOutcome::Astray)
            }
        }
    }

    /// Returns a lower bound of the number of arrivals since `shift`, if all rows of the page are newer than the stored
    /// rows.
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
                // The page is not longer than the overlap, so the next page begins directly behind the known rows.
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
            // The caller may continue after this error, because the feed may become slower.
            self.misses = 0;
            return Err(FeedWalkError::Fast { at: self.known.end });
        }
        Ok(())
    }

    /// Appends the new rows of a page to the known rows. Returns the indexes of the page's rows to return to the
    /// caller.
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
