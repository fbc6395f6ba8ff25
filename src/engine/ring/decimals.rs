//! Columns of decimals, nine bytes each.

use std::collections::{HashMap, VecDeque};

use rust_decimal::Decimal;

use super::part::{Spot, each, pick};

/// Digits behind the point of the whole numbers that sums are made of.
const SCALE: u32 = 18;
/// Marks a decimal whose digits need more than 64 bits: in their place stands the number under which it lies aside.
const ASIDE: u8 = u8::MAX;

/// `value` in units of 10⁻¹⁸, where that is a whole number that can be held.
pub(super) fn scaled(value: Decimal) -> Option<i128> {
    let (mantissa, scale) = (value.mantissa(), value.scale());
    // Two numbers of 64 bits have a product of 128.
    let small = i64::try_from(mantissa).ok().zip(UNITS.get(scale as usize));
    small.map_or_else(
        || units(mantissa, scale),
        |(mantissa, unit)| Some(i128::from(mantissa) * i128::from(*unit)),
    )
}

/// Units of 10⁻¹⁸ of a last digit that stands so many places behind the point.
#[expect(clippy::indexing_slicing, reason = "checked as it is compiled")]
const UNITS: [i64; SCALE as usize + 1] = {
    let mut units = [1; SCALE as usize + 1];
    let mut scale = SCALE as usize;
    while scale > 0 {
        units[scale - 1] = units[scale] * 10;
        scale -= 1;
    }
    units
};

fn units(mantissa: i128, scale: u32) -> Option<i128> {
    if let Some(missing) = SCALE.checked_sub(scale) {
        return mantissa.checked_mul(10_i128.pow(missing));
    }
    let unit = 10_i128.checked_pow(scale - SCALE)?;
    (mantissa % unit == 0).then(|| mantissa / unit)
}

/// A decimal of a column: its digits, and how many of them stand behind the point.
#[derive(Clone, Copy, Debug)]
pub(super) struct Kept {
    mantissa: i64,
    scale: u8,
}

/// A column of decimals.
#[derive(Debug, Default)]
pub(super) struct Decimals {
    mantissas: VecDeque<i64>,
    scales: VecDeque<u8>,
    aside: HashMap<i64, Decimal>,
    next: i64,
}

impl Decimals {
    /// Takes a decimal in, to be put at the end of the column.
    pub(super) fn keep(&mut self, value: Decimal) -> Kept {
        let short = i64::try_from(value.mantissa())
            .ok()
            .zip(u8::try_from(value.scale()).ok());
        if let Some((mantissa, scale)) = short {
            return Kept { mantissa, scale };
        }
        let number = self.next;
        self.next += 1;
        self.aside.insert(number, value);
        Kept {
            mantissa: number,
            scale: ASIDE,
        }
    }

    pub(super) fn push_back(&mut self, kept: Kept) {
        self.mantissas.push_back(kept.mantissa);
        self.scales.push_back(kept.scale);
    }

    /// Lets go of the first decimal, and gives its units.
    pub(super) fn pop_front(&mut self) -> Option<i128> {
        let kept = Kept {
            mantissa: self.mantissas.pop_front()?,
            scale: self.scales.pop_front()?,
        };
        Some(self.forget(kept))
    }

    /// Lets go of a decimal that is in no column any more, and gives its units.
    pub(super) fn forget(&mut self, kept: Kept) -> i128 {
        let units = self.units(kept);
        if kept.scale == ASIDE {
            self.aside.remove(&kept.mantissa);
        }
        units
    }

    /// Takes the decimals from `place` on out of the column, to be put at its end again.
    pub(super) fn drain(&mut self, place: usize) -> impl Iterator<Item = Kept> + '_ {
        self.mantissas
            .drain(place..)
            .zip(self.scales.drain(place..))
            .map(|(mantissa, scale)| Kept { mantissa, scale })
    }

    /// A decimal that was [`scaled`] before it was taken in, in units of 10⁻¹⁸.
    pub(super) fn units(&self, kept: Kept) -> i128 {
        // Two numbers of 64 bits have a product of 128.
        if let Some(unit) = UNITS.get(usize::from(kept.scale)) {
            return i128::from(kept.mantissa) * i128::from(*unit);
        }
        let units = if kept.scale == ASIDE {
            scaled(self.decimal(kept))
        } else {
            units(i128::from(kept.mantissa), u32::from(kept.scale))
        };
        units.unwrap_or_default()
    }

    /// As [`Decimals::units`], of the decimal at `place`.
    pub(super) fn units_at(&self, place: usize) -> i128 {
        self.kept(place).map_or(0, |kept| self.units(kept))
    }

    /// The decimal at `place`, as it was taken in.
    pub(super) fn at(&self, place: usize) -> Decimal {
        self.kept(place)
            .map_or(Decimal::ZERO, |kept| self.decimal(kept))
    }

    /// The decimals of some columns at some places, as a column.
    pub(super) fn picked(columns: &[&Self], spots: &[Spot]) -> Self {
        let mut picked = Self {
            mantissas: pick(&each(columns, |column| &column.mantissas), spots),
            scales: pick(&each(columns, |column| &column.scales), spots),
            ..Self::default()
        };
        // What lies aside gets a number of its own here.
        if columns.iter().any(|column| !column.aside.is_empty()) {
            for (place, spot) in spots.iter().enumerate() {
                let (Some(mantissa), Some(&ASIDE)) =
                    (picked.mantissas.get_mut(place), picked.scales.get(place))
                else {
                    continue;
                };
                let value = columns
                    .get(spot.part as usize)
                    .and_then(|column| column.aside.get(mantissa));
                picked
                    .aside
                    .insert(picked.next, value.copied().unwrap_or_default());
                *mantissa = picked.next;
                picked.next += 1;
            }
        }
        picked
    }

    fn decimal(&self, kept: Kept) -> Decimal {
        if kept.scale == ASIDE {
            self.aside.get(&kept.mantissa).copied().unwrap_or_default()
        } else {
            Decimal::new(kept.mantissa, u32::from(kept.scale))
        }
    }

    fn kept(&self, place: usize) -> Option<Kept> {
        Some(Kept {
            mantissa: *self.mantissas.get(place)?,
            scale: *self.scales.get(place)?,
        })
    }
}
