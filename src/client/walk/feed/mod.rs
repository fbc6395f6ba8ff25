//! Which pages of a growing feed to ask for, and which of their rows are new.

mod alignment;

use std::ops::Range;

use self::alignment::{Alignment, Known};
use crate::api::Orders;
use crate::client::error::Error;
use crate::model::OrderColumns;

/// The largest page of the contract.
pub(super) const LARGEST: usize = Orders::MAX as usize;
/// The most pages in flight.
pub(super) const FLIGHT: usize = 8;
/// Pages in a row without a fresh row after which the feed counts as faster than we are.
const PATIENCE: u32 = 200;

/// A page to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    pub(super) offset: u64,
    pub(super) limit: usize,
    /// The shift confirmed when the page was asked for: it can only have grown since.
    floor: u64,
    /// By how many rows the page was moved on in expectation of arrivals.
    lead: u64,
}

/// What a page brought.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Taken {
    /// The rows of the page to hand out, possibly none; the pages asked for after this one still count.
    Rows(Range<usize>),
    /// The page did not meet the known rows: what was asked for after it will not either.
    Astray,
}

/// Why a walk cannot go on.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Lost {
    #[error(
        "a run of {run} equal rows up to row {at} is longer than a page of {page} can tell from rows that have moved; \
         a larger page_size may help"
    )]
    Run { run: usize, at: u64, page: usize },
    #[error("the rows up to row {at} repeat themselves so much that pages cannot be lined up")]
    Repeats { at: u64 },
    #[error(
        "the page at offset {offset} shows rows from before row {at}, but not in the order in which they came: rows \
         were taken back, changed or put elsewhere, and what follows cannot be told from what was read"
    )]
    Contradicts { offset: u64, at: u64 },
    #[error(
        "{PATIENCE} pages in a row held nothing beyond row {at}: the feed moves faster than it can be read"
    )]
    Fast { at: u64 },
}

impl From<Lost> for Error {
    fn from(lost: Lost) -> Self {
        Self::UnexpectedReply {
            path: "data".to_owned(),
            message: lost.to_string(),
        }
    }
}

/// The state of a walk.
#[derive(Debug)]
pub(super) struct Feed {
    page: usize,
    /// Rows still to hand out.
    wanted: u64,
    known: Known,
    /// Arrivals seen for certain.
    shift: u64,
    /// Arrivals to expect before the next page is read.
    expected: u64,
    /// A lower bound of the arrivals since `shift`, from pages that were all newer.
    passed: u64,
    /// Pages read since `shift` was confirmed.
    reads: u32,
    /// Pages in a row that brought no fresh row.
    misses: u32,
    /// Pages in flight.
    flight: usize,
    /// The longest page so far: a service that gave so many can give so many again.
    longest: usize,
    /// The length of the last page, if it was shorter than asked for though none has been longer: most likely it is
    /// the last, but a service may as well give less than it is asked for. One more page is read to know.
    closed: Option<usize>,
    /// Whether the next page is to begin behind the last known row: an empty one shows that this is the feed's last.
    beyond: bool,
    begun: bool,
    ended: bool,
}

