//! Retraction: removes the rows of a doubtful time, in which the unit check failed.
//!
//! The doubtful time is backfilled afterwards. The backfilled orders may have other dedupe keys than the removed rows,
//! so without the removal both versions would be stored.

use std::collections::BTreeMap;

use crate::archive::{
    Archive, ArchiveError, CommitError, DayCorrection, Filter, GapCause, GapState, Writer,
};
use crate::collect::backfill::backfill::MARGIN;
use crate::collect::quality::unit_check::UnitCheck;
use crate::collect::venue_tasks::VenueTasks;
use crate::model::Millis;

/// The start of the UTC day of an instant.
pub(crate) fn day_of(at: Millis) -> Millis {
    Millis(at.0.div_euclid(Millis::DAY).saturating_mul(Millis::DAY))
}

/// A time range with doubtful rows, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DoubtfulTime {
    start: Millis,
    end: Millis,
    /// Whether the gap of this time is neither recovered nor lost.
    is_open: bool,
}

impl DoubtfulTime {
    /// Whether a time of receipt lies in this time range.
    pub(crate) fn contains(self, received_at: Millis) -> bool {
        self.start <= received_at && received_at <= self.end
    }
}

/// The doubtful times of an exchange that are recorded in an archive.
pub(crate) fn doubtful_times(
    archive: &Archive,
    exchange: &str,
) -> Result<Vec<DoubtfulTime>, ArchiveError> {
    let (start, end) = (Millis(0), Millis(i64::MAX));
    let mut doubtful = archive.gaps(start, end)?;
    doubtful.retain(|gap| gap.exchange == exchange && gap.cause == GapCause::Doubtful);
    let statuses = archive.gap_statuses(start, end, None)?;
    Ok(statuses
        .into_iter()
        .filter(|status| {
            doubtful.iter().any(|gap| {
                (&gap.exchange, gap.start, gap.end, &gap.reason)
                    == (&status.exchange, status.start, status.end, &status.reason)
            })
        })
        .map(|gap| DoubtfulTime {
            start: gap.start,
            end: gap.end,
            is_open: gap.state == GapState::Open,
        })
        .collect())
}

/// The result of a retraction.
#[derive(Clone, Copy, Debug)]
struct Retracted {
    rows: usize,
    /// The earliest event time of a removed row, or `start` if that is earlier.
    first: Millis,
    /// Start of the doubtful time.
    start: Millis,
}

/// Removes the rows received in doubtful times with unsettled gaps. Returns `None` if there are no such times.
///
/// `reach` is the maximum age of an event at its receipt, in milliseconds.
fn retract(
    writer: &mut Writer,
    exchange: &str,
    reach: i64,
) -> Result<Option<Retracted>, ArchiveError> {
    let mut open = doubtful_times(writer, exchange)?;
    open.retain(|time| time.is_open);
    let Some(start) = open.iter().map(|time| time.start).min() else {
        return Ok(None);
    };
    let filter = Filter {
        exchange: Some(exchange.to_owned()),
        start: Some(start.back(reach)),
        ..Filter::default()
    };
    let mut days: BTreeMap<Millis, DayCorrection> = BTreeMap::new();
    let mut retracted = Retracted {
        rows: 0,
        first: start,
        start,
    };
    for row in writer.orders(&filter)?.rows {
        if !open.iter().any(|time| time.contains(row.received_at)) {
            continue;
        }
        let at = row.order.timestamp;
        retracted.rows += 1;
        retracted.first = retracted.first.min(at);
        let revision = days.entry(day_of(at)).or_default();
        revision.removed.push((row.order.exchange, row.dedupe_key));
    }
    for (day, revision) in days {
        writer.supersede(day, &revision)?;
    }
    Ok(Some(retracted))
}

/// Removes the rows of an exchange that were received in doubtful times with unsettled gaps. Returns once they are
/// removed.
pub(crate) async fn retract_doubtful(tasks: &VenueTasks) {
    if !UnitCheck::new(tasks).is_needed() {
        return;
    }
    let context = &tasks.context;
    let name = context.name();
    let margin = context.lateness().max(MARGIN);
    let limit = context.settings.backfill_limit();
    let reach = limit.unwrap_or(Millis::DAY.max(context.venue.look_back()));
    let reach = reach.saturating_add(margin);
    // The gaps must be in the archive before the rows are removed.
    context.delivery.flush().await;
    let work = move |writer: &mut Writer| retract(writer, name, reach);
    let retracted = loop {
        match context.delivery.change(work).await {
            Ok(done) => break done,
            Err(CommitError::Stopped) => return,
            Err(fault) => {
                context.trouble(format!("doubtful rows are not retracted yet: {fault}"));
                context.delivery.pause().await;
            }
        }
    };
    let Some(Retracted { rows, first, start }) = retracted else {
        return;
    };
    tasks.intake.forget_all();
    log::warn!(
        target: "liqdata::feeds",
        "{name}: {rows} orders are retracted, because their unit is doubtful"
    );
    // A removed row may be older than the time that the backfill requests, because an earlier backfill stored it.
    // Therefore, a gap is recorded from the first removed row on.
    if first < start.back(margin) {
        let reason = "rows with a doubtful unit were retracted";
        tasks.intake.coverage.gap(first, start, reason);
    }
}
