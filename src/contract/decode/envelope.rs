//! Reads response bodies: fast read, envelope, refusals, and a second read that locates an error.
//!
//! An envelope is the object `{"success": true, "data": …}` around a reply. A refusal is a body in which the service
//! says why it does not reply.

use std::fmt;

use memchr::memmem;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, MapAccess, Visitor};
use serde_json::Value;

use super::damage::{DecodeError, at, shown};
use super::intake::{BodyReader, BufferedBody, Reading};
use super::reply::{Reply, settled};
use super::token::{Key, Of, Read, Skip, fill, settle};
use super::verdict::{ReplyState, Verdict, is_success};

/// The member that can mark a body as a refusal even if the body has data.
const CODE: &[u8] = b"\"code\"";

/// A reply type that can be decoded from JSON.
pub trait Decode: Reply {
    /// Decodes a reply without an envelope.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] with the place, if `json` breaks the contract.
    fn decode(json: &[u8]) -> Result<Self, DecodeError> {
        alone(json, &|fields| Ok(settled(Self::of(fields)?)?.0))
    }
}

impl<R: Reply> Decode for R {}

/// Reads a body: a reply in its envelope if the endpoint is `enveloped`, otherwise a bare reply.
///
/// # Errors
///
/// [`DecodeError`] with the place, if the body breaks the contract. A refusal is not an error. Every JSON body with
/// `success: false` is a refusal. A body with a reason (`error`, `message` or `msg`) is a refusal in three more cases:
/// it has no data; its `code` is not 0, 1, 200 or `success`; or the endpoint is enveloped and the body has neither
/// `success: true` nor such a code.
///
/// # Examples
///
/// ```
/// use liqdata::model::Order;
/// use liqdata::contract::decode::{Reading, read};
///
/// let body = br#"{"success": true, "data": []}"#;
/// assert_eq!(read::<Vec<Order>>(body, true)?, Reading::Reply(vec![]));
///
/// let body = br#"{"success": false, "error": {"message": "slow down"}}"#;
/// let message = "slow down".to_owned();
/// assert_eq!(read::<Vec<Order>>(body, true)?, Reading::Refused { message });
///
/// let body = br#"{"code": "40001", "msg": "slow down", "data": null}"#;
/// let message = "slow down".to_owned();
/// assert_eq!(read::<Vec<Order>>(body, true)?, Reading::Refused { message });
///
/// let body = br#"{"success": true, "data": [{"exchange": "binance"}]}"#;
/// assert_eq!(read::<Vec<Order>>(body, true).unwrap_err().path, "data[0].symbol");
/// # Ok::<(), liqdata::contract::decode::DecodeError>(())
/// ```
pub fn read<R: Decode>(body: &[u8], enveloped: bool) -> Result<Reading<R>, DecodeError> {
    // After an invalid instant the tolerant reader runs, because it reports the place.
    let quick = R::quick(body, enveloped).and_then(|reply| settled_reading(reply).ok());
    quick.map_or_else(|| tolerant(body, enveloped, R::of), Ok)
}

/// Converts the instants of a complete reply to milliseconds.
pub(super) fn settled_reading<R: Reply>(reply: R) -> Result<Reading<R>, DecodeError> {
    settled(reply).map(|(reply, unit)| match unit {
        Some(unit) => Reading::Converted { reply, unit },
        None => Reading::Reply(reply),
    })
}

/// Returns a body reader for replies of type `R`; it decodes like [`read`].
///
/// # Examples
///
/// ```
/// use liqdata::model::HeatmapGrid;
/// use liqdata::contract::decode::{Reading, intake};
///
/// let body = br#"{"symbol": "BTC", "range": "24h", "model": 2, "currentPrice": 1.5,
///     "updatedAt": 1790000000000, "prices": [1, 2], "times": [1789999940000, 1790000000000], "matrix": [[0, 1], [2.5, 0]]}"#;
/// let mut arriving = intake::<HeatmapGrid>(false);
/// arriving.begin(Some(body.len()));
/// for chunk in body.chunks(100) {
///     arriving.feed(chunk);
/// }
/// let Reading::Reply(heatmap) = arriving.finish()? else {
///     panic!("it is no refusal");
/// };
/// assert_eq!(heatmap.matrix, [0.0, 1.0, 2.5, 0.0]);
/// # Ok::<(), liqdata::contract::decode::DecodeError>(())
/// ```
#[must_use]
pub fn intake<R: Decode>(enveloped: bool) -> Box<dyn BodyReader<R>> {
    let arriving = if enveloped { None } else { R::arriving() };
    arriving.unwrap_or_else(|| {
        Box::new(BufferedBody::read_by(move |body: &[u8]| {
            read(body, enveloped)
        }))
    })
}

