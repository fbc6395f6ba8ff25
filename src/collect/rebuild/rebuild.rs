//! Reading anew what was kept as it came: frames become rows once more, by the decoders of today, and where these differ from
//! the rows that are kept they take their place ([`Writer::supersede`](crate::archive::Writer::supersede)).
//!
//! A row is mended by the very frame that it was read from, which is known by when both were received. So nothing changes
//! that came in another way, or whose frame is kept no more.

use std::collections::BTreeMap;
use std::path::Path;

use crate::archive::{Archive, ArchiveError, RawFileEntry, RawLine, RawLines};
use crate::collect::plan::CollectError;
use crate::collect::quarantine::quarantine::QuarantinedOrders;
use crate::collect::rebuild::replay::Replay;
use crate::collect::rebuild::report::{ArchiveAccess, RebuildOptions, RebuildReport};
use crate::feeds::Venue;
use crate::model::Millis;

/// Lines between two looks whether to go on.
const LOOK: u64 = 1024;

/// Reads the frames that the archive in the folder `path` has kept once more, and lets its rows be told as they are read now.
/// `goes_on` is told how many bytes of frames have been read of how many, and says whether to go on; `None` where it did
/// not: the days that were done by then stay corrected.
///
/// Answers as of an instant before stay as they were. Done twice, the second time changes nothing.
///
/// # Errors
///
/// [`CollectError::Venue`] for a name that is none, [`CollectError::Archive`] where there is no archive, another writes to it
/// (unless nothing is to change), or it cannot be read or written.
pub fn rebuild(
    path: &Path,
    again: &RebuildOptions,
    goes_on: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Option<RebuildReport>, CollectError> {
    let mut chosen: Vec<&'static Venue> = Vec::new();
    for name in &again.venues {
        chosen.push(crate::feeds::venue(name)?);
    }
    // Nothing is made where there is nothing.
    let archive = Archive::read(path)?;
    let open = if again.dry_run {
        ArchiveAccess::Read(archive)
    } else {
        drop(archive);
        ArchiveAccess::Write(Archive::create_or_open(path)?)
    };
    let mut days: BTreeMap<Millis, Vec<RawFileEntry>> = BTreeMap::new();
    for part in open.archive().raw_files()? {
        let begins_late = again.end.is_some_and(|end| part.date >= end);
        let ends_early = again
            .start
            .is_some_and(|start| part.date.on(Millis::DAY) <= start);
        if !begins_late && !ends_early {
            days.entry(part.date).or_default().push(part);
        }
    }
    let all = days.values().flatten().map(|part| part.bytes).sum();
    let mut read = 0;
    let quarantined = QuarantinedOrders::read(path, usize::MAX);
    let mut reread = Replay::new(open, quarantined, again, &chosen);
    for link in reread.archive().raw_links()? {
        let fault = "it is a link, which is not followed: what lies behind it corrects nothing";
        let path = link.display().to_string();
        reread.done.damaged.push((path, fault.to_owned()));
    }
    for (day, parts) in days {
        reread.begin_day(day)?;
        if !of_day(&mut reread, parts, &mut read, &mut |read| {
            goes_on(read, all)
        })? {
            return Ok(None);
        }
        // What came late is of a day before as a rule.
        reread.settle(Some(day))?;
    }
    reread.settle(None)?;
    Ok(goes_on(read, all).then_some(reread.done))
}

/// The lines of one exchange, file after file.
struct FrameStream {
    parts: std::vec::IntoIter<RawFileEntry>,
    open: Option<(RawFileEntry, RawLines)>,
    next: Option<RawLine>,
}

/// Reads the files of a day, of all exchanges in the order of time; gives whether it came to the end.
fn of_day(
    reread: &mut Replay,
    parts: Vec<RawFileEntry>,
    read: &mut u64,
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, CollectError> {
    let mut apart: BTreeMap<String, Vec<RawFileEntry>> = BTreeMap::new();
    for part in parts {
        apart.entry(part.exchange.clone()).or_default().push(part);
    }
    let mut streams = Vec::with_capacity(apart.len());
    for parts in apart.into_values() {
        let mut stream = FrameStream {
            parts: parts.into_iter(),
            open: None,
            next: None,
        };
        if !advance(&mut stream, reread, read, goes_on)? {
            return Ok(false);
        }
        streams.push(stream);
    }
    let mut lines: u64 = 0;
    loop {
        let first = streams
            .iter_mut()
            .filter(|stream| stream.next.is_some())
            .min_by_key(|stream| stream.next.as_ref().map(|line| line.received_at));
        let Some(stream) = first else {
            return Ok(true);
        };
        if lines.is_multiple_of(LOOK) && !goes_on(*read) {
            return Ok(false);
        }
        lines += 1;
        if let Some(line) = stream.next.take() {
            reread.line(line)?;
        }
        if !advance(stream, reread, read, goes_on)? {
            return Ok(false);
        }
    }
}

/// Reads the next line of an exchange; gives whether to go on.
fn advance(
    stream: &mut FrameStream,
    reread: &mut Replay,
    read: &mut u64,
    goes_on: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, ArchiveError> {
    loop {
        if let Some((part, lines)) = &mut stream.open {
            let mut left_out: u64 = 0;
            let mut is_stopped = false;
            let mut looks = || {
                is_stopped = is_stopped || !goes_on(*read);
                !is_stopped
            };
            while let Some(line) = lines.next_while(&mut looks) {
                // The end of a file that was cut short has no checksum, so that nothing says that it is as it was written.
                if lines.is_cut() {
                    left_out += 1;
                    continue;
                }
                stream.next = Some(line);
                return Ok(true);
            }
            if is_stopped {
                return Ok(false);
            }
            let cut = lines.is_cut().then(|| {
                format!("it ends in the middle: what is there of its end ({left_out} whole frames) has no checksum and corrects nothing")
            });
            if let Some(fault) = lines.fault().map(str::to_owned).or(cut) {
                let path = part.path.display().to_string();
                reread.done.damaged.push((path, fault));
            }
            if lines.is_cut() || lines.fault().is_some() {
                // What else came at the instant of its last line is not known.
                reread.forget_last(&part.exchange);
            }
            *read += part.bytes;
            stream.open = None;
        }
        let Some(part) = stream.parts.next() else {
            return Ok(true);
        };
        if !goes_on(*read) {
            return Ok(false);
        }
        let lines = reread.archive().raw_lines(&part)?;
        stream.open = Some((part, lines));
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::archive::{Filter, RawLineKind};
    use crate::collect::RebuildCounts;
    use crate::collect::rebuild::rebuild::*;

    const NOW: i64 = 1_790_000_000_900;

    /// An order of Binance with this quantity, in a frame that was received at an instant.
    fn line(received_at: i64, quantity: u32) -> RawLine {
        let frame = serde_json::json!({"e": "forceOrder", "E": NOW, "o": {
            "s": "SOLUSDT", "S": "SELL", "o": "LIMIT", "f": "IOC", "q": quantity.to_string(), "p": "170.1",
            "ap": "171.3", "X": "FILLED", "l": quantity.to_string(), "z": quantity.to_string(), "T": NOW - 100,
            "ps": "SOLUSDT", "st": 1,
        }});
        RawLine {
            frame: frame.to_string(),
            ..RawLine::new("binance", Millis(received_at), RawLineKind::Socket)
        }
    }

    /// Several sockets hand over what they hear each by itself.
    #[test]
    fn frames_of_two_instants_that_lie_among_each_other_are_all_read() {
        let folder = std::env::temp_dir().join(format!("liqdata-among-{}", std::process::id()));
        let lines = [(NOW, 1), (NOW + 1, 2), (NOW, 3), (NOW + 1, 4), (NOW, 5)];
        let read = || {
            let open = ArchiveAccess::Write(Archive::create_or_open(&folder).unwrap());
            let mut reread = Replay::new(
                open,
                QuarantinedOrders::read(&folder, usize::MAX),
                &RebuildOptions::default(),
                &[],
            );
            for (received_at, quantity) in lines {
                reread.line(line(received_at, quantity)).unwrap();
            }
            reread.settle(None).unwrap();
            *reread.done.of("binance")
        };
        let frames = 5;
        let new = RebuildCounts {
            frames,
            new: 5,
            ..RebuildCounts::default()
        };
        assert_eq!(read(), new);
        let same = RebuildCounts {
            frames,
            same: 5,
            ..RebuildCounts::default()
        };
        assert_eq!(read(), same);
        let rows = Archive::read(&folder).unwrap().orders(&Filter::default());
        assert_eq!(rows.unwrap().rows.len(), 5);
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
