//! The rules of price bars.

use std::collections::HashMap;

use rust_decimal::Decimal;

use crate::model::{Labels, Millis, RunMap, nearest_f64, product, quotient};
use crate::tables::amount_unit::Counted;
use crate::tables::amounts::AmountColumn;
use crate::tables::reading::{BarColumns, ReadRows};
use crate::tables::row_fault::RowFault;
use crate::tables::rules::judge::{Judge, Judged, by_code, coins_of, contracts_of, exchange_names};
use crate::tables::rules::pair_rules::{CellFault, PairRules, RowsByTime};
use crate::tables::rules::spacings::Spacings;
use crate::tables::rules::stated_volumes::{PriceRange, stated_volume};

/// Minimum price. Products of prices and amounts within [`SMALLEST`] and [`LARGEST`] are finite, and not rounded to
/// zero.
pub(super) const SMALLEST: f64 = 1e-100;
/// Maximum price or amount.
pub(super) const LARGEST: f64 = 1e100;

impl Judge<'_> {
    /// Returns the accepted bars, converted to single coins.
    ///
    /// Prices become USD per coin, volumes become numbers of coins, and symbols become names of coins. `None` if
    /// `goes_on` stopped the checks.
    #[expect(
        clippy::too_many_lines,
        reason = "one rule after the other, for each row"
    )]
    pub(crate) fn bars(&mut self, read: ReadRows<BarColumns>) -> Option<Judged<BarColumns>> {
        let ReadRows {
            columns: mut bars,
            places,
            mut faults,
        } = read;
        let series = (&bars.exchange, &bars.symbol);
        infer_lengths(series, &bars.timestamp, &mut bars.interval);
        let mut series = series_of(&bars);
        let unknown = self.exchanges(&bars.exchange);
        let contracts = contracts_of(&bars.symbol);
        let exchanges = exchange_names(&bars.exchange);
        let mut pairs: RunMap<(u32, u32), PairRules> = RunMap::default();
        let mut factors = Factors::default();
        let mut volumes: HashMap<usize, Decimal> = HashMap::new();
        let mut good = Vec::with_capacity(places.len());
        let mut known: RunMap<(u32, &str, Option<i64>), RowsByTime> = RunMap::default();
        let mut repeated = 0;
        for row in 0..places.len() {
            if !self.look(row) {
                return None;
            }
            let place = places.get(row).copied().unwrap_or_default();
            let mut fault = |(column, reason, shown): CellFault| {
                faults.push(RowFault::new(place, column, reason, shown));
            };
            let Some(contract) = by_code(&contracts, &bars.symbol, row) else {
                continue;
            };
            let code = |names: &Labels| names.codes().get(row).copied().unwrap_or_default();
            let codes = (code(&bars.exchange), code(&bars.symbol));
            let exchange = exchanges.get(codes.0 as usize).map_or("", String::as_str);
            let pair = pairs.at(&codes);
            if let Some(why) = pair.names(contract, by_code(&unknown, &bars.exchange, row)) {
                fault(why);
                continue;
            }
            let at = bars.timestamp.get(row).copied().unwrap_or_default();
            let rate = match self.rate(contract, at) {
                Ok(rate) => rate,
                Err(why) => {
                    fault(why);
                    continue;
                }
            };
            let of_series = series.at(&series_key(&bars, row));
            if let Some(why) = self.bar(&bars, row).or_else(|| of_series.fault(&bars, row)) {
                fault(why);
                continue;
            }
            if self.is_open(&bars, row) {
                if self.refuses_open {
                    let reason = "the bar has not closed yet";
                    fault(("timestamp", reason.to_owned(), at.to_string()));
                }
                continue;
            }
            if let Some(why) = pair.contract(contract, exchange, self.book, ["bars", "bars"]) {
                fault(why);
                continue;
            }
            let interval = bars.interval.get(row).copied().flatten();
            let times = known.at(&(codes.0, contract.coin(), interval));
            if let Some(before) = times.replace(at, row) {
                if are_equal(&bars, before, row) {
                    repeated += 1;
                } else {
                    let before = places.get(before).copied().unwrap_or_default();
                    let reason = "another bar of the coin at the same time";
                    fault((
                        "timestamp",
                        reason.to_owned(),
                        format!(
                            "{} has a bar at {at} already, in row {before}",
                            contract.coin()
                        ),
                    ));
                }
                continue;
            }
            let counted = pair
                .counted
                .get_or_insert_with(|| self.counted(bars.unit, exchange, contract));
            let stated = bars.stated.as_ref().zip(bars.volume.get(row));
            let stated = stated.map(|(stated, volume)| {
                let range = PriceRange {
                    low: bars.low.f64(row),
                    high: bars.high.f64(row),
                };
                stated_volume(volume, stated.at(row), *counted, range, rate)
            });
            let counted = match stated {
                Some(Err(why)) => Err(why),
                Some(Ok(Some(units))) => {
                    volumes.insert(row, units);
                    Ok(Counted::Base(Decimal::ONE))
                }
                _ => *counted,
            };
            match counted {
                Ok(counted) => factors.add(row, contract.scale(), rate, counted),
                Err(why) => {
                    let shown = shown(&bars.volume, row);
                    fault(("volume", why.to_owned(), shown));
                    continue;
                }
            }
            good.push(row);
        }
        if !volumes.is_empty() {
            bars.volume = bars.volume.map(
                |row, volume| Some(volumes.get(&row).copied().unwrap_or(volume)),
                |_, volume| volume,
            );
        }
        factors.apply(&mut bars);
        bars.symbol = coins_of(&bars.symbol, &contracts);
        if good.len() < places.len() {
            bars = bars.take(&good);
        }
        let places = good.iter().filter_map(|row| places.get(*row).copied());
        Some(Judged {
            columns: bars,
            places: places.collect(),
            repeated,
            faults,
        })
    }

    /// Checks the numbers and times of a bar, and returns its fault.
    fn bar(&self, bars: &BarColumns, row: usize) -> Option<CellFault> {
        let at = bars.timestamp.get(row).copied().unwrap_or_default();
        let Some(interval) = bars.interval.get(row).copied().flatten() else {
            let reason = "blank, and it cannot be inferred from the spacing of the bars";
            return Some(("interval", reason.to_owned(), String::new()));
        };
        if interval <= 0 || interval % Millis::MINUTE != 0 {
            let reason = "not a bar length; allowed: a positive whole number of minutes";
            return Some(("interval", reason.to_owned(), format!("{interval} ms")));
        }
        if let Some((reason, shown)) = self.time(at) {
            return Some(("timestamp", reason.to_owned(), shown));
        }
        let prices = [
            ("open", &bars.open),
            ("high", &bars.high),
            ("low", &bars.low),
            ("close", &bars.close),
        ];
        for (column, amounts) in prices {
            let value = amounts.f64(row);
            if !(SMALLEST..=LARGEST).contains(&value) {
                let reason = format!("not a price; allowed: {SMALLEST:?} to {LARGEST:?}");
                return Some((column, reason, shown(amounts, row)));
            }
        }
        let (high, low) = (bars.high.f64(row), bars.low.f64(row));
        let prices = [bars.open.f64(row), bars.close.f64(row)];
        let texts =
            || [&bars.open, &bars.high, &bars.low, &bars.close].map(|amounts| shown(amounts, row));
        if low > high || prices.iter().any(|price| *price > high) {
            let [open_shown, high_shown, low_shown, close_shown] = texts();
            let others = format!("open {open_shown}, low {low_shown}, close {close_shown}");
            let reason = "below another price of the bar";
            return Some((
                "high",
                reason.to_owned(),
                format!("{high_shown} ({others})"),
            ));
        }
        if prices.iter().any(|price| *price < low) {
            let [open_shown, _, low_shown, close_shown] = texts();
            let others = format!("open {open_shown}, close {close_shown}");
            let reason = "above another price of the bar";
            return Some(("low", reason.to_owned(), format!("{low_shown} ({others})")));
        }
        let volume = bars.volume.f64(row);
        if !(0.0..=LARGEST).contains(&volume) {
            return Some((
                "volume",
                "not an amount; allowed: numbers from 0 on".to_owned(),
                shown(&bars.volume, row),
            ));
        }
        let trades = bars.trades.as_ref().map(|trades| trades.f64(row));
        if volume == 0.0 && trades.is_some_and(|trades| trades > 0.0) {
            let reason = "is 0 although the bar counts trades: bars of mark, index or premium prices are not trade \
                          bars";
            return Some(("volume", reason.to_owned(), shown(&bars.volume, row)));
        }
        None
    }
}

