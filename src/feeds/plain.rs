//! A quick read of plain frames: one pass over the text, and slices of it for the members that are asked for.
//!
//! Nearly every frame is plain: objects of known members, strings without escapes, numbers. Everything here gives `None`
//! at the first surprise, and the frame is then read by serde: what is refused and why is for it to say. What is read
//! here is exactly what it would have read.

use serde::de::IgnoredAny;

use super::members::{Part, Raw};
use super::quotes::quote;
use crate::wire::leading_digits;

/// How deep a plain frame goes.
const DEPTH: usize = 8;

/// What can be read from a plain frame.
pub(super) trait Plain<'a>: Default {
    /// Reads the value that comes next into its place, which is empty.
    fn fill(&mut self, from: &mut Cursor<'a>) -> Option<()>;
}

/// Reads a whole frame.
#[inline]
pub(super) fn plain<'a, T: Plain<'a>>(text: &'a str) -> Option<T> {
    let mut from = Cursor {
        text,
        at: 0,
        depth: 0,
    };
    let mut value = T::default();
    value.fill(&mut from)?;
    from.blanks();
    (from.at == text.len()).then_some(value)
}

/// What is left of a frame.
#[derive(Debug)]
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    depth: usize,
}

impl<'a> Cursor<'a> {
    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// Steps over blanks.
    #[inline]
    fn blanks(&mut self) {
        // Nearly nobody sends any.
        if self.byte().is_some_and(|byte| byte <= b' ') {
            self.skip_blanks();
        }
    }

    #[cold]
    #[inline(never)]
    fn skip_blanks(&mut self) {
        while matches!(self.byte(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    /// Takes `byte`, blanks before it aside; whether it was there.
    #[inline]
    fn takes(&mut self, byte: u8) -> bool {
        let mut next = self.byte();
        if next.is_some_and(|next| next <= b' ') {
            self.skip_blanks();
            next = self.byte();
        }
        let there = next == Some(byte);
        self.at += usize::from(there);
        there
    }

    /// Takes `text`, which has no blanks; whether it comes next.
    #[inline]
    pub(super) fn follows(&mut self, text: &str) -> bool {
        let rest = self.text.as_bytes().get(self.at..);
        let there = rest.is_some_and(|rest| rest.starts_with(text.as_bytes()));
        if there {
            self.at += text.len();
        }
        there
    }

    /// Steps over a string without escapes, of which the first quote has been seen; where it ends.
    #[inline]
    fn quoted(&mut self) -> Option<usize> {
        let end = quote(self.text.as_bytes(), self.at + 1)?;
        self.at = end + 1;
        Some(end)
    }

    /// The name of a member, and the colon behind it.
    #[inline]
    pub(super) fn name(&mut self) -> Option<&'a [u8]> {
        self.blanks();
        if self.byte() != Some(b'"') {
            return None;
        }
        let start = self.at + 1;
        let end = self.quoted()?;
        let name = self.text.as_bytes().get(start..end)?;
        self.takes(b':').then_some(name)
    }

    /// Steps over digits; `None` where there are none.
    #[inline]
    fn digits(&mut self) -> Option<()> {
        let length = leading_digits(self.text.as_bytes().get(self.at..)?);
        self.at += length;
        (length > 0).then_some(())
    }

    /// Steps over a number without an exponent.
    #[inline]
    fn number(&mut self) -> Option<()> {
        if self.byte() == Some(b'-') {
            self.at += 1;
        }
        if self.byte() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.byte() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        (!matches!(self.byte(), Some(b'0'..=b'9' | b'e' | b'E'))).then_some(())
    }

    /// Steps over `null`, `true` or `false`.
    fn word(&mut self) -> Option<()> {
        let rest = self.text.get(self.at..)?;
        let word = ["null", "true", "false"]
            .into_iter()
            .find(|word| rest.starts_with(word))?;
        self.at += word.len();
        Some(())
    }

    /// Steps over a value that nobody asked for.
    #[inline]
    pub(super) fn skip(&mut self) -> Option<()> {
        self.blanks();
        self.skip_from(self.byte()?)
    }

    /// Steps over a value that starts here, with `first`.
    #[inline]
    fn skip_from(&mut self, first: u8) -> Option<()> {
        match first {
            b'"' => self.quoted().map(drop),
            b'-' | b'0'..=b'9' => self.number(),
            b'{' | b'[' => self.skip_all(),
            _ => self.word(),
        }
    }

    /// Steps over an object or a list.
    fn skip_all(&mut self) -> Option<()> {
        if self.byte()? == b'{' {
            self.skip_object()
        } else {
            self.list(Self::skip)
        }
    }

    /// Begins an object; whether it has members.
    #[inline]
    pub(super) fn opens(&mut self) -> Option<bool> {
        if !self.takes(b'{') || self.depth == DEPTH {
            return None;
        }
        self.depth += 1;
        if self.takes(b'}') {
            self.depth -= 1;
            return Some(false);
        }
        Some(true)
    }

    /// Goes on behind a member; whether there is another.
    #[inline]
    pub(super) fn goes_on(&mut self) -> Option<bool> {
        if self.takes(b',') {
            return Some(true);
        }
        self.depth -= 1;
        self.takes(b'}').then_some(false)
    }

    /// Steps over an object.
    fn skip_object(&mut self) -> Option<()> {
        let mut goes_on = self.opens()?;
        while goes_on {
            self.name()?;
            self.skip()?;
            goes_on = self.goes_on()?;
        }
        Some(())
    }

    /// Reads a list, each item by `item`.
    fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        if !self.takes(b'[') || self.depth == DEPTH {
            return None;
        }
        self.depth += 1;
        if !self.takes(b']') {
            loop {
                item(self)?;
                if !self.takes(b',') {
                    break;
                }
            }
            if !self.takes(b']') {
                return None;
            }
        }
        self.depth -= 1;
        Some(())
    }
}

/// What is not asked for, but stands where it stands.
impl<'a> Plain<'a> for IgnoredAny {
    #[inline]
    fn fill(&mut self, from: &mut Cursor<'a>) -> Option<()> {
        from.skip()
    }
}

impl<'a> Plain<'a> for Option<Raw<'a>> {
    #[inline]
    fn fill(&mut self, from: &mut Cursor<'a>) -> Option<()> {
        from.blanks();
        let start = from.at;
        let first = from.byte()?;
        from.skip_from(first)?;
        let text = from.text.get(start..from.at)?;
        *self = (first != b'n').then_some(Raw::of_plain(text));
        Some(())
    }
}

