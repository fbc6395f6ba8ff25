//! Open interest in USD on its way into an archive, which keeps coins: brought to them at the archive's own prices.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;

use crate::collect::FilesInCoins;
use crate::feeds::dumps::RowReading;
use crate::market::{CoinReading, PriceError, PriceHistory};
use crate::model::{NotInCoins, ObservedOpenInterest, nearest_f64};
use crate::python::archive::writer::decimal;
use crate::python::error;
use crate::python::ingest::tables;
use crate::python::runtime::imports;

/// A reading that is not brought to coins: its row, the reason, what stands there, and whether it is implausible as USD.
type Left = (usize, &'static str, String, bool);

/// The prices of the archive in a folder, which are those that it has when the first are asked for.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct ArchivePrices {
    path: PathBuf,
    known: Mutex<Option<PriceHistory>>,
}

#[pymethods]
impl ArchivePrices {
    #[new]
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            known: Mutex::new(None),
        }
    }

    /// A table of open interest in USD in coins: NaN where a reading is left, and of each of those why.
    fn in_coins<'py>(
        &self,
        py: Python<'py>,
        open_interest: &Bound<'py, PyAny>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Vec<Left>)> {
        imports::numpy(py)?;
        let (rows, unit) = tables::open_interest(open_interest, None)?;
        let (mut coins, mut left) = (Vec::new(), Vec::new());
        for (row, made) in self.priced(py, rows)?.into_iter().enumerate() {
            let made = made.and_then(|made| {
                let held = decimal(unit.column(), made.open_interest);
                held.map_err(NotInCoins::NoAmount)?;
                Ok(made.open_interest)
            });
            coins.push(*made.as_ref().unwrap_or(&f64::NAN));
            if let Err(why) = made {
                let is_implausible = matches!(why, NotInCoins::Implausible(_));
                left.push((row, why.reason(), why.why().to_owned(), is_implausible));
            }
        }
        Ok((coins.into_pyarray(py), left))
    }
}

impl ArchivePrices {
    /// Readings in coins.
    pub(crate) fn priced(
        &self,
        py: Python<'_>,
        rows: Vec<ObservedOpenInterest>,
    ) -> PyResult<Vec<CoinReading>> {
        let mut raised = None;
        let mut goes_on = || {
            raised = Python::attach(|py| py.check_signals().err());
            raised.is_none()
        };
        let made = py.detach(|| self.all_in_coins(vec![rows], &mut goes_on));
        if let Some(raised) = raised {
            return Err(raised);
        }
        let made = made.map_err(|fault| match fault {
            PriceError::Archive(fault) => error::archive(py, &fault),
            PriceError::Bars(fault) => error::bad_table(py, &fault),
        })?;
        Ok(made.into_iter().flatten().flatten().collect())
    }

    /// Readings of files in coins; `None` where `goes_on` says that it is enough.
    pub(crate) fn of_files(
        &self,
        files: Vec<Vec<RowReading>>,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<FilesInCoins>, String> {
        let observed = |row: &RowReading| ObservedOpenInterest {
            symbol: row.coin.clone(),
            exchange: Some(row.exchange.clone()),
            timestamp: row.timestamp,
            open_interest: nearest_f64(row.open_interest),
        };
        let observed = files.iter().map(|rows| rows.iter().map(observed).collect());
        let made = self.all_in_coins(observed.collect(), goes_on);
        let Some(made) = made.map_err(|fault| fault.to_string())? else {
            return Ok(None);
        };
        let in_coins = |(made, row): (CoinReading, RowReading)| {
            let made = decimal("open_interest", made?.open_interest);
            Ok(RowReading {
                open_interest: made.map_err(NotInCoins::NoAmount)?,
                ..row
            })
        };
        let files = made.into_iter().zip(files);
        let files = files.map(|(made, rows)| made.into_iter().zip(rows).map(in_coins).collect());
        Ok(Some(files.collect()))
    }

    fn all_in_coins(
        &self,
        files: Vec<Vec<ObservedOpenInterest>>,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Vec<CoinReading>>>, PriceError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut *known;
        let prices = match known {
            Some(prices) => prices,
            None => known.insert(PriceHistory::of(&self.path)?),
        };
        prices.in_coins(files, goes_on)
    }
}
