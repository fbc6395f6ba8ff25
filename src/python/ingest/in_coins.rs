//! Converts open interest in USD to coins at the prices of an archive.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use pyo3::prelude::*;

use crate::archive::ArchiveError;
use crate::collect::FilesInCoins;
use crate::engine::OpenInterestUnit;
use crate::market::{CoinReading, PriceHistory};
use crate::model::ObservedOpenInterest;
use crate::python::error;

/// The prices of the archive at `path`, read once at the first conversion.
pub(crate) struct ArchivePrices {
    path: PathBuf,
    known: Mutex<Option<PriceHistory>>,
}

impl ArchivePrices {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self {
            path,
            known: Mutex::new(None),
        }
    }

    /// Converts open-interest readings in USD to coins, or checks readings in coins.
    pub(crate) fn priced(
        &self,
        py: Python<'_>,
        rows: Vec<ObservedOpenInterest>,
        unit: OpenInterestUnit,
    ) -> PyResult<Vec<CoinReading>> {
        let mut raised = None;
        let mut goes_on = || {
            raised = Python::attach(|py| py.check_signals().err());
            raised.is_none()
        };
        let made = py.detach(|| self.all_in_coins(vec![rows], unit, &mut goes_on));
        if let Some(raised) = raised {
            return Err(raised);
        }
        let made = made.map_err(|fault| error::archive(py, &fault))?;
        Ok(made.into_iter().flatten().flatten().collect())
    }

    /// Converts the open-interest readings of several files to coins, or checks those in coins. `None` once `goes_on`
    /// returns false.
    pub(crate) fn of_files(
        &self,
        files: Vec<Vec<ObservedOpenInterest>>,
        in_usd: bool,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<FilesInCoins>, String> {
        let unit = if in_usd {
            OpenInterestUnit::Usd
        } else {
            OpenInterestUnit::Base
        };
        let made = self.all_in_coins(files, unit, goes_on);
        made.map_err(|fault| fault.to_string())
    }

    fn all_in_coins(
        &self,
        files: Vec<Vec<ObservedOpenInterest>>,
        unit: OpenInterestUnit,
        goes_on: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<Vec<CoinReading>>>, ArchiveError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = &mut *known;
        let prices = match known {
            Some(prices) => prices,
            None => known.insert(PriceHistory::of(&self.path)?),
        };
        prices.in_coins(files, unit, goes_on)
    }
}
