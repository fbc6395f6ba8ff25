//! Mass (size of positions) by price bin.
//!
//! The bins with mass form a dense range. It shrinks from its ends when the price crosses bins, and grows with new
//! positions.

/// One value for each of two turnover clocks, computed together with SIMD instructions.
pub type Lanes = [f64; 2];

/// Mass by bin; all bins outside `first..end` are zero.
#[derive(Clone, Debug, Default)]
pub struct MassCells {
    /// Bin of the first value.
    origin: i64,
    values: Vec<Lanes>,
    /// The first bin that may contain mass.
    pub first: i64,
    /// The bin after the last one that may contain mass.
    pub end: i64,
}

impl PartialEq for MassCells {
    /// Compares masses only, not the allocated range.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// A distance in bins as an index; 0 if negative.
pub fn places(distance: i64) -> usize {
    usize::try_from(distance).unwrap_or(0)
}

impl MassCells {
    /// Cells with these values, from the bin `origin` on. Empty ends are cut off.
    pub fn of(origin: i64, values: Vec<Lanes>) -> Self {
        let is_full = |mass: &Lanes| mass.iter().any(|mass| *mass != 0.0);
        let first = values.iter().position(is_full).unwrap_or(0);
        let end = values.iter().rposition(is_full).map_or(0, |last| last + 1);
        let at = |place: usize| origin.saturating_add_unsigned(place as u64);
        let (first, end) = (at(first), at(end));
        Self {
            origin,
            values,
            first,
            end,
        }
    }

    pub fn is_empty(&self) -> bool {
        self.first >= self.end
    }

    pub fn occupied(&self) -> &[Lanes] {
        self.within(self.first, self.end)
    }

    /// Values of the bins `first..end`; empty if `end` is not after `first`.
    pub fn within(&self, first: i64, end: i64) -> &[Lanes] {
        let range = places(first - self.origin)..places(end - self.origin);
        self.values.get(range).unwrap_or_default()
    }

    fn occupied_mut(&mut self, first: i64, end: i64) -> &mut [Lanes] {
        let range = places(first - self.origin)..places(end - self.origin);
        self.values.get_mut(range).unwrap_or_default()
    }

    fn iter(&self) -> impl Iterator<Item = (i64, Lanes)> + '_ {
        (self.first..)
            .zip(self.occupied())
            .map(|(bin, &mass)| (bin, mass))
            .filter(|(_, mass)| mass.iter().any(|mass| *mass != 0.0))
    }

    /// Empties `bin` and all bins above it, highest first.
    ///
    /// Returns `sum` plus the removed mass, and appends each removed value to the undo log.
    #[inline]
    pub fn take_from(&mut self, bin: i64, mut sum: Lanes, undo: Option<&mut Vec<Lanes>>) -> Lanes {
        if bin >= self.end {
            return sum;
        }
        let start = bin.max(self.first);
        let taken = self.occupied_mut(start, self.end);
        if let Some(undo) = undo {
            undo.extend(taken.iter().rev());
        }
        for mass in taken.iter_mut().rev() {
            sum = plus(sum, std::mem::take(mass));
        }
        self.end = start;
        sum
    }

    /// Empties `bin` and all bins below it, lowest first.
    ///
    /// Returns the same sum as [`MassCells::take_from`], and appends to the undo log in the same way.
    #[inline]
    pub fn take_through(
        &mut self,
        bin: i64,
        mut sum: Lanes,
        undo: Option<&mut Vec<Lanes>>,
    ) -> Lanes {
        if bin < self.first {
            return sum;
        }
        let end = self.end.min(bin + 1);
        let taken = self.occupied_mut(self.first, end);
        if let Some(undo) = undo {
            undo.extend(taken.iter());
        }
        for mass in taken {
            sum = plus(sum, std::mem::take(mass));
        }
        self.first = end;
        sum
    }

