//! Listening to the exchanges: what their public feeds tell goes into an archive, with what was missed.
//!
//! A [`Collector`] tends every venue by itself (`listening`, `tend`): its markets (`listings`,
//! `recalled`), its sockets (`lines`, each kept
//! open by `line` and spoken with in `socket`, two of them where nothing can be asked again: `ears`), what was missed
//! (`missed`), bars and open interest (`history`), the venue's own `totals`, with requests within
//! the venue's limits (`rest`, `standstill`). What comes in is compared with what was heard, priced or held (`intake`, `unpriced`), and
//! handed to the archive's keeper (`delivery`), with what is known of the listening (`noted`; `sequence`: by the venue's own
//! numbers); the frames themselves are kept beside them (`frames`). Where it is asked for, single accounts are heard of on a
//! tape (`tape`) and looked at (`rounds`, `watched`). What others have recorded of the past comes from files (`ingest`) and
//! tables (`snapshots`). What a venue says and how, [`feeds`](crate::feeds) knows.

mod aside;
mod awaited;
mod board;
mod clock;
mod coins;
mod collector;
mod counts;
mod covered;
mod dedupe;
mod delivery;
mod doubted;
mod doubtful;
mod ears;
mod files;
mod frames;
mod handshake;
#[cfg(test)]
mod heard;
mod history;
mod hold;
mod in_usd;
mod ingest;
mod ingest_tables;
mod intake;
mod keys;
mod life;
mod line;
mod lines;
mod listening;
mod listings;
mod lock;
mod markets;
mod measured;
mod misread;
mod missed;
mod mute;
mod named;
mod noted;
mod owed;
mod pings;
mod plan;
mod proof;
mod pulse;
mod rebuild;
mod rebuilt;
mod recalled;
mod refused;
mod reread;
mod rest;
mod retold;
mod rounds;
mod sequence;
mod settings;
mod snapshots;
mod socket;
mod standstill;
mod state;
mod status;
mod subscriptions;
mod tape;
mod tend;
mod totals;
mod troubles;
mod unjudged;
mod unpriced;
mod venue;
mod watched;
mod whose;
mod world;
mod yardstick;

#[doc(hidden)]
pub use crate::net::{Dial, Stream};
pub use collector::Collector;
pub use files::Unopened;
pub use in_usd::{FilesInCoins, ToCoins};
pub use ingest::{Contract, Files, Finished, IngestError, Ingested, ingest};
pub use ingest_tables::ingest_tables;
#[doc(hidden)]
pub use listening::Listening;
pub use plan::{CollectError, Plan};
pub use rebuild::rebuild;
pub use rebuilt::{Again, Compared, Rebuilt};
pub use refused::Refused;
pub use settings::{Pace, Positions, Reach, Settings, SettingsError};
pub use snapshots::{Unclear as UnclearPosition, snapshots};
pub use status::{PositionsStatus, Status, VenueState, VenueStatus};
pub use whose::{UnknownExchange, Whose};
#[doc(hidden)]
pub use world::{Reply, World};
