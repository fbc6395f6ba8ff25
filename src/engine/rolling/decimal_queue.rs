//! Columns of decimals, nine bytes each.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use rust_decimal::Decimal;

use crate::engine::rolling::gather::{Spot, each, pick};
use crate::model::{ExactSum, POWERS_OF_TEN_F64, ShortDecimal};

/// Marks a decimal whose digits need more than 64 bits: in their place stands the number under which it lies aside.
const ASIDE: u8 = u8::MAX;

/// A decimal of a column, or where it lies aside.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kept(ShortDecimal);

/// A column of decimals.
#[derive(Debug, Default)]
pub(crate) struct Decimals {
    digits: VecDeque<i64>,
    scales: VecDeque<u8>,
    aside: HashMap<i64, Decimal>,
    next: i64,
}

impl Decimals {
    /// Takes a decimal in, to be put at the end of the column.
    pub(crate) fn keep(&mut self, value: Decimal) -> Kept {
        if let Some(fixed) = ShortDecimal::of(value) {
            return Kept(fixed);
        }
        let digits = self.next;
        self.next += 1;
        self.aside.insert(digits, value);
        Kept(ShortDecimal {
            digits,
            scale: ASIDE,
        })
    }

    pub(crate) fn push_back(&mut self, Kept(kept): Kept) {
        self.digits.push_back(kept.digits);
        self.scales.push_back(kept.scale);
    }

    /// Lets go of the first decimal, and gives its amount.
    pub(crate) fn pop_front(&mut self) -> Option<ExactSum> {
        let kept = self.kept(0)?;
        self.digits.pop_front();
        self.scales.pop_front();
        Some(self.forget(kept))
    }

    /// Lets go of a decimal that is in no column any more, and gives its amount.
    pub(crate) fn forget(&mut self, kept: Kept) -> ExactSum {
        let amount = self.amount(kept);
        if kept.0.scale == ASIDE {
            self.aside.remove(&kept.0.digits);
        }
        amount
    }

    /// Takes the decimals from `place` on out of the column, to be put at its end again.
    pub(crate) fn drain(&mut self, place: usize) -> impl Iterator<Item = Kept> + '_ {
        self.digits
            .drain(place..)
            .zip(self.scales.drain(place..))
            .map(|(digits, scale)| Kept(ShortDecimal { digits, scale }))
    }

    /// A decimal as it is summed.
    #[inline]
    pub(crate) fn amount(&self, kept: Kept) -> ExactSum {
        if kept.0.scale == ASIDE {
            self.decimal(kept).into()
        } else {
            kept.0.into()
        }
    }

    /// As [`Decimals::amount`], of the decimal at `place`.
    #[inline]
    pub(crate) fn amount_at(&self, place: usize) -> ExactSum {
        self.kept(place)
            .map_or_else(ExactSum::default, |kept| self.amount(kept))
    }

    /// What the decimals at `places` are worth, to fifteen digits; infinity stands for what is not told so easily.
    pub(crate) fn about(&self, places: &Range<usize>) -> impl Iterator<Item = f64> + use<'_> {
        let digits = self.digits.iter().skip(places.start);
        let scales = self.scales.iter().skip(places.start);
        digits
            .zip(scales)
            .take(places.len())
            .map(|(digits, scale)| {
                #[expect(clippy::cast_precision_loss, reason = "fifteen digits are asked for")]
                let digits = *digits as f64;
                POWERS_OF_TEN_F64
                    .get(usize::from(*scale))
                    .map_or(f64::INFINITY, |ten| digits / ten)
            })
    }

    /// The decimal at `place`, as it was taken in.
    pub(crate) fn at(&self, place: usize) -> Decimal {
        self.kept(place)
            .map_or(Decimal::ZERO, |kept| self.decimal(kept))
    }

    /// The decimals of some columns at some places, as a column.
    pub(crate) fn picked(columns: &[&Self], spots: &[Spot]) -> Self {
        let mut picked = Self {
            digits: pick(&each(columns, |column| &column.digits), spots),
            scales: pick(&each(columns, |column| &column.scales), spots),
            ..Self::default()
        };
        // What lies aside gets a number of its own here.
        if columns.iter().any(|column| !column.aside.is_empty()) {
            for (place, spot) in spots.iter().enumerate() {
                let (Some(digits), Some(&ASIDE)) =
                    (picked.digits.get_mut(place), picked.scales.get(place))
                else {
                    continue;
                };
                let value = columns
                    .get(spot.part as usize)
                    .and_then(|column| column.aside.get(digits));
                picked
                    .aside
                    .insert(picked.next, value.copied().unwrap_or_default());
                *digits = picked.next;
                picked.next += 1;
            }
        }
        picked
    }

    fn decimal(&self, Kept(kept): Kept) -> Decimal {
        if kept.scale == ASIDE {
            self.aside.get(&kept.digits).copied().unwrap_or_default()
        } else {
            kept.decimal()
        }
    }

    fn kept(&self, place: usize) -> Option<Kept> {
        Some(Kept(ShortDecimal {
            digits: *self.digits.get(place)?,
            scale: *self.scales.get(place)?,
        }))
    }
}
