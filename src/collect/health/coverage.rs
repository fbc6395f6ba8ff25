//! Reads the coverage of the last 24 hours from the archive for the status board.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::archive::{Archive, ArchiveError, VenueCoverage};
use crate::collect::clock::AdjustedClock;
use crate::collect::settings::settings::{Settings, span};
use crate::collect::tape::tape_feed::TapeFeed;
use crate::collect::venue_tasks::VenueTasks;
use crate::feeds::hyperliquid::EXCHANGE;
use crate::model::Millis;

/// Minimum time between two reads.
const EACH: Duration = Duration::from_secs(1);

/// Periodically reads the coverage of every exchange in the last 24 hours.
pub(crate) async fn watch(
    venues: Vec<Arc<VenueTasks>>,
    tape: Option<Arc<TapeFeed>>,
    path: PathBuf,
    settings: Arc<Settings>,
    clock: Arc<AdjustedClock>,
) {
    let each = (span(settings.pace.checkpoint) * 2).max(EACH);
    let mut archive = None;
    loop {
        tokio::time::sleep(each).await;
        let (known, path, now) = (archive.take(), path.clone(), clock.now());
        let reading = tokio::task::spawn_blocking(move || read(known, path, now));
        let Ok(Ok((opened, covered))) = reading.await else {
            continue;
        };
        archive = Some(opened);
        for one in covered {
            let venue = venues.iter().find(|it| it.context.name() == one.exchange);
            if let Some(venue) = venue {
                venue.context.board.notes().covered = Some(one);
            } else if let Some(tape) = tape.as_ref().filter(|_| one.exchange == EXCHANGE) {
                tape.board.notes().covered = Some(one);
            }
        }
    }
}

type Coverage = (Archive, Vec<VenueCoverage>);

fn read(known: Option<Archive>, path: PathBuf, now: Millis) -> Result<Coverage, ArchiveError> {
    let archive = match known {
        Some(archive) => archive,
        None => Archive::read(path)?,
    };
    // The status does not show order counts, so none are read.
    let none = BTreeMap::new();
    let covered =
        archive
            .coverage()
            .by_exchange_counted(now.back(Millis::DAY), now.on(1), &none, None)?;
    Ok((archive, covered))
}
