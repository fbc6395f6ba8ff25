//! The journal's write-ahead log, as it lies on the disk: whether something was lost in its middle.
//!
//! `SQLite` takes a log up to its first frame that does not check, and what lies behind that for the rest of a transaction
//! that was never finished. One transaction may be that. Where two or more were ended behind it, all but the last had been
//! synced: then the log is damaged, and what was acknowledged would be lost without a word.

use std::fs;
use std::path::Path;

use crate::archive::{ArchiveError, files};

const HEADER: usize = 32;
const FRAME: usize = 24;

/// What is wrong with the log at `path`, if anything is; there is none where the journal was closed.
pub(crate) fn fault(path: &Path) -> Result<Option<String>, ArchiveError> {
    let first = look(path)?;
    if first.is_none() {
        return Ok(None);
    }
    // A log that began anew while it was read is half the old and half the new; damage is there the second time, too.
    Ok(look(path)?.filter(|second| first.as_ref() == Some(second)))
}

fn look(path: &Path) -> Result<Option<String>, ArchiveError> {
    // A pipe would be waited for.
    files::refuse_other_than_file(path)?;
    match fs::read(path) {
        Ok(log) => Ok(fault_in(&log)),
        Err(source) if source.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(ArchiveError::of_file(path, source)),
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

/// The two running sums of a log over `bytes`, whose words are in the order that the log's first word says.
fn sums(bytes: &[u8], big: bool, from: (u32, u32)) -> (u32, u32) {
    let (mut one, mut two) = from;
    for [first, second] in bytes.as_chunks::<4>().0.as_chunks::<2>().0 {
        let read = |four: &[u8; 4]| {
            if big {
                u32::from_be_bytes(*four)
            } else {
                u32::from_le_bytes(*four)
            }
        };
        one = one.wrapping_add(read(first)).wrapping_add(two);
        two = two.wrapping_add(read(second)).wrapping_add(one);
    }
    (one, two)
}

fn fault_in(log: &[u8]) -> Option<String> {
    let head = log.get(..HEADER)?;
    let big = word(head, 0)? & 1 == 1;
    let salts = (word(head, 16)?, word(head, 20)?);
    let page = usize::try_from(word(head, 8)?).ok()?;
    let frame = FRAME + page;
    let salts_of = |at: usize| Some((word(log, at + 8)?, word(log, at + 12)?));
    let mut sum = sums(head.get(..24)?, big, (0, 0));
    let magic = word(head, 0)? & !1 == 0x377F_0682;
    if !magic || sum != (word(head, 24)?, word(head, 28)?) {
        // A log that begins anew counts its first salt up, and its old frames count no more.
        let (first, _) = salts_of(HEADER)?;
        return (salts.0 != first.wrapping_add(1))
            .then(|| "the first 32 bytes of its log are not as they were written".to_owned());
    }
    let mut at = HEADER;
    let mut checked = 0_usize;
    while let Some(bytes) = log.get(at..at + frame) {
        sum = sums(bytes.get(..8)?, big, sum);
        sum = sums(bytes.get(FRAME..)?, big, sum);
        if salts_of(at)? != salts || sum != (word(bytes, 16)?, word(bytes, 20)?) {
            break;
        }
        at += frame;
        checked += 1;
    }
    let behind = (at..log.len().saturating_sub(frame - 1))
        .step_by(frame)
        .filter(|at| salts_of(*at) == Some(salts) && word(log, at + 4).is_some_and(|size| size > 0))
        .count();
    (behind >= 2).then(|| {
        format!(
            "frame {} of its log is not as it was written, and {behind} transactions behind it would be lost",
            checked + 1
        )
    })
}