/// Reads a body member by member; `of` converts the decoded value to the reply.
pub(super) fn tolerant<S: for<'de> Read<'de>, R: Reply>(
    body: &[u8],
    enveloped: bool,
    of: impl Fn(S) -> Result<R, DecodeError>,
) -> Result<Reading<R>, DecodeError> {
    let json = text(body)?;
    let of = |fields| settled_reading(of(fields)?);
    let around = Around { enveloped, of: &of };
    let read = match first_read(&around, json) {
        Ok(reading) if memmem::find(body, CODE).is_none() => return Ok(reading),
        Ok(reading) => Ok(reading),
        Err(error) => Err(second_read(&around, json, &error)),
    };
    let Some(verdict) = verdict(json) else {
        return read;
    };
    let state = match &read {
        Ok(_) => ReplyState::Complete,
        Err(damage) => ReplyState::of(damage, enveloped),
    };
    match verdict.refusal(enveloped, state) {
        Some(message) => Ok(Reading::Refused { message }),
        None => read.map_err(|damage| verdict.fault(enveloped).unwrap_or(damage)),
    }
}

/// Decodes a JSON body into any deserializable type.
///
/// A member read with [`lenient`](super::lenient) may be a string or a number.
///
/// # Errors
///
/// [`DecodeError`] with the place, if the body does not fit the type.
///
/// # Examples
///
/// ```
/// use liqdata::contract::decode::{lenient, parse};
///
/// #[derive(serde::Deserialize)]
/// struct Row {
///     #[serde(deserialize_with = "lenient")]
///     price: f64,
/// }
///
/// let rows: Vec<Row> = parse(br#"[{"price": "1.5"}, {"price": 2}]"#)?;
/// assert_eq!([rows[0].price, rows[1].price], [1.5, 2.0]);
/// assert_eq!(parse::<Vec<Row>>(br#"[{"price": "x"}]"#).err().unwrap().path, "[0].price");
/// # Ok::<(), liqdata::contract::decode::DecodeError>(())
/// ```
pub fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, DecodeError> {
    alone(body, &|Own(value)| Ok(value))
}

/// Implements `Read` for a type that has its own [`Deserialize`](serde::Deserialize).
struct Own<T>(T);

impl<'de, T: DeserializeOwned> Read<'de> for Own<T> {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        T::deserialize(from).map(Self)
    }
}

/// Reads a value without an envelope; `of` converts it to the reply.
pub(in crate::contract) fn alone<S: for<'de> Read<'de>, R>(
    body: &[u8],
    of: &dyn Fn(S) -> Result<R, DecodeError>,
) -> Result<R, DecodeError> {
    let json = text(body)?;
    let alone = Around {
        enveloped: false,
        of,
    };
    first_read(&alone, json).map_err(|error| second_read(&alone, json, &error))
}

/// The reason in the body of a refusal: `error`, `message` or `msg`.
#[must_use]
pub fn reason(body: &[u8]) -> Option<String> {
    verdict(text(body).ok()?)?.stated()
}

/// The body as text; rejects bodies that cannot be JSON.
fn text(body: &[u8]) -> Result<&str, DecodeError> {
    let json = std::str::from_utf8(body).map_err(|error| {
        DecodeError::whole(format!("is not UTF-8 from byte {}", error.valid_up_to()))
    })?;
    match json.trim_ascii_start().chars().next() {
        None => Err(DecodeError::whole("is empty")),
        Some('\u{feff}') => Err(DecodeError::whole(
            "starts with a byte order mark, which JSON does not allow",
        )),
        Some('<') => Err(DecodeError::whole(format!(
            "is HTML or XML, not JSON: {}",
            shown(json.trim_ascii())
        ))),
        Some(_) => Ok(json),
    }
}

/// Reads the value without tracking its path.
fn first_read<S: for<'de> Read<'de>, R>(
    around: &Around<'_, S, R>,
    json: &str,
) -> Result<R, serde_json::Error> {
    let mut from = serde_json::Deserializer::from_str(json);
    let value = around.read(&mut from)?;
    from.end()?;
    Ok(value)
}

