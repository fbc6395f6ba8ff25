//! Files that a user names: tokens, certificates and data files.

use std::fs::{self, FileType};
use std::io;
use std::path::Path;

/// Length of the plain file at `path`, in bytes; a link to a file counts as the file.
///
/// Anything else is refused before it is opened, because opening a pipe blocks and a device may have no end.
pub(crate) fn plain_length(path: &Path) -> io::Result<u64> {
    let found = fs::metadata(path)?;
    if found.is_file() {
        return Ok(found.len());
    }
    let message = format!("it is {}; allowed: a file", kind_name(found.file_type()));
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// What a path leads to, if that is no plain file.
pub(crate) fn kind_name(kind: FileType) -> &'static str {
    #[cfg(unix)]
    {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_fifo() {
            return "a named pipe";
        }
        if kind.is_socket() {
            return "a socket";
        }
        if kind.is_block_device() || kind.is_char_device() {
            return "a device";
        }
    }
    if kind.is_dir() {
        "a folder"
    } else {
        "no plain file"
    }
}
