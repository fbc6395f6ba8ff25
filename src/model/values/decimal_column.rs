//! A column of exact decimals.

use std::ops::Range;

use rust_decimal::Decimal;

use crate::model::values::short_decimal::{ShortDecimal, nearest_f64};

/// Scale that marks a decimal that does not fit in 64 bits; its digits are an index into `long`.
const LONG: u8 = u8::MAX;

/// A column of exact decimals, nine bytes each: digits and scale.
///
/// Decimals compare by value: 1.0 equals 1.00.
///
/// # Examples
///
/// ```
/// use liqdata::model::DecimalColumn;
/// use rust_decimal::Decimal;
///
/// let prices: DecimalColumn = ["63250.10", "0.5"].map(|text| text.parse::<Decimal>().unwrap()).into_iter().collect();
/// assert_eq!(prices.get(0).unwrap().to_string(), "63250.10");
/// assert_eq!(prices.f64s(), [63250.1, 0.5]);
/// ```
#[derive(Clone, Debug, Default)]
pub struct DecimalColumn {
    digits: Vec<i64>,
    scales: Vec<u8>,
    long: Vec<Decimal>,
}

impl DecimalColumn {
    /// An empty column with capacity for `rows` decimals.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            digits: Vec::with_capacity(rows),
            scales: Vec::with_capacity(rows),
            long: Vec::new(),
        }
    }

    /// Number of decimals.
    #[must_use]
    pub fn len(&self) -> usize {
        self.digits.len()
    }

    /// Whether there are no decimals.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.digits.is_empty()
    }

    /// Adds a decimal.
    pub fn push(&mut self, value: Decimal) {
        match ShortDecimal::of(value) {
            Some(short) => self.push_short(short),
            None => self.push_long(value),
        }
    }

    /// Adds `value` as the decimal that [`ShortDecimal::from_f64`] returns; returns whether there is such a decimal.
    #[inline]
    #[must_use]
    pub fn push_f64(&mut self, value: f64) -> bool {
        let short = ShortDecimal::from_f64(value);
        if let Some(short) = short {
            self.push_short(short);
        }
        short.is_some()
    }

    /// Adds a short decimal.
    pub fn push_short(&mut self, ShortDecimal { digits, scale }: ShortDecimal) {
        self.digits.push(digits);
        self.scales.push(scale);
    }

    fn push_long(&mut self, value: Decimal) {
        // A column is far shorter than the maximum of `i64`.
        self.digits
            .push(i64::try_from(self.long.len()).unwrap_or(i64::MAX));
        self.scales.push(LONG);
        self.long.push(value);
    }

    /// The decimal in `row`.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<Decimal> {
        let (digits, scale) = (*self.digits.get(row)?, *self.scales.get(row)?);
        if scale == LONG {
            return self.long.get(usize::try_from(digits).ok()?).copied();
        }
        Some(ShortDecimal { digits, scale }.decimal())
    }

    /// The decimal in `row`, if it fits in 64 bits.
    #[must_use]
    pub fn short(&self, row: usize) -> Option<ShortDecimal> {
        let (digits, scale) = (*self.digits.get(row)?, *self.scales.get(row)?);
        (scale != LONG).then_some(ShortDecimal { digits, scale })
    }

    /// Iterates over the decimals.
    pub fn iter(&self) -> impl Iterator<Item = Decimal> + '_ {
        (0..self.len()).filter_map(|row| self.get(row))
    }

    /// The double nearest to the decimal in `row`.
    #[must_use]
    pub fn f64(&self, row: usize) -> Option<f64> {
        match self.short(row) {
            Some(short) => Some(short.f64()),
            None => self.get(row).map(nearest_f64),
        }
    }

    /// The double nearest to each decimal.
    #[must_use]
    pub fn f64s(&self) -> Vec<f64> {
        if !self.long.is_empty() {
            return self.iter().map(nearest_f64).collect();
        }
        self.digits
            .iter()
            .zip(&self.scales)
            .map(|(&digits, &scale)| ShortDecimal { digits, scale }.f64())
            .collect()
    }

    /// Appends the decimals of `other` in the range `rows`.
    pub fn append(&mut self, other: &Self, rows: Range<usize>) {
        if !other.long.is_empty() {
            self.extend(rows.filter_map(|row| other.get(row)));
        } else if let (Some(digits), Some(scales)) =
            (other.digits.get(rows.clone()), other.scales.get(rows))
        {
            self.digits.extend_from_slice(digits);
            self.scales.extend_from_slice(scales);
        }
    }

    /// The decimals of the given rows, in this order; rows out of range are skipped.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        let mut picked = Self::with_capacity(rows.len());
        for row in rows {
            match self.short(*row) {
                Some(short) => picked.push_short(short),
                None => picked.extend(self.get(*row)),
            }
        }
        picked
    }

    /// Bytes of memory in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.digits.capacity() * size_of::<i64>()
            + self.scales.capacity()
            + self.long.capacity() * size_of::<Decimal>()
    }

    /// Whether the decimal in `row` equals the decimal in row `theirs` of `other`.
    pub fn same(&self, row: usize, other: &Self, theirs: usize) -> bool {
        let (one, two) = (self.short(row), other.short(theirs));
        (one.is_some() && one == two) || self.get(row) == other.get(theirs)
    }
}

