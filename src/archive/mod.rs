//! What has been observed, durably and in order of time.
//!
//! An archive is a folder. What is new lies in a *journal* (`SQLite`, one writer): a batch is acknowledged once its
//! transaction is durable. Days that are over are *rolled* into a tree of Parquet files that other engines read as it
//! is. Reads see both as one, each row once, and readers are welcome beside the writer.
//!
//! Beside the rows the archive keeps what is known of their completeness: *runs* (when which exchange was listened to),
//! *gaps* (what was missed, and why) and a checksum of every file. Nothing is rounded, and a damaged file is named
//! beside the rows that are left, and in the log.
//!
//! # Examples
//!
//! ```
//! use liqdata::archive::{Archive, BarRow, Batch, Filter};
//! use liqdata::model::Millis;
//!
//! # let folder = std::env::temp_dir().join(format!("liqdata-doc-{}", std::process::id()));
//! let mut writer = Archive::create_or_open(&folder)?;
//! let bars = (0..60).map(|minute| BarRow {
//!     exchange: "binance".to_owned(),
//!     symbol: "BTC".to_owned(),
//!     timestamp: Millis(minute * Millis::MINUTE),
//!     interval: Millis::MINUTE,
//!     open: 100.into(),
//!     high: (101 + minute).into(),
//!     low: 99.into(),
//!     close: 100.into(),
//!     volume: 2.into(),
//!     received_at: Millis((minute + 1) * Millis::MINUTE),
//! });
//! let acknowledged = writer.append(&Batch { bars: bars.collect(), ..Batch::default() })?;
//! assert_eq!(acknowledged.bars, 60);
//!
//! let reader = Archive::read(&folder)?;
//! let hour = reader.bars(&Filter::default(), Millis::HOUR)?.rows;
//! assert_eq!((hour.len(), hour[0].high, hour[0].volume), (1, 160.into(), 120.into()));
//! # drop((reader, writer));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ahead;
mod arrays;
mod awaited;
mod bars;
mod batch;
mod batches;
mod brief;
mod checksum;
mod clock;
mod closed;
mod coverage;
mod damaged;
mod deltas;
mod error;
mod exact;
mod fates;
mod filed;
mod files;
mod filing;
mod filing_tables;
mod filter;
mod finest;
mod fold;
mod generations;
mod held;
mod inbox;
mod journal;
mod keeper;
mod keys;
mod known;
mod listed;
mod lock;
mod manifest;
mod maps;
mod mend;
mod merge;
mod missing;
mod noted;
mod open_interest;
mod orders;
mod pages;
mod parquet;
mod placing;
mod positions;
mod pulse;
mod raw;
mod raw_checked;
mod raw_file;
mod raw_keeper;
mod reader;
mod recent;
mod resize;
mod revising;
mod roll;
mod rolling;
mod row;
mod row_kind;
mod runs;
mod runs_of_numbers;
mod salvage;
mod scan;
mod schema;
mod shown;
mod snapshots;
mod spans;
mod summed;
mod sums;
mod table;
mod tabled;
mod tabled_bars;
mod tabled_interest;
mod tabled_orders;
mod unique;
mod verify;
mod versions;
mod warned;
mod watch;
mod writer;

pub use awaited::Awaited;
pub use bars::BarRow;
pub use batch::{Acknowledged, Batch};
pub use batches::BatchFile;
pub use closed::{Cut, ListedFile, Lists};
pub use damaged::DamagedPart;
pub use error::ArchiveError;
pub use files::RollStep;
pub use filing::{Filed, Unfit};
pub use filing_tables::Tables;
pub use filter::Filter;
pub use fold::Gather;
pub use inbox::{Inbox, KeeperStatus, NotKept, Receipt};
#[doc(hidden)]
pub use keeper::KeeperByHand;
pub use keeper::{Keeper, Pace};
pub use known::{Known, KnownCoin, Place};
pub use maps::MapRow;
pub use noted::{Mark, Measured, NUMBERS_MISSING, Outcome, Tallied, Tally, TopicGap};
pub use open_interest::OpenInterestRow;
pub use orders::OrderRow;
pub use positions::PositionRow;
pub use raw::{Came, RawLine, RawLines, RawPart};
pub use raw_keeper::{RawBounds, RawInbox, RawStatus};
pub use reader::{Archive, GoesOn};
pub use recent::News;
pub use resize::SizedBar;
pub use revising::Revision;
pub use roll::Rolled;
pub use runs::{Gap, Run, RunId, Told};
pub use scan::{OrderDays, Scan};
pub use tabled::spelled;
pub use tabled_bars::BarTable;
pub use tabled_interest::InterestTable;
pub use tabled_orders::{GivenOrders, OrderTable};
pub use verify::{Finding, Verification};
pub use watch::Watch;
pub use writer::Writer;

pub use crate::model::{Completeness, Evidence, GapState, VenueCoverage};
