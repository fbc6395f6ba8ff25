//! Live collection: stores exchange feeds and REST data in an archive, and records gaps.
//!
//! A [`Collector`] runs one independent set of tasks per exchange (`supervisor`, `venue_runner`, `venue_tasks`). Its
//! folders are layers; each uses only those above it in this list:
//!
//! - `settings`; `feed_group` (coverage of connections); `limits` of the exchanges; `quarantine`.
//! - `status`; `reference_data` (markets, prices); `delivery` of rows to the archive.
//! - `venue_context`: what all tasks of one exchange share; `rest_client`: its requests.
//! - `intake` decodes frames, and deduplicates, checks and delivers rows.
//! - `connection` receives frames; `market_lists` reads the markets; `backfill` requests missing data; `positions`
//!   polls single accounts; `tape` finds liquidations by watching makers.
//! - `quality` checks an exchange as a whole; `health` watches exchanges; `rebuild` replays recorded frames.
//! - `import` reads files and tables of historical data.
//!
//! [`feeds`](crate::feeds) decodes the messages of each exchange. A *frame* is one WebSocket message. A *topic* is one
//! subscription, such as the liquidations of one market. A *feed group* consists of the one or two connections to the
//! same topics. A *gap* is a time range in which orders may be missing. A *session* is the archive's record of one
//! collection run of one exchange. Time is *covered* if the archive has all of its orders or knows the gaps in it.

mod backfill;
mod clock;
mod collector;
mod connection;
mod delivery;
mod environment;
mod feed_group;
mod health;
mod import;
mod intake;
mod limits;
mod lock;
mod market_lists;
mod positions;
mod quality;
mod quarantine;
mod rebuild;
mod reference_data;
mod rest_client;
mod settings;
mod state_file;
mod status;
mod supervisor;
mod tape;
mod venue_context;
mod venue_runner;
mod venue_tasks;

#[doc(hidden)]
pub use crate::net::{ByteStream, Dial};
pub use crate::tables::{ExchangeAttribution, UnknownExchange};
pub use collector::Collector;
#[doc(hidden)]
pub use environment::{Environment, HttpReply};
pub use import::files::{Unopened, content_of};
pub use import::ingest::{Files, Finished, IngestError, Ingested, SeriesContract, ingest};
pub use import::ingest_tables::{TablePlaces, ingest_tables};
pub use import::pending_interest::{FilesInCoins, ToCoins};
pub use import::positions::{PositionsFault, archive_positions};
pub use import::refused::Refused;
pub use rebuild::rebuild::rebuild;
pub use rebuild::report::{RebuildCounts, RebuildOptions, RebuildReport};
pub use settings::plan::{CollectError, CollectPlan};
pub use settings::settings::{ExchangeAddress, Pace, Positions, Settings, SettingsError};
pub use status::status::{PositionsStatus, Status, VenueState, VenueStatus};
#[doc(hidden)]
pub use supervisor::Supervisor;
