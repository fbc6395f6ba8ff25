//! Parses a query string: the endpoint's parameters, `explain`, `as_of`, and the form of a heatmap.

use axum::http::HeaderMap;
use percent_encoding::percent_decode_str;

use crate::contract::{
    self, Arguments, BadQuery, Endpoint, GRID_TYPE, GridValues, Heatmap, allowed_instants,
    read_instant,
};
use crate::market::MarketQuery;
use crate::model::{Millis, Vocabulary};
use crate::server::answers::accept;

/// A parsed request.
#[derive(Debug)]
pub(crate) struct ParsedQuery<E> {
    /// The query of the endpoint.
    pub(crate) endpoint: E,
    /// Whether the answer includes an explanation.
    pub(crate) explain: bool,
    /// The instant of a historical query. `None` means the newest observation.
    pub(crate) as_of: Option<Millis>,
    /// The type of a heatmap's values in bytes; only for requests that accept bytes.
    pub(crate) values: Option<GridValues>,
    /// The end of the last column of a heatmap that the client has; only for requests that accept bytes.
    pub(crate) since: Option<Millis>,
}

impl<E: MarketQuery> ParsedQuery<E> {
    /// Parses a query string.
    pub(crate) fn read(query: &str) -> Result<Self, BadQuery> {
        let mut pairs = pairs(query)?;
        let mut of_bytes = |wanted| {
            let is_heatmap = E::PATH == <Heatmap as Endpoint>::PATH;
            let named = pairs.iter().position(|(name, _)| name == wanted);
            named.filter(|_| is_heatmap).map(|at| pairs.remove(at).1)
        };
        let (values, since) = (of_bytes(VALUES), of_bytes(SINCE));
        let query = Arguments::from_query(pairs, E::PARAMETERS)?;
        Ok(Self {
            endpoint: E::from_arguments(&query)?,
            explain: query.text("explain").map_or(Ok(false), switch)?,
            as_of: query.text("as_of").map(instant).transpose()?,
            values: values.as_deref().map(grid_values).transpose()?,
            since: since.as_deref().map(column_end).transpose()?,
        })
    }
}

/// The parameter that selects the type of a heatmap's values in bytes.
pub(crate) const VALUES: &str = "values";

/// The parameter that names the last column of a heatmap that the client has.
pub(crate) const SINCE: &str = "since";

fn column_end(text: &str) -> Result<Millis, BadQuery> {
    let refuse = |_| {
        BadQuery::new(
            SINCE,
            format!("{text:?} is not allowed"),
            "epoch milliseconds",
        )
    };
    text.parse().map(Millis).map_err(refuse)
}

fn grid_values(text: &str) -> Result<GridValues, BadQuery> {
    GridValues::parse(text).ok_or_else(|| {
        let problem = format!("{text:?} is not allowed");
        BadQuery::new(VALUES, problem, "u16, f32 or f64")
    })
}

/// Whether the `Accept` header prefers the form of a heatmap in bytes.
pub(crate) fn accepts_grid(headers: &HeaderMap) -> bool {
    accept::prefers(headers, GRID_TYPE)
}

/// Whether the `Prefer` header asks for an explanation.
pub(crate) fn prefers_explained(headers: &HeaderMap) -> bool {
    let lists = headers.get_all(contract::PREFER).iter();
    let mut preferences = lists
        .filter_map(|list| list.to_str().ok())
        .flat_map(|list| list.split(','));
    preferences.any(|one| one.trim().eq_ignore_ascii_case(contract::EXPLAINED))
}

/// Returns an error if the query string has a parameter. Used by pages without parameters.
pub(crate) fn nothing(query: &str) -> Result<(), BadQuery> {
    match pairs(query)?.into_iter().next() {
        None => Ok(()),
        Some((name, _)) => Err(BadQuery::new(
            name,
            "is not a parameter of this endpoint",
            "no parameters",
        )),
    }
}

/// Parses the parameter of `/ready`: the maximum age in seconds. Returns it in milliseconds.
pub(crate) fn max_age(query: &str) -> Result<Option<i64>, BadQuery> {
    const NAME: &str = "max_age";
    let mut given = None;
    for (name, value) in pairs(query)? {
        if name != NAME {
            return Err(BadQuery::new(
                name,
                "is not a parameter of this endpoint",
                NAME,
            ));
        }
        let seconds = value.parse::<u32>().map_err(|_| {
            let allowed = "a whole number of seconds";
            BadQuery::new(NAME, format!("{value:?} is not allowed"), allowed)
        })?;
        given = Some(i64::from(seconds) * 1000);
    }
    Ok(given)
}

