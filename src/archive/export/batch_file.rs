//! Batches of columns into a Parquet file, one after the other: what leaves an archive, or another market, for other tools.

use std::fs::File;
use std::path::Path;

use ::parquet::arrow::ArrowWriter;
use ::parquet::basic::{Compression, ZstdLevel};
use ::parquet::errors::ParquetError;
use ::parquet::file::properties::WriterProperties;
use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

/// Rows of a group of a file: what a writer has in memory.
const GROUP: usize = 1 << 17;

/// A Parquet file in the making.
#[derive(Debug)]
pub struct ParquetBatchWriter {
    writer: ArrowWriter<File>,
}

impl ParquetBatchWriter {
    /// Begins a file at `path`, which is there already and empty, of batches with these columns.
    ///
    /// # Errors
    ///
    /// [`std::io::Error`] where the file cannot be written.
    pub fn begin(path: &Path, schema: SchemaRef) -> std::io::Result<Self> {
        let file = File::options().write(true).open(path)?;
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::default()))
            .set_max_row_group_row_count(Some(GROUP))
            .build();
        let writer = ArrowWriter::try_new(file, schema, Some(properties)).map_err(failed)?;
        Ok(Self { writer })
    }

    /// Adds the rows of a batch.
    ///
    /// # Errors
    ///
    /// As [`ParquetBatchWriter::begin`].
    pub fn write(&mut self, batch: &RecordBatch) -> std::io::Result<()> {
        self.writer.write(batch).map_err(failed)
    }

    /// Writes what is left; the file is whole and on the disk then.
    ///
    /// # Errors
    ///
    /// As [`ParquetBatchWriter::begin`].
    pub fn finish(self) -> std::io::Result<()> {
        self.writer.into_inner().map_err(failed)?.sync_all()
    }
}

/// What a writer fails of is the file below it.
fn failed(fault: ParquetError) -> std::io::Error {
    std::io::Error::other(fault)
}