impl Feed {
    pub(super) fn new(page: usize, wanted: u64) -> Self {
        Self {
            page,
            wanted,
            known: Known::default(),
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

    /// The page to ask for after those in flight, of which there are `flying` and `last` was asked for last.
    ///
    /// Pages are taken in the order of asking. Nothing is asked for while enough is in flight; where nothing is in
    /// flight, something is until the end.
    pub(super) fn ask(&self, flying: usize, last: Option<&Ask>) -> Result<Option<Ask>, Lost> {
        if self.ended || flying >= self.flight {
            return Ok(None);
        }
        let wanted = usize::try_from(self.wanted).unwrap_or(usize::MAX);
        if !self.begun {
            return Ok(Some(Ask {
                offset: 0,
                // One row alone has nothing beside it to be told from its equals by.
                limit: self.page.max(2).min(wanted),
                floor: 0,
                lead: 0,
            }));
        }
        match self.can_line_up() {
            Ok(()) => {}
            // The pages in flight may tell more.
            Err(_) if last.is_some() => return Ok(None),
            Err(why) => return Err(why),
        }
        let overlap = self.known.needed();
        // Behind the last row that is known or on its way; arrivals move both as one.
        let behind = last.map_or(self.shift + self.known.end, |last| {
            last.offset + last.limit as u64
        });
        let coming =
            usize::try_from(behind.saturating_sub(self.shift + self.known.end)).unwrap_or(0);
        let left = wanted.saturating_sub(coming);
        if left == 0 {
            return Ok(None);
        }
        // The overlap stands inside the page as long as it leaves room for a fresh row.
        let fresh = self.page.saturating_sub(overlap).max(1).min(left);
        let narrow = (overlap + fresh).min(LARGEST);
        // A feed that has run away is met with a wider page.
        let limit = narrow
            .saturating_mul(1 << self.misses.min(10))
            .min(LARGEST.max(narrow));
        // Aimed at the known rows' end. Only where the page would most likely not reach beyond it is the page moved
        // on, and so that as many arrivals more as fewer than expected still meet the known rows.
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
        Ok(Some(Ask {
            offset: behind.saturating_sub(overlap as u64) + lead,
            limit,
            floor: self.shift,
            lead,
        }))
    }

    /// Whether a page can hold what tells where it lies.
    fn can_line_up(&self) -> Result<(), Lost> {
        if self.known.run > self.page || self.known.run + 2 > LARGEST {
            return Err(Lost::Run {
                run: self.known.run,
                at: self.known.end,
                page: self.page,
            });
        }
        if self.known.needed() >= LARGEST {
            return Err(Lost::Repeats { at: self.known.end });
        }
        Ok(())
    }

    /// Whether the page of `ask` begins within the known rows, however few have arrived.
    fn surely_meets(&self, ask: &Ask) -> bool {
        ask.offset <= ask.floor + self.known.end.saturating_sub(self.known.needed() as u64)
    }

    /// Takes the page that `ask` brought.
    pub(super) fn take(&mut self, ask: &Ask, rows: &OrderColumns) -> Result<Taken, Lost> {
        if self.ended {
            return Ok(Taken::Astray);
        }
        let short = rows.len() < ask.limit && rows.len() < self.longest;
        self.longest = self.longest.max(rows.len());
        if !self.begun {
            self.begun = true;
            self.ended = rows.is_empty();
            self.closed = (rows.len() < ask.limit).then_some(rows.len());
            return Ok(Taken::Rows(self.keep(rows, 0)));
        }
        let sure = self.surely_meets(ask);
        if rows.is_empty() && ask.offset <= ask.floor + self.known.end {
            // Arrivals move the feed's end behind that, if there is a row beyond ours.
            self.ended = true;
            return Ok(Taken::Rows(0..0));
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
            // A longer page now would have been as long then. One that ends with our last row ends the feed, unless it is as
            // long as any that came: as many may have arrived as it would have held beyond that row.
            if rows.len() > closed || (behind == 0 && short) {
                self.ended = true;
                return Ok(Taken::Rows(0..0));
            }
        }
        match alignment {
            Alignment::At(position) => self.met(ask, rows, position, short).map(Taken::Rows),
            Alignment::Unclear | Alignment::Contradicts => {
                self.missed()?;
                let overlap = self.known.needed();
                let most = self.known.rows.len().min(LARGEST - 1);
                let widest = sure && overlap >= most;
                if widest && alignment == Alignment::Contradicts {
                    return Err(Lost::Contradicts {
                        offset: ask.offset,
                        at: self.known.end,
                    });
                }
                if widest && ask.limit >= LARGEST {
                    return Err(Lost::Repeats { at: self.known.end });
                }
                self.known.wider = (overlap * 2).clamp(1, most);
                self.expected = 0;
                Ok(Taken::Astray)
            }
            Alignment::Newer if short => {
                // The feed's old end has moved before ours.
                self.ended = true;
                Ok(Taken::Rows(0..0))
            }
            Alignment::Newer => {
                self.missed()?;
                let behind = self.behind(ask, rows);
                self.shift += behind;
                self.reads = 0;
                self.passed = 0;
                // Where times do not show that a leap went too far, the walk goes on page by page.
                self.expected = if self.known.looks_newer(rows) == Some(true) {
                    self.expected.max(behind) * 2
                } else {
                    0
                };
                Ok(Taken::Astray)
            }
            Alignment::Elsewhere => {
                self.missed()?;
                // Times are good for a guess, and only what to ask for next hangs on it.
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
                    // From where it surely meets.
                    None => (self.passed, self.expected) = (0, 0),
                }
                Ok(Taken::Astray)
            }
        }
    }

    /// How many have arrived since `shift` at least, if all of a page stands before the first kept row.
    fn behind(&self, ask: &Ask, rows: &OrderColumns) -> u64 {
        let first = self.known.end - self.known.rows.len() as u64;
        (ask.offset + rows.len() as u64).saturating_sub(self.shift + first)
    }

    /// A page whose first row is at `position`.
    fn met(
        &mut self,
        ask: &Ask,
        rows: &OrderColumns,
        position: i128,
        short: bool,
    ) -> Result<Range<usize>, Lost> {
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
                // Extension what it takes to line up, no page may hold a row.
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

    fn missed(&mut self) -> Result<(), Lost> {
        self.misses += 1;
        self.flight = 1;
        if self.misses >= PATIENCE {
            // It may calm down.
            self.misses = 0;
            return Err(Lost::Fast { at: self.known.end });
        }
        Ok(())
    }

    /// Makes the rows of a page from `fresh` on known; returns those that are wanted.
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
