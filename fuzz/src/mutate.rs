//! Ways to change an input so that most of it stays what a decoder understands.

use fastrand::Rng;

/// What JSON is made of, and what is none.
pub const JSON: &[&str] = &[
    "null",
    "true",
    "false",
    "NaN",
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\\u0041",
    "\\ud800",
    "\u{feff}",
    "\u{0}",
    "é",
    "<html>",
    " ",
    "\n",
    "[]",
    "{}",
    "[[]]",
    "\"\"",
    "\"x\"",
    "\"1.5\"",
    "0",
    "-0",
    "-",
    "01",
    "1.",
    ".5",
    "e5",
    "1e400",
    "1e-400",
    "9223372036854775807",
    "9223372036854775808",
    "18446744073709551616",
    "1790000000000",
    "0.000000000000000000000000001",
    "9999999999999999999999999999",
    "\"success\":false,",
    "\"success\":true,",
    "\"data\":null,",
    "\"error\":{\"message\":\"m\"},",
    "\"matrix\":[[1]],",
    "\"other\":[{}],",
    "\"LONG\"",
    "\"sell\"",
    "[[[[[[[[",
    "{\"a\":{\"a\":{\"a\":",
];

/// What numbers are made of, and what is none.
pub const NUMBERS: &[&str] = &[
    "-",
    "+",
    ".",
    "e",
    "E",
    "e-",
    "e+",
    "0",
    "00000000",
    "99999999",
    "9007199254740993",
    "0000000000000000000000000001",
    "e308",
    "e-324",
    "e22",
    "e99999999999999999999",
    "1e",
    "_",
    " ",
    "NaN",
    "inf",
    "0x",
    "\u{661}",
    "５",
];

/// Changes of a file: near its beginning, at the edges of pages, of one bit and of all.
pub const CHANGES: &[&str] = &[
    "\u{12}\0\0\0\u{1}",
    "\u{1c}\0\0\0\u{7f}",
    "\0\u{10}\0\0\u{1}",
    "\0\u{20}\0\0\u{7f}",
];

/// What gzip files and zstd frames begin with, fields of their heads, and bytes of ASCII only.
pub const CODINGS: &[&str] = &[
    "\u{1f}",
    "\u{8}\u{1c}\0\0\0\0",
    "(\u{35}/",
    "\u{1}\0\0\0\0\0\0\0",
    "\0\0\0\0",
    "name\0",
];

/// What instants are made of, and what are none.
pub const INSTANTS: &[&str] = &[
    "T",
    "t",
    "Z",
    "z",
    " ",
    ":",
    "-",
    "+",
    ".",
    ",",
    "00",
    "02-29",
    "24:00",
    "23:59:60",
    "+14:00",
    "-2359",
    "0000",
    "9999",
    "99999999999",
    "100000000000",
    "e3",
    "e-3",
    ".000",
    ".9999",
    "２",
];

/// What streams of events are made of.
pub const EVENTS: &[&str] = &[
    "\n",
    "\r",
    "\r\n",
    "\n\n",
    "\r\r",
    ":",
    ": ",
    "data",
    "data:",
    "data: {}",
    "id",
    "id: a-1",
    "event: gap",
    "retry: 5",
    "\u{feff}",
    "\u{0}",
    "é",
    "other: x",
];

/// What questions are made of.
pub const QUESTIONS: &[&str] = &[
    "&",
    "=",
    "symbol",
    "range",
    "limit",
    "offset",
    "exchange",
    "model",
    "coin",
    "last_event_id",
    "as_of",
    "explain",
    "BTC",
    "BTCUSDT",
    "btc-usdt",
    "1000PEPE",
    "24h",
    "1M",
    "1m",
    "-1",
    "0",
    "1001",
    "9223372036854775808",
    " ",
    "é",
    "\u{130}",
    "\u{0}",
];

/// Changes `input` in one way, as `rng` decides.
pub fn mutate(rng: &mut Rng, input: &mut Vec<u8>, tokens: &[&str], seeds: &[Vec<u8>]) {
    let token = rng.choice(tokens).copied().unwrap_or_default().as_bytes();
    match rng.u8(0..12) {
        0 => flip_a_bit(rng, input),
        1 => input.truncate(rng.usize(0..=input.len())),
        2 => {
            let (start, end) = stretch(rng, input, 40);
            input.drain(start..end);
        }
        3 => {
            let (start, end) = stretch(rng, input, 40);
            let again = input.get(start..end).unwrap_or_default().to_vec();
            let times = if rng.u8(..) == 0 { 200 } else { 1 };
            input.splice(start..start, again.repeat(times));
        }
        4 | 5 => {
            let at = rng.usize(0..=input.len());
            input.splice(at..at, token.iter().copied());
        }
        6 | 7 => {
            let (start, end) = word(rng, input);
            input.splice(start..end, token.iter().copied());
        }
        8 | 9 => {
            let (start, end) = number(rng, input);
            input.splice(start..end, number_text(rng).into_bytes());
        }
        10 => swap_words(rng, input),
        _ => {
            let other = rng.choice(seeds).map(Vec::as_slice).unwrap_or_default();
            let (start, end) = stretch(rng, other, 200);
            let part = other.get(start..end).unwrap_or_default().to_vec();
            let (start, end) = stretch(rng, input, 200);
            input.splice(start..end, part);
        }
    }
}

