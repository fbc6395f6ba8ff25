//! The tokio runtimes of a process, keyed by pid: one of a single thread for small calls, which cost more in waking
//! threads than in anything else, and one of several threads for what takes its time.
//!
//! A forked child inherits the memory of its parent's runtime but none of its threads: using it would hang, dropping it
//! would join threads that do not exist. So the child leaks the parent's copy and makes its own. The registry is one
//! atomic pointer: a lock could have been held by another thread at the instant of the fork.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::runtime::{Builder, Handle, Runtime};

struct Keyed {
    pid: u32,
    runtime: Runtime,
}

static ONE: ArcSwapOption<Keyed> = ArcSwapOption::const_empty();
static SEVERAL: ArcSwapOption<Keyed> = ArcSwapOption::const_empty();

/// How many threads a runtime has.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Threads {
    One,
    Several,
}

impl Threads {
    fn runtime(self) -> &'static ArcSwapOption<Keyed> {
        match self {
            Self::One => &ONE,
            Self::Several => &SEVERAL,
        }
    }

    fn start(self) -> std::io::Result<Runtime> {
        let threads = match self {
            Self::One => 1,
            Self::Several => 2,
        };
        Builder::new_multi_thread()
            .worker_threads(threads)
            .thread_name("liqdata")
            .enable_all()
            .build()
    }
}

/// The runtime of so many threads of this process, started on first use.
pub(crate) fn handle(threads: Threads) -> std::io::Result<Handle> {
    let pid = std::process::id();
    let runtime = threads.runtime();
    loop {
        let current = runtime.load_full();
        if let Some(keyed) = &current
            && keyed.pid == pid
        {
            return Ok(keyed.runtime.handle().clone());
        }
        let fresh = Arc::new(Keyed {
            pid,
            runtime: threads.start()?,
        });
        let seen = runtime.compare_and_swap(&current, Some(Arc::clone(&fresh)));
        let seen_ptr = seen.as_ref().map(Arc::as_ptr);
        if seen_ptr == current.as_ref().map(Arc::as_ptr) {
            // What was replaced is nothing or a parent's runtime: never drop it here.
            std::mem::forget(current);
            std::mem::forget(seen);
            return Ok(fresh.runtime.handle().clone());
        }
        // Another thread of this process was quicker; its runtime serves.
        if let Ok(lost) = Arc::try_unwrap(fresh) {
            lost.runtime.shutdown_background();
        }
        std::mem::forget(current);
    }
}
