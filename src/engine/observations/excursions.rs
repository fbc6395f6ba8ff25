//! Excursions: runs of rows that leave the level of the rows before them.
//!
//! The level is the usual size of a series of prices or open interest readings. The rows of an excursion are outliers
//! if later rows return to the level.
//!
//! Later rows decide the verdict on a run that left the level. If a row returns to the level after at most [`LONGEST`]
//! rows, estimates leave the run out. If no row does, the level has changed, and estimates use the run. Before the
//! verdict, estimates use the run as well. Each verdict has an instant, and depends only on rows known by that instant.
//!
//! Open interest that leaves its level by a large factor opens or closes no positions, whatever the verdict: an outage, a
//! change of unit or of what an exchange counts does so. Smaller jumps are left out only if a reading returns near the
//! level, as those of an exchange that answers with two levels in turn.
//!
//! docs/dev/experiments.md has the bounds, and the recorded data from which they were chosen.

use std::collections::BTreeMap;

use crate::engine::observations::bar_intervals::days;
use crate::engine::observations::row_store::RowSlice;
use crate::model::{Bar, Millis};

/// Maximum length of a run of outliers, in rows.
const LONGEST: usize = 12;

/// Maximum number of rows at the start of a series that can be a false start. Such rows are outliers if a long run at
/// another level follows them.
const LEADING: usize = 3;

/// Time that a run of open interest readings may last, in milliseconds, however many readings it has. A run that is too
/// far from the level for positions may also last [`LONGEST`] readings.
const LASTING: i64 = Millis::HOUR;

/// Positions do not change open interest by more than this factor from one reading to the next.
const OPEN_INTEREST: f64 = 3.0;

/// Open interest leaves its level if it differs from the level by more than this factor.
const FLICKER: f64 = 1.2;

/// Open interest is back at its level within this factor of it. It is also back if it is nearer to the level than half
/// the bound, and the reading before it is within this factor.
const NEAR: f64 = 1.05;

/// A price leaves its level if it jumps by more than this factor from one bar to the next.
const JUMP: f64 = 1.5;

/// A bar leaves the level if its high or low differs from the level by more than this factor. Crashes move a price
/// further inside a bar than from one bar to the next.
const WICK: f64 = 8.0;

/// The instant of a verdict that does not exist yet.
const NEVER: Millis = Millis(i64::MAX);

/// A row of a series: its index, and the time at which it became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SeriesRow {
    place: usize,
    at: Millis,
}

/// How a run was judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// A later row returned to the level: the rows of the run are outliers.
    CameBack,
    /// The rows are outliers at the start of their series, because a long run at another level followed.
    FalseStart,
    /// The level changed, or no row has returned to it yet: the rows of the run are used.
    Used,
}

/// A run of rows that left the level.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Excursion {
    rows: Vec<SeriesRow>,
    /// Time at which the verdict became known; [`NEVER`] if it is not known yet.
    judged_at: Millis,
    verdict: Verdict,
    /// Whether the rows are too far from the level for positions to have opened or closed.
    is_break: bool,
}

impl Excursion {
    /// Whether the rows are left out of estimates as of `at`.
    fn is_left_out(&self, at: Millis) -> bool {
        self.verdict != Verdict::Used && self.judged_at < NEVER && self.judged_at <= at
    }

    /// Whether the run was judged by `at` to be another level, too far away for positions.
    fn is_rescaled(&self, at: Millis) -> bool {
        self.is_break && self.verdict == Verdict::Used && self.judged_at <= at
    }

    /// Whether the run has begun by `at` but is not judged by then.
    fn is_open(&self, at: Millis) -> bool {
        at < self.judged_at && self.rows.first().is_some_and(|first| first.at <= at)
    }
}

/// Numbers of outliers and of unjudged rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExcursionCounts {
    /// Rows that estimates leave out, and rows that changed the level without positions that opened or closed.
    pub outliers: usize,
    /// Newest rows that left the level and cannot be judged yet. Estimates use them.
    pub unjudged: usize,
}

