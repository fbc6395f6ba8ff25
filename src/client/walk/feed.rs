//! Which pages of a growing feed to ask for, and where each lies against the rows that are known.

use std::ops::Range;

use crate::api::Orders;
use crate::client::Error;
use crate::model::{Millis, OrderColumns};

/// Rows kept for lining pages up.
const KEPT: usize = 4000;
/// The largest page of the contract.
pub(super) const LARGEST: usize = Orders::MAX as usize;
/// The most pages in flight.
pub(super) const FLIGHT: usize = 8;
/// The overlap where all known rows are of one instant, so that only their order tells them from others.
const TIMELESS: usize = 16;
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

/// How a page lies against the known rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    /// The page's first row is at this position.
    At(i128),
    /// Several positions fit.
    Unclear,
    /// The page lies before all rows that are kept.
    Newer,
    /// The page begins behind the known rows: rows in between are missing.
    Older,
}

/// The state of a walk.
#[derive(Debug)]
pub(super) struct Feed {
    page: usize,
    /// Rows still to hand out.
    wanted: u64,
    /// The last known rows.
    kept: OrderColumns,
    /// The position behind the last known row.
    end: u64,
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
    /// The overlap that the rows themselves need.
    overlap: usize,
    /// How many equal rows the known ones end with.
    run: usize,
    /// Whether the known rows repeat from first to last, so that none of them marks a place.
    adrift: bool,
    /// The overlap that unclear pages have asked for.
    wider: usize,
    /// Pages in flight.
    flight: usize,
    /// The longest page so far: a service that gave so many can give so many again.
    longest: usize,
    /// The length of the last page, if it was shorter than asked for though none has been longer: most likely it is
    /// the last, but a service may as well give less than it is asked for. One more page is read to know.
    closed: Option<usize>,
    begun: bool,
    ended: bool,
}

impl Feed {
    pub(super) fn new(page: usize, wanted: u64) -> Self {
        Self {
            page,
            wanted,
            kept: OrderColumns::default(),
            end: 0,
            shift: 0,
            expected: 0,
            passed: 0,
            reads: 0,
            misses: 0,
            overlap: 0,
            run: 0,
            adrift: false,
            wider: 0,
            flight: 1,
            longest: 0,
            closed: None,
            begun: false,
            ended: false,
        }
    }

    /// The overlap to ask for.
    fn needed(&self) -> usize {
        self.overlap.max(self.wider).min(self.kept.len())
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
        let overlap = self.needed();
        // Behind the last row that is known or on its way; arrivals move both as one.
        let behind = last.map_or(self.shift + self.end, |last| {
            last.offset + last.limit as u64
        });
        let coming = usize::try_from(behind.saturating_sub(self.shift + self.end)).unwrap_or(0);
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
        let room = (limit - overlap) as u64;
        let lead = if self.expected < room / 4 * 3 {
            0
        } else {
            self.expected.saturating_sub(room / 2)
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
        if self.run > self.page || self.run + 2 > LARGEST {
            return Err(Lost::Run {
                run: self.run,
                at: self.end,
                page: self.page,
            });
        }
        if self.needed() >= LARGEST {
            return Err(Lost::Repeats { at: self.end });
        }
        Ok(())
    }

    /// Whether the page of `ask` begins within the known rows, however few have arrived.
    fn surely_meets(&self, ask: &Ask) -> bool {
        ask.offset <= ask.floor + self.end.saturating_sub(self.needed() as u64)
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
        if rows.is_empty() && sure {
            // Even the known rows are gone from there: the feed's old end has moved before ours.
            self.ended = true;
            return Ok(Taken::Rows(0..0));
        }
        self.reads += 1;
        // A page that begins with a row newer than our last one begins before it, too.
        let first = rows.timestamp.first();
        let time_tells = first.is_some() && first > self.kept.timestamp.last();
        let lie = self.lie(ask, rows, sure || time_tells);
        if let Some(closed) = self.closed.take() {
            let goes_on = |at: i128| at + rows.len() as i128 > i128::from(self.end);
            if rows.len() > closed || !matches!(lie, Lie::At(at) if goes_on(at)) {
                self.ended = true;
                return Ok(Taken::Rows(0..0));
            }
        }
        match lie {
            Lie::At(position) => self.met(ask, rows, position, short).map(Taken::Rows),
            Lie::Unclear => {
                self.missed()?;
                let overlap = self.needed();
                let most = self.kept.len().min(LARGEST - 1);
                if sure && overlap >= most && ask.limit >= LARGEST {
                    return Err(Lost::Repeats { at: self.end });
                }
                self.wider = (overlap * 2).clamp(1, most);
                self.expected = 0;
                Ok(Taken::Astray)
            }
            Lie::Newer if short => {
                // The feed's old end has moved before ours.
                self.ended = true;
                Ok(Taken::Rows(0..0))
            }
            Lie::Newer => {
                self.missed()?;
                // The page's last row stands before the first kept one.
                let first = self.end - self.kept.len() as u64;
                let behind = (ask.offset + rows.len() as u64).saturating_sub(self.shift + first);
                let last = rows.timestamp.last();
                let all_newer = last.is_some() && last >= self.kept.timestamp.first();
                if sure || (time_tells && all_newer) {
                    self.shift += behind;
                    self.reads = 0;
                    self.passed = 0;
                } else {
                    self.passed = self.passed.max(behind);
                }
                // Where time would not tell that a leap went too far, the walk goes on page by page.
                self.expected = if time_tells {
                    self.expected.max(behind) * 2
                } else {
                    0
                };
                Ok(Taken::Astray)
            }
            Lie::Older => {
                self.missed()?;
                if ask.lead <= self.passed {
                    self.passed = ask.lead / 2;
                }
                self.expected = self.passed + (ask.lead - self.passed) / 2;
                Ok(Taken::Astray)
            }
        }
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
        let known = usize::try_from(i128::from(self.end) - position).unwrap_or(usize::MAX);
        let length = rows.len();
        let full = length >= ask.limit;
        if known >= length {
            self.ended = short;
            self.closed = (!full).then_some(length);
            if !self.ended {
                self.missed()?;
            }
            return Ok(0..0);
        }
        self.misses = 0;
        self.wider = 0;
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
            self.ended = true;
            return Err(Lost::Fast { at: self.end });
        }
        Ok(())
    }

