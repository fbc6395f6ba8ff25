//! Bars of `CryptoDataDownload`: `Unix, Date, Symbol, Open, High, Low, Close, Volume BTC, Volume USDT`.
//!
//! The column `Unix` is in seconds or milliseconds, and one file may mix both units. Some files write `Unix` with an
//! exponent, which loses digits, or omit it. In these cases the column `Date`, in UTC, gives the time. The header of a
//! volume column names its currency; the column in coins is used if there is one.
//! Source: <https://www.cryptodatadownload.com>.

use crate::feeds::dumps::file_name::FileName;
use crate::feeds::dumps::format::Format;
use crate::feeds::dumps::layout::{AmountMeaning, Clock, FileTable, Layout, TABLE, place};
use crate::model::{Symbol, is_dollar};

/// Returns the table if the header is that of a `CryptoDataDownload` file.
pub(super) fn table(
    name: &FileName,
    header: &[String],
    row: Option<&Vec<String>>,
) -> Result<Option<FileTable>, String> {
    let prices = ["open", "high", "low", "close"];
    let places = [&["open"], &["high"], &["low"], &["close"]].map(|names| place(header, names));
    let unix = place(header, &["unix", "unix timestamp", "unix_timestamp"]);
    let date = place(header, &["date"]);
    let lower: Vec<String> = header
        .iter()
        .map(|name| name.trim().to_lowercase())
        .collect();
    let currencies: Vec<(usize, &str)> = lower
        .iter()
        .enumerate()
        .filter_map(|(place, name)| Some((place, name.strip_prefix("volume ")?.trim())))
        .collect();
    let is_one = unix.is_some() || date.is_some() && !currencies.is_empty();
    if !is_one || places.contains(&None) {
        return Ok(None);
    }
    let symbol = place(header, &["symbol"]);
    let pair = symbol
        .and_then(|symbol| row?.get(symbol).cloned())
        .or_else(|| name.symbol_or_given());
    let (volume, is_in_usd) = match (place(header, &["volume"]), currencies.as_slice()) {
        (Some(volume), _) => (volume, false),
        (None, []) => {
            return Err(
                "it has open, high, low and close, but no volume, which bars need".to_owned(),
            );
        }
        (None, currencies) => volume_of(currencies, pair.as_deref())?,
    };
    let found = [
        ("timestamp", unix.or(date)),
        ("date", date),
        ("symbol", symbol),
    ];
    let prices = prices.into_iter().zip(places);
    let columns = found
        .into_iter()
        .chain(prices)
        .chain([("volume", Some(volume))]);
    let columns = columns.filter_map(|(name, place)| Some((name.to_owned(), place?)));
    let layout = Layout {
        format: if is_in_usd {
            Format::CoinGlassPrices
        } else {
            Format::Bars
        },
        writer: "CryptoDataDownload's bars",
        clock: Clock::AnyEpoch,
        amount: if is_in_usd {
            AmountMeaning::Usd
        } else {
            AmountMeaning::Coins
        },
        ..TABLE
    };
    Ok(Some(FileTable {
        layout,
        columns: columns.collect(),
        header: header.to_vec(),
    }))
}

/// Returns the volume column to use, and whether it is in USD.
///
/// The column in coins is preferred to the column in USD.
fn volume_of(currencies: &[(usize, &str)], pair: Option<&str>) -> Result<(usize, bool), String> {
    let pair = pair.ok_or("no symbol is known: name the file after it, as BTC_USDT-5m.csv")?;
    let read = Symbol::read(pair).ok_or_else(|| format!("its symbol ({pair}) names no coin"))?;
    let base = read
        .quote()
        .and_then(|quote| read.name().strip_suffix(quote))
        .unwrap_or(read.name());
    let is_base = |word: &str| {
        word.eq_ignore_ascii_case(base)
            || word.eq_ignore_ascii_case(read.coin())
            || Symbol::read(word)
                .is_some_and(|word| word.quote().is_none() && word.coin() == read.coin())
    };
    if let Some((place, _)) = currencies.iter().find(|(_, word)| is_base(word)) {
        return Ok((*place, false));
    }
    let in_usd = currencies
        .iter()
        .find(|(_, word)| is_dollar(&word.to_uppercase()));
    in_usd.map(|(place, _)| (*place, true)).ok_or_else(|| {
        let words: Vec<&str> = currencies.iter().map(|(_, word)| *word).collect();
        format!(
            "its volumes are in {}, and none is in a currency of {pair}",
            words.join(" and ")
        )
    })
}

#[cfg(test)]
mod tests {
    use crate::feeds::dumps::cryptodatadownload::*;

    #[test]
    fn the_volume_is_that_of_the_coin() {
        let volumes = [(7, "eth"), (8, "usdt")];
        assert!(
            volume_of(&volumes, Some("ETH/USDT"))
                .is_ok_and(|(column, in_usd)| column == 7 && !in_usd)
        );
        assert!(
            volume_of(&volumes[1..], Some("ETHUSDT"))
                .is_ok_and(|(column, in_usd)| column == 8 && in_usd)
        );
        assert!(
            volume_of(&[(7, "btc")], Some("ETHUSDT")).is_err_and(|why| why.contains("ETHUSDT"))
        );
    }
}
