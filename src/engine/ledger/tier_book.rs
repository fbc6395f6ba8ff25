//! A book of the ledger: all positions of one side as if every one of them had the same leverage, and in it a part for
//! every clock.
//!
//! The parts of a book are opened and crossed in the same bins, so they lie together, two clocks beside each other.

use crate::engine::ledger::mass_cells::{Cells, Lanes, plus, times};
use crate::model::Side;

/// Below this the common factor of a part is multiplied into its cells, so that nothing is divided by a vanishing one.
const VANISHING: f64 = 1e-150;

/// What a bar that has not closed did to a pair of a book, so that it can be taken back.
#[derive(Clone, Debug, Default)]
pub(crate) struct Mark {
    /// The cells that were crossed, in the order in which the price came to them, and their sum.
    crossed: Vec<Lanes>,
    sum: Lanes,
    /// Where the cells lay before the bar, and behind what it crossed.
    before: (i64, i64),
    behind: (i64, i64),
    scale: Lanes,
    unlocated: Lanes,
    mass: Lanes,
    /// What stood in the bins in which positions were opened.
    under: Vec<(i64, Lanes)>,
    /// All cells, where they were multiplied.
    whole: Option<Cells>,
}

/// What a bar does to every book of a side.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn<'a> {
    /// Open interest before and after it.
    pub(crate) held: f64,
    pub(crate) then: f64,
    /// The share of what was crossed that was liquidated.
    pub(crate) phi: f64,
    /// The share of the positions of each clock that changed hands, and its share of what is opened.
    pub(crate) churns: &'a [Lanes],
    pub(crate) shares: &'a [Lanes],
    /// The share of what is opened that is opened in each bin.
    pub(crate) each: f64,
}

/// All positions of one side, as if every one of them had the same leverage.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Book {
    pub(crate) weight: f64,
    /// The clocks, two by two.
    pub(crate) pairs: Vec<Pair>,
    /// Mass the last step's price range crossed.
    pub(crate) flux: f64,
}

/// The positions of a book that turn over at the rates of two clocks; where the number of clocks is odd, the second of the
/// last has nothing.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Pair {
    /// Mass by liquidation price, to be multiplied by `scale`.
    pub(crate) cells: Cells,
    pub(crate) scale: Lanes,
    /// Mass whose liquidation price is not known.
    unlocated: Lanes,
    /// All mass, kept beside its two kinds so that no step has to sum the cells.
    mass: Lanes,
    /// Mass the last step's price range crossed.
    flux: Lanes,
}

impl Book {
    /// A book of which nothing is located; so much of each clock.
    pub(crate) fn new(weight: f64, masses: impl Iterator<Item = Lanes>) -> Self {
        Self {
            weight,
            pairs: masses.map(Pair::new).collect(),
            flux: 0.0,
        }
    }

    pub(crate) fn unlocated(&self) -> f64 {
        let pairs = self.pairs.iter();
        pairs.flat_map(|pair| pair.unlocated).sum()
    }

    pub(crate) fn located(&self) -> f64 {
        self.pairs.iter().flat_map(Pair::located).sum()
    }

    /// Empties what a bar from `low` to `high` crosses, on top of what its marks say was crossed before.
    #[inline]
    pub(crate) fn sweep<'a>(
        &mut self,
        side: Side,
        (low, high): (i64, i64),
        marks: &mut impl Iterator<Item = &'a mut Mark>,
    ) {
        self.flux = 0.0;
        for pair in &mut self.pairs {
            let mut mark = marks.next();
            let before = mark.as_ref().map_or([0.0; 2], |mark| mark.sum);
            let crossed = mark.as_mut().map(|mark| &mut mark.crossed);
            let swept = match side {
                Side::Long => pair.cells.take_from(low, before, crossed),
                Side::Short => pair.cells.take_through(high, before, crossed),
            };
            if let Some(mark) = mark {
                mark.sum = swept;
                mark.behind = (pair.cells.first, pair.cells.end);
            }
            pair.flux = times(swept, pair.scale);
            let [one, other] = pair.flux;
            self.flux += one;
            self.flux += other;
        }
    }

    /// Closes positions, and opens others in `bins`, until the open interest is met.
    #[inline]
    pub(crate) fn settle<'a>(
        &mut self,
        turn: Turn<'_>,
        bins: &[i64],
        marks: &mut impl Iterator<Item = &'a mut Mark>,
    ) {
        // Only rounding can make more be liquidated than there is.
        let left = above(turn.held - turn.phi * self.flux);
        // Closing is in proportion, written without a difference of large numbers.
        let stays = if left > 0.0 {
            (if turn.then < left { turn.then } else { left }) / left
        } else {
            0.0
        };
        let mut opened = above(turn.then - left);
        for (pair, churn) in self.pairs.iter_mut().zip(turn.churns) {
            let [one, other] = pair.close(turn.phi, stays, *churn, marks.next(), bins);
            opened += one;
            opened += other;
        }
        for (pair, share) in self.pairs.iter_mut().zip(turn.shares) {
            pair.open(bins, times([opened; 2], *share), turn.each);
        }
    }

    /// Forgets where the share `lost` of each clock is.
    pub(crate) fn lapse(&mut self, lost: &[Lanes]) {
        for (pair, lost) in self.pairs.iter_mut().zip(lost) {
            pair.unlocated = plus(pair.unlocated, times(pair.located(), *lost));
            pair.scale = times(pair.scale, lost.map(|lost| 1.0 - lost));
        }
    }

    /// Holds so many times what it holds.
    pub(crate) fn regroup(&mut self, factor: f64) {
        for pair in &mut self.pairs {
            for held in [&mut pair.scale, &mut pair.unlocated, &mut pair.mass] {
                *held = times(*held, [factor; 2]);
            }
        }
    }
}

