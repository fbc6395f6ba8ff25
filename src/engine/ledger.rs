//! The ledger: open positions by the price at which they would be liquidated.
//!
//! For every side and leverage tier there is a hypothetical book in which every contract has that leverage, and in it a
//! part for every clock: the positions that turn over at its rate. Per book, what is located on the price grid and what
//! is not sums to the open interest, after every step. Weights come in only when the books are read, so other weights
//! never need another replay.

use std::ops::Range;

use super::Parameters;
use super::cells::{Cells, places};
use crate::model::Side;

/// Below this the common factor of a book is multiplied into its cells, so that nothing is divided by a vanishing one.
const VANISHING: f64 = 1e-150;

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
    /// Where in a bar's log price range the entries lie, 0 to 1.
    fractions: Vec<f64>,
    /// Per side, one book per tier.
    books: [Vec<Book>; 2],
    open_interest: f64,
    /// The last step's close.
    price: f64,
    phi: [f64; 2],
    opening: Opening,
}

/// Where a step opens positions: room to work in, so that no step asks for its own.
#[derive(Clone, Debug, Default)]
struct Opening {
    /// Log prices of the entries.
    lns: Vec<f64>,
    /// The bins in which positions entered there are liquidated, of one book at a time.
    bins: Vec<i64>,
}

impl PartialEq for Opening {
    /// It is no part of what a ledger holds.
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

/// What a bar that has not closed did to a part of a book, so that it can be taken back.
#[derive(Clone, Debug, Default)]
pub(super) struct Mark {
    /// The cells that were crossed, in the order in which the price came to them, and their sum.
    crossed: Vec<f64>,
    sum: f64,
    /// Where the cells lay before the bar, and behind what it crossed.
    before: (i64, i64),
    behind: (i64, i64),
    scale: f64,
    unlocated: f64,
    mass: f64,
    /// What stood in the bins in which positions were opened.
    under: Vec<(i64, f64)>,
    /// All cells, where they were multiplied.
    whole: Option<Cells>,
}

/// All positions of one side, as if every one of them had the same leverage.
#[derive(Clone, Debug, PartialEq)]
struct Book {
    /// Logarithm of the liquidation price over the entry price.
    ln_ratio: f64,
    weight: f64,
    /// One part per clock.
    parts: Vec<Part>,
    /// Mass the last step's price range crossed.
    flux: f64,
}

/// The positions of a book that turn over at the rate of one clock.
#[derive(Clone, Debug, PartialEq)]
struct Part {
    /// Mass by liquidation price, to be multiplied by `scale`.
    cells: Cells,
    scale: f64,
    /// Mass whose liquidation price is not known.
    unlocated: f64,
    /// All mass, kept beside its two kinds so that no step has to sum the cells.
    mass: f64,
    /// Mass the last step's price range crossed.
    flux: f64,
}

impl Ledger {
    /// A ledger of which nothing is located yet; its open interest lies in the clocks as in equilibrium.
    #[must_use]
    pub fn new(parameters: Parameters, open_interest: f64) -> Self {
        let entries = parameters.entries.get();
        let shares = parameters.standing();
        let books = [Side::Long, Side::Short].map(|side| {
            parameters
                .tiers
                .iter()
                .map(|tier| Book {
                    ln_ratio: tier.ratio(side).ln(),
                    weight: tier.weight,
                    parts: shares
                        .iter()
                        .map(|share| Part::new(open_interest * share))
                        .collect(),
                    flux: 0.0,
                })
                .collect()
        });
        Self {
            fractions: (0..entries)
                .map(|entry| (f64::from(entry) + 0.5) / f64::from(entries))
                .collect(),
            parameters,
            books,
            open_interest,
            price: 0.0,
            phi: [1.0; 2],
            opening: Opening::default(),
        }
    }

    /// Takes in one closed bar: sweeps what price crossed, closes and opens positions until open interest is met.
    ///
    /// Prices must be finite and above zero with `low <= close <= high`, the other numbers finite and not negative.
    pub fn step(&mut self, step: &Step) {
        self.cross(step, None);
        self.settle(step, None);
    }