impl Judge<'_> {
    /// Whether a bar is not final: by its row, or by this machine's clock.
    fn is_open(&self, bars: &BarColumns, row: usize) -> bool {
        let at = bars.timestamp.get(row).copied().unwrap_or_default();
        let interval = bars.interval.get(row).copied().flatten();
        bars.is_open.get(row) == Some(&true) || at.on(interval.unwrap_or_default()) > self.now
    }
}

/// The bars of one exchange, symbol and length, in the order of the table.
#[derive(Debug, Default)]
struct BarSeries {
    last: Option<Millis>,
    /// Number of bars that open before the bar before them closes, and of others.
    near: usize,
    far: usize,
    /// Number of bars in which the price moves.
    moved: usize,
    is_traded: bool,
}

/// Exchange, symbol and length.
type SeriesKey = (u32, u32, i64);

fn series_key(bars: &BarColumns, row: usize) -> SeriesKey {
    let code = |names: &Labels| names.codes().get(row).copied().unwrap_or_default();
    let interval = bars.interval.get(row).copied().flatten();
    (
        code(&bars.exchange),
        code(&bars.symbol),
        interval.unwrap_or_default(),
    )
}

/// All series of a table.
fn series_of(bars: &BarColumns) -> RunMap<SeriesKey, BarSeries> {
    let mut all: RunMap<SeriesKey, BarSeries> = RunMap::default();
    for (row, at) in bars.timestamp.iter().enumerate() {
        let key = series_key(bars, row);
        let series = all.at(&key);
        if let Some(last) = series.last.replace(*at) {
            let apart = at.0.abs_diff(last.0);
            series.near += usize::from(apart > 0 && apart < key.2.unsigned_abs());
            series.far += usize::from(apart >= key.2.unsigned_abs());
        }
        series.is_traded |= bars.volume.f64(row) > 0.0;
        series.moved += usize::from(bars.low.f64(row) < bars.high.f64(row));
    }
    all
}

