//! Splitting of a JSON text into elements without loading the whole text.
//!
//! The elements are those of an array, or consecutive values.

use std::io::{self, BufRead, BufReader, Read};

use crate::feeds::dumps::content::LONGEST_RECORD;
use crate::feeds::dumps::row_error::RowError;

/// How the elements of a JSON text are arranged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum JsonLayout {
    /// In an array that begins after this number of bytes.
    Array(u64),
    /// One element per line.
    Lines,
    /// Consecutive values, each of which may extend over several lines.
    Values,
}

/// Splits a JSON text into elements.
pub(crate) struct JsonElements<'a> {
    from: BufReader<Box<dyn Read + 'a>>,
    layout: JsonLayout,
    number: u64,
    element: Vec<u8>,
    is_over: bool,
}

impl<'a> JsonElements<'a> {
    pub(crate) fn new(layout: JsonLayout, bytes: Box<dyn Read + 'a>) -> Self {
        Self {
            from: BufReader::with_capacity(256 << 10, bytes),
            layout,
            number: 0,
            element: Vec::new(),
            is_over: false,
        }
    }

    /// Returns the next element or its error.
    ///
    /// The number is that of the line or of the element, counted from 1.
    pub(crate) fn next(&mut self) -> Option<(u64, Result<&[u8], RowError>)> {
        if self.is_over {
            return None;
        }
        let read = match self.layout {
            JsonLayout::Lines => self.line(),
            JsonLayout::Array(begin) => self.skip(begin).and_then(|()| self.value()),
            JsonLayout::Values => self.value(),
        };
        match read {
            Ok(true) => Some((self.number, Ok(&self.element))),
            Ok(false) => {
                self.is_over = true;
                None
            }
            Err(fault) => {
                self.is_over = true;
                let fault = match fault.kind() {
                    io::ErrorKind::FileTooLarge => {
                        RowError::last("a row of the JSON is longer than 64 MiB", "")
                    }
                    _ => RowError::unreadable(&fault.to_string()),
                };
                Some((self.number + 1, Err(fault)))
            }
        }
    }

    /// Skips the text before the array.
    fn skip(&mut self, begin: u64) -> io::Result<()> {
        let before = self.from.by_ref().take(begin);
        io::copy(&mut { before }, &mut io::sink())?;
        self.layout = JsonLayout::Array(0);
        Ok(())
    }

    fn line(&mut self) -> io::Result<bool> {
        loop {
            self.element.clear();
            let mut limited = self.from.by_ref().take(LONGEST_RECORD + 1);
            if limited.read_until(b'\n', &mut self.element)? == 0 {
                return Ok(false);
            }
            self.is_too_long()?;
            self.number += 1;
            if !self.element.trim_ascii().is_empty() {
                return Ok(true);
            }
        }
    }

    /// Reads one value, after whitespace and commas.
    fn value(&mut self) -> io::Result<bool> {
        self.element.clear();
        let mut depth = 0_u32;
        let (mut is_quoted, mut is_escaped) = (false, false);
        let is_array = matches!(self.layout, JsonLayout::Array(_));
        loop {
            let piece = self.from.fill_buf()?;
            if piece.is_empty() {
                return match (is_array, self.element.is_empty()) {
                    (false, true) => Ok(false),
                    (false, false) if depth == 0 && !is_quoted => self.found(),
                    _ => {
                        let message = "the JSON is truncated";
                        Err(io::Error::new(io::ErrorKind::UnexpectedEof, message))
                    }
                };
            }
            let (mut used, mut end) = (0, None);
            // The part of the element in this piece.
            let (mut start, mut until) = (0, None);
            let mut has_begun = !self.element.is_empty();
            for byte in piece {
                used += 1;
                if !has_begun {
                    match byte {
                        b' ' | b'\t' | b'\r' | b'\n' | b',' | 0x1e => continue,
                        b']' if is_array => {
                            end = Some(false);
                            break;
                        }
                        _ => (has_begun, start) = (true, used - 1),
                    }
                }
                if is_quoted {
                    if is_escaped {
                        is_escaped = false;
                    } else if *byte == b'\\' {
                        is_escaped = true;
                    } else if *byte == b'"' {
                        is_quoted = false;
                    }
                } else {
                    // A number or a bare word ends before the next separator.
                    if depth == 0
                        && matches!(byte, b',' | b']' | b'}' | b' ' | b'\t' | b'\r' | b'\n')
                    {
                        until = Some(used - 1);
                        used -= usize::from(*byte == b']' && is_array);
                        end = Some(true);
                        break;
                    }
                    match byte {
                        b'"' => is_quoted = true,
                        b'[' | b'{' => depth += 1,
                        b']' | b'}' => depth = depth.saturating_sub(1),
                        _ => continue,
                    }
                }
                if depth == 0 && !is_quoted {
                    end = Some(true);
                    break;
                }
            }
            if has_begun && let Some(part) = piece.get(start..until.unwrap_or(used)) {
                self.element.extend_from_slice(part);
            }
            self.from.consume(used);
            match end {
                Some(true) => return self.found(),
                Some(false) => return Ok(false),
                None => self.is_too_long()?,
            }
        }
    }

