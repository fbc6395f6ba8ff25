//! Unparsed JSON values, and structs of such values.
//!
//! Numbers stay text, so no value passes through a binary float. Nearly every frame is plain: it has only expected
//! members, strings without escapes, and numbers. The [`Cursor`] reads such a frame in one pass and returns `None` at
//! the first unexpected byte. After such a byte, serde reads the whole frame again and reports errors. If the fast read
//! succeeds, its result equals that of serde.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::contract::decode::Cursor;

/// A type that the fast reader can read from a plain frame.
pub(crate) trait PlainJson<'a>: Default {
    /// Reads the next value into `self`, which is empty; `text` is the whole frame.
    fn fill(&mut self, from: &mut Cursor<'a>, text: &'a str) -> Option<()>;
}

/// Reads a whole frame with the fast reader; `None` if the frame is not plain.
#[inline]
pub(crate) fn plain<'a, T: PlainJson<'a>>(text: &'a str) -> Option<T> {
    let mut from = Cursor::of(text.as_bytes());
    let mut value = T::default();
    value.fill(&mut from, text)?;
    from.end()?;
    Some(value)
}

/// An unparsed JSON value of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RawJson<'a> {
    json: &'a str,
    /// Whether the text has no escapes.
    ///
    /// The value of such a string is the text between its quotation marks.
    is_plain: bool,
}

impl<'a> RawJson<'a> {
    /// Returns the JSON text of the value.
    pub(crate) fn text(self) -> &'a str {
        self.json
    }

    /// Returns the text of a string or a number; `None` for other values.
    #[inline]
    pub(crate) fn said(self) -> Option<Cow<'a, str>> {
        let json = self.json;
        match json.as_bytes().first()? {
            b'"' if self.is_plain => json.get(1..json.len() - 1).map(Cow::Borrowed),
            b'"' => serde_json::from_str(json).ok().map(Cow::Owned),
            b'-' | b'0'..=b'9' => Some(Cow::Borrowed(json)),
            _ => None,
        }
    }

    /// Returns the items of a list; `None` for other values.
    pub(crate) fn items(self) -> Option<Vec<RawJson<'a>>> {
        plain(self.json).or_else(|| serde_json::from_str(self.json).ok())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for RawJson<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let json = <&RawValue>::deserialize(from)?.get();
        Ok(Self {
            json,
            is_plain: !json.contains('\\'),
        })
    }
}

/// A member of an object; `None` if it is missing or `null`.
pub(crate) type JsonMember<'a> = Option<RawJson<'a>>;