    /// Makes the rows of a page from `fresh` on known; returns those that are wanted.
    fn keep(&mut self, page: &OrderColumns, fresh: usize) -> Range<usize> {
        let length = page.len();
        self.end += (length - fresh) as u64;
        self.kept
            .append(page, fresh.max(length.saturating_sub(KEPT))..length);
        let many = self.kept.len();
        if many > 2 * KEPT {
            let mut kept = OrderColumns::with_capacity(2 * KEPT + LARGEST);
            kept.append(&self.kept, many - KEPT..many);
            self.kept = kept;
        }
        let left = usize::try_from(self.wanted).unwrap_or(usize::MAX);
        let wanted = fresh..length.min(fresh.saturating_add(left));
        self.wanted -= wanted.len() as u64;
        self.ended |= self.wanted == 0;
        if !self.ended {
            let kept = &self.kept;
            let last = kept.len().saturating_sub(1);
            let equal = |&row: &usize| kept.same(row, kept, last);
            self.run = (0..kept.len()).rev().take_while(equal).count();
            let repeated = repeated(kept);
            let one_instant = kept.timestamp.first() == kept.timestamp.last();
            let for_want_of_time = if one_instant { TIMELESS } else { 0 };
            self.overlap = (repeated + 2).max(for_want_of_time).min(self.kept.len());
            self.adrift = repeated > 0 && repeated + 2 > self.kept.len();
        }
        wanted
    }

