//! What is said of a value that somebody else gave, at a length that can be read.

use std::borrow::Cow;

/// The most characters of what is said.
const MOST: usize = 500;
/// So many of them are of its beginning where it is cut …
const BEGIN: usize = 300;
/// … and so many of its end, which says what is wrong with what was given.
const END: usize = 150;

/// `said` where it is of a length that can be read; else its beginning and its end, and how many characters were between
/// them. Done twice it is as done once.
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
    fn what_is_long_is_told_by_its_two_ends_and_its_length() {
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
