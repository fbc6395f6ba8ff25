//! Truncation of caller-supplied values in messages.

use std::borrow::Cow;

/// Maximum number of characters of a message part.
const MOST: usize = 500;
/// Number of characters shown from the start of a longer text.
const BEGIN: usize = 300;
/// Number of characters shown from its end, which usually says what is wrong.
const END: usize = 150;

/// Shortens `said` if it is too long: to its start, the number of omitted characters, and its end.
///
/// Applying it twice changes nothing.
#[must_use]
pub fn shortened(said: &str) -> Cow<'_, str> {
    if said.len() <= MOST {
        return Cow::Borrowed(said);
    }
    let count = said.chars().count();
    if count <= MOST {
        return Cow::Borrowed(said);
    }
    let at = |place: usize| said.char_indices().nth(place).map(|(at, _)| at);
    let begin = at(BEGIN).and_then(|at| said.get(..at)).unwrap_or_default();
    let end = at(count - END)
        .and_then(|at| said.get(at..))
        .unwrap_or_default();
    let left_out = count - BEGIN - END;
    Cow::Owned(format!("{begin}… ({left_out} more characters) …{end}"))
}

#[cfg(test)]
mod tests {
    use crate::model::text::truncation::*;

    #[test]
    fn long_text_is_cut_in_the_middle() {
        let said = format!("{:?} is not a side", "é".repeat(100_000));
        let short = shortened(&said);
        assert!(
            short.starts_with("\"éé") && short.ends_with("éé\" is not a side"),
            "{short}"
        );
        assert!(short.contains("… (99566 more characters) …"), "{short}");
        assert_eq!(shortened(&short), short);
        for short in ["", "BTC", &"é".repeat(MOST)] {
            assert_eq!(shortened(short), short);
        }
    }
}