impl BarSeries {
    /// The fault of a bar of which the series is none of trades, or has another length.
    fn fault(&self, bars: &BarColumns, row: usize) -> Option<CellFault> {
        if self.near > self.far {
            let reason = "longer than the distance between the bars";
            let interval = bars.interval.get(row).copied().flatten();
            let shown = format!("{} ms", interval.unwrap_or_default());
            return Some(("interval", reason.to_owned(), shown));
        }
        if !self.is_traded && self.moved > 0 {
            let reason = "is 0 in all bars although prices move: bars of mark, index or premium prices are not trade bars";
            return Some(("volume", reason.to_owned(), shown(&bars.volume, row)));
        }
        None
    }
}

/// The value of a cell as text for a message.
pub(super) fn shown(amounts: &AmountColumn, row: usize) -> String {
    amounts.get(row).map_or_else(
        || format!("{:?}", amounts.f64(row)),
        |value| value.to_string(),
    )
}

/// Returns a message if the bars of a file contradict the length in its name.
///
/// `named` is that length in milliseconds.
pub(crate) fn other_length(bars: &BarColumns, named: i64) -> Option<String> {
    let mut spacings = Spacings::default();
    let series = bars.exchange.iter().zip(bars.symbol.iter());
    for (series, at) in series.zip(&bars.timestamp) {
        spacings.add(series, *at);
    }
    let spacing = spacings.overall().filter(|one| one.contradicts(named))?;
    Some(spacing.other_than(named))
}

