//! Taking rows that are not as they were written out of the journal, and writing down what that leaves unknown.

use rusqlite::{Connection, OptionalExtension};

use super::bars::BarRow;
use super::maps::MapRow;
use super::open_interest::OpenInterestRow;
use super::orders::OrderRow;
use super::positions::PositionRow;
use super::row::Row;
use super::runs::{Gap, add_gap};
use super::sums::{COLUMN, FUNCTION};
use super::{journal, table};
use crate::model::Millis;

/// The reason of a gap that a damaged order leaves.
const LOST: &str = "damaged row";

/// Takes the rows that are not as they were written out of the journal. What an order was is not known any more, so that
/// the time between its neighbours is a gap of every exchange.
pub(super) fn let_go(journal: &Connection, now: Millis) -> rusqlite::Result<()> {
    let orders = damaged::<OrderRow>(journal)?;
    for id in &orders {
        miss(journal, *id, now)?;
    }
    delete::<OrderRow>(journal, &orders)?;
    delete::<BarRow>(journal, &damaged::<BarRow>(journal)?)?;
    delete::<OpenInterestRow>(journal, &damaged::<OpenInterestRow>(journal)?)?;
    delete::<MapRow>(journal, &damaged::<MapRow>(journal)?)?;
    delete::<PositionRow>(journal, &damaged::<PositionRow>(journal)?)
}

/// The condition that a row is as it was written.
fn is_sound<R: Row>() -> String {
    format!("{COLUMN} IS {FUNCTION}({})", table::columns::<R>())
}

fn damaged<R: Row>(journal: &Connection) -> rusqlite::Result<Vec<i64>> {
    journal
        .prepare(&format!(
            "SELECT id FROM {} NOT INDEXED WHERE NOT ({})",
            R::TABLE,
            is_sound::<R>()
        ))?
        .query_map([], |line| line.get(0))?
        .collect()
}

fn delete<R: Row>(journal: &Connection, ids: &[i64]) -> rusqlite::Result<()> {
    journal::delete::<R>(journal, ids).map(drop)
}

fn miss(journal: &Connection, id: i64, now: Millis) -> rusqlite::Result<()> {
    let sound = is_sound::<OrderRow>();
    let beside = |condition: &str| -> rusqlite::Result<Option<i64>> {
        journal
            .query_row(
                &format!(
                    "SELECT timestamp FROM orders NOT INDEXED WHERE {condition} AND {sound} LIMIT 1"
                ),
                [id],
                |line| line.get(0),
            )
            .optional()
    };
    let runs = |end: &str| -> rusqlite::Result<Option<i64>> {
        journal.query_row(&format!("SELECT {end} FROM runs"), [], |line| line.get(0))
    };
    // Where it was the first or the last, any time of listening may be its own.
    let before = match beside("id = (SELECT max(id) FROM orders WHERE id < ?1)")? {
        None => runs("min(started)")?,
        found => found,
    };
    let behind = match beside("id = (SELECT min(id) FROM orders WHERE id > ?1)")? {
        None => runs("max(seen)")?,
        found => found,
    };
    let (before, behind) = (before.or(behind), behind.or(before));
    let (Some(before), Some(behind)) = (before, behind) else {
        return Ok(());
    };
    let exchanges: Vec<String> = journal
        .prepare("SELECT exchange FROM runs UNION SELECT exchange FROM orders")?
        .query_map([], |line| line.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for exchange in exchanges {
        add_gap(
            journal,
            &Gap {
                exchange,
                start: Millis(before.min(behind)),
                end: Millis(before.max(behind)).on(1),
                reason: LOST.to_owned(),
                recorded_at: now,
            },
        )?;
    }
    Ok(())
}
