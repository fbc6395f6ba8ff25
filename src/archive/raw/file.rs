//! A file of raw frames that is being written.
//!
//! [`RawFileWriter::flush`] passes written lines to the operating system, so that a crash of the process loses only
//! lines written after the flush. After a failed write the file is abandoned, and a new file is begun.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use zstd::stream::write::Encoder;

use crate::archive::catalog::manifest::Day;
use crate::archive::raw::line;
use crate::archive::{ArchiveError, files};

/// Level of the zstd compression.
const LEVEL: i32 = 3;
/// Base-2 logarithm of the compression window in bytes.
///
/// Each exchange needs a window of 2¹⁹ bytes in memory.
const WINDOW: u32 = 19;
/// Minimum number of bytes of text per zstd frame.
///
/// Each zstd frame ends with a checksum.
const TOGETHER: usize = 4 << 20;

/// A file with a counter of the bytes written to it.
#[derive(Debug)]
struct CountingWriter {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Write for CountingWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        let more = u64::try_from(written).unwrap_or_default();
        self.bytes.fetch_add(more, Ordering::Relaxed);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Writes one file of raw frames of an exchange and day.
pub(crate) struct RawFileWriter {
    pub(crate) day: Day,
    pub(crate) path: PathBuf,
    encoder: Encoder<'static, CountingWriter>,
    bytes: Arc<AtomicU64>,
    /// Number of bytes of text in the current zstd frame.
    text: usize,
    /// Whether lines were written since the last flush.
    is_dirty: bool,
}

fn encoder(file: CountingWriter) -> io::Result<Encoder<'static, CountingWriter>> {
    let mut encoder = Encoder::new(file, LEVEL)?;
    encoder.include_checksum(true)?;
    encoder.window_log(WINDOW)?;
    Ok(encoder)
}

impl RawFileWriter {
    /// Creates a new file for an exchange and day.
    pub(crate) fn create(base: &Path, exchange: &str, day: Day) -> Result<Self, ArchiveError> {
        let relative = line::name(exchange, &day.name());
        files::refuse_link(base, &relative)?;
        let path = base.join(relative);
        if let Some(folder) = path.parent() {
            files::make_folder(base, folder)?;
        }
        let fault = |source| ArchiveError::of_file(&path, source);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .map_err(fault)?;
        let bytes = Arc::new(AtomicU64::new(0));
        let counting = CountingWriter {
            file,
            bytes: Arc::clone(&bytes),
        };
        let encoder = encoder(counting).map_err(fault)?;
        Ok(Self {
            day,
            encoder,
            bytes,
            text: 0,
            is_dirty: false,
            path,
        })
    }

    /// Size of the file so far, in bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Writes complete lines and returns the writer.
    ///
    /// If this fails, the file is abandoned.
    pub(crate) fn write(mut self, lines: &[u8]) -> Result<Self, ArchiveError> {
        let path = self.path.clone();
        let fault = |source| ArchiveError::of_file(&path, source);
        self.encoder.write_all(lines).map_err(fault)?;
        self.text += lines.len();
        self.is_dirty = true;
        if self.text >= TOGETHER {
            let file = self.encoder.finish().map_err(fault)?;
            self.encoder = encoder(file).map_err(fault)?;
            self.text = 0;
            self.is_dirty = false;
        }
        Ok(self)
    }

    /// Passes written lines to the operating system.
    pub(crate) fn flush(&mut self) -> Result<(), ArchiveError> {
        if self.is_dirty {
            self.is_dirty = false;
            self.encoder
                .flush()
                .map_err(|source| ArchiveError::of_file(&self.path, source))?;
        }
        Ok(())
    }

    /// Completes the current zstd frame and waits until the file is durable.
    pub(crate) fn finish(self) -> Result<(), ArchiveError> {
        let fault = |source| ArchiveError::of_file(&self.path, source);
        let counting = if self.text > 0 {
            self.encoder.finish().map_err(fault)?
        } else {
            // The current zstd frame is empty: there is nothing to complete, and the file is not synced.
            return Ok(());
        };
        counting.file.sync_all().map_err(fault)
    }
}