/// All excursions of a series.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Excursions {
    found: Vec<Excursion>,
    /// Ascending indexes of the rows that were too far from the level for positions when they became known, and of the
    /// rows after these in their runs.
    breaks: Vec<usize>,
}

impl Excursions {
    /// Judges the bars of a coin, which must be sorted by time.
    pub fn of_bars(bars: &[Bar]) -> Self {
        let mut judge = BarJudge::default();
        for (place, bar) in bars.iter().enumerate() {
            judge.take(place, bar);
        }
        Self {
            found: judge.runs.finish(),
            breaks: Vec::new(),
        }
    }

    /// Judges open interest readings, separately for each exchange.
    ///
    /// Each reading is the number of its exchange, its instant and its value.
    ///
    /// A verdict takes effect at the next close of `bars`, because estimates change only at closes.
    pub fn of_open_interest(
        exchanges: usize,
        readings: impl Iterator<Item = (usize, Millis, f64)>,
        bars: RowSlice<'_, Bar>,
    ) -> Self {
        let mut judges: Vec<OpenInterestJudge> = Vec::new();
        judges.resize_with(exchanges, OpenInterestJudge::default);
        for (place, (exchange, at, value)) in readings.enumerate() {
            if let Some(judge) = judges.get_mut(exchange) {
                judge.take(SeriesRow { place, at }, value);
            }
        }
        let places = judges.iter().flat_map(|judge| judge.breaks.iter().copied());
        let mut breaks: Vec<usize> = places.collect();
        breaks.sort_unstable();
        let found = judges.into_iter().flat_map(|judge| judge.runs.finish());
        let next_close = |at: Millis| {
            let next = bars.partition_point(|bar| bar.close_time() < at);
            bars.get(next).map_or(NEVER, |bar| bar.close_time())
        };
        let found = found.map(|excursion| Excursion {
            judged_at: next_close(excursion.judged_at),
            ..excursion
        });
        Self {
            found: found.collect(),
            breaks,
        }
    }

    /// Indexes of the rows that left the level.
    ///
    /// Each index has the instant until which the row is unjudged or an outlier.
    pub fn in_doubt(&self) -> impl Iterator<Item = (usize, Millis)> {
        self.found.iter().flat_map(|excursion| {
            let until = match excursion.verdict {
                Verdict::CameBack => NEVER,
                Verdict::Used => excursion.judged_at,
                // Before the verdict, no later row had contradicted these rows.
                Verdict::FalseStart => Millis(i64::MIN),
            };
            excursion.rows.iter().map(move |row| (row.place, until))
        })
    }

    /// Ascending indexes of the rows that change the level without positions that open or close, unless they are left
    /// out.
    ///
    /// A row is such a row from the instant at which it became known, whatever follows.
    pub fn breaks(&self) -> &[usize] {
        &self.breaks
    }

    /// Indexes of the rows that were judged by `at` to be another level, too far away for positions to have opened or
    /// closed.
    pub fn rescaled(&self, at: Millis) -> impl Iterator<Item = usize> {
        let rescaled = self.found.iter();
        let rescaled = rescaled.filter(move |excursion| excursion.is_rescaled(at));
        rescaled.flat_map(|excursion| excursion.rows.iter().map(|row| row.place))
    }

    /// Ascending indexes of the rows that are left out as of `at`.
    ///
    /// With `None`, all verdicts count.
    pub fn left_out(&self, at: Option<Millis>) -> Vec<usize> {
        let at = at.unwrap_or(NEVER);
        let left_out = self
            .found
            .iter()
            .filter(|excursion| excursion.is_left_out(at));
        let mut places: Vec<usize> = left_out
            .flat_map(|excursion| excursion.rows.iter().map(|row| row.place))
            .collect();
        places.sort_unstable();
        places
    }

    /// Whether all outliers known by `at` were judged by `at`.
    ///
    /// If not, estimates as of `at` use rows that later estimates leave out.
    pub fn is_settled(&self, at: Millis) -> bool {
        self.is_settled_within(at, at)
    }

