//! A cache of ledgers in the folder `ledger` of an archive.
//!
//! Anyone may delete the files. A file is named after its ledger and the instant of its state. It starts with a digest of
//! the rows that the state depends on.

use std::fs;
use std::path::{Path, PathBuf};

use rusqlite::Connection;
use sha2::{Digest, Sha256};

use crate::model::Millis;

/// The folder of the cache.
const FOLDER: &str = "ledger";

/// Length of the digest at the start of a file, in bytes.
const DIGEST: usize = 32;

/// A digest of the stored rows of a coin before `until`.
pub(crate) type RowDigest = [u8; DIGEST];

/// Digest of the segments with bars, open interest and orders before `until`.
///
/// `None` if such rows of the coin are still in the journal.
pub(crate) fn digest(
    journal: &Connection,
    coin: &str,
    until: Millis,
) -> rusqlite::Result<Option<RowDigest>> {
    for (table, column) in [
        ("bars", "symbol"),
        ("open_interest", "symbol"),
        ("orders", "coin"),
    ] {
        let mut found = journal.prepare_cached(&format!(
            "SELECT 1 FROM {table} WHERE timestamp < ?1 AND {column} = ?2 LIMIT 1"
        ))?;
        if found.exists((until.0, coin))? {
            return Ok(None);
        }
    }
    let mut digest = Sha256::new();
    let mut segments = journal.prepare_cached(
        "SELECT path, sha256, state FROM manifest
         WHERE holds IN ('bars', 'open_interest', 'orders') AND first < ?1 ORDER BY path",
    )?;
    let mut rows = segments.query([until.0])?;
    while let Some(row) = rows.next()? {
        for column in 0..3 {
            let text: String = row.get(column)?;
            digest.update(text.len().to_le_bytes());
            digest.update(text);
        }
    }
    let undone = "SELECT count(*) FROM ingests WHERE undone IS NOT NULL";
    let undone: i64 = journal.query_row(undone, [], |row| row.get(0))?;
    digest.update(undone.to_le_bytes());
    Ok(Some(digest.finalize().into()))
}

fn path_of(base: &Path, name: &str, at: Millis) -> PathBuf {
    base.join(FOLDER).join(format!("{name}-{}.ledger", at.0))
}

/// The instants of the stored states of a ledger, the latest first.
pub(crate) fn instants(base: &Path, name: &str) -> Vec<Millis> {
    let Ok(entries) = fs::read_dir(base.join(FOLDER)) else {
        return Vec::new();
    };
    let mut instants: Vec<Millis> = entries
        .filter_map(|entry| {
            let file = entry.ok()?.file_name();
            let at = file.to_str()?.strip_prefix(name)?.strip_prefix('-')?;
            at.strip_suffix(".ledger")?.parse().ok().map(Millis)
        })
        .collect();
    instants.sort_unstable_by(|one, other| other.cmp(one));
    instants
}

/// The stored state of a ledger at an instant, if it depends on these rows.
pub(crate) fn read(base: &Path, name: &str, at: Millis, rows: &RowDigest) -> Option<Vec<u8>> {
    let mut bytes = fs::read(path_of(base, name, at)).ok()?;
    if bytes.get(..DIGEST)? != rows {
        return None;
    }
    Some(bytes.split_off(DIGEST))
}

/// Stores the state of a ledger at an instant.
pub(crate) fn write(
    base: &Path,
    name: &str,
    at: Millis,
    rows: &RowDigest,
    state: &[u8],
) -> std::io::Result<()> {
    let path = path_of(base, name, at);
    fs::create_dir_all(base.join(FOLDER))?;
    let unfinished = path.with_extension(format!("{:016x}", fastrand::u64(..)));
    fs::write(&unfinished, [rows.as_slice(), state].concat())?;
    fs::rename(&unfinished, &path).inspect_err(|_| {
        let _ = fs::remove_file(&unfinished);
    })
}
