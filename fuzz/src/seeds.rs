//! What good inputs look like: the samples that the tests read too, and a few of kinds that those have not.

use std::io::Write;
use std::iter::once;

use flate2::{Compression, GzBuilder};
use liqdata::feeds::VENUES;

macro_rules! sample {
    ($name:literal) => {
        include_str!(concat!("../../tests/data/", $name))
    };
}

/// The ten replies in the order of [`super::checks::replies`]' kinds.
const REPLIES: [&str; 10] = [
    sample!("overview.json"),
    sample!("exchanges.json"),
    sample!("coins.json"),
    sample!("chart.json"),
    sample!("orders.json"),
    sample!("largest.json"),
    sample!("heatmap.json"),
    sample!("liqmap.json"),
    sample!("levels.json"),
    sample!("maxpain.json"),
];

/// Frames of each venue, a line each.
const FRAMES: [(&str, &str); 18] = [
    ("binance", sample!("feeds/binance.jsonl")),
    ("bybit", sample!("feeds/bybit.jsonl")),
    ("okx", sample!("feeds/okx.jsonl")),
    ("gate", sample!("feeds/gate.jsonl")),
    ("bitget", sample!("feeds/bitget.jsonl")),
    ("htx", sample!("feeds/htx.jsonl")),
    ("aster", sample!("feeds/aster.jsonl")),
    ("deribit", sample!("feeds/deribit.jsonl")),
    ("kraken", sample!("feeds/kraken.jsonl")),
    ("bitmex", sample!("feeds/bitmex.jsonl")),
    ("bitfinex", sample!("feeds/bitfinex.jsonl")),
    ("dydx", sample!("feeds/dydx.jsonl")),
    ("coinex", sample!("feeds/coinex.jsonl")),
    ("lighter", sample!("feeds/lighter.jsonl")),
    ("lighter_rh", sample!("feeds/lighter_rh.jsonl")),
    ("pacifica", sample!("feeds/pacifica.jsonl")),
    ("extended", sample!("feeds/extended.jsonl")),
    ("orderly", sample!("feeds/orderly.jsonl")),
];

/// REST bodies that are not events: the name of a venue and a body, a line each.
const REST_BODIES: &str = include_str!("../seeds/rest_bodies.txt");

/// The markets that some frames need.
pub const INSTRUMENTS: &str = sample!("feeds/instruments.json");

/// JSON text with the blanks between its parts left out, as services send it.
fn dense(json: &str) -> String {
    serde_json::from_str::<serde_json::Value>(json)
        .map_or_else(|_| json.to_owned(), |value| value.to_string())
}

/// `kind` as a letter, then `text`.
fn marked(kind: usize, text: &str) -> Vec<u8> {
    let letter = u8::try_from(kind).map_or(b'a', |kind| b'a' + kind);
    once(letter).chain(text.bytes()).collect()
}

/// The replies as they are and without blanks, and orders without blanks in the contract's order.
#[must_use]
pub fn replies() -> Vec<Vec<u8>> {
    let refusal = "{\"success\":false,\"error\":{\"message\":\"slow down\"}}";
    let mut seeds = Vec::new();
    for (kind, json) in REPLIES.into_iter().enumerate() {
        let tight = json.replace(": ", ":").replace(", ", ",");
        for text in [
            json,
            &tight,
            &tight.replace('\n', "").replace("  ", ""),
            &dense(json),
            refusal,
        ] {
            seeds.push(marked(kind, text));
        }
    }
    seeds
}

/// Heatmaps: rows a price level, rows a time, triples, no rows at all, the matrix first.
#[must_use]
pub fn heatmaps() -> Vec<Vec<u8>> {
    let json = sample!("heatmap.json");
    let body = |prices: &str, times: &str, matrix: &str| {
        format!(
            "{{\"symbol\":\"BTC\",\"range\":\"24h\",\"model\":2,\"updatedAt\":1790000000000,\"currentPrice\":1.5,\
             \"prices\":{prices},\"times\":{times},\"matrix\":{matrix}}}"
        )
    };
    let times = "[1790000000000,1790000060000,1790000120000]";
    let many = format!("[{}]", vec!["[0,0,0,0,0,0,0,0,0,0,0,1.25]"; 40].join(","));
    [
        json.to_owned(),
        // Without blanks and sorted by name, so that the matrix comes before the axes.
        dense(json),
        json.replace(": ", ":")
            .replace(", ", ",")
            .replace(['\n', ' '], ""),
        body("[1,2]", times, "[[0,1,2],[3,4.5,6e1]]"),
        body("[1,2]", times, "[[0,3],[1,4],[2,5]]"),
        body("[1,2]", times, "[[2,1,5.5],[0,0,1],[1,1,-0]]"),
        body("[1,2]", times, "[]"),
        body("[1,2]", times, "[[null,\"1\",2],[3,4,5]]"),
        body("[1,2]", times, "[ [ 0 , 1,2 ] ,\n [3,4, 5] ] "),
        body("[]", "[]", &many),
    ]
    .map(String::into_bytes)
    .to_vec()
}

