//! A book of the ledger: all positions of one side with one leverage.
//!
//! A book has one part per turnover clock.
//!
//! A clock is a rate at which positions are closed and opened again. Mass is the size of positions in base units. All
//! parts open positions in the same bins, so the parts of two clocks are stored together as SIMD lanes.

use crate::engine::ledger::mass_cells::{Lanes, MassCells, plus, times};
use crate::model::Side;

/// Minimum scale of a part. A smaller scale is multiplied into the cells, to avoid division by tiny numbers.
const VANISHING: f64 = 1e-150;

/// Undo log of a clock pair for an unclosed bar.
#[derive(Clone, Debug, Default)]
pub struct UndoLog {
    /// Crossed cells in order of crossing, and their sum.
    crossed: Vec<Lanes>,
    sum: Lanes,
    /// Range of occupied cells before the bar, and (in `behind`) after the crossed cells were emptied.
    before: (i64, i64),
    behind: (i64, i64),
    scale: Lanes,
    unlocated: Lanes,
    mass: Lanes,
    /// Bins in which the bar opened positions, with their values before that.
    under: Vec<(i64, Lanes)>,
    /// Copy of all cells, if they were rescaled.
    whole: Option<MassCells>,
}

/// The changes that a bar makes to all books of one side.
#[derive(Clone, Copy, Debug)]
pub struct BarChange<'a> {
    /// Open interest before and after the bar.
    pub before: f64,
    pub after: f64,
    /// Share of the crossed mass that is liquidated.
    pub phi: f64,
    /// Per clock, the share of positions that is closed and reopened, and (in `shares`) the share of new positions.
    pub churns: &'a [Lanes],
    pub shares: &'a [Lanes],
    /// Share of the new positions that gets a liquidation price; the rest is unlocated.
    pub located: f64,
    /// Share of these that each entry bin receives.
    pub each: f64,
}

/// All positions of one side with one leverage.
#[derive(Clone, Debug, PartialEq)]
pub struct TierBook {
    pub weight: f64,
    /// The parts of the clocks, in pairs.
    pub pairs: Vec<ClockPair>,
    /// Mass crossed in the last step.
    pub flux: f64,
}

/// Positions of two clocks.
///
/// With an odd number of clocks, the second lane of the last pair is 0.
#[derive(Clone, Debug, PartialEq)]
pub struct ClockPair {
    /// Mass by liquidation price, before multiplication with `scale`.
    pub cells: MassCells,
    pub scale: Lanes,
    /// Mass without a known liquidation price.
    unlocated: Lanes,
    /// Total mass, stored so that no step sums the cells.
    mass: Lanes,
    /// Mass crossed in the last step.
    flux: Lanes,
}

impl TierBook {
    /// Creates a book without located mass. `masses` are the unlocated masses per clock pair.
    pub fn new(weight: f64, masses: impl Iterator<Item = Lanes>) -> Self {
        Self {
            weight,
            pairs: masses.map(ClockPair::new).collect(),
            flux: 0.0,
        }
    }

    pub fn unlocated(&self) -> f64 {
        let pairs = self.pairs.iter();
        pairs.flat_map(|pair| pair.unlocated).sum()
    }

    pub fn located(&self) -> f64 {
        self.pairs.iter().flat_map(ClockPair::located).sum()
    }

    /// Empties the cells that a bar from `low` to `high` crosses.
    ///
    /// Adds their values to the undo logs.
    #[inline]
    pub fn sweep<'a>(
        &mut self,
        side: Side,
        (low, high): (i64, i64),
        marks: &mut impl Iterator<Item = &'a mut UndoLog>,
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

    /// Closes positions, and opens new ones in `bins`, to match the open interest.
    #[inline]
    pub fn settle<'a>(
        &mut self,
        turn: BarChange<'_>,
        bins: &[i64],
        marks: &mut impl Iterator<Item = &'a mut UndoLog>,
    ) {
        // Rounding can make the liquidated mass exceed the total.
        let left = above(turn.before - turn.phi * self.flux);
        // The share is computed as a ratio, to avoid the difference of two large numbers.
        let stays = if left > 0.0 {
            (if turn.after < left { turn.after } else { left }) / left
        } else {
            0.0
        };
        let mut opened = above(turn.after - left);
        for (pair, churn) in self.pairs.iter_mut().zip(turn.churns) {
            let [one, other] = pair.close(turn.phi, stays, *churn, marks.next(), bins);
            opened += one;
            opened += other;
        }
        for (pair, share) in self.pairs.iter_mut().zip(turn.shares) {
            pair.open(bins, times([opened; 2], *share), turn);
        }
    }

    /// Makes the share `lost` of the located mass of each clock unlocated.
    pub fn lapse(&mut self, lost: &[Lanes]) {
        for (pair, lost) in self.pairs.iter_mut().zip(lost) {
            pair.unlocated = plus(pair.unlocated, times(pair.located(), *lost));
            pair.scale = times(pair.scale, lost.map(|lost| 1.0 - lost));
        }
    }

    /// Multiplies all mass by `factor`.
    pub fn regroup(&mut self, factor: f64) {
        for pair in &mut self.pairs {
            for value in [&mut pair.scale, &mut pair.unlocated, &mut pair.mass] {
                *value = times(*value, [factor; 2]);
            }
        }
    }
}