/// Declares a struct of object members with the exchange's case-sensitive names.
///
/// A member without a type is unparsed JSON. Reading is fastest if the fields are in the exchange's order and unused
/// members are declared as `IgnoredAny`.
macro_rules! members {
    ($(#[$doc:meta])* $name:ident<$life:lifetime> { $($field:ident $(: $kind:ty)? = $key:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Debug, Default, serde::Deserialize)]
        struct $name<$life> {
            $(#[serde(borrow, default, rename = $key)]
            $field: $crate::feeds::decoding::raw_json::members!(@kind $life $($kind)?),)+
        }

        impl<$life> $crate::feeds::decoding::raw_json::PlainJson<$life> for $name<$life> {
            fn fill(&mut self, from: &mut $crate::contract::decode::Cursor<$life>, text: &$life str) -> Option<()> {
                if !from.opens()? {
                    return Some(());
                }
                $(let mut $field = false;)+
                // Members mostly come in the declared order, so the next name is compared with only one field.
                $(if from.exactly(concat!("\"", $key, "\":")).is_some() {
                    $field = true;
                    $crate::feeds::decoding::raw_json::PlainJson::fill(&mut self.$field, from, text)?;
                    if !from.goes_on()? {
                        return Some(());
                    }
                })+
                loop {
                    let name = from.name()?;
                    $(if name == $key.as_bytes() {
                        // A frame with a repeated member is left to serde.
                        if std::mem::replace(&mut $field, true) {
                            return None;
                        }
                        $crate::feeds::decoding::raw_json::PlainJson::fill(&mut self.$field, from, text)?;
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
    (@kind $life:lifetime) => { $crate::feeds::decoding::raw_json::JsonMember<$life> };
    (@kind $life:lifetime $kind:ty) => { $kind };
}

pub(crate) use members;

/// A JSON value; only objects are read further.
#[derive(Debug, Default)]
pub(crate) enum JsonShape<T> {
    /// A missing or `null` value.
    #[default]
    Missing,
    /// An object.
    Object(T),
    /// A list with values of any kind.
    List(Vec<JsonShape<T>>),
    /// A string, number or boolean.
    Other,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for JsonShape<T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Shape<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for Shape<T> {
            type Value = JsonShape<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("any JSON value")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<JsonShape<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members)).map(JsonShape::Object)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<JsonShape<T>, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(JsonShape::List(list))
            }

            fn visit_unit<E>(self) -> Result<JsonShape<T>, E> {
                Ok(JsonShape::Missing)
            }

            fn visit_bool<E>(self, _: bool) -> Result<JsonShape<T>, E> {
                Ok(JsonShape::Other)
            }

            fn visit_i64<E>(self, _: i64) -> Result<JsonShape<T>, E> {
                Ok(JsonShape::Other)
            }

            fn visit_u64<E>(self, _: u64) -> Result<JsonShape<T>, E> {
                Ok(JsonShape::Other)
            }

            fn visit_f64<E>(self, _: f64) -> Result<JsonShape<T>, E> {
                Ok(JsonShape::Other)
            }

            fn visit_str<E>(self, _: &str) -> Result<JsonShape<T>, E> {
                Ok(JsonShape::Other)
            }
        }

        from.deserialize_any(Shape(PhantomData))
    }
}

/// An unused member; declaring it preserves the order of the members.
impl<'a> PlainJson<'a> for IgnoredAny {
    #[inline]
    fn fill(&mut self, from: &mut Cursor<'a>, _: &'a str) -> Option<()> {
        from.skip()
    }
}

impl<'a> PlainJson<'a> for JsonMember<'a> {
    #[inline]
    fn fill(&mut self, from: &mut Cursor<'a>, text: &'a str) -> Option<()> {
        let first = from.peek()?;
        let start = text.len() - from.left();
        from.skip()?;
        let json = text.get(start..text.len() - from.left())?;
        *self = (first != b'n').then_some(RawJson {
            json,
            is_plain: true,
        });
        Some(())
    }
}

impl<'a> PlainJson<'a> for Vec<RawJson<'a>> {
    fn fill(&mut self, from: &mut Cursor<'a>, text: &'a str) -> Option<()> {
        from.each(|from| {
            from.peek()?;
            let start = text.len() - from.left();
            from.skip()?;
            self.push(RawJson {
                json: text.get(start..text.len() - from.left())?,
                is_plain: true,
            });
            Some(())
        })
    }
}

impl<'a, T: PlainJson<'a>> PlainJson<'a> for JsonShape<T> {
    #[inline]
    fn fill(&mut self, from: &mut Cursor<'a>, text: &'a str) -> Option<()> {
        match from.peek()? {
            b'{' => {
                *self = JsonShape::Object(T::default());
                let JsonShape::Object(object) = self else {
                    return None;
                };
                object.fill(from, text)
            }
            b'[' => {
                let mut items = Vec::new();
                from.each(|from| {
                    let mut item = JsonShape::default();
                    item.fill(from, text)?;
                    items.push(item);
                    Some(())
                })?;
                *self = JsonShape::List(items);
                Some(())
            }
            first => {
                from.skip()?;
                if first != b'n' {
                    *self = JsonShape::Other;
                }
                Some(())
            }
        }
    }
}

