//! Tables of the past on their way into the archive, by columns: a day of which nothing is there yet becomes files of the
//! columns as they are, and any other day goes the way of single rows ([`filing`](crate::archive::import::filing)).
//!
//! A lot is made of whole days, wherever their rows stand in the table, so that no day is looked at twice. It is there whole
//! or not at all, and so is a day.

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};

use crate::archive::ArchiveError;
use crate::archive::catalog::manifest;
use crate::archive::catalog::manifest::{Partition, SegmentEntry, Venues};
use crate::archive::compaction::compactor::{HEAVY, of_fault};
use crate::archive::coverage::sessions::ImportedSession;
use crate::archive::import::filing::{Filed, Filing, Kind};
use crate::archive::import::pages::Pages;
use crate::archive::import::tabled::{Sound, Tabled, partition};
use crate::archive::import::tabled_bars::BarTable;
use crate::archive::import::tabled_interest::InterestTable;
use crate::archive::import::tabled_orders::OrderTable;
use crate::archive::rows::orders::OrderRow;
use crate::archive::rows::positions::PositionRow;
use crate::archive::rows::row::Row;
use crate::archive::segment::parquet::MOST;
use crate::archive::write_store::WriteStore;
use crate::model::Millis;

/// Rows that are there together.
const LOT: usize = 250_000;
/// Rows between two looks whether to go on.
const LOOK: usize = 1 << 14;

/// Tables of the past.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// Liquidation orders.
    pub orders: OrderTable,
    /// Closed price bars.
    pub bars: BarTable,
    /// Readings of open interest.
    pub open_interest: InterestTable,
    /// Positions of single accounts, whole snapshots of them.
    pub positions: Vec<PositionRow>,
}

impl Tables {
    /// How many rows there are.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.orders.len() + self.bars.len() + self.open_interest.len() + self.positions.len()
    }
}

/// Implements `Writer::file_tables`.
pub(crate) fn file_tables(
    writer: &mut WriteStore,
    tables: Tables,
    told: &[ImportedSession],
    until: Millis,
    goes_on: &mut dyn FnMut(usize) -> bool,
) -> Result<(Filed, bool), ArchiveError> {
    let done = Cell::new(0);
    let mut asked = || goes_on(done.get());
    let mut nobody = |_, _: &_| ();
    let filing = Filing::begin(writer, told, until, &mut asked, &mut nobody)?;
    let mut filing = Filings {
        filing,
        done: &done,
        gathered: 0,
        told,
        reached: None,
        kept: Filed::default(),
    };
    let whole = filing.all(tables, told);
    let Filings { filing, kept, .. } = filing;
    Ok(filing.end(whole)?.map_or((kept, false), |all| (all, true)))
}

/// The rows of each partition, and the partitions in which some are of which only a look at the row says that they are sound.
type Divided = (BTreeMap<Partition, Vec<usize>>, BTreeSet<Partition>);

/// A filing of tables under way.
struct Filings<'a> {
    filing: Filing<'a>,
    /// Rows that are done with.
    done: &'a Cell<usize>,
    /// Rows since the last lot.
    gathered: usize,
    /// Of which time the orders tell.
    told: &'a [ImportedSession],
    /// Up to the end of which day orders are done with.
    reached: Option<Millis>,
    /// What is there by the last lot.
    kept: Filed,
}