    /// Mass in a bin.
    pub fn mass(&self, bin: i64) -> Lanes {
        let place = usize::try_from(bin - self.origin).ok();
        let mass = place.and_then(|place| self.values.get(place));
        mass.copied().unwrap_or_default()
    }

    /// Sets the mass of a bin.
    ///
    /// Does nothing if the bin is outside the allocated range.
    pub fn put(&mut self, bin: i64, mass: Lanes) {
        let place = usize::try_from(bin - self.origin).ok();
        if let Some(cell) = place.and_then(|place| self.values.get_mut(place)) {
            *cell = mass;
        }
    }

    /// Adds `mass` to each of the ascending `bins`.
    #[inline]
    pub fn add(&mut self, bins: &[i64], mass: Lanes) {
        let (Some(&first), Some(&last)) = (bins.first(), bins.last()) else {
            return;
        };
        if first < self.origin || places(last - self.origin) >= self.values.len() {
            self.make_room(first);
            self.make_room(last);
        }
        if self.is_empty() {
            (self.first, self.end) = (first, last + 1);
        } else {
            self.first = self.first.min(first);
            self.end = self.end.max(last + 1);
        }
        let origin = self.origin;
        for bin in bins {
            // The place is not negative, because the allocated range starts at or below the first bin.
            let place = usize::try_from(bin.wrapping_sub(origin).cast_unsigned());
            if let Some(cell) = place.ok().and_then(|place| self.values.get_mut(place)) {
                *cell = plus(*cell, mass);
            }
        }
    }

    /// Extends the allocated range to `bin`.
    ///
    /// An extension adds at least half of the length, so that extensions are rare. The first allocation extends to both
    /// sides of `bin`.
    #[cold]
    fn make_room(&mut self, bin: i64) {
        const LEAST: i64 = 256;
        if self.values.is_empty() {
            self.origin = bin - LEAST;
            self.values.resize(places(2 * LEAST), [0.0; 2]);
        }
        let spare = places(LEAST).max(self.values.len() / 2);
        if bin < self.origin {
            let more = places(self.origin - bin) + spare;
            self.values.splice(..0, std::iter::repeat_n([0.0; 2], more));
            self.origin -= i64::try_from(more).unwrap_or(0);
        } else if places(bin - self.origin) >= self.values.len() {
            self.values
                .resize(places(bin - self.origin) + 1 + spare, [0.0; 2]);
        }
    }

    /// Releases memory outside the occupied range.
    pub fn compact(&mut self) {
        self.values = self.occupied().to_vec();
        self.origin = self.first;
    }

    /// Appends the occupied bins as words.
    pub fn write(&self, words: &mut Vec<u64>) {
        words.extend([self.first.cast_unsigned(), self.end.cast_unsigned()]);
        let masses = self.occupied().iter().flatten();
        words.extend(masses.map(|mass| mass.to_bits()));
    }

    /// Reads what [`MassCells::write`] appended; `None` if there is too little.
    pub fn read(words: &mut impl Iterator<Item = u64>) -> Option<Self> {
        let first = words.next()?.cast_signed();
        let end = words.next()?.cast_signed();
        let mut values = Vec::new();
        for _ in first..end {
            values.push([f64::from_bits(words.next()?), f64::from_bits(words.next()?)]);
        }
        Some(Self {
            origin: first,
            values,
            first,
            end,
        })
    }

    /// Approximate memory in bytes.
    pub fn bytes(&self) -> usize {
        self.values.capacity() * std::mem::size_of::<Lanes>()
    }

    pub fn multiply(&mut self, factors: Lanes) {
        for value in &mut self.values {
            *value = times(*value, factors);
        }
    }
}

/// Sums lane by lane.
#[inline]
pub fn plus([a, b]: Lanes, [c, d]: Lanes) -> Lanes {
    [a + c, b + d]
}

/// Products lane by lane.
#[inline]
pub fn times([a, b]: Lanes, [c, d]: Lanes) -> Lanes {
    [a * c, b * d]
}