    /// How `rows` lie against the kept ones; `sure` tells that they cannot begin behind them.
    fn lie(&self, ask: &Ask, rows: &OrderColumns, sure: bool) -> Lie {
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

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use std::collections::VecDeque;

    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use super::*;
    use crate::model::{Order, Side};

    fn order(price: i64, timestamp: i64) -> Order {
        Order {
            exchange: "binance".to_owned(),
            symbol: "BTCUSDT".to_owned(),
            side: Side::Long,
            price: Decimal::from(price),
            qty: Decimal::ONE,
            value_usd: Decimal::from(price),
            timestamp: Millis(timestamp),
        }
    }

    /// A feed, oldest row first.
    type Rows = Vec<Order>;

    /// Adds rows made of steps: an equal row, another row of the same instant, a later one.
    fn grow(feed: &mut Rows, steps: &[u8]) {
        for step in steps {
            let newest = feed.last().cloned().unwrap_or_else(|| order(0, 0));
            let price = i64::try_from(newest.price).unwrap();
            feed.push(match step {
                0 => newest,
                1 => order((price + 1) % 3, newest.timestamp.0),
                _ => order(0, newest.timestamp.0 + 1),
            });
        }
    }

    fn read(feed: &[Order], ask: &Ask) -> Vec<Order> {
        feed.iter()
            .rev()
            .skip(usize::try_from(ask.offset).unwrap())
            .take(ask.limit)
            .cloned()
            .collect()
    }

    /// Walks `feed` while `arrive` grows it before each read but the first; gives the rows and what was asked.
    fn walk(
        feed: &mut Rows,
        page: usize,
        wanted: u64,
        mut arrive: impl FnMut(&mut Rows),
    ) -> (Result<Vec<Order>, Lost>, Vec<Ask>) {
        let mut state = Feed::new(page, wanted);
        let (mut out, mut asked) = (Vec::new(), Vec::new());
        let mut flying: VecDeque<(Ask, Vec<Order>)> = VecDeque::new();
        loop {
            loop {
                let ask = match state.ask(flying.len(), flying.back().map(|(ask, _)| ask)) {
                    Ok(Some(ask)) => ask,
                    Ok(None) => break,
                    Err(lost) => return (Err(lost), asked),
                };
                assert!((1..=LARGEST).contains(&ask.limit));
                if !asked.is_empty() {
                    arrive(feed);
                }
                asked.push(ask);
                flying.push_back((ask, read(feed, &ask)));
                assert!(flying.len() <= FLIGHT);
            }
            let Some((ask, page)) = flying.pop_front() else {
                break;
            };
            match state.take(&ask, &page.iter().collect()) {
                Ok(Taken::Rows(rows)) => out.extend_from_slice(&page[rows]),
                Ok(Taken::Astray) => flying.clear(),
                Err(lost) => return (Err(lost), asked),
            }
        }
        assert!(state.ended);
        (Ok(out), asked)
    }

    fn longest_run(feed: &[Order]) -> usize {
        feed.chunk_by(|a, b| a == b)
            .map(<[_]>::len)
            .max()
            .unwrap_or(0)
    }

    #[test]
    fn bursts_of_equal_rows_do_not_keep_a_short_feed_from_its_end() {
        let mut feed = Rows::new();
        grow(&mut feed, &[0]);
        let expected = feed.clone();
        let mut burst = vec![0_u8; 110];
        burst[0] = 2;
        burst[9] = 1;
        burst[12] = 2;
        let (walked, _) = walk(&mut feed, 1, u64::MAX, |feed| grow(feed, &burst));
        match walked {
            Ok(out) => assert_eq!(out, expected),
            Err(lost) => assert!(longest_run(&feed) > 1, "{lost}"),
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_growing_feed_is_walked_without_loss_or_repetition(
            start in prop::collection::vec(0_u8..4, 0..400),
            arrivals in prop::collection::vec(prop::collection::vec(0_u8..4, 0..=500), 1..12),
            page in 1_usize..120,
            wanted in prop_oneof![Just(u64::MAX), 1_u64..400],
        ) {
            let mut feed = Rows::new();
            grow(&mut feed, &start);
            let expected: Vec<Order> =
                feed.iter().rev().take(usize::try_from(wanted).unwrap_or(usize::MAX)).cloned().collect();
            let mut turn = 0;
            let (walked, _) = walk(&mut feed, page, wanted, |feed| {
                // What arrives between two reads has a later instant than what was there.
                let steps = &arrivals[turn % arrivals.len()];
                if !steps.is_empty() {
                    grow(feed, &[2]);
                    grow(feed, &steps[1..]);
                }
                turn += 1;
            });
            match walked {
                Ok(out) => prop_assert_eq!(out, expected),
                // No way of reading pages can tell more equal rows from rows that have moved.
                Err(lost) => prop_assert!(longest_run(&feed) > page, "{}", lost),
            }
        }

        #[test]
        fn rows_of_one_instant_are_lined_up_by_their_order(
            seed in any::<u64>(),
            start in 0_usize..400,
            arrivals in prop::collection::vec(0_usize..=500, 1..12),
            page in 30_usize..120,
        ) {
            // Drawn evenly: what shrinks to one price all over cannot be lined up by anyone.
            let mut dice = fastrand::Rng::with_seed(seed);
            let mut grow = |feed: &mut Rows, by: usize| {
                feed.extend((0..by).map(|_| order(dice.i64(0..6), 0)));
            };
            let mut feed = Rows::new();
            grow(&mut feed, start);
            let expected: Vec<Order> = feed.iter().rev().cloned().collect();
            let mut turn = 0;
            let (walked, _) = walk(&mut feed, page, u64::MAX, |feed| {
                grow(feed, arrivals[turn % arrivals.len()]);
                turn += 1;
            });
            prop_assert_eq!(walked, Ok(expected));
        }
    }
}
