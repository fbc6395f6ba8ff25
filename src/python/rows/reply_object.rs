//! Converts replies that are objects to Python objects, from their declared members.
//!
//! Lists and matrices become numpy arrays that own the decoded buffers.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::IntoPyObjectExt;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::contract::{Data, Datum};
use crate::model::{Side, TimeUnit, Vocabulary};
use crate::python::rows::columns::Columns;
use crate::python::rows::provenance::{Provenance, ProvenanceParts, RowRemarks, period_tuple};
use crate::python::rows::rows::{Table, times};
use crate::python::runtime::imports;

/// How the members of a reply are named in Python.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Naming {
    /// As in the contract; the reply becomes a dict.
    Contract,
    /// As fields of a Python class.
    Fields,
}

/// A reply that is an object, before its conversion.
#[derive(Debug)]
pub(crate) struct UnconvertedObject {
    pub(crate) members: Vec<Datum>,
    pub(crate) naming: Naming,
    pub(crate) provenance: Provenance,
    pub(crate) remarks: RowRemarks,
}

/// A reply that is an object.
#[pyclass(frozen, get_all, module = "liqdata._core")]
pub(crate) struct Reply {
    /// The members of the contract.
    members: Py<PyDict>,
    /// The members that only some services send.
    extensions: Py<PyDict>,
    /// The labels of an estimate.
    labels: Py<PyDict>,
    /// The explanation of an estimate.
    explain: Option<Py<PyAny>>,
    /// Of a heatmap, for each column: the row that parts longs and shorts, both amounts in this row, and the price.
    parted: Option<Py<PyAny>>,
    /// Of a map, the fine grid: price of bin 0, width of a bin, first bin, first bin without longs, USD.
    fine: Option<Py<PyAny>>,
    /// The coverage of realised totals.
    coverage: Option<Py<Table>>,
    /// How much of the period of the reply is covered.
    period: Option<Py<PyAny>>,
    /// The earlier bar that the reply omits; always `None`, because only rows have it.
    earlier: Option<Py<PyAny>>,
    /// The unit of the service's instants, if it is not milliseconds.
    time_unit: Option<&'static str>,
}

impl UnconvertedObject {
    /// Converts the reply. Runs on the caller's thread.
    pub(crate) fn into_python(self, py: Python<'_>) -> PyResult<Reply> {
        if self.naming == Naming::Fields {
            imports::numpy(py)?;
        }
        let [members, extensions, labels] = [(); 3].map(|()| PyDict::new(py));
        for Datum {
            name,
            field,
            extension,
            data,
        } in self.members
        {
            match data {
                Data::Absent => {}
                Data::Group(group) => fill(&labels, group, Naming::Fields)?,
                data => {
                    let object = if extension { &extensions } else { &members };
                    let name = match self.naming {
                        Naming::Contract => name,
                        Naming::Fields => field,
                    };
                    // An instant of a class is a datetime; in a dict it is a number, as in the contract.
                    let value = match data {
                        Data::Time(millis) if self.naming == Naming::Fields => {
                            let arguments = py.import("liqdata.calls.arguments")?;
                            arguments.call_method1("datetime_of", (millis,))?
                        }
                        data => value(py, data, self.naming)?,
                    };
                    object.set_item(name, value)?;
                }
            }
        }
        let parts = ProvenanceParts::of(&self.provenance);
        let parted = parts.sides.map(|sides| {
            let parted = (
                sides.row.into_pyarray(py),
                sides.long.into_pyarray(py),
                sides.short.into_pyarray(py),
                sides.price.into_pyarray(py),
            );
            parted.into_py_any(py)
        });
        let fine = parts.fine.map(|fine| {
            let usd = fine.usd.into_pyarray(py);
            (fine.p0, fine.h, fine.first, fine.longs_end, usd).into_py_any(py)
        });
        let loaded = |text| py.import("json")?.call_method1("loads", (text,));
        let explain: Option<Bound<'_, PyAny>> = parts.text.map(loaded).transpose()?;
        let RowRemarks {
            coverage,
            time_unit,
            period,
            ..
        } = self.remarks;
        let coverage = coverage.map(|rows| Py::new(py, Table::from(Columns::from(rows))));
        let period = period.map(|period| period_tuple(period).into_py_any(py));
        Ok(Reply {
            members: members.unbind(),
            extensions: extensions.unbind(),
            labels: labels.unbind(),
            explain: explain.map(Bound::unbind),
            parted: parted.transpose()?,
            fine: fine.transpose()?,
            coverage: coverage.transpose()?,
            period: period.transpose()?,
            earlier: None,
            time_unit: time_unit.map(TimeUnit::name),
        })
    }
}

/// Adds members to a dict; absent ones are left out.
fn fill(object: &Bound<'_, PyDict>, members: Vec<Datum>, naming: Naming) -> PyResult<()> {
    for member in members {
        let name = match naming {
            Naming::Contract => member.name,
            Naming::Fields => member.field,
        };
        if member.data != Data::Absent {
            object.set_item(name, value(object.py(), member.data, naming)?)?;
        }
    }
    Ok(())
}

fn value(py: Python<'_>, data: Data, naming: Naming) -> PyResult<Bound<'_, PyAny>> {
    Ok(match data {
        Data::Absent | Data::Null => py.None().into_bound(py),
        Data::Bool(truth) => truth.into_bound_py_any(py)?,
        Data::Int(number) | Data::Time(number) => number.into_bound_py_any(py)?,
        Data::Float(number) => number.into_bound_py_any(py)?,
        Data::Text(text) => text.into_bound_py_any(py)?,
        Data::Floats(numbers) => numbers.into_pyarray(py).into_any(),
        Data::Ints(numbers) => numbers.into_pyarray(py).into_any(),
        Data::Times(millis) => times(py, millis.into_iter()),
        Data::Sides(sides) => {
            let names = py.import("numpy")?.call_method1(
                "array",
                (Side::ALL
                    .iter()
                    .map(|side| side.lower())
                    .collect::<Vec<_>>(),),
            )?;
            let indexes = sides.iter().map(|side| i8::from(*side == Side::Short));
            names.get_item(indexes.collect::<Vec<_>>().into_pyarray(py))?
        }
        Data::Table(cells, shape) => cells.into_pyarray(py).reshape(shape)?.into_any(),
        Data::Object(members) | Data::Group(members) => {
            let object = PyDict::new(py);
            fill(&object, members, naming)?;
            object.into_any()
        }
        Data::List(values) => {
            let values: PyResult<Vec<_>> = values
                .into_iter()
                .map(|each| value(py, each, naming))
                .collect();
            PyList::new(py, values?)?.into_any()
        }
    })
}
