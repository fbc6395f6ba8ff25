//! Decodes a heatmap in bytes ([`crate::model::GRID_TYPE`]).

use super::sheet::Outside;
use crate::contract::decode::damage::DecodeError;
use crate::contract::decode::envelope::alone;
use crate::contract::decode::token::{AxisInstant, object};
use crate::model::{EstimateLabels, GridValues, HeatmapGrid, Millis, Vocabulary, grid_parts};

/// The head of a heatmap in bytes.
#[derive(Debug)]
struct GridHead {
    symbol: String,
    range: String,
    model: i64,
    updated_at: AxisInstant,
    current_price: f64,
    times: Vec<AxisInstant>,
    units: Option<String>,
    view: Option<String>,
    simulated: Option<bool>,
    source: Option<String>,
    recorded_at: Option<Millis>,
    outside: Option<Outside>,
    rows: i64,
    values: String,
}

object!(GridHead, "the head of a heatmap in bytes", {
    symbol, range, model, updated_at: "updatedAt", current_price: "currentPrice", times, units,
    view, simulated, source, recorded_at: "recordedAt", outside, rows, values,
});

/// Decodes a complete heatmap with values of type f64.
pub(super) fn grid_of_bytes(body: &[u8]) -> Result<HeatmapGrid, DecodeError> {
    let cut = || DecodeError::at("", "the heatmap in bytes is cut off");
    let (head, numbers) = grid_parts(body).ok_or_else(cut)?;
    let head = alone(head, &|head: GridHead| Ok(head))?;
    if GridValues::parse(&head.values) != Some(GridValues::F64) {
        let message = format!("{:?} is not the requested f64", head.values);
        return Err(DecodeError::at("values", message));
    }
    let columns = head.times.len();
    let rows = usize::try_from(head.rows).unwrap_or(usize::MAX);
    let wanted = columns
        .checked_add(1)
        .and_then(|lines| lines.checked_mul(rows)?.checked_mul(8));
    if wanted != Some(numbers.len()) {
        let message = format!(
            "{} bytes of numbers do not fit {rows} rows and {columns} columns",
            numbers.len()
        );
        return Err(DecodeError::at("", message));
    }
    let (numbers, _) = numbers.as_chunks::<8>();
    let (prices, cells) = numbers.split_at_checked(rows).ok_or_else(cut)?;
    let matrix = (0..rows)
        .flat_map(|row| cells.iter().skip(row).step_by(rows.max(1)))
        .map(|bytes| f64::from_le_bytes(*bytes))
        .collect();
    let outside = head.outside.map(|outside| outside.in_columns(columns));
    Ok(HeatmapGrid {
        symbol: head.symbol,
        range: head.range,
        model: head.model,
        updated_at: head.updated_at.0,
        current_price: head.current_price,
        prices: prices
            .iter()
            .map(|bytes| f64::from_le_bytes(*bytes))
            .collect(),
        times: head.times.into_iter().map(|AxisInstant(at)| at).collect(),
        matrix,
        labels: EstimateLabels::parse(head.units.as_deref(), head.view.as_deref(), head.simulated)
            .served_by(head.source, head.recorded_at),
        outside: outside.transpose()?,
    })
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]
mod tests {
    use crate::contract::decode::{self, Reading};
    use crate::model::{ColumnUsd, EstimateLabels, GridValues, HeatmapGrid, Millis, encode_grid};

    #[test]
    fn a_heatmap_in_bytes_is_that_in_json_bit_for_bit() {
        let grid = HeatmapGrid {
            symbol: "BTC".to_owned(),
            range: "24h".to_owned(),
            model: 2,
            updated_at: Millis(1_781_136_000_000),
            current_price: 60_000.1,
            prices: vec![59_000.1, 60_000.2, 61_000.3],
            times: vec![Millis(1_781_136_000_000), Millis(1_781_136_600_000)],
            matrix: vec![0.0, 1_234.567_890_123, f64::NAN, 0.1, 3e-300, 77.7 / 3.0],
            labels: EstimateLabels::default(),
            outside: Some(ColumnUsd {
                long_usd: vec![0.1 + 0.2, f64::NAN],
                short_usd: vec![1.0, 2.0],
            }),
        };
        let bytes = encode_grid(&grid, GridValues::F64).unwrap();
        let read = |body: &[u8], piece: usize| {
            let mut reader = decode::intake::<HeatmapGrid>(false);
            reader.begin(Some(body.len()));
            body.chunks(piece).for_each(|chunk| reader.feed(chunk));
            reader.finish()
        };
        let Reading::Reply(json) = read(&serde_json::to_vec(&grid).unwrap(), 7).unwrap() else {
            panic!("a refusal");
        };
        for piece in [1, 7, bytes.len()] {
            let Reading::Reply(found) = read(&bytes, piece).unwrap() else {
                panic!("a refusal");
            };
            // `Debug` of two NaN is equal, and that of two other numbers only if their bits are.
            assert_eq!(format!("{found:?}"), format!("{json:?}"));
        }
        let cut = read(&bytes[..bytes.len() - 1], 7).unwrap_err();
        assert!(cut.to_string().contains("3 rows and 2 columns"), "{cut}");
        let short = encode_grid(&grid, GridValues::F32).unwrap();
        assert_eq!(read(&short, 7).unwrap_err().path, "values");
    }
}
