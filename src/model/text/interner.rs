//! Interns strings: each distinct string is stored once and has a small integer code.

use std::hash::{BuildHasher, RandomState};

use hashbrown::HashTable;

use crate::model::text::short_name::Short;

/// Number of slots for recently used strings.
const RECENT: usize = 256;

/// Distinct strings; the index of a string is its code.
#[derive(Clone, Debug, Default)]
pub struct Interner {
    texts: Vec<String>,
    /// Recent codes by a rough hash of the string. Each is a guess: its string is compared before use.
    recent: Vec<u32>,
    /// Codes by string; used if the guess is wrong.
    known: HashTable<u32>,
    hasher: RandomState,
}

impl Interner {
    /// The strings; the index of a string is its code.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }

    /// Bytes of memory in use.
    pub fn bytes(&self) -> usize {
        let texts = self.texts.iter().map(String::capacity);
        texts.sum::<usize>()
            + self.texts.capacity() * size_of::<String>()
            + self.recent.capacity() * size_of::<u32>()
            + self.known.allocation_size()
    }

    /// The string of a code.
    #[inline]
    pub fn text(&self, code: u32) -> Option<&str> {
        self.texts.get(code as usize).map(String::as_str)
    }

    /// The code of a string; a new string is added.
    pub fn code(&mut self, text: &str) -> u32 {
        let place = place(text.as_bytes());
        if let Some(&code) = self.recent.get(place)
            && self.text(code) == Some(text)
        {
            return code;
        }
        let code = self.number(text);
        self.recent.resize(RECENT, u32::MAX);
        if let Some(recent) = self.recent.get_mut(place) {
            *recent = code;
        }
        code
    }

    /// Like [`Interner::code`], but without the recent strings.
    fn number(&mut self, text: &str) -> u32 {
        let (texts, hasher) = (&self.texts, &self.hasher);
        let text_of = |code: u32| texts.get(code as usize).map_or("", String::as_str);
        let hash = hasher.hash_one(text);
        if let Some(&code) = self.known.find(hash, |&code| text_of(code) == text) {
            return code;
        }
        let code = count(texts.len());
        let rehash = |&code: &u32| hasher.hash_one(text_of(code));
        self.known.insert_unique(hash, code, rehash);
        self.texts.push(text.to_owned());
        code
    }
}

/// Converts an index to a code. There are only thousands of names, so it always fits.
pub fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// An exchange, its name of a trading pair, and the coin.
type Names<T> = [T; 3];

/// Distinct listings, each with a number. A listing is an exchange, a symbol and a coin.
#[derive(Debug, Default)]
pub struct Listings {
    met: Vec<Names<String>>,
    /// Numbers of the listings that have short names only, in an open-addressing table.
    short: Vec<Option<(Names<Short>, u32)>>,
    /// Numbers of all listings.
    all: HashTable<u32>,
    hasher: RandomState,
}

/// Minimum and maximum number of slots of the table. The maximum is several times the number of pairs that exist.
const FEW_PLACES: usize = 64;
const MOST_PLACES: usize = 4096;
/// Maximum number of slots that one lookup probes.
const NEAR: usize = 8;

impl Listings {
    /// Number of listings.
    pub fn len(&self) -> usize {
        self.met.len()
    }

    /// Exchange, symbol and coin of a listing.
    #[inline]
    pub fn get(&self, number: u32) -> Option<Names<&str>> {
        self.met.get(number as usize).map(texts)
    }

    /// The number of a known listing with short names. The names may be invalid UTF-8.
    #[inline]
    pub fn known(&self, names: Names<&[u8]>) -> Option<u32> {
        let short = shorts(names)?;
        places(&short, self.short.len()).find_map(|place| match self.short.get(place) {
            Some(Some((known, number))) if *known == short => Some(*number),
            _ => None,
        })
    }

    /// The number of a listing; a new listing is added.
    pub fn number(&mut self, names: Names<&str>) -> u32 {
        let bytes = names.map(str::as_bytes);
        if let Some(number) = self.known(bytes) {
            return number;
        }
        let number = self.learned(names);
        if let Some(short) = shorts(bytes) {
            self.make_room();
            self.place(short, number);
        }
        number
    }

