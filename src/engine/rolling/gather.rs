//! Taking columns together: the values of some at chosen places.

use std::collections::VecDeque;

/// Where an order lies among parts; orders are counted in millions.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Spot {
    pub(crate) part: u32,
    pub(crate) place: u32,
}

/// A column of every part.
pub(crate) fn each<'a, P, T>(
    parts: &[&'a P],
    column: impl Fn(&'a P) -> &'a VecDeque<T>,
) -> Vec<&'a VecDeque<T>> {
    parts.iter().map(|part| column(part)).collect()
}

/// The values of some columns at some places.
pub(crate) fn pick<T: Copy + Default>(columns: &[&VecDeque<T>], spots: &[Spot]) -> VecDeque<T> {
    let at = |spot: &Spot| {
        let column = columns.get(spot.part as usize)?;
        column.get(spot.place as usize).copied()
    };
    let mut picked: Vec<T> = Vec::with_capacity(spots.len());
    let together = |a: &Spot, b: &Spot| a.part == b.part && a.place + 1 == b.place;
    for run in spots.chunk_by(together) {
        // What lies together is taken together.
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

/// So many values of a column from a place on, where they lie in one piece and are worth the look.
fn values<'a, T>(columns: &[&'a VecDeque<T>], first: Spot, len: usize) -> Option<&'a [T]> {
    const WORTH: usize = 16;
    if len < WORTH {
        return None;
    }
    let (values, _) = columns.get(first.part as usize)?.as_slices();
    let start = first.place as usize;
    values.get(start..start.checked_add(len)?)
}
