//! The ledger: modelled open positions by liquidation price.
//!
//! Prices are divided into bins on a logarithmic grid. *Mass* is the size of positions in base units. Mass is *located*
//! if the bin of its liquidation price is known, and *unlocated* otherwise. A step *crosses* a bin when its price range
//! reaches the bin.
//!
//! Each side and leverage tier has a hypothetical book, in which every contract has the leverage of the tier. A book
//! has one part per *clock*, a rate at which positions are closed and opened again. In each book, located plus
//! unlocated mass equals the open interest after every step. Tier weights are applied when books are read, so a change
//! of weights needs no new replay.
//!
//! `docs/explanation/model.md` has the formulas.

use std::ops::Range;

use crate::engine::ledger::drift_kernel::Kernel;
use crate::engine::ledger::mass_cells::{Lanes, MassCells, places, plus, times};
use crate::engine::ledger::tier_book::{BarChange, ClockPair, TierBook, UndoLog};
use crate::engine::{Parameters, Tier};
use crate::model::{FineGrid, Side};

/// What happens in one bar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Step {
    /// Lowest price.
    pub low: f64,
    /// Highest price.
    pub high: f64,
    /// Last price.
    pub close: f64,
    /// Volume of the bar divided by the average volume of a bar.
    pub volume_ratio: f64,
    /// Length of the bar in days.
    pub days: f64,
    /// Open interest at the close, in base units.
    pub open_interest: f64,
    /// Liquidated longs and liquidated shorts in base units, if known.
    pub realised: [Option<f64>; 2],
}

/// Modelled open positions by liquidation price, for every side and tier.
///
/// # Examples
///
/// A long of 100 contracts opened at 100 with leverage 100 and 0.5 % maintenance margin is liquidated at 99.4975:
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
    /// Logarithm of the lowest price of the grid.
    ln_p0: f64,
    /// Per clock, the share of new positions, and (in `per_day`) the turnover in a day of average volume. Clocks are in
    /// pairs.
    shares: Vec<Lanes>,
    per_day: Vec<Lanes>,
    /// Per side, one book per tier.
    books: [Vec<TierBook>; 2],
    open_interest: f64,
    /// Close price of the last step.
    price: f64,
    phi: [f64; 2],
    /// Share of new positions that gets a liquidation price, for longs and shorts.
    located: Located,
    /// Per side, the bins in which positions open.
    openings: [EntryBins; 2],
    churns: Vec<Lanes>,
}

/// The liquidation bins of new positions, by tier and entry price.
///
/// These are the positions that a bar opens on one side.
///
/// The values of all books stand in one flat vector, so that the compiler can vectorise the loops.
#[derive(Clone, Debug, PartialEq)]
struct EntryBins {
    /// Where each entry price lies in the log price range of a bar, from 0 (low) to 1 (high).
    fractions: Vec<f64>,
    /// Logarithm of the liquidation price divided by the entry price.
    ln_ratios: Vec<f64>,
    /// Scratch buffers for log liquidation prices and their bins.
    scratch: Scratch,
}

#[derive(Clone, Debug, Default)]
struct Scratch {
    lns: Vec<f64>,
    bins: Vec<i64>,
}

impl PartialEq for Scratch {
    /// Returns true: scratch buffers do not affect equality.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Share of new positions that gets a liquidation price, for longs and shorts.
#[derive(Clone, Copy, Debug)]
struct Located([f64; 2]);

impl PartialEq for Located {
    /// Returns true: each bar sets the shares again.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// Logarithms of a bar's prices, relative to the lowest price of the grid.
#[derive(Clone, Copy, Debug)]
pub struct LogPrices {
    low: f64,
    high: f64,
    close: f64,
    range: f64,
}

impl Ledger {
    /// Creates a ledger without located positions.
    ///
    /// The unlocated open interest is divided over the clocks by their equilibrium shares.
    #[must_use]
    pub fn new(parameters: Parameters, open_interest: f64) -> Self {
        let masses = pairs(parameters.standing().into_iter());
        let sides = [Side::Long, Side::Short];
        let book = |tier: &Tier| {
            let masses = masses.iter().map(|share| times([open_interest; 2], *share));
            TierBook::new(tier.weight, masses)
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
            located: Located([1.0; 2]),
            openings: sides.map(|side| EntryBins::new(&parameters, side)),
            churns: Vec::new(),
            parameters,
        }
    }

