//! Live collection: exchange feeds and REST data go into an archive, together with the gaps in them.
//!
//! A [`Collector`] runs one independent set of tasks per exchange (`supervisor`, `venue_runner`, `venue_tasks`):
//!
//! - `reference_data` reads the markets; `subscription` selects topics; `connection` receives frames.
//! - `intake` decodes, deduplicates and delivers rows; `quality` and `quarantine` check them.
//! - `backfill` requests missing data within the request limits (`rest_client`); `positions` polls single accounts.
//! - `health` watches all of it; `rebuild` replays recorded frames; `import` reads files and tables of the past.
//!
//! [`feeds`](crate::feeds) decodes the messages of each exchange.

mod backfill;
mod clock;
mod collector;
mod connection;
mod environment;
mod health;
mod import;
mod intake;
mod lock;
mod plan;
mod positions;
mod quality;
mod quarantine;
mod rebuild;
mod reference_data;
mod rest_client;
mod settings;
mod settings_error;
mod state_file;
mod subscription;
mod supervisor;
mod venue_context;
mod venue_runner;
mod venue_tasks;

#[doc(hidden)]
pub use crate::net::{ByteStream, Dial};
pub use crate::tables::{ExchangeAttribution, UnknownExchange};
pub use collector::Collector;
#[doc(hidden)]
pub use environment::{Environment, HttpReply};
pub use health::status::{PositionsStatus, Status, VenueState, VenueStatus};
pub use import::files::{Unopened, content_of};
pub use import::in_usd::{FilesInCoins, ToCoins};
pub use import::ingest::{Files, Finished, IngestError, Ingested, SeriesContract, ingest};
pub use import::ingest_tables::{TablePlaces, ingest_tables};
pub use import::refused::Refused;
pub use import::snapshots::{Unclear as UnclearPosition, snapshots};
pub use plan::{CollectError, CollectPlan};
pub use rebuild::rebuild::rebuild;
pub use rebuild::report::{RebuildCounts, RebuildOptions, RebuildReport};
pub use settings::{ExchangeAddress, Pace, Positions, Settings, SettingsError};
#[doc(hidden)]
pub use supervisor::Supervisor;
