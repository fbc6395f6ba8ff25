//! Tokio runtimes of a process, keyed by process id: a single-threaded one for small calls, and a thread pool for
//! others.
//!
//! A forked child inherits the memory of its parent's runtime but no threads. Using it would hang, and dropping it
//! would join missing threads, so the child leaks it and creates its own. The registry is an atomic pointer, because a
//! mutex could be locked at the time of the fork.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::runtime::{Builder, Handle, Runtime};

struct Keyed {
    pid: u32,
    runtime: Runtime,
}

static ONE: ArcSwapOption<Keyed> = ArcSwapOption::const_empty();
static SEVERAL: ArcSwapOption<Keyed> = ArcSwapOption::const_empty();

/// The number of threads of a runtime.
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

/// The runtime of this process with this many threads, started on first use.
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
            // The replaced value is `None` or a parent's runtime, which must not be dropped.
            std::mem::forget(current);
            std::mem::forget(seen);
            return Ok(fresh.runtime.handle().clone());
        }
        // Another thread created the runtime first.
        if let Ok(lost) = Arc::try_unwrap(fresh) {
            lost.runtime.shutdown_background();
        }
        std::mem::forget(current);
    }
}
