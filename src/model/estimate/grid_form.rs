//! A heatmap in bytes, ten times shorter than in JSON and exact in its widest form.
//!
//! Magic `LIQGRID1`, the length of the head (u32), the head in JSON, zeros up to a multiple of 8, the price of each row
//! (f64), then the values column by column. All numbers are little-endian. A NaN is a value that is not known.
//!
//! In the form `u16` a value is a code: 0 is zero, 65535 is unknown, and code k from 1 to 65534 is
//! `low * (high / low) ** ((k - 1) / 65533)`, with `low` and `high` of the head. Each code is sent as its difference to that of
//! the column before, modulo 65536, the high bytes of all differences first and then the low bytes: columns change little,
//! so this compresses best. A value below `low`, which is at least the largest value over 490,000, is
//! `low`. All others are exact to .01 %.
//!
//! A heatmap may be cut to its last columns. The head then has `since`, the end of the last column that is left out, and
//! `begin`, the end of the first column of the whole heatmap. The first code of a row is never a difference.

use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Serialize;
use serde_json::Value;

use crate::model::{ColumnUsd, EstimateLabels, HeatmapGrid, Millis, Vocabulary};

/// The media type of a heatmap in bytes.
pub const GRID_TYPE: &str = "application/vnd.liqdata.grid";

/// The first bytes of every heatmap in this form.
pub(crate) const MAGIC: &[u8; 8] = b"LIQGRID1";

/// The largest code of a known value.
const LAST: f64 = 65534.0;
const UNKNOWN: u16 = u16::MAX;
/// Largest ratio of two values in the form `u16`; half a step is then .01 %.
const RATIO: f64 = 490_000.0;

/// The type of the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GridValues {
    /// Logarithmic codes, exact to .01 %.
    U16,
    /// Single precision, exact to 6e-8.
    F32,
    /// Double precision, the same bits as in JSON.
    #[default]
    F64,
}

impl Vocabulary for GridValues {
    const ALL: &'static [Self] = &[Self::U16, Self::F32, Self::F64];

    fn name(self) -> &'static str {
        match self {
            Self::U16 => "u16",
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// The head: all members of the reply but prices and matrix, and the form of the values.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Head<'a> {
    symbol: &'a str,
    range: &'a str,
    model: i64,
    updated_at: Millis,
    current_price: f64,
    times: &'a [Millis],
    #[serde(flatten)]
    labels: &'a EstimateLabels,
    #[serde(skip_serializing_if = "Option::is_none")]
    outside: Option<&'a ColumnUsd>,
    rows: usize,
    values: &'static str,
    low: f64,
    high: f64,
}

/// Encodes a heatmap.
///
/// # Errors
///
/// The error of the encoder of the head; no heatmap of the engine causes one.
pub fn encode_grid(grid: &HeatmapGrid, values: GridValues) -> Result<Vec<u8>, serde_json::Error> {
    let (rows, columns) = (grid.prices.len(), grid.times.len());
    let known = || grid.matrix.iter().copied().filter(|value| *value > 0.0);
    let high = known().fold(0.0, f64::max);
    let low = known().fold(high, f64::min).max(high / RATIO);
    let head = serde_json::to_vec(&Head {
        symbol: &grid.symbol,
        range: &grid.range,
        model: grid.model,
        updated_at: grid.updated_at,
        current_price: grid.current_price,
        times: &grid.times,
        labels: &grid.labels,
        outside: grid.outside.as_ref(),
        rows,
        values: values.name(),
        low,
        high,
    })?;
    let mut body = headed(&head);
    for price in &grid.prices {
        body.extend_from_slice(&price.to_le_bytes());
    }
    let cells = (0..columns).flat_map(|column| {
        grid.matrix
            .iter()
            .copied()
            .skip(column)
            .step_by(columns.max(1))
    });
    match values {
        GridValues::F64 => cells.for_each(|value| body.extend_from_slice(&value.to_le_bytes())),
        GridValues::F32 => {
            #[expect(clippy::cast_possible_truncation, reason = "the form asked for")]
            cells.for_each(|value| body.extend_from_slice(&(value as f32).to_le_bytes()));
        }
        GridValues::U16 => {
            let codes: Vec<u16> = cells.map(|value| code(value, low, high)).collect();
            differences(&codes, rows, &mut body);
        }
    }
    Ok(body)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "between 1 and 65534"
)]
fn code(value: f64, low: f64, high: f64) -> u16 {
    if value.is_nan() {
        return UNKNOWN;
    }
    if value <= 0.0 {
        return 0;
    }
    let width = (high / low).ln();
    if width <= 0.0 {
        return 1;
    }
    (1.0 + ((value.max(low) / low).ln() / width * (LAST - 1.0)).round()).clamp(1.0, LAST) as u16
}

/// The start of a body: magic, length, the head, and zeros up to a multiple of 8.
fn headed(head: &[u8]) -> Vec<u8> {
    let length = u32::try_from(head.len()).unwrap_or(u32::MAX);
    let mut body = [MAGIC.as_slice(), &length.to_le_bytes(), head].concat();
    body.resize(body.len().next_multiple_of(8), 0);
    body
}

