//! What the archive says of the last day's listening, read now and then to be shown beside how it goes.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::archive::{Archive, ArchiveError, VenueCoverage};
use crate::collect::clock::AdjustedClock;
use crate::collect::settings::{Settings, span};
use crate::collect::venue_tasks::VenueTasks;
use crate::model::Millis;

/// Least time between two looks.
const EACH: Duration = Duration::from_secs(1);

/// Reads the coverage of the last 24 hours again and again, for every venue.
pub(crate) async fn watch(
    venues: Vec<Arc<VenueTasks>>,
    path: PathBuf,
    settings: Arc<Settings>,
    clock: Arc<AdjustedClock>,
) {
    let each = (span(settings.pace.seen) * 2).max(EACH);
    let mut archive = None;
    loop {
        tokio::time::sleep(each).await;
        let (known, path, now) = (archive.take(), path.clone(), clock.now());
        let look = tokio::task::spawn_blocking(move || look(known, path, now));
        let Ok(Ok((kept, covered))) = look.await else {
            continue;
        };
        archive = Some(kept);
        for one in covered {
            let venue = venues
                .iter()
                .find(|it| it.intake.context.name() == one.exchange);
            if let Some(venue) = venue {
                venue.intake.context.board.notes().covered = Some(one);
            }
        }
    }
}

type Look = (Archive, Vec<VenueCoverage>);

fn look(known: Option<Archive>, path: PathBuf, now: Millis) -> Result<Look, ArchiveError> {
    let archive = match known {
        Some(archive) => archive,
        None => Archive::read(path)?,
    };
    // How many orders there are is known without.
    let none = BTreeMap::new();
    let covered = archive.coverage_of(now.back(Millis::DAY), now.on(1), &none, None)?;
    Ok((archive, covered))
}
