//! Signs of an active writer: its lock, and the end of each exchange's last session.

use std::collections::BTreeMap;

use crate::archive::ArchiveError;
use crate::archive::coverage_log::sessions::IN_USE;
use crate::archive::lock;
use crate::archive::store::store::Store;
use crate::model::Millis;

/// Implements `CatalogView::has_writer`.
pub(crate) fn has_writer(store: &Store) -> Result<bool, ArchiveError> {
    lock::is_locked(&store.folder)
}

/// Implements `CoverageView::connected_until`.
pub(crate) fn connected_until(store: &Store) -> Result<BTreeMap<String, Millis>, ArchiveError> {
    store.ask(|journal| {
        journal
            .prepare_cached(&format!(
                "SELECT exchange, max(seen) FROM sessions WHERE {IN_USE} GROUP BY exchange"
            ))?
            .query_map([], |line| Ok((line.get(0)?, Millis(line.get(1)?))))?
            .collect()
    })
}
