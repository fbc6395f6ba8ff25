//! Copying of column values from several parts, at given indexes.

use std::collections::VecDeque;

/// Number of a part, and index of an order in it. There are fewer than 2³² orders.
#[derive(Clone, Copy, Debug, Default)]
pub struct PartPlace {
    pub part: u32,
    pub place: u32,
}

/// Selects the same column of every part.
pub fn each<'a, P, T>(
    parts: &[&'a P],
    column: impl Fn(&'a P) -> &'a VecDeque<T>,
) -> Vec<&'a VecDeque<T>> {
    parts.iter().map(|part| column(part)).collect()
}

/// Copies the values at `spots` out of the columns of several parts.
pub fn pick<T: Copy + Default>(columns: &[&VecDeque<T>], spots: &[PartPlace]) -> VecDeque<T> {
    let at = |spot: &PartPlace| {
        let column = columns.get(spot.part as usize)?;
        column.get(spot.place as usize).copied()
    };
    let mut picked: Vec<T> = Vec::with_capacity(spots.len());
    let together = |a: &PartPlace, b: &PartPlace| a.part == b.part && a.place + 1 == b.place;
    for run in spots.chunk_by(together) {
        // A contiguous run is copied as one slice.
        match run
            .first()
            .and_then(|first| values(columns, *first, run.len()))
        {
            Some(values) => picked.extend_from_slice(values),
            None => picked.extend(run.iter().map(|spot| at(spot).unwrap_or_default())),
        }
    }
    picked.into()
}

/// A run of `len` values as a slice.
///
/// `None` if the run is not contiguous in memory, or too short for a slice copy to be faster.
fn values<'a, T>(columns: &[&'a VecDeque<T>], first: PartPlace, len: usize) -> Option<&'a [T]> {
    const WORTH: usize = 16;
    if len < WORTH {
        return None;
    }
    let (values, _) = columns.get(first.part as usize)?.as_slices();
    let start = first.place as usize;
    values.get(start..start.checked_add(len)?)
}
