//! Masses on the fine grid: a run of bins that empties from either end and grows towards where something is opened.

/// A number of each of two clocks: what is done to one is done to the other, and a processor does both at once.
pub(crate) type Lanes = [f64; 2];

/// Masses by bin, dense; everything outside `first..end` is zero.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cells {
    /// The bin of the first value.
    origin: i64,
    values: Vec<Lanes>,
    /// The first bin that may hold something.
    pub(crate) first: i64,
    /// The bin behind the last that may.
    pub(crate) end: i64,
}

impl PartialEq for Cells {
    /// Equal masses in equal bins, however much room there is around them.
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

/// A distance between bins as a number of places.
pub(crate) fn places(distance: i64) -> usize {
    usize::try_from(distance).unwrap_or(0)
}

impl Cells {
    pub(crate) fn is_empty(&self) -> bool {
        self.first >= self.end
    }

    pub(crate) fn occupied(&self) -> &[Lanes] {
        self.within(self.first, self.end)
    }

    /// The values from bin `first` until before `end`; none where `end` is no later.
    pub(crate) fn within(&self, first: i64, end: i64) -> &[Lanes] {
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

    /// Empties the bins from `bin` up, from the highest on; `sum` and theirs, and each for those who keep them.
    #[inline]
    pub(crate) fn take_from(
        &mut self,
        bin: i64,
        mut sum: Lanes,
        kept: Option<&mut Vec<Lanes>>,
    ) -> Lanes {
        if bin >= self.end {
            return sum;
        }
        let start = bin.max(self.first);
        let taken = self.occupied_mut(start, self.end);
        if let Some(kept) = kept {
            kept.extend(taken.iter().rev());
        }
        for mass in taken.iter_mut().rev() {
            sum = plus(sum, std::mem::take(mass));
        }
        self.end = start;
        sum
    }

    /// Empties the bins up to and with `bin`, from the lowest on; as [`Cells::take_from`].
    #[inline]
    pub(crate) fn take_through(
        &mut self,
        bin: i64,
        mut sum: Lanes,
        kept: Option<&mut Vec<Lanes>>,
    ) -> Lanes {
        if bin < self.first {
            return sum;
        }
        let end = self.end.min(bin + 1);
        let taken = self.occupied_mut(self.first, end);
        if let Some(kept) = kept {
            kept.extend(taken.iter());
        }
        for mass in taken {
            sum = plus(sum, std::mem::take(mass));
        }
        self.first = end;
        sum
    }

    /// The mass in a bin.
    pub(crate) fn mass(&self, bin: i64) -> Lanes {
        let place = usize::try_from(bin - self.origin).ok();
        let mass = place.and_then(|place| self.values.get(place));
        mass.copied().unwrap_or_default()
    }

    /// Sets the mass in a bin that there is room for.
    pub(crate) fn put(&mut self, bin: i64, mass: Lanes) {
        let place = usize::try_from(bin - self.origin).ok();
        if let Some(cell) = place.and_then(|place| self.values.get_mut(place)) {
            *cell = mass;
        }
    }

    /// Adds `mass` to each of `bins`, which do not fall.
    #[inline]
    pub(crate) fn add(&mut self, bins: &[i64], mass: Lanes) {
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
            // Not below the first, for which there is room.
            let place = usize::try_from(bin.wrapping_sub(origin).cast_unsigned());
            if let Some(cell) = place.ok().and_then(|place| self.values.get_mut(place)) {
                *cell = plus(*cell, mass);
            }
        }
    }

    /// Grows towards `bin` by at least half of what there is, so that growing is rare; at first to both sides of it.
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

    pub(crate) fn multiply(&mut self, factors: Lanes) {
        for value in &mut self.values {
            *value = times(*value, factors);
        }
    }
}

/// The sums of two and two numbers.
#[inline]
pub(crate) fn plus([a, b]: Lanes, [c, d]: Lanes) -> Lanes {
    [a + c, b + d]
}

/// The products of two and two numbers.
#[inline]
pub(crate) fn times([a, b]: Lanes, [c, d]: Lanes) -> Lanes {
    [a * c, b * d]
}
