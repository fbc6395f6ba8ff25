//! Numbers: doubles to the last bit, decimals exact or refused, whole numbers whole, wherever they stand.

use liqdata::contract::decode::{Reading, exact_decimal, nearest_double, read};
use liqdata::model::{HeatmapGrid, Order, OrderColumns};

use super::arriving::arriving;
use super::exact::{Exact, is_number};
use super::instants::only_instant;
use super::verdict::Verdict;

/// The most that a decimal holds: 96 bits.
const LARGEST: i128 = (1 << 96) - 1;
/// The most significant digits of a decimal, and the most behind the point.
const DIGITS: i128 = 28;

/// The text of a number, or of none.
///
/// # Panics
///
/// Where it is read as another number than it writes, or refused though it could be held.
pub fn check(input: &[u8]) {
    let Ok(text) = std::str::from_utf8(input) else {
        return;
    };
    if !is_number(text) {
        assert!(nearest_double(text).is_err(), "no number, but a double");
        assert!(exact_decimal(text).is_err(), "no number, but a decimal");
        return;
    }
    doubles(text);
    let exact = Exact::of(text);
    decimals(text, &exact);
    in_orders(text, &exact);
}

/// The nearest double is the standard library's, by every way into a heatmap.
fn doubles(text: &str) {
    let wanted = text.parse::<f64>().ok().filter(|value| value.is_finite());
    let bits = wanted.map(f64::to_bits);
    assert_eq!(nearest_double(text).ok().map(f64::to_bits), bits);
    for cell in [text.to_owned(), format!("\"{text}\"")] {
        for (before, behind) in [("", ",0"), ("0,", ""), (" 0 , ", " ")] {
            let body = heatmap(&format!("{before}{cell}{behind}"));
            let column = usize::from(!before.is_empty());
            let read = match read::<HeatmapGrid>(body.as_bytes(), false) {
                Ok(Reading::Reply(heatmap)) => heatmap.matrix.get(column).copied(),
                _ => None,
            };
            assert_eq!(read.map(f64::to_bits), bits, "{body}");
            let (arrived, _) = arriving(body.as_bytes(), &[body.len() - 4], true);
            assert_eq!(matches!(arrived, Verdict::Reply(_)), wanted.is_some());
        }
    }
}

/// A heatmap of one row, its first price the first cell.
fn heatmap(row: &str) -> String {
    format!(
        "{{\"symbol\":\"BTC\",\"range\":\"24h\",\"model\":2,\"updatedAt\":1790000000000,\"currentPrice\":1.5,\
         \"prices\":[1],\"times\":[1790000000000,1790000060000],\"matrix\":[[{row}]]}}"
    )
}

/// A decimal holds the very number, and is refused only where none can.
fn decimals(text: &str, exact: &Exact) {
    match exact_decimal(text) {
        Ok(decimal) => {
            let written = decimal.to_string();
            assert_eq!(&Exact::of(&written), exact, "read as {written}");
            if let Some(as_it_stands) = kept(text) {
                assert_eq!(written, as_it_stands, "another scale than written");
            }
        }
        Err(message) => assert!(!fits(exact), "{message}"),
    }
}

/// Whether a decimal can hold the number.
fn fits(exact: &Exact) -> bool {
    exact.length() <= DIGITS
        && exact.exponent >= -DIGITS
        && exact
            .whole(exact.exponent.min(0).saturating_neg())
            .is_some_and(|size| size.abs() <= LARGEST)
}

/// What a number of few enough digits and no exponent is written as again.
fn kept(text: &str) -> Option<&str> {
    let size = text.strip_prefix('-').unwrap_or(text);
    let significant = size.trim_start_matches(['0', '.']);
    let few = significant.bytes().filter(u8::is_ascii_digit).count() <= 28;
    let behind = size
        .split_once('.')
        .map_or(0, |(_, fraction)| fraction.len());
    let zero = significant.is_empty();
    (few && behind <= 28 && !size.contains(['e', 'E'])).then_some(if zero { size } else { text })
}

/// The same numbers inside order rows, plain or as text.
fn in_orders(text: &str, exact: &Exact) {
    let price = exact_decimal(text).ok().map(|price| price.to_string());
    let timestamp = only_instant(exact);
    for spelled in [text.to_owned(), format!("\"{text}\"")] {
        let [priced, timed] = [(spelled.as_str(), "1790000000000"), ("\"1.5\"", &spelled)].map(row);
        let read = orders(&priced).map(|order| order.price.to_string());
        assert_eq!(read, price, "{priced}");
        let read = orders(&timed).map(|order| order.timestamp.0);
        assert_eq!(read, timestamp, "{timed}");
    }
}

fn row((price, timestamp): (&str, &str)) -> String {
    format!(
        "{{\"success\":true,\"data\":[{{\"exchange\":\"okx\",\"symbol\":\"BTCUSDT\",\"side\":\"LONG\",\"price\":{price},\
         \"qty\":\"0.5\",\"value_usd\":\"1\",\"timestamp\":{timestamp}}}]}}"
    )
}

/// The only order of a body, the same from columns and from rows.
fn orders(body: &str) -> Option<Order> {
    let rows = match read::<Vec<Order>>(body.as_bytes(), true) {
        Ok(Reading::Reply(rows) | Reading::Converted { reply: rows, .. }) => rows,
        _ => Vec::new(),
    };
    let columns = match read::<OrderColumns>(body.as_bytes(), true) {
        Ok(Reading::Reply(columns) | Reading::Converted { reply: columns, .. }) => {
            columns.iter().collect()
        }
        _ => Vec::new(),
    };
    assert_eq!(columns, rows);
    rows.into_iter().next()
}
