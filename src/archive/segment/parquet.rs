//! The Parquet format of segments: encodes rows to bytes and decodes files.
//!
//! This module writes no files; [`atomic_write`](crate::archive::segment::atomic_write) does.

use std::fs::File;

use ::parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use ::parquet::arrow::{ArrowWriter, ProjectionMask};
use ::parquet::basic::{Compression, Encoding, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use ::parquet::file::properties::{EnabledStatistics, WriterProperties};
use ::parquet::file::statistics::Statistics;
use ::parquet::schema::types::ColumnPath;
use arrow_array::ArrayRef;
use bytes::Bytes;

use crate::archive::filter::Filter;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::row::{Fault, Row};
use crate::archive::segment::arrow_columns;
use crate::archive::segment::projection;
use crate::model::{Kind, Millis, OrderBrief};

/// Level of the zstd compression of all columns except dedupe keys.
const COMPRESSION_LEVEL: i32 = 3;
/// Level of the zstd compression of dedupe keys.
///
/// A higher level takes much longer and saves little space.
const KEYS_COMPRESSION_LEVEL: i32 = 1;

/// Maximum number of rows of a segment.
///
/// One transaction deletes the rows of a segment from the journal, and other commits wait for it. A file with more rows
/// according to its metadata is not read.
pub(crate) const MOST: usize = 50_000;

/// Error of encoding or decoding a segment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SegmentError {
    #[error(transparent)]
    Parquet(#[from] ParquetError),
    #[error(transparent)]
    Arrow(#[from] arrow_schema::ArrowError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error("it claims {0} rows; a segment has at most {MOST}")]
    TooMany(i64),
    #[error("column {:?}: {}", .0.0, .0.1)]
    Column(Fault),
}

/// Fault message for a segment with a matching checksum that cannot be decoded.
pub(crate) fn unreadable(fault: &SegmentError) -> String {
    format!("the file cannot be read although its SHA-256 is correct: {fault}")
}

/// Encodes rows as a segment, in the given order.
pub(crate) fn bytes<R: Row>(rows: &[R]) -> Result<Vec<u8>, SegmentError> {
    let groups = rows.chunks(R::GROUP);
    encode::<R>(groups.map(|rows| arrow_columns::encode(rows.iter())))
}

/// Encodes row groups, each given as the columns of a segment.
pub(crate) fn encode<R: Row>(
    groups: impl Iterator<Item = Result<Vec<ArrayRef>, Fault>>,
) -> Result<Vec<u8>, SegmentError> {
    let schema = arrow_columns::schema::<R>();
    let properties = properties::<R>()?;
    let mut writer = ArrowWriter::try_new(Vec::new(), schema.clone(), Some(properties))?;
    for columns in groups {
        let columns = columns.map_err(SegmentError::Column)?;
        writer.write(&arrow_columns::batch(&schema, columns)?)?;
    }
    Ok(writer.into_inner()?)
}

/// Properties of the Parquet writer for a table.
fn properties<R: Row>() -> Result<WriterProperties, SegmentError> {
    let level = ZstdLevel::try_new(COMPRESSION_LEVEL)?;
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(level))
        .set_max_row_group_row_count(Some(R::GROUP))
        .set_created_by(concat!("liqdata ", env!("CARGO_PKG_VERSION")).to_owned());
    if let Some(bulk) = R::BULK {
        // Dictionaries and statistics are useless for large values.
        let column = ColumnPath::from(bulk);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_statistics_enabled(column, EnabledStatistics::None);
    }
    if let Some(key) = R::KEY {
        let column = ColumnPath::from(key);
        let quick = Compression::ZSTD(ZstdLevel::try_new(KEYS_COMPRESSION_LEVEL)?);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_statistics_enabled(column.clone(), EnabledStatistics::None)
            .set_column_compression(column, quick);
    }
    for time in R::filed().filter(|column| column.kind == Kind::Time) {
        let column = ColumnPath::from(time.name);
        properties = properties
            .set_column_dictionary_enabled(column.clone(), false)
            .set_column_encoding(column, Encoding::DELTA_BINARY_PACKED);
    }
    Ok(properties.build())
}

/// Decodes the rows of a segment file.
///
/// Skips row groups that cannot match `filter`.
pub(crate) fn rows<R: Row>(
    file: File,
    interval: i64,
    filter: &Filter,
) -> Result<Vec<R>, SegmentError> {
    let mut rows = Vec::new();
    show_rows(file, interval, filter, &mut |row| {
        rows.push(row);
        true
    })?;
    Ok(rows)
}

/// Passes the rows of a segment file to `sink`, until it returns false.
///
/// Skips row groups that cannot match `filter`.
pub(crate) fn show_rows<R: Row>(
    file: File,
    interval: i64,
    filter: &Filter,
    sink: &mut dyn FnMut(R) -> bool,
) -> Result<(), SegmentError> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(file)?;
    check_rows(reader.metadata())?;
    let groups = groups::<R>(reader.metadata(), filter);
    for batch in reader
        .with_row_groups(groups)
        .with_batch_size(R::GROUP)
        .build()?
    {
        let batch = batch?;
        for row in arrow_columns::decode(&batch, interval).map_err(SegmentError::Column)? {
            if !sink(row.map_err(SegmentError::Column)?) {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Passes projected orders of a segment to `sink`, with dedupe keys if `keyed`.
///
/// Skips row groups that cannot match `filter`.
pub(crate) fn briefs(
    bytes: Bytes,
    filter: &Filter,
    keyed: bool,
    sink: &mut dyn FnMut(OrderBrief<'_>, &str),
) -> Result<(), SegmentError> {
    let reader = projection::open(bytes)?;
    check_rows(reader.metadata())?;
    let columns =
        ProjectionMask::columns(reader.parquet_schema(), projection::columns_of_files(keyed));
    let groups = groups::<OrderRow>(reader.metadata(), filter);
    // With one batch per row group, dictionary keys are valid for a whole batch.
    for batch in reader
        .with_row_groups(groups)
        .with_projection(columns)
        .with_batch_size(OrderRow::GROUP)
        .build()?
    {
        projection::show_batch(&batch?, sink).map_err(SegmentError::Column)?;
    }
    Ok(())
}

/// Returns an error for a file with more than [`MOST`] rows according to its metadata.
pub(crate) fn check_rows(file: &ParquetMetaData) -> Result<(), SegmentError> {
    let claimed = file.row_groups().iter().try_fold(0_i64, |sum, group| {
        (group.num_rows() >= 0).then(|| sum.saturating_add(group.num_rows()))
    });
    match claimed {
        Some(rows) if usize::try_from(rows).is_ok_and(|rows| rows <= MOST) => Ok(()),
        claimed => Err(SegmentError::TooMany(claimed.unwrap_or(-1))),
    }
}

/// Row groups that may contain matching rows.
pub(crate) fn groups<R: Row>(file: &ParquetMetaData, filter: &Filter) -> Vec<usize> {
    let groups = file.row_groups().iter().enumerate();
    groups
        .filter(|(_, group)| may_hold::<R>(group, filter))
        .map(|(place, _)| place)
        .collect()
}

/// Whether a row group may contain a matching row, according to its statistics.
fn may_hold<R: Row>(group: &RowGroupMetaData, filter: &Filter) -> bool {
    group.columns().iter().all(|column| {
        let Some(statistics) = column.statistics() else {
            return true;
        };
        match column.column_descr().name() {
            "timestamp" => may_hold_instant(statistics, filter.start, filter.end),
            "exchange" => may_hold_text(statistics, filter.exchange.as_deref()),
            // In bars and open interest the column `symbol` contains the coin, so the filters on symbol and coin both
            // apply to it.
            "symbol" if R::COIN == "symbol" => {
                may_hold_text(statistics, filter.symbol.as_deref())
                    && may_hold_text(statistics, filter.coin.as_deref())
            }
            "symbol" => may_hold_text(statistics, filter.symbol.as_deref()),
            "coin" => may_hold_text(statistics, filter.coin.as_deref()),
            "kind" => may_hold_text(statistics, filter.kind.as_deref()),
            _ => true,
        }
    })
}

fn may_hold_instant(statistics: &Statistics, start: Option<Millis>, end: Option<Millis>) -> bool {
    let Statistics::Int64(range) = statistics else {
        return true;
    };
    range
        .max_opt()
        .zip(start)
        .is_none_or(|(max, start)| *max >= start.0)
        && range
            .min_opt()
            .zip(end)
            .is_none_or(|(min, end)| *min < end.0)
}

fn may_hold_text(statistics: &Statistics, wanted: Option<&str>) -> bool {
    let (Statistics::ByteArray(range), Some(wanted)) = (statistics, wanted) else {
        return true;
    };
    let wanted = wanted.as_bytes();
    // Truncated statistics give a wider range, so no matching row group is skipped.
    range.min_opt().is_none_or(|min| wanted >= min.data())
        && range.max_opt().is_none_or(|max| wanted <= max.data())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use arrow_array::{Int64Array, RecordBatch};
    use std::sync::Arc;

    use crate::archive::segment::parquet::*;

    #[test]
    fn a_small_file_that_claims_many_rows_is_not_read() {
        let path = std::env::temp_dir().join(format!("liqdata-many-{}", std::process::id()));
        let column: ArrayRef = Arc::new(Int64Array::from(vec![0; MOST + 1]));
        let batch = RecordBatch::try_from_iter([("timestamp", column)]).unwrap();
        let file = File::create(&path).unwrap();
        let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        let fault = rows::<OrderRow>(File::open(&path).unwrap(), 0, &Filter::default());
        assert!(
            matches!(fault, Err(SegmentError::TooMany(50_001))),
            "{fault:?}"
        );
        std::fs::remove_file(&path).unwrap();
    }
}
