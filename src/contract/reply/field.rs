//! The fields of a reply: one member, or a group of members.

use std::borrow::Cow;
use std::marker::PhantomData;

use serde::de::{Error, MapAccess};
use serde::ser::SerializeStruct;

use super::data::{Data, Datum};
use super::member::Member;
use super::members::Members;
use super::value::{MemberValue, Seed, SentValue};
use crate::contract::decode::{Cursor, DecodeError, InstantPlace, at, first};
use crate::model::Millis;

/// A key of a JSON object that is compared with the declared name of a member.
#[derive(Clone, Copy, Debug)]
pub struct Candidate<'a> {
    /// The declared name.
    pub name: &'static str,
    /// The key.
    pub key: &'a str,
    /// Whether only some services send the member; `null` then counts as absent.
    pub extension: bool,
}

/// The declared type of a field of the reply `R`: how the field becomes members, and members the field.
///
/// The type of a single member is a [`MemberValue`]. A field with members that depend on other fields has a type of its own.
pub trait Field<R> {
    /// The type of the field in memory.
    type Value;
    /// The decoded members of the field, as far as they were read.
    type Slot: Default;

    /// Adds the members of the field to `to`; `declared` is the member with its declared properties.
    fn describe(declared: Member, to: &mut Vec<Member>);

