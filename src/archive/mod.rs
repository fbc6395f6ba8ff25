//! Durable storage of observed market data.
//!
//! An archive is a folder. New rows are appended to a *journal*, a `SQLite` database with one writer process. The
//! writer acknowledges a batch once its transaction is durable. *Compaction* moves the rows of finished days into
//! *segments*. These are Parquet files, which other query engines can read. Reads combine the journal and the segments,
//! and return each row once. Any number of readers may run during writes.
//!
//! The archive also stores *coverage*: sessions (when an exchange was connected) and gaps (time ranges in which rows
//! are missing, and the cause). Values are never rounded. Every row and every file has a checksum. Results and the log
//! name the damaged files.
//!
//! # Examples
//!
//! ```
//! use liqdata::archive::{Archive, BarRow, Batch, Filter};
//! use liqdata::model::{Millis, PeriodLength};
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
//! let hour = reader.bars(&Filter::default(), PeriodLength::Fixed(Millis::HOUR))?.rows;
//! assert_eq!((hour.len(), hour[0].high, hour[0].volume), (1, 160.into(), 120.into()));
//! # drop((reader, writer));
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#[allow(
    clippy::module_inception,
    reason = "the file is named after its main type"
)]
mod archive;
mod batch;
mod catalog;
mod checksums;
mod clock;
mod compaction;
mod coverage;
mod coverage_log;
mod disk_use;
mod error;
mod export;
mod files;
mod filter;
mod group_commit;
mod import;
mod integrity;
mod journal;
mod ledger_files;
mod lock;
mod raw;
mod rows;
mod scan;
mod segment;
mod sql;
mod store;
mod views;
mod writer;

pub use archive::Archive;
pub use batch::{Acknowledged, Batch};
pub use catalog::ingests::{IngestOrigin, IngestRow, UndoRow};
pub use catalog::stats::{ArchiveSummary, ArrivalPosition, KnownCoin};
pub use compaction::compactor::CompactionReport;
pub use compaction::retention::{Retained, Retention};
pub use compaction::supersede::DayCorrection;
pub use coverage_log::events::{
    Counter, CounterKind, GapOutcome, Measurement, MeasurementKind, TopicGap,
};
pub use coverage_log::pending::PendingExchange;
pub use coverage_log::sessions::{Gap, GapCause, ImportedSession, Session, SessionId};
pub use disk_use::DiskSpace;
pub use error::ArchiveError;
pub use export::batch_file::ParquetBatchWriter;
pub use export::closed_days::{ArchiveContents, ExportSelection, ExportedFile};
pub use files::SegmentStep;
pub use filter::Filter;
pub use group_commit::commit_handle::{CommitError, CommitHandle};
#[doc(hidden)]
pub use group_commit::group_commit_writer::ManualGroupCommitWriter;
pub use group_commit::group_commit_writer::{CommitPolicy, GroupCommitWriter};
pub use group_commit::write_queue::{WriteQueue, WriteQueueStatus};
pub use import::bars::BarTable;
pub use import::column_table::spelled;
pub use import::covered_time::{CoveredHour, CoveredTime};
pub use import::importer::{ImportScope, Tables};
pub use import::open_interest::InterestTable;
pub use import::orders::{GivenOrders, OrderTable};
pub use import::outcome::{ImportOutcome, RejectedRow};
pub use integrity::relist::Relisted;
pub use integrity::verify::{Finding, Verification};
pub use journal::database::log_bytes;
pub use raw::line::{RawFileEntry, RawLine, RawLineKind, RawLines};
pub use raw::writer::{RawQueue, RawRetention, RawStatus};
pub use rows::bars::BarRow;
pub use rows::maps::MapRow;
pub use rows::open_interest::OpenInterestRow;
pub use rows::orders::OrderRow;
pub use rows::positions::PositionRow;
pub use rows::totals::TotalRow;
pub use scan::bar_resampling::ResampledBar;
pub use scan::parallel::OrderFold;
pub use scan::snapshots::PositionsOfDay;
pub use scan::table_scan::{OrderDays, Scan};
pub use scan::tail::TailUpdate;
pub use store::damaged_part::DamagedPart;
pub use store::store::GoesOn;
pub use views::catalog::CatalogView;
pub use views::coverage::CoverageView;
pub use views::integrity::IntegrityView;
pub use views::raw::RawView;
pub use writer::Writer;

pub use crate::model::{Completeness, Evidence, GapState, VenueCoverage};
