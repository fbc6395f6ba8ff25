//! Parameters of a custom liquidation model, chosen in Python.

use pyo3::prelude::*;

use crate::model::Model;
use crate::python::error::bad_query;
use crate::{contract, engine, model};

/// Checked parameters of a custom model.
#[pyclass(frozen, module = "liqdata._core")]
pub(crate) struct Specification {
    own: model::Specification,
}

impl Specification {
    /// The checked parameters.
    pub(crate) fn own(&self) -> &model::Specification {
        &self.own
    }
}

#[pymethods]
impl Specification {
    /// Parses the parameters in `json`. Parameters that it omits have their defaults.
    #[new]
    fn new(py: Python<'_>, json: &str) -> PyResult<Self> {
        let own =
            contract::specification(json.as_bytes()).map_err(|refusal| bad_query(py, &refusal))?;
        Ok(Self { own })
    }

    /// The allowed values of a parameter.
    #[staticmethod]
    fn allowed(name: &str) -> &'static str {
        model::Specification::allowed(name)
    }

    /// Returns a digest of all parameters that affect an estimated value.
    fn version(&self) -> String {
        engine::version(Some(&self.own), self.own.view())
    }

    /// Returns the number (2 or 3) of the API's model that reports the same kind of value.
    fn view(&self) -> i64 {
        self.own.view().number()
    }

    /// Returns all parameters with defaults filled in: leverages, weights, clocks, entries, fine bin width, phi0 and
    /// kappa0.
    #[expect(
        clippy::type_complexity,
        reason = "a tuple that Python takes apart at once"
    )]
    fn resolved(&self) -> (Vec<f64>, Vec<f64>, Vec<(f64, f64)>, u8, f64, f64, f64) {
        let found = engine::Parameters::of(Some(&self.own), "BTC");
        (
            found.tiers.iter().map(|tier| tier.leverage).collect(),
            found.tiers.iter().map(|tier| tier.weight).collect(),
            found
                .clocks
                .iter()
                .map(|clock| (clock.share, clock.per_day))
                .collect(),
            found.entries.get(),
            found.grid.h,
            found.phi0,
            found.kappa,
        )
    }
}

/// Returns the version of a model of the API, 2 or 3.
#[pyfunction]
pub(crate) fn model_version(number: i64) -> String {
    let model = match number {
        3 => Model::Expected,
        _ => Model::Exposure,
    };
    engine::version(None, model)
}
