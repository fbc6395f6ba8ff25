//! Estimated liquidation maps, exactly as a server returned them, for comparison with later estimates.

use std::cmp::Ordering;

use crate::archive::checksums::file_checksum::checksum;
use crate::archive::rows::row::{Fault, LONGEST, Row, check_name, check_text, check_time};
pub use crate::model::MapRow;
use crate::model::Millis;

impl Row for MapRow {
    const TABLE: &'static str = "maps";
    const UNIQUE: &'static str = "symbol, kind, params, timestamp, digest";
    const GROUP: usize = 16;
    const COIN: &'static str = "symbol";
    const KIND: Option<&'static str> = Some("kind");
    const APART: &'static str = "kind";
    const BULK: Option<&'static str> = Some("reply");

    fn check(&self) -> Result<(), Fault> {
        check_name("kind", &self.kind)?;
        check_name("symbol", &self.symbol)?;
        check_text("reply", &self.reply)?;
        if self.reply.len() > LONGEST {
            let message = format!(
                "the map has {} bytes; allowed: at most {LONGEST}",
                self.reply.len()
            );
            return Err(("reply", message));
        }
        check_time("timestamp", self.timestamp)?;
        check_time("computed_at", self.computed_at)
    }

    fn key(&self) -> String {
        format!(
            "{}\n{}\n{}\n{}\n{}",
            self.symbol,
            self.kind,
            self.params,
            self.timestamp.0,
            // A different reply to the same request is stored as a separate row.
            checksum(self.reply.as_bytes())
        )
    }

    fn exchange(&self) -> Option<&str> {
        None
    }

    fn symbol(&self) -> &str {
        &self.symbol
    }

    fn kind(&self) -> Option<&str> {
        Some(&self.kind)
    }

    fn version(&self) -> Option<&str> {
        self.version.as_deref()
    }

    fn timestamp(&self) -> Millis {
        self.timestamp
    }

    fn received_at(&self) -> Millis {
        self.computed_at
    }

    fn weight(&self) -> usize {
        self.reply.len()
    }

    fn file_order(&self, other: &Self) -> Ordering {
        (
            &self.symbol,
            &self.kind,
            &self.params,
            self.timestamp,
            self.computed_at,
        )
            .cmp(&(
                &other.symbol,
                &other.kind,
                &other.params,
                other.timestamp,
                other.computed_at,
            ))
    }
}
