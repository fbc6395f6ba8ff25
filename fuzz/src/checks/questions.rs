//! Query strings to questions and back: a question that is asked is the question that is heard.

use std::fmt::Debug;

use liqdata::contract::{
    Arguments, BadQuery, Chart, Coins, Endpoint, Exchanges, Heatmap, Largest, Levels, Liqmap,
    Maxpain, Orders, Overview, Stream,
};

/// A letter that says which endpoint is asked, then the query string, not encoded.
///
/// # Panics
///
/// Where a question that is taken is not the same once it is asked again.
pub fn check(input: &[u8]) {
    let Some((&kind, query)) = input.split_first() else {
        return;
    };
    let Ok(query) = std::str::from_utf8(query) else {
        return;
    };
    let pairs: Vec<(String, String)> = query
        .split('&')
        .map(|pair| pair.split_once('=').unwrap_or((pair, "")))
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    match kind.wrapping_sub(b'a') % 11 {
        0 => endpoint::<Overview>(pairs),
        1 => endpoint::<Exchanges>(pairs),
        2 => endpoint::<Coins>(pairs),
        3 => endpoint::<Chart>(pairs),
        4 => endpoint::<Orders>(pairs),
        5 => endpoint::<Largest>(pairs),
        6 => endpoint::<Heatmap>(pairs),
        7 => endpoint::<Liqmap>(pairs),
        8 => endpoint::<Levels>(pairs),
        9 => endpoint::<Maxpain>(pairs),
        _ => asked(
            pairs,
            Stream::PARAMETERS,
            Stream::from_arguments,
            // The place to go on from is named in a header.
            |question| {
                question
                    .last_event_id
                    .is_none()
                    .then(|| question.to_query())
            },
        ),
    }
}

fn endpoint<E: Endpoint>(pairs: Vec<(String, String)>) {
    asked(pairs, E::PARAMETERS, E::from_arguments, |question| {
        Some(question.to_query())
    });
}

fn asked<Q: Debug>(
    pairs: Vec<(String, String)>,
    parameters: &[&str],
    read: impl Fn(&Arguments) -> Result<Q, BadQuery>,
    written: impl Fn(&Q) -> Option<Vec<(&'static str, String)>>,
) {
    let Ok(question) = Arguments::from_query(pairs, parameters).and_then(|query| read(&query))
    else {
        return;
    };
    let Some(pairs) = written(&question) else {
        return;
    };
    let again = pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let again = Arguments::from_query(again, parameters).and_then(|query| read(&query));
    assert_eq!(format!("{again:?}"), format!("Ok({question:?})"));
}
