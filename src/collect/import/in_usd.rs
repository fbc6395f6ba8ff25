//! Readings of open interest in USD on their way from files into an archive, which keeps coins.
//!
//! What a coin was worth is told by whoever knows the archive's bars. Readings of several files are brought to coins together,
//! so that the bars of a time are read once for all of them, and so many at a time.

use crate::feeds::dumps::RowReading;
use crate::model::NotInCoins;

/// Readings that are brought to coins together.
const TOGETHER: usize = 50_000;

/// Readings of files in coins, or why one is not.
pub type FilesInCoins = Vec<Vec<Result<RowReading, NotInCoins>>>;

/// Brings the readings of files to coins, each file's in their order; `None` where it is told that it is enough. A sentence where
/// the archive's bars cannot be read.
pub type ToCoins<'a> = dyn FnMut(Vec<Vec<RowReading>>, &mut dyn FnMut() -> bool) -> Result<Option<FilesInCoins>, String>
    + 'a;

/// Readings of a file, and the line of each.
#[derive(Debug, Default)]
struct OfFile {
    number: usize,
    rows: Vec<RowReading>,
    lines: Vec<u64>,
}

/// Readings of a file in coins, or why one is not, each with its line.
#[derive(Debug)]
pub(crate) struct Brought {
    pub(crate) file: usize,
    pub(crate) rows: Vec<(u64, Result<RowReading, NotInCoins>)>,
}

/// Readings in USD, and where each stood.
#[derive(Debug, Default)]
pub(crate) struct InUsd {
    files: Vec<OfFile>,
    count: usize,
    /// The last file of which readings were USD.
    known: Option<usize>,
}

impl InUsd {
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Whether there are as many as are brought to coins together.
    pub(crate) fn are_many(&self) -> bool {
        self.count >= TOGETHER
    }

    /// The files of which there are readings.
    pub(crate) fn files(&self) -> impl Iterator<Item = usize> {
        self.files.iter().map(|file| file.number)
    }

    pub(crate) fn add(&mut self, row: RowReading, (number, line): (usize, u64)) {
        self.count += 1;
        match self.files.last_mut() {
            Some(file) if file.number == number => {
                file.rows.push(row);
                file.lines.push(line);
            }
            _ => self.files.push(OfFile {
                number,
                rows: vec![row],
                lines: vec![line],
            }),
        }
    }

    /// The readings in coins; `None` where it was told that it is enough.
    pub(crate) fn brought(
        &mut self,
        to_coins: &mut ToCoins<'_>,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Brought>>, (usize, String)> {
        self.count = 0;
        let files = std::mem::take(&mut self.files);
        let first = files.first().map_or(0, |file| file.number);
        let (rows, places): (Vec<_>, Vec<_>) = files
            .into_iter()
            .map(|file| (file.rows, (file.number, file.lines)))
            .unzip();
        let made = to_coins(rows, goes_on).map_err(|why| (first, why))?;
        let brought = made.map(|made| {
            let files = made.into_iter().zip(places);
            let files = files.map(|(rows, (file, lines))| Brought {
                file,
                rows: lines.into_iter().zip(rows).collect(),
            });
            files.collect()
        });
        Ok(brought)
    }

    /// Why the readings of a file are not USD: most of those of which it can be told are implausible, and none before was not.
    pub(crate) fn fault_of(&mut self, brought: &Brought) -> Option<String> {
        if self.known == Some(brought.file) {
            return None;
        }
        let mut implausible = brought.rows.iter().filter_map(|(_, row)| match row {
            Err(NotInCoins::Implausible(why)) => Some(why),
            _ => None,
        });
        let first = implausible.next();
        let count = implausible.count() + usize::from(first.is_some());
        let plausible = brought.rows.iter().filter(|(_, row)| row.is_ok()).count();
        if count > plausible {
            return first.cloned();
        }
        if plausible > 0 {
            self.known = Some(brought.file);
        }
        None
    }
}