    /// Whether [`Excursions::is_settled`] is true for every instant from `start` to `end`.
    pub fn is_settled_within(&self, start: Millis, end: Millis) -> bool {
        !self.found.iter().any(|excursion| {
            let first = excursion.rows.first().map_or(NEVER, |row| row.at);
            excursion.is_left_out(NEVER) && first <= end && start < excursion.judged_at
        })
    }

    /// The first row known by `at` that the series as of `at` uses and the series now leaves out.
    pub fn first_difference(&self, at: Millis) -> Option<Millis> {
        let different = self
            .found
            .iter()
            .filter(|excursion| excursion.is_left_out(NEVER) && at < excursion.judged_at);
        let rows = different.filter_map(|excursion| excursion.rows.first());
        rows.map(|row| row.at).filter(|first| *first <= at).min()
    }

    /// The first row without a verdict.
    pub fn first_unjudged(&self) -> Option<Millis> {
        let open = self
            .found
            .iter()
            .filter(|excursion| excursion.judged_at == NEVER);
        let rows = open.filter_map(|excursion| excursion.rows.first());
        rows.map(|row| row.at).min()
    }

    /// When all rows up to `end` were judged that were in doubt from `start` on; `None` if none were.
    pub fn judged_after(&self, start: Millis, end: Millis) -> Option<Millis> {
        let doubted = self.found.iter().filter(|excursion| {
            let first = excursion.rows.first().map_or(NEVER, |row| row.at);
            first <= end && start < excursion.judged_at
        });
        doubted.map(|excursion| excursion.judged_at).max()
    }

    /// Counts outliers and unjudged rows as of `end`.
    ///
    /// Outliers count only if they became known from `start` on.
    pub fn counts(&self, start: Millis, end: Millis) -> ExcursionCounts {
        let mut counts = ExcursionCounts::default();
        for excursion in &self.found {
            let rows = excursion.rows.iter().map(|row| row.at);
            if excursion.is_left_out(end) || excursion.is_rescaled(end) {
                counts.outliers += rows.filter(|at| (start..=end).contains(at)).count();
            } else if excursion.is_open(end) && excursion.verdict != Verdict::FalseStart {
                counts.unjudged += rows.filter(|at| *at <= end).count();
            }
        }
        counts
    }
}

/// Bars of a coin in order of time, and their excursions.
#[derive(Debug)]
pub struct JudgedBars {
    pub bars: Vec<Bar>,
    pub excursions: Excursions,
}

impl JudgedBars {
    /// Judges the bars of each coin.
    pub fn of_coins(bars: BTreeMap<String, Vec<Bar>>) -> BTreeMap<String, Self> {
        let judged = |(coin, bars): (String, Vec<Bar>)| {
            let excursions = Excursions::of_bars(&bars);
            (coin, Self { bars, excursions })
        };
        bars.into_iter().map(judged).collect()
    }
}

/// Copies all rows except those at the ascending indexes `places`.
pub fn without<T: Clone>(rows: &[T], places: &[usize]) -> Vec<T> {
    let mut left_out = places.iter().peekable();
    let used = rows
        .iter()
        .enumerate()
        .filter(|(place, _)| left_out.next_if(|next| *next == place).is_none());
    used.map(|(_, row)| row.clone()).collect()
}

/// Collects the runs of a series, with their verdicts.
#[derive(Debug, Default)]
struct Runs {
    /// The first rows of the series: at most one more than can be a false start.
    leading: Vec<SeriesRow>,
    /// The unjudged run; empty if the last row is at the level.
    run: Vec<SeriesRow>,
    found: Vec<Excursion>,
}

impl Runs {
    fn is_open(&self) -> bool {
        !self.run.is_empty()
    }

    fn is_longest(&self) -> bool {
        self.run.len() >= LONGEST
    }

    /// Whether only a few rows preceded the run.
    fn is_start(&self) -> bool {
        (1..=LEADING).contains(&self.leading.len())
    }