    fn found(&mut self) -> io::Result<bool> {
        self.is_too_long()?;
        self.number += 1;
        Ok(true)
    }

    fn is_too_long(&self) -> io::Result<()> {
        let long = usize::try_from(LONGEST_RECORD).unwrap_or(usize::MAX);
        if self.element.len() > long {
            return Err(io::Error::from(io::ErrorKind::FileTooLarge));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use crate::feeds::dumps::syntax::json_elements::*;

    /// A source that returns at most three bytes per read.
    struct Dripping(Cursor<Vec<u8>>);

    impl Read for Dripping {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let few = into.len().min(3);
            self.0.read(into.get_mut(..few).unwrap_or_default())
        }
    }

    fn elements(layout: JsonLayout, text: &str) -> Vec<Result<String, bool>> {
        let bytes = Box::new(Dripping(Cursor::new(text.as_bytes().to_vec())));
        let mut split = JsonElements::new(layout, bytes);
        let mut found = Vec::new();
        while let Some((_, element)) = split.next() {
            let element = element.map(|bytes| String::from_utf8_lossy(bytes).trim().to_owned());
            found.push(element.map_err(|fault| fault.is_last));
        }
        found
    }

    #[test]
    fn elements_are_split_wherever_they_stand() {
        let ok = |texts: &[&str]| -> Vec<Result<String, bool>> {
            texts.iter().map(|text| Ok((*text).to_owned())).collect()
        };
        for (layout, text, found) in [
            (
                JsonLayout::Array(1),
                "[ [1, 2],\n[3,4] ]\n",
                ok(&["[1, 2]", "[3,4]"]),
            ),
            (
                JsonLayout::Array(9),
                "{\"data\":[{\"a\":\"]},\\\"\"},{\"a\":[{}]}],\"x\":[1]}",
                ok(&["{\"a\":\"]},\\\"\"}", "{\"a\":[{}]}"]),
            ),
            (
                JsonLayout::Array(1),
                "[1,\"a,b\" , null]",
                ok(&["1", "\"a,b\"", "null"]),
            ),
            (JsonLayout::Array(1), "[]", Vec::new()),
            (
                JsonLayout::Lines,
                "{\"a\":1}\n\n{\"a\"\n",
                ok(&["{\"a\":1}", "{\"a\""]),
            ),
            (
                JsonLayout::Values,
                "{\n\"a\":1}\n{\"a\":\n2}",
                ok(&["{\n\"a\":1}", "{\"a\":\n2}"]),
            ),
            // Truncated texts.
            (
                JsonLayout::Array(1),
                "[[1,2],[3",
                vec![Ok("[1,2]".to_owned()), Err(true)],
            ),
            (
                JsonLayout::Array(1),
                "[[1,2]",
                vec![Ok("[1,2]".to_owned()), Err(true)],
            ),
            (JsonLayout::Values, "{\"a\":", vec![Err(true)]),
        ] {
            assert_eq!(elements(layout, text), found, "{text}");
        }
    }
}
