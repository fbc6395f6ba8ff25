//! Computes on the arrays of a Python liquidation map or heatmap, by the functions of the engine.
#![expect(
    clippy::needless_pass_by_value,
    reason = "arguments of Python come by value"
)]

use numpy::{
    AllowTypeChange, IntoPyArray, PyArray1, PyArray2, PyArrayLike1, PyArrayLike2, PyArrayMethods,
    PyReadonlyArray2,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

use crate::contract::{ReplyShape, RowShape};
use crate::engine::{self, FitInterval};
use crate::model::{
    BinBounds, EstimateLabels, FineCells, HeatmapGrid, LiquidationMap, MapBin, MapCluster, Millis,
    Side, SideUsd,
};
use crate::python::rows::columns::Columns;
use crate::python::rows::rows::Table;

type Doubles<'py> = PyArrayLike1<'py, f64, AllowTypeChange>;
type Ends<'py> = [Bound<'py, PyArray2<f64>>; 2];

/// The grid of a map with its own price bins: price of bin 0, width in log price, first bin, first bin without longs, and
/// USD by leverage and bin.
type FineTuple<'py> = (f64, f64, i64, i64, PyArrayLike2<'py, f64, AllowTypeChange>);

/// USD that a map does not show.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Outside {
    long_usd: f64,
    short_usd: f64,
}

/// The attributes of a Python liquidation map that the engine reads.
#[derive(FromPyObject)]
pub(crate) struct MapArrays<'py> {
    current_price: f64,
    bin_width: f64,
    leverages: PyArrayLike1<'py, i64, AllowTypeChange>,
    prices: Doubles<'py>,
    tiers: PyArrayLike2<'py, f64, AllowTypeChange>,
    total: Doubles<'py>,
    fine: Option<FineTuple<'py>>,
    outside: Option<Outside>,
    low: Option<Doubles<'py>>,
    high: Option<Doubles<'py>>,
}

fn doubles(cells: &Doubles<'_>) -> Vec<f64> {
    cells.as_array().iter().copied().collect()
}

impl MapArrays<'_> {
    /// The map; `shorts` says which bins are of shorts.
    fn map(&self, shorts: &PyArrayLike1<'_, bool, AllowTypeChange>) -> LiquidationMap {
        let sides = shorts.as_array();
        let bins = doubles(&self.prices)
            .into_iter()
            .zip(doubles(&self.total))
            .zip(&sides)
            .map(|((price, total), short)| MapBin {
                price,
                side: if *short { Side::Short } else { Side::Long },
                total,
            });
        let fine = self.fine.as_ref();
        let bounds = self.low.as_ref().zip(self.high.as_ref());
        LiquidationMap {
            symbol: String::new(),
            range: String::new(),
            updated_at: Millis(0),
            current_price: self.current_price,
            bin_width: self.bin_width,
            leverages: self.leverages.as_array().iter().copied().collect(),
            bins: bins.collect(),
            tiers: self.tiers.as_array().iter().copied().collect(),
            measured: None,
            labels: EstimateLabels::default(),
            outside: self.outside.as_ref().map(|usd| SideUsd {
                long_usd: usd.long_usd,
                short_usd: usd.short_usd,
            }),
            within: None,
            fine: fine.map(|(p0, h, first, longs_end, usd)| FineCells {
                p0: *p0,
                h: *h,
                first: *first,
                longs_end: *longs_end,
                usd: usd.as_array().iter().copied().collect(),
            }),
            bounds: bounds.map(|(low, high)| BinBounds {
                low: doubles(low),
                high: doubles(high),
            }),
            clusters: None,
            exact_share: None,
            exact: None,
        }
    }
}

/// USD of longs and of shorts by leverage; else the side that the map does not have there, and its missing USD.
type Swept = (Option<[Vec<f64>; 2]>, Option<(&'static str, f64)>);

/// Returns the USD of longs and of shorts that a price move crosses, by leverage.
///
/// If the map does not have the USD there, returns the side and the missing USD instead.
#[pyfunction]
pub(crate) fn swept(
    map: MapArrays<'_>,
    shorts: PyArrayLike1<'_, bool, AllowTypeChange>,
    low: f64,
    high: f64,
) -> Swept {
    match engine::swept(&map.map(&shorts), low, high) {
        Ok(usd) => (Some(usd), None),
        Err(beyond) => (None, Some((beyond.side.lower(), beyond.missing))),
    }
}

/// Returns the clusters of a liquidation map, largest first.
#[pyfunction]
pub(crate) fn map_clusters(
    map: MapArrays<'_>,
    shorts: PyArrayLike1<'_, bool, AllowTypeChange>,
) -> Table {
    Columns::from(engine::map_clusters(&map.map(&shorts))).into()
}

/// Returns the columns of clusters as JSON, in the form that `/api` uses.
#[pyfunction]
pub(crate) fn cluster_columns() -> PyResult<String> {
    let columns = ReplyShape::Rows(RowShape::of::<MapCluster>()).members();
    serde_json::to_string(&columns).map_err(|failure| PyTypeError::new_err(failure.to_string()))
}

/// The factors of the interval of a fit, as `explain` has them.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Interval {
    share: f64,
    ends: Vec<f64>,
    long: Vec<Option<[f64; 2]>>,
    short: Vec<Option<[f64; 2]>>,
}

/// Returns the low and the high ends of the intervals of the cells of one side of a heatmap.
///
/// `distances` are shares of the price, negative on the other side of the price.
#[pyfunction]
pub(crate) fn interval_ends<'py>(
    py: Python<'py>,
    interval: Interval,
    side: &str,
    distances: PyReadonlyArray2<'py, f64>,
    cells: PyReadonlyArray2<'py, f64>,
) -> PyResult<Ends<'py>> {
    let side = Side::read(side).ok_or_else(|| PyTypeError::new_err("side: long or short"))?;
    let interval = FitInterval {
        share: interval.share,
        ends: interval.ends,
        long: interval.long,
        short: interval.short,
    };
    let (distances, cells) = (distances.as_array(), cells.as_array());
    let shape = [cells.nrows(), cells.ncols()];
    let both = distances.iter().zip(&cells);
    let (low, high): (Vec<f64>, Vec<f64>) = both
        .map(|(distance, usd)| interval.ends(side, *distance, *usd).into())
        .unzip();
    let of = |ends: Vec<f64>| -> PyResult<Bound<'py, PyArray2<f64>>> {
        let flat: Bound<'py, PyArray1<f64>> = ends.into_pyarray(py);
        flat.reshape(shape)
    };
    Ok([of(low)?, of(high)?])
}

/// Returns the length of a column in milliseconds, by the ends of all columns. `None` if they do not show it.
#[pyfunction]
pub(crate) fn column_step(times: PyArrayLike1<'_, i64, AllowTypeChange>) -> Option<i64> {
    let ends: Vec<Millis> = times.as_array().iter().copied().map(Millis).collect();
    HeatmapGrid::column_step(&ends)
}