/// Sets missing lengths to the commonest spacing of the series.
///
/// A series is the bars or periods of one exchange and symbol.
pub(super) fn infer_lengths(
    (exchanges, symbols): (&Labels, &Labels),
    times: &[Millis],
    lengths: &mut [Option<i64>],
) {
    if lengths.iter().all(Option::is_some) {
        return;
    }
    let mut spacings = Spacings::default();
    let codes = exchanges.codes().iter().copied();
    let codes: Vec<(u32, u32)> = codes.zip(symbols.codes().iter().copied()).collect();
    for (series, at) in codes.iter().zip(times) {
        spacings.add(*series, *at);
    }
    let commonest = spacings.commonest();
    for (interval, series) in lengths.iter_mut().zip(codes) {
        *interval = interval.or_else(|| commonest.get(&series).copied());
    }
}

fn are_equal(bars: &BarColumns, one: usize, other: usize) -> bool {
    [&bars.open, &bars.high, &bars.low, &bars.close, &bars.volume]
        .iter()
        .all(|amounts| amounts.f64(one).total_cmp(&amounts.f64(other)).is_eq())
}

/// Coins per listed unit, USD per unit of the quote currency, and unit of the volume, by row.
///
/// Rows where the numbers are in single coins and in USD have no entry.
#[derive(Debug, Default)]
struct Factors(HashMap<usize, (Decimal, Decimal, Counted)>);

impl Factors {
    fn add(&mut self, row: usize, scale: u32, rate: Decimal, counted: Counted) {
        if scale != 1 || rate != Decimal::ONE || counted != Counted::Base(Decimal::ONE) {
            self.0.insert(row, (Decimal::from(scale), rate, counted));
        }
    }

    /// Converts prices to USD per coin and volumes to coins.
    fn apply(&self, bars: &mut BarColumns) {
        if self.0.is_empty() {
            return;
        }
        for prices in [
            &mut bars.open,
            &mut bars.high,
            &mut bars.low,
            &mut bars.close,
        ] {
            *prices = prices.map(
                |row, price| match self.0.get(&row) {
                    Some((scale, rate, _)) => per_coin(price.checked_mul(*rate)?, *scale),
                    None => Some(price),
                },
                |row, price| match self.0.get(&row) {
                    Some((scale, rate, _)) => price * nearest_f64(*rate) / nearest_f64(*scale),
                    None => price,
                },
            );
        }
        // Volumes in USD or in the quote currency are converted at the close.
        bars.volume = bars.volume.map(
            |row, volume| match self.0.get(&row) {
                Some((scale, _, Counted::Base(size))) => product(volume, product(*size, *scale)?),
                Some((_, _, Counted::Usd(size))) => {
                    quotient(product(volume, *size)?, bars.close.get(row)?)
                }
                Some((_, rate, Counted::Quote)) => {
                    quotient(product(volume, *rate)?, bars.close.get(row)?)
                }
                None => Some(volume),
            },
            |row, volume| match self.0.get(&row) {
                Some((scale, _, Counted::Base(size))) => {
                    volume * nearest_f64(*scale) * nearest_f64(*size)
                }
                Some((_, _, Counted::Usd(factor)) | (_, factor, Counted::Quote)) => {
                    volume * nearest_f64(*factor) / bars.close.f64(row)
                }
                None => volume,
            },
        );
    }
}

/// The price of one coin from that of `scale` coins.
///
/// Exact, because scales are powers of ten.
pub(super) fn per_coin(price: Decimal, scale: Decimal) -> Option<Decimal> {
    let zeros = u32::try_from(scale.mantissa()).ok()?.checked_ilog10()?;
    let price = price.normalize();
    Decimal::try_from_i128_with_scale(price.mantissa(), price.scale() + zeros)
        .ok()
        .map(|exact| exact.normalize())
}
