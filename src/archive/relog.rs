//! Putting the journal's log right before `SQLite` reads it, where something in its middle is not as it was written: all that
//! lies behind that would be taken for never written.
//!
//! The checksum of a frame goes on from that of the frame before it, so that each of them can be told from its neighbours
//! whether it is as it was written. A page in a frame that is not is kept where the frame names a page that there may be: what
//! of it is not as it was written is found by the checksums of lines, and by what they are held against, as it is in the
//! journal. A frame that names none is left out. In the new log each checksum is made anew.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;

use rusqlite::{Connection, OpenFlags};

use super::ahead::{FRAME, HEADER, sums, word};
use super::{ArchiveError, files, journal};
use crate::model::Millis;

/// The running sums of a log.
type Sums = (u32, u32);

/// What the first words of a log say, but for its order of bytes.
const MAGIC: u32 = 0x377F_0682;
/// The version of a log's format.
const FORMAT: u32 = 3_007_000;

/// What the names of a database and of what lies beside it end with.
const BESIDE: [&str; 3] = ["", "-wal", "-shm"];

/// A page as it lies in a log.
struct Framed<'a> {
    number: u32,
    /// The pages that the database has then, of a frame that ends a transaction; else 0.
    size: u32,
    page: &'a [u8],
    is_sound: bool,
}

/// Puts the log of the journal in `folder` right; where something of it had to be left out, gives the last instant that is known
/// from before the log.
///
/// # Errors
///
/// [`ArchiveError::Io`] where a file cannot be read or written, and where somebody else has the journal open: what they have read
/// of its log would change under them.
pub(super) fn put_right(folder: &Path) -> Result<Option<Millis>, ArchiveError> {
    let journal = folder.join(journal::FILE);
    let log = journal::beside(&journal, "-wal");
    // A pipe would be waited for.
    files::refuse_other_than_file(&journal)?;
    let alone = Alone::with(folder)?;
    let bytes = fs::read(&log).map_err(|source| ArchiveError::of_file(&log, source))?;
    let size = page_size(&journal)?;
    let Some((whole, is_left_out)) = anew(&bytes, size) else {
        return before(&journal).map(Some);
    };
    let since = is_left_out.then(|| before(&journal)).transpose()?;
    let new = folder.join("journal.sqlite-new");
    clear(&new)?;
    // What lies there now is ours: no link is followed.
    let written = File::create_new(&new).and_then(|mut file| {
        file.write_all(&whole)?;
        file.sync_all()?;
        fs::rename(&new, &log)
    });
    written.map_err(|source| ArchiveError::of_file(&new, source))?;
    files::sync_folder(folder)?;
    drop(alone);
    Ok(since)
}

/// The last instant that a journal tells of without its log: of an order, a bar or a reading, or of somebody who listened.
fn before(journal: &Path) -> Result<Millis, ArchiveError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY
        | OpenFlags::SQLITE_OPEN_NO_MUTEX
        | OpenFlags::SQLITE_OPEN_URI;
    let known = Connection::open_with_flags(journal::immutable(journal), flags)
        .map_err(|source| ArchiveError::of_journal(journal, source))?;
    let newest = |query: &str| -> i64 {
        // The tables may be in the log alone.
        known.query_row(query, [], |line| line.get(0)).unwrap_or(0)
    };
    let told = newest("SELECT coalesce(max(value), 0) FROM state WHERE name = 'newest'");
    Ok(Millis(
        told.max(newest("SELECT coalesce(max(seen), 0) FROM runs")),
    ))
}

/// Takes a file away, where one lies there.
fn clear(path: &Path) -> Result<(), ArchiveError> {
    match fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => {
            Err(ArchiveError::of_file(path, source))
        }
        _ => Ok(()),
    }
}

/// The bytes of a page: a word of the database's own header says.
fn page_size(journal: &Path) -> Result<usize, ArchiveError> {
    let mut head = [0; 18];
    File::open(journal)
        .and_then(|mut file| file.read_exact(&mut head))
        .map_err(|source| ArchiveError::of_file(journal, source))?;
    let [.., one, two] = head;
    Ok(match u16::from_be_bytes([one, two]) {
        1 => 1 << 16,
        size => usize::from(size),
    })
}

