//! Conversion of the columns of an imported table to Arrow arrays.
//!
//! Columns with few distinct texts become dictionaries, which the Parquet writer accepts for a text column.

use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, Decimal128Array, DictionaryArray, StringArray, TimestampMillisecondArray,
    UInt32Array, new_null_array,
};
use arrow_schema::DataType;

use crate::archive::segment::arrow_columns::type_of;
use crate::model::{DecimalColumn, FixedPoint, Kind, Labels, Millis, Vocabulary};

/// Error message for a column that the table does not have.
pub(crate) const MISSING: &str = "the table has no such column";

/// Cells of a column for the row numbers `rows`, in this order.
pub(crate) fn cells<'a, T>(column: &'a [T], rows: &'a [usize]) -> impl Iterator<Item = &'a T> {
    rows.iter().filter_map(|row| column.get(*row))
}

/// Converts a text column with few distinct texts.
pub(crate) fn labels(column: &Labels, rows: &[usize]) -> Result<ArrayRef, String> {
    let codes = cells(column.codes(), rows).copied();
    let keys: UInt32Array = codes.collect::<Vec<u32>>().into();
    dictionary(keys, column.names().iter().map(String::as_str))
}

/// Converts an optional text column; an empty text becomes null.
pub(crate) fn optional_texts(column: Option<&Labels>, rows: &[usize]) -> Result<ArrayRef, String> {
    let Some(column) = column else {
        return Ok(new_null_array(&DataType::Utf8, rows.len()));
    };
    let blank = column.names().iter().position(String::is_empty);
    let codes = cells(column.codes(), rows).copied();
    let keys = codes.map(|code| Some(code).filter(|code| Some(*code as usize) != blank));
    dictionary(keys.collect(), column.names().iter().map(String::as_str))
}

/// Converts a column of words from a vocabulary.
pub(crate) fn words<T: Vocabulary>(column: &[T], rows: &[usize]) -> Result<ArrayRef, String> {
    let code = |word: &T| T::ALL.iter().zip(0_u32..).find(|(one, _)| *one == word);
    let keys: UInt32Array = cells(column, rows)
        .map(|word| code(word).map(|(_, code)| code))
        .collect();
    dictionary(keys, T::ALL.iter().map(|word| word.name()))
}

/// Creates a column with the same text in every row.
pub(crate) fn constant(text: &str, rows: &[usize]) -> Result<ArrayRef, String> {
    dictionary(vec![0; rows.len()].into(), [text].into_iter())
}

fn dictionary<'a>(
    keys: UInt32Array,
    texts: impl Iterator<Item = &'a str>,
) -> Result<ArrayRef, String> {
    let texts = StringArray::from_iter_values(texts);
    let array = DictionaryArray::<UInt32Type>::try_new(keys, Arc::new(texts));
    array
        .map(|array| Arc::new(array) as Arc<dyn Array>)
        .map_err(|fault| fault.to_string())
}

/// Converts a column of decimals; fails if a decimal cannot be stored exactly.
pub(crate) fn decimals(column: &DecimalColumn, rows: &[usize]) -> Result<ArrayRef, String> {
    let values: Decimal128Array = rows
        .iter()
        .map(|row| fixed_point(column, *row).map(|value| Some(value.0)))
        .collect::<Result<_, String>>()?;
    Ok(Arc::new(values.with_data_type(type_of(Kind::Decimal))))
}

/// The decimal of a row as a fixed-point number, which is the stored form.
fn fixed_point(column: &DecimalColumn, row: usize) -> Result<FixedPoint, String> {
    if let Some(value) = column.short(row).and_then(FixedPoint::of_short) {
        return Ok(value);
    }
    let value = column.get(row).ok_or("a value is missing")?;
    FixedPoint::of(value)
}

