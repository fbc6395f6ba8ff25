//! Whether an archive is being filled, as far as it tells by itself: its writer's lock, and until when each exchange was
//! listened to.

use std::collections::BTreeMap;

use crate::archive::ArchiveError;
use crate::archive::archive::Archive;
use crate::archive::lock;
use crate::model::Millis;

impl Archive {
    /// Whether anybody, this process included, has the archive open for writing.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the lock cannot be looked at.
    pub fn has_writer(&self) -> Result<bool, ArchiveError> {
        lock::is_held(&self.folder)
    }

    /// Until when each exchange is known to have been listened to.
    ///
    /// # Errors
    ///
    /// [`ArchiveError`] where the journal cannot be read.
    pub fn connected_until(&self) -> Result<BTreeMap<String, Millis>, ArchiveError> {
        self.ask(|journal| {
            journal
                .prepare_cached("SELECT exchange, max(seen) FROM runs GROUP BY exchange")?
                .query_map([], |line| Ok((line.get(0)?, Millis(line.get(1)?))))?
                .collect()
        })
    }
}
