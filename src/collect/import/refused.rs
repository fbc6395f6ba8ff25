//! Rows that are not kept on their way into an archive, counted by their reasons.

/// Rows that were not kept, for one reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The reason.
    pub reason: String,
    /// How many there were.
    pub count: u64,
    /// Where the first of them stood: file and line, or table and row.
    pub place: String,
    /// What stood there.
    pub shown: String,
}

impl Refused {
    /// Counts a refused row by its reason; `place` says where it stands.
    pub fn count(refused: &mut Vec<Self>, reason_and_value: (&str, &str), place: &str) {
        refuse(refused, reason_and_value, place);
    }
}

/// Counts a row that is not kept; `place` says where it stood.
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