/// The head and the values of an encoded heatmap. `None` if the body is no heatmap in bytes.
pub(crate) fn grid_parts(body: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = body.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    Some((
        rest.get(..length)?,
        body.get(length.checked_add(12)?.next_multiple_of(8)..)?,
    ))
}

/// Hashes of a heatmap, by which two are compared column by column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GridHashes {
    /// Hash of all members that apply to every column, such as the prices.
    common: u64,
    /// The time of the last input, and the current price.
    now: (Millis, u64),
    /// End and hash of each column.
    columns: Vec<(Millis, u64)>,
}

impl GridHashes {
    /// The hashes of `grid`.
    #[must_use]
    pub fn of(grid: &HeatmapGrid) -> Self {
        let columns = grid.times.len();
        let mut common = DefaultHasher::new();
        (&grid.symbol, &grid.range, grid.model).hash(&mut common);
        format!("{:?}", grid.labels).hash(&mut common);
        grid.outside.is_some().hash(&mut common);
        grid.prices
            .iter()
            .for_each(|price| price.to_bits().hash(&mut common));
        let sides = grid
            .outside
            .iter()
            .flat_map(|outside| [&outside.long_usd, &outside.short_usd]);
        let sides: Vec<&Vec<f64>> = sides.collect();
        let hash = |column: usize| {
            let mut hasher = DefaultHasher::new();
            let cells = grid.matrix.iter().skip(column).step_by(columns.max(1));
            let outside = sides.iter().filter_map(|side| side.get(column));
            cells
                .chain(outside)
                .for_each(|value| value.to_bits().hash(&mut hasher));
            hasher.finish()
        };
        let ends = grid.times.iter().enumerate();
        Self {
            common: common.finish(),
            now: (grid.updated_at, grid.current_price.to_bits()),
            columns: ends.map(|(column, end)| (*end, hash(column))).collect(),
        }
    }

    /// The number of columns that end at `since` or before, if an earlier heatmap has all of them unchanged.
    #[must_use]
    pub fn unchanged(&self, earlier: &Self, since: Millis) -> Option<usize> {
        let left_out = self.columns.partition_point(|(end, _)| *end <= since);
        let (same, _) = self.columns.split_at_checked(left_out)?;
        let begin = earlier
            .columns
            .partition_point(|(end, _)| same.first().is_some_and(|(first, _)| end < first));
        let had = earlier.columns.get(begin..)?.get(..left_out)?;
        (left_out > 0 && self.common == earlier.common && had == same).then_some(left_out)
    }

    /// Approximate size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.columns.len() * size_of::<(Millis, u64)>()
    }
}

/// Cuts an encoded heatmap to the columns after the first `left_out`. `None` if the body is no heatmap in bytes with more
/// columns.
#[must_use]
pub fn cut_grid(body: &[u8], left_out: usize) -> Option<Vec<u8>> {
    let (head, values) = grid_parts(body)?;
    let mut head: Value = serde_json::from_slice(head).ok()?;
    let rows = usize::try_from(head.get("rows")?.as_u64()?).ok()?;
    let times = head.get_mut("times")?.as_array_mut()?;
    let columns = times.len();
    let since = times.get(left_out.checked_sub(1)?)?.clone();
    let begin = times.first()?.clone();
    if left_out >= columns {
        return None;
    }
    times.drain(..left_out);
    if let Some(outside) = head.get_mut("outside").and_then(Value::as_object_mut) {
        for side in outside.values_mut() {
            side.as_array_mut()?.drain(..left_out);
        }
    }
    let short = head.get("values")?.as_str()? == GridValues::U16.name();
    let members = head.as_object_mut()?;
    members.insert("since".to_owned(), since);
    members.insert("begin".to_owned(), begin);
    let (prices, cells) = values.split_at_checked(8 * rows)?;
    let mut cut = headed(&serde_json::to_vec(&head).ok()?);
    cut.extend_from_slice(prices);
    let skipped = rows * left_out;
    if !short {
        let width = cells.len() / (rows * columns).max(1);
        cut.extend_from_slice(cells.get(skipped * width..)?);
        return Some(cut);
    }
    let (high, low) = cells.split_at_checked(rows * columns)?;
    let mut codes: Vec<u16> = Vec::with_capacity(high.len());
    for (place, (high, low)) in high.iter().zip(low).enumerate() {
        let before = place.checked_sub(rows).and_then(|at| codes.get(at));
        let code = u16::from_be_bytes([*high, *low]);
        codes.push(code.wrapping_add(before.copied().unwrap_or(0)));
    }
    differences(codes.get(skipped..)?, rows, &mut cut);
    Some(cut)
}

/// Writes each code as its difference to that of the column before: all high bytes, then all low bytes.
fn differences(codes: &[u16], rows: usize, body: &mut Vec<u8>) {
    let before = std::iter::repeat_n(&0, rows).chain(codes);
    let codes: Vec<u16> = codes
        .iter()
        .zip(before)
        .map(|(code, before)| code.wrapping_sub(*before))
        .collect();
    body.extend(codes.iter().map(|code| code.to_be_bytes()[0]));
    body.extend(codes.iter().map(|code| code.to_be_bytes()[1]));
}

