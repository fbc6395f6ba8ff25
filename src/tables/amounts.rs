//! A column of prices or amounts: exact decimals, and doubles that no decimal can represent.

use std::collections::HashMap;

use rust_decimal::Decimal;

use crate::contract::decode::exact_decimal;
use crate::model::{DecimalColumn, ShortDecimal};

/// A column of exact decimals, and of doubles that no decimal can represent, such as `1e34`.
#[derive(Clone, Debug, Default)]
pub(crate) struct AmountColumn {
    /// The decimals; zero where `beyond` has a double.
    exact: DecimalColumn,
    beyond: HashMap<usize, f64>,
}

impl AmountColumn {
    pub(crate) fn with_capacity(rows: usize) -> Self {
        Self {
            exact: DecimalColumn::with_capacity(rows),
            beyond: HashMap::new(),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.exact.len()
    }

    pub(crate) fn push(&mut self, value: Decimal) {
        self.exact.push(value);
    }

    /// Adds a finite double.
    ///
    /// It is stored as the decimal of its shortest text, if a decimal can represent that.
    pub(crate) fn push_f64(&mut self, value: f64) {
        let exact = ShortDecimal::from_f64(value)
            .map(ShortDecimal::decimal)
            .or_else(|| exact_decimal(&value.to_string()).ok());
        if exact.is_none() {
            self.beyond.insert(self.exact.len(), value);
        }
        self.exact.push(exact.unwrap_or_default());
    }

    /// The exact value of `row`; `None` if it is a double that no decimal can represent.
    pub(crate) fn get(&self, row: usize) -> Option<Decimal> {
        if !self.beyond.is_empty() && self.beyond.contains_key(&row) {
            return None;
        }
        self.exact.get(row)
    }

    /// The value of `row` as a double.
    pub(crate) fn f64(&self, row: usize) -> f64 {
        if let Some(value) = self.beyond.get(&row) {
            return *value;
        }
        self.exact.f64(row).unwrap_or(f64::NAN)
    }

    /// Copies `rows`, in the given sequence.
    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        let beyond = rows.iter().enumerate();
        let beyond = beyond.filter_map(|(to, from)| Some((to, *self.beyond.get(from)?)));
        Self {
            beyond: if self.beyond.is_empty() {
                HashMap::new()
            } else {
                beyond.collect()
            },
            exact: self.exact.take(rows),
        }
    }

    /// Appends another column.
    pub(crate) fn append(&mut self, other: &Self) {
        let first = self.exact.len();
        self.exact.append(&other.exact, 0..other.exact.len());
        let beyond = other.beyond.iter();
        self.beyond
            .extend(beyond.map(|(row, value)| (first + row, *value)));
    }

    /// Returns the decimals. Doubles that no decimal can represent become zero.
    pub(crate) fn into_decimals(self) -> DecimalColumn {
        self.exact
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
    ShortDecimal::from_f64(value)
        .map(ShortDecimal::decimal)
        .or_else(|| Decimal::from_str_exact(&value.to_string()).ok())
        .ok_or_else(|| format!("{value} has more than 28 digits"))
}

impl From<DecimalColumn> for AmountColumn {
    fn from(exact: DecimalColumn) -> Self {
        Self {
            exact,
            beyond: HashMap::new(),
        }
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
