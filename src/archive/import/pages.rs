//! Columns of a table into the bytes of a Parquet file, without a row or a text of its own for each cell.
//!
//! What other engines read of it is what [`parquet`](crate::archive::segment::parquet) writes: the same columns with the same types, values,
//! row groups and compression. Names go in as the numbers that they have already, and one compressor serves all files.

use std::marker::PhantomData;
use std::sync::Arc;

use ::parquet::arrow::{ArrowSchemaConverter, add_encoded_arrow_schema_to_metadata};
use ::parquet::basic::Encoding;
use ::parquet::column::page::{CompressedPage, Page, PageWriter};
use ::parquet::column::writer::ColumnCloseResult;
use ::parquet::data_type::{ByteArray, FixedLenByteArray};
use ::parquet::file::metadata::ColumnChunkMetaData;
use ::parquet::file::properties::WriterPropertiesPtr;
use ::parquet::file::statistics::{Statistics, ValueStatistics};
use ::parquet::file::writer::{SerializedFileWriter, SerializedPageWriter, TrackedWrite};
use ::parquet::schema::types::{ColumnDescPtr, SchemaDescriptor};
use bytes::Bytes;
use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use crate::archive::catalog::manifest::Partition;
use crate::archive::import::deltas::write_deltas;
use crate::archive::import::runs_of_numbers::{width_of, write_numbers};
use crate::archive::import::tabled::{Cells, Tabled, attos};
use crate::archive::import::unique::Unique;
use crate::archive::rows::row::Row;
use crate::archive::segment::arrow_columns;
use crate::archive::segment::parquet::{
    COMPRESSION_LEVEL, KEYS_COMPRESSION_LEVEL, SegmentError, properties,
};
use crate::model::{DecimalColumn, Millis, Vocabulary, count};

/// Bytes that decimals have in common, at least, where one is written by another: sixteen of a decimal are few digits between
/// zeros, of which a strong compression finds no more than a quick one that looks for so little.
const LEAST_IN_COMMON: u32 = 4;
/// The longest text that stands as the least or greatest of a column.
const LONGEST: usize = 64;

/// What makes files of the columns of a kind of table.
pub(crate) struct Pages<T> {
    schema: SchemaDescriptor,
    properties: WriterPropertiesPtr,
    packer: Compressor<'static>,
    /// For what tells rows from each other.
    quick: Compressor<'static>,
    /// For decimals.
    of_decimals: Compressor<'static>,
    unique: Unique,
    of: PhantomData<T>,
}

/// A column of a row group, before it is compressed.
struct Encoded {
    /// The distinct values and how many there are, where cells are numbers of them.
    dictionary: Option<(Vec<u8>, usize)>,
    /// How the data are written.
    encoding: Encoding,
    data: Vec<u8>,
    statistics: Option<Statistics>,
}

impl<T: Tabled> Pages<T> {
    /// What makes files.
    pub(crate) fn new() -> Result<Self, SegmentError> {
        let arrays = arrow_columns::schema::<T::Row>();
        let mut properties = properties::<T::Row>()?.build();
        let mut of_decimals = Compressor::new(KEYS_COMPRESSION_LEVEL)?;
        of_decimals.set_parameter(CParameter::MinMatch(LEAST_IN_COMMON))?;
        add_encoded_arrow_schema_to_metadata(&arrays, &mut properties);
        Ok(Self {
            schema: ArrowSchemaConverter::new().convert(&arrays)?,
            properties: Arc::new(properties),
            packer: Compressor::new(COMPRESSION_LEVEL)?,
            quick: Compressor::new(KEYS_COMPRESSION_LEVEL)?,
            of_decimals,
            unique: Unique::default(),
            of: PhantomData,
        })
    }