    /// Sets the share of new positions that gets a liquidation price, for longs and shorts.
    ///
    /// The rest is unlocated. Without a call all new positions are located.
    pub fn locate(&mut self, shares: [f64; 2]) {
        self.located = Located(shares);
    }

    /// Moves liquidation prices for `steps` quarters of a day, by the drift of the parameters.
    pub fn drift(&mut self, steps: i64) {
        let Some(drift) = self.parameters.drift.filter(|_| self.price > 0.0) else {
            return;
        };
        let slowest = self.parameters.clocks.iter().map(|clock| clock.per_day);
        let slowest = slowest.fold(f64::INFINITY, f64::min);
        let grid = self.parameters.grid;
        let kernel = Kernel::new(drift, grid.h);
        let price = grid.bin(self.price);
        for (books, side) in self.books.iter_mut().zip([Side::Long, Side::Short]) {
            for pairs in books.iter_mut().map(|book| &mut book.pairs) {
                for (pair, per_day) in pairs.iter_mut().zip(&self.per_day) {
                    let moves = per_day.map(|per_day| per_day <= slowest);
                    for _ in 0..steps {
                        kernel.apply(&mut pair.cells, moves, side, price);
                    }
                }
            }
        }
    }

    /// Applies one closed bar.
    ///
    /// Empties the crossed cells, then closes and opens positions to match the open interest.
    ///
    /// Prices must be finite and above zero with `low <= close <= high`; other numbers must be finite and not negative.
    pub fn step(&mut self, step: &Step) {
        let logs = self.logs(step);
        self.cross(logs, std::iter::empty());
        self.settle(step, logs, std::iter::empty());
    }

    /// The log prices of a step, for [`Ledger::cross`] and [`Ledger::settle`].
    pub fn logs(&self, step: &Step) -> LogPrices {
        LogPrices {
            low: step.low.ln() - self.ln_p0,
            high: step.high.ln() - self.ln_p0,
            close: step.close.ln() - self.ln_p0,
            range: (step.high / step.low).ln(),
        }
    }

    /// Creates one undo log per clock pair, starting at the present state.
    pub fn marks(&self) -> Vec<UndoLog> {
        let books = self.books.iter().flatten();
        books
            .flat_map(|book| book.pairs.iter().map(ClockPair::mark))
            .collect()
    }

