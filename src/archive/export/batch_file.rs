//! Writes Arrow batches to one Parquet file.

use std::fs::File;
use std::path::Path;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

/// Number of rows per row group; the writer buffers one row group in memory.
const GROUP: usize = 1 << 17;

/// A Parquet file that is being written.
#[derive(Debug)]
pub struct ParquetBatchWriter {
    writer: ArrowWriter<File>,
}

impl ParquetBatchWriter {
    /// Opens the existing empty file at `path` for batches of this schema.
    ///
    /// # Errors
    ///
    /// [`std::io::Error`] if the file cannot be written.
    pub fn begin(path: &Path, schema: SchemaRef) -> std::io::Result<Self> {
        let file = File::options().write(true).open(path)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP))
            .build();
        let writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(failed)?;
        Ok(Self { writer })
    }

    /// Appends the rows of a batch.
    ///
    /// # Errors
    ///
    /// As [`ParquetBatchWriter::begin`].
    pub fn write(&mut self, batch: &RecordBatch) -> std::io::Result<()> {
        self.writer.write(batch).map_err(failed)
    }

    /// Writes the footer and syncs the file.
    ///
    /// # Errors
    ///
    /// As [`ParquetBatchWriter::begin`].
    pub fn finish(mut self) -> std::io::Result<()> {
        self.writer.finish().map_err(failed)?;
        self.writer.sync()?;
        self.writer.inner().sync_all()
    }
}

/// Converts a Parquet error to an I/O error.
///
/// The cause is always a failed write.
fn failed(fault: ParquetError) -> std::io::Error {
    match fault {
        ParquetError::External(cause) => match cause.downcast::<std::io::Error>() {
            Ok(cause) => *cause,
            Err(cause) => std::io::Error::other(cause),
        },
        fault => std::io::Error::other(fault),
    }
}