/// Adds a member `explain`, which is JSON, to the head of an encoded heatmap. `None` if the body is no heatmap in bytes.
#[must_use]
pub fn explain_grid(body: &[u8], explanation: &[u8]) -> Option<Vec<u8>> {
    let (head, values) = grid_parts(body)?;
    let head = head.strip_suffix(b"}")?;
    let head = [head, b",\"explain\":", explanation, b"}"].concat();
    Some([headed(&head).as_slice(), values].concat())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
mod tests {
    use crate::model::estimate::grid_form::*;

    fn grid() -> HeatmapGrid {
        HeatmapGrid {
            symbol: "BTC".to_owned(),
            range: "24h".to_owned(),
            model: 2,
            updated_at: Millis(7),
            current_price: 100.5,
            prices: vec![99.1, 100.2, 101.3],
            times: vec![Millis(10), Millis(20)],
            matrix: vec![0.0, 1234.5, f64::NAN, 0.1, 3e4, 77.7],
            labels: EstimateLabels::default(),
            outside: None,
        }
    }

    fn values(body: &[u8]) -> (serde_json::Value, &[u8]) {
        let length = u32::from_le_bytes(body[8..12].try_into().unwrap()) as usize;
        let head = serde_json::from_slice(&body[12..12 + length]).unwrap();
        (head, &body[(12 + length).next_multiple_of(8)..])
    }

    #[test]
    fn the_widest_form_has_every_bit_column_by_column() {
        let body = encode_grid(&grid(), GridValues::F64).unwrap();
        let (head, rest) = values(&body);
        assert_eq!(
            (&head["rows"], &head["times"]),
            (&3.into(), &serde_json::json!([10, 20]))
        );
        let numbers: Vec<f64> = rest
            .chunks_exact(8)
            .map(|bytes| f64::from_le_bytes(bytes.try_into().unwrap()))
            .collect();
        assert_eq!(&numbers[..4], [99.1, 100.2, 101.3, 0.0]);
        assert!(numbers[4].is_nan());
        assert_eq!(&numbers[5..], [3e4, 1234.5, 0.1, 77.7]);
    }

    #[test]
    fn the_shortest_form_is_exact_to_a_hundredth_of_a_percent() {
        let body = encode_grid(&grid(), GridValues::U16).unwrap();
        let (head, rest) = values(&body);
        let (low, high) = (
            head["low"].as_f64().unwrap(),
            head["high"].as_f64().unwrap(),
        );
        let codes = &rest[24..];
        let wanted = [0.0, f64::NAN, 3e4, 1234.5, 0.1, 77.7];
        let mut before = [0_u16; 3];
        for (i, wanted) in wanted.into_iter().enumerate() {
            let code = before[i % 3].wrapping_add(u16::from_be_bytes([codes[i], codes[6 + i]]));
            before[i % 3] = code;
            if wanted == 0.0 || wanted.is_nan() {
                assert_eq!(code, if wanted == 0.0 { 0 } else { u16::MAX });
                continue;
            }
            let value = low * (high / low).powf((f64::from(code) - 1.0) / 65533.0);
            assert!((value / wanted - 1.0).abs() < 1.01e-4, "{value} {wanted}");
        }
    }

    #[test]
    fn the_last_columns_of_a_heatmap_have_the_same_values() {
        for form in GridValues::ALL {
            let whole = encode_grid(&grid(), *form).unwrap();
            let cut = cut_grid(&whole, 1).unwrap();
            let ((_, all), (head, last)) = (values(&whole), values(&cut));
            assert_eq!((&head["since"], &head["begin"]), (&10.into(), &10.into()));
            assert_eq!(head["times"], serde_json::json!([20]));
            assert_eq!(last[..24], all[..24]);
            if *form != GridValues::U16 {
                assert_eq!(last[24..], all[24 + (all.len() - 24) / 2..]);
                continue;
            }
            for row in 0..3 {
                let code = |cells: &[u8], at: usize| {
                    let low = cells[24 + (cells.len() - 24) / 2 + at];
                    u16::from_be_bytes([cells[24 + at], low])
                };
                let wanted = code(all, row).wrapping_add(code(all, 3 + row));
                assert_eq!(code(last, row), wanted);
            }
            assert!(cut_grid(&whole, 0).is_none() && cut_grid(&whole, 2).is_none());
        }
    }

    #[test]
    fn an_explanation_goes_into_the_head() {
        let plain = encode_grid(&grid(), GridValues::F32).unwrap();
        let both = explain_grid(&plain, br#"{"source":"here"}"#).unwrap();
        let ((before, cells), (after, same)) = (values(&plain), values(&both));
        assert_eq!(cells, same);
        assert_eq!(after["explain"], serde_json::json!({"source": "here"}));
        assert_eq!(before["high"], after["high"]);
        assert!(explain_grid(b"{}", b"{}").is_none());
    }
}
