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

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};
use serde_json::Value;

use crate::contract::decode::{DecodeError, Key, Matrix, Of, Read, Skip, alone, at, fill};
use crate::contract::reply::Members;
use crate::model::{HeatmapGrid, Millis, Vocabulary};

/// The media type of a heatmap in bytes.
pub const GRID_TYPE: &str = "application/vnd.liqdata.grid";

/// The first bytes of every heatmap in this form.
pub(in crate::contract) const MAGIC: &[u8; 8] = b"LIQGRID1";

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

/// The members of the reply that are numbers after the head.
const NUMBERS: [&str; 2] = ["prices", "matrix"];
/// The members of the reply with a value for each column.
const BY_COLUMN: [&str; 3] = ["times", "matrix", "outside"];

/// The members of the reply that are about its last column.
const NOW: [&str; 5] = [
    "updatedAt",
    "currentPrice",
    "priceAt",
    "exactShare",
    "exact",
];

/// Serializes the members of a struct without some of them.
struct Without<'a, S>(&'a mut S, &'a [&'a str]);

impl<S: SerializeStruct> SerializeStruct for Without<'_, S> {
    type Ok = ();
    type Error = S::Error;

    fn serialize_field<T: Serialize + ?Sized>(
        &mut self,
        name: &'static str,
        value: &T,
    ) -> Result<(), S::Error> {
        if self.1.contains(&name) {
            return Ok(());
        }
        self.0.serialize_field(name, value)
    }

    fn end(self) -> Result<(), S::Error> {
        Ok(())
    }
}

/// The head: all members of the reply but the numbers after the head, and the form of the values.
struct Head<'a> {
    grid: &'a HeatmapGrid,
    values: GridValues,
    low: f64,
    high: f64,
}

impl Serialize for Head<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut head = serializer.serialize_struct("Head", 1)?;
        self.grid.write(&mut Without(&mut head, &NUMBERS))?;
        head.serialize_field("rows", &self.grid.prices.len())?;
        head.serialize_field("values", self.values.name())?;
        head.serialize_field("low", &self.low)?;
        head.serialize_field("high", &self.high)?;
        head.end()
    }
}

/// The members of a heatmap that have one value for the whole heatmap and do not change with every input.
struct Common<'a>(&'a HeatmapGrid);

impl Serialize for Common<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut common = serializer.serialize_struct("Common", 1)?;
        let mut without = Without(&mut common, &NOW);
        self.0.write(&mut Without(&mut without, &BY_COLUMN))?;
        common.end()
    }
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
        grid,
        values,
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
pub fn grid_parts(body: &[u8]) -> Option<(&[u8], &[u8])> {
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
    /// The time of the last input, the current price and its instant, and a hash of the known positions.
    now: (Millis, u64, Option<Millis>, u64),
    /// End and hash of each column.
    columns: Vec<(Millis, u64)>,
}

impl GridHashes {
    /// The hashes of `grid`.
    #[must_use]
    pub fn of(grid: &HeatmapGrid) -> Self {
        let columns = grid.times.len();
        let mut common = DefaultHasher::new();
        // No heatmap of the engine fails to serialize.
        serde_json::to_vec(&Common(grid)).ok().hash(&mut common);
        grid.outside.is_some().hash(&mut common);
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
        let mut exact = DefaultHasher::new();
        let shares = grid.exact_share.iter().flatten();
        shares.for_each(|share| share.to_bits().hash(&mut exact));
        serde_json::to_vec(&grid.exact).ok().hash(&mut exact);
        let ends = grid.times.iter().enumerate();
        Self {
            common: common.finish(),
            now: (
                grid.updated_at,
                grid.current_price.to_bits(),
                grid.labels.price_at,
                exact.finish(),
            ),
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
    for name in BY_COLUMN {
        match head.get_mut(name) {
            Some(Value::Array(values)) => drop(values.drain(..left_out)),
            Some(Value::Object(sides)) => {
                for side in sides.values_mut() {
                    side.as_array_mut()?.drain(..left_out);
                }
            }
            _ => {}
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

/// The head of a heatmap in bytes.
struct GridHead {
    members: <HeatmapGrid as Members>::Slots,
    rows: i64,
    values: String,
}

impl<'de> Read<'de> for GridHead {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Object;

        impl<'de> Visitor<'de> for Object {
            type Value = GridHead;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the head of a heatmap in bytes")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut found: A) -> Result<GridHead, A::Error> {
                let mut members = <HeatmapGrid as Members>::Slots::default();
                let (mut rows, mut values) = (None, None);
                while let Some(Key(key)) = found.next_key_seed(Of::new())? {
                    match &*key {
                        "rows" => fill(&mut rows, &key, &mut found)?,
                        "values" => fill(&mut values, &key, &mut found)?,
                        key if HeatmapGrid::fill(&mut members, key, &mut found)? => {}
                        _ => {
                            found.next_value_seed(Of::<Skip>::new())?;
                        }
                    }
                }
                Ok(GridHead {
                    members,
                    rows: rows.ok_or_else(|| at("rows", "is missing"))?,
                    values: values.ok_or_else(|| at("values", "is missing"))?,
                })
            }
        }

        from.deserialize_map(Object)
    }
}

/// Decodes a complete heatmap with values of type f64.
pub(in crate::contract) fn grid_of_bytes(body: &[u8]) -> Result<HeatmapGrid, DecodeError> {
    let cut = || DecodeError::at("", "the heatmap in bytes is cut off");
    let (head, numbers) = grid_parts(body).ok_or_else(cut)?;
    let mut head = alone(head, &|head: GridHead| Ok(head))?;
    if GridValues::parse(&head.values) != Some(GridValues::F64) {
        let message = format!("{:?} is not the requested f64", head.values);
        return Err(DecodeError::at("values", message));
    }
    let columns = head.members.times.as_ref().map_or(0, Vec::len);
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
    let prices = prices.iter().map(|bytes| f64::from_le_bytes(*bytes));
    head.members.prices = Some(prices.collect());
    head.members.matrix = Some(Matrix::even(matrix, rows, columns));
    HeatmapGrid::settle(head.members)
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
    use crate::contract::estimates::grid_bytes::*;
    use crate::model::{ColumnUsd, EstimateLabels};

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
            step: Some(10),
            row_step: Some(0.01),
            edges: None,
            exact_share: None,
            exact: None,
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
            step: Some(600_000),
            row_step: None,
            edges: Some(vec![58_500.0, 59_500.5, 60_500.5, 62_000.0]),
            exact_share: None,
            exact: None,
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