impl Filings<'_> {
    /// Gives whether it came to the end.
    fn all(&mut self, tables: Tables, told: &[ImportedSession]) -> Result<bool, ArchiveError> {
        let went_on = self.table(&tables.orders, |open| &mut open.orders)?
            && self.table(&tables.bars, |open| &mut open.bars)?
            && self.table(&tables.open_interest, |open| &mut open.open_interest)?
            && self
                .filing
                .kind(tables.positions, |open| &mut open.positions)?
            && (self.filing.goes_on)();
        if went_on {
            self.filing.commit(told)?;
        }
        Ok(went_on)
    }

    fn table<T: Tabled>(&mut self, table: &T, open: Kind<T::Row>) -> Result<bool, ArchiveError> {
        if table.len() == 0 {
            return Ok(true);
        }
        let names = table.names();
        let Some((partitions, unsure)) = self.divided(table, &names) else {
            return Ok(false);
        };
        let mut pages = Pages::new().map_err(|fault| of_fault(self.filing.writer.path(), fault))?;
        for (partition, mut rows) in partitions {
            if !(self.filing.goes_on)() {
                return Ok(false);
            }
            let (plain, count) = (!unsure.contains(&partition), rows.len());
            let plain = plain
                && partition.day.end() <= self.filing.until
                && !self.has::<T::Row>(partition)?
                && table.arrange(&names, &mut rows);
            let went_on = if plain {
                self.columns(&mut pages, table, partition, &rows)?
            } else {
                rows.sort_unstable();
                self.rows(table, partition, &rows, open)?
            };
            if !went_on {
                return Ok(false);
            }
            self.done.set(self.done.get() + count);
            self.gathered += count;
            if T::Row::TABLE == OrderRow::TABLE {
                self.reached = Some(partition.day.end());
            }
            if self.gathered >= LOT {
                self.lot()?;
            }
        }
        Ok(true)
    }

    fn lot(&mut self) -> Result<(), ArchiveError> {
        self.gathered = 0;
        let told = self.reached.into_iter().flat_map(|reached| {
            let begun = self.told.iter().filter(move |told| told.start < reached);
            begun.map(move |told| ImportedSession {
                end: told.end.min(reached),
                ..told.clone()
            })
        });
        self.filing.commit(&told.collect::<Vec<_>>())?;
        self.kept = self.filing.filed.clone();
        Ok(())
    }

    /// The sound rows by their partitions; hands back the others. `None` where it is enough.
    fn divided<T: Tabled>(&mut self, table: &T, names: &Sound) -> Option<Divided> {
        let mut places: BTreeMap<Partition, usize> = BTreeMap::new();
        let mut divided: Vec<Vec<usize>> = Vec::new();
        let mut unsure = BTreeSet::new();
        let mut latest: Option<(Partition, usize)> = None;
        for row in 0..table.len() {
            if row % LOOK == LOOK - 1 && !(self.filing.goes_on)() {
                return None;
            }
            let Some(of) = partition(table, row) else {
                continue;
            };
            if !table.is_sound(names, row) {
                if let Some(Err((column, message))) = table.row(row).map(|made| made.check()) {
                    self.filing.hand_back::<T::Row>(row, column, message, false);
                    self.done.set(self.done.get() + 1);
                    continue;
                }
                unsure.insert(of);
            }
            // Rows of a day stand together, most of them.
            let number = match latest {
                Some((partition, number)) if partition == of => number,
                _ => *places.entry(of).or_insert(divided.len()),
            };
            latest = Some((of, number));
            match divided.get_mut(number) {
                Some(rows) => rows.push(row),
                None => divided.push(vec![row]),
            }
        }
        let mut rows_of = |number: usize| divided.get_mut(number).map(std::mem::take);
        let partitions = places
            .into_iter()
            .filter_map(|(partition, number)| Some((partition, rows_of(number)?)));
        Some((partitions.collect(), unsure))
    }

    /// Whether anything of a partition is or was there.
    fn has<R: Row>(&self, partition: Partition) -> Result<bool, ArchiveError> {
        self.filing.writer.store.ask(|journal| {
            let (start, end) = (partition.day.start(), partition.day.end());
            Ok(manifest::has(journal, R::TABLE, partition)?
                || crate::archive::journal::database::has_within::<R>(journal, start, end)?)
        })
    }

    /// Takes rows of a partition one by one, so many at a time; gives whether it came to the end.
    fn rows<T: Tabled>(
        &mut self,
        table: &T,
        partition: Partition,
        rows: &[usize],
        open: Kind<T::Row>,
    ) -> Result<bool, ArchiveError> {
        for (number, rows) in rows.chunks(LOT).enumerate() {
            // What comes first has to be there when the next are held against it.
            if number > 0 {
                self.lot()?;
            }
            let rows = rows.iter();
            let rows = rows.filter_map(|row| Some((*row, table.row(*row)?)));
            if !self.filing.partition(partition, rows.collect(), open)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Makes files of rows of a partition of which nothing is there; gives whether it came to the end.
    fn columns<T: Tabled>(
        &mut self,
        pages: &mut Pages<T>,
        table: &T,
        partition: Partition,
        rows: &[usize],
    ) -> Result<bool, ArchiveError> {
        self.filing.filed.new += u64::try_from(rows.len()).unwrap_or(u64::MAX);
        for rows in lots(table, rows) {
            if !(self.filing.goes_on)() {
                return Ok(false);
            }
            self.note(table, partition, &rows);
            let (relative, path) = self.filing.named::<T::Row>(partition);
            let bytes = pages
                .bytes(table, partition, &rows)
                .map_err(|fault| of_fault(&path, fault))?;
            let times = || {
                let times = table.timestamps();
                rows.iter().filter_map(|row| times.get(*row).copied())
            };
            let ends = times().min().zip(times().max()).unwrap_or_default();
            let part =
                SegmentEntry::holding::<T::Row>(rows.len(), ends, partition, &relative, &bytes);
            let venues = venues(table, &rows);
            self.filing.part(part, venues, relative, bytes)?;
        }
        Ok(true)
    }

    /// Takes note of rows of a partition.
    fn note<T: Tabled>(&mut self, table: &T, partition: Partition, rows: &[usize]) {
        let times = table.timestamps();
        let ends = |row: &usize| times.get(*row).map(|at| at.on(partition.interval));
        if let Some(newest) = rows.iter().filter_map(ends).max() {
            self.filing.noted.take_newest(newest);
        }
        // Only bars have a length.
        if !T::Row::HAS_INTERVAL {
            return;
        }
        let coins = table.coins();
        let of = |row: &usize| coins.codes().get(*row);
        for rows in rows.chunk_by(|one, other| of(one) == of(other)) {
            let coin = rows.first().and_then(|row| coins.get(*row));
            let first = rows.iter().filter_map(ends).min();
            let last = rows.iter().filter_map(ends).max();
            if let (Some(coin), Some(first), Some(last)) = (coin, first, last) {
                self.filing.noted.take_coin(coin, first, last);
            }
        }
    }
}

/// Rows as they are divided into files, as [`filing`](crate::archive::import::filing) divides them.
fn lots<T: Tabled>(table: &T, rows: &[usize]) -> Vec<Vec<usize>> {
    if u64::try_from(rows.len()).is_ok_and(|rows| rows <= HEAVY) {
        return vec![rows.to_vec()];
    }
    let exchanges = table.exchanges();
    let mut apart: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for row in rows {
        let exchange = exchanges.get(*row).unwrap_or_default();
        apart.entry(exchange).or_default().push(*row);
    }
    let lots = apart.values();
    lots.flat_map(|rows| rows.chunks(MOST).map(<[usize]>::to_vec))
        .collect()
}

/// The exchanges of rows, each with how many are its and the time of the last.
fn venues<T: Tabled>(table: &T, rows: &[usize]) -> Venues {
    let (exchanges, times) = (table.exchanges(), table.timestamps());
    let mut met: Vec<(i64, Millis)> = vec![(0, Millis(i64::MIN)); exchanges.names().len()];
    for row in rows {
        let code = exchanges.codes().get(*row).copied().unwrap_or_default();
        if let (Some(venue), Some(at)) = (met.get_mut(code as usize), times.get(*row)) {
            venue.0 += 1;
            venue.1 = venue.1.max(*at);
        }
    }
    let names = exchanges.names().iter().cloned().zip(met);
    names.filter(|(_, venue)| venue.0 > 0).collect()
}
