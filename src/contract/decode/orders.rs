//! Order rows, decoded into columns.
//!
//! A row with its members in the contract's order and without whitespace is read by a template. Any other row is read
//! member by member. The tolerant reader reads bodies that are not plain (see `decode::quick`).

use rust_decimal::Decimal;

use super::damage::DecodeError;
use super::number::exact_decimal;
use super::quick::{Cursor, first};
use super::reply::Reply;
use super::time::InstantPlace;
use crate::model::{GroupedOrder, Millis, OrderColumns, ShortDecimal, Side};

/// Approximate minimum size of a row in bytes.
const ROW: usize = 100;

impl Reply for OrderColumns {
    type Fields = Option<Vec<GroupedOrder>>;

    fn of(sheet: Self::Fields) -> Result<Self, DecodeError> {
        Ok(sheet.unwrap_or_default().into_iter().collect())
    }

    fn instants(&mut self, mut visit: impl FnMut(InstantPlace, &mut Millis)) {
        for (row, at) in self.timestamp.iter_mut().enumerate() {
            visit(InstantPlace::Cell(row, "timestamp"), at);
        }
    }

    fn quick(body: &[u8], enveloped: bool) -> Option<Self> {
        enveloped.then_some(())?;
        let mut from = Cursor::of(body);
        let mut columns = Self::with_capacity(from.left() / ROW);
        from.rows(|from| {
            let row = template(from).or_else(|| members(from))?;
            columns.exchange.push(row.exchange);
            columns.symbol.push(row.symbol);
            columns.side.push(row.side);
            for (column, amount) in [
                (&mut columns.price, row.price),
                (&mut columns.qty, row.qty),
                (&mut columns.value_usd, row.value_usd),
            ] {
                match amount {
                    Amount::Short(value) => column.push_short(value),
                    Amount::Long(value) => column.push(value),
                }
            }
            columns.timestamp.push(row.timestamp);
            columns.push_group(row.group.map(str::to_owned));
            Some(())
        })?;
        Some(columns)
    }
}

/// A decoded row that borrows its text from the body.
struct Row<'a> {
    exchange: &'a str,
    symbol: &'a str,
    side: Side,
    price: Amount,
    qty: Amount,
    value_usd: Amount,
    timestamp: Millis,
    /// The group id, if present.
    group: Option<&'a str>,
}

/// An exact decimal.
pub(super) enum Amount {
    Short(ShortDecimal),
    Long(Decimal),
}

impl Amount {
    pub(super) fn value(self) -> Decimal {
        match self {
            Self::Short(value) => value.decimal(),
            Self::Long(value) => value,
        }
    }
}

/// Reads a row with its members in the contract's order and no whitespace.
///
/// Consumes nothing if the row has another form.
#[inline]
fn template<'a>(from: &mut Cursor<'a>) -> Option<Row<'a>> {
    let mut row = *from;
    // Each literal is compared in place, so that the compiler knows its length.
    let short = |row: &mut Cursor<'a>| row.short_decimal().map(Amount::Short);
    let read = Row {
        exchange: {
            row.exactly("{\"exchange\":\"")?;
            row.text()?
        },
        symbol: {
            row.exactly(",\"symbol\":\"")?;
            row.text()?
        },
        side: match row.exactly(",\"side\":\"").and_then(|()| row.text())? {
            "LONG" => Side::Long,
            "SHORT" => Side::Short,
            _ => return None,
        },
        price: {
            row.exactly(",\"price\":\"")?;
            short(&mut row)?
        },
        qty: {
            row.exactly("\",\"qty\":\"")?;
            short(&mut row)?
        },
        value_usd: {
            row.exactly("\",\"value_usd\":\"")?;
            short(&mut row)?
        },
        timestamp: {
            row.exactly("\",\"timestamp\":")?;
            Millis(row.whole()?)
        },
        group: None,
    };
    if row.exactly("}").is_none() {
        row.exactly(",\"coin\":\"")?;
        row.text()?;
        row.exactly("}")?;
    }
    *from = row;
    Some(read)
}