impl<'a, T: PlainJson<'a>> PlainJson<'a> for Option<Box<T>> {
    fn fill(&mut self, from: &mut Cursor<'a>, text: &'a str) -> Option<()> {
        if from.peek()? == b'n' {
            return from.skip();
        }
        self.insert(Box::default()).fill(from, text)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use crate::feeds::decoding::raw_json::*;

    members!(Row<'a> {
        symbol = "s",
        side = "S",
        _more: IgnoredAny = "x",
        size = "q",
    });

    members!(Message<'a> {
        kind = "e",
        row: JsonShape<Row<'a>> = "o",
        data: Option<Box<JsonShape<Message<'a>>>> = "data",
    });

    /// Returns the results of serde and of the fast reader for the same text.
    fn both(text: &str) -> (Option<String>, Option<String>) {
        let by_serde = serde_json::from_str::<JsonShape<Message<'_>>>(text);
        let plainly = plain::<JsonShape<Message<'_>>>(text);
        (
            by_serde.ok().map(|read| format!("{read:?}")),
            plainly.map(|read| format!("{read:?}")),
        )
    }

    #[test]
    fn plain_frames_are_read_plainly() {
        for text in [
            r#"{"e":"forceOrder","o":{"s":"BTCUSDT","S":"SELL","q":"0.014","x":[1,{"y":null}],"T":1790000000000}}"#,
            r#" { "data" : [ {"e":1.5,"o":[{"s":"é"}, {}]} , [] ] , "stream":"all" } "#,
            r#"{"e":null,"o":null,"data":null}"#,
            r#"{"o":true,"e":{"a":[-0.5]},"data":{"data":{"e":"x"}}}"#,
            "[]",
            "7",
        ] {
            let (by_serde, plainly) = both(text);
            assert!(by_serde.is_some(), "{text}");
            assert_eq!(by_serde, plainly, "{text}");
        }
    }

    #[test]
    fn a_frame_of_any_depth_is_left_to_serde() {
        for (open, close) in [("[", "]"), ("{\"data\":", "}"), ("{\"x\":[", "]}")] {
            for depth in [5, 100, 100_000] {
                let text = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                let (by_serde, plainly) = both(&text);
                assert!(depth < 100 || plainly.is_none(), "{open} {depth}");
                assert!(plainly.is_none() || plainly == by_serde, "{open} {depth}");
            }
        }
    }

    /// Texts that the test inserts into frames or writes over parts of them.
    const SURPRISES: &[&str] = &[
        "null",
        "true",
        "nul",
        "\"",
        "\\",
        "\\u0041",
        "{",
        "}",
        "[",
        "]",
        ",",
        ":",
        "1e400",
        "01",
        "-",
        "1.",
        "0",
        ".5",
        " ",
        "\n",
        "\u{feff}",
        "\"e\":1,",
        "\"o\":[],",
        "\"data\":{},",
        "{}",
        "[]",
        "é",
        "\u{1}",
    ];

    fn frame() -> impl Strategy<Value = String> {
        let scalar = "\"[a-z]{0,3}\"|-?(0|[1-9][0-9]{0,3})(\\.[0-9]{1,3})?(e[0-9])?|null|true|false|\\{\\}|\\[1\\]";
        let row = proptest::collection::vec(("[sSqx]", scalar), 0..4)
            .prop_map(|members| object(&members));
        let part = prop_oneof![
            row.clone(),
            proptest::collection::vec(row, 0..3).prop_map(|rows| format!("[{}]", rows.join(","))),
            scalar,
        ];
        let message = ((scalar, part), any::<bool>()).prop_map(|((kind, part), swapped)| {
            let members = [("e".to_owned(), kind), ("o".to_owned(), part)];
            let [first, second] = members;
            object(&if swapped {
                [second, first]
            } else {
                [first, second]
            })
        });
        message.prop_recursive(3, 8, 2, |inner| {
            proptest::collection::vec(inner, 1..3).prop_map(|messages| match messages.as_slice() {
                [one] => format!("{{\"data\":{one}}}"),
                _ => format!("[{}]", messages.join(",")),
            })
        })
    }

    fn object(members: &[(String, String)]) -> String {
        let members: Vec<String> = members
            .iter()
            .map(|(name, value)| format!("\"{name}\":{value}"))
            .collect();
        format!("{{{}}}", members.join(","))
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn what_is_read_plainly_is_what_serde_reads(
            frame in frame(),
            surprises in proptest::collection::vec((proptest::sample::select(SURPRISES), any::<Index>(), 0_usize..2), 0..3),
        ) {
            let mut changed = frame;
            for (surprise, at, over) in surprises {
                let places: Vec<usize> = changed.char_indices().map(|(place, _)| place).chain([changed.len()]).collect();
                let at = *at.get(&places);
                let end = (at + over * surprise.len()).min(changed.len());
                if changed.is_char_boundary(end) {
                    changed.replace_range(at..end, surprise);
                }
            }
            let (by_serde, plainly) = both(&changed);
            if plainly.is_some() {
                prop_assert_eq!(plainly, by_serde, "{}", changed);
            }
        }
    }
}
