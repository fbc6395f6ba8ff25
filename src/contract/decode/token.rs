//! Reads single values; the type of the field decides how, not the JSON token.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use rust_decimal::Decimal;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::damage::{at, excerpt, shown};
use super::number::{exact_decimal, nearest_double, whole_number};
use super::time::{as_it_stands, axis_instant, instant};
use crate::model::{Millis, Side, Vocabulary};

/// Maximum nesting depth of a skipped member.
const DEPTH: usize = 128;

/// A value of the contract that may be a string or a number token.
///
/// Like [`serde::Deserialize`], but with the contract's rules for `f64`, `String` and others.
pub trait Read<'de>: Sized {
    /// Reads the value.
    ///
    /// # Errors
    ///
    /// The deserializer's error, for a token that is not such a value.
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;

    /// The value of a missing member; `None` if the member is required.
    #[must_use]
    fn absent() -> Option<Self> {
        None
    }
}

/// Reads a number that may be a string, or a string that may be a number.
///
/// For use in `#[serde(deserialize_with)]`.
///
/// # Errors
///
/// If the token cannot be read as `T`.
pub fn lenient<'de, T: Read<'de>, D: Deserializer<'de>>(from: D) -> Result<T, D::Error> {
    T::read(from)
}

/// Like [`lenient`], for an instant in epoch milliseconds, epoch seconds or ISO 8601.
///
/// # Errors
///
/// If the token is not an instant.
pub fn lenient_instant<'de, D: Deserializer<'de>>(from: D) -> Result<Millis, D::Error> {
    Instant::read(from).map(|Instant(time)| time)
}

/// A serde seed that reads a `T`.
pub(in crate::contract) struct Of<T>(PhantomData<T>);

impl<T> Of<T> {
    pub(in crate::contract) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: Read<'de>> DeserializeSeed<'de> for Of<T> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T, D::Error> {
        T::read(from)
    }
}

/// Reads the value of member `key` into `slot`.
pub(in crate::contract) fn fill<'de, T: Read<'de>, A: MapAccess<'de>>(
    slot: &mut Option<T>,
    key: &str,
    members: &mut A,
) -> Result<(), A::Error> {
    if slot.is_some() {
        return Err(at(key, "is given twice"));
    }
    *slot = Some(members.next_value_seed(Of::new())?);
    Ok(())
}

/// The value of member `key` after the object was read; an error if a required member is missing.
pub(in crate::contract) fn settle<'de, T: Read<'de>, E: Error>(
    slot: Option<T>,
    key: &str,
) -> Result<T, E> {
    slot.or_else(T::absent).ok_or_else(|| at(key, "is missing"))
}

/// Implements [`Read`] for a struct that is a JSON object.
///
/// Members may come in any order, each at most once; unknown members are skipped. The member name is the field name
/// unless the macro call gives another name.
macro_rules! object {
    (@key $field:ident) => { stringify!($field) };
    (@key $field:ident $key:literal) => { $key };
    ($type:ident, $what:literal, { $($field:ident $(: $key:literal)?),+ $(,)? }) => {
        impl<'de> $crate::contract::decode::token::Read<'de> for $type {
            fn read<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                struct Members;

                impl<'de> serde::de::Visitor<'de> for Members {
                    type Value = $type;

                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str($what)
                    }

                    fn visit_map<A>(self, mut members: A) -> Result<$type, A::Error>
                    where
                        A: serde::de::MapAccess<'de>,
                    {
                        use $crate::contract::decode::token::{Key, Of, Skip, fill, object, settle};

                        $(let mut $field = None;)+
                        while let Some(Key(key)) = members.next_key_seed(Of::new())? {
                            $(if &*key == object!(@key $field $($key)?) {
                                fill(&mut $field, &key, &mut members)?;
                                continue;
                            })+
                            members.next_value_seed(Of::<Skip>::new())?;
                        }
                        Ok($type { $($field: settle($field, object!(@key $field $($key)?))?,)+ })
                    }
                }

                from.deserialize_map(Members)
            }
        }
    };
}

pub(super) use object;

