//! A cache of known positions of accounts, prepared for blended maps.

use std::sync::Arc;

use crate::engine::KnownPositions;
use crate::market::cache::recent::Recent;
use crate::market::refusal::Refusal;
use crate::model::{HeatmapRange, Millis};

/// Number of cached entries.
const ENTRIES: usize = 8;

/// Number of positions above which an entry is not cached.
const MOST: usize = 1 << 20;

/// The positions that a query needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WantedPositions {
    /// The coin.
    pub coin: String,
    /// The exchange; all exchanges if absent.
    pub exchange: Option<String>,
    /// The range of a heatmap, which also needs earlier snapshots.
    pub columns: Option<HeatmapRange>,
}

/// A question, its instant, and the revision of the market.
type Key = (WantedPositions, Option<Millis>, u64);

/// The positions of recent queries.
pub(crate) type PositionCache = Recent<Key, Arc<KnownPositions>, ENTRIES>;

impl PositionCache {
    /// The cached positions of `key`, or else those that `read` returns.
    pub(crate) fn get_or_read(
        &self,
        key: Key,
        read: impl FnOnce() -> Result<KnownPositions, Refusal>,
    ) -> Result<Arc<KnownPositions>, Refusal> {
        if let Some(known) = self.get(&key) {
            return Ok(known);
        }
        let known = Arc::new(read()?);
        if known.len() <= MOST {
            self.add(key, Arc::clone(&known));
        }
        Ok(known)
    }
}
