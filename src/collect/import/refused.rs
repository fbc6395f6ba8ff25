//! Refused rows of an import, counted by reason.

/// Column, reason and value of a fault.
pub(super) type RowReason = (&'static str, String, String);

/// Rows that were refused for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The reason.
    pub reason: String,
    /// Number of rows.
    pub count: u64,
    /// The place of the first refused row: file and line, or table and row.
    pub place: String,
    /// The refused value at that place.
    pub shown: String,
}

impl Refused {
    /// Counts a refused row by its reason. `place` is its file and line, or its table and row.
    pub fn count(refused: &mut Vec<Self>, reason_and_value: (&str, &str), place: &str) {
        refuse(refused, reason_and_value, place);
    }
}

/// Counts a refused row by its reason. `place` is its file and line, or its table and row.
pub(crate) fn refuse(refused: &mut Vec<Refused>, (reason, shown): (&str, &str), place: &str) {
    if let Some(known) = refused.iter_mut().find(|known| known.reason == reason) {
        known.count += 1;
        return;
    }
    refused.push(Refused {
        reason: reason.to_owned(),
        count: 1,
        place: place.to_owned(),
        shown: shown.to_owned(),
    });
}

/// Adds rows that were refused for one reason elsewhere.
pub(crate) fn refuse_all(refused: &mut Vec<Refused>, more: &Refused) {
    match refused.iter_mut().find(|known| known.reason == more.reason) {
        Some(known) => known.count += more.count,
        None => refused.push(more.clone()),
    }
}