    /// Time from the first row of the run to `at`, in milliseconds.
    fn lasted(&self, at: Millis) -> i64 {
        let first = self.run.first().map_or(at, |row| row.at);
        at.0.saturating_sub(first.0)
    }

    /// Marks the last excursion as too far from the level for positions to have opened or closed.
    fn mark_break(&mut self) {
        if let Some(last) = self.found.last_mut() {
            last.is_break = true;
        }
    }

    /// Records a row that is at the level.
    fn accept(&mut self, row: SeriesRow) {
        if self.leading.len() <= LEADING {
            self.leading.push(row);
        }
    }

    /// Adds a row that left the level to the run.
    fn doubt(&mut self, row: SeriesRow) {
        self.run.push(row);
    }

    /// Ends the run, because a row at `at` returned to the level.
    fn came_back(&mut self, at: Millis) {
        let rows = std::mem::take(&mut self.run);
        self.found.push(Excursion {
            rows,
            judged_at: at,
            verdict: Verdict::CameBack,
            is_break: false,
        });
    }

    /// Ends the run, because it is too long for outliers.
    ///
    /// If only a few rows preceded it, these are a false start.
    fn stayed(&mut self, at: Millis) {
        if self.is_start() {
            let rows = std::mem::take(&mut self.leading);
            self.found.push(Excursion {
                rows,
                judged_at: at,
                verdict: Verdict::FalseStart,
                is_break: false,
            });
        }
        self.moved(at);
    }

    /// Ends the run as used, because the level moved to it.
    fn moved(&mut self, at: Millis) {
        let rows = std::mem::take(&mut self.run);
        for row in &rows {
            self.accept(*row);
        }
        self.found.push(Excursion {
            rows,
            judged_at: at,
            verdict: Verdict::Used,
            is_break: false,
        });
    }

    /// Returns all excursions. An unfinished run has no verdict.
    fn finish(mut self) -> Vec<Excursion> {
        if self.is_open() {
            self.moved(NEVER);
        }
        self.found
    }
}

/// Larger amount divided by the smaller one.
///
/// Infinite if only the smaller one is 0; 1 if both are 0.
fn ratio(one: f64, other: f64) -> f64 {
    let (low, high) = (one.min(other), one.max(other));
    if high > 0.0 { high / low } else { 1.0 }
}

/// Factor by which the logarithm of a bound grows from `start` to `end`.
///
/// As in a diffusion, it grows with the square root of the elapsed time.
fn growth(start: Millis, end: Millis) -> f64 {
    (1.0 + days(end.0.saturating_sub(start.0).max(0))).sqrt()
}

/// Judges the open interest of one exchange, reading by reading.
#[derive(Debug, Default)]
struct OpenInterestJudge {
    runs: Runs,
    /// The last reading at the level.
    level: Option<(Millis, f64)>,
    /// The last reading of the unjudged run.
    last: (Millis, f64),
    /// Whether a reading of the unjudged run is further from the level than positions can change it.
    is_break: bool,
    /// The readings of which that was known when they came.
    breaks: Vec<usize>,
}

impl OpenInterestJudge {
    fn take(&mut self, row: SeriesRow, value: f64) {
        let (since, level) = self.level.unwrap_or((row.at, value));
        let factor = ratio(level, value);
        // Fast path: most readings need no logarithm.
        if !self.runs.is_open() && factor <= FLICKER {
            return self.accept(row, value);
        }
        let growth = growth(since, row.at);
        let apart = factor.ln();
        if self.runs.is_open() {
            let (read, last) = self.last;
            let is_steady = || ratio(last, value).ln() <= NEAR.ln() * self::growth(read, row.at);
            let half = OPEN_INTEREST.ln() * growth / 2.0;
            // A smaller jump that lasts is a move of the market, wherever it goes later.
            let has_lasted = self.runs.lasted(row.at) >= LASTING;
            let is_back = if self.is_break {
                apart <= NEAR.ln() * growth || apart <= half && is_steady()
            } else {
                apart <= NEAR.ln() * growth && !has_lasted
            };
            if is_back {
                self.runs.came_back(row.at);
                self.judged();
                return self.accept(row, value);
            }
            if has_lasted && (!self.is_break || self.runs.is_longest()) {
                if self.is_break {
                    // The first readings at another level are left out, so that nothing is before the run.
                    self.is_break = !self.runs.is_start();
                    self.runs.stayed(row.at);
                } else {
                    self.runs.moved(row.at);
                }
                self.judged();
                self.level = Some(self.last);
                return self.take(row, value);
            }
        } else if apart <= FLICKER.ln() * growth {
            return self.accept(row, value);
        }
        self.is_break |= apart > OPEN_INTEREST.ln() * growth;
        if self.is_break {
            self.breaks.push(row.place);
        }
        self.runs.doubt(row);
        self.last = (row.at, value);
    }

