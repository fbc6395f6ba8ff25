//! Checks of single segments by file type, length and checksum.

use std::fs::{self, File};
use std::path::Path;

use bytes::Bytes;

use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::SegmentEntry;
use crate::archive::files::Identity;
use crate::archive::store::damage_state::Stamp;
use crate::archive::store::store::Store;
use crate::archive::{ArchiveError, files};

/// Reason of a gap left by a damaged file.
pub(crate) const DAMAGED: &str = "damaged file";

/// Returns the fault of a segment, if any.
///
/// Computes the checksum only if the file has changed since it was found sound.
pub(crate) fn fault_of(store: &Store, part: &SegmentEntry) -> Result<Option<String>, ArchiveError> {
    let stamp = stamp_of(store, part);
    let known = stamp.is_some() && store.known(&part.path) == stamp;
    if known {
        return Ok(None);
    }
    fault_now(store, part)
}

/// Computes the checksum of a segment; returns its fault, if any.
pub(crate) fn fault_now(
    store: &Store,
    part: &SegmentEntry,
) -> Result<Option<String>, ArchiveError> {
    fault_while(store, part, &mut || true)
}

/// As [`fault_now`].
///
/// Calls `goes_on` after each mebibyte and returns an error if it returns false.
pub(crate) fn fault_while(
    store: &Store,
    part: &SegmentEntry,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<Option<String>, ArchiveError> {
    let path = store.folder.join(&part.path);
    let before = stamp_of(store, part);
    let fault = manifest::fault_of(&store.folder, part, goes_on)
        .map_err(|source| ArchiveError::of_file(&path, source))?;
    store.learn(&part.path, before.filter(|_| fault.is_none()));
    Ok(fault)
}

/// Opens a segment; returns the fault if the file is missing.
///
/// A missing permission is not a fault of the file but an error.
pub(crate) fn file(
    store: &Store,
    part: &SegmentEntry,
) -> Result<Result<File, String>, ArchiveError> {
    let path = store.folder.join(&part.path);
    match files::at_segment(&store.folder, &part.path, |path| File::open(path)) {
        Ok(file) => Ok(Ok(file)),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            Ok(Err(manifest::MISSING.to_owned()))
        }
        Err(source) => Err(ArchiveError::of_file(&path, source)),
    }
}

/// Opens a segment that was found sound before.
///
/// Reads and checks any other segment completely. Returns the fault if the segment is damaged.
pub(crate) fn sound(
    store: &Store,
    part: &SegmentEntry,
) -> Result<Result<SoundFile, String>, ArchiveError> {
    let path = store.folder.join(&part.path);
    let now = stamp_of(store, part);
    if now.is_some() && store.known(&part.path) == now {
        let fault = manifest::fault_at(&store.folder, part)
            .map_err(|source| ArchiveError::of_file(&path, source))?;
        if fault.is_none() {
            return Ok(file(store, part)?.map(SoundFile::File));
        }
    }
    Ok(sound_bytes(store, part)?.map(SoundFile::Bytes))
}

/// Reads the bytes of a segment and verifies their checksum.
///
/// Returns the fault if they are damaged.
pub(crate) fn sound_bytes(
    store: &Store,
    part: &SegmentEntry,
) -> Result<Result<Bytes, String>, ArchiveError> {
    let path = store.folder.join(&part.path);
    let before = stamp_of(store, part);
    if let Some(fault) = manifest::fault_at(&store.folder, part)
        .map_err(|source| ArchiveError::of_file(&path, source))?
    {
        store.learn(&part.path, None);
        return Ok(Err(fault));
    }
    let bytes = match files::at_segment(&store.folder, &part.path, |path| fs::read(path)) {
        Ok(bytes) => bytes,
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => {
            store.learn(&part.path, None);
            return Ok(Err(manifest::MISSING.to_owned()));
        }
        Err(source) => return Err(ArchiveError::of_file(&path, source)),
    };
    if before.is_some() && store.known(&part.path) == before {
        return Ok(Ok(bytes.into()));
    }
    let fault = manifest::fault_in(&bytes, part);
    store.learn(&part.path, before.filter(|_| fault.is_none()));
    Ok(fault.map_or_else(|| Ok(bytes.into()), Err))
}

pub(crate) fn all_sound(store: &Store, parts: &[SegmentEntry]) -> Result<bool, ArchiveError> {
    for part in parts {
        if fault_of(store, part)?.is_some() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Size and modification time of a segment's file; `None` if it is missing.
fn stamp_of(store: &Store, part: &SegmentEntry) -> Option<Stamp> {
    let found = files::at_segment(&store.folder, &part.path, |path| fs::metadata(path)).ok()?;
    Some((found.len(), found.modified().ok()))
}

pub(crate) fn stamp(path: &Path) -> Option<Stamp> {
    look_at(path).map(|(stamp, _)| stamp)
}

/// Size, modification time and identity of a file.
pub(crate) fn look_at(path: &Path) -> Option<(Stamp, Identity)> {
    let found = fs::metadata(path).ok()?;
    let stamp = (found.len(), found.modified().ok());
    Some((stamp, files::identity(&found)))
}

/// A sound segment.
pub(crate) enum SoundFile {
    /// The open file, unchanged since its checksum was verified. It may be read in parts.
    File(File),
    /// All bytes of the file, with a verified checksum.
    Bytes(Bytes),
}