    /// The bytes of a file that holds these rows of a table as they are ordered.
    pub(crate) fn bytes(
        &mut self,
        table: &T,
        partition: Partition,
        rows: &[usize],
    ) -> Result<Vec<u8>, SegmentError> {
        let root = self.schema.root_schema_ptr();
        let mut file = SerializedFileWriter::new(Vec::new(), root, self.properties.clone())?;
        let columns: Vec<ColumnDescPtr> = self.schema.columns().to_vec();
        for rows in rows.chunks(T::Row::GROUP) {
            let mut group = file.next_row_group()?;
            for (column, schema) in T::Row::filed().zip(&columns) {
                let encoded = match table.cells(column.name, partition) {
                    Cells::Same(text) => Ok(named(&[text], rows.iter().map(|_| 0))),
                    Cells::Nothing if column.optional => Ok(nothing(rows.len())),
                    Cells::Nothing => Err(absent(column.name)),
                    Cells::Named(labels) => {
                        let names: Vec<&str> = labels.names().iter().map(String::as_str).collect();
                        let codes = labels.codes();
                        Ok(named(&names, cells(codes, rows).copied()))
                    }
                    Cells::Sides(sides) => {
                        let names = crate::model::Side::ALL.iter().map(|side| side.name());
                        let names: Vec<&str> = names.collect();
                        Ok(named(
                            &names,
                            cells(sides, rows).map(|side| count(side.index())),
                        ))
                    }
                    Cells::Exact(decimals) => self.exact(decimals, rows),
                    Cells::Times(times, later) => Ok(instants(times, rows, later)),
                    Cells::KeyIndex => Ok(keys(table, rows)),
                };
                let encoded = encoded.map_err(|why| SegmentError::Column((column.name, why)))?;
                let (bytes, closed) = self.chunk(schema, encoded, rows.len())?;
                group.append_column(&bytes, closed)?;
            }
            group.close()?;
        }
        Ok(file.into_inner()?)
    }

    /// A column of a row group as it stands in a file that begins with it.
    fn chunk(
        &mut self,
        column: &ColumnDescPtr,
        encoded: Encoded,
        rows: usize,
    ) -> Result<(Bytes, ColumnCloseResult), SegmentError> {
        let Encoded {
            dictionary,
            encoding,
            data,
            statistics,
        } = encoded;
        let mut sink = TrackedWrite::new(Vec::new());
        let mut pages = SerializedPageWriter::new(&mut sink);
        let mut encodings = vec![Encoding::PLAIN, Encoding::RLE];
        if !encodings.contains(&encoding) {
            encodings.push(encoding);
        }
        let mut uncompressed = 0;
        let mut dictionary_at = None;
        let (of_values, of_data) = match statistics {
            Some(Statistics::FixedLenByteArray(_)) => (&mut self.of_decimals, None),
            Some(_) => (&mut self.packer, None),
            // Only keys have none, and names that are very long.
            None => (&mut self.packer, Some(&mut self.quick)),
        };
        if let Some((values, number)) = dictionary {
            let page = Page::DictionaryPage {
                buf: of_values.compress(&values)?.into(),
                num_values: count(number),
                encoding: Encoding::PLAIN,
                is_sorted: false,
            };
            let written = pages.write_page(CompressedPage::new(page, values.len()))?;
            uncompressed += written.uncompressed_size;
            dictionary_at = Some(place(written.offset));
        }
        let page = Page::DataPage {
            buf: of_data.unwrap_or(of_values).compress(&data)?.into(),
            num_values: count(rows),
            encoding,
            def_level_encoding: Encoding::RLE,
            rep_level_encoding: Encoding::RLE,
            statistics: None,
        };
        let written = pages.write_page(CompressedPage::new(page, data.len()))?;
        uncompressed += written.uncompressed_size;
        pages.close()?;
        let bytes = Bytes::from(sink.into_inner()?);
        let rows = place(rows as u64);
        let mut described = ColumnChunkMetaData::builder(column.clone())
            .set_compression(self.properties.compression(column.path()))
            .set_encodings(encodings)
            .set_total_compressed_size(place(bytes.len() as u64))
            .set_total_uncompressed_size(place(uncompressed as u64))
            .set_num_values(rows)
            .set_data_page_offset(place(written.offset))
            .set_dictionary_page_offset(dictionary_at);
        if let Some(statistics) = statistics {
            described = described.set_statistics(statistics);
        }
        let closed = ColumnCloseResult {
            bytes_written: bytes.len() as u64,
            rows_written: rows.unsigned_abs(),
            metadata: described.build()?,
            bloom_filter: None,
            column_index: None,
            offset_index: None,
        };
        Ok((bytes, closed))
    }

    /// Decimals: by number where few are distinct, else one after the other.
    fn exact(&mut self, decimals: &DecimalColumn, rows: &[usize]) -> Result<Encoded, String> {
        let values: Option<Vec<i128>> = rows.iter().map(|row| attos(decimals, *row)).collect();
        let values = values.ok_or("a value is missing or does not fit its type")?;
        let least = values.iter().min().copied().unwrap_or_default();
        let most = values.iter().max().copied().unwrap_or_default();
        let end = |value: i128| {
            let bytes = value.to_be_bytes().to_vec();
            Some(FixedLenByteArray::from(bytes))
        };
        let statistics = ValueStatistics::new(end(least), end(most), None, Some(0), false);
        let statistics = Some(Statistics::FixedLenByteArray(statistics));
        let plain = |values: &[i128]| {
            let mut bytes = Vec::with_capacity(16 * values.len());
            for value in values {
                bytes.extend_from_slice(&value.to_be_bytes());
            }
            bytes
        };
        if !self.unique.number(&values) {
            return Ok(Encoded {
                dictionary: None,
                encoding: Encoding::PLAIN,
                data: plain(&values),
                statistics,
            });
        }
        let distinct = self.unique.values();
        Ok(Encoded {
            dictionary: Some((plain(distinct), distinct.len())),
            encoding: Encoding::RLE_DICTIONARY,
            data: numbered(self.unique.numbers(), distinct.len()),
            statistics,
        })
    }
}

