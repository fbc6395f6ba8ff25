//! The members of a frame that a decoder asks for: raw JSON texts, and structs of them under the venue's own names.
//!
//! Numbers stay the texts they are, so nothing passes through a binary float.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// A value as it stands in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Raw<'a> {
    json: &'a str,
    /// Whether nothing in it is escaped: a string is what stands between its quotes.
    is_plain: bool,
}

impl<'a> Raw<'a> {
    /// Of a text that is one JSON value.
    pub(super) fn of(json: &'a str) -> Self {
        Self {
            json,
            is_plain: !json.contains('\\'),
        }
    }

    /// Of a text that is one JSON value without a backslash.
    pub(super) fn of_plain(json: &'a str) -> Self {
        Self {
            json,
            is_plain: true,
        }
    }

    /// Its JSON.
    pub(super) fn text(self) -> &'a str {
        self.json
    }

    /// What it says, where it is a string or a number.
    #[inline]
    pub(super) fn said(self) -> Option<Cow<'a, str>> {
        let json = self.json;
        match json.as_bytes().first()? {
            b'"' if self.is_plain => json.get(1..json.len() - 1).map(Cow::Borrowed),
            b'"' => serde_json::from_str(json).ok().map(Cow::Owned),
            b'-' | b'0'..=b'9' => Some(Cow::Borrowed(json)),
            _ => None,
        }
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Raw<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        <&RawValue>::deserialize(from).map(|raw| Self::of(raw.get()))
    }
}

/// A member as it stands in the frame; `null` counts as missing.
pub(super) type Cell<'a> = Option<Raw<'a>>;

/// A struct of members under the venue's own, case-sensitive names; what is no raw text has its type beside it. Quickest
/// where they are written in the venue's order, and what is not asked for stands among them as `IgnoredAny`.
macro_rules! members {
    ($(#[$doc:meta])* $name:ident<$life:lifetime> { $($field:ident $(: $kind:ty)? = $key:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Default, serde::Deserialize)]
        struct $name<$life> {
            $(#[serde(borrow, default, rename = $key)]
            $field: $crate::feeds::members::members!(@kind $life $($kind)?),)+
        }

        impl<$life> $crate::feeds::plain::Plain<$life> for $name<$life> {
            fn fill(&mut self, from: &mut $crate::feeds::plain::Cursor<$life>) -> Option<()> {
                if !from.opens()? {
                    return Some(());
                }
                $(let mut $field = false;)+
                // Members mostly come in the order in which they are written here: no name has to be looked for.
                $(if from.follows(concat!("\"", $key, "\":")) {
                    $field = true;
                    $crate::feeds::plain::Plain::fill(&mut self.$field, from)?;
                    if !from.goes_on()? {
                        return Some(());
                    }
                })+
                loop {
                    let name = from.name()?;
                    $(if name == $key.as_bytes() {
                        // A second member of a name is a surprise.
                        if std::mem::replace(&mut $field, true) {
                            return None;
                        }
                        $crate::feeds::plain::Plain::fill(&mut self.$field, from)?;
                    } else)+ {
                        from.skip()?;
                    }
                    if !from.goes_on()? {
                        return Some(());
                    }
                }
            }
        }
    };
    (@kind $life:lifetime) => { $crate::feeds::members::Cell<$life> };
    (@kind $life:lifetime $kind:ty) => { $kind };
}

pub(super) use members;

/// A value of which only the shape is known beforehand.
#[derive(Debug, Default)]
pub(super) enum Part<T> {
    /// Not there, or `null`.
    #[default]
    Missing,
    /// An object.
    Object(T),
    /// A list of anything.
    List(Vec<Part<T>>),
    /// Something else.
    Other,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Part<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Shape<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Shape<T> {
            type Value = Part<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<Part<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(Part::Object)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Part<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Part::List(list))
            }

            fn visit_unit<E>(self) -> Result<Part<T>, E> {
                Ok(Part::Missing)
            }

            fn visit_bool<E>(self, _: bool) -> Result<Part<T>, E> {
                Ok(Part::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<Part<T>, E> {
                Ok(Part::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<Part<T>, E> {
                Ok(Part::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<Part<T>, E> {
                Ok(Part::Other)
            }

            fn visit_str<E>(self, _: &str) -> Result<Part<T>, E> {
                Ok(Part::Other)
            }
        }

        from.deserialize_any(Shape(PhantomData))
    }
}
