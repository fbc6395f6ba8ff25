//! The Tokio runtimes of this process: one with a single thread for small calls, and a thread pool for all other calls.
//!
//! A forked child inherits the memory of its parent's runtime but none of its threads. If the child used that runtime,
//! it would hang. If it dropped the runtime, it would wait for missing threads. The child therefore leaks it and
//! creates its own runtime. The registry is an atomic pointer, because a mutex might be locked at the time of the fork.

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
            // The replaced value is `None` or the runtime of the parent process, which must not be dropped.
            std::mem::forget(current);
            std::mem::forget(seen);
            return Ok(fresh.runtime.handle().clone());
        }
        // Another thread stored its runtime first.
        if let Ok(lost) = Arc::try_unwrap(fresh) {
            lost.runtime.shutdown_background();
        }
        std::mem::forget(current);
    }
}