/// Reads a row with its members in any order.
fn members<'a>(from: &mut Cursor<'a>) -> Option<Row<'a>> {
    let (mut exchange, mut symbol, mut side, mut timestamp) = (None, None, None, None);
    let (mut price, mut qty, mut value_usd) = (None, None, None);
    let mut group = None;
    from.take(b'{')?;
    loop {
        match from.key()? {
            "exchange" => first(&mut exchange, from.string())?,
            "symbol" => first(&mut symbol, from.string())?,
            "side" => first(&mut side, Side::read(from.string()?))?,
            "price" => first(&mut price, amount(from))?,
            "qty" => first(&mut qty, amount(from))?,
            "value_usd" => first(&mut value_usd, amount(from))?,
            "timestamp" => first(&mut timestamp, from.whole().map(Millis))?,
            "group_id" => {
                // `null` also means absent.
                let given = if from.peek() == Some(b'"') {
                    from.string().map(Some)
                } else {
                    from.exactly("null").map(|()| None)
                };
                first(&mut group, given)?;
            }
            // A skipped value must still be valid UTF-8.
            _ => from.skip_text()?,
        }
        if !from.more(b'}')? {
            break;
        }
    }
    Some(Row {
        exchange: exchange?,
        symbol: symbol?,
        side: side?,
        price: price?,
        qty: qty?,
        value_usd: value_usd?,
        timestamp: timestamp?,
        group: group.flatten(),
    })
}

