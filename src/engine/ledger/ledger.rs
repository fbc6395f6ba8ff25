//! The ledger: open positions by the price at which they would be liquidated.
//!
//! For every side and leverage tier there is a hypothetical book in which every contract has that leverage, and in it a
//! part for every clock: the positions that turn over at its rate. Per book, what is located on the price grid and what
//! is not sums to the open interest, after every step. Weights come in only when the books are read, so other weights
//! never need another replay.

use std::ops::Range;

use crate::engine::ledger::mass_cells::{Cells, Lanes, places, plus, times};
use crate::engine::ledger::tier_book::{Book, Mark, Pair, Turn};
use crate::engine::{Parameters, Tier};
use crate::model::{FineGrid, Side};

/// What happened in one bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Lowest price.
    pub low: f64,
    /// Highest price.
    pub high: f64,
    /// Last price.
    pub close: f64,
    /// Volume over the usual volume of a bar.
    pub volume_ratio: f64,
    /// Length of the bar in days.
    pub days: f64,
    /// Open interest at the close, base units.
    pub open_interest: f64,
    /// Realised liquidations of longs and of shorts in base units, where known.
    pub realised: [Option<f64>; 2],
}

/// Open positions by liquidation price, for every side and tier.
///
/// # Examples
///
/// One hundred contracts opened at 100 with leverage 100 and half a percent maintenance margin are liquidated at
/// 99.4975 on the long side:
///
/// ```
/// use liqdata::engine::{Ledger, Parameters, Step, Tier};
/// use liqdata::model::{FineGrid, Side};
///
/// let tier = Tier { leverage: 100.0, maintenance: 0.005, weight: 1.0 };
/// let mut ledger = Ledger::new(Parameters::new(vec![tier]), 0.0);
/// ledger.step(&Step {
///     low: 100.0, high: 100.0, close: 100.0, volume_ratio: 1.0, days: 0.0,
///     open_interest: 100.0, realised: [None, None],
/// });
/// let cells: Vec<(i64, f64)> = ledger.located(Side::Long, 0).collect();
/// assert_eq!(cells.len(), 1);
/// assert_eq!(cells[0].0, FineGrid::default().bin(99.4975));
/// assert!((cells[0].1 - 100.0).abs() < 1e-9);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Ledger {
    parameters: Parameters,
    /// The logarithm of the grid's lowest price.
    ln_p0: f64,
    /// What each pair of clocks has of what is opened, and what of it changes hands in a day of average volume.
    shares: Vec<Lanes>,
    per_day: Vec<Lanes>,
    /// Per side, one book per tier.
    books: [Vec<Book>; 2],
    open_interest: f64,
    /// The last step's close.
    price: f64,
    phi: [f64; 2],
    /// Per side, where its books open positions.
    openings: [Opening; 2],
    churns: Vec<Lanes>,
}

/// Where a bar opens positions of one side, for entry after entry of tier after tier: one row of numbers for all of its
/// books, so that a processor goes through it several at a time.
#[derive(Clone, Debug, PartialEq)]
struct Opening {
    /// Where in a bar's log price range the entry lies, 0 to 1.
    fractions: Vec<f64>,
    /// Logarithm of the liquidation price over the entry price.
    ln_ratios: Vec<f64>,
    /// Log prices at which positions of the last bar are liquidated, and their bins: room to work in.
    room: Room,
}

#[derive(Clone, Debug, Default)]
struct Room {
    lns: Vec<f64>,
    bins: Vec<i64>,
}

impl PartialEq for Room {
    /// It is no part of what a ledger holds.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// The logarithms of a bar's prices over the grid's lowest.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Logs {
    low: f64,
    high: f64,
    close: f64,
    range: f64,
}