    /// Ends the run that was just judged.
    fn judged(&mut self) {
        if std::mem::take(&mut self.is_break) {
            self.runs.mark_break();
        }
    }

    fn accept(&mut self, row: SeriesRow, value: f64) {
        self.runs.accept(row);
        self.level = Some((row.at, value));
    }
}

/// Judges the bars of a coin, bar by bar.
///
/// Trading is continuous, so a bar opens near the close of the bar before it. Even a fast crash trades at all prices on
/// its way. A wrong price instead jumps between two bars, and jumps back later.
#[derive(Debug, Default)]
struct BarJudge {
    runs: Runs,
    /// The last close at the level.
    level: Option<(Millis, f64)>,
    /// The last close of the unjudged run.
    last: (Millis, f64),
    /// Whether the unjudged run began with a jump from one bar to the next.
    has_jumped: bool,
}

impl BarJudge {
    fn take(&mut self, place: usize, bar: &Bar) {
        let row = SeriesRow {
            place,
            at: bar.close_time(),
        };
        let (since, level) = self.level.unwrap_or((bar.open_time, bar.open));
        let reach = ratio(level, bar.high).max(ratio(level, bar.low));
        // Fast path: most bars need no logarithm.
        if !self.runs.is_open() && reach <= JUMP {
            return self.accept(row, bar);
        }
        let jump = JUMP.ln() * growth(since, bar.open_time);
        let apart = ratio(level, bar.open).ln();
        if self.runs.is_open() {
            if apart <= jump / 2.0 {
                self.runs.came_back(row.at);
                return self.take(place, bar);
            }
            let (closed, last) = self.last;
            let goes_on = ratio(last, bar.open).ln() <= JUMP.ln() * growth(closed, bar.open_time);
            if goes_on && !self.has_jumped {
                self.runs.moved(row.at);
                self.level = Some(self.last);
                return self.take(place, bar);
            }
            if self.runs.is_longest() {
                self.runs.stayed(row.at);
                self.level = Some(self.last);
                return self.take(place, bar);
            }
        } else {
            let inside = growth(since, row.at);
            let is_off = apart > jump
                || ratio(level, bar.close).ln() > JUMP.ln() * inside
                || reach.ln() > WICK.ln() * inside;
            if !is_off {
                return self.accept(row, bar);
            }
            self.has_jumped = apart > jump;
        }
        self.runs.doubt(row);
        self.last = (row.at, bar.close);
    }

