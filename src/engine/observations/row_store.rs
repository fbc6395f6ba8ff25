//! Rows of a long series in little memory.
//!
//! A block of rows has one column per number. Most columns are decimals with few digits, which are close to each other.
//! Such a column is stored as small distances from its least value. Each number is stored to the last bit: a column
//! with other numbers is stored as it is.

use std::ops::Range;
use std::vec;

use crate::model::{Bar, Millis};

/// Number of rows in a block.
const BLOCK: usize = 512;

/// Number of integers and of doubles in a row.
const INTEGERS: usize = 2;
const DOUBLES: usize = 5;

/// Maximum number of decimal places that are tried.
const PLACES: i32 = 9;

/// A double of this size has no digits after the point. Adding and subtracting it rounds a smaller double to an integer.
const ROUNDER: f64 = 6_755_399_441_055_744.0;
/// Maximum integer that is stored for a double.
const LARGEST: f64 = 2_251_799_813_685_248.0;

/// The numbers of a row. Columns that are zero in all rows take no memory.
pub type RowNumbers = ([i64; INTEGERS], [f64; DOUBLES]);

/// A row that can be stored as numbers.
pub trait StoredRow: Copy {
    /// The numbers of the row. The first integer is its time.
    fn numbers(&self) -> RowNumbers;

    /// The row of these numbers.
    fn of_numbers(numbers: RowNumbers) -> Self;
}

impl StoredRow for Bar {
    fn numbers(&self) -> RowNumbers {
        let prices = [self.open, self.high, self.low, self.close, self.volume];
        ([self.open_time.0, self.interval], prices)
    }

    fn of_numbers(([open_time, interval], prices): RowNumbers) -> Self {
        let [open, high, low, close, volume] = prices;
        Self {
            open_time: Millis(open_time),
            interval,
            open,
            high,
            low,
            close,
            volume,
        }
    }
}

/// Integers in order of rows.
#[derive(Clone, Debug)]
enum Integers {
    /// The first one, and the distance from one to the next.
    Even(i64, i64),
    /// The least one, and the distances from it.
    Near(i64, Box<[u16]>),
    Far(i64, Box<[u32]>),
    Any(Box<[i64]>),
}

impl Integers {
    fn of(values: &[i64]) -> Self {
        let first = values.first().copied().unwrap_or_default();
        let step = values.get(1).map_or(0, |next| next.wrapping_sub(first));
        let pairs = || values.iter().zip(values.iter().skip(1));
        if pairs().all(|(one, next)| next.wrapping_sub(*one) == step) {
            return Self::Even(first, step);
        }
        let bounds = |(least, most): (i64, i64), value: &i64| (least.min(*value), most.max(*value));
        let (least, most) = values.iter().fold((first, first), bounds);
        let apart = values.iter().map(|value| value.abs_diff(least));
        match most.abs_diff(least) {
            0..=0xffff => {
                let near = apart.map(|apart| u16::try_from(apart).unwrap_or_default());
                Self::Near(least, near.collect())
            }
            0x1_0000..=0xffff_ffff => {
                let far = apart.map(|apart| u32::try_from(apart).unwrap_or_default());
                Self::Far(least, far.collect())
            }
            _ => Self::Any(values.into()),
        }
    }

    fn get(&self, row: usize) -> i64 {
        match self {
            Self::Even(first, step) => {
                first.wrapping_add(step.wrapping_mul(i64::try_from(row).unwrap_or_default()))
            }
            Self::Near(least, apart) => {
                least.wrapping_add(apart.get(row).copied().unwrap_or_default().into())
            }
            Self::Far(least, apart) => {
                least.wrapping_add(apart.get(row).copied().unwrap_or_default().into())
            }
            Self::Any(values) => values.get(row).copied().unwrap_or_default(),
        }
    }

    /// The integers of `rows`.
    fn within(&self, rows: Range<usize>) -> Vec<i64> {
        match self {
            Self::Even(first, 0) => vec![*first; rows.len()],
            Self::Even(..) => rows.map(|row| self.get(row)).collect(),
            Self::Near(least, apart) => {
                let apart = apart.get(rows).unwrap_or_default().iter();
                apart
                    .map(|apart| least.wrapping_add((*apart).into()))
                    .collect()
            }
            Self::Far(least, apart) => {
                let apart = apart.get(rows).unwrap_or_default().iter();
                apart
                    .map(|apart| least.wrapping_add((*apart).into()))
                    .collect()
            }
            Self::Any(values) => values.get(rows).unwrap_or_default().to_vec(),
        }
    }

    /// The largest integer of `rows`.
    fn largest(&self, rows: Range<usize>) -> Option<i64> {
        match self {
            Self::Even(first, 0) => (!rows.is_empty()).then_some(*first),
            _ => self.within(rows).into_iter().max(),
        }
    }