/// A decimal as a string or a number.
pub(super) fn amount(from: &mut Cursor<'_>) -> Option<Amount> {
    let quoted = from.takes(b'"');
    let mut short = *from;
    if let Some(value) = short.short_decimal()
        && (!quoted || short.exactly("\"").is_some())
    {
        *from = short;
        return Some(Amount::Short(value));
    }
    let text = if quoted { from.text()? } else { from.number()? };
    exact_decimal(text).ok().map(Amount::Long)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::contract::decode::reply::settled;
    use crate::contract::decode::token::Read;
    use crate::contract::decode::{Reading, read};

    /// The result of the tolerant reader, for comparison.
    fn tolerant(body: &[u8]) -> Result<Vec<GroupedOrder>, String> {
        #[derive(serde::Deserialize)]
        struct Envelope {
            #[serde(deserialize_with = "Read::read")]
            data: Option<Vec<GroupedOrder>>,
        }

        serde_json::from_slice(body)
            .map(|envelope: Envelope| envelope.data.unwrap_or_default())
            .map_err(|error| error.to_string())
    }

    fn quick(body: &str) -> Option<Vec<GroupedOrder>> {
        OrderColumns::quick(body.as_bytes(), true).map(Into::into)
    }

    fn body(rows: &[String]) -> String {
        format!("{{\"success\":true,\"data\":[{}]}}", rows.join(","))
    }

    const TEMPLATE: &str = r#"{"exchange":"okx","symbol":"BTCUSDT","side":"LONG","price":"63250.10","qty":"0.190","value_usd":"12017.519","timestamp":1790000000000}"#;

    #[test]
    fn rows_in_the_contracts_order_are_read_by_the_template() {
        let mut from = Cursor::of(TEMPLATE.as_bytes());
        assert!(template(&mut from).is_some());
        assert_eq!(from.left(), 0);
        let rows = quick(&body(&[TEMPLATE.to_owned(), TEMPLATE.to_owned()])).unwrap();
        assert_eq!(rows.len(), 2);
        assert_eq!(rows.first().unwrap().order.price.to_string(), "63250.10");
    }

    #[test]
    fn the_coin_of_a_row_is_left_out_by_the_template() {
        let row = TEMPLATE.replace('}', r#","coin":"BTC"}"#);
        let mut from = Cursor::of(row.as_bytes());
        assert!(template(&mut from).is_some());
        assert_eq!(from.left(), 0);
        assert_eq!(quick(&body(&[row])), quick(&body(&[TEMPLATE.to_owned()])));
    }

    #[test]
    fn no_rows_are_no_surprise() {
        for body in [
            "{\"success\":true,\"data\":[]}",
            " { \"success\" : true , \"data\" : [ ] } ",
        ] {
            assert_eq!(quick(body), Some(Vec::new()), "{body}");
        }
    }

    #[test]
    fn what_is_not_plain_is_left_to_the_tolerant_readers() {
        for (from, to) in [
            ("\"okx\"", "\"ok\\u0078\""),
            ("\"LONG\"", "\"UP\""),
            ("\"63250.10\"", "\"063250.10\""),
            ("\"63250.10\"", "\"63250.\""),
            ("\"63250.10\"", "\"63250.10 \""),
            ("\"63250.10\"", "null"),
            ("1790000000000", "1790000000000.0"),
            ("1790000000000", "\"1790000000000\""),
            ("1790000000000}", "1790000000000,\"qty\":\"1\"}"),
            (",\"timestamp\":1790000000000", ""),
            ("}", "},"),
            ("}", ""),
        ] {
            let damaged = TEMPLATE.replace(from, to);
            assert_eq!(
                quick(&body(std::slice::from_ref(&damaged))),
                None,
                "{damaged}"
            );
        }
        assert_eq!(quick(&format!("{} ]", body(&[]))), None);
        let invalid = body(&[TEMPLATE.to_owned()])
            .replace("okx", "ok?")
            .into_bytes();
        let invalid: Vec<u8> = invalid
            .into_iter()
            .map(|byte| if byte == b'?' { 0xFF } else { byte })
            .collect();
        assert_eq!(OrderColumns::quick(&invalid, true), None);
    }

    /// Generates a member of a row; the pattern `value` gives its possible values.
    fn member(name: &'static str, value: &'static str) -> impl Strategy<Value = String> {
        let blank = "[ \n\t]{0,2}";
        (blank, value, blank)
            .prop_map(move |(before, value, behind)| format!("\"{name}\"{before}:{behind}{value}"))
    }

    const NAME: &str = "\"[a-zA-Z]{0,9}\"|\"é[ -!#-\\[\\]-~]{0,20}\"";
    const SIDE: &str = "\"LONG\"|\"SHORT\"|\"long\"|\"Short\"";
    const AMOUNT: &str = "\"-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,8})?\"|\"[0-9]{1,25}(\\.[0-9]{1,20})?\"|-?(0|[1-9][0-9]{0,9})(\\.[0-9]{1,8})?|\"[1-9]e-?[0-9]\"|1e2";
    const TIME: &str = "0|-?[1-9][0-9]{0,17}";
    const OTHER: &str = "null|true|\"x\"|-1.5|1e999|\\[\\]|\\{\\}|\\[1,\\{\"a\":\"]\"\\}\\]";

    fn row() -> impl Strategy<Value = String> {
        let members = vec![
            member("exchange", NAME).boxed(),
            member("symbol", NAME).boxed(),
            member("side", SIDE).boxed(),
            member("price", AMOUNT).boxed(),
            member("qty", AMOUNT).boxed(),
            member("value_usd", AMOUNT).boxed(),
            member("timestamp", TIME).boxed(),
        ];
        let other = prop::option::of(member("id", OTHER));
        let group = prop::option::of(member("group_id", "null|\"order:[0-9]{1,9}\""));
        (members, other, group, any::<bool>(), any::<u64>()).prop_map(
            |(mut members, other, group, shuffled, seed)| {
                members.extend(other);
                members.extend(group);
                if shuffled {
                    fastrand::Rng::with_seed(seed).shuffle(&mut members);
                }
                format!("{{{}}}", members.join(","))
            },
        )
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1000))]

        #[test]
        fn what_is_read_quickly_is_what_the_tolerant_readers_read(rows in prop::collection::vec(row(), 0..5)) {
            let body = body(&rows);
            let slow = tolerant(body.as_bytes());
            if let Some(quick) = quick(&body) {
                let slow = slow.clone();
                prop_assert_eq!(format!("{quick:?}"), format!("{:?}", slow.unwrap()), "{}", body);
            }
            let whole: Result<Reading<OrderColumns>, DecodeError> = read(body.as_bytes(), true);
            let slow = slow.and_then(|rows| {
                let columns: OrderColumns = rows.into_iter().collect();
                settled(columns).map_err(|damage| damage.to_string())
            });
            match (whole, slow) {
                (Ok(Reading::Reply(columns)), Ok(slow)) => {
                    prop_assert_eq!((columns, None), slow);
                }
                (Ok(Reading::Converted { reply, unit }), Ok(slow)) => {
                    prop_assert_eq!((reply, Some(unit)), slow);
                }
                (Err(_), Err(_)) => {}
                (whole, slow) => prop_assert!(false, "{}: {:?} against {:?}", body, whole, slow),
            }
        }

        #[test]
        fn a_body_that_breaks_off_or_is_damaged_is_never_read_wrongly(
            rows in prop::collection::vec(row(), 1..4),
            at in any::<prop::sample::Index>(),
            with in prop::option::of(any::<u8>()),
        ) {
            let mut body = body(&rows).into_bytes();
            let at = at.index(body.len());
            match with {
                Some(byte) => *body.get_mut(at).unwrap() = byte,
                None => body.truncate(at),
            }
            if let Some(quick) = OrderColumns::quick(&body, true) {
                let slow = tolerant(&body).unwrap();
                prop_assert_eq!(Vec::<GroupedOrder>::from(quick), slow);
            }
        }
    }
}