/// The name of a member.
pub(in crate::contract) struct Key<'de>(pub(in crate::contract) Cow<'de, str>);

impl<'de> Read<'de> for Key<'de> {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Name;

        impl<'de> Visitor<'de> for Name {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a member")
            }

            fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(name)))
            }

            fn visit_str<E: Error>(self, name: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(name.to_owned())))
            }
        }

        from.deserialize_str(Name)
    }
}

/// The value of an unused member: validated as JSON and skipped.
pub(in crate::contract) struct Skip;

impl<'de> Read<'de> for Skip {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw: &RawValue = serde::Deserialize::deserialize(from)?;
        if depth(raw.get()) > DEPTH {
            return Err(D::Error::custom(format_args!(
                "nests deeper than {DEPTH} levels"
            )));
        }
        Ok(Self)
    }
}

/// Nesting depth of arrays and objects in a JSON text.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    let mut bytes = json.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'[' | b'{' => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            b'"' => {
                while let Some(byte) = bytes.next() {
                    match byte {
                        b'"' => break,
                        b'\\' => drop(bytes.next()),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    deepest
}

/// The JSON text of a value, to be parsed later.
pub(super) struct Raw<'de>(pub(super) &'de str);

impl<'de> Read<'de> for Raw<'de> {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let raw: &'de RawValue = serde::Deserialize::deserialize(from)?;
        Ok(Self(raw.get()))
    }
}

/// The text of a string or number token.
fn scalar<'de, D: Deserializer<'de>>(from: D, what: &str) -> Result<Cow<'de, str>, D::Error> {
    let Raw(json) = Raw::read(from)?;
    let string = json
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    match string {
        Some(text) if !text.contains('\\') => Ok(Cow::Borrowed(text)),
        Some(_) => serde_json::from_str(json)
            .map(Cow::Owned)
            .map_err(D::Error::custom),
        None if json.starts_with(|first: char| first == '-' || first.is_ascii_digit()) => {
            Ok(Cow::Borrowed(json))
        }
        None => Err(D::Error::custom(format_args!(
            "{} is not {what}",
            kind(json)
        ))),
    }
}

/// Describes a JSON value that is neither a string nor a number, for messages.
fn kind(json: &str) -> &str {
    match json.bytes().next() {
        Some(b'[') => "an array",
        Some(b'{') => "an object",
        _ => json,
    }
}

impl<'de> Read<'de> for String {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        scalar(from, "a text").map(Cow::into_owned)
    }
}

impl<'de> Read<'de> for Decimal {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        exact_decimal(&scalar(from, "a decimal")?).map_err(D::Error::custom)
    }
}

impl<'de> Read<'de> for i64 {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        whole_number(&scalar(from, "a whole number")?, "in 64 bits").map_err(D::Error::custom)
    }
}

/// A count; must fit a signed 64-bit integer, because consumers store it as one.
impl<'de> Read<'de> for u64 {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        const RANGE: &str = "from 0 to 9223372036854775807";
        let text = scalar(from, "a whole number")?;
        let count: i64 = whole_number(&text, RANGE).map_err(D::Error::custom)?;
        count.try_into().map_err(|_| {
            D::Error::custom(format_args!(
                "{} is not a whole number {RANGE}",
                shown(&text)
            ))
        })
    }
}

/// An instant in the unit of its reply, which is only known when the reply is complete.
impl<'de> Read<'de> for Millis {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        as_it_stands(&scalar(from, "a whole number")?).map_err(D::Error::custom)
    }
}

/// An instant of an axis: a number in the unit of its reply, or ISO 8601.
#[derive(Debug)]
pub(in crate::contract) struct AxisInstant(pub(in crate::contract) Millis);

impl<'de> Read<'de> for AxisInstant {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        axis_instant(&scalar(from, "an instant")?)
            .map(Self)
            .map_err(D::Error::custom)
    }
}

/// An instant in any format that [`instant`] parses: epoch seconds, epoch milliseconds or ISO 8601.
#[derive(Debug)]
pub(super) struct Instant(pub(super) Millis);