    fn accept(&mut self, row: SeriesRow, bar: &Bar) {
        self.runs.accept(row);
        self.level = Some((row.at, bar.close));
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use crate::engine::observations::excursions::*;

    const STEP: i64 = 5 * Millis::MINUTE;

    fn at(place: usize) -> Millis {
        Millis(STEP * i64::try_from(place).unwrap_or(0))
    }

    /// A bar with a narrow price range, at index `place`.
    fn bar(place: usize, price: f64) -> Bar {
        Bar {
            open_time: at(place),
            interval: STEP,
            open: price,
            high: price * 1.001,
            low: price * 0.999,
            close: price,
            volume: 1.0,
        }
    }

    fn bars(prices: impl IntoIterator<Item = f64>) -> Vec<Bar> {
        let prices = prices.into_iter().enumerate();
        prices.map(|(place, price)| bar(place, price)).collect()
    }

    /// Forty readings around 100, replaced by `bad` from index `place` on.
    fn readings(place: usize, bad: &[f64]) -> Vec<f64> {
        let mut values: Vec<f64> = (0..40).map(|place| 100.0 + f64::from(place % 3)).collect();
        for (value, bad) in values.iter_mut().skip(place).zip(bad) {
            *value = *bad;
        }
        values
    }

    /// Judges one reading per bar close, after a first reading before all bars.
    fn judged(values: &[f64]) -> Excursions {
        let bars = bars(values.iter().skip(1).map(|_| 1.0));
        let readings = values.iter().enumerate();
        let readings = readings.map(|(place, value)| (0, at(place), *value));
        Excursions::of_open_interest(1, readings, bars[..].into())
    }

    fn left_out(values: &[f64]) -> Vec<usize> {
        judged(values).left_out(None)
    }

    #[test]
    fn open_interest_that_leaves_its_level_and_comes_back_is_an_outlier() {
        for bad in [0.0, 1000.0, 8.0, 1e34, 1e-30] {
            assert_eq!(left_out(&readings(10, &[bad])), [10], "{bad}");
        }
        let nothing: [usize; 0] = [];
        for usual in [84.0, 118.0, 100.0] {
            assert_eq!(left_out(&readings(10, &[usual])), nothing, "{usual}");
        }
        assert_eq!(left_out(&readings(20, &[0.0, 1e34, 1e3])), [20, 21, 22]);
        assert_eq!(
            left_out(&readings(5, &[0.0; 12])),
            (5..17).collect::<Vec<_>>()
        );
        let mut scattered = readings(3, &[0.0]);
        for (place, bad) in [(7, 1e34), (9, 0.0), (30, 5e3)] {
            scattered[place] = bad;
        }
        assert_eq!(left_out(&scattered), [3, 7, 9, 30]);
    }

    #[test]
    fn a_climb_back_after_an_outage_and_two_levels_that_flicker_are_outliers() {
        let climb = [9.9, 32.0, 53.0, 71.0, 89.0, 98.0];
        assert_eq!(left_out(&readings(20, &climb)), [20, 21, 22, 23, 24]);
        let shallow = [50.0, 60.0, 70.0, 80.0, 90.0];
        assert_eq!(left_out(&readings(20, &shallow)), [20, 21, 22, 23, 24]);
        let flicker = [140.0, 100.0, 140.0, 140.0, 102.0, 140.0, 101.0];
        assert_eq!(left_out(&readings(20, &flicker)), [20, 22, 23, 25]);
        // Over more than an hour, a smaller jump is a move of the market.
        let slow = [140.0; 12];
        assert_eq!(left_out(&readings(20, &slow)), [0; 0]);
        // A climb that goes on past the old level ends where readings are steady near it.
        assert_eq!(left_out(&readings(30, &[10.0, 70.0, 71.0, 72.0])), [30, 31]);
    }

    #[test]
    fn a_level_far_from_the_one_before_it_opens_no_positions() {
        let unit = judged(&readings(15, &[1e7; 25]));
        assert_eq!(unit.breaks(), (15..27).collect::<Vec<_>>());
        assert_eq!(unit.rescaled(NEVER).collect::<Vec<_>>(), unit.breaks());
        assert_eq!(unit.counts(at(0), at(39)).outliers, 12);
        let grown = judged(&readings(15, &[150.0; 25]));
        assert_eq!(grown.breaks(), [0; 0]);
        let outage = judged(&readings(15, &[1.0; 4]));
        assert_eq!(outage.breaks(), [15, 16, 17, 18]);
        assert_eq!(outage.rescaled(NEVER).count(), 0);
        // A reading does not become such a reading by a later one.
        let later = judged(&readings(15, &[150.0, 1e7, 150.0]));
        assert_eq!(later.breaks(), [16, 17]);
    }

    #[test]
    fn a_new_level_is_used() {
        let nothing: [usize; 0] = [];
        assert_eq!(left_out(&readings(15, &[1000.0; 25])), nothing);
        assert_eq!(left_out(&readings(15, &[0.0; 25])), nothing);
        // A run of 13 rows is too long for outliers.
        assert_eq!(left_out(&readings(15, &[1000.0; 13])), nothing);
        // Readings of 250 are nearer to the level of 100, but do not return to it.
        assert_eq!(
            left_out(&readings(15, &[1000.0, 250.0, 250.0, 250.0])),
            [15, 16, 17, 18]
        );
        let mut shifted = readings(15, &[1000.0; 25]);
        shifted[16..].fill(400.0);
        assert_eq!(left_out(&shifted), nothing);
        // An exchange had no open interest for twenty readings, and then a usual level.
        assert_eq!(left_out(&readings(0, &[0.0; 20])), nothing);
    }

    #[test]
    fn the_first_readings_are_judged_by_those_after_them() {
        assert_eq!(left_out(&readings(0, &[0.0])), [0]);
        assert_eq!(left_out(&readings(0, &[1e34, 1e34, 1e34])), [0, 1, 2]);
        assert_eq!(judged(&readings(0, &[0.0])).left_out(Some(at(12))), [0; 0]);
    }

    #[test]
    fn the_newest_readings_are_used_until_they_can_be_judged() {
        let values = readings(38, &[0.0, 0.0]);
        let excursions = judged(&values);
        assert!(excursions.left_out(None).is_empty());
        let counts = |end| excursions.counts(at(0), at(end));
        assert_eq!(
            (
                counts(37).unjudged,
                counts(38).unjudged,
                counts(39).unjudged
            ),
            (0, 1, 2)
        );
        // The run of two zeros is unjudged as of instants before the level returns, and an outlier from then on.
        let later = judged(&readings(20, &[0.0, 0.0]));
        for (end, unjudged, outliers) in [(19, 0, 0), (20, 1, 0), (21, 2, 0), (22, 0, 2)] {
            let counts = later.counts(at(0), at(end));
            assert_eq!(
                (counts.unjudged, counts.outliers),
                (unjudged, outliers),
                "{end}"
            );
            assert_eq!(later.left_out(Some(at(end))).len(), outliers);
            assert_eq!(later.is_settled(at(end)), unjudged == 0);
        }
        assert_eq!(later.counts(at(21), at(30)).outliers, 1);
        assert_eq!(later.judged_after(at(10), at(19)), None);
        assert_eq!(later.judged_after(at(10), at(20)), Some(at(22)));
    }

    #[test]
    fn a_verdict_counts_from_the_next_close_on() {
        let readings = [
            (0, at(2), 100.0),
            (0, at(3), 0.0),
            (0, Millis(at(3).0 + 1), 100.0),
        ];
        let judge = |count| {
            let bars = bars((0..count).map(|_| 1.0));
            Excursions::of_open_interest(1, readings.into_iter(), bars[..].into())
        };
        assert!(judge(3).left_out(None).is_empty());
        assert_eq!(judge(4).left_out(None), [1]);
        assert!(judge(4).left_out(Some(Millis(at(4).0 - 1))).is_empty());
    }

    #[test]
    fn open_interest_may_change_more_the_longer_it_was_not_read() {
        let after = |days: i64, value: f64| {
            let gap = days * Millis::DAY;
            let readings = [
                (0, Millis(0), 100.0),
                (0, Millis(gap), value),
                (0, Millis(gap + STEP), 100.0),
            ];
            let bars = [Bar {
                open_time: Millis(gap),
                ..bar(0, 1.0)
            }];
            Excursions::of_open_interest(1, readings.into_iter(), bars[..].into()).left_out(None)
        };
        assert_eq!(after(0, 400.0), [1]);
        assert_eq!(after(1, 150.0), [1]);
        assert_eq!(after(10, 150.0), [0; 0]);
        assert_eq!(after(10, 400.0), [1]);
        assert_eq!(after(10, 0.0), [1]);
        assert_eq!(after(10, 1e34), [1]);
    }

    #[test]
    fn each_exchange_has_a_level_of_its_own() {
        let bars = bars((0..40).map(|_| 1.0));
        let readings = (0..40).map(|place| {
            let value = if place % 2 == 0 { 1e6 } else { 5.0 };
            (place % 2, at(place), if place == 21 { 1e6 } else { value })
        });
        assert_eq!(
            Excursions::of_open_interest(2, readings, bars[..].into()).left_out(None),
            [21]
        );
    }

    #[test]
    fn bars_off_from_one_to_the_next_and_back_are_outliers() {
        let with = |place: usize, factors: &[f64]| {
            let mut prices = vec![100.0; 40];
            for (price, factor) in prices.iter_mut().skip(place).zip(factors) {
                *price *= factor;
            }
            Excursions::of_bars(&bars(prices)).left_out(None)
        };
        assert_eq!(with(10, &[10.0]), [10]);
        assert_eq!(with(10, &[0.5]), [10]);
        assert_eq!(with(10, &[1000.0, 1e-3]), [10, 11]);
        assert_eq!(with(20, &[100.0; 6]), [20, 21, 22, 23, 24, 25]);
        assert_eq!(with(0, &[1000.0]), [0]);
        // A small move, or a jump to a level that stays: no outliers.
        assert_eq!(with(10, &[1.4]), [0; 0]);
        assert_eq!(with(20, &[1000.0; 20]), [0; 0]);
    }

    #[test]
    fn a_crash_is_no_outlier_however_deep_and_fast() {
        let crash = |low: f64, close: f64| {
            let mut bars = bars([100.0; 40]);
            bars[20].low = low;
            bars[20].close = close;
            bars[21].open = close;
            bars[21].low = close.min(99.0);
            Excursions::of_bars(&bars)
        };
        for (low, close) in [(80.0, 100.0), (20.0, 99.0), (45.0, 50.0), (15.0, 20.0)] {
            let excursions = crash(low, close);
            assert!(excursions.left_out(None).is_empty(), "{low} {close}");
            assert_eq!(excursions.counts(at(0), at(40)).unjudged, 0);
        }
        // A close far from the previous price stays unjudged until the next bar opens near it.
        assert_eq!(crash(15.0, 20.0).counts(at(0), at(21)).unjudged, 1);
        // A low at a tenth of the price is an outlier.
        assert_eq!(crash(10.0, 99.0).left_out(None), [20]);
        let mut spiked = bars([100.0; 40]);
        spiked[7].high = 1e7;
        spiked[30].close = 10.0;
        spiked[30].low = 10.0;
        assert_eq!(Excursions::of_bars(&spiked).left_out(None), [7, 30]);
    }

    proptest! {
        #[test]
        fn a_verdict_rests_on_earlier_rows_alone(
            kinds in prop::collection::vec((0..12_u8, 0.7..1.4_f64), 1..60),
            known in 0..60_usize,
        ) {
            let value = |(kind, factor): &(u8, f64)| factor * match kind {
                0 => 0.01,
                1 => 10.0,
                2 => 1e30,
                _ => 1.0,
            };
            let values: Vec<f64> = kinds.iter().map(value).collect();
            let until = values.get(..=known).unwrap_or(&values);
            let (all, part) = (judged(&values), judged(until));
            let as_of = |found: &Excursions, end| {
                (found.left_out(Some(at(end))), found.counts(at(0), at(end)))
            };
            prop_assert_eq!(as_of(&all, known), as_of(&part, known));

            let (all, part) = (bars(values.iter().copied()), bars(until.iter().copied()));
            let (all, part) = (Excursions::of_bars(&all), Excursions::of_bars(&part));
            prop_assert_eq!(as_of(&all, known + 1), as_of(&part, known + 1));
        }
    }
}