    /// Bytes of memory beyond the column itself.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        match self {
            Self::Even(..) => 0,
            Self::Near(_, apart) => size_of_val(&**apart),
            Self::Far(_, apart) => size_of_val(&**apart),
            Self::Any(values) => size_of_val(&**values),
        }
    }
}

/// Doubles in order of rows.
#[derive(Clone, Debug)]
struct Doubles {
    /// The power of ten by which the integers are divided; `None` if they are the bits of the doubles.
    power: Option<f64>,
    integers: Integers,
}

impl Doubles {
    fn of(values: &[f64]) -> Self {
        let mut integers = Vec::with_capacity(values.len());
        let power = (0..=PLACES)
            .map(|places| 10_f64.powi(places))
            .find(|power| {
                integers.clear();
                integers.extend(values.iter().map_while(|value| scaled(*value, *power)));
                integers.len() == values.len()
            });
        if power.is_none() {
            integers.clear();
            integers.extend(values.iter().map(|value| value.to_bits().cast_signed()));
        }
        Self {
            power,
            integers: Integers::of(&integers),
        }
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "only integers that are doubles are divided"
    )]
    fn double(&self, integer: i64) -> f64 {
        match self.power {
            Some(power) => integer as f64 / power,
            None => f64::from_bits(integer.cast_unsigned()),
        }
    }

    /// The doubles of `rows`.
    #[expect(
        clippy::cast_precision_loss,
        reason = "only integers that are doubles are divided"
    )]
    fn within(&self, rows: Range<usize>) -> Vec<f64> {
        match (&self.integers, self.power) {
            (Integers::Even(first, 0), _) => vec![self.double(*first); rows.len()],
            // Fast path: a processor converts and divides several short integers at once.
            (Integers::Near(least, apart), Some(power)) => {
                let least = *least as f64;
                let apart = apart.get(rows).unwrap_or_default().iter();
                apart
                    .map(|apart| (least + f64::from(*apart)) / power)
                    .collect()
            }
            (Integers::Far(least, apart), Some(power)) => {
                let least = *least as f64;
                let apart = apart.get(rows).unwrap_or_default().iter();
                apart
                    .map(|apart| (least + f64::from(*apart)) / power)
                    .collect()
            }
            (integers, _) => {
                let integers = integers.within(rows).into_iter();
                integers.map(|integer| self.double(integer)).collect()
            }
        }
    }
}

/// The integer that is exactly `value` when it is divided by `power`.
#[expect(
    clippy::cast_possible_truncation,
    reason = "only integers up to `LARGEST` are converted"
)]
fn scaled(value: f64, power: f64) -> Option<i64> {
    // `f64::round` is a call of a function.
    let integer = (value * power + ROUNDER) - ROUNDER;
    let is_exact = integer.abs() <= LARGEST && (integer / power).to_bits() == value.to_bits();
    is_exact.then_some(integer as i64)
}

/// Consecutive rows, by column.
#[derive(Clone, Debug)]
struct Block {
    integers: [Integers; INTEGERS],
    doubles: [Doubles; DOUBLES],
}

impl Block {
    fn of<R: StoredRow>(rows: &[R]) -> Self {
        let numbers: Vec<RowNumbers> = rows.iter().map(StoredRow::numbers).collect();
        let mut column = Vec::with_capacity(rows.len());
        let mut values = Vec::with_capacity(rows.len());
        Self {
            integers: std::array::from_fn(|place| {
                column.clear();
                let cells = numbers
                    .iter()
                    .filter_map(|(integers, _)| integers.get(place));
                column.extend(cells);
                Integers::of(&column)
            }),
            doubles: std::array::from_fn(|place| {
                values.clear();
                let cells = numbers.iter().filter_map(|(_, doubles)| doubles.get(place));
                values.extend(cells);
                Doubles::of(&values)
            }),
        }
    }

    fn get<R: StoredRow>(&self, row: usize) -> R {
        let integers = self.integers.each_ref();
        let doubles = self.doubles.each_ref();
        R::of_numbers((
            integers.map(|column| column.get(row)),
            doubles.map(|column| column.double(column.integers.get(row))),
        ))
    }

    /// The rows at `places`.
    fn within<R: StoredRow>(&self, places: Range<usize>) -> Vec<R> {
        let integers = self.integers.each_ref();
        let integers = integers.map(|column| column.within(places.clone()));
        let doubles = self.doubles.each_ref();
        let doubles = doubles.map(|column| column.within(places.clone()));
        (0..places.len())
            .map(|row| {
                let integers = integers.each_ref();
                let doubles = doubles.each_ref();
                R::of_numbers((
                    integers.map(|column| column.get(row).copied().unwrap_or_default()),
                    doubles.map(|column| column.get(row).copied().unwrap_or_default()),
                ))
            })
            .collect()
    }