impl TierBook {
    /// Appends the positions as words.
    pub fn write(&self, words: &mut Vec<u64>) {
        words.push(self.flux.to_bits());
        for pair in &self.pairs {
            let numbers = [pair.scale, pair.unlocated, pair.mass, pair.flux];
            words.extend(numbers.iter().flatten().map(|number| number.to_bits()));
            pair.cells.write(words);
        }
    }

    /// Reads what [`TierBook::write`] appended to a book of as many clocks; `None` if there is too little.
    pub fn read(&mut self, words: &mut impl Iterator<Item = u64>) -> Option<()> {
        self.flux = f64::from_bits(words.next()?);
        for pair in &mut self.pairs {
            for lanes in [
                &mut pair.scale,
                &mut pair.unlocated,
                &mut pair.mass,
                &mut pair.flux,
            ] {
                for lane in lanes {
                    *lane = f64::from_bits(words.next()?);
                }
            }
            pair.cells = MassCells::read(words)?;
        }
        Some(())
    }
}

impl ClockPair {
    fn new(mass: Lanes) -> Self {
        Self {
            cells: MassCells::default(),
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

    /// Approximate memory in bytes.
    pub fn bytes(&self) -> usize {
        self.cells.bytes() + std::mem::size_of::<Self>()
    }

    pub fn mark(&self) -> UndoLog {
        UndoLog {
            before: (self.cells.first, self.cells.end),
            behind: (self.cells.first, self.cells.end),
            scale: self.scale,
            unlocated: self.unlocated,
            mass: self.mass,
            ..UndoLog::default()
        }
    }

    /// Reverts closings and openings; crossed cells stay empty.
    pub fn unsettle(&mut self, mark: &mut UndoLog) {
        (self.scale, self.unlocated, self.mass) = (mark.scale, mark.unlocated, mark.mass);
        if let Some(whole) = mark.whole.take() {
            self.cells = whole;
        }
        for (bin, mass) in mark.under.drain(..) {
            self.cells.put(bin, mass);
        }
        (self.cells.first, self.cells.end) = mark.behind;
    }

    /// Refills the crossed cells.
    pub fn uncross(&mut self, side: Side, mark: &mut UndoLog) {
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

    /// Removes liquidated mass and closes positions.
    ///
    /// Of the mass that is not liquidated, the share `stays` stays open. Of that, the share `churn` is closed to be
    /// opened again.
    ///
    /// Returns the mass to open again. Records the present values of `bins` in the undo log.
    #[inline]
    fn close(
        &mut self,
        phi: f64,
        stays: f64,
        churn: Lanes,
        mark: Option<&mut UndoLog>,
        bins: &[i64],
    ) -> Lanes {
        let liquidated = times([phi; 2], self.flux);
        let remains = churn.map(|churn| 1.0 - churn);
        let left = plus(self.mass, liquidated.map(|mass| -mass)).map(above);
        let left = times(left, [stays; 2]);
        let remaining = times(remains, [stays; 2]);
        self.mass = times(remains, left);
        let missed = plus(self.unlocated, self.flux);
        self.unlocated = times(plus(missed, liquidated.map(|mass| -mass)), remaining);
        self.scale = times(self.scale, remaining);
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

    /// Multiplies a tiny scale into the cells and resets it to 1.
    #[cold]
    fn gather(&mut self) {
        let vanishing = |scale: f64| if scale < VANISHING { scale } else { 1.0 };
        let stays = |scale: f64| if scale < VANISHING { 1.0 } else { scale };
        self.cells.multiply(self.scale.map(vanishing));
        self.scale = self.scale.map(stays);
    }

    /// Opens positions of `mass`: the located share of it in `bins`, in equal parts.
    #[inline]
    fn open(&mut self, bins: &[i64], mass: Lanes, turn: BarChange<'_>) {
        let [one, other] = mass;
        if one > 0.0 || other > 0.0 {
            self.mass = plus(self.mass, mass);
            let unlocated = 1.0 - turn.located;
            self.unlocated = plus(self.unlocated, times(mass, [unlocated; 2]));
            if turn.located <= 0.0 {
                return;
            }
            let [one, other] = times(mass, [turn.located * turn.each; 2]);
            let [by_one, by_other] = self.scale;
            self.cells.add(bins, [one / by_one, other / by_other]);
        }
    }
}

/// The number, or 0 if negative.
#[inline]
fn above(number: f64) -> f64 {
    if number > 0.0 { number } else { 0.0 }
}
