//! A dictionary-encoded text column.

use std::ops::Range;

use crate::model::text::interner::Interner;

/// A dictionary-encoded text column: a code per row, and the distinct names.
///
/// # Examples
///
/// ```
/// use liqdata::model::Labels;
///
/// let labels: Labels = ["bybit", "okx", "bybit"].into_iter().collect();
/// assert_eq!(labels.codes(), [0, 1, 0]);
/// assert_eq!(labels.names(), ["bybit", "okx"]);
/// assert_eq!(labels.get(2), Some("bybit"));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Labels {
    codes: Vec<u32>,
    names: Interner,
}

impl Labels {
    /// An empty column with capacity for `rows` texts.
    #[must_use]
    pub fn with_capacity(rows: usize) -> Self {
        Self {
            codes: Vec::with_capacity(rows),
            ..Self::default()
        }
    }

    /// Creates the column of these codes and names; `None` if a code has no name.
    #[must_use]
    pub fn from_parts(codes: &[u32], names: &[String]) -> Option<Self> {
        if codes.iter().any(|&code| code as usize >= names.len()) {
            return None;
        }
        let mut labels = Self::default();
        let ours: Vec<u32> = names.iter().map(|name| labels.names.code(name)).collect();
        labels.codes = codes
            .iter()
            .filter_map(|&code| ours.get(code as usize).copied())
            .collect();
        Some(labels)
    }

    /// Number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.codes.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.codes.is_empty()
    }

    /// The codes by row.
    #[must_use]
    pub fn codes(&self) -> &[u32] {
        &self.codes
    }

    /// The distinct names; the index of a name is its code.
    #[must_use]
    pub fn names(&self) -> &[String] {
        self.names.texts()
    }

    /// The text in `row`.
    #[must_use]
    pub fn get(&self, row: usize) -> Option<&str> {
        self.names.text(*self.codes.get(row)?)
    }

    /// Iterates over the texts.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).filter_map(|row| self.get(row))
    }

    /// Adds a text.
    pub fn push(&mut self, text: &str) {
        let last = self.codes.last().copied();
        let repeated = last.filter(|last| self.names.text(*last) == Some(text));
        let code = repeated.unwrap_or_else(|| self.names.code(text));
        self.codes.push(code);
    }

    /// Appends the rows of `other` in the range `rows`, and all names of `other`.
    pub fn append(&mut self, other: &Self, rows: Range<usize>) {
        let names = other.names().iter();
        let ours: Vec<u32> = names.map(|name| self.names.code(name)).collect();
        let Some(codes) = other.codes.get(rows) else {
            return;
        };
        if ours
            .iter()
            .copied()
            .eq(0..u32::try_from(ours.len()).unwrap_or(0))
        {
            self.codes.extend_from_slice(codes);
        } else {
            let ours = codes.iter().filter_map(|&code| ours.get(code as usize));
            self.codes.extend(ours);
        }
    }

    /// The texts of the given rows, in this order; rows out of range are skipped.
    #[must_use]
    pub fn take(&self, rows: &[usize]) -> Self {
        let codes = rows.iter().filter_map(|&row| self.codes.get(row).copied());
        Self {
            codes: codes.collect(),
            names: self.names.clone(),
        }
    }

    /// Bytes of memory in use.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.codes.capacity() * size_of::<u32>() + self.names.bytes()
    }

    /// Whether the text in `row` equals the text in row `theirs` of `other`.
    pub fn same(&self, row: usize, other: &Self, theirs: usize) -> bool {
        self.get(row) == other.get(theirs)
    }
}

/// Compares texts and not codes, because equal texts may have different codes.
impl PartialEq for Labels {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len()
            && (self.names() == other.names() && self.codes == other.codes
                || (0..self.len()).all(|row| self.same(row, other, row)))
    }
}

impl<'a> FromIterator<&'a str> for Labels {
    fn from_iter<T: IntoIterator<Item = &'a str>>(texts: T) -> Self {
        let texts = texts.into_iter();
        let mut labels = Self::with_capacity(texts.size_hint().0);
        for text in texts {
            labels.push(text);
        }
        labels
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::model::text::label_column::*;

    proptest! {
        #[test]
        fn labels_give_what_was_put_in(texts in prop::collection::vec("[a-c]{0,3}|[a-z]{8,20}|é", 0..400), at in 0_usize..450) {
            let whole: Labels = texts.iter().map(String::as_str).collect();
            prop_assert!(whole.iter().eq(&texts));
            let mut distinct = texts.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(whole.names().len(), distinct.len());
            let at = at.min(texts.len());
            let mut joined = Labels::default();
            joined.append(&whole, 0..at);
            joined.append(&whole, at..texts.len());
            prop_assert_eq!(&joined, &whole);
            // In reverse order, the same names have other codes.
            let mut turned: Labels = texts.iter().rev().map(String::as_str).collect();
            turned.append(&whole, 0..texts.len());
            prop_assert!(turned.iter().skip(texts.len()).eq(&texts));
            prop_assert_eq!(&whole.take(&(0..texts.len()).collect::<Vec<_>>()), &whole);
        }
    }

    #[test]
    fn codes_without_a_name_are_no_labels() {
        let names = vec!["okx".to_owned()];
        assert!(Labels::from_parts(&[0, 0], &names).is_some());
        assert!(Labels::from_parts(&[0, 1], &names).is_none());
    }
}
