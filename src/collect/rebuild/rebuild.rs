//! Rebuild: decodes the raw frames of an archive again, and supersedes stored rows that differ.
//!
//! A row is corrected only by the frame that it was decoded from, which has the same receipt time. Rows from other
//! sources, and rows without a stored frame, do not change. See
//! [`Writer::supersede`](crate::archive::Writer::supersede).

use std::collections::BTreeMap;
use std::path::Path;

use crate::archive::{Archive, ArchiveError, RawFileEntry, RawLine, RawLines};
use crate::collect::quarantine::quarantine::QuarantinedOrders;
use crate::collect::rebuild::replay::Replay;
use crate::collect::rebuild::report::{ArchiveAccess, RebuildOptions, RebuildReport};
use crate::collect::settings::plan::CollectError;
use crate::feeds::Venue;
use crate::model::Millis;

/// Number of lines between two calls of the progress function.
const PROGRESS_EVERY: u64 = 1024;

/// Decodes the raw frames of the archive in the folder `path` again, and corrects rows that differ.
///
/// `should_continue` is called with the bytes read so far and the total number of bytes; it returns whether to continue. If it
/// returns false, the result is `None`, and finished days stay corrected. Queries as of an earlier instant still return
/// the old rows. A second rebuild changes nothing.
///
/// # Errors
///
/// [`CollectError::Venue`] for an unknown exchange; [`CollectError::Archive`] if there is no archive, another process
/// writes to it (unless this is a dry run), or it cannot be read or written.
pub fn rebuild(
    path: &Path,
    options: &RebuildOptions,
    should_continue: &mut dyn FnMut(u64, u64) -> bool,
) -> Result<Option<RebuildReport>, CollectError> {
    let mut chosen: Vec<&'static Venue> = Vec::new();
    for name in &options.venues {
        chosen.push(crate::feeds::venue(name)?);
    }
    // Fails if there is no archive, so that none is created.
    let archive = Archive::read(path)?;
    let open = if options.dry_run {
        ArchiveAccess::Read(archive)
    } else {
        drop(archive);
        ArchiveAccess::Write(Archive::create_or_open(path)?)
    };
    let mut days: BTreeMap<Millis, Vec<RawFileEntry>> = BTreeMap::new();
    for part in open.archive().raw().files()? {
        let begins_late = options.end.is_some_and(|end| part.date >= end);
        let ends_early = options
            .start
            .is_some_and(|start| part.date.on(Millis::DAY) <= start);
        if !begins_late && !ends_early {
            days.entry(part.date).or_default().push(part);
        }
    }
    let all = days.values().flatten().map(|part| part.bytes).sum();
    let mut read = 0;
    let quarantined = QuarantinedOrders::read(path, usize::MAX);
    let mut replay = Replay::new(open, quarantined, options, &chosen);
    for link in replay.archive().raw().links()? {
        let fault = "it is a link, which is not followed";
        let path = link.display().to_string();
        replay.report.damaged.push((path, fault.to_owned()));
    }
    for (day, parts) in days {
        replay.begin_day(day)?;
        if !replay_day(&mut replay, parts, &mut read, &mut |read| {
            should_continue(read, all)
        })? {
            return Ok(None);
        }
        // The corrections of `day` itself are not written yet, because late frames of the next file usually belong to
        // it.
        replay.write_days(Some(day))?;
    }
    replay.write_days(None)?;
    Ok(should_continue(read, all).then_some(replay.report))
}

/// The raw lines of one exchange, one file after the other.
struct FrameStream {
    parts: std::vec::IntoIter<RawFileEntry>,
    open: Option<(RawFileEntry, RawLines)>,
    next: Option<RawLine>,
}

/// Replays the files of all exchanges of one day in order of receipt. Returns false if `should_continue` stopped it.
fn replay_day(
    replay: &mut Replay,
    parts: Vec<RawFileEntry>,
    read: &mut u64,
    should_continue: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, CollectError> {
    let mut by_exchange: BTreeMap<String, Vec<RawFileEntry>> = BTreeMap::new();
    for part in parts {
        by_exchange
            .entry(part.exchange.clone())
            .or_default()
            .push(part);
    }
    let mut streams = Vec::with_capacity(by_exchange.len());
    for parts in by_exchange.into_values() {
        let mut stream = FrameStream {
            parts: parts.into_iter(),
            open: None,
            next: None,
        };
        if !advance(&mut stream, replay, read, should_continue)? {
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
        if lines.is_multiple_of(PROGRESS_EVERY) && !should_continue(*read) {
            return Ok(false);
        }
        lines += 1;
        if let Some(line) = stream.next.take() {
            replay.line(line)?;
        }
        if !advance(stream, replay, read, should_continue)? {
            return Ok(false);
        }
    }
}

/// Reads the next line of an exchange. Returns false if `should_continue` stopped it.
fn advance(
    stream: &mut FrameStream,
    replay: &mut Replay,
    read: &mut u64,
    should_continue: &mut dyn FnMut(u64) -> bool,
) -> Result<bool, ArchiveError> {
    loop {
        if let Some((part, lines)) = &mut stream.open {
            let mut left_out: u64 = 0;
            let mut is_stopped = false;
            let mut progress = || {
                is_stopped = is_stopped || !should_continue(*read);
                !is_stopped
            };
            while let Some(line) = lines.next_while(&mut progress) {
                // The end of a truncated file has no checksum, so its lines are skipped.
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
                format!("the file is truncated: its last {left_out} whole frames have no checksum and are ignored")
            });
            if let Some(fault) = lines.fault().map(str::to_owned).or(cut) {
                let path = part.path.display().to_string();
                replay.report.damaged.push((path, fault));
            }
            if lines.is_cut() || lines.fault().is_some() {
                // The missing end of the file may have contained further frames of the last receipt times.
                replay.skip_missing(&part.exchange);
            }
            *read += part.bytes;
            stream.open = None;
        }
        let Some(part) = stream.parts.next() else {
            return Ok(true);
        };
        if !should_continue(*read) {
            return Ok(false);
        }
        let lines = replay.archive().raw().lines(&part)?;
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

    /// A raw line with a Binance order of this quantity, received at `received_at`.
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

    /// Redundant connections store their frames independently, so receipt times in a file may be out of order.
    #[test]
    fn frames_of_two_receipt_times_may_be_interleaved() {
        let folder = std::env::temp_dir().join(format!("liqdata-among-{}", std::process::id()));
        let lines = [(NOW, 1), (NOW + 1, 2), (NOW, 3), (NOW + 1, 4), (NOW, 5)];
        let read = || {
            let open = ArchiveAccess::Write(Archive::create_or_open(&folder).unwrap());
            let mut replay = Replay::new(
                open,
                QuarantinedOrders::read(&folder, usize::MAX),
                &RebuildOptions::default(),
                &[],
            );
            for (received_at, quantity) in lines {
                replay.line(line(received_at, quantity)).unwrap();
            }
            replay.write_days(None).unwrap();
            *replay.report.of("binance")
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
