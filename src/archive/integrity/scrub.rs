//! Background checks of the files and the journal of an open archive.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, TryLockError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest::SegmentEntry;
use crate::archive::files::Identity;
use crate::archive::integrity::damage_state;
use crate::archive::integrity::damage_state::Stamp;
use crate::archive::integrity::segment_check;
use crate::archive::integrity::segment_check::{look_at, stamp};
use crate::archive::integrity::verify;
use crate::archive::journal::database;
use crate::archive::store::{Store, Twin};
use crate::model::sort_small;

/// Ratio of the pause before a read to the duration of the last read.
///
/// It limits how much the checks slow down queries.
const IDLE: u32 = 4;
/// Maximum pause between two reads.
const LONGEST: Duration = Duration::from_secs(2);
/// Minimum time between two checks of the same file.
const ROUND: Duration = Duration::from_hours(1);
/// Interval between two looks at the size and modification time of a damaged journal.
const GLANCE: Duration = Duration::from_secs(2);
/// Delay of a one-time check.
///
/// Because of the delay, a process that sends only one query is not slowed down.
const AT_FIRST: Duration = Duration::from_secs(1);
/// Maximum time that dropping a [`Scrubber`] waits for its thread.
///
/// A thread that is still reading the journal after that time ends later, without being waited for.
const TO_END: Duration = Duration::from_millis(100);
/// Maximum number of sound files in [`SOUND`].
const REMEMBERED: usize = 1 << 17;

/// Size, modification time and SHA-256 of a sound file.
type SoundStamp = (Stamp, String);
/// Sound files by identity, each with the time of its check.
type Remembered = HashMap<(u64, u64), (SoundStamp, Instant)>;

/// Files that were found sound in this process.
///
/// Only locked with `try_lock`: in a forked child, the mutex may be locked by a thread that the fork did not copy.
static SOUND: Mutex<Option<Remembered>> = Mutex::new(None);

fn remember(identity: Identity, sound: SoundStamp) {
    let (Some(identity), Ok(mut known)) = (identity, SOUND.try_lock()) else {
        return;
    };
    let known = known.get_or_insert_default();
    if known.len() >= REMEMBERED {
        known.retain(|_, (_, at)| at.elapsed() < ROUND);
    }
    if known.len() < REMEMBERED {
        known.insert(identity, (sound, Instant::now()));
    }
}

/// Whether a file was found sound less than an hour ago and has not changed since.
fn is_remembered(identity: Identity, sound: &SoundStamp) -> bool {
    let known = match SOUND.try_lock() {
        Ok(known) => known,
        Err(TryLockError::Poisoned(known)) => known.into_inner(),
        Err(TryLockError::WouldBlock) => return false,
    };
    let found = identity.and_then(|identity| known.as_ref()?.get(&identity));
    found.is_some_and(|(as_it_was, at)| as_it_was == sound && at.elapsed() < ROUND)
}

/// Implements `Archive::check_files`.
pub(crate) fn check_files(
    store: &Store,
    goes_on: &mut dyn FnMut() -> bool,
) -> Result<usize, ArchiveError> {
    // A read may find the journal damaged during this check. Only damage known before the check is cleared.
    let was_damaged = store.has_damaged_journal();
    match verify::journal_faults(store)?.first() {
        Some(reason) => store.warn_of_journal(reason),
        None if was_damaged => store.clear_journal(),
        None => {}
    }
    check_parts(store, goes_on)
}

/// Checks a small damaged journal again, if its files have changed since the last check.
///
/// Does nothing for a large journal, which only a [`Scrubber`] checks.
pub(crate) fn recheck_journal(store: &Store) {
    if store.has_damaged_journal() && verify::has_small_journal(store) {
        recheck(&store.twin());
    }
}

/// Checks the segments, newest first; returns the number of segments read.
fn check_parts(store: &Store, goes_on: &mut dyn FnMut() -> bool) -> Result<usize, ArchiveError> {
    let (mut active, _) = store.segments()?;
    sort_small(&mut active, |one, other| other.last.cmp(&one.last));
    let mut read = 0;
    for part in &active {
        if !goes_on() {
            break;
        }
        read += usize::from(check_file(store, part, goes_on));
    }
    Ok(read)
}

/// Checks one segment, unless it was checked less than an hour ago.
///
/// Returns whether the file was read.
fn check_file(store: &Store, part: &SegmentEntry, goes_on: &mut dyn FnMut() -> bool) -> bool {
    let Some((stamp, identity)) = look_at(&store.folder.join(&part.path)) else {
        meet(store, segment_check::fault_now(store, part), part);
        return false;
    };
    let sound = (stamp, part.sha256.clone());
    if is_remembered(identity, &sound) {
        store.learn(&part.path, Some(stamp));
        return false;
    }
    let found = segment_check::fault_while(store, part, goes_on);
    if matches!(found, Ok(None)) {
        remember(identity, sound);
    }
    meet(store, found, part);
    true
}