    /// Marks of the state as it is.
    pub(super) fn marks(&self) -> Vec<Mark> {
        let books = self.books.iter().flatten();
        books
            .flat_map(|book| book.parts.iter().map(Part::mark))
            .collect()
    }

    /// Empties what `step` crosses, in `marks` on top of what was crossed before.
    pub(super) fn cross(&mut self, step: &Step, marks: Option<&mut [Mark]>) {
        let grid = self.parameters.grid;
        let (low, high) = (grid.bin(step.low), grid.bin(step.high));
        let mut marks = marks.into_iter().flatten();
        for (books, side) in self.books.iter_mut().zip([Side::Long, Side::Short]) {
            for book in books {
                book.sweep(side, (low, high), &mut marks);
            }
        }
    }

    /// Takes back what a step closed and opened; what it crossed stays crossed.
    pub(super) fn unsettle(&mut self, marks: &mut [Mark]) {
        let parts = self
            .books
            .iter_mut()
            .flatten()
            .flat_map(|book| &mut book.parts);
        for (part, mark) in parts.zip(marks) {
            part.unsettle(mark);
        }
    }

    /// Takes back what was crossed.
    pub(super) fn uncross(&mut self, marks: &mut [Mark]) {
        let mut marks = marks.iter_mut();
        for (books, side) in self.books.iter_mut().zip([Side::Long, Side::Short]) {
            let parts = books.iter_mut().flat_map(|book| &mut book.parts);
            // The marks come second, so that none is passed over.
            for (part, mark) in parts.zip(&mut marks) {
                part.uncross(side, mark);
            }
        }
    }

    /// Sets the open interest that the next step begins with.
    pub(super) fn set_open_interest(&mut self, open_interest: f64) {
        self.open_interest = open_interest;
    }

