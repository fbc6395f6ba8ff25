//! The collector: live collection into one archive, on its own Tokio runtime.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};

use crate::archive::{Archive, CommitError, CommitPolicy, GroupCommitWriter, WriteQueue};
use crate::collect::lock::locked;
use crate::collect::settings::plan::{CollectError, CollectPlan};
use crate::collect::settings::settings::span;
use crate::collect::status::status::Status;
use crate::collect::supervisor::Supervisor;

/// The runtime and the writer, which run until the collector is stopped.
#[derive(Debug)]
struct Running {
    runtime: Runtime,
    group_commit: GroupCommitWriter,
}

/// A running collector.
///
/// # Examples
///
/// ```no_run
/// use liqdata::collect::{Collector, CollectPlan};
///
/// let collector = Collector::start("my-archive", &CollectPlan {
///     venues: vec!["binance".to_owned(), "bybit".to_owned()],
///     ..CollectPlan::default()
/// })?;
/// std::thread::sleep(std::time::Duration::from_secs(60));
/// println!("{} orders stored", collector.status().orders);
/// collector.stop()?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Collector {
    archive: PathBuf,
    supervisor: Supervisor,
    running: Mutex<Option<Running>>,
    pid: u32,
}

impl Collector {
    /// Opens or creates the archive in the folder `archive`, and starts collection.
    ///
    /// # Errors
    ///
    /// [`CollectError`] for an invalid exchange, coin or setting, or if the archive cannot be written. No connection is
    /// opened in these cases.
    pub fn start(archive: impl AsRef<Path>, plan: &CollectPlan) -> Result<Self, CollectError> {
        plan.check()?;
        let settings = &plan.settings;
        let writer = Archive::create_or_open(archive)?;
        let archive = writer.archive().path().to_owned();
        let group_commit = GroupCommitWriter::start_with(
            writer,
            CommitPolicy {
                delay: span(settings.pace.commit),
                rows: settings.commit_rows,
                queue: settings.queue_rows,
                retry: span(settings.pace.rewrite),
            },
        )?;
        let runtime = Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("liqdata-collect")
            .enable_all()
            .build()
            .map_err(|error| CollectError::Start(error.to_string()))?;
        let inside = runtime.enter();
        let supervisor = Supervisor::start(&archive, group_commit.queue(), plan, None)?;
        drop(inside);
        Ok(Self {
            archive,
            supervisor,
            running: Mutex::new(Some(Running {
                runtime,
                group_commit,
            })),
            pid: std::process::id(),
        })
    }

    /// The folder of the archive.
    #[must_use]
    pub fn archive(&self) -> &Path {
        &self.archive
    }

    /// The write queue of the archive, through which this process can store further rows.
    #[must_use]
    pub fn queue(&self) -> WriteQueue {
        self.supervisor.queue()
    }

    /// The current status.
    #[must_use]
    pub fn status(&self) -> Status {
        self.supervisor.status()
    }

    /// Whether collection of all exchanges has ended and no day is being compacted. Before [`stop`](Self::stop), only
    /// collection with `once` in its plan ends.
    #[must_use]
    pub fn is_over(&self) -> bool {
        self.supervisor.is_over()
    }

    /// Closes the connections, stores all received rows, ends the sessions and releases the archive. A second call does
    /// nothing.
    ///
    /// Must not be called on a thread of an asynchronous runtime.
    ///
    /// # Errors
    ///
    /// [`CommitError`] if the thread that writes to the archive has failed.
    pub fn stop(&self) -> Result<(), CommitError> {
        let running = locked(&self.running).take();
        let Some(Running {
            runtime,
            group_commit,
        }) = running
        else {
            return Ok(());
        };
        // Queued rows become durable before the writer stops, however long that takes.
        runtime.block_on(self.supervisor.stop());
        runtime.shutdown_timeout(Duration::from_secs(1));
        // The raw frames are written before the lock of the archive is released.
        self.supervisor.stop_raw();
        group_commit.stop().map(drop)
    }
}

impl Drop for Collector {
    fn drop(&mut self) {
        let running = locked(&self.running).take();
        match running {
            // After a fork the threads exist only in the parent process, so a wait for them would never end.
            Some(running) if self.pid != std::process::id() => {
                self.supervisor.forget();
                std::mem::forget(running);
            }
            Some(running) => running.runtime.shutdown_background(),
            None => {}
        }
    }
}
