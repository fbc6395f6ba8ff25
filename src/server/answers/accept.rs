//! Content negotiation: the weights of the `Accept` header (RFC 9110, section 12.5.1).

use axum::http::HeaderMap;
use axum::http::header::ACCEPT;

/// The weight of the media type `kind`, from 0 (not acceptable) to 1, and whether a range names it exactly.
///
/// The most specific range counts. Without the header, every type has the weight 1.
pub(crate) fn weight(headers: &HeaderMap, kind: &str) -> (f32, bool) {
    let whole = format!("{}/*", kind.split('/').next().unwrap_or_default());
    let lists = headers.get_all(ACCEPT).iter();
    let mut lists = lists.filter_map(|list| list.to_str().ok()).peekable();
    if lists.peek().is_none() {
        return (1.0, false);
    }
    let ranges = lists.flat_map(|list| list.split(',')).filter_map(|range| {
        let mut pieces = range.split(';').map(str::trim);
        let name = pieces.next().unwrap_or_default();
        let rank = [kind, &whole, "*/*"]
            .iter()
            .position(|known| name.eq_ignore_ascii_case(known))?;
        let weight = pieces
            .filter_map(|piece| piece.split_once('='))
            .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
            .map_or(Some(1.0), |(_, weight)| weight.trim().parse().ok())
            .filter(|weight| (0.0..=1.0).contains(weight));
        Some((rank, weight.unwrap_or(1.0)))
    });
    ranges
        .min_by_key(|(rank, _)| *rank)
        .map_or((0.0, false), |(rank, weight)| (weight, rank == 0))
}

/// Whether `Accept` prefers the type `kind`, which it has to name, over JSON.
///
/// JSON is sent if both are named with the same weight: generated clients name every type of the description.
pub(crate) fn prefers(headers: &HeaderMap, kind: &str) -> bool {
    let (weight_of_kind, is_named) = weight(headers, kind);
    let (json, json_is_named) = weight(headers, "application/json");
    let is_heavier = if json_is_named {
        weight_of_kind > json
    } else {
        weight_of_kind >= json
    };
    is_named && weight_of_kind > 0.0 && is_heavier
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use axum::http::{HeaderMap, HeaderValue, header::ACCEPT};

    use super::{prefers, weight};

    const KIND: &str = "application/vnd.liqdata.grid";

    fn accept(text: &str) -> HeaderMap {
        [(ACCEPT, HeaderValue::from_str(text).unwrap())]
            .into_iter()
            .collect()
    }

    #[test]
    fn the_most_specific_range_has_the_weight() {
        for (text, expected) in [
            ("text/html;q=.5, text/*;q=0.7, */*;q=0.1", (0.5, true)),
            ("TEXT/*; Q=0.7, */*;q=0.1", (0.7, false)),
            ("application/json", (0.0, false)),
            ("text/html;level=1;q=0", (0.0, true)),
            ("text/html;q=nan", (1.0, true)),
        ] {
            assert_eq!(weight(&accept(text), "text/html"), expected, "{text}");
        }
        assert_eq!(weight(&HeaderMap::new(), "text/html"), (1.0, false));
    }

    #[test]
    fn a_form_is_sent_only_to_those_who_name_it_and_do_not_prefer_json() {
        for (text, expected) in [
            (format!("{KIND}, application/json;q=0.9"), true),
            (format!("application/json, {KIND}"), false),
            (format!("{KIND}, */*"), true),
            (KIND.to_uppercase(), true),
            (format!("application/json, {KIND};q=0.1"), false),
            (format!("{KIND};q=0, */*"), false),
            (format!("{KIND};q=0"), false),
            ("*/*".to_owned(), false),
            ("application/*".to_owned(), false),
        ] {
            assert_eq!(prefers(&accept(&text), KIND), expected, "{text}");
        }
    }
}