impl<'a, T: Plain<'a>> Plain<'a> for Part<T> {
    #[inline]
    fn fill(&mut self, from: &mut Cursor<'a>) -> Option<()> {
        from.blanks();
        match from.byte()? {
            b'{' => {
                *self = Part::Object(T::default());
                let Part::Object(object) = self else {
                    return None;
                };
                object.fill(from)
            }
            b'[' => {
                let mut items = Vec::new();
                from.list(|from| {
                    let mut item = Part::default();
                    item.fill(from)?;
                    items.push(item);
                    Some(())
                })?;
                *self = Part::List(items);
                Some(())
            }
            first => {
                from.skip_from(first)?;
                if first != b'n' {
                    *self = Part::Other;
                }
                Some(())
            }
        }
    }
}

impl<'a, T: Plain<'a>> Plain<'a> for Option<Box<T>> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Option<()> {
        from.blanks();
        if from.byte()? == b'n' {
            return from.word();
        }
        self.insert(Box::default()).fill(from)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::Index;

    use super::*;
    use crate::feeds::members::members;

    members!(Row<'a> {
        symbol = "s",
        side = "S",
        _more: IgnoredAny = "x",
        size = "q",
    });

    members!(Message<'a> {
        kind = "e",
        row: Part<Row<'a>> = "o",
        data: Option<Box<Part<Message<'a>>>> = "data",
    });

    /// What serde reads, and what is read plainly where that is anything.
    fn both(text: &str) -> (Option<String>, Option<String>) {
        let by_serde = serde_json::from_str::<Part<Message<'_>>>(text);
        let plainly = plain::<Part<Message<'_>>>(text);
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

    /// What is put into a frame, or over what stands there.
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
