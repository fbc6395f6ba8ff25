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

use serde::Serialize;

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
    labels: EstimateLabels,
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
        labels: grid.labels,
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
            let before = std::iter::repeat_n(0, rows).chain(codes.iter().copied());
            let codes: Vec<u16> = codes
                .iter()
                .zip(before)
                .map(|(code, before)| code.wrapping_sub(before))
                .collect();
            body.extend(codes.iter().map(|code| code.to_be_bytes()[0]));
            body.extend(codes.iter().map(|code| code.to_be_bytes()[1]));
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

/// Adds a member `explain`, which is JSON, to the head of an encoded heatmap. `None` if the body is no heatmap in bytes.
#[must_use]
pub fn explain_grid(body: &[u8], explanation: &[u8]) -> Option<Vec<u8>> {
    let rest = body.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let head = rest.get(..length)?.strip_suffix(b"}")?;
    let values = body.get((12 + length).next_multiple_of(8)..)?;
    let head = [head, b",\"explain\":", explanation, b"}"].concat();
    Some([headed(&head).as_slice(), values].concat())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
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
