//! The time ranges for which an archive may lack orders.

use crate::archive::{Archive, ArchiveError};
use crate::collect::venue_context::VenueContext;
use crate::model::{Millis, TimeRange};

/// The ranges to request at the start: unsettled gaps, and the time since the last covered instant.
///
/// The ranges reach back as far as the settings allow. Times that are too old for the exchange are included, so that
/// they are recorded as lost.
pub(crate) async fn missing_ranges(context: &VenueContext, now: Millis) -> Vec<TimeRange> {
    let limit = context.settings.backfill_limit();
    let look_back = context.venue.look_back();
    let reach = limit.unwrap_or(look_back).min(look_back);
    // A new archive has no gaps, but its backfill starts with some past orders.
    let new = limit.unwrap_or(Millis::DAY).min(look_back);
    let (furthest, forgotten) = (now.back(reach), now.back(look_back));
    let (path, name) = (context.delivery.archive.clone(), context.name());
    let read = move || -> Result<_, ArchiveError> {
        let archive = Archive::read(path)?;
        let runs = archive.coverage().sessions(Millis(0), now.on(1))?;
        let of_venue = runs.into_iter().filter(|run| run.exchange == name);
        let last_seen = of_venue.map(|run| run.seen).max();
        let mut missing = archive.coverage().open_ranges(name, furthest)?;
        match last_seen {
            Some(last_seen) => missing.push(TimeRange::new(last_seen, now)),
            None if new > 0 => missing.push(TimeRange::new(now.back(new), now)),
            None => {}
        }
        Ok(missing)
    };
    let missing = match tokio::task::spawn_blocking(read).await {
        Ok(Ok(missing)) => missing,
        Ok(Err(fault)) => {
            context.trouble(format!("the archive cannot be read: {fault}"));
            vec![TimeRange::new(now.back(new), now)]
        }
        Err(_) => vec![TimeRange::new(now.back(new), now)],
    };
    let mut parts = Vec::with_capacity(2 * missing.len());
    for TimeRange { start, end } in missing {
        parts.push(TimeRange::new(start, end.min(forgotten)));
        parts.push(TimeRange::new(start.max(furthest), end));
    }
    parts.retain(|range| !range.is_empty());
    parts
}