impl Ledger {
    /// A ledger of which nothing is located yet; its open interest lies in the clocks as in equilibrium.
    #[must_use]
    pub fn new(parameters: Parameters, open_interest: f64) -> Self {
        let masses = pairs(parameters.standing().into_iter());
        let sides = [Side::Long, Side::Short];
        let book = |tier: &Tier| {
            let masses = masses.iter().map(|share| times([open_interest; 2], *share));
            Book::new(tier.weight, masses)
        };
        let clocks = parameters.clocks.iter();
        Self {
            ln_p0: parameters.grid.p0.ln(),
            shares: pairs(clocks.clone().map(|clock| clock.share)),
            per_day: pairs(clocks.map(|clock| clock.per_day)),
            books: [0, 1].map(|_| parameters.tiers.iter().map(book).collect()),
            open_interest,
            price: 0.0,
            phi: [1.0; 2],
            openings: sides.map(|side| Opening::new(&parameters, side)),
            churns: Vec::new(),
            parameters,
        }
    }

    /// Takes in one closed bar: sweeps what price crossed, closes and opens positions until open interest is met.
    ///
    /// Prices must be finite and above zero with `low <= close <= high`, the other numbers finite and not negative.
    pub fn step(&mut self, step: &Step) {
        let logs = self.logs(step);
        self.cross(logs, std::iter::empty());
        self.settle(step, logs, std::iter::empty());
    }

    /// The logarithms that [`Ledger::cross`] and [`Ledger::settle`] need of a step.
    pub(crate) fn logs(&self, step: &Step) -> Logs {
        Logs {
            low: step.low.ln() - self.ln_p0,
            high: step.high.ln() - self.ln_p0,
            close: step.close.ln() - self.ln_p0,
            range: (step.high / step.low).ln(),
        }
    }

    /// Marks of the state as it is.
    pub(crate) fn marks(&self) -> Vec<Mark> {
        let books = self.books.iter().flatten();
        books
            .flat_map(|book| book.pairs.iter().map(Pair::mark))
            .collect()
    }