    /// Grows the table so that at most a quarter of it is occupied, up to its maximum size.
    fn make_room(&mut self) {
        let wanted = (self.met.len() * 4).next_power_of_two();
        let wanted = wanted.clamp(FEW_PLACES, MOST_PLACES);
        if wanted <= self.short.len() {
            return;
        }
        let before = std::mem::replace(&mut self.short, vec![None; wanted]);
        for (short, number) in before.into_iter().flatten() {
            self.place(short, number);
        }
    }

    fn place(&mut self, short: Names<Short>, number: u32) {
        let mut near = places(&short, self.short.len());
        let free = near.find(|place| self.short.get(*place) == Some(&None));
        if let Some(free) = free.and_then(|place| self.short.get_mut(place)) {
            *free = Some((short, number));
        }
    }

    fn learned(&mut self, names: Names<&str>) -> u32 {
        let (met, hasher) = (&self.met, &self.hasher);
        let hash = hasher.hash_one(names);
        let is = |number: &u32| met.get(*number as usize).is_some_and(|met| *met == names);
        if let Some(&number) = self.all.find(hash, is) {
            return number;
        }
        let number = count(met.len());
        let rehash = |number: &u32| {
            let met = met.get(*number as usize);
            hasher.hash_one(met.map(texts).unwrap_or_default())
        };
        self.all.insert_unique(hash, number, rehash);
        self.met.push(names.map(str::to_owned));
        number
    }
}

fn texts(names: &Names<String>) -> Names<&str> {
    names.each_ref().map(String::as_str)
}

#[inline]
fn shorts([exchange, symbol, coin]: Names<&[u8]>) -> Option<Names<Short>> {
    Some([Short::of(exchange)?, Short::of(symbol)?, Short::of(coin)?])
}

/// The slots to probe for a listing, in a table of `among` slots; `among` is a power of two.
#[inline]
fn places(short: &Names<Short>, among: usize) -> impl Iterator<Item = usize> + use<> {
    let first = Short::place(short);
    (first..first + NEAR).map(move |place| place & among.wrapping_sub(1))
}

/// The slot of a string in the table of recent strings.
#[inline]
fn place(text: &[u8]) -> usize {
    let mut mixed = text.len() as u64;
    let (words, rest) = text.as_chunks::<8>();
    for &word in words {
        mixed = mix(mixed, u64::from_le_bytes(word));
    }
    let mut last = 0;
    for &byte in rest {
        last = last << 8 | u64::from(byte);
    }
    let mixed = mix(mixed, last);
    usize::try_from(mixed >> 56).unwrap_or(0)
}

#[inline]
fn mix(mixed: u64, word: u64) -> u64 {
    (mixed.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::model::text::interner::*;

    #[test]
    fn listings_that_differ_anywhere_have_numbers_of_their_own() {
        let long = b"ABCDEFGHIJKLMNOPQRST";
        let mut words: Vec<Vec<u8>> = vec![Vec::new()];
        for len in 1..=long.len() {
            let word = long.get(..len).unwrap();
            words.push(word.to_vec());
            for place in 0..len {
                for byte in *b"xy\0" {
                    let mut other = word.to_vec();
                    *other.get_mut(place).unwrap() = byte;
                    words.push(other);
                }
            }
        }
        let triples = words.iter().flat_map(|word| {
            let (okx, pair, coin) = (b"okx".as_slice(), b"BTCUSDT".as_slice(), b"BTC".as_slice());
            [[word, pair, coin], [okx, word, coin], [okx, pair, word]]
        });
        let triples: Vec<[&[u8]; 3]> = triples.collect();
        let mut listings = Listings::default();
        let text = |bytes| std::str::from_utf8(bytes).unwrap();
        let numbers: Vec<u32> = triples
            .iter()
            .map(|triple| listings.number(triple.map(text)))
            .collect();
        for (triple, number) in triples.iter().zip(&numbers) {
            assert_eq!(listings.number(triple.map(text)), *number);
            assert!(listings.known(*triple).is_none_or(|known| known == *number));
            let names = listings.get(*number).unwrap();
            assert_eq!(names.map(str::as_bytes), *triple);
        }
        let mut apart: Vec<_> = triples.iter().zip(&numbers).collect();
        apart.sort();
        apart.dedup();
        assert_eq!(apart.len(), listings.len());
    }
}