fn switch(text: &str) -> Result<bool, BadQuery> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err(BadQuery::new(
            "explain",
            format!("{text:?} is not allowed"),
            "0 or 1",
        )),
    }
}

fn instant(text: &str) -> Result<Millis, BadQuery> {
    read_instant(text).map_err(|problem| {
        let allowed = format!("{} (a + in a URL is written %2B)", allowed_instants());
        BadQuery::new("as_of", problem, allowed)
    })
}

/// Decodes the name-value pairs of a query string. Refuses malformed escapes.
pub(crate) fn pairs(query: &str) -> Result<Vec<(String, String)>, BadQuery> {
    query
        .split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let refuse = |parameter: String, text: &str| {
                BadQuery::new(
                    parameter,
                    format!("{text:?} is not percent-encoded UTF-8"),
                    "UTF-8 text in which % is written %25, & is %26, + is %2B and a blank is + or %20",
                )
            };
            let name = decode(name).ok_or_else(|| refuse(name.to_owned(), name))?;
            match decode(value) {
                Some(value) => Ok((name, value)),
                None => Err(refuse(name, value)),
            }
        })
        .collect()
}

/// `form_urlencoded` accepts malformed escapes, so the text is checked first.
fn decode(text: &str) -> Option<String> {
    let escaped = |behind: &str| {
        let digits = behind.as_bytes().get(..2);
        digits.is_some_and(|digits| digits.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(escaped) {
        return None;
    }
    let text = text.replace('+', " ");
    let decoded = percent_decode_str(&text).decode_utf8().ok()?;
    Some(decoded.into_owned())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;
    use url::form_urlencoded;

    use crate::contract::{Coins, Overview};
    use crate::server::answers::query::*;

    proptest! {
        #[test]
        fn what_a_form_encodes_is_decoded_to_the_same_pairs(wanted: Vec<(String, String)>) {
            // A pair of two empty texts is encoded as "=". Only an empty query string has no pairs.
            let text = form_urlencoded::Serializer::new(String::new()).extend_pairs(&wanted).finish();
            prop_assert_eq!(pairs(&text).unwrap(), wanted);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text: String) {
            let _ = ParsedQuery::<Coins>::read(&text);
        }
    }

    fn refusal(query: &str) -> BadQuery {
        ParsedQuery::<Overview>::read(query).unwrap_err()
    }

    #[test]
    fn a_broken_percent_encoding_is_refused_by_name() {
        for value in ["%", "%4", "%zz", "%-1", "%ff", "%c3%28", "%ed%a0%80"] {
            assert_eq!(refusal(&format!("as_of={value}")).parameter, "as_of");
        }
        assert_eq!(refusal("%f=1").parameter, "%f");
    }

    #[test]
    fn empty_pairs_between_ampersands_say_nothing() {
        assert!(
            ParsedQuery::<Overview>::read("&&explain=1&")
                .unwrap()
                .explain
        );
    }

    #[test]
    fn explain_is_0_or_1() {
        assert!(!ParsedQuery::<Overview>::read("").unwrap().explain);
        assert!(!ParsedQuery::<Overview>::read("explain=0").unwrap().explain);
        for value in ["", "2", "true", "01", "+1"] {
            assert_eq!(refusal(&format!("explain={value}")).parameter, "explain");
        }
    }

    #[test]
    fn as_of_is_epoch_milliseconds_or_iso_8601() {
        for (text, millis) in [
            ("1781136000000", 1_781_136_000_000),
            ("2026-06-11", 1_781_136_000_000),
            ("2026-06-11T02:00:00%2B02:00", 1_781_136_000_000),
            ("2026-06-11+00:00", 1_781_136_000_000),
        ] {
            let question = ParsedQuery::<Overview>::read(&format!("as_of={text}")).unwrap();
            assert_eq!(question.as_of, Some(Millis(millis)), "{text}");
        }
        for text in [
            "",
            "-",
            "now",
            "1.5",
            "1e12",
            "2026",
            "1781136000",
            "-1",
            "99999999999999999999",
            "2026-06-11T02:00:00+02:00",
        ] {
            assert_eq!(
                refusal(&format!("as_of={text}")).parameter,
                "as_of",
                "{text}"
            );
        }
    }
}
