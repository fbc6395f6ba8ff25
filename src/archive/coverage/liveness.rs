//! Whether an archive is being written: the writer's lock, and the end of each exchange's last session.

use std::collections::BTreeMap;

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::lock;
use crate::model::Millis;

impl Archive {
    /// Whether any process, this one included, has the archive open for writing.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the lock cannot be inspected.
    pub fn has_writer(&self) -> Result<bool, ArchiveError> {
        lock::is_held(&self.folder)
    }

    /// The end of each exchange's last session.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] if the journal cannot be read.
    pub fn connected_until(&self) -> Result<BTreeMap<String, Millis>, ArchiveError> {
        self.ask(|journal| {
            journal
                .prepare_cached("SELECT exchange, max(seen) FROM runs GROUP BY exchange")?
                .query_map([], |line| Ok((line.get(0)?, Millis(line.get(1)?))))?
                .collect()
        })
    }
}
