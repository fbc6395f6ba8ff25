//! The types of members: how a value is written, read and described.

use std::any::type_name;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::marker::PhantomData;
use std::mem;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::{SerializeMap, SerializeSeq};
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use super::data::{Data, Datum};
use super::schema::titled;
use crate::contract::decode::{
    AxisInstant, CellToken, Cursor, InstantPlace, Key, Of, Read, at, excerpt, whole_number,
};
use crate::model::{Millis, Vocabulary};

/// The type of a member: how its value is written, read and described.
///
/// A type that is its own value is a number, for example. [`Cells`] and others say how a value of another type is sent.
pub trait MemberValue {
    /// The type of the value in memory.
    type Value;
    /// Name of the type in the reference.
    const KIND: &'static str;
    /// Whether the member may be absent.
    const OPTIONAL: bool = false;

    /// JSON schema of the value.
    fn schema() -> Value;

    /// Reads the value from any JSON that means it.
    ///
    /// # Errors
    ///
    /// If the token cannot be read.
    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self::Value, D::Error>;

    /// Reads the value from plain JSON; `None` if only [`read`](Self::read) can read it.
    fn quick(from: &mut Cursor<'_>) -> Option<Self::Value>;

    /// The value of an absent member; `None` if the member is required.
    #[must_use]
    fn absent() -> Option<Self::Value> {
        None
    }

    /// Whether the member is sent.
    #[must_use]
    fn is_sent(_value: &Self::Value) -> bool {
        true
    }

    /// Writes the value.
    ///
    /// # Errors
    ///
    /// The serializer's error.
    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error>;

    /// Moves the value out.
    fn data(value: &mut Self::Value) -> Data;

    /// Passes each instant of the value to `visit`; `name` is the name of the member.
    fn instants(
        _value: &mut Self::Value,
        _name: &'static str,
        _visit: &mut dyn FnMut(InstantPlace, &mut Millis),
    ) {
    }
}

/// A value with its member type, which writes it.
pub(super) struct SentValue<'a, T: MemberValue>(pub(super) &'a T::Value);

impl<T: MemberValue> Serialize for SentValue<'_, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        T::write(self.0, serializer)
    }
}

/// A serde seed that reads the value of a member type.
pub(super) struct Seed<T>(PhantomData<T>);

impl<T> Seed<T> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

impl<'de, T: MemberValue> DeserializeSeed<'de> for Seed<T> {
    type Value = T::Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<T::Value, D::Error> {
        T::read(from)
    }
}

/// Implements [`MemberValue`] for types that serialize themselves.
macro_rules! values {
    ($(
        $type:ty as $kind:literal, $schema:tt,
        |$from:ident| $quick:expr, |$value:ident| $data:expr
        $(, read as $read:ty, |$token:ident| $of:expr)?;
    )+) => {$(
        impl MemberValue for $type {
            type Value = Self;
            const KIND: &'static str = $kind;

            fn schema() -> Value {
                json!($schema)
            }

            fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                values!(@read from $(, $read, |$token| $of)?)
            }

            fn quick($from: &mut Cursor<'_>) -> Option<Self> {
                $quick
            }

            fn write<S: Serializer>(value: &Self, serializer: S) -> Result<S::Ok, S::Error> {
                value.serialize(serializer)
            }

            fn data($value: &mut Self) -> Data {
                $data
            }
        }
    )+};
    (@read $from:ident) => { Read::read($from) };
    (@read $from:ident, $read:ty, |$token:ident| $of:expr) => {{
        let $token: $read = Read::read($from)?;
        Ok($of)
    }};
}

values! {
    String as "text", {"type": "string"},
        |from| from.string().map(str::to_owned), |text| Data::Text(Cow::Owned(mem::take(text)));
    i64 as "int", {"type": "integer"},
        |from| from.whole(), |number| Data::Int(*number);
    f64 as "float", {"type": "number"},
        |from| from.double(), |number| Data::Float(*number);
    bool as "bool", {"type": "boolean"},
        |from| from.boolean(), |truth| Data::Bool(*truth);
    Vec<i64> as "list", {"type": "array", "items": {"type": "integer"}},
        |from| from.list(Cursor::whole), |numbers| Data::Ints(mem::take(numbers));
    Vec<f64> as "list", {"type": "array", "items": {"type": "number"}},
        |from| doubles(from), |numbers| Data::Floats(mem::take(numbers));
}

fn doubles(from: &mut Cursor<'_>) -> Option<Vec<f64>> {
    let mut numbers = Vec::new();
    from.doubles(&mut numbers)?;
    Some(numbers)
}

/// An instant in the unit of its reply, which is known when the reply is complete.
impl MemberValue for Millis {
    type Value = Self;
    const KIND: &'static str = "time";