    /// Reads the value of the member `key`; `false` if it is no member of this field.
    ///
    /// # Errors
    ///
    /// If the value cannot be read, or is given twice.
    fn fill<'de, A: MapAccess<'de>>(
        slot: &mut Self::Slot,
        key: Candidate<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error>;

    /// Like [`fill`](Self::fill) for plain JSON; `None` if only `fill` can read it.
    fn quick(slot: &mut Self::Slot, key: Candidate<'_>, from: &mut Cursor<'_>) -> Option<bool>;

    /// The value of the field when all members are read.
    ///
    /// # Errors
    ///
    /// If a required member is missing.
    fn settle<E: Error>(slot: &mut Self::Slot, name: &'static str) -> Result<Self::Value, E>;

    /// Completes the reply with members that depend on other fields.
    ///
    /// # Errors
    ///
    /// If the members do not fit the other fields.
    fn complete(_slot: Self::Slot, _reply: &mut R) -> Result<(), DecodeError> {
        Ok(())
    }

    /// Writes the members of the field.
    ///
    /// # Errors
    ///
    /// The serializer's error.
    fn write<S: SerializeStruct>(
        reply: &R,
        value: &Self::Value,
        name: &'static str,
        object: &mut S,
    ) -> Result<(), S::Error>;

    /// Moves the values of the members out of the reply; `of` returns the field.
    fn data(
        reply: &mut R,
        of: fn(&mut R) -> &mut Self::Value,
        declared: &Member,
        to: &mut Vec<Datum>,
    );

    /// Passes each instant of the field to `visit`.
    fn instants(
        value: &mut Self::Value,
        name: &'static str,
        visit: &mut dyn FnMut(InstantPlace, &mut Millis),
    );
}

impl Datum {
    /// The value of the declared member.
    pub(in crate::contract) fn of(declared: &Member, data: Data) -> Self {
        Self {
            name: Cow::Borrowed(declared.name),
            field: Cow::Borrowed(declared.field),
            extension: declared.extension,
            data,
        }
    }
}

impl<R, T: MemberValue> Field<R> for T {
    type Value = T::Value;
    type Slot = Option<T::Value>;

    fn describe(declared: Member, to: &mut Vec<Member>) {
        to.push(Member {
            kind: T::KIND,
            optional: declared.optional || T::OPTIONAL,
            schema: Some(T::schema),
            ..declared
        });
    }

    #[inline]
    fn fill<'de, A: MapAccess<'de>>(
        slot: &mut Self::Slot,
        key: Candidate<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error> {
        let Candidate {
            name,
            key,
            extension,
        } = key;
        if name != key {
            return Ok(false);
        }
        if slot.is_some() {
            return Err(at(key, "is given twice"));
        }
        *slot = if extension {
            members.next_value_seed(Seed::<Option<T>>::new())?
        } else {
            Some(members.next_value_seed(Seed::<T>::new())?)
        };
        Ok(true)
    }

    #[inline]
    fn quick(slot: &mut Self::Slot, key: Candidate<'_>, from: &mut Cursor<'_>) -> Option<bool> {
        if key.name != key.key {
            return Some(false);
        }
        first(slot, T::quick(from))?;
        Some(true)
    }

    #[inline]
    fn settle<E: Error>(slot: &mut Self::Slot, name: &'static str) -> Result<T::Value, E> {
        slot.take()
            .or_else(T::absent)
            .ok_or_else(|| at(name, "is missing"))
    }

    #[inline]
    fn write<S: SerializeStruct>(
        _: &R,
        value: &T::Value,
        name: &'static str,
        object: &mut S,
    ) -> Result<(), S::Error> {
        if T::is_sent(value) {
            object.serialize_field(name, &SentValue::<T>(value))
        } else {
            object.skip_field(name)
        }
    }

    fn data(
        reply: &mut R,
        of: fn(&mut R) -> &mut T::Value,
        declared: &Member,
        to: &mut Vec<Datum>,
    ) {
        to.push(Datum::of(declared, T::data(of(reply))));
    }

    fn instants(
        value: &mut T::Value,
        name: &'static str,
        visit: &mut dyn FnMut(InstantPlace, &mut Millis),
    ) {
        T::instants(value, name, visit);
    }
}

/// A field with several members, which are members of the reply itself.
#[derive(Debug)]
pub struct Group<M>(PhantomData<M>);

impl<R, M: Members> Field<R> for Group<M> {
    type Value = M;
    type Slot = M::Slots;

    fn describe(_: Member, to: &mut Vec<Member>) {
        to.extend(M::members());
    }

    fn fill<'de, A: MapAccess<'de>>(
        slot: &mut Self::Slot,
        key: Candidate<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error> {
        M::fill(slot, key.key, members)
    }

    fn quick(slot: &mut Self::Slot, key: Candidate<'_>, from: &mut Cursor<'_>) -> Option<bool> {
        M::quick(slot, key.key, from)
    }

    fn settle<E: Error>(slot: &mut Self::Slot, _: &'static str) -> Result<M, E> {
        M::settle(std::mem::take(slot))
    }

    fn write<S: SerializeStruct>(
        _: &R,
        value: &M,
        _: &'static str,
        object: &mut S,
    ) -> Result<(), S::Error> {
        value.write(object)
    }

    fn data(reply: &mut R, of: fn(&mut R) -> &mut M, declared: &Member, to: &mut Vec<Datum>) {
        to.push(Datum::of(declared, Data::Group(of(reply).data())));
    }

    fn instants(value: &mut M, _: &'static str, visit: &mut dyn FnMut(InstantPlace, &mut Millis)) {
        value.instants(visit);
    }
}

/// A [`Group`] of which all required members are present, or none counts.
#[derive(Debug)]
pub struct OptionalGroup<M>(PhantomData<M>);

impl<R, M: Members> Field<R> for OptionalGroup<M> {
    type Value = Option<M>;
    type Slot = M::Slots;

    fn describe(declared: Member, to: &mut Vec<Member>) {
        <Group<M> as Field<R>>::describe(declared, to);
    }

    fn fill<'de, A: MapAccess<'de>>(
        slot: &mut Self::Slot,
        key: Candidate<'_>,
        members: &mut A,
    ) -> Result<bool, A::Error> {
        <Group<M> as Field<R>>::fill(slot, key, members)
    }

    fn quick(slot: &mut Self::Slot, key: Candidate<'_>, from: &mut Cursor<'_>) -> Option<bool> {
        <Group<M> as Field<R>>::quick(slot, key, from)
    }

    fn settle<E: Error>(slot: &mut Self::Slot, _: &'static str) -> Result<Option<M>, E> {
        Ok(M::settle::<DecodeError>(std::mem::take(slot)).ok())
    }

    fn write<S: SerializeStruct>(
        _: &R,
        value: &Option<M>,
        _: &'static str,
        object: &mut S,
    ) -> Result<(), S::Error> {
        value.as_ref().map_or(Ok(()), |value| value.write(object))
    }

    fn data(reply: &mut R, of: fn(&mut R) -> &mut Option<M>, _: &Member, to: &mut Vec<Datum>) {
        if let Some(value) = of(reply) {
            to.extend(value.data());
        }
    }

    fn instants(
        value: &mut Option<M>,
        _: &'static str,
        visit: &mut dyn FnMut(InstantPlace, &mut Millis),
    ) {
        if let Some(value) = value {
            value.instants(visit);
        }
    }
}