/// Converts a column of instants, after adding `later` milliseconds to each.
pub(crate) fn instants(column: &[Millis], rows: &[usize], later: i64) -> ArrayRef {
    let values = cells(column, rows).map(|at| at.on(later).0);
    let values: TimestampMillisecondArray = values.collect::<Vec<i64>>().into();
    Arc::new(values.with_timezone("UTC"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow_array::RecordBatch;
    use bytes::Bytes;
    use proptest::prelude::*;
    use std::fmt::Write as _;

    use rust_decimal::Decimal;

    use crate::archive::catalog::manifest::{Day, Partition};
    use crate::archive::import::arrays::*;
    use crate::archive::import::column_table::ColumnTable;
    use crate::archive::segment::parquet;
    use crate::archive::{BarTable, GivenOrders, OrderTable};
    use crate::model::{Completeness, Side};

    /// Reads the rows and the metadata of a Parquet file: schema, key-value pairs, encodings and statistics.
    fn content(bytes: Vec<u8>) -> (Vec<RecordBatch>, String) {
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
        let file = reader.metadata().file_metadata();
        let mut shown = format!(
            "{:?} {:?} {:?}",
            file.schema_descr(),
            file.key_value_metadata(),
            file.created_by()
        );
        for group in reader.metadata().row_groups() {
            for column in group.columns() {
                write!(
                    shown,
                    "{:?} {:?} {:?} {:?}",
                    column.compression(),
                    column.encodings().collect::<Vec<_>>(),
                    column.num_values(),
                    column.statistics()
                )
                .unwrap();
            }
        }
        let batches = reader.with_batch_size(1 << 20).build().unwrap();
        (batches.map(Result::unwrap).collect(), shown)
    }

    /// Asserts that encoding by columns and encoding by rows give the same file.
    fn assert_same_file<T: ColumnTable>(table: &T, interval: i64, order: &[usize]) {
        let rows: Vec<T::Row> = order.iter().map(|row| table.row(*row).unwrap()).collect();
        let partition = Partition {
            day: Day(0),
            interval,
        };
        let groups = order.chunks(<T::Row as crate::archive::rows::row::Row>::GROUP);
        let made = parquet::encode::<T::Row>(groups.map(|rows| table.arrays(partition, rows)));
        assert_eq!(
            content(made.unwrap()),
            content(parquet::bytes(&rows).unwrap())
        );
    }

    fn decimal() -> impl Strategy<Value = Decimal> {
        (any::<i64>(), 0_u32..=18).prop_map(|(digits, scale)| Decimal::new(digits, scale))
    }

    fn names() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-c]{1,2}|é|[a-z]{60}", 300)
    }

    fn named(names: &[String], rows: usize) -> Labels {
        let names = names.iter().cycle().take(rows);
        names.map(String::as_str).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn an_order_table_and_its_rows_encode_to_the_same_file(
            names in names(),
            values in prop::collection::vec((decimal(), 0_i64..1_000_000_000_000), 1..300),
            rows in 1_usize..300,
            has_own in any::<bool>(),
        ) {
            let cycle = || values.iter().cycle().take(rows);
            let decimals = || cycle().map(|(value, _)| *value).collect::<DecimalColumn>();
            let times = |by: i64| cycle().map(|(_, at)| Millis(at + by)).collect::<Vec<_>>();
            let side = |at: &Millis| if at.0 % 2 == 0 { Side::Long } else { Side::Short };
            let table = OrderTable::of(GivenOrders {
                exchange: named(&names, rows),
                symbol: named(&names, rows),
                side: times(0).iter().map(side).collect(),
                price: decimals(),
                qty: cycle().map(|(_, at)| Decimal::new(at % 7, 2)).collect(),
                value_usd: decimals(),
                timestamp: times(0),
                received_at: times(3),
                group_id: has_own.then(|| named(&names, rows)),
                dedupe_key: has_own.then(|| (0..rows).map(|row| row.to_string()).collect()),
                price_kind: has_own.then(|| named(&names, rows)),
                completeness: has_own.then(|| vec![Completeness::Sampled; rows]),
                native_id: has_own.then(|| cycle().map(|_| "").collect()),
                ..GivenOrders::default()
            });
            let order: Vec<usize> = (0..rows).rev().step_by(1 + rows % 3).collect();
            assert_same_file(&table.unwrap(), 0, &order);
        }

        #[test]
        fn a_bar_table_and_its_rows_encode_to_the_same_file(
            names in names(),
            values in prop::collection::vec(decimal(), 1..300),
            rows in 1_usize..20_000,
        ) {
            let cycle = || values.iter().cycle().take(rows).copied();
            let at = |row: usize| Millis(i64::try_from(row).unwrap() * Millis::MINUTE);
            let table = BarTable {
                exchange: named(&names, rows),
                symbol: named(&names, rows),
                interval: vec![Millis::MINUTE; rows],
                timestamp: (0..rows).map(at).collect(),
                open: cycle().collect(),
                high: (0..rows).map(Decimal::from).collect(),
                low: cycle().collect(),
                close: cycle().collect(),
                volume: cycle().collect(),
            };
            assert_same_file(&table, Millis::MINUTE, &(0..rows).collect::<Vec<_>>());
        }
    }
}