/// Repeats a failed read with path tracking and returns the error.
fn second_read<S: for<'de> Read<'de>, R>(
    around: &Around<'_, S, R>,
    json: &str,
    error: &serde_json::Error,
) -> DecodeError {
    let mut from = serde_json::Deserializer::from_str(json);
    let mut track = serde_path_to_error::Track::new();
    let tracked = serde_path_to_error::Deserializer::new(&mut from, &mut track);
    match around.read(tracked) {
        Err(error) => DecodeError::of(&track.path(), &error),
        // The value is valid, so the error is in the text after it.
        Ok(_) => DecodeError::whole(error.to_string()),
    }
}

/// The envelope of a reply: `{"success": true, "data": …}`, or none.
struct Around<'f, S, R> {
    enveloped: bool,
    of: &'f dyn Fn(S) -> Result<R, DecodeError>,
}

impl<'de, S: Read<'de>, R> Around<'_, S, R> {
    fn read<D: Deserializer<'de>>(&self, from: D) -> Result<R, D::Error> {
        if self.enveloped {
            from.deserialize_map(self)
        } else {
            self.deserialize(from)
        }
    }
}

/// Reads the reply without its envelope.
impl<'de, S: Read<'de>, R> DeserializeSeed<'de> for &Around<'_, S, R> {
    type Value = R;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<R, D::Error> {
        (self.of)(S::read(from)?).map_err(DecodeError::raise)
    }
}

impl<'de, S: Read<'de>, R> Visitor<'de> for &Around<'_, S, R> {
    type Value = R;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with success and data")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<R, A::Error> {
        let mut success: Option<bool> = None;
        let mut code: Option<Value> = None;
        let mut data: Option<R> = None;
        while let Some(Key(key)) = members.next_key_seed(Of::new())? {
            match &*key {
                "success" => {
                    fill(&mut success, "success", &mut members)?;
                    if success == Some(false) {
                        return Err(at("success", "is false"));
                    }
                }
                "code" => code = members.next_value_seed(Of::new())?,
                "data" if data.is_some() => return Err(at("data", "is given twice")),
                "data" => data = Some(members.next_value_seed(self)?),
                _ => {
                    members.next_value_seed(Of::<Skip>::new())?;
                }
            }
        }
        // Some services send `code` instead of `success`.
        let succeeded = code.as_ref().is_some_and(is_success);
        settle(success.or(succeeded.then_some(true)), "success")?;
        data.ok_or_else(|| at("data", "is missing"))
    }
}

/// The members that decide whether a body is a refusal; `None` if the body is no object.
fn verdict(json: &str) -> Option<Verdict> {
    let alone = Around {
        enveloped: false,
        of: &Ok,
    };
    first_read(&alone, json).ok()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fmt::Debug;

    use super::*;
    use crate::model::{CoinTotals, HeatmapGrid, LiquidationMap, Order};

    fn both_ways<R: Reply + PartialEq + Debug>(json: &str, enveloped: bool) {
        let around = Around {
            enveloped,
            of: &R::of,
        };
        let general = first_read(&around, json);
        // Compares printed values, because missing tiers are NaN and not equal to themselves.
        let quick = R::quick(json.as_bytes(), enveloped).unwrap();
        assert_eq!(format!("{quick:?}"), format!("{:?}", general.unwrap()));
        assert_eq!(R::quick(json.as_bytes(), !enveloped), None);
    }

    #[test]
    fn the_quick_read_of_a_plain_body_is_the_general_read() {
        both_ways::<HeatmapGrid>(include_str!("../../../tests/data/heatmap.json"), false);
        both_ways::<LiquidationMap>(include_str!("../../../tests/data/liqmap.json"), false);
        both_ways::<Vec<Order>>(include_str!("../../../tests/data/orders.json"), true);
        both_ways::<Vec<CoinTotals>>(include_str!("../../../tests/data/coins.json"), true);
    }

    #[test]
    fn a_body_cut_anywhere_is_left_to_the_general_read() {
        let orders = include_str!("../../../tests/data/orders.json").trim_end();
        let heatmap = include_str!("../../../tests/data/heatmap.json").trim_end();
        for end in 0..orders.len() {
            let cut = orders.get(..end).unwrap();
            assert_eq!(Vec::<Order>::quick(cut.as_bytes(), true), None, "{end}");
        }
        for end in 0..heatmap.len() {
            let cut = heatmap.get(..end).unwrap();
            assert_eq!(HeatmapGrid::quick(cut.as_bytes(), false), None, "{end}");
        }
    }
}
