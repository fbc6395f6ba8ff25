//! JSON objects that declare their members.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, MapAccess, Visitor};
use serde::ser::{SerializeStruct, Serializer};
use serde_json::Value;

use super::data::{Data, Datum};
use super::member::{Member, ObjectShape, ReplyShape};
use super::schema::{object as object_schema, titled};
use super::value::MemberValue;
use crate::contract::decode::{Cursor, DecodeError, InstantPlace, Key, Of, Read, Skip, fill};
use crate::model::Millis;

/// A type that declares its members, by `object!` or `reply!`.
pub trait Members: Sized {
    /// Name of the type in `OpenAPI` and in other languages.
    const NAME: &'static str;
    /// What the object is, for messages.
    const WHAT: &'static str;
    /// Whether the object is a whole reply without an envelope.
    const IS_BARE: bool = false;
    /// The decoded members, as far as they were read.
    type Slots: Default + Send + fmt::Debug;

    /// The members, in the order in which they are sent.
    fn members() -> Vec<Member>;

    /// Reads the value of the member `key`; `false` if there is no such member.
    ///
    /// # Errors
    ///
    /// If the value cannot be read, or is given twice.
    fn fill<'de, A: MapAccess<'de>>(
        slots: &mut Self::Slots,
        key: &str,
        members: &mut A,
    ) -> Result<bool, A::Error>;

    /// Like [`fill`](Self::fill) for plain JSON; `None` if only `fill` can read it.
    fn quick(slots: &mut Self::Slots, key: &str, from: &mut Cursor<'_>) -> Option<bool>;

    /// The value when all members are read.
    ///
    /// # Errors
    ///
    /// If a required member is missing, or a value does not fit the others.
    fn settle<E: Error>(slots: Self::Slots) -> Result<Self, E>;

    /// Writes all members.
    ///
    /// # Errors
    ///
    /// The serializer's error.
    fn write<S: SerializeStruct>(&self, object: &mut S) -> Result<(), S::Error>;

    /// Moves all values out, in the order of the members.
    fn data(&mut self) -> Vec<Datum>;

    /// Passes each instant to `visit`.
    fn instants(&mut self, visit: &mut dyn FnMut(InstantPlace, &mut Millis));
}

impl<M: Members> MemberValue for M {
    type Value = M;
    const KIND: &'static str = "object";

    fn schema() -> Value {
        let members = M::members();
        let needed = members.iter().filter(|member| !member.optional);
        let needed: Vec<&str> = needed.map(|member| member.name).collect();
        let properties = members
            .iter()
            .map(|member| (member.name, member.described()));
        titled(M::NAME, object_schema(properties, &needed))
    }

    fn read<'de, D: Deserializer<'de>>(from: D) -> Result<M, D::Error> {
        let read = Slots::<M>::read(from)?;
        M::settle(read.slots)
    }

    fn quick(from: &mut Cursor<'_>) -> Option<M> {
        let mut slots = M::Slots::default();
        from.take(b'{')?;
        loop {
            let key = from.key()?;
            M::quick(&mut slots, key, from)?.then_some(())?;
            if !from.more(b'}')? {
                return M::settle::<DecodeError>(slots).ok();
            }
        }
    }

    fn write<S: Serializer>(value: &M, serializer: S) -> Result<S::Ok, S::Error> {
        // An encoder may close an object of the announced length 0 at once.
        let mut object = serializer.serialize_struct(M::NAME, 1)?;
        value.write(&mut object)?;
        object.end()
    }

    fn data(value: &mut M) -> Data {
        Data::Object(value.data())
    }

    fn instants(
        value: &mut M,
        name: &'static str,
        visit: &mut dyn FnMut(InstantPlace, &mut Millis),
    ) {
        value.instants(&mut |place, at| visit(place.below(name), at));
    }
}

/// The decoded members of an object; members that are not declared are skipped.
#[derive(Debug)]
pub struct Slots<M: Members> {
    /// The members.
    pub slots: M::Slots,
    /// The member `success`, which a reply without an envelope may have.
    pub success: Option<bool>,
}

impl<'de, M: Members> Read<'de> for Slots<M> {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object<M>(PhantomData<M>);

        impl<'de, M: Members> Visitor<'de> for Object<M> {
            type Value = Slots<M>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(M::WHAT)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Slots<M>, A::Error> {
                let mut slots = M::Slots::default();
                let mut success = None;
                while let Some(Key(key)) = members.next_key_seed(Of::new())? {
                    if M::fill(&mut slots, &key, &mut members)? {
                        continue;
                    }
                    if M::IS_BARE && key == "success" {
                        fill(&mut success, &key, &mut members)?;
                    } else {
                        members.next_value_seed(Of::<Skip>::new())?;
                    }
                }
                Ok(Slots { slots, success })
            }
        }

        from.deserialize_map(Object::<M>(PhantomData))
    }
}

impl<M: Members> Slots<M> {
    /// The value when all members are read.
    ///
    /// # Errors
    ///
    /// If a required member is missing, a value does not fit the others, or `success` is false.
    pub fn settle(self) -> Result<M, DecodeError> {
        if self.success == Some(false) {
            return Err(DecodeError::at("success", "is false"));
        }
        M::settle(self.slots)
    }
}

/// The schema of a reply that declares its members.
pub(in crate::contract) const fn shape<M: Members>() -> ReplyShape {
    ReplyShape::Object(ObjectShape {
        members: M::members,
        schema: <M as MemberValue>::schema,
    })
}

/// Reads a plain body without an envelope; `None` if only the tolerant reader can read it.
pub(in crate::contract) fn plain<M: Members>(body: &[u8], enveloped: bool) -> Option<M> {
    (M::IS_BARE && !enveloped).then_some(())?;
    let mut from = Cursor::of(body);
    let reply = <M as MemberValue>::quick(&mut from)?;
    from.end()?;
    Some(reply)
}

/// Moves the values of all fields out of `made`, and returns them in the order of the fields.
///
/// The last field comes first, because a field may need the fields before it.
pub(in crate::contract) fn moved<T>(
    made: &mut T,
    fields: &[fn(&mut T, &mut Vec<Datum>)],
) -> Vec<Datum> {
    let mut data: Vec<Vec<Datum>> = Vec::with_capacity(fields.len());
    for field in fields.iter().rev() {
        let mut members = Vec::new();
        field(made, &mut members);
        data.push(members);
    }
    data.into_iter().rev().flatten().collect()
}
