//! One tokio runtime per process, keyed by pid.
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

static RUNTIME: ArcSwapOption<Keyed> = ArcSwapOption::const_empty();

/// The runtime of this process, started on first use.
pub(super) fn handle() -> std::io::Result<Handle> {
    let pid = std::process::id();
    loop {
        let current = RUNTIME.load_full();
        if let Some(keyed) = &current
            && keyed.pid == pid
        {
            return Ok(keyed.runtime.handle().clone());
        }
        let fresh = Arc::new(Keyed {
            pid,
            runtime: start()?,
        });
        let seen = RUNTIME.compare_and_swap(&current, Some(Arc::clone(&fresh)));
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

fn start() -> std::io::Result<Runtime> {
    Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("liqdata")
        .enable_all()
        .build()
}