fn flip_a_bit(rng: &mut Rng, input: &mut [u8]) {
    let at = rng.usize(0..input.len().max(1));
    if let Some(byte) = input.get_mut(at) {
        *byte ^= 1 << rng.u8(0..8);
    }
}

/// Some bytes of `input`, at most `most`, as start and end.
fn stretch(rng: &mut Rng, input: &[u8], most: usize) -> (usize, usize) {
    let start = rng.usize(0..=input.len());
    (start, (start + rng.usize(0..=most)).min(input.len()))
}

/// The run of bytes that `belongs` allows around some place, as start and end.
fn run(input: &[u8], at: usize, belongs: impl Fn(u8) -> bool) -> (usize, usize) {
    let (before, behind) = input.split_at(at.min(input.len()));
    let back = before.iter().rev().take_while(|&&byte| belongs(byte));
    let on = behind.iter().take_while(|&&byte| belongs(byte));
    (before.len() - back.count(), before.len() + on.count())
}

/// A value or a name of JSON without what stands around it; quotes belong to it.
fn word(rng: &mut Rng, input: &[u8]) -> (usize, usize) {
    let at = rng.usize(0..=input.len());
    run(input, at, |byte| !b"{}[],: \n\r\t&=".contains(&byte))
}

/// A number; where none is near, what stands between two bytes.
fn number(rng: &mut Rng, input: &[u8]) -> (usize, usize) {
    let from = rng.usize(0..=input.len());
    let behind = input.get(from..).unwrap_or_default();
    let at = from + behind.iter().position(u8::is_ascii_digit).unwrap_or(0);
    run(input, at, |byte| b"+-.0123456789eE".contains(&byte))
}

fn swap_words(rng: &mut Rng, input: &mut Vec<u8>) {
    let (one, other) = (word(rng, input), word(rng, input));
    let (first, second) = if one <= other {
        (one, other)
    } else {
        (other, one)
    };
    if first.1 > second.0 {
        return;
    }
    let taken = input.get(first.0..first.1).unwrap_or_default().to_vec();
    let behind: Vec<u8> = input.splice(second.0..second.1, taken).collect();
    input.splice(first.0..first.1, behind);
}

/// A number that is hard to read: many digits, far exponents, halfway between two doubles, or nearly a number.
#[must_use]
pub fn number_text(rng: &mut Rng) -> String {
    let sign = if rng.u8(0..4) == 0 { "-" } else { "" };
    let whole = digits(rng, 25);
    match rng.u8(0..8) {
        0 => format!("{sign}{}", f64::from_bits(rng.u64(..)).abs()),
        1 => format!("{sign}{:e}", f64::from_bits(rng.u64(..)).abs()),
        2 => format!("{sign}{}", halfway(rng)),
        3 => format!("{sign}{whole}"),
        4 => format!("{sign}{whole}e{}", rng.i32(-40..40)),
        5 => format!("{sign}{whole}.{}e{}", digits(rng, 25), rng.i32(-350..320)),
        6 => format!("{sign}0.{}{whole}", "0".repeat(rng.usize(0..30))),
        _ => format!("{sign}{whole}.{}", digits(rng, 30)),
    }
}

/// One digit or more; the first one is a zero only now and then.
fn digits(rng: &mut Rng, most: usize) -> String {
    let mut text: String = (0..rng.usize(1..=most)).map(|_| rng.digit(10)).collect();
    if text.len() > 1 && text.starts_with('0') && rng.u8(0..16) > 0 {
        text.replace_range(..1, "7");
    }
    text
}

/// The number exactly between two doubles, or a hair beside it.
fn halfway(rng: &mut Rng) -> String {
    let mantissa = (1 << 52) | rng.u64(..1 << 52);
    let down = rng.u32(1..12);
    // An odd multiple of 2^-down, all digits of it.
    let size = (u128::from(mantissa) * 2 + 1) * 5_u128.pow(down);
    let text = size.to_string();
    let (whole, fraction) = text.split_at(text.len().saturating_sub(down as usize));
    let hair = rng
        .choice(["", "", "0", "00000000000001"])
        .unwrap_or_default();
    format!("{whole}.{fraction}{hair}")
}