impl Pair {
    fn new(mass: Lanes) -> Self {
        Self {
            cells: Cells::default(),
            scale: [1.0; 2],
            unlocated: mass,
            mass,
            flux: [0.0; 2],
        }
    }

    fn located(&self) -> Lanes {
        let cells = self.cells.occupied().iter();
        times(
            self.scale,
            cells.fold([0.0; 2], |sum, mass| plus(sum, *mass)),
        )
    }

    pub(crate) fn mark(&self) -> Mark {
        Mark {
            before: (self.cells.first, self.cells.end),
            behind: (self.cells.first, self.cells.end),
            scale: self.scale,
            unlocated: self.unlocated,
            mass: self.mass,
            ..Mark::default()
        }
    }

    /// Takes back what was closed and opened; what was crossed stays crossed.
    pub(crate) fn unsettle(&mut self, mark: &mut Mark) {
        (self.scale, self.unlocated, self.mass) = (mark.scale, mark.unlocated, mark.mass);
        if let Some(whole) = mark.whole.take() {
            self.cells = whole;
        }
        for (bin, mass) in mark.under.drain(..) {
            self.cells.put(bin, mass);
        }
        (self.cells.first, self.cells.end) = mark.behind;
    }

    /// Takes back what was crossed.
    pub(crate) fn uncross(&mut self, side: Side, mark: &mut Mark) {
        let (first, end) = mark.before;
        for (place, mass) in (0..).zip(mark.crossed.drain(..)) {
            let bin = match side {
                Side::Long => end - 1 - place,
                Side::Short => first + place,
            };
            self.cells.put(bin, mass);
        }
        mark.sum = [0.0; 2];
        mark.behind = mark.before;
        (self.cells.first, self.cells.end) = mark.before;
    }

    /// Takes away the share `phi` of what was crossed, keeps of the rest the share that `stays`, and closes the share
    /// `churn` of that: how much is to be opened anew. What will be opened in `bins` can be taken back with the mark.
    #[inline]
    fn close(
        &mut self,
        phi: f64,
        stays: f64,
        churn: Lanes,
        mark: Option<&mut Mark>,
        bins: &[i64],
    ) -> Lanes {
        let liquidated = times([phi; 2], self.flux);
        let remains = churn.map(|churn| 1.0 - churn);
        let left = plus(self.mass, liquidated.map(|mass| -mass)).map(above);
        let left = times(left, [stays; 2]);
        let kept = times(remains, [stays; 2]);
        self.mass = times(remains, left);
        let missed = plus(self.unlocated, self.flux);
        self.unlocated = times(plus(missed, liquidated.map(|mass| -mass)), kept);
        self.scale = times(self.scale, kept);
        let [one, other] = self.scale;
        let vanishes = one < VANISHING || other < VANISHING;
        if let Some(mark) = mark {
            if vanishes {
                mark.whole = Some(self.cells.clone());
            } else {
                let stood = |bin: &i64| (*bin, self.cells.mass(*bin));
                mark.under.extend(bins.iter().map(stood));
            }
        }
        if vanishes {
            self.gather();
        }
        times(churn, left)
    }

    /// Multiplies a vanishing factor into the cells.
    #[cold]
    fn gather(&mut self) {
        let vanishing = |scale: f64| if scale < VANISHING { scale } else { 1.0 };
        let stays = |scale: f64| if scale < VANISHING { 1.0 } else { scale };
        self.cells.multiply(self.scale.map(vanishing));
        self.scale = self.scale.map(stays);
    }

    /// Opens `mass` in `bins`, the share `each` in each.
    #[inline]
    fn open(&mut self, bins: &[i64], mass: Lanes, each: f64) {
        let [one, other] = mass;
        if one > 0.0 || other > 0.0 {
            self.mass = plus(self.mass, mass);
            let [one, other] = times(mass, [each; 2]);
            let [by_one, by_other] = self.scale;
            self.cells.add(bins, [one / by_one, other / by_other]);
        }
    }
}

/// A number, or nothing where it is below that.
#[inline]
fn above(number: f64) -> f64 {
    if number > 0.0 { number } else { 0.0 }
}