    fn schema() -> Value {
        json!({"type": "integer"})
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Read::read(from)
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Self> {
        from.whole().map(Self)
    }

    fn write<S: Serializer>(value: &Self, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    fn data(value: &mut Self) -> Data {
        Data::Time(value.0)
    }

    fn instants(
        value: &mut Self,
        name: &'static str,
        visit: &mut dyn FnMut(InstantPlace, &mut Millis),
    ) {
        visit(InstantPlace::Member(name), value);
    }
}

/// The instants of an axis, which other services may send as ISO 8601.
impl MemberValue for Vec<Millis> {
    type Value = Self;
    const KIND: &'static str = "list";

    fn schema() -> Value {
        json!({"type": "array", "items": {"type": "integer"}})
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let instants: Vec<AxisInstant> = Read::read(from)?;
        Ok(instants.into_iter().map(|AxisInstant(at)| at).collect())
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Self> {
        from.list(|from| from.whole().map(Millis))
    }

    fn write<S: Serializer>(value: &Self, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    fn data(value: &mut Self) -> Data {
        Data::Times(value.iter().map(|at| at.0).collect())
    }

    fn instants(
        value: &mut Self,
        name: &'static str,
        visit: &mut dyn FnMut(InstantPlace, &mut Millis),
    ) {
        for (index, at) in value.iter_mut().enumerate() {
            visit(InstantPlace::Item(name, index), at);
        }
    }
}

/// A member that may be absent.
impl<T: MemberValue> MemberValue for Option<T> {
    type Value = Option<T::Value>;
    const KIND: &'static str = T::KIND;
    const OPTIONAL: bool = true;

    fn schema() -> Value {
        T::schema()
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self::Value, D::Error> {
        struct Present<T>(PhantomData<T>);

        impl<'de, T: MemberValue> Visitor<'de> for Present<T> {
            type Value = Option<T::Value>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a value or null")
            }

            fn visit_none<E: Error>(self) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                Ok(None)
            }

            fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Self::Value, D::Error> {
                T::read(from).map(Some)
            }
        }

        from.deserialize_option(Present::<T>(PhantomData))
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Self::Value> {
        T::quick(from).map(Some)
    }

    fn absent() -> Option<Self::Value> {
        Some(None)
    }

    fn is_sent(value: &Self::Value) -> bool {
        value.is_some()
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        match value {
            Some(value) => T::write(value, serializer),
            None => serializer.serialize_none(),
        }
    }

    fn data(value: &mut Self::Value) -> Data {
        value.as_mut().map_or(Data::Absent, T::data)
    }

    fn instants(
        value: &mut Self::Value,
        name: &'static str,
        visit: &mut dyn FnMut(InstantPlace, &mut Millis),
    ) {
        if let Some(value) = value {
            T::instants(value, name, visit);
        }
    }
}

/// A value that is sent as `null` if there is none.
#[derive(Debug)]
pub struct Nullable<T>(PhantomData<T>);

impl<T: MemberValue> MemberValue for Nullable<T> {
    type Value = Option<T::Value>;
    const KIND: &'static str = T::KIND;

    fn schema() -> Value {
        let mut schema = T::schema();
        if let Some(kind) = schema.get("type").cloned()
            && let Some(schema) = schema.as_object_mut()
        {
            schema.remove("title");
            schema.insert("type".to_owned(), json!([kind, "null"]));
        }
        schema
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self::Value, D::Error> {
        Option::<T>::read(from)
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Self::Value> {
        T::quick(from).map(Some)
    }

    fn absent() -> Option<Self::Value> {
        Some(None)
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        Option::<T>::write(value, serializer)
    }

    fn data(value: &mut Self::Value) -> Data {
        value.as_mut().map_or(Data::Null, T::data)
    }
}

/// A share from 0 to 1.
#[derive(Debug)]
pub struct Fraction;

impl MemberValue for Fraction {
    type Value = f64;
    const KIND: &'static str = "float";

    fn schema() -> Value {
        json!({"type": "number", "minimum": 0, "maximum": 1})
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
        Read::read(from)
    }

    fn quick(from: &mut Cursor<'_>) -> Option<f64> {
        from.double()
    }

    fn write<S: Serializer>(value: &f64, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    fn data(value: &mut f64) -> Data {
        Data::Float(*value)
    }
}

/// A word of a closed vocabulary, if it is known. A word that is not known counts as absent.
#[derive(Debug)]
pub struct Words<W>(PhantomData<W>);

impl<W: Vocabulary> MemberValue for Words<W> {
    type Value = Option<W>;
    const KIND: &'static str = "text";
    const OPTIONAL: bool = true;

    fn schema() -> Value {
        let names: Vec<&str> = W::ALL.iter().map(|word| word.name()).collect();
        let path = type_name::<W>();
        let name = path.rsplit("::").next().unwrap_or(path);
        titled(name, json!({"type": "string", "enum": names}))
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Option<W>, D::Error> {
        let text: Option<String> = Read::read(from)?;
        Ok(text.as_deref().and_then(W::parse))
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Option<W>> {
        from.string().map(W::parse)
    }

    fn absent() -> Option<Option<W>> {
        Some(None)
    }

    fn is_sent(value: &Option<W>) -> bool {
        value.is_some()
    }

    fn write<S: Serializer>(value: &Option<W>, serializer: S) -> Result<S::Ok, S::Error> {
        value.map(W::name).serialize(serializer)
    }

    fn data(value: &mut Option<W>) -> Data {
        value.map_or(Data::Absent, |word| Data::Text(Cow::Borrowed(word.name())))
    }
}

/// Numbers of which some are not known: `null` in JSON, NaN in memory.
#[derive(Debug)]
pub struct Cells;

impl MemberValue for Cells {
    type Value = Vec<f64>;
    const KIND: &'static str = "list";

    fn schema() -> Value {
        json!({"type": "array", "items": {"type": ["number", "null"]}})
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let cells: Vec<CellToken> = Read::read(from)?;
        Ok(cells.into_iter().map(|CellToken(cell)| cell).collect())
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Vec<f64>> {
        doubles(from)
    }

    fn write<S: Serializer>(value: &Vec<f64>, serializer: S) -> Result<S::Ok, S::Error> {
        value.serialize(serializer)
    }

    fn data(value: &mut Vec<f64>) -> Data {
        Data::Floats(mem::take(value))
    }
}

/// Values of one type in an array.
#[derive(Debug)]
pub struct ListOf<T>(PhantomData<T>);

impl<T: MemberValue> MemberValue for ListOf<T> {
    type Value = Vec<T::Value>;
    const KIND: &'static str = "list";

    fn schema() -> Value {
        json!({"type": "array", "items": T::schema()})
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self::Value, D::Error> {
        struct Items<T>(PhantomData<T>);

        impl<'de, T: MemberValue> Visitor<'de> for Items<T> {
            type Value = Vec<T::Value>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
                let mut read = Vec::new();
                while let Some(item) = items.next_element_seed(Seed::<T>::new())? {
                    read.push(item);
                }
                Ok(read)
            }
        }

        from.deserialize_seq(Items::<T>(PhantomData))
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Self::Value> {
        from.list(T::quick)
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(value.len()))?;
        for item in value {
            list.serialize_element(&SentValue::<T>(item))?;
        }
        list.end()
    }

    fn data(value: &mut Self::Value) -> Data {
        Data::List(value.iter_mut().map(T::data).collect())
    }
}

/// An object with whole numbers as keys; a `null` entry counts as absent.
#[derive(Debug)]
pub struct ByNumber<T>(PhantomData<T>);

impl<T: MemberValue> MemberValue for ByNumber<T> {
    type Value = BTreeMap<i64, T::Value>;
    const KIND: &'static str = "object";

    fn schema() -> Value {
        json!({"type": "object", "additionalProperties": T::schema()})
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<Self::Value, D::Error> {
        struct Entries<T>(PhantomData<T>);

        impl<'de, T: MemberValue> Visitor<'de> for Entries<T> {
            type Value = BTreeMap<i64, Option<T::Value>>;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an object keyed by leverage")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Self::Value, A::Error> {
                let mut entries = BTreeMap::new();
                while let Some(Key(key)) = members.next_key_seed(Of::new())? {
                    let number = whole_number(&key, "in 64 bits")
                        .map_err(|message| at(excerpt(&key), message))?;
                    let value = members.next_value_seed(Seed::<Option<T>>::new())?;
                    if entries.insert(number, value).is_some() {
                        return Err(at(number, "is given twice"));
                    }
                }
                Ok(entries)
            }
        }

        let entries = from.deserialize_map(Entries::<T>(PhantomData))?;
        let present = entries.into_iter();
        Ok(present
            .filter_map(|(key, value)| Some((key, value?)))
            .collect())
    }

    fn quick(from: &mut Cursor<'_>) -> Option<Self::Value> {
        let mut entries = BTreeMap::new();
        from.take(b'{')?;
        if from.takes(b'}') {
            return Some(entries);
        }
        loop {
            let key = whole_number(from.key()?, "in 64 bits").ok()?;
            if entries.insert(key, T::quick(from)?).is_some() {
                return None;
            }
            if !from.more(b'}')? {
                return Some(entries);
            }
        }
    }

    fn write<S: Serializer>(value: &Self::Value, serializer: S) -> Result<S::Ok, S::Error> {
        let mut entries = serializer.serialize_map(Some(value.len()))?;
        for (key, value) in value {
            entries.serialize_entry(key, &SentValue::<T>(value))?;
        }
        entries.end()
    }

    fn data(value: &mut Self::Value) -> Data {
        let entries = value.iter_mut().map(|(key, value)| {
            let name: Cow<'static, str> = Cow::Owned(key.to_string());
            Datum {
                field: name.clone(),
                name,
                extension: false,
                data: T::data(value),
            }
        });
        Data::Object(entries.collect())
    }
}