/// What stands in `rows` of a column.
fn cells<'a, C>(column: &'a [C], rows: &'a [usize]) -> impl Iterator<Item = &'a C> {
    rows.iter().filter_map(|row| column.get(*row))
}

/// A place in a file, or a length of what stands there.
fn place(at: u64) -> i64 {
    i64::try_from(at).unwrap_or(i64::MAX)
}

fn absent(column: &str) -> String {
    format!("a table has no {column}")
}

/// Numbers as a page has them that are all below `distinct`.
fn numbered(numbers: &[u32], distinct: usize) -> Vec<u8> {
    let width = width_of(distinct);
    let mut data = Vec::with_capacity(16 + numbers.len() * usize::from(width) / 8);
    data.push(width);
    write_numbers(numbers, width, &mut data);
    data
}

/// A column of nothing.
fn nothing(rows: usize) -> Encoded {
    let mut levels = Vec::new();
    write_numbers(&vec![0; rows], 1, &mut levels);
    let mut data = count(levels.len()).to_le_bytes().to_vec();
    data.append(&mut levels);
    let nulls = Some(rows as u64);
    let statistics = ValueStatistics::<ByteArray>::new(None, None, None, nulls, false);
    Encoded {
        dictionary: None,
        encoding: Encoding::PLAIN,
        data,
        statistics: Some(Statistics::ByteArray(statistics)),
    }
}

/// A column of names by their codes; those that no row has are left out.
fn named(names: &[&str], codes: impl Iterator<Item = u32>) -> Encoded {
    let mut places = vec![u32::MAX; names.len()];
    let mut used: Vec<&str> = Vec::new();
    let mut numbers = Vec::with_capacity(codes.size_hint().1.unwrap_or_default());
    for code in codes {
        let Some((place, name)) = places.get_mut(code as usize).zip(names.get(code as usize))
        else {
            continue;
        };
        if *place == u32::MAX {
            *place = count(used.len());
            used.push(name);
        }
        numbers.push(*place);
    }
    let mut values = Vec::new();
    for name in &used {
        values.extend_from_slice(&count(name.len()).to_le_bytes());
        values.extend_from_slice(name.as_bytes());
    }
    let ends = used.iter().min().zip(used.iter().max());
    let ends = ends.filter(|(least, most)| least.len().max(most.len()) <= LONGEST);
    let statistics = ends.map(|(least, most)| {
        let end = |name: &str| Some(ByteArray::from(name.as_bytes().to_vec()));
        Statistics::ByteArray(ValueStatistics::new(
            end(least),
            end(most),
            None,
            Some(0),
            false,
        ))
    });
    Encoded {
        data: numbered(&numbers, used.len()),
        dictionary: Some((values, used.len())),
        encoding: Encoding::RLE_DICTIONARY,
        statistics,
    }
}

/// A column of instants.
fn instants(times: &[Millis], rows: &[usize], later: i64) -> Encoded {
    let instants = cells(times, rows).map(|at| at.on(later).0);
    let instants: Vec<i64> = instants.collect();
    let least = instants.iter().min().copied().unwrap_or_default();
    let most = instants.iter().max().copied().unwrap_or_default();
    let mut data = Vec::with_capacity(2 * instants.len());
    write_deltas(&instants, &mut data);
    let statistics = ValueStatistics::new(Some(least), Some(most), None, Some(0), false);
    Encoded {
        dictionary: None,
        encoding: Encoding::DELTA_BINARY_PACKED,
        data,
        statistics: Some(Statistics::Int64(statistics)),
    }
}

