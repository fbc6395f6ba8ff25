//! Holding an archive's files against their checksums beside the answers, so that damage is known before anybody asks
//! for what it took.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use crate::market::Market;

/// A file is read after a pause of so many times what the one before it took: answers come first.
const IDLE: u32 = 4;
/// The longest pause between two files.
const LONGEST: Duration = Duration::from_secs(2);
/// Files are read again after so long.
const ROUND: Duration = Duration::from_hours(1);

/// A thread that reads every file of a market's archive, newest first and again every hour, and logs what is damaged.
/// It ends when this is dropped, at most one file later.
#[derive(Debug)]
pub struct Watch {
    going_on: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
    pid: u32,
}

impl Watch {
    /// Watches over the archive of `market`, if it lies in one.
    #[must_use]
    pub fn over(market: &Arc<Market>) -> Self {
        let (going_on, end) = channel();
        let thread = market.archive().and_then(|_| {
            let market = Arc::clone(market);
            let started = Builder::new()
                .name("liqdata-watch".to_owned())
                .spawn(move || watch(&market, &end));
            started
                .inspect_err(|fault| log::warn!("no file is held against its checksum: {fault}"))
                .ok()
        });
        Self {
            going_on: Some(going_on),
            thread,
            pid: std::process::id(),
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if self.pid != std::process::id() {
            // After a fork the thread is the parent's.
            std::mem::forget((self.going_on.take(), self.thread.take()));
            return;
        }
        self.going_on = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn watch(market: &Market, end: &Receiver<()>) {
    let goes_on =
        |pause: Duration| matches!(end.recv_timeout(pause), Err(RecvTimeoutError::Timeout));
    while let Some(archive) = market.archive() {
        let mut since = Instant::now();
        let checked = archive.check_files(&mut || {
            let went_on = goes_on((since.elapsed() * IDLE).min(LONGEST));
            since = Instant::now();
            went_on
        });
        if let Err(fault) = checked {
            log::warn!(target: "liqdata::archive", "the files could not be held against their checksums: {fault}");
        }
        if !goes_on(ROUND) {
            return;
        }
    }
}