impl<'de> Read<'de> for Instant {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        instant(&scalar(from, "an instant")?)
            .map(Self)
            .map_err(D::Error::custom)
    }
}

impl<'de> Read<'de> for Side {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let allowed = Side::spellings();
        let text = scalar(from, &allowed)?;
        Self::read(&text)
            .ok_or_else(|| D::Error::custom(format_args!("{} is not {allowed}", shown(&text))))
    }
}

impl<'de> Read<'de> for bool {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        match Raw::read(from)?.0 {
            "true" => Ok(true),
            "false" => Ok(false),
            json => Err(D::Error::custom(format_args!(
                "{} is not true or false",
                shown(json)
            ))),
        }
    }
}

/// Reads a double from a number token or a string.
///
/// A number token is parsed without a copy of its text, because matrices have hundreds of thousands of tokens.
struct Double {
    /// Whether `null` is allowed, as NaN.
    null: bool,
}

impl Visitor<'_> for Double {
    type Value = f64;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.null {
            "a number or null"
        } else {
            "a number"
        })
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<f64, E> {
        Ok(value)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "rounding to the nearest double is intended"
    )]
    fn visit_u64<E: Error>(self, value: u64) -> Result<f64, E> {
        Ok(value as f64)
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "rounding to the nearest double is intended"
    )]
    fn visit_i64<E: Error>(self, value: i64) -> Result<f64, E> {
        Ok(value as f64)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
        nearest_double(text).map_err(E::custom)
    }

    fn visit_unit<E: Error>(self) -> Result<f64, E> {
        if self.null {
            return Ok(f64::NAN);
        }
        Err(E::custom("null is not a number"))
    }
}

impl<'de> Read<'de> for f64 {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Double { null: false })
    }
}

/// A matrix cell: a number, or `null` for NaN.
#[derive(Debug)]
pub(in crate::contract) struct CellToken(pub(in crate::contract) f64);

impl<'de> Read<'de> for CellToken {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(Double { null: true }).map(Self)
    }
}

impl<'de, T: Read<'de>> Read<'de> for Option<T> {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Maybe<T>(PhantomData<T>);

        impl<'de, T: Read<'de>> Visitor<'de> for Maybe<T> {
            type Value = Option<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or null")
            }

            fn visit_none<E: Error>(self) -> Result<Option<T>, E> {
                Ok(None)
            }

            fn visit_unit<E: Error>(self) -> Result<Option<T>, E> {
                Ok(None)
            }

            fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Option<T>, D::Error> {
                T::read(from).map(Some)
            }
        }

        from.deserialize_option(Maybe(PhantomData))
    }

    fn absent() -> Option<Self> {
        Some(None)
    }
}

impl<'de, T: Read<'de>> Read<'de> for Vec<T> {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Items<T>(PhantomData<T>);

        impl<'de, T: Read<'de>> Visitor<'de> for Items<T> {
            type Value = Vec<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
                let mut read = Vec::new();
                while let Some(item) = items.next_element_seed(Of::new())? {
                    read.push(item);
                }
                Ok(read)
            }
        }

        from.deserialize_seq(Items(PhantomData))
    }
}

/// An object with integer keys; a `null` entry counts as absent.
impl<'de, T: Read<'de>> Read<'de> for BTreeMap<i64, T> {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: Read<'de>> Visitor<'de> for Entries<T> {
            type Value = BTreeMap<i64, Option<T>>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object keyed by leverage")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut members: A,
            ) -> Result<BTreeMap<i64, Option<T>>, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some(Key(key)) = members.next_key_seed(Of::new())? {
                    let number = whole_number(&key, "in 64 bits")
                        .map_err(|message| at(excerpt(&key), message))?;
                    let value = members.next_value_seed(Of::new())?;
                    if entries.insert(number, value).is_some() {
                        return Err(at(number, "is given twice"));
                    }
                }
                Ok(entries)
            }
        }

        let entries = from.deserialize_map(Entries(PhantomData))?;
        Ok(entries
            .into_iter()
            .filter_map(|(number, value)| Some((number, value?)))
            .collect())
    }
}
