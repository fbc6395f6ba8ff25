//! Errors of an archive.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Error of an operation on an archive.
///
/// The message suggests a remedy where there is one.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Another process has the archive open for writing.
    #[error("{} is being written by {holder}; open it for reading instead", path.display())]
    Locked {
        /// Folder of the archive.
        path: PathBuf,
        /// The writing process, if the lock file names it.
        pid: Option<u32>,
        /// Description of the writing process and of the time at which it locked the archive.
        holder: String,
    },
    /// The path does not contain an archive.
    #[error("{} is not an archive: {message}", path.display())]
    NotAnArchive {
        /// The path that was to be opened.
        path: PathBuf,
        /// What the path contains instead of an archive.
        message: String,
    },
    /// The archive has another format version than this build reads.
    #[error("{} has archive format {version}; this build reads format {known}: {}", path.display(), if version > known {
        "use the liqdata version that wrote it, or a later one"
    } else {
        "open it once for writing to migrate it, such as by `liqdata verify DIR --repair`"
    })]
    OtherVersion {
        /// Path of the journal.
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
        /// Path of the file or folder.
        path: PathBuf,
        /// Why it cannot be written, and a remedy.
        message: String,
    },
    /// This process lacks a permission.
    #[error("{}: {message}; check its permissions", path.display())]
    Denied {
        /// Path of the file or folder.
        path: PathBuf,
        /// The operation that was denied, or the system's error message.
        message: String,
    },
    /// The archive is on a network file system, where locks and shared memory are unreliable.
    #[error("{} lies on a network file system ({kind}), where the journal is not safe; keep the archive on a local \
             disk (other engines may read its Parquet files from anywhere)", path.display())]
    NetworkFileSystem {
        /// Folder of the archive.
        path: PathBuf,
        /// Type of the file system, such as `nfs4`.
        kind: String,
    },
    /// The disk is full. The failed call has stored nothing; earlier commits are safe.
    #[error("no space is left for {}; this call stored nothing", path.display())]
    DiskFull {
        /// Path of the file that was being written.
        path: PathBuf,
    },
    /// A row cannot be stored exactly. No row of the batch was stored.
    #[error("{table}: column {column:?}, row {row}: {message}")]
    BadRow {
        /// Table of the row: `orders`, `bars`, `open_interest`, `maps`, `positions`, `totals`, `gaps` or another table.
        table: &'static str,
        /// Name of the column with the invalid value.
        column: &'static str,
        /// Position of the row in the batch, from 0.
        row: usize,
        /// Description of the fault: the value and the allowed range.
        message: String,
    },
    /// A parameter of the call is invalid.
    #[error("{parameter}: {message}")]
    BadRange {
        /// Name of the parameter.
        parameter: &'static str,
        /// Description of the fault: the value and the allowed range.
        message: String,
    },
    /// The lock file or the journal was deleted or replaced since it was opened.
    ///
    /// The failed call has stored nothing.
    #[error("{} was {what} since this process opened its archive: the open files no longer belong to the archive, and \
             this call stored nothing; open the archive again (a new liqdata.open, or a new server or collector)", path.display())]
    Replaced {
        /// Path of the lock file or the journal.
        path: PathBuf,
        /// What happened to the file: `deleted` or `replaced`.
        what: &'static str,
    },
    /// The archive was opened before a fork, and this process is the forked child.
    #[error("{} was opened in process {opened_by}, before a fork; open it again in this process", path.display())]
    Forked {
        /// Folder of the archive.
        path: PathBuf,
        /// Id of the process that opened the archive.
        opened_by: u32,
    },
    /// A file cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// Path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// `SQLite` reported an error of the journal that no other variant describes.
    #[error("{}: {source}", path.display())]
    Journal {
        /// Path of the journal.
        path: PathBuf,
        /// The error of `SQLite`.
        source: rusqlite::Error,
    },
}

impl ArchiveError {
    /// Path of the file or folder that the error concerns, if any.
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

    /// Converts an I/O error for the file at `path` into the variant that describes it.
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

    /// Converts a `SQLite` error for the journal at `path` into the variant that describes it.
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

    /// Whether the error is an I/O error of the journal.
    ///
    /// After such an error the writer must reopen the journal.
    pub(crate) fn is_io(&self) -> bool {
        matches!(self, Self::Journal { source, .. }
            if source.sqlite_error_code() == Some(ErrorCode::SystemIoFailure))
    }
}
