//! Errors of an archive.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Error of an operation on an archive.
///
/// The message says what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Another process has the archive open for writing.
    #[error("{} is being written by {holder}; open it for reading instead", path.display())]
    Locked {
        /// The archive.
        path: PathBuf,
        /// The writing process, if the lock file names it.
        pid: Option<u32>,
        /// The writing process and its start, in words.
        holder: String,
    },
    /// The path is not an archive.
    #[error("{} is not an archive: {message}", path.display())]
    NotAnArchive {
        /// The path.
        path: PathBuf,
        /// What the path contains instead of an archive.
        message: String,
    },
    /// The format version is not the one that this build reads.
    #[error("{} has archive format {version}; this build reads format {known}: export its rows with the liqdata that \
             wrote it, then ingest them into a new archive", path.display())]
    OtherVersion {
        /// The journal.
        path: PathBuf,
        /// Format version of the archive.
        version: i32,
        /// Format version that this build reads.
        known: i32,
    },
    /// A file of the archive is damaged.
    #[error("{} is damaged: {message}", path.display())]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// What is wrong with the file.
        message: String,
    },
    /// The archive cannot be written, or cannot be opened for reading without writing.
    #[error("{} cannot be written: {message}", path.display())]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
        /// What was refused, and what to do.
        message: String,
    },
    /// This process lacks a permission.
    #[error("{}: {message}; see who may read and write it", path.display())]
    Denied {
        /// The file or folder.
        path: PathBuf,
        /// What was denied.
        message: String,
    },
    /// The archive is on a network file system, where locks and shared memory are unreliable.
    #[error("{} lies on a network file system ({kind}), where the journal is not safe; keep the archive on a local \
             disk (other engines may read its Parquet files from anywhere)", path.display())]
    NetworkFileSystem {
        /// The archive.
        path: PathBuf,
        /// Type of the file system, such as `nfs4`.
        kind: String,
    },
    /// The disk is full. Nothing of this call was stored.
    ///
    /// Earlier commits are safe.
    #[error("no space is left for {}; nothing of this call was stored", path.display())]
    DiskFull {
        /// The file that was being written.
        path: PathBuf,
    },
    /// A row cannot be stored exactly. Nothing of the batch was stored.
    #[error("{table}: column {column:?}, row {row}: {message}")]
    BadRow {
        /// `orders`, `bars`, `open_interest`, `maps`, `positions`, `gaps` or another table.
        table: &'static str,
        /// The invalid column.
        column: &'static str,
        /// Position of the row in the batch, from 0.
        row: usize,
        /// What is wrong, with the value and what is allowed.
        message: String,
    },
    /// A read has an invalid parameter.
    #[error("{parameter}: {message}")]
    BadRange {
        /// The parameter.
        parameter: &'static str,
        /// What is wrong, with the value and what is allowed.
        message: String,
    },
    /// An open file was deleted or replaced, so that the archive is no longer the one that was opened.
    ///
    /// Nothing of this call was stored.
    #[error("{} was {what} since this process opened its archive: what it has open is no longer the archive's, and nothing \
             of this call was kept; open the archive again (a new liqdata.open, or a new server or collector)", path.display())]
    Replaced {
        /// The lock file or the journal.
        path: PathBuf,
        /// `deleted` or `replaced`.
        what: &'static str,
    },
    /// The archive was opened before this process was forked; open it again.
    #[error("{} was opened in process {opened_by}, before a fork; open it again in this process", path.display())]
    Forked {
        /// The archive.
        path: PathBuf,
        /// The process that opened it.
        opened_by: u32,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Another error of the journal.
    #[error("{}: {source}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
}

impl ArchiveError {
    /// The file or folder of the error, if any.
    #[must_use]
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::Locked { path, .. }
            | Self::NotAnArchive { path, .. }
            | Self::OtherVersion { path, .. }
            | Self::Damaged { path, .. }
            | Self::Denied { path, .. }
            | Self::ReadOnly { path, .. }
            | Self::NetworkFileSystem { path, .. }
            | Self::DiskFull { path }
            | Self::Replaced { path, .. }
            | Self::Forked { path, .. }
            | Self::Io { path, .. }
            | Self::Journal { path, .. } => Some(path),
            Self::BadRow { .. } | Self::BadRange { .. } => None,
        }
    }

    /// Converts an I/O error of the file at `path`.
    pub(crate) fn of_file(path: &Path, source: io::Error) -> Self {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path },
            io::ErrorKind::ReadOnlyFilesystem => Self::ReadOnly {
                path,
                message: source.to_string(),
            },
            io::ErrorKind::PermissionDenied => Self::Denied {
                path,
                message: source.to_string(),
            },
            _ => Self::Io { path, source },
        }
    }

    /// Converts an error of the journal at `path`.
    pub(crate) fn of_journal(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match &source {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::Utf8Error(..) => Self::Damaged {
                path,
                message: source.to_string(),
            },
            _ => match source.sqlite_error_code() {
                Some(ErrorCode::DiskFull) => Self::DiskFull { path },
                Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => Self::Damaged {
                    path,
                    message: source.to_string(),
                },
                Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied) => Self::ReadOnly {
                    path,
                    message: source.to_string(),
                },
                _ => Self::Journal { path, source },
            },
        }
    }

    /// Whether the journal must be reopened.
    pub(crate) fn is_io(&self) -> bool {
        matches!(self, Self::Journal { source, .. }
            if source.sqlite_error_code() == Some(ErrorCode::SystemIoFailure))
    }
}