    /// Empties what a step crosses, in `marks` on top of what was crossed before.
    pub(crate) fn cross<'a>(&mut self, logs: Logs, mut marks: impl Iterator<Item = &'a mut Mark>) {
        let grid = self.parameters.grid;
        let range = (grid.bin_of_ln(logs.low), grid.bin_of_ln(logs.high));
        let [of_longs, of_shorts] = &mut self.books;
        for book in of_longs {
            book.sweep(Side::Long, range, &mut marks);
        }
        for book in of_shorts {
            book.sweep(Side::Short, range, &mut marks);
        }
    }

    /// Takes back what a step closed and opened; what it crossed stays crossed.
    pub(crate) fn unsettle(&mut self, marks: &mut [Mark]) {
        let pairs = self
            .books
            .iter_mut()
            .flatten()
            .flat_map(|book| &mut book.pairs);
        for (pair, mark) in pairs.zip(marks) {
            pair.unsettle(mark);
        }
    }

    /// Takes back what was crossed.
    pub(crate) fn uncross(&mut self, marks: &mut [Mark]) {
        let mut marks = marks.iter_mut();
        for (books, side) in self.books.iter_mut().zip([Side::Long, Side::Short]) {
            let pairs = books.iter_mut().flat_map(|book| &mut book.pairs);
            // The marks come second, so that none is passed over.
            for (pair, mark) in pairs.zip(&mut marks) {
                pair.uncross(side, mark);
            }
        }
    }

    /// Sets the open interest that the next step begins with.
    pub(crate) fn set_open_interest(&mut self, open_interest: f64) {
        self.open_interest = open_interest;
    }

    /// Closes and opens positions until the open interest of `step` is met; what it crossed has been emptied.
    pub(crate) fn settle<'a>(
        &mut self,
        step: &Step,
        logs: Logs,
        mut marks: impl Iterator<Item = &'a mut Mark>,
    ) {
        let grid = self.parameters.grid;
        let close = grid.bin_of_ln(logs.close);
        // No long is left at or above the close, and no short at or below it.
        let within = [(i64::MIN, close - 1), (close + 1, i64::MAX)];
        let passed = step.days * step.volume_ratio;
        let churn = |per_day: &Lanes| per_day.map(|per_day| turnover(per_day, passed));
        self.churns.clear();
        self.churns.extend(self.per_day.iter().map(churn));
        let entries = self.parameters.entries.get();
        let each = 1.0 / f64::from(entries);

        for ((((books, opening), within), realised), phi) in self
            .books
            .iter_mut()
            .zip(&mut self.openings)
            .zip(within)
            .zip(step.realised)
            .zip(&mut self.phi)
        {
            let mut predicted = 0.0;
            for book in &*books {
                predicted += book.weight * book.flux;
            }
            *phi = match realised {
                None => self.parameters.phi0,
                Some(realised) if predicted > 0.0 => (realised / predicted).min(1.0),
                Some(_) => 0.0,
            };
            let turn = Turn {
                held: self.open_interest,
                then: step.open_interest,
                phi: *phi,
                churns: &self.churns,
                shares: &self.shares,
                each,
            };
            let bins = opening.of(&grid, logs, within);
            for (book, bins) in books.iter_mut().zip(bins.chunks_exact(entries.into())) {
                book.settle(turn, bins, &mut marks);
            }
        }
        self.open_interest = step.open_interest;
        self.price = step.close;
    }

    /// Lets `days` without bars pass: what is located is forgotten at the rate of its clock, open interest stays.
    ///
    /// The bar after such a gap needs no wider sweep: no long is left at or above the last close and no short at or
    /// below it, so whatever lies between the last close and the bar lies within the bar's own sweep.
    pub fn lapse(&mut self, days: f64) {
        let lost = |per_day: &Lanes| per_day.map(|per_day| turnover(per_day, days));
        let lost: Vec<Lanes> = self.per_day.iter().map(lost).collect();
        for book in self.books.iter_mut().flatten() {
            book.lapse(&lost);
        }
    }

    /// Holds so many times what it holds, wherever that lies: the open interest is of other venues than before, of which
    /// nothing was opened or closed.
    pub fn regroup(&mut self, factor: f64) {
        for book in self.books.iter_mut().flatten() {
            book.regroup(factor);
        }
        self.open_interest *= factor;
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Open interest after the last step, base units.
    #[must_use]
    pub fn open_interest(&self) -> f64 {
        self.open_interest
    }

    /// Share of the mass the last step crossed that counted as liquidated, long and short.
    #[must_use]
    pub fn phi(&self) -> [f64; 2] {
        self.phi
    }

    fn book(&self, side: Side, tier: usize) -> Option<&Book> {
        self.books.get(side.index())?.get(tier)
    }

    /// The non-empty bins of a side and tier (counted from 0), ascending, with their mass in base units.
    pub fn located(&self, side: Side, tier: usize) -> impl Iterator<Item = (i64, f64)> + '_ {
        let book = self.book(side, tier);
        let column = Column::of(book.into_iter().map(|book| (book, 1.0)));
        (column.first..)
            .zip(column.mass)
            .filter(|(_, mass)| *mass > 0.0)
    }

    /// The mass of a side and tier whose liquidation price is unknown: opened before the data, or crossed and survived.
    #[must_use]
    pub fn unlocated(&self, side: Side, tier: usize) -> f64 {
        self.book(side, tier).map_or(0.0, Book::unlocated)
    }

    /// The mass of a side and tier that the price range of the last step crossed.
    #[must_use]
    pub fn flux(&self, side: Side, tier: usize) -> f64 {
        self.book(side, tier).map_or(0.0, |book| book.flux)
    }

    /// Share of the open interest whose liquidation price is known, long and short.
    #[must_use]
    pub fn located_share(&self) -> [f64; 2] {
        if self.open_interest > 0.0 {
            self.books.each_ref().map(|books| {
                let located: f64 = books.iter().map(|book| book.weight * book.located()).sum();
                located / self.open_interest
            })
        } else {
            [0.0; 2]
        }
    }

    /// The USD that lie no farther from the last price than the share `distance` of it, as of [`Ledger::crossed`].
    pub(crate) fn within(&self, distance: f64) -> [Vec<f64>; 2] {
        self.crossed(self.price * (1.0 - distance), self.price * (1.0 + distance))
    }

    /// The USD that a move from the last price down to `low` and up to `high` would cross, of longs and of shorts, tier
    /// by tier as if it held everything.
    pub(crate) fn crossed(&self, low: f64, high: f64) -> [Vec<f64>; 2] {
        let grid = self.parameters.grid;
        let (low, high) = (grid.bin(low), grid.bin(high));
        let usd = |books: &[Book], crossed: &dyn Fn(&Cells) -> (i64, i64)| {
            let usd = books.iter().map(|book| {
                let pairs = book.pairs.iter().flat_map(|pair| {
                    let (first, end) = crossed(&pair.cells);
                    let masses = (first..).zip(pair.cells.within(first, end));
                    let usd = masses.fold([0.0; 2], |sum, (bin, mass)| {
                        plus(sum, times(*mass, [grid.mid(bin); 2]))
                    });
                    times(pair.scale, usd)
                });
                // A sum of nothing is minus zero.
                pairs.fold(0.0, |sum, usd| sum + usd)
            });
            usd.collect()
        };
        let [longs, shorts] = &self.books;
        [
            usd(longs, &|cells| (low.max(cells.first), cells.end)),
            usd(shorts, &|cells| {
                (cells.first, cells.end.min(high.saturating_add(1)))
            }),
        ]
    }

    /// The mass per bin over all sides and tiers, in base units, each tier of a side counted so many times.
    pub(crate) fn column(&self, counted: &[Vec<f64>; 2]) -> Column {
        Column {
            price: self.price,
            longs_end: self.longs_end(),
            ..Column::of(self.times(counted))
        }
    }

    /// Adds such a column to `mass`, whose first bin is `first` and which holds every bin of its [`Ledger::span`].
    pub(crate) fn add(&self, counted: &[Vec<f64>; 2], first: i64, mass: &mut [f64]) {
        Column::add(self.times(counted), first, mass);
    }

    /// The bins of such a column, and the first that no long lies in or above.
    pub(crate) fn span(&self, counted: &[Vec<f64>; 2]) -> (Range<i64>, i64) {
        (Column::span(self.times(counted)), self.longs_end())
    }

    /// The books, each with how often it is counted.
    fn times<'a>(
        &'a self,
        [of_longs, of_shorts]: &'a [Vec<f64>; 2],
    ) -> impl Iterator<Item = (&'a Book, f64)> + Clone {
        let [longs, shorts] = &self.books;
        let longs = longs.iter().zip(of_longs);
        let all = longs.chain(shorts.iter().zip(of_shorts));
        all.map(|(book, times)| (book, *times))
    }

    fn longs_end(&self) -> i64 {
        let [longs, _] = &self.books;
        let pairs = longs.iter().flat_map(|book| &book.pairs);
        let pairs = pairs.filter(|pair| !pair.cells.is_empty());
        pairs.map(|pair| pair.cells.end).max().unwrap_or(i64::MIN)
    }
}