    /// Closes and opens positions until the open interest of `step` is met; what it crossed has been emptied.
    pub(super) fn settle(&mut self, step: &Step, marks: Option<&mut [Mark]>) {
        let grid = self.parameters.grid;
        let close = grid.bin(step.close);
        let ln_low = step.low.ln() - grid.p0.ln();
        let ln_range = (step.high / step.low).ln();
        let clocks = &self.parameters.clocks;
        let passed = step.days * step.volume_ratio;
        let Opening { lns, bins } = &mut self.opening;
        lns.clear();
        lns.extend(
            self.fractions
                .iter()
                .map(|fraction| ln_low + ln_range * fraction),
        );
        let each = 1.0 / f64::from(self.parameters.entries.get());
        let mut marks = marks.map(|marks| marks.iter_mut());

        for (((books, side), realised), phi) in self
            .books
            .iter_mut()
            .zip([Side::Long, Side::Short])
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
            for book in books {
                // Only rounding can make more be liquidated than there is.
                let left = (self.open_interest - *phi * book.flux).max(0.0);
                // Closing is in proportion, written without a difference of large numbers.
                let stays = if left > 0.0 {
                    left.min(step.open_interest) / left
                } else {
                    0.0
                };
                let mut opened = (step.open_interest - left).max(0.0);
                bins.clear();
                grid.bins_of_lns(lns, book.ln_ratio, bins);
                match side {
                    Side::Long => bins.iter_mut().for_each(|bin| *bin = (*bin).min(close - 1)),
                    Side::Short => bins.iter_mut().for_each(|bin| *bin = (*bin).max(close + 1)),
                }
                for (part, clock) in book.parts.iter_mut().zip(clocks) {
                    let mark = marks.as_mut().and_then(Iterator::next);
                    let churn = clock.turnover(passed);
                    opened += part.close(*phi, stays, churn, mark, bins);
                }
                for (part, clock) in book.parts.iter_mut().zip(clocks) {
                    part.open(bins, opened * clock.share, each);
                }
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
        let lost: Vec<f64> = self
            .parameters
            .clocks
            .iter()
            .map(|clock| clock.turnover(days))
            .collect();
        for book in self.books.iter_mut().flatten() {
            for (part, lost) in book.parts.iter_mut().zip(&lost) {
                part.unlocated += part.located() * lost;
                part.scale *= 1.0 - lost;
            }
        }
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
    pub(super) fn within(&self, distance: f64) -> [Vec<f64>; 2] {
        self.crossed(self.price * (1.0 - distance), self.price * (1.0 + distance))
    }

    /// The USD that a move from the last price down to `low` and up to `high` would cross, of longs and of shorts, tier
    /// by tier as if it held everything.
    pub(super) fn crossed(&self, low: f64, high: f64) -> [Vec<f64>; 2] {
        let grid = self.parameters.grid;
        let (low, high) = (grid.bin(low), grid.bin(high));
        let usd = |books: &[Book], crossed: &dyn Fn(&Cells) -> (i64, i64)| {
            let usd = books.iter().map(|book| {
                let parts = book.parts.iter().map(|part| {
                    let (first, end) = crossed(&part.cells);
                    let masses = part.cells.within(first, end);
                    let usd = (first..)
                        .zip(masses)
                        .filter(|(_, mass)| **mass > 0.0)
                        .map(|(bin, mass)| mass * grid.mid(bin));
                    part.scale * usd.sum::<f64>()
                });
                // A sum of nothing is minus zero.
                parts.fold(0.0, |sum, usd| sum + usd)
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
    pub(super) fn column(&self, counted: &[Vec<f64>; 2]) -> Column {
        Column {
            price: self.price,
            longs_end: self.longs_end(),
            ..Column::of(self.times(counted))
        }
    }

    /// Adds such a column to `mass`, whose first bin is `first` and which holds every bin of its [`Ledger::span`].
    pub(super) fn add(&self, counted: &[Vec<f64>; 2], first: i64, mass: &mut [f64]) {
        Column::add(self.times(counted), first, mass);
    }

    /// The bins of such a column, and the first that no long lies in or above.
    pub(super) fn span(&self, counted: &[Vec<f64>; 2]) -> (Range<i64>, i64) {
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
        let parts = longs.iter().flat_map(|book| &book.parts);
        let parts = parts.filter(|part| !part.cells.is_empty());
        parts.map(|part| part.cells.end).max().unwrap_or(i64::MIN)
    }
}

impl Book {
    fn unlocated(&self) -> f64 {
        self.parts.iter().map(|part| part.unlocated).sum()
    }

    fn located(&self) -> f64 {
        self.parts.iter().map(Part::located).sum()
    }

    /// Empties what a bar from `low` to `high` crosses, on top of what its marks say was crossed before.
    fn sweep<'a>(
        &mut self,
        side: Side,
        (low, high): (i64, i64),
        marks: &mut impl Iterator<Item = &'a mut Mark>,
    ) {
        self.flux = 0.0;
        for part in &mut self.parts {
            let mut mark = marks.next();
            let before = mark.as_ref().map_or(0.0, |mark| mark.sum);
            let crossed = mark.as_mut().map(|mark| &mut mark.crossed);
            let swept = match side {
                Side::Long => part.cells.take_from(low, before, crossed),
                Side::Short => part.cells.take_through(high, before, crossed),
            };
            if let Some(mark) = mark {
                mark.sum = swept;
                mark.behind = (part.cells.first, part.cells.end);
            }
            part.flux = swept * part.scale;
            self.flux += part.flux;
        }
    }
}

impl Part {
    fn new(mass: f64) -> Self {
        Self {
            cells: Cells::default(),
            scale: 1.0,
            unlocated: mass,
            mass,
            flux: 0.0,
        }
    }

    fn located(&self) -> f64 {
        self.scale * self.cells.occupied().iter().sum::<f64>()
    }

    fn mark(&self) -> Mark {
        Mark {
            before: (self.cells.first, self.cells.end),
            behind: (self.cells.first, self.cells.end),
            scale: self.scale,
            unlocated: self.unlocated,
            mass: self.mass,
            ..Mark::default()
        }
    }

    fn unsettle(&mut self, mark: &mut Mark) {
        (self.scale, self.unlocated, self.mass) = (mark.scale, mark.unlocated, mark.mass);
        if let Some(whole) = mark.whole.take() {
            self.cells = whole;
        }
        for (bin, mass) in mark.under.drain(..) {
            self.cells.put(bin, mass);
        }
        (self.cells.first, self.cells.end) = mark.behind;
    }

    fn uncross(&mut self, side: Side, mark: &mut Mark) {
        let (first, end) = mark.before;
        for (place, mass) in (0..).zip(mark.crossed.drain(..)) {
            let bin = match side {
                Side::Long => end - 1 - place,
                Side::Short => first + place,
            };
            self.cells.put(bin, mass);
        }
        mark.sum = 0.0;
        mark.behind = mark.before;
        (self.cells.first, self.cells.end) = mark.before;
    }

    /// Takes away the share `phi` of what was crossed, keeps of the rest the share that `stays`, and closes the share
    /// `churn` of that: how much is to be opened anew. What will be opened in `bins` can be taken back with the mark.
    fn close(
        &mut self,
        phi: f64,
        stays: f64,
        churn: f64,
        mark: Option<&mut Mark>,
        bins: &[i64],
    ) -> f64 {
        let liquidated = phi * self.flux;
        let left = (self.mass - liquidated).max(0.0) * stays;
        let kept = (1.0 - churn) * stays;
        self.mass = (1.0 - churn) * left;
        self.unlocated = (self.unlocated + self.flux - liquidated) * kept;
        self.scale *= kept;
        let vanishes = self.scale < VANISHING;
        if let Some(mark) = mark {
            if vanishes {
                mark.whole = Some(self.cells.clone());
            } else {
                let stood = |bin: &i64| (*bin, self.cells.mass(*bin));
                mark.under.extend(bins.iter().map(stood));
            }
        }
        if vanishes {
            self.cells.multiply(self.scale);
            self.scale = 1.0;
        }
        churn * left
    }

    /// Opens `mass` in `bins`, the share `each` in each.
    fn open(&mut self, bins: &[i64], mass: f64, each: f64) {
        if mass > 0.0 {
            self.mass += mass;
            self.cells.add(bins, mass * each / self.scale);
        }
    }
}

/// The mass of some books by bin at one instant, in base units.
#[derive(Clone, Debug, Default)]
pub(super) struct Column {
    pub(super) first: i64,
    pub(super) mass: Vec<f64>,
    /// The first bin that no long lies in or above; all shorts do.
    pub(super) longs_end: i64,
    /// The last price.
    pub(super) price: f64,
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
        for (part, times) in Self::parts(books) {
            let factor = part.scale * times;
            let start = places(part.cells.first - first);
            for (sum, cell) in mass.iter_mut().skip(start).zip(part.cells.occupied()) {
                *sum += factor * cell;
            }
        }
    }

    /// From the first bin that holds something to behind the last; bin 0 and no more where nothing does.
    fn span<'a>(books: impl Iterator<Item = (&'a Book, f64)> + Clone) -> Range<i64> {
        let parts = Self::parts(books);
        let first = parts.clone().map(|(part, _)| part.cells.first).min();
        let end = parts.map(|(part, _)| part.cells.end).max();
        first.unwrap_or(0)..end.unwrap_or(0)
    }

    /// What counts of `books`.
    fn parts<'a>(
        books: impl Iterator<Item = (&'a Book, f64)> + Clone,
    ) -> impl Iterator<Item = (&'a Part, f64)> + Clone {
        books
            .flat_map(|(book, times)| book.parts.iter().map(move |part| (part, times)))
            .filter(|(part, times)| *times > 0.0 && !part.cells.is_empty())
    }

    /// How many of `bins` lie below the first mass, and the masses of those that do not.
    pub(super) fn between(&self, bins: Range<i64>) -> (usize, &[f64]) {
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