/// Numbers at the edges of what can be read.
#[must_use]
pub fn numbers() -> Vec<Vec<u8>> {
    [
        "0",
        "-0",
        "-0.0",
        "1",
        "0.190",
        "63250.10",
        "-12.50",
        "1e-7",
        "1E+28",
        "8e28",
        "1200e-2",
        "9007199254740993",
        "9007199254740992.5",
        "9999999999999999999",
        "99999999999999999999",
        "9223372036854775807",
        "9223372036854775808",
        "0.30000000000000004",
        "123456.78901234567",
        "4503599627370497.5",
        "1.7976931348623157e308",
        "1.7976931348623159e308",
        "2.2250738585072011e-308",
        "2.2250738585072014e-308",
        "4.9406564584124654e-324",
        "2.4703282292062327e-324",
        "2.4703282292062328e-324",
        "1e400",
        "79228162514264337593543950335",
        "9999999999999999999999999999",
        "0.0000000000000000000000000001",
        "1.50000000000000000000000000000000000",
        "1000000000000000000000000000000e-30",
        "0e99999999999999999999",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Instants in every way they are written.
#[must_use]
pub fn instants() -> Vec<Vec<u8>> {
    [
        "1781136000000",
        "1781136000",
        "1781136000.5",
        "1781136000000.0",
        "1.781136e12",
        "99999999999.999",
        "100000000000",
        "-1",
        "2026-06-11",
        "2026-06-11T00:00",
        "2026-06-11 00:00:00Z",
        "2026-06-11T02:00:00.250+02:00",
        "2026-06-10T19:00:00.250000-05",
        "2026-06-11T02:00:00,25+0200",
        "2000-02-29T00:00:00Z",
        "1969-12-31T23:59:59.999Z",
        "0000-01-01T00:00+23:59",
        "9999-12-31T23:59:59.999-23:59",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// The number that a venue has in [`VENUES`].
fn venue_number(name: &str) -> usize {
    let named = |venue: &&liqdata::feeds::Venue| venue.name() == name;
    VENUES.iter().position(named).unwrap_or(0)
}

/// Frames of every venue.
#[must_use]
pub fn frames() -> Vec<Vec<u8>> {
    let lines = |(name, text): (&'static str, &'static str)| {
        text.lines()
            .map(move |line| marked(venue_number(name), line))
    };
    FRAMES.into_iter().flat_map(lines).collect()
}

/// Listings, prices, bars and open interest of every venue, and its frames.
#[must_use]
pub fn rest_bodies() -> Vec<Vec<u8>> {
    REST_BODIES
        .lines()
        .filter_map(|line| line.split_once(' '))
        .map(|(name, body)| marked(venue_number(name), body))
        .chain(frames())
        .collect()
}

/// Streams of server-sent events.
#[must_use]
pub fn events() -> Vec<Vec<u8>> {
    [
        "data: YHOO\ndata: +2\ndata: 10\n\n",
        ": test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n",
        "data\n\ndata\ndata\n\ndata:",
        "\u{feff}event: gap\r\nid: a-1\r\nretry: 5\rdata: {}\r\r: here\n\n",
        "id: a\0b\ndata: x\n\nid: a-2\n\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec()
}

/// Questions to every endpoint, in the order of [`super::checks::questions`]' kinds.
#[must_use]
pub fn questions() -> Vec<Vec<u8>> {
    [
        "symbol=BTC",
        "range=24h&symbol=btc",
        "range=4h&limit=30",
        "symbol=BTC&explain=1",
        "symbol=BTCUSDT&exchange=okx&limit=1000&offset=9223372036854775807",
        "range=1h&limit=1000",
        "symbol=BTC&range=24h&model=2",
        "symbol=BTC&range=7d",
        "symbol=1000PEPE",
        "symbol=eth&as_of=2026-06-11",
        "symbol=BTCUSDT&exchange=gateio&last_event_id=a-1",
    ]
    .into_iter()
    .enumerate()
    .map(|(kind, text)| marked(kind, text))
    .collect()
}

/// Bodies of either coding: short, long and of one byte over and over, of two members, with a name and a checksum in the
/// head, cut short, with something behind them, with less in them than they say.
#[must_use]
pub fn codings() -> Vec<Vec<u8>> {
    let gzip = |text: &[u8], level| {
        let mut encoder = GzBuilder::new()
            .filename("body")
            .write(Vec::new(), Compression::new(level));
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    };
    let json = sample!("heatmap.json").as_bytes();
    let zeros = vec![b'0'; 200_000];
    // A head of zstd that says one byte, and nothing behind it; a packed block of no byte.
    let mut bodies = vec![
        b"\x01\xff\x28\xb5\x2f\xfd\x20\x01\x01\0\0".to_vec(),
        b"\x01\xff\x28\xb5\x2f\xfd\x20\0\x05\0\0".to_vec(),
    ];
    for text in [b"".as_slice(), b"[1,2]", json, &zeros] {
        for (coding, packed) in [
            (0, gzip(text, 1)),
            (0, gzip(text, 9)),
            (1, zstd::encode_all(text, 1).unwrap()),
            (1, zstd::encode_all(text, 19).unwrap()),
            (2, text.to_vec()),
        ] {
            let with = |cap: u8, body: &[u8]| [&[coding, cap], body].concat();
            bodies.push(with(255, &packed));
            bodies.push(with(3, &packed));
            bodies.push(with(255, &[packed.as_slice(), &packed].concat()));
            bodies.push(with(255, &packed[..packed.len() / 2]));
            bodies.push(with(255, &[packed.as_slice(), b"more"].concat()));
        }
    }
    bodies
}

/// Changes of each of the files of an archive, one near its beginning, one farther on, and a file cut short.
#[must_use]
pub fn archive() -> Vec<Vec<u8>> {
    (0..8)
        .flat_map(|file| {
            [
                vec![file],
                vec![file, 18, 0, 0, 0, 1],
                vec![file, 0, 17, 0, 0, 64, 5, 60, 0, 0, 3],
                vec![file, 128],
            ]
        })
        .collect()
}