impl Opening {
    fn new(parameters: &Parameters, side: Side) -> Self {
        let entries = parameters.entries.get();
        let fraction = |entry: u8| (f64::from(entry) + 0.5) / f64::from(entries);
        let tiers = parameters.tiers.iter();
        let all = tiers.flat_map(|tier| {
            let ln_ratio = tier.ratio(side).ln();
            (0..entries).map(move |entry| (fraction(entry), ln_ratio))
        });
        let (fractions, ln_ratios): (Vec<f64>, Vec<f64>) = all.unzip();
        let room = Room {
            lns: vec![0.0; fractions.len()],
            bins: vec![0; fractions.len()],
        };
        Self {
            fractions,
            ln_ratios,
            room,
        }
    }

    /// The bins in which positions opened in a bar are liquidated, none of them beyond `within`.
    fn of(&mut self, grid: &FineGrid, logs: Logs, within: (i64, i64)) -> &[i64] {
        let Room { lns, bins } = &mut self.room;
        let entries = self.fractions.iter().zip(&self.ln_ratios);
        for (ln, (fraction, ln_ratio)) in lns.iter_mut().zip(entries) {
            *ln = logs.low + logs.range * fraction + ln_ratio;
        }
        grid.bins_of_lns(lns, within, bins);
        bins
    }
}