impl PartialEq for DecimalColumn {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && (0..self.len()).all(|row| self.same(row, other, row))
    }
}

impl Extend<Decimal> for DecimalColumn {
    fn extend<T: IntoIterator<Item = Decimal>>(&mut self, values: T) {
        for value in values {
            self.push(value);
        }
    }
}

impl FromIterator<Decimal> for DecimalColumn {
    fn from_iter<T: IntoIterator<Item = Decimal>>(values: T) -> Self {
        let values = values.into_iter();
        let mut column = Self::with_capacity(values.size_hint().0);
        column.extend(values);
        column
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use crate::model::values::decimal_column::*;

    fn decimal() -> impl Strategy<Value = Decimal> {
        let short =
            (any::<i64>(), 0_u32..29).prop_map(|(digits, scale)| Decimal::new(digits, scale));
        let long = (-(10_i128.pow(28) - 1)..10_i128.pow(28), 0_u32..29)
            .prop_map(|(digits, scale)| Decimal::try_from_i128_with_scale(digits, scale).unwrap());
        prop_oneof![3 => short, 1 => long]
    }

    fn texts(column: &DecimalColumn) -> Vec<String> {
        column.iter().map(|value| value.to_string()).collect()
    }

    proptest! {
        #[test]
        fn a_column_gives_what_was_put_in(values in prop::collection::vec(decimal(), 0..40)) {
            let column: DecimalColumn = values.iter().copied().collect();
            let expected: Vec<String> = values.iter().map(ToString::to_string).collect();
            prop_assert_eq!(texts(&column), expected);
            let doubles: Vec<u64> = column.f64s().iter().map(|value| value.to_bits()).collect();
            for (row, value) in values.iter().enumerate() {
                let nearest: f64 = value.to_string().parse().unwrap();
                prop_assert_eq!(Some(&nearest.to_bits()), doubles.get(row), "{}", value);
                prop_assert_eq!(column.f64(row).map(f64::to_bits), Some(nearest.to_bits()));
            }
        }

        #[test]
        fn columns_are_joined_without_a_change(
            values in prop::collection::vec(decimal(), 0..40),
            at in 0_usize..40,
        ) {
            let whole: DecimalColumn = values.iter().copied().collect();
            let at = at.min(whole.len());
            let mut joined = DecimalColumn::default();
            joined.append(&whole, 0..at);
            joined.append(&whole, at..whole.len());
            prop_assert_eq!(texts(&joined), texts(&whole));
            let rows: Vec<usize> = (0..whole.len()).rev().collect();
            prop_assert_eq!(whole.take(&rows).take(&rows), whole);
        }
    }

    #[test]
    fn a_double_goes_in_as_its_shortest_text_where_that_is_short() {
        let mut column = DecimalColumn::default();
        for value in [0.1, 60_000.0, 63_250.25] {
            assert!(column.push_f64(value));
        }
        for value in [0.1 + 0.2, f64::NAN, f64::INFINITY, 1e-9] {
            assert!(!column.push_f64(value));
        }
        assert_eq!(texts(&column), ["0.1", "60000", "63250.25"]);
    }

    #[test]
    fn decimals_are_equal_by_value() {
        let column = |text: &str| {
            [text.parse::<Decimal>().unwrap()]
                .into_iter()
                .collect::<DecimalColumn>()
        };
        assert_eq!(column("1.0"), column("1.00"));
        assert_ne!(column("1.0"), column("1.01"));
        assert_ne!(column("1"), DecimalColumn::default());
    }
}