/// The log written anew, and whether something was left out; `None` of what is no log.
fn anew(log: &[u8], page: usize) -> Option<(Vec<u8>, bool)> {
    let head = log.get(..HEADER)?;
    let frame = FRAME + page;
    let said = (word(head, 0)?, word(head, 16)?, word(head, 20)?);
    let is_big = said.0 & 1 == 1;
    let begin = sums(head.get(..24)?, is_big, (0, 0));
    let is_sound = said.0 & !1 == MAGIC && begin == (word(head, 24)?, word(head, 28)?);
    let frames: Vec<&[u8]> = log.get(HEADER..)?.chunks_exact(frame).collect();
    let (is_big, salts, begin) = if is_sound {
        (is_big, (said.1, said.2), Some(begin))
    } else {
        let salts = salts_of(&frames)?;
        (order_of(&frames), salts, None)
    };
    let found = belonging(&frames, is_big, salts, begin)?;
    let most =
        |of: &dyn Fn(&Framed<'_>) -> u32| found.iter().filter(|one| one.is_sound).map(of).max();
    let last = most(&|one| one.number.max(one.size)).unwrap_or(0);
    let ends = found.iter().rposition(|one| one.is_sound && one.size > 0);

    let mut whole = Vec::with_capacity(log.len());
    for number in [
        MAGIC | u32::from(is_big),
        FORMAT,
        u32::try_from(page).ok()?,
        0,
        salts.0,
        salts.1,
    ] {
        whole.extend(number.to_be_bytes());
    }
    let mut sum = sums(&whole, is_big, (0, 0));
    whole.extend(sum.0.to_be_bytes());
    whole.extend(sum.1.to_be_bytes());
    let mut is_left_out = false;
    for (place, one) in found.iter().enumerate() {
        if !one.is_sound && !(1..=last).contains(&one.number) {
            is_left_out = true;
            continue;
        }
        // A frame that is not as it was written ends nothing: what it ended ends with the next.
        let is_doubtful =
            !one.is_sound && (ends.is_some_and(|end| place < end) || one.size != last);
        let size = if is_doubtful { 0 } else { one.size };
        let mut start = [0; 8];
        let (number, rest) = start.split_at_mut(4);
        number.copy_from_slice(&one.number.to_be_bytes());
        rest.copy_from_slice(&size.to_be_bytes());
        sum = sums(one.page, is_big, sums(&start, is_big, sum));
        whole.extend(start);
        for number in [salts.0, salts.1, sum.0, sum.1] {
            whole.extend(number.to_be_bytes());
        }
        whole.extend(one.page);
    }
    Some((whole, is_left_out))
}

/// The frames of this log: behind them may be some of the one before it, which has other salts.
fn belonging<'a>(
    frames: &[&'a [u8]],
    is_big: bool,
    salts: (u32, u32),
    begin: Option<Sums>,
) -> Option<Vec<Framed<'a>>> {
    let mut found: Vec<Framed<'a>> = Vec::new();
    // What the next one goes on from: what stands in the one before, and what should.
    let mut before: [Option<Sums>; 2] = [begin, None];
    let mut is_next = true;
    for bytes in frames {
        let (start, page) = (bytes.get(..8)?, bytes.get(FRAME..)?);
        let stands = (word(bytes, 16)?, word(bytes, 20)?);
        let after = |sum: Sums| sums(page, is_big, sums(start, is_big, sum));
        let made = before.map(|sum| sum.map(after));
        let is_sound = made.contains(&Some(stands));
        let is_ours = (word(bytes, 8)?, word(bytes, 12)?) == salts;
        if is_ours || is_sound && is_next {
            // The one before is as it was written, but for its checksum.
            if made[0] != Some(stands)
                && made[1] == Some(stands)
                && let Some(one) = found.last_mut()
            {
                one.is_sound = true;
            }
            found.push(Framed {
                number: word(start, 0)?,
                size: word(start, 4)?,
                page,
                is_sound,
            });
            is_next = true;
        } else {
            is_next = false;
        }
        before = [Some(stands), made[0].or(made[1])];
    }
    Some(found)
}

/// The salts of a log whose header does not tell them: those of its first frames.
fn salts_of(frames: &[&[u8]]) -> Option<(u32, u32)> {
    let of = |place: usize| {
        let bytes = frames.get(place)?;
        Some((word(bytes, 8)?, word(bytes, 12)?))
    };
    let first = of(0)?;
    Some(match (of(1), of(2)) {
        (Some(second), Some(third)) if second == third => second,
        _ => first,
    })
}

/// Whether the words of a log whose header does not tell it are in the order of big-endian machines.
fn order_of(frames: &[&[u8]]) -> bool {
    frames.windows(2).any(|pair| {
        let [one, other] = pair else { return false };
        let goes_on = || -> Option<bool> {
            let from = (word(one, 16)?, word(one, 20)?);
            let sum = sums(other.get(FRAME..)?, true, sums(other.get(..8)?, true, from));
            Some(sum == (word(other, 16)?, word(other, 20)?))
        };
        goes_on().unwrap_or(false)
    })
}

/// Nobody else has the journal open while this lives. Under another name of the same file its log is not looked at, and its locks
/// are the same.
struct Alone {
    _handle: Connection,
    name: std::path::PathBuf,
}

impl Alone {
    fn with(folder: &Path) -> Result<Self, ArchiveError> {
        let name = folder.join("journal.sqlite-alone");
        let fault = |source| ArchiveError::of_file(&name, source);
        // What somebody else left beside the name would be taken for its log.
        for end in BESIDE {
            clear(&journal::beside(&name, end))?;
        }
        fs::hard_link(folder.join(journal::FILE), &name).map_err(fault)?;
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let opened = Connection::open_with_flags(&name, flags).and_then(|handle| {
            handle.query_row("PRAGMA locking_mode = EXCLUSIVE", [], |_| Ok(()))?;
            handle.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
            Ok(handle)
        });
        match opened {
            Ok(handle) => Ok(Self {
                _handle: handle,
                name,
            }),
            Err(source) => {
                remove(&name);
                if source.sqlite_error_code() != Some(rusqlite::ErrorCode::DatabaseBusy) {
                    return Err(ArchiveError::of_journal(
                        &folder.join(journal::FILE),
                        source,
                    ));
                }
                let message = "its log is damaged, and is put right before anything is written; that needs everybody else \
                               who has the archive open to close it first";
                Err(ArchiveError::Io {
                    path: folder.join(journal::FILE),
                    source: std::io::Error::new(std::io::ErrorKind::ResourceBusy, message),
                })
            }
        }
    }
}

impl Drop for Alone {
    fn drop(&mut self) {
        remove(&self.name);
    }
}

/// Takes the other name away, and what lies beside it.
fn remove(name: &Path) {
    for end in BESIDE {
        // What stays is taken away the next time.
        let _ = fs::remove_file(journal::beside(name, end));
    }
}
