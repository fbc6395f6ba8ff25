//! Conversion of UTF-16 to UTF-8.

use std::io::{self, Read};

/// Number of bytes per read.
const PIECE: usize = 16 << 10;

/// Reads a UTF-16 source as UTF-8.
pub(super) struct Utf16Text<R> {
    from: R,
    is_big_endian: bool,
    /// The first byte of a character that the last read has split.
    half: Option<u8>,
    /// The first half of a surrogate pair that the last read has split.
    high: Option<u16>,
    text: Vec<u8>,
    given: usize,
}

impl<R: Read> Utf16Text<R> {
    pub(super) fn new(from: R, is_big_endian: bool) -> Self {
        Self {
            from,
            is_big_endian,
            half: None,
            high: None,
            text: Vec::new(),
            given: 0,
        }
    }

    /// Decodes the next bytes; returns false at the end of the source.
    fn decode(&mut self) -> io::Result<bool> {
        self.text.clear();
        self.given = 0;
        let mut piece = vec![0; PIECE];
        let read = self.from.read(&mut piece)?;
        let is_end = read == 0;
        let mut bytes: Vec<u8> = self.half.take().into_iter().collect();
        bytes.extend(piece.into_iter().take(read));
        let mut units: Vec<u16> = self.high.take().into_iter().collect();
        let pairs = bytes.chunks_exact(2);
        if let [half] = pairs.remainder() {
            self.half = Some(*half);
        }
        for pair in pairs {
            if let Ok(pair) = <[u8; 2]>::try_from(pair) {
                units.push(if self.is_big_endian {
                    u16::from_be_bytes(pair)
                } else {
                    u16::from_le_bytes(pair)
                });
            }
        }
        if !is_end && let Some(0xd800..=0xdbff) = units.last() {
            self.high = units.pop();
        }
        let lone = if is_end { self.half.take() } else { None };
        let mut text: String = char::decode_utf16(units)
            .map(|read| read.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect();
        if lone.is_some() {
            text.push(char::REPLACEMENT_CHARACTER);
        }
        self.text = text.into_bytes();
        Ok(!is_end || !self.text.is_empty())
    }
}

impl<R: Read> Read for Utf16Text<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        while self.given >= self.text.len() {
            if !self.decode()? {
                return Ok(0);
            }
        }
        let rest = self.text.get(self.given..).unwrap_or_default();
        let more = rest.len().min(into.len());
        for (to, from) in into.iter_mut().zip(rest) {
            *to = *from;
        }
        self.given += more;
        Ok(more)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::dumps::content::utf16::*;

    #[test]
    fn pieces_may_end_anywhere() {
        let text = "preis;💥;ü\n".repeat(9_000);
        let bytes: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        // With an odd first piece, every later read splits a character.
        let (first, rest) = bytes.split_at(7);
        let mut read = String::new();
        let mut decoded = Utf16Text::new(first.chain(rest), false);
        decoded.read_to_string(&mut read).unwrap();
        assert_eq!(read, text);
    }
}
