//! The rows of Parquet, Feather and Arrow files, in batches, so that memory stays bounded.

use std::borrow::Cow;
use std::fs::File;
use std::io::BufReader;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, RecordBatchReader};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::ArrowError;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;

use crate::feeds::dumps::{FileBatch, FileContent, FileHead, RowError};
use crate::tables::{InputCell, InputCells, settle};

/// Number of rows of which the text is read before the others.
const HEAD: usize = 16;

/// Reads the rows of a file of columns. Rows are numbered from 0.
pub(crate) struct ColumnRows {
    path: PathBuf,
    content: FileContent,
    pub(super) head: FileHead,
    /// The columns that `batches` reads, and the batches.
    batches: Option<(Vec<usize>, Box<dyn RecordBatchReader>)>,
    /// Rows that were read and not returned.
    rest: Option<RecordBatch>,
    row: u64,
    is_over: bool,
}

/// Runs `read`; a panic on a damaged file is an error.
fn guarded<T, E: ToString>(read: impl FnOnce() -> Result<T, E>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read))
        .map_err(|_| "its layout is inconsistent".to_owned())?
        .map_err(|fault| fault.to_string())
}

/// Opens the batches of a file; only the columns `wanted`, which are in the order of the file.
fn batches(
    path: &Path,
    content: FileContent,
    wanted: Option<&[usize]>,
    most: usize,
) -> Result<Box<dyn RecordBatchReader>, ArrowError> {
    let file = File::open(path).map_err(|fault| ArrowError::IoError(fault.to_string(), fault))?;
    Ok(match content {
        FileContent::Parquet => {
            let builder = ParquetRecordBatchReaderBuilder::try_new(file)?.with_batch_size(most);
            let mask = wanted.map(|wanted| {
                ProjectionMask::roots(builder.parquet_schema(), wanted.iter().copied())
            });
            let builder = match mask {
                Some(mask) => builder.with_projection(mask),
                None => builder,
            };
            Box::new(builder.build()?)
        }
        FileContent::ArrowStream => Box::new(StreamReader::try_new(
            BufReader::new(file),
            wanted.map(<[usize]>::to_vec),
        )?),
        _ => Box::new(FileReader::try_new(
            BufReader::new(file),
            wanted.map(<[usize]>::to_vec),
        )?),
    })
}

impl ColumnRows {
    /// Reads the schema and the first rows of a file.
    pub(super) fn open(path: &Path, content: FileContent) -> Result<Self, String> {
        let head = guarded(|| {
            let mut batches = batches(path, content, None, HEAD)?;
            let schema = batches.schema();
            let names = schema.fields().iter().map(|field| field.name().clone());
            let mut head = FileHead {
                header: Some(names.collect()),
                ..FileHead::default()
            };
            if let Some(batch) = batches.next().transpose()? {
                let columns = batch.columns().iter().map(settle);
                let columns = columns.map(|array| array.map(InputCells::Arrow));
                let columns = columns.collect::<Result<Vec<_>, ArrowError>>()?;
                for row in 0..batch.num_rows().min(HEAD) {
                    let cells = columns
                        .iter()
                        .map(|column| text(column.at(row)).into_owned());
                    head.rows.push(cells.collect());
                }
            }
            Ok::<_, ArrowError>(head)
        });
        Ok(Self {
            path: path.to_owned(),
            content,
            head: head.map_err(|fault| format!("it cannot be read: {fault}"))?,
            batches: None,
            rest: None,
            row: 0,
            is_over: false,
        })
    }

    /// Reads the `wanted` columns of up to `most` rows; `None` at the end of the file.
    pub(super) fn next(&mut self, wanted: &[usize], most: usize) -> Option<FileBatch> {
        if self.is_over {
            return None;
        }
        match self.batch(wanted, most) {
            Ok(None) => None,
            Ok(Some((columns, rows))) => {
                let first = self.row;
                self.row += rows;
                Some(FileBatch {
                    columns,
                    lines: (first..self.row).collect(),
                    faults: Vec::new(),
                })
            }
            Err(fault) => {
                self.is_over = true;
                Some(FileBatch {
                    faults: vec![(self.row, RowError::unreadable(&fault))],
                    ..FileBatch::default()
                })
            }
        }
    }

    fn batch(
        &mut self,
        wanted: &[usize],
        most: usize,
    ) -> Result<Option<(Vec<ArrayRef>, u64)>, String> {
        let (path, content) = (self.path.clone(), self.content);
        let mut opened = if let Some(opened) = self.batches.take() {
            opened
        } else {
            let mut read = wanted.to_vec();
            read.sort_unstable();
            read.dedup();
            let batches = guarded(|| batches(&path, content, Some(&read), most))?;
            (read, batches)
        };
        let (read, batches) = &mut opened;
        let next = match self.rest.take() {
            Some(rest) => Some(rest),
            None => loop {
                match guarded(|| batches.next().transpose())? {
                    Some(batch) if batch.num_rows() == 0 => {}
                    next => break next,
                }
            },
        };
        let Some(batch) = next else {
            return Ok(None);
        };
        let rows = batch.num_rows().min(most);
        if rows < batch.num_rows() {
            self.rest = Some(batch.slice(rows, batch.num_rows() - rows));
        }
        let batch = batch.slice(0, rows);
        let columns = wanted.iter().filter_map(|place| {
            let place = read.binary_search(place).ok()?;
            batch.columns().get(place)
        });
        let columns = guarded(|| columns.map(settle).collect::<Result<Vec<_>, ArrowError>>())?;
        self.batches = Some(opened);
        Ok(Some((columns, rows as u64)))
    }
}

/// The text of a cell; blank if it is missing.
pub(super) fn text(cell: InputCell<'_>) -> Cow<'_, str> {
    match cell {
        InputCell::Missing => "".into(),
        InputCell::Text(text) => text,
        cell => cell.shown().into(),
    }
}

/// The truth value of a cell.
pub(super) fn boolean(column: &ArrayRef, row: usize) -> Option<bool> {
    let booleans: &BooleanArray = column.as_boolean_opt()?;
    (row < booleans.len() && booleans.is_valid(row)).then(|| booleans.value(row))
}