    /// Bytes of memory.
    #[cfg(test)]
    fn bytes(&self) -> usize {
        let doubles = self.doubles.iter().map(|column| &column.integers);
        let columns = self.integers.iter().chain(doubles);
        size_of::<Self>() + columns.map(Integers::bytes).sum::<usize>()
    }
}

/// Rows of a series.
#[derive(Clone, Debug)]
pub struct RowStore<R>(Stored<R>);

#[derive(Clone, Debug)]
enum Stored<R> {
    /// Rows that stay in memory: blocks of [`BLOCK`] rows, and the number of rows.
    Packed(Vec<Block>, usize),
    /// Rows for one answer.
    Plain(Vec<R>),
}

impl<R> Default for RowStore<R> {
    fn default() -> Self {
        Self(Stored::Plain(Vec::new()))
    }
}

impl<R> From<Vec<R>> for RowStore<R> {
    fn from(rows: Vec<R>) -> Self {
        Self(Stored::Plain(rows))
    }
}

impl<R: StoredRow> RowStore<R> {
    /// The same rows in little memory.
    pub fn packed(self) -> Self {
        let Stored::Plain(rows) = self.0 else {
            return self;
        };
        let blocks = rows.chunks(BLOCK).map(Block::of).collect();
        Self(Stored::Packed(blocks, rows.len()))
    }

    /// Stores rows in little memory.
    pub fn pack(rows: impl Iterator<Item = R>) -> Self {
        let (mut blocks, mut count) = (Vec::new(), 0);
        let mut block = Vec::with_capacity(BLOCK);
        let mut rows = rows.peekable();
        while rows.peek().is_some() {
            block.clear();
            block.extend(rows.by_ref().take(BLOCK));
            blocks.push(Block::of(&block));
            count += block.len();
        }
        Self(Stored::Packed(blocks, count))
    }

    /// All rows.
    pub fn rows(&self) -> RowSlice<'_, R> {
        match &self.0 {
            Stored::Packed(blocks, rows) => RowSlice {
                source: RowSource::Packed(blocks),
                start: 0,
                end: *rows,
            },
            Stored::Plain(rows) => rows.as_slice().into(),
        }
    }

    /// Bytes of memory.
    #[cfg(test)]
    pub fn bytes(&self) -> usize {
        match &self.0 {
            Stored::Packed(blocks, _) => blocks.iter().map(Block::bytes).sum(),
            Stored::Plain(rows) => size_of_val(rows.as_slice()),
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum RowSource<'a, R> {
    Packed(&'a [Block]),
    Plain(&'a [R]),
}

/// Consecutive rows of a series.
#[derive(Clone, Copy, Debug)]
pub struct RowSlice<'a, R> {
    source: RowSource<'a, R>,
    start: usize,
    end: usize,
}

impl<'a, R> From<&'a [R]> for RowSlice<'a, R> {
    fn from(rows: &'a [R]) -> Self {
        Self {
            source: RowSource::Plain(rows),
            start: 0,
            end: rows.len(),
        }
    }
}

impl<R> Default for RowSlice<'_, R> {
    fn default() -> Self {
        (&[][..]).into()
    }
}

impl<'a, R: StoredRow> RowSlice<'a, R> {
    /// Number of rows.
    #[must_use]
    pub fn len(self) -> usize {
        self.end - self.start
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// The row at `place`.
    #[must_use]
    pub fn get(self, place: usize) -> Option<R> {
        let row = self
            .start
            .checked_add(place)
            .filter(|row| *row < self.end)?;
        match self.source {
            RowSource::Packed(blocks) => Some(blocks.get(row / BLOCK)?.get(row % BLOCK)),
            RowSource::Plain(rows) => rows.get(row).copied(),
        }
    }

    /// The first row.
    #[must_use]
    pub fn first(self) -> Option<R> {
        self.get(0)
    }

    /// The last row.
    #[must_use]
    pub fn last(self) -> Option<R> {
        self.get(self.len().checked_sub(1)?)
    }

    /// The rows at `places` that there are.
    #[must_use]
    pub fn within(self, places: Range<usize>) -> Self {
        let end = self.start.saturating_add(places.end).min(self.end);
        Self {
            start: self.start.saturating_add(places.start).min(end),
            end,
            ..self
        }
    }

    /// Number of rows before the first one that is not `before`. The rows must be sorted so.
    pub fn partition_point(self, before: impl Fn(&R) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = usize::midpoint(low, high);
            if self.get(middle).is_some_and(|row| before(&row)) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    /// The places of the next rows in their block, and the rows after them.
    fn next_block(self) -> (Range<usize>, Self) {
        let first = self.start - self.start % BLOCK;
        let end = (first + BLOCK).min(self.end);
        let places = self.start - first..end.saturating_sub(first);
        (places, Self { start: end, ..self })
    }

    /// Iterates over the rows.
    #[must_use]
    pub fn iter(self) -> RowIter<'a, R> {
        RowIter {
            rest: self,
            block: Vec::new().into_iter(),
        }
    }

    /// Copies the rows.
    #[must_use]
    pub fn to_vec(self) -> Vec<R> {
        self.iter().collect()
    }
}

impl RowSlice<'_, Bar> {
    /// The length of the longest bar.
    #[must_use]
    pub fn longest(mut self) -> Option<i64> {
        let blocks = match self.source {
            RowSource::Packed(blocks) => blocks,
            RowSource::Plain(rows) => {
                let rows = rows.get(self.start..self.end).unwrap_or_default();
                return rows.iter().map(|bar| bar.interval).max();
            }
        };
        let mut longest = None;
        while !self.is_empty() {
            let [_, intervals] = &blocks.get(self.start / BLOCK)?.integers;
            let (places, rest) = self.next_block();
            longest = longest.max(intervals.largest(places));
            self = rest;
        }
        longest
    }
}

