//! Columns of exact decimals with nine bytes per value.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;

use rust_decimal::Decimal;

use crate::engine::rolling::gather::{PartPlace, each, pick};
use crate::model::{ExactSum, POWERS_OF_TEN_F64, ShortDecimal};

/// Scale that marks a long decimal. The digits are then its key in the overflow table.
const OVERFLOW: u8 = u8::MAX;

/// A decimal of a column, or its key in the overflow table.
#[derive(Clone, Copy, Debug)]
pub struct QueuedDecimal(ShortDecimal);

/// A column of exact decimals.
///
/// Values with more than 64 bits of digits are in an overflow table.
#[derive(Debug, Default)]
pub struct DecimalQueue {
    digits: VecDeque<i64>,
    scales: VecDeque<u8>,
    overflow: HashMap<i64, Decimal>,
    next: i64,
}

impl DecimalQueue {
    /// Converts a decimal that is appended later.
    ///
    /// A decimal with too many digits is stored in the overflow table.
    pub fn keep(&mut self, value: Decimal) -> QueuedDecimal {
        if let Some(fixed) = ShortDecimal::of(value) {
            return QueuedDecimal(fixed);
        }
        let digits = self.next;
        self.next += 1;
        self.overflow.insert(digits, value);
        QueuedDecimal(ShortDecimal {
            digits,
            scale: OVERFLOW,
        })
    }

    pub fn push_back(&mut self, QueuedDecimal(slot): QueuedDecimal) {
        self.digits.push_back(slot.digits);
        self.scales.push_back(slot.scale);
    }

    /// Removes the first decimal and returns its amount.
    pub fn pop_front(&mut self) -> Option<ExactSum> {
        let slot = self.slot(0)?;
        self.digits.pop_front();
        self.scales.pop_front();
        Some(self.forget(slot))
    }

    /// Discards a converted decimal that was not appended, and returns its amount.
    pub fn forget(&mut self, slot: QueuedDecimal) -> ExactSum {
        let amount = self.amount(slot);
        if slot.0.scale == OVERFLOW {
            self.overflow.remove(&slot.0.digits);
        }
        amount
    }

    /// Removes and yields the decimals with index `place` and above. The caller must append them again.
    pub fn drain(&mut self, place: usize) -> impl Iterator<Item = QueuedDecimal> + '_ {
        self.digits
            .drain(place..)
            .zip(self.scales.drain(place..))
            .map(|(digits, scale)| QueuedDecimal(ShortDecimal { digits, scale }))
    }

    /// A decimal as an exact sum.
    #[inline]
    pub fn amount(&self, slot: QueuedDecimal) -> ExactSum {
        if slot.0.scale == OVERFLOW {
            self.decimal(slot).into()
        } else {
            slot.0.into()
        }
    }

    /// The decimal at index `place` as an exact sum; 0 if there is none.
    #[inline]
    pub fn amount_at(&self, place: usize) -> ExactSum {
        self.slot(place)
            .map_or_else(ExactSum::default, |slot| self.amount(slot))
    }

    /// Values at `places` with about 15 digits; infinity for overflow values.
    pub fn about(&self, places: &Range<usize>) -> impl Iterator<Item = f64> + use<'_> {
        let digits = self.digits.iter().skip(places.start);
        let scales = self.scales.iter().skip(places.start);
        digits
            .zip(scales)
            .take(places.len())
            .map(|(digits, scale)| {
                #[expect(
                    clippy::cast_precision_loss,
                    reason = "only fifteen digits are required"
                )]
                let digits = *digits as f64;
                POWERS_OF_TEN_F64
                    .get(usize::from(*scale))
                    .map_or(f64::INFINITY, |ten| digits / ten)
            })
    }

    /// The decimal at `place`, with its original scale.
    pub fn at(&self, place: usize) -> Decimal {
        self.slot(place)
            .map_or(Decimal::ZERO, |slot| self.decimal(slot))
    }

    /// Builds a column from the values at `spots` of several columns.
    pub fn picked(columns: &[&Self], spots: &[PartPlace]) -> Self {
        let mut picked = Self {
            digits: pick(&each(columns, |column| &column.digits), spots),
            scales: pick(&each(columns, |column| &column.scales), spots),
            ..Self::default()
        };
        // Overflow values get new keys.
        if columns.iter().any(|column| !column.overflow.is_empty()) {
            for (place, spot) in spots.iter().enumerate() {
                let (Some(digits), Some(&OVERFLOW)) =
                    (picked.digits.get_mut(place), picked.scales.get(place))
                else {
                    continue;
                };
                let value = columns
                    .get(spot.part as usize)
                    .and_then(|column| column.overflow.get(digits));
                picked
                    .overflow
                    .insert(picked.next, value.copied().unwrap_or_default());
                *digits = picked.next;
                picked.next += 1;
            }
        }
        picked
    }

    fn decimal(&self, QueuedDecimal(slot): QueuedDecimal) -> Decimal {
        if slot.scale == OVERFLOW {
            self.overflow.get(&slot.digits).copied().unwrap_or_default()
        } else {
            slot.decimal()
        }
    }

    fn slot(&self, place: usize) -> Option<QueuedDecimal> {
        Some(QueuedDecimal(ShortDecimal {
            digits: *self.digits.get(place)?,
            scale: *self.scales.get(place)?,
        }))
    }
}
