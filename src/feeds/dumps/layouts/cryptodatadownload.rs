//! Bars of `CryptoDataDownload`: `Unix, Date, Symbol, Open, High, Low, Close, Volume BTC, Volume USDT`.
//!
//! The column `Unix` is in seconds or milliseconds, and one file may mix both units. Some files write `Unix` with an
//! exponent, which loses digits, or omit it. In these cases the column `Date`, in UTC, gives the time. The header of a
//! volume column names its currency; the column in coins is used if there is one.
//! Source: <https://www.cryptodatadownload.com>.

use crate::feeds::dumps::cells::{DumpColumn, DumpLine, RowError, column, columns};
use crate::feeds::dumps::file_name::FileName;
use crate::feeds::dumps::format::Format;
use crate::feeds::dumps::layouts::epoch::epoch;
use crate::feeds::dumps::layouts::known_layout::KnownLayout;
use crate::model::{Millis, Symbol, is_dollar};

/// Names of the column with the epoch time.
const UNIX: &[&str] = &["unix", "unix timestamp", "unix_timestamp"];

/// Returns the layout if the header is that of a `CryptoDataDownload` file.
pub(super) fn layout(
    name: &FileName,
    header: &[String],
    row: Option<&Vec<String>>,
) -> Result<Option<KnownLayout>, String> {
    let prices = columns(header, [&["open"], &["high"], &["low"], &["close"]]);
    let (unix, date) = (column(header, UNIX), column(header, &["date"]));
    let currencies: Vec<(usize, &str)> = header
        .iter()
        .enumerate()
        .filter_map(|(place, name)| Some((place, name.strip_prefix("volume ")?.trim())))
        .collect();
    let Some(prices) =
        prices.filter(|_| unix.is_some() || date.is_some() && !currencies.is_empty())
    else {
        return Ok(None);
    };
    let symbol = column(header, &["symbol"]);
    let pair = symbol
        .and_then(|symbol| row?.get(symbol.place).cloned())
        .or_else(|| name.symbol());
    let (volume, is_in_usd) = match (column(header, &["volume"]), currencies.as_slice()) {
        (Some(volume), _) => (volume, false),
        (None, []) => {
            return Err(
                "it has open, high, low and close, but no volume, which bars need".to_owned(),
            );
        }
        (None, currencies) => volume_of(currencies, pair.as_deref())?,
    };
    let mut names = vec!["timestamp", "open", "high", "low", "close"];
    names.push(if is_in_usd { "volume_usd" } else { "volume" });
    names.extend(symbol.map(|_| "symbol"));
    let read = move |line: DumpLine<'_>| {
        let mut cells = vec![time(line, unix, date)?.0.to_string()];
        for column in prices.into_iter().chain([volume]).chain(symbol) {
            cells.push(line.text(column)?.to_owned());
        }
        Ok(cells)
    };
    let format = if is_in_usd {
        Format::CoinGlassPrices
    } else {
        Format::Bars
    };
    let writer = "CryptoDataDownload's bars";
    Ok(Some(KnownLayout::new(writer, format, &names, read)))
}

/// Returns the volume column to use, and whether it is in USD.
///
/// The column in coins is preferred to the column in USD.
fn volume_of(
    currencies: &[(usize, &str)],
    pair: Option<&str>,
) -> Result<(DumpColumn, bool), String> {
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
    let at = |place: usize| DumpColumn {
        name: "volume",
        place,
    };
    if let Some((place, _)) = currencies.iter().find(|(_, word)| is_base(word)) {
        return Ok((at(*place), false));
    }
    let in_usd = currencies
        .iter()
        .find(|(_, word)| is_dollar(&word.to_uppercase()));
    in_usd.map(|(place, _)| (at(*place), true)).ok_or_else(|| {
        let words: Vec<&str> = currencies.iter().map(|(_, word)| *word).collect();
        format!(
            "its volumes are in {}, and none is in a currency of {pair}",
            words.join(" and ")
        )
    })
}

/// Reads the time of a line.
fn time(
    line: DumpLine<'_>,
    unix: Option<DumpColumn>,
    date: Option<DumpColumn>,
) -> Result<Millis, RowError> {
    let text = |column: Option<DumpColumn>| column.and_then(|column| line.text(column).ok());
    text(unix)
        .and_then(epoch)
        .or_else(|| text(date).and_then(read_date))
        .ok_or_else(|| {
            let shown = text(unix).or_else(|| text(date)).unwrap_or_default();
            RowError::new(
                "unix, date: not an instant (epoch seconds or milliseconds, or ISO 8601)",
                shown,
            )
        })
}

/// Parses ISO 8601, or a date with an hour such as `2020-03-31 10-PM`.
fn read_date(text: &str) -> Option<Millis> {
    if let Some(at) = Millis::read_iso(text) {
        return Some(at);
    }
    let (day, clock) = text.split_once(' ')?;
    let (hour, half) = clock.split_once('-')?;
    let hour: i64 = hour.parse().ok().filter(|hour| (1..=12).contains(hour))?;
    let later = match half {
        "AM" => 0,
        "PM" => 12,
        _ => return None,
    };
    Some(Millis::read_iso(day)?.on((hour % 12 + later) * Millis::HOUR))
}

#[cfg(test)]
mod tests {
    use crate::feeds::dumps::layouts::cryptodatadownload::*;

    #[test]
    fn dates_have_hours_of_two_halves() {
        for (text, iso) in [
            ("2020-03-31 10-PM", "2020-03-31T22:00"),
            ("2020-03-31 12-AM", "2020-03-31"),
            ("2020-03-31 12-PM", "2020-03-31T12:00"),
            ("2020-03-31 05:00:00", "2020-03-31T05:00"),
        ] {
            assert_eq!(read_date(text), Millis::read_iso(iso), "{text}");
        }
        assert_eq!(read_date("2020-03-31 13-PM"), None);
    }

    #[test]
    fn the_volume_is_that_of_the_coin() {
        let volumes = [(7, "eth"), (8, "usdt")];
        assert!(
            volume_of(&volumes, Some("ETH/USDT"))
                .is_ok_and(|(column, in_usd)| column.place == 7 && !in_usd)
        );
        assert!(
            volume_of(&volumes[1..], Some("ETHUSDT"))
                .is_ok_and(|(column, in_usd)| column.place == 8 && in_usd)
        );
        assert!(
            volume_of(&[(7, "btc")], Some("ETHUSDT")).is_err_and(|why| why.contains("ETHUSDT"))
        );
    }
}
