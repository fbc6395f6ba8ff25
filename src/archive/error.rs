//! What can go wrong with an archive.

use std::io;
use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Why an archive could not do what was asked.
///
/// The message says what to do about it where there is something to be done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// Another process writes to the archive.
    #[error("{} is being written by {holder}; a reader may open it all the same", path.display())]
    Locked {
        /// The archive.
        path: PathBuf,
        /// The process that writes, where the lock file says so.
        pid: Option<u32>,
        /// The process and since when, in words.
        holder: String,
    },
    /// There is no archive of ours at the path.
    #[error("{} is not an archive: {message}", path.display())]
    NotAnArchive {
        /// Where an archive was expected.
        path: PathBuf,
        /// What is there instead.
        message: String,
    },
    /// The archive has another format version than the one this build reads.
    #[error("{} has archive format {version}; this build reads format {known}: export its rows with the liqdata that \
             wrote it, then ingest them into a new archive", path.display())]
    OtherVersion {
        /// The journal.
        path: PathBuf,
        /// The format version of the archive.
        version: i32,
        /// The format version that this build reads.
        known: i32,
    },
    /// A file of the archive is not what was written.
    #[error("{} is damaged: {message}", path.display())]
    Damaged {
        /// The damaged file.
        path: PathBuf,
        /// How it differs.
        message: String,
    },
    /// The archive cannot be written to, or not even be opened for reading without writing.
    #[error("{} cannot be written: {message}", path.display())]
    ReadOnly {
        /// The file or folder.
        path: PathBuf,
        /// What was refused, and a way out.
        message: String,
    },
    /// This process may not read or write a file as it would have to.
    #[error("{}: {message}; see who may read and write it", path.display())]
    Denied {
        /// The file or folder.
        path: PathBuf,
        /// What was denied.
        message: String,
    },
    /// The journal would lie on a network file system, where its locks and its shared memory do not hold.
    #[error("{} lies on a network file system ({kind}), where the journal is not safe; keep the archive on a local \
             disk (other engines may read its Parquet files from anywhere)", path.display())]
    NetworkFileSystem {
        /// The archive.
        path: PathBuf,
        /// The file system's type, such as `nfs4`.
        kind: String,
    },
    /// The disk is full. Nothing of the call was kept, everything acknowledged before it is; try again once there is
    /// space.
    #[error("no space is left for {}; nothing of this call was kept", path.display())]
    DiskFull {
        /// The file being written.
        path: PathBuf,
    },
    /// A row cannot be kept exactly as it is; nothing of the batch was kept.
    #[error("{table}: column {column:?}, row {row}: {message}")]
    BadRow {
        /// `orders`, `bars`, `open_interest`, `maps`, `gaps` or `runs`.
        table: &'static str,
        /// The column at fault.
        column: &'static str,
        /// The row at fault, counted from 0 in the batch.
        row: usize,
        /// What is wrong, with the value and what is allowed.
        message: String,
    },
    /// A read asks for something that cannot be answered.
    #[error("{parameter}: {message}")]
    BadRange {
        /// The parameter at fault.
        parameter: &'static str,
        /// What is wrong, with the value and what is allowed.
        message: String,
    },
    /// A file that is held open was deleted or replaced: what is written now might never be found again, another might
    /// write as well, and what is read is no longer the archive's. Nothing of the call was kept.
    #[error("{} was {what} since this process opened its archive: what it has open is no longer the archive's, and nothing \
             of this call was kept; open the archive again (a new liqdata.open, or the server or collector started anew)", path.display())]
    Replaced {
        /// The lock file or the journal.
        path: PathBuf,
        /// `deleted` or `replaced`.
        what: &'static str,
    },
    /// The archive was opened before this process was forked; open it again here.
    #[error("{} was opened in process {opened_by}, before a fork; open it again in this process", path.display())]
    Forked {
        /// The archive.
        path: PathBuf,
        /// The process that opened it.
        opened_by: u32,
    },
    /// A file could not be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// The journal failed in another way.
    #[error("{}: {source}", path.display())]
    Journal {
        /// The journal.
        path: PathBuf,
        /// The cause.
        source: rusqlite::Error,
    },
}

impl ArchiveError {
    /// The file or folder the error is about, where it is about one.
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

    /// The error that `source` means for `path`.
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

    /// The error that `source` means for the journal at `path`.
    pub(crate) fn of_journal(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match &source {
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::IntegralValueOutOfRange(..) => Self::Damaged {
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

    /// Whether the journal's file handle can no longer be trusted.
    pub(crate) fn is_io(&self) -> bool {
        matches!(self, Self::Journal { source, .. }
            if source.sqlite_error_code() == Some(ErrorCode::SystemIoFailure))
    }
}