/// A column of what tells each row from all others.
fn keys<T: Tabled>(table: &T, rows: &[usize]) -> Encoded {
    let mut data = Vec::with_capacity(64 * rows.len());
    let mut key = String::new();
    for row in rows {
        key.clear();
        table.write_key(*row, &mut key);
        data.extend_from_slice(&count(key.len()).to_le_bytes());
        data.extend_from_slice(key.as_bytes());
    }
    Encoded {
        dictionary: None,
        encoding: Encoding::PLAIN,
        data,
        statistics: None,
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
    use arrow_array::RecordBatch;
    use proptest::prelude::*;
    use rust_decimal::Decimal;

    use crate::archive::catalog::manifest::Day;
    use crate::archive::import::pages::*;
    use crate::archive::segment::parquet;
    use crate::archive::{BarTable, GivenOrders, OrderTable};
    use crate::model::{Labels, Side};

    /// What a reader finds in a file, and what a row group says of its columns.
    fn found(bytes: Vec<u8>) -> (Vec<RecordBatch>, Vec<String>) {
        let reader = ParquetRecordBatchReaderBuilder::try_new(Bytes::from(bytes)).unwrap();
        let groups = reader.metadata().row_groups().iter();
        let said = groups.flat_map(|group| {
            let columns = group.columns().iter().map(|column| {
                let name = column.column_descr().name();
                let ends = column.statistics().filter(|_| name != "dedupe_key");
                let ends = ends.map(|ends| {
                    (
                        ends.min_bytes_opt(),
                        ends.max_bytes_opt(),
                        ends.null_count_opt(),
                    )
                });
                format!(
                    "{name} {:?} {:?} {ends:?}",
                    column.compression(),
                    column.num_values()
                )
            });
            columns.collect::<Vec<_>>()
        });
        let said = said.collect();
        let batches = reader.with_batch_size(1 << 20).build().unwrap();
        (batches.map(Result::unwrap).collect(), said)
    }

    /// A file of columns is the file of their rows to whoever reads it.
    fn is_the_same<T: Tabled>(table: &T, interval: i64, order: &[usize]) {
        let rows: Vec<T::Row> = order.iter().map(|row| table.row(*row).unwrap()).collect();
        let partition = Partition {
            day: Day(0),
            interval,
        };
        let mut pages = Pages::new().unwrap();
        for _ in 0..2 {
            let made = pages.bytes(table, partition, order).unwrap();
            assert_eq!(found(made), found(parquet::bytes(&rows).unwrap()));
        }
    }

    fn decimal() -> impl Strategy<Value = Decimal> {
        (any::<i64>(), 0_u32..=18).prop_map(|(digits, scale)| Decimal::new(digits, scale))
    }

    fn instant() -> impl Strategy<Value = i64> {
        prop_oneof![0_i64..1_000_000_000_000, i64::MIN..i64::MAX - 3]
    }

    fn labels() -> impl Strategy<Value = Vec<String>> {
        prop::collection::vec("[a-c]{1,2}|é|[a-z]{60}", 300)
    }

    fn named(names: &[String], rows: usize) -> Labels {
        names
            .iter()
            .cycle()
            .take(rows)
            .map(String::as_str)
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        #[test]
        fn orders_by_columns_are_the_file_of_their_rows(
            names in labels(),
            values in prop::collection::vec((decimal(), instant()), 1..300),
            rows in 1_usize..300,
        ) {
            let cycle = || values.iter().cycle().take(rows);
            let decimals = || cycle().map(|(value, _)| *value).collect::<DecimalColumn>();
            let times = |by: i64| cycle().map(|(_, at)| Millis(at + by)).collect::<Vec<_>>();
            let table = OrderTable::of(GivenOrders {
                exchange: named(&names, rows),
                symbol: named(&names, rows),
                coin: None,
                side: times(0).iter().map(|at| if at.0 % 2 == 0 { Side::Long } else { Side::Short }).collect(),
                price: decimals(),
                qty: cycle().map(|(_, at)| Decimal::new(at % 7, 2)).collect(),
                value_usd: decimals(),
                timestamp: times(0),
                received_at: times(3),
                group_id: None,
            });
            let order: Vec<usize> = (0..rows).rev().step_by(1 + rows % 3).collect();
            is_the_same(&table.unwrap(), 0, &order);
        }

        #[test]
        fn bars_by_columns_are_the_file_of_their_rows(
            names in labels(),
            values in prop::collection::vec(decimal(), 1..300),
            rows in 1_usize..20_000,
        ) {
            let cycle = || values.iter().cycle().take(rows).copied();
            let table = BarTable {
                exchange: named(&names, rows),
                symbol: named(&names, rows),
                interval: vec![Millis::MINUTE; rows],
                timestamp: (0..rows).map(|row| Millis(i64::try_from(row).unwrap() * Millis::MINUTE)).collect(),
                open: cycle().collect(),
                high: (0..rows).map(Decimal::from).collect(),
                low: cycle().collect(),
                close: cycle().collect(),
                volume: cycle().collect(),
            };
            is_the_same(&table, Millis::MINUTE, &(0..rows).collect::<Vec<_>>());
        }
    }
}
