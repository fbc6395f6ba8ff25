//! The parts of a file name: contract, bar interval, exchange and date.

use crate::model::{Millis, is_quote, read_span};

/// A parsed file name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileName {
    /// The name for messages: the path, and after `:` the member of an archive.
    pub shown: String,
    /// The last part without its extension.
    stem: String,
}

impl FileName {
    /// Parses the name of a file, and of its member if it is an archive.
    #[must_use]
    pub fn new(path: &str, member: Option<&str>) -> Self {
        let last = member.unwrap_or(path);
        let last = last.rsplit(['/', '\\']).next().unwrap_or(last);
        let mut stem = last;
        while let Some((rest, ending)) = stem.rsplit_once('.') {
            let is_ending = ["gz", "zip", "csv", "json", "txt"]
                .iter()
                .any(|known| ending.eq_ignore_ascii_case(known));
            if !is_ending || rest.is_empty() {
                break;
            }
            stem = rest;
        }
        Self {
            shown: member.map_or_else(|| path.to_owned(), |member| format!("{path}:{member}")),
            stem: stem.to_owned(),
        }
    }

    /// Whether the name contains a word.
    pub(crate) fn says(&self, word: &str) -> bool {
        self.stem.to_lowercase().contains(&word.to_lowercase())
    }

    /// The contract of a Binance file in upper case: the words before `-liquidationSnapshot`, `-metrics` or the interval.
    pub(crate) fn contract(&self) -> Option<String> {
        let (contract, rest) = self.stem.split_once('-')?;
        let word = rest.split('-').next().unwrap_or(rest);
        let known = word.eq_ignore_ascii_case("liquidationSnapshot")
            || word.eq_ignore_ascii_case("metrics")
            || read_span(word).is_some();
        (known && !contract.is_empty()).then(|| contract.to_uppercase())
    }

    /// The symbol before the interval, as users name files: `BTC_USDT_USDT-5m-futures`, `btc_5m_candles`.
    pub(crate) fn symbol(&self) -> Option<String> {
        let words: Vec<&str> = self.words().collect();
        let before = words.iter().position(|word| is_length(word))?;
        let mut words = words.get(..before)?.iter();
        let first = words.next()?.to_uppercase();
        let quote = words
            .next()
            .map(|word| word.to_uppercase())
            .filter(|word| is_quote(word));
        Some(match quote {
            Some(quote) => format!("{first}/{quote}"),
            None => first,
        })
    }

    /// The bar interval in the name.
    pub(crate) fn interval(&self) -> Option<i64> {
        self.words()
            .find(|word| is_length(word))
            .and_then(read_span)
    }

    fn words(&self) -> impl Iterator<Item = &str> {
        self.stem.split(['-', '_']).filter(|word| !word.is_empty())
    }

    /// The day or month in the name.
    #[must_use]
    pub fn span(&self) -> Option<(Millis, Millis)> {
        let bytes = self.stem.as_bytes();
        let digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
        let dash = |at: usize| bytes.get(at) == Some(&b'-');
        let month = |at: usize| {
            (0..4).all(|by| digit(at + by)) && dash(at + 4) && digit(at + 5) && digit(at + 6)
        };
        let at = (0..bytes.len()).find(|at| month(*at) && !at.checked_sub(1).is_some_and(digit))?;
        if dash(at + 7) && digit(at + 8) && digit(at + 9) && !digit(at + 10) {
            let start = Millis::read_iso(self.stem.get(at..at + 10)?)?;
            return Some((start, start.on(Millis::DAY)));
        }
        let year: i64 = self.stem.get(at..at + 4)?.parse().ok()?;
        let month: i64 = self.stem.get(at + 5..at + 7)?.parse().ok()?;
        let first = |year: i64, month: i64| Millis::read_iso(&format!("{year:04}-{month:02}-01"));
        let next = if month == 12 {
            first(year + 1, 1)
        } else {
            first(year, month + 1)
        };
        Some((first(year, month)?, next?))
    }
}

/// Whether a word is a bar interval: `5m`, `1h`, `1d`.
fn is_length(word: &str) -> bool {
    read_span(word).is_some_and(|span| span >= Millis::MINUTE)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::dumps::file_name::*;

    #[test]
    fn a_name_says_contract_length_and_time() {
        let day = FileName::new("/data/BTCUSD_PERP-liquidationSnapshot-2023-06-25.zip", None);
        assert_eq!(day.contract().as_deref(), Some("BTCUSD_PERP"));
        let start = Millis::read_iso("2023-06-25").unwrap();
        assert_eq!(day.span(), Some((start, start.on(Millis::DAY))));

        let month = FileName::new("x.zip", Some("BTCUSDT-1m-2024-12.csv"));
        assert_eq!(month.contract().as_deref(), Some("BTCUSDT"));
        let at = |text: &str| Millis::read_iso(text).unwrap();
        assert_eq!(month.span(), Some((at("2024-12-01"), at("2025-01-01"))));
        assert_eq!(month.interval(), Some(Millis::MINUTE));
        assert_eq!(month.shown, "x.zip:BTCUSDT-1m-2024-12.csv");

        let renamed = FileName::new("ethusd_perp-metrics-2024-12-01.csv", None);
        assert_eq!(renamed.contract().as_deref(), Some("ETHUSD_PERP"));

        let tardis = FileName::new(
            "binance-futures_liquidations_2021-09-01_PERPETUALS.csv.gz",
            None,
        );
        assert!(tardis.says("liquidations"));
        assert_eq!(tardis.span().unwrap().0, at("2021-09-01"));
        assert_eq!(tardis.contract(), None);
    }

    #[test]
    fn names_that_people_give_say_the_symbol() {
        for (name, symbol) in [
            ("BTC_USDT_USDT-5m-futures.json", Some("BTC/USDT")),
            ("BTC-USDT-5m.json", Some("BTC/USDT")),
            ("btc_5m_candles_20260324_20260622.csv", Some("BTC")),
            ("btc_oi_5m_20251201.csv", Some("BTC")),
            ("5m.csv", None),
            ("candles.csv", None),
        ] {
            assert_eq!(
                FileName::new(name, None).symbol().as_deref(),
                symbol,
                "{name}"
            );
        }
    }

    #[test]
    fn numbers_that_are_no_dates_say_nothing() {
        for name in [
            "btc_5m_candles_20260324.csv",
            "a-2023-13.csv",
            "12023-06-25.csv",
            "",
        ] {
            assert_eq!(FileName::new(name, None).span(), None, "{name}");
        }
    }
}
