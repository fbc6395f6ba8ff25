//! What was kept while the rows of a venue may have meant something else than they were taken for: it is told no more, before
//! that time is asked for again. Told again it may be under other keys, so both would stand side by side.

use std::collections::BTreeMap;

use crate::archive::{Archive, ArchiveError, CommitError, DayCorrection, Filter, GapState, Writer};
use crate::collect::backfill::task::MARGIN;
use crate::collect::venue_tasks::VenueTasks;
use crate::model::{Millis, MissedStretch};

/// How the reason of a gap begins in which it is in doubt what rows mean.
pub(crate) const DOUBT: &str = "its rows may mean something else";

/// When the day of an instant begins.
pub(crate) fn day_of(at: Millis) -> Millis {
    Millis(at.0.div_euclid(Millis::DAY).saturating_mul(Millis::DAY))
}

/// A time of doubt, both of its ends in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Doubted {
    start: Millis,
    end: Millis,
    /// Whether it has neither been told again nor is lost.
    is_open: bool,
}

impl Doubted {
    /// Whether what was received at an instant is in doubt.
    pub(crate) fn holds(self, received_at: Millis) -> bool {
        self.start <= received_at && received_at <= self.end
    }
}

/// The times of which an archive says that what an exchange told was in doubt.
pub(crate) fn doubted(archive: &Archive, exchange: &str) -> Result<Vec<Doubted>, ArchiveError> {
    let gaps = archive.gap_statuses(Millis(0), Millis(i64::MAX), None)?;
    let of_doubt = |gap: &MissedStretch| gap.exchange == exchange && gap.reason.starts_with(DOUBT);
    Ok(gaps
        .into_iter()
        .filter(of_doubt)
        .map(|gap| Doubted {
            start: gap.start,
            end: gap.end,
            is_open: gap.state == GapState::Open,
        })
        .collect())
}

/// What is told no more.
#[derive(Clone, Copy, Debug)]
struct Withdrawn {
    rows: usize,
    /// When the first of them happened, if that was before the doubt began.
    first: Millis,
    /// When the doubt began.
    start: Millis,
}

/// Lets nothing be told any more that was received in a time of doubt which is still open; `reach` is how long ago at most it
/// had happened. `None` where there is no such time.
fn withdraw(
    writer: &mut Writer,
    exchange: &str,
    reach: i64,
) -> Result<Option<Withdrawn>, ArchiveError> {
    let mut open = doubted(writer, exchange)?;
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
    let mut withdrawn = Withdrawn {
        rows: 0,
        first: start,
        start,
    };
    for row in writer.orders(&filter)?.rows {
        if !open.iter().any(|time| time.holds(row.received_at)) {
            continue;
        }
        let at = row.order.timestamp;
        withdrawn.rows += 1;
        withdrawn.first = withdrawn.first.min(at);
        let revision = days.entry(day_of(at)).or_default();
        revision.removed.push((row.order.exchange, row.dedupe_key));
    }
    for (day, revision) in days {
        writer.supersede(day, &revision)?;
    }
    Ok(Some(withdrawn))
}

impl VenueTasks {
    /// Returns once nothing is told any more of what was received in times of doubt that are to be asked for again.
    pub(crate) async fn withdraw_doubted(&self) {
        if !self.is_in_doubt() {
            return;
        }
        let intake = &self.intake;
        let name = intake.name();
        let margin = self.late().max(MARGIN);
        let limit = intake.settings.missed_reach();
        let reach = limit.unwrap_or(Millis::DAY.max(intake.venue.look_back()));
        let reach = reach.saturating_add(margin);
        // The gaps are on record first.
        intake.delivery.flush().await;
        let work = move |writer: &mut Writer| withdraw(writer, name, reach);
        let withdrawn = loop {
            match intake.delivery.change(work).await {
                Ok(done) => break done,
                Err(CommitError::Stopped) => return,
                Err(fault) => {
                    self.trouble(format!("what is in doubt is still told: {fault}"));
                    intake.delivery.pause().await;
                }
            }
        };
        let Some(Withdrawn { rows, first, start }) = withdrawn else {
            return;
        };
        intake.forget_all();
        log::warn!(
            target: "liqdata::feeds",
            "{name}: {rows} orders are told no more, they may mean something else"
        );
        // A back-fill may have told of longer ago than is asked for with the time of doubt.
        if first < start.back(margin) {
            intake.gap(first, start, "what was told of it may mean something else");
        }
    }
}