    /// Empties the cells that a step crosses and records them in `marks`.
    pub fn cross<'a>(&mut self, logs: LogPrices, mut marks: impl Iterator<Item = &'a mut UndoLog>) {
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

    /// Reverts the closings and openings of a step; crossed cells stay empty.
    pub fn unsettle(&mut self, marks: &mut [UndoLog]) {
        let pairs = self
            .books
            .iter_mut()
            .flatten()
            .flat_map(|book| &mut book.pairs);
        for (pair, mark) in pairs.zip(marks) {
            pair.unsettle(mark);
        }
    }

    /// Refills the cells that a step crossed.
    pub fn uncross(&mut self, marks: &mut [UndoLog]) {
        let mut marks = marks.iter_mut();
        for (books, side) in self.books.iter_mut().zip([Side::Long, Side::Short]) {
            let pairs = books.iter_mut().flat_map(|book| &mut book.pairs);
            // `pairs` must come first in `zip`, or the next side would skip a mark.
            for (pair, mark) in pairs.zip(&mut marks) {
                pair.uncross(side, mark);
            }
        }
    }

    /// Sets the open interest before the next step.
    pub fn set_open_interest(&mut self, open_interest: f64) {
        self.open_interest = open_interest;
    }

    /// Closes and opens positions to match the open interest of `step`. Its crossed cells must already be empty.
    pub fn settle<'a>(
        &mut self,
        step: &Step,
        logs: LogPrices,
        mut marks: impl Iterator<Item = &'a mut UndoLog>,
    ) {
        let grid = self.parameters.grid;
        let close = grid.bin_of_ln(logs.close);
        // After the bar, no long has its liquidation bin at or above the close, and no short at or below the close.
        let within = [(i64::MIN, close - 1), (close + 1, i64::MAX)];
        let passed = step.days * step.volume_ratio;
        let churn = |per_day: &Lanes| per_day.map(|per_day| turnover(per_day, passed));
        self.churns.clear();
        self.churns.extend(self.per_day.iter().map(churn));
        let entries = self.parameters.entries.get();
        let each = 1.0 / f64::from(entries);

        for (((((books, opening), within), realised), phi), located) in self
            .books
            .iter_mut()
            .zip(&mut self.openings)
            .zip(within)
            .zip(step.realised)
            .zip(&mut self.phi)
            .zip(self.located.0)
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
            let turn = BarChange {
                before: self.open_interest,
                after: step.open_interest,
                phi: *phi,
                churns: &self.churns,
                shares: &self.shares,
                located,
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

    /// Advances over `days` without bars.
    ///
    /// Located mass becomes unlocated at the turnover rate of its clock.
    ///
    /// The next bar needs no special treatment. It empties all longs at or above its low, and all shorts at or below
    /// its high. These include the cells between the last close and the bar.
    pub fn lapse(&mut self, days: f64) {
        let lost = |per_day: &Lanes| per_day.map(|per_day| turnover(per_day, days));
        let lost: Vec<Lanes> = self.per_day.iter().map(lost).collect();
        for book in self.books.iter_mut().flatten() {
            book.lapse(&lost);
        }
    }

    /// Multiplies all mass by `factor`.
    ///
    /// Called when the set of exchanges in the open interest changes. Such a change opens and closes no position.
    pub fn regroup(&mut self, factor: f64) {
        for book in self.books.iter_mut().flatten() {
            book.regroup(factor);
        }
        self.open_interest *= factor;
    }

    /// Releases memory that holds no mass.
    pub fn compact(&mut self) {
        for pair in self
            .books
            .iter_mut()
            .flatten()
            .flat_map(|book| &mut book.pairs)
        {
            pair.cells.compact();
        }
        // Every step computes them again.
        self.churns = Vec::new();
    }

    /// Appends the state as words, without the parameters.
    pub fn write(&self, words: &mut Vec<u64>) {
        let [long, short] = self.phi;
        let numbers = [self.open_interest, self.price, long, short];
        words.extend(numbers.map(f64::to_bits));
        for book in self.books.iter().flatten() {
            book.write(words);
        }
    }

    /// Reads what [`Ledger::write`] appended; `None` if there is too little.
    pub fn read(parameters: Parameters, words: &mut impl Iterator<Item = u64>) -> Option<Self> {
        let mut ledger = Self::new(parameters, 0.0);
        ledger.open_interest = f64::from_bits(words.next()?);
        ledger.price = f64::from_bits(words.next()?);
        for phi in &mut ledger.phi {
            *phi = f64::from_bits(words.next()?);
        }
        for book in ledger.books.iter_mut().flatten() {
            book.read(words)?;
        }
        Some(ledger)
    }

    /// Approximate memory in bytes.
    pub fn bytes(&self) -> usize {
        let pairs = self.books.iter().flatten().flat_map(|book| &book.pairs);
        let entries = self.openings.iter().map(EntryBins::bytes);
        pairs.map(ClockPair::bytes).sum::<usize>() + entries.sum::<usize>()
    }

    /// The parameters.
    #[must_use]
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// Open interest after the last step, in base units.
    #[must_use]
    pub fn open_interest(&self) -> f64 {
        self.open_interest
    }

    /// Close price of the last step; 0 before the first one.
    pub fn price(&self) -> f64 {
        self.price
    }

    /// Share of the mass crossed in the last step that counted as liquidated, for longs and shorts.
    #[must_use]
    pub fn phi(&self) -> [f64; 2] {
        self.phi
    }

    fn book(&self, side: Side, tier: usize) -> Option<&TierBook> {
        self.books.get(side.index())?.get(tier)
    }

    /// Non-empty bins of a side and tier, with their mass in base units.
    ///
    /// Bins ascend. Tiers are counted from 0.
    pub fn located(&self, side: Side, tier: usize) -> impl Iterator<Item = (i64, f64)> + '_ {
        let book = self.book(side, tier);
        let column = MassColumn::of(book.into_iter().map(|book| (book, 1.0)));
        (column.first..)
            .zip(column.mass)
            .filter(|(_, mass)| *mass > 0.0)
    }

    /// Mass of a side and tier without a known liquidation price.
    ///
    /// These positions were opened before the data starts, or were crossed and not liquidated.
    #[must_use]
    pub fn unlocated(&self, side: Side, tier: usize) -> f64 {
        self.book(side, tier).map_or(0.0, TierBook::unlocated)
    }

    /// Mass of a side and tier that the last step crossed.
    #[must_use]
    pub fn flux(&self, side: Side, tier: usize) -> f64 {
        self.book(side, tier).map_or(0.0, |book| book.flux)
    }

    /// Share of the open interest with a known liquidation price, for longs and shorts.
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

    /// USD that a move of the price by the fraction `distance`, down and up, would cross.
    ///
    /// Returns the same numbers per tier as [`Ledger::crossed`].
    pub fn within(&self, distance: f64) -> [Vec<f64>; 2] {
        self.crossed(self.price * (1.0 - distance), self.price * (1.0 + distance))
    }

    /// USD crossed by a move from the last price down to `low` and up to `high`.
    ///
    /// Returns one number per tier for longs and for shorts. Each number is computed as if all open interest were in
    /// that tier.
    pub fn crossed(&self, low: f64, high: f64) -> [Vec<f64>; 2] {
        let grid = self.parameters.grid;
        let (low, high) = (grid.bin(low), grid.bin(high));
        let usd = |books: &[TierBook], crossed: &dyn Fn(&MassCells) -> (i64, i64)| {
            let usd = books.iter().map(|book| {
                let pairs = book.pairs.iter().flat_map(|pair| {
                    let (first, end) = crossed(&pair.cells);
                    let masses = (first..).zip(pair.cells.within(first, end));
                    let usd = masses.fold([0.0; 2], |sum, (bin, mass)| {
                        plus(sum, times(*mass, [grid.mid(bin); 2]))
                    });
                    times(pair.scale, usd)
                });
                // `Iterator::sum` of nothing is -0.0.
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

    /// Mass per bin in base units, summed over sides and tiers. Each tier is multiplied by its factor in `counted`.
    pub fn column(&self, counted: &[Vec<f64>; 2]) -> MassColumn {
        MassColumn {
            price: self.price,
            longs_end: self.longs_end(),
            ..MassColumn::of(self.times(counted))
        }
    }

    /// Adds the weighted mass per bin to `mass`.
    ///
    /// `mass` starts at bin `first` and must cover the [`Ledger::span`].
    pub fn add(&self, counted: &[Vec<f64>; 2], first: i64, mass: &mut [f64]) {
        MassColumn::add(self.times(counted), first, mass);
    }

    /// Returns the range of bins with mass, and the first bin above all longs.
    pub fn span(&self, counted: &[Vec<f64>; 2]) -> (Range<i64>, i64) {
        (MassColumn::span(self.times(counted)), self.longs_end())
    }

    /// All books, each with its factor.
    fn times<'a>(
        &'a self,
        [of_longs, of_shorts]: &'a [Vec<f64>; 2],
    ) -> impl Iterator<Item = (&'a TierBook, f64)> + Clone {
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

impl EntryBins {
    fn new(parameters: &Parameters, side: Side) -> Self {
        let entries = parameters.entries.get();
        let fraction = |entry: u8| (f64::from(entry) + 0.5) / f64::from(entries);
        let tiers = parameters.tiers.iter();
        let all = tiers.flat_map(|tier| {
            let ln_ratio = tier.ratio(side).ln();
            (0..entries).map(move |entry| (fraction(entry), ln_ratio))
        });
        let (fractions, ln_ratios): (Vec<f64>, Vec<f64>) = all.unzip();
        let scratch = Scratch {
            lns: vec![0.0; fractions.len()],
            bins: vec![0; fractions.len()],
        };
        Self {
            fractions,
            ln_ratios,
            scratch,
        }
    }

    /// Approximate memory in bytes.
    fn bytes(&self) -> usize {
        4 * 8 * self.fractions.len()
    }

    /// Computes the liquidation bins of the positions that a bar opens, clamped to `within`.
    fn of(&mut self, grid: &FineGrid, logs: LogPrices, within: (i64, i64)) -> &[i64] {
        let Scratch { lns, bins } = &mut self.scratch;
        let entries = self.fractions.iter().zip(&self.ln_ratios);
        for (ln, (fraction, ln_ratio)) in lns.iter_mut().zip(entries) {
            *ln = logs.low + logs.range * fraction + ln_ratio;
        }
        grid.bins_of_lns(lns, within, bins);
        bins
    }
}

/// Share of a clock's positions that is closed and reopened.
///
/// `days` counts days of average volume. The share is at most half.
fn turnover(per_day: f64, days: f64) -> f64 {
    (per_day * days).min(0.5)
}

/// Groups one value per clock into pairs; an odd count is padded with 0.
fn pairs(numbers: impl Iterator<Item = f64>) -> Vec<Lanes> {
    let mut numbers = numbers;
    let two = || Some([numbers.next()?, numbers.next().unwrap_or_default()]);
    std::iter::from_fn(two).collect()
}

/// Mass by bin at one instant, in base units.
#[derive(Clone, Debug, Default)]
pub struct MassColumn {
    pub first: i64,
    pub mass: Vec<f64>,
    /// The first bin above all longs; shorts lie at or above it.
    pub longs_end: i64,
    /// Close price of the last step.
    pub price: f64,
}

impl MassColumn {
    /// Sums `books`, each times its factor.
    fn of<'a>(books: impl Iterator<Item = (&'a TierBook, f64)> + Clone) -> Self {
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

    /// Adds `books`, each times its factor, to `mass`, which starts at bin `first`.
    fn add<'a>(
        books: impl Iterator<Item = (&'a TierBook, f64)> + Clone,
        first: i64,
        mass: &mut [f64],
    ) {
        for (pair, counted) in Self::pairs(books) {
            let [by_one, by_other] = times(pair.scale, [counted; 2]);
            let start = places(pair.cells.first - first);
            for (sum, [one, other]) in mass.iter_mut().skip(start).zip(pair.cells.occupied()) {
                *sum += by_one * one;
                *sum += by_other * other;
            }
        }
    }

    /// The range of occupied bins of `books`; `0..0` if the books have no mass.
    fn span<'a>(books: impl Iterator<Item = (&'a TierBook, f64)> + Clone) -> Range<i64> {
        let pairs = Self::pairs(books);
        let first = pairs.clone().map(|(pair, _)| pair.cells.first).min();
        let end = pairs.map(|(pair, _)| pair.cells.end).max();
        first.unwrap_or(0)..end.unwrap_or(0)
    }

    /// The clock pairs with mass and a factor above zero.
    fn pairs<'a>(
        books: impl Iterator<Item = (&'a TierBook, f64)> + Clone,
    ) -> impl Iterator<Item = (&'a ClockPair, f64)> + Clone {
        books
            .flat_map(|(book, counted)| book.pairs.iter().map(move |pair| (pair, counted)))
            .filter(|(pair, counted)| *counted > 0.0 && !pair.cells.is_empty())
    }

    /// The sum of two columns. That of a column without mass is the other one.
    pub fn plus(self, other: &Self) -> Self {
        if other.mass.is_empty() {
            return self;
        }
        let (mut first, mut end) = (
            other.first,
            other.first.saturating_add_unsigned(other.mass.len() as u64),
        );
        if !self.mass.is_empty() {
            first = first.min(self.first);
            end = end.max(self.first.saturating_add_unsigned(self.mass.len() as u64));
        }
        let mut mass = vec![0.0; places(end - first)];
        for column in [&self, other] {
            let cells = mass.iter_mut().skip(places(column.first - first));
            for (sum, cell) in cells.zip(&column.mass) {
                *sum += cell;
            }
        }
        Self {
            first,
            mass,
            longs_end: other.longs_end,
            price: other.price,
        }
    }

    /// The side of a bin.
    pub fn side_of(&self, bin: i64) -> Side {
        if bin < self.longs_end {
            Side::Long
        } else {
            Side::Short
        }
    }

    /// Prices and USD of the non-empty bins of a side.
    pub fn usd_of(&self, grid: FineGrid, side: Side) -> Vec<(f64, f64)> {
        (self.first..)
            .zip(&self.mass)
            .filter(|(bin, mass)| **mass > 0.0 && self.side_of(*bin) == side)
            .map(|(bin, mass)| (grid.mid(bin), mass * grid.mid(bin)))
            .collect()
    }

    /// Returns the masses in `bins`, and the number of bins before them.
    ///
    /// The number counts the bins of `bins` below the first returned mass.
    pub fn between(&self, bins: Range<i64>) -> (usize, &[f64]) {
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