/// The share of a clock's positions that changes hands in so many days of average volume, at most half.
fn turnover(per_day: f64, days: f64) -> f64 {
    (per_day * days).min(0.5)
}

/// A number of each clock, two by two; nothing of the one that an odd number lacks.
fn pairs(numbers: impl Iterator<Item = f64>) -> Vec<Lanes> {
    let mut numbers = numbers;
    let two = || Some([numbers.next()?, numbers.next().unwrap_or_default()]);
    std::iter::from_fn(two).collect()
}

/// The mass of some books by bin at one instant, in base units.
#[derive(Clone, Debug, Default)]
pub(crate) struct Column {
    pub(crate) first: i64,
    pub(crate) mass: Vec<f64>,
    /// The first bin that no long lies in or above; all shorts do.
    pub(crate) longs_end: i64,
    /// The last price.
    pub(crate) price: f64,
}

impl Column {
    /// The sum of `books`, each counted so many times.
    fn of<'a>(books: impl Iterator<Item = (&'a Book, f64)> + Clone) -> Self {
        let bins = Self::span(books.clone());
        let first = bins.start;
        let mut mass = vec![0.0; places(bins.end - first)];
        Self::add(books, first, &mut mass);
        Self {
            first,
            mass,
            longs_end: i64::MIN,
            price: 0.0,
        }
    }

    /// Adds the sum of `books` to `mass`, whose first bin is `first`.
    fn add<'a>(books: impl Iterator<Item = (&'a Book, f64)> + Clone, first: i64, mass: &mut [f64]) {
        for (pair, counted) in Self::pairs(books) {
            let [by_one, by_other] = times(pair.scale, [counted; 2]);
            let start = places(pair.cells.first - first);
            for (sum, [one, other]) in mass.iter_mut().skip(start).zip(pair.cells.occupied()) {
                *sum += by_one * one;
                *sum += by_other * other;
            }
        }
    }

    /// From the first bin that holds something to behind the last; bin 0 and no more where nothing does.
    fn span<'a>(books: impl Iterator<Item = (&'a Book, f64)> + Clone) -> Range<i64> {
        let pairs = Self::pairs(books);
        let first = pairs.clone().map(|(pair, _)| pair.cells.first).min();
        let end = pairs.map(|(pair, _)| pair.cells.end).max();
        first.unwrap_or(0)..end.unwrap_or(0)
    }

    /// What counts of `books`.
    fn pairs<'a>(
        books: impl Iterator<Item = (&'a Book, f64)> + Clone,
    ) -> impl Iterator<Item = (&'a Pair, f64)> + Clone {
        books
            .flat_map(|(book, counted)| book.pairs.iter().map(move |pair| (pair, counted)))
            .filter(|(pair, counted)| *counted > 0.0 && !pair.cells.is_empty())
    }

    /// How many of `bins` lie below the first mass, and the masses of those that do not.
    pub(crate) fn between(&self, bins: Range<i64>) -> (usize, &[f64]) {
        let start = bins.start.max(self.first);
        let end = bins
            .end
            .min(self.first.saturating_add_unsigned(self.mass.len() as u64));
        let masses = self
            .mass
            .get(places(start - self.first)..places(end - self.first))
            .unwrap_or_default();
        (places(start - bins.start), masses)
    }
}
