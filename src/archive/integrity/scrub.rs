//! Holding an archive's files against their checksums beside whatever else is done with it, so that damage is known before
//! anybody asks for what it took.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, TryLockError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::catalog::manifest::Part;
use crate::archive::coverage::damage_gaps;
use crate::archive::files::Identity;
use crate::archive::integrity::damage_state;
use crate::archive::integrity::damage_state::Stamp;
use crate::archive::integrity::verify;
use crate::archive::integrity::verify::{look_at, stamp};
use crate::archive::journal::database;
use crate::archive::store::{Store, Twin};
use crate::model::sort_small;

/// Something is read after a pause of so many times what the one before it took: answers come first.
const IDLE: u32 = 4;
/// The longest pause between two reads.
const LONGEST: Duration = Duration::from_secs(2);
/// What was read is not read again for so long.
const ROUND: Duration = Duration::from_hours(1);
/// How often it is looked whether a journal that is damaged lies otherwise than it did.
const GLANCE: Duration = Duration::from_secs(2);
/// A look that nobody asked for begins after so long: what is opened for one question has its answer by then.
const AT_FIRST: Duration = Duration::from_secs(1);
/// How long whoever lets go of a watch waits for its thread: one that is in the midst of the journal ends by itself.
const TO_END: Duration = Duration::from_millis(100);
/// Of how many files it is remembered that they are sound.
const REMEMBERED: usize = 1 << 17;

/// A file as it lay on the disk, and the SHA-256 that it was found to have.
type Sound = (Stamp, String);
/// Files by what tells them from others, and when they were found so.
type Remembered = HashMap<(u64, u64), (Sound, Instant)>;

/// What was found sound in this process and when, whoever had opened the archive. It is only ever tried for, so that it
/// keeps nobody waiting in a process that was forked meanwhile.
static SOUND: Mutex<Option<Remembered>> = Mutex::new(None);

fn remember(identity: Identity, sound: Sound) {
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

/// Whether a file was found to be as it was written, a while ago.
fn is_remembered(identity: Identity, sound: &Sound) -> bool {
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
    // What is met meanwhile is none the less for it.
    let was_damaged = store.has_damaged_journal();
    match verify::journal_faults(store)?.first() {
        Some(reason) => store.warn_of_journal(reason),
        None if was_damaged => store.clear_journal(),
        None => {}
    }
    check_parts(store, goes_on)
}

/// Looks through a journal of up to 64 MiB again that was found damaged, where it lies otherwise than it did then: once
/// it was mended it counts as sound. A larger one is left to a [`Watch`].
pub(crate) fn look_at_damaged_journal(store: &Store) {
    if store.has_damaged_journal() && verify::has_small_journal(store) {
        look_again(&store.twin());
    }
}

/// The same of the files alone.
fn check_parts(store: &Store, goes_on: &mut dyn FnMut() -> bool) -> Result<usize, ArchiveError> {
    let (mut kept, _) = damage_gaps::parts(store)?;
    sort_small(&mut kept, |one, other| other.last.cmp(&one.last));
    let mut read = 0;
    for part in &kept {
        if !goes_on() {
            break;
        }
        read += usize::from(check_file(store, part, goes_on));
    }
    Ok(read)
}

/// Whether a file had to be read to know how it is.
fn check_file(store: &Store, part: &Part, goes_on: &mut dyn FnMut() -> bool) -> bool {
    let Some((stamp, identity)) = look_at(&store.folder.join(&part.path)) else {
        meet(store, verify::fault_now(store, part), part);
        return false;
    };
    let sound = (stamp, part.sha256.clone());
    if is_remembered(identity, &sound) {
        store.learn(&part.path, Some(stamp));
        return false;
    }
    let found = verify::fault_while(store, part, goes_on);
    if matches!(found, Ok(None)) {
        remember(identity, sound);
    }
    meet(store, found, part);
    true
}

fn meet(store: &Store, found: Result<Option<String>, ArchiveError>, part: &Part) {
    if let Ok(Some(reason)) = found {
        store.warn(part, &reason);
    }
}

/// A thread that reads every file of an archive, newest first, and logs what is damaged: whoever has the archive open
/// knows of it from then on. It ends when this is dropped.
#[derive(Debug)]
pub struct Watch {
    going_on: Option<Sender<()>>,
    /// Nothing ever comes of it; it ends with the thread.
    ended: Option<Receiver<()>>,
    thread: Option<JoinHandle<()>>,
    pid: u32,
}

impl Watch {
    /// Reads them at once and again every hour.
    #[must_use]
    pub fn hourly(archive: &Archive) -> Self {
        Self::start(archive, Duration::ZERO, true)
    }

    /// Reads them once, a second from now.
    #[must_use]
    pub fn once(archive: &Archive) -> Self {
        Self::start(archive, AT_FIRST, false)
    }

    fn start(archive: &Archive, first: Duration, again: bool) -> Self {
        let (going_on, end) = channel();
        let (lives, ended) = channel();
        let twin = archive.store.twin();
        let started = Builder::new()
            .name("liqdata-watch".to_owned())
            .spawn(move || {
                watch(&twin, &end, first, again);
                drop(lives);
            });
        let thread = started
            .inspect_err(|fault| log::warn!("no file is held against its checksum: {fault}"))
            .ok();
        Self {
            going_on: Some(going_on),
            ended: Some(ended),
            thread,
            pid: std::process::id(),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            // After a fork the thread is the parent's.
            std::mem::forget((self.going_on.take(), self.ended.take(), self.thread.take()));
            return;
        }
        self.going_on = None;
        if let Some(ended) = self.ended.take() {
            let _ = ended.recv_timeout(TO_END);
        }
    }
}

fn watch(twin: &Twin, end: &Receiver<()>, first: Duration, again: bool) {
    let goes_on =
        |pause: Duration| matches!(end.recv_timeout(pause), Err(RecvTimeoutError::Timeout));
    if !goes_on(first) {
        return;
    }
    loop {
        // A reader of its own, so that a long look through the journal is in nobody's way.
        let checked = twin.open().and_then(|archive| {
            let mut since = Instant::now();
            let mut rests = || {
                let went_on = goes_on((since.elapsed() * IDLE).min(LONGEST));
                since = Instant::now();
                went_on
            };
            // A journal that was looked through when it was opened has been so a second ago.
            if !again && verify::has_small_journal(&archive) {
                check_parts(&archive, &mut rests)
            } else {
                check_files(&archive, &mut rests)
            }
        });
        // What is damaged has been said.
        if let Err(fault) = checked
            && !matches!(fault, ArchiveError::Damaged { .. })
        {
            log::warn!(target: "liqdata::archive", "the files could not be held against their checksums: {fault}");
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
            look_again(twin);
        }
    }
}

/// Whether the journal is known to be damaged.
fn is_damaged(twin: &Twin) -> bool {
    let (_, warned) = twin.known();
    damage_state::known(warned).of_journal().is_some()
}

/// Looks through a journal that was found damaged once more, where it lies otherwise than it did then.
fn look_again(twin: &Twin) {
    let (folder, warned) = twin.known();
    let path = folder.join(database::FILE);
    let lies = [stamp(&path), stamp(&database::beside(&path, "-wal"))];
    if !damage_state::known(warned).begin_look(lies) {
        return;
    }
    // It is left at what is known where it cannot be looked at.
    let looked = twin.open().and_then(|archive| {
        let is_sound = verify::journal_faults(&archive)?.is_empty();
        Ok(is_sound.then(|| archive.clear_journal()))
    });
    drop(looked);
    damage_state::known(warned).end_look();
}
