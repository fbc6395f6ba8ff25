//! A column of prices or amounts: exact decimals, and doubles that no decimal can represent.

use std::collections::HashMap;

use arrow_array::Float64Array;
use rust_decimal::Decimal;

use crate::contract::decode::exact_decimal;
use crate::model::{DecimalColumn, ShortDecimal};

/// A column of exact decimals, and of doubles that no decimal can represent, such as `1e34`.
#[derive(Clone, Debug)]
pub(crate) enum AmountColumn {
    /// Finite doubles. Each is the decimal of its shortest text, if a decimal can represent that.
    Doubles(Float64Array),
    /// Decimals, and by row the doubles that no decimal can represent; the decimal of such a row is zero.
    Exact(DecimalColumn, HashMap<usize, f64>),
}

impl Default for AmountColumn {
    fn default() -> Self {
        Self::with_capacity(0)
    }
}

impl AmountColumn {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        DecimalColumn::with_capacity(rows).into()
    }

    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Doubles(values) => values.len(),
            Self::Exact(exact, _) => exact.len(),
        }
    }

    /// The decimals and the other doubles, to which values can be added.
    fn parts(&mut self) -> (&mut DecimalColumn, &mut HashMap<usize, f64>) {
        if let Self::Doubles(values) = self {
            let values = values.clone();
            *self = Self::with_capacity(values.len());
            for value in values.values() {
                self.push_f64(*value);
            }
        }
        match self {
            Self::Exact(exact, beyond) => (exact, beyond),
            Self::Doubles(_) => self.parts(),
        }
    }

    pub(crate) fn push(&mut self, value: Decimal) {
        self.parts().0.push(value);
    }

    /// Adds a finite double.
    ///
    /// It is stored as the decimal of its shortest text, if a decimal can represent that.
    pub(crate) fn push_f64(&mut self, value: f64) {
        let (decimals, beyond) = self.parts();
        let exact = exact(value);
        if exact.is_none() {
            beyond.insert(decimals.len(), value);
        }
        decimals.push(exact.unwrap_or_default());
    }

    /// The exact value of `row`; `None` if it is a double that no decimal can represent.
    pub(crate) fn get(&self, row: usize) -> Option<Decimal> {
        match self {
            Self::Doubles(values) => exact(*values.values().get(row)?),
            Self::Exact(_, beyond) if beyond.contains_key(&row) => None,
            Self::Exact(exact, _) => exact.get(row),
        }
    }

    /// The value of `row` as a double.
    #[inline]
    pub(crate) fn f64(&self, row: usize) -> f64 {
        match self {
            // A decimal has no negative zero.
            Self::Doubles(values) => {
                let value = values.values().get(row);
                value.map_or(f64::NAN, |value| value + 0.0)
            }
            Self::Exact(exact, beyond) => match beyond.get(&row) {
                Some(value) => *value,
                None => exact.f64(row).unwrap_or(f64::NAN),
            },
        }
    }

    /// Copies `rows`, in the given sequence.
    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        match self {
            Self::Doubles(values) => {
                let picked = rows.iter().filter_map(|row| values.values().get(*row));
                Self::Doubles(picked.copied().collect::<Vec<f64>>().into())
            }
            Self::Exact(exact, beyond) => {
                let places = rows.iter().enumerate();
                let places = places.filter(|_| !beyond.is_empty());
                let beyond = places.filter_map(|(to, from)| Some((to, *beyond.get(from)?)));
                Self::Exact(exact.take(rows), beyond.collect())
            }
        }
    }

    /// Appends another column.
    pub(crate) fn append(&mut self, other: &Self) {
        match other {
            _ if self.len() == 0 => self.clone_from(other),
            Self::Doubles(values) => {
                for value in values.values() {
                    self.push_f64(*value);
                }
            }
            Self::Exact(exact, others) => {
                let (decimals, beyond) = self.parts();
                let first = decimals.len();
                decimals.append(exact, 0..exact.len());
                beyond.extend(others.iter().map(|(row, value)| (first + row, *value)));
            }
        }
    }

    /// Returns the decimals. Doubles that no decimal can represent become zero.
    pub(crate) fn into_decimals(mut self) -> DecimalColumn {
        std::mem::take(self.parts().0)
    }

    /// Applies `exact` to each value that is a decimal.
    ///
    /// Applies `double` to the other values, and where `exact` returns `None`.
    pub(crate) fn map(
        &self,
        exact: impl Fn(usize, Decimal) -> Option<Decimal>,
        double: impl Fn(usize, f64) -> f64,
    ) -> Self {
        let mut made = Self::with_capacity(self.len());
        for row in 0..self.len() {
            match self.get(row).and_then(|value| exact(row, value)) {
                Some(value) => made.push(value),
                None => made.push_f64(double(row, self.f64(row))),
            }
        }
        made
    }
}

/// Converts a double to the decimal of its shortest text. The error says why it cannot be stored.
pub(crate) fn decimal(column: &str, value: f64) -> Result<Decimal, String> {
    if !value.is_finite() {
        let what = match column {
            "open" | "high" | "low" | "close" => "a price",
            _ => "an amount",
        };
        return Err(format!("{value:?} is not {what}; allowed: a finite number"));
    }
    exact(value).ok_or_else(|| format!("{value} has more than 28 digits"))
}

/// The decimal of the shortest text of a double, if a decimal can represent it.
fn exact(value: f64) -> Option<Decimal> {
    ShortDecimal::from_f64(value)
        .map(ShortDecimal::decimal)
        .or_else(|| exact_decimal(&value.to_string()).ok())
}

impl From<DecimalColumn> for AmountColumn {
    fn from(exact: DecimalColumn) -> Self {
        Self::Exact(exact, HashMap::new())
    }
}

impl FromIterator<Decimal> for AmountColumn {
    fn from_iter<T: IntoIterator<Item = Decimal>>(values: T) -> Self {
        let exact: DecimalColumn = values.into_iter().collect();
        exact.into()
    }
}

#[cfg(test)]
mod tests {
    use crate::model::nearest_f64;
    use crate::tables::amounts::*;

    #[test]
    fn a_double_beyond_the_decimals_keeps_its_place() {
        let mut column = AmountColumn::with_capacity(3);
        column.push_f64(0.1);
        column.push_f64(1e34);
        column.push(Decimal::TEN);
        assert_eq!(column.get(0).map(nearest_f64), Some(0.1));
        assert_eq!(column.get(1), None);
        let taken = column.take(&[1, 2]);
        assert_eq!((taken.f64(0), taken.f64(1)), (1e34, 10.0));
        let tenfold = taken.map(
            |_, value| value.checked_mul(Decimal::TEN),
            |_, value| value * 10.0,
        );
        assert_eq!((tenfold.f64(0), tenfold.f64(1)), (1e35, 100.0));
    }
}