impl<'a, R: StoredRow> IntoIterator for RowSlice<'a, R> {
    type Item = R;
    type IntoIter = RowIter<'a, R>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Iterates over rows, a block at a time.
#[derive(Clone, Debug)]
pub struct RowIter<'a, R> {
    /// The rows after those of the block.
    rest: RowSlice<'a, R>,
    block: vec::IntoIter<R>,
}

impl<R: StoredRow> Iterator for RowIter<'_, R> {
    type Item = R;

    fn next(&mut self) -> Option<R> {
        if let Some(row) = self.block.next() {
            return Some(row);
        }
        if self.rest.is_empty() {
            return None;
        }
        let RowSlice { source, start, .. } = self.rest;
        let (places, rest) = self.rest.next_block();
        let rows = match source {
            RowSource::Packed(blocks) => blocks.get(start / BLOCK)?.within(places),
            RowSource::Plain(rows) => rows.get(start..rest.start)?.to_vec(),
        };
        self.rest = rest;
        self.block = rows.into_iter();
        self.block.next()
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let rows = self.block.len() + self.rest.end - self.rest.start;
        (rows, Some(rows))
    }
}

impl<R: StoredRow> ExactSizeIterator for RowIter<'_, R> {}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use crate::engine::observations::row_store::*;

    /// Numbers that a series may have, and some that it does not.
    fn number() -> impl Strategy<Value = f64> {
        prop_oneof![
            (0_i32..4_000_000).prop_map(|cents| f64::from(cents) / 100.0),
            (-9_i32..9).prop_map(f64::from),
            Just(-0.0),
            Just(1e100),
            Just(f64::NAN),
            Just(9_007_199_254_740_993.0),
            any::<f64>(),
        ]
    }

    fn bar() -> impl Strategy<Value = Bar> {
        let time = prop_oneof![0..2_000_000_i64, any::<i64>()];
        let prices = [(); DOUBLES].map(|()| number());
        (time, 1..100_000_i64, prices).prop_map(|(open_time, interval, prices)| {
            Bar::of_numbers(([open_time, interval], prices))
        })
    }

    fn bits(bars: impl IntoIterator<Item = Bar>) -> Vec<([i64; INTEGERS], [u64; DOUBLES])> {
        let numbers = bars.into_iter().map(|bar| bar.numbers());
        numbers
            .map(|(integers, doubles)| (integers, doubles.map(f64::to_bits)))
            .collect()
    }

    proptest! {
        #[test]
        fn packed_rows_are_those_given_to_the_last_bit(
            few in prop::collection::vec(bar(), 1..9), repeats in 1..200_usize, cut in 0..1800_usize,
        ) {
            let bars: Vec<Bar> = (0..repeats).flat_map(|_| few.iter().copied()).collect();
            let store = RowStore::from(bars.clone()).packed();
            let rows = store.rows();
            prop_assert_eq!(bits(rows), bits(bars.iter().copied()));
            let cut = cut.min(bars.len());
            let within = rows.within(cut..bars.len());
            prop_assert_eq!(bits(within), bits(bars[cut..].iter().copied()));
            prop_assert_eq!(bits(within.first()), bits(bars[cut..].first().copied()));
            prop_assert_eq!(bits(within.last()), bits(bars[cut..].last().copied()));
            prop_assert_eq!(within.iter().len(), bars.len() - cut);
            prop_assert_eq!(within.longest(), bars[cut..].iter().map(|bar| bar.interval).max());
        }
    }
}
