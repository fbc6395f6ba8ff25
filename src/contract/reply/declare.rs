//! The macros that declare replies and the objects in them.

/// Declares the members of an object that is part of a reply.
///
/// A member is written `field "name": Type ["unit"], "meaning";`. The name is that of the field if it is omitted. A member
/// marked `[extension]` is sent only by some services and may be absent. `besides` initializes fields that are no member,
/// and `checked by` names a function that checks the decoded object.
macro_rules! object {
    (
        $type:ident = $what:literal {
            $(
                $([$extension:ident])? $field:ident $($name:literal)?: $member:ty
                $([$unit:literal])? $(, $meaning:literal)?;
            )+
        }
        $(besides { $($rest:tt)+ })?
        $(checked by $check:path)?
        $(; $bare:ident)?
    ) => {
        const _: () = {
            use $crate::contract::decode::{Cursor, DecodeError, InstantPlace};
            use $crate::contract::reply::{Candidate, Datum, Field, Member, Members, object};

            #[doc(hidden)]
            #[allow(unreachable_pub, reason = "as visible as the type")]
            #[derive(Debug, Default)]
            pub struct Fields {
                $(pub $field: <$member as Field<$type>>::Slot,)+
            }

            impl Members for $type {
                const NAME: &'static str = stringify!($type);
                const WHAT: &'static str = $what;
                const IS_BARE: bool = object!(@bare $($bare)?);
                type Slots = Fields;

                fn members() -> Vec<Member> {
                    let mut members = Vec::new();
                    $(
                        let declared = object!(@member $field $($name)?, [$($unit)?], [$($meaning)?], $($extension)?);
                        <$member as Field<Self>>::describe(declared, &mut members);
                    )+
                    members
                }

                #[allow(clippy::needless_question_mark, reason = "an object may have one member")]
                fn fill<'de, A: serde::de::MapAccess<'de>>(
                    slots: &mut Fields,
                    key: &str,
                    members: &mut A,
                ) -> Result<bool, A::Error> {
                    Ok($(
                        <$member as Field<Self>>::fill(
                            &mut slots.$field,
                            object!(@key $field $($name)?, key, $($extension)?),
                            members,
                        )?
                    )||+)
                }

                #[allow(clippy::needless_question_mark, reason = "an object may have one member")]
                fn quick(slots: &mut Fields, key: &str, from: &mut Cursor<'_>) -> Option<bool> {
                    Some($(
                        <$member as Field<Self>>::quick(
                            &mut slots.$field,
                            object!(@key $field $($name)?, key, $($extension)?),
                            from,
                        )?
                    )||+)
                }

                fn settle<E: serde::de::Error>(mut slots: Fields) -> Result<Self, E> {
                    let mut made = Self {
                        $($field: <$member as Field<Self>>::settle(
                            &mut slots.$field,
                            object!(@name $field $($name)?),
                        )?,)+
                        $($($rest)+)?
                    };
                    $(
                        <$member as Field<Self>>::complete(slots.$field, &mut made)
                            .map_err(DecodeError::raise)?;
                    )+
                    $($check(&made).map_err(DecodeError::raise)?;)?
                    Ok(made)
                }

                fn write<S: serde::ser::SerializeStruct>(&self, object: &mut S) -> Result<(), S::Error> {
                    $(
                        <$member as Field<Self>>::write(
                            self,
                            &self.$field,
                            object!(@name $field $($name)?),
                            object,
                        )?;
                    )+
                    Ok(())
                }

                fn data(&mut self) -> Vec<Datum> {
                    let fields: &[fn(&mut Self, &mut Vec<Datum>)] = &[$(
                        |made, to| {
                            let declared = object!(@member $field $($name)?, [$($unit)?], [$($meaning)?], $($extension)?);
                            <$member as Field<Self>>::data(made, |made| &mut made.$field, &declared, to);
                        },
                    )+];
                    $crate::contract::reply::moved(self, fields)
                }

                fn instants(
                    &mut self,
                    visit: &mut dyn FnMut(InstantPlace, &mut $crate::model::Millis),
                ) {
                    $(
                        <$member as Field<Self>>::instants(
                            &mut self.$field,
                            object!(@name $field $($name)?),
                            visit,
                        );
                    )+
                }
            }

            impl serde::Serialize for $type {
                fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    <Self as $crate::contract::reply::MemberValue>::write(self, serializer)
                }
            }
        };
    };
    (@bare) => { false };
    (@bare bare) => { true };
    (@bare enveloped) => { false };
    (@extension) => { false };
    (@extension extension) => { true };
    (@key $field:ident $($name:literal)?, $key:ident, $($extension:ident)?) => {
        Candidate {
            name: object!(@name $field $($name)?),
            key: $key,
            extension: object!(@extension $($extension)?),
        }
    };
    (@name $field:ident) => { stringify!($field) };
    (@name $field:ident $name:literal) => { $name };
    (@member $field:ident $($name:literal)?, [$($unit:literal)?], [$($meaning:literal)?], $($extension:ident)?) => {
        Member::new(
            (object!(@name $field $($name)?), stringify!($field)),
            concat!($($unit)?),
            concat!($($meaning)?),
            object!(@extension $($extension)?),
        )
    };
}

/// Declares the members of a reply, as [`object!`] does.
///
/// `bare` or `enveloped` says whether the reply has an envelope. `repeats` lists the fields that repeat a parameter of the
/// query.
macro_rules! reply {
    (
        $type:ident = $what:literal, $bare:ident, repeats $($echo:ident)*; { $($members:tt)+ }
        $($more:tt)*
    ) => {
        $crate::contract::reply::object! { $type = $what { $($members)+ } $($more)* ; $bare }

        impl $crate::contract::reply::EndpointReply for $type {
            const SHAPE: $crate::contract::reply::ReplyShape = $crate::contract::reply::shape::<$type>();
        }

        impl $crate::contract::decode::Reply for $type {
            type Fields = $crate::contract::reply::Slots<Self>;

            fn of(slots: Self::Fields) -> Result<Self, $crate::contract::decode::DecodeError> {
                slots.settle()
            }

            fn echo(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($echo), self.$echo.to_string())),*]
            }

            fn instants(
                &mut self,
                mut visit: impl FnMut($crate::contract::decode::InstantPlace, &mut $crate::model::Millis),
            ) {
                $crate::contract::reply::Members::instants(self, &mut visit);
            }

            fn quick(body: &[u8], enveloped: bool) -> Option<Self> {
                $crate::contract::reply::plain(body, enveloped)
            }
        }
    };
}

pub(crate) use {object, reply};