fn meet(store: &Store, found: Result<Option<String>, ArchiveError>, part: &SegmentEntry) {
    if let Ok(Some(reason)) = found {
        store.warn(part, &reason);
    }
}

/// A thread that checks all files of an archive in the background and logs damage.
///
/// All readers of the archive that share known damage see the results. Dropping the `Scrubber` ends the thread.
#[derive(Debug)]
pub struct Scrubber {
    going_on: Option<Sender<()>>,
    /// Never receives anything; disconnects when the thread ends.
    ended: Option<Receiver<()>>,
    thread: Option<JoinHandle<()>>,
    pid: u32,
}

impl Scrubber {
    /// Starts a thread that checks immediately and then every hour.
    #[must_use]
    pub(crate) fn hourly(store: &Store) -> Self {
        Self::start(store, Duration::ZERO, true)
    }

    /// Starts a thread that checks once, after a second.
    #[must_use]
    pub(crate) fn once(store: &Store) -> Self {
        Self::start(store, AT_FIRST, false)
    }

    fn start(store: &Store, first: Duration, again: bool) -> Self {
        let (going_on, end) = channel();
        let (lives, ended) = channel();
        let twin = store.twin();
        let started = Builder::new()
            .name("liqdata-scrub".to_owned())
            .spawn(move || {
                run(&twin, &end, first, again);
                drop(lives);
            });
        let thread = started
            .inspect_err(|fault| {
                log::warn!("the background check of the archive cannot start: {fault}");
            })
            .ok();
        Self {
            going_on: Some(going_on),
            ended: Some(ended),
            thread,
            pid: std::process::id(),
        }
    }
}

impl Drop for Scrubber {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            // In a forked child the thread belongs to the parent.
            std::mem::forget((self.going_on.take(), self.ended.take(), self.thread.take()));
            return;
        }
        self.going_on = None;
        if let Some(ended) = self.ended.take() {
            let _ = ended.recv_timeout(TO_END);
        }
    }
}

fn run(twin: &Twin, end: &Receiver<()>, first: Duration, again: bool) {
    let goes_on =
        |pause: Duration| matches!(end.recv_timeout(pause), Err(RecvTimeoutError::Timeout));
    if !goes_on(first) {
        return;
    }
    loop {
        // The check uses a separate connection, so that a long check of the journal blocks no query.
        let checked = twin.open().and_then(|archive| {
            let mut since = Instant::now();
            let mut rests = || {
                let went_on = goes_on((since.elapsed() * IDLE).min(LONGEST));
                since = Instant::now();
                went_on
            };
            // The open of the archive has already checked a small journal, so a one-time check skips it.
            if !again && verify::has_small_journal(&archive) {
                check_parts(&archive, &mut rests)
            } else {
                check_files(&archive, &mut rests)
            }
        });
        // The check has already logged damage; other errors are logged here.
        if let Err(fault) = checked
            && !matches!(fault, ArchiveError::Damaged { .. })
        {
            log::warn!(
                target: "liqdata::archive",
                "the checksums of the archive's files could not be verified: {fault}"
            );
        }
        let began = Instant::now();
        loop {
            let is_damaged = is_damaged(twin);
            if !again && !is_damaged {
                return;
            }
            if again && began.elapsed() >= ROUND {
                break;
            }
            if !goes_on(GLANCE) {
                return;
            }
            recheck(twin);
        }
    }
}

/// Whether the journal is known to be damaged.
fn is_damaged(twin: &Twin) -> bool {
    let (_, warned) = twin.known();
    damage_state::known(warned).of_journal().is_some()
}

/// Checks a damaged journal again, if its files have changed since the last check.
fn recheck(twin: &Twin) {
    let (folder, warned) = twin.known();
    let path = folder.join(database::FILE);
    let lies = [stamp(&path), stamp(&database::companion(&path, "-wal"))];
    if !damage_state::known(warned).begin_look(lies) {
        return;
    }
    // If the archive cannot be opened, the journal stays marked as damaged.
    let looked = twin.open().and_then(|archive| {
        let is_sound = verify::journal_faults(&archive)?.is_empty();
        Ok(is_sound.then(|| archive.clear_journal()))
    });
    drop(looked);
    damage_state::known(warned).end_look();
}
