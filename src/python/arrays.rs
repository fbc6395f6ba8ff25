//! Grids as numpy arrays: the decoded buffer itself becomes the array.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::foreign;
use super::ground::Ground;
use super::rows::times;
use crate::api::RELATIVE;
use crate::engine::Parting;
use crate::model::{
    HeatmapGrid, LevelTier, LiquidationMap, MaxPain, Pain, Side, TierLevels, TotalsByWindow,
    WindowTotals,
};

/// The fields of a heatmap; the matrix is moved, not copied.
pub(super) fn heatmap<'py>(
    py: Python<'py>,
    map: HeatmapGrid,
    ground: &Ground,
) -> PyResult<Bound<'py, PyDict>> {
    foreign::numpy(py)?;
    let shape = [map.prices.len(), map.times.len()];
    let fields = PyDict::new(py);
    fields.set_item("symbol", map.symbol)?;
    fields.set_item("range", map.range)?;
    fields.set_item("model", map.model)?;
    fields.set_item("updated_at", map.updated_at.0)?;
    fields.set_item("current_price", map.current_price)?;
    fields.set_item("prices", map.prices.into_pyarray(py))?;
    fields.set_item("times", times(py, map.times.iter().map(|at| at.0)))?;
    fields.set_item("matrix", map.matrix.into_pyarray(py).reshape(shape)?)?;
    if let Ground::Explained(explain) = ground
        && explain.parted.len() == shape[1]
    {
        let column = |value: fn(&Parting) -> f64| {
            let column: Vec<f64> = explain.parted.iter().map(value).collect();
            column.into_pyarray(py)
        };
        let rows: Vec<i64> = explain.parted.iter().map(|parting| parting.row).collect();
        let longs = column(|parting| parting.long);
        let shorts = column(|parting| parting.short);
        let prices = column(|parting| parting.price);
        let parted = (rows.into_pyarray(py), longs, shorts, prices);
        fields.set_item("parted", parted)?;
    }
    fields.set_item("explain", explained(py, ground)?)?;
    Ok(fields)
}

/// What an estimate rests on, keys as the server spells them; `None` where a service did not say.
fn explained<'py>(py: Python<'py>, ground: &Ground) -> PyResult<Option<Bound<'py, PyAny>>> {
    let text = match ground {
        Ground::Untold => return Ok(None),
        Ground::Relative => Ok(format!(r#"{{"openInterestScale":"{RELATIVE}"}}"#)),
        Ground::Explained(explain) => serde_json::to_string(explain),
    };
    let Ok(text) = text else {
        return Ok(None);
    };
    py.import("json")?.call_method1("loads", (text,)).map(Some)
}

/// The fields of a liquidation map; `sides` as 0 for long and 1 for short.
pub(super) fn liqmap(
    py: Python<'_>,
    map: LiquidationMap,
    mut ground: Ground,
) -> PyResult<Bound<'_, PyDict>> {
    foreign::numpy(py)?;
    let shape = [map.bins.len(), map.leverages.len()];
    let tiers: Vec<f64> = map
        .tiers
        .into_iter()
        .map(|usd| if usd.is_nan() { 0.0 } else { usd })
        .collect();
    let sides: Vec<i8> = map
        .bins
        .iter()
        .map(|bin| i8::from(bin.side == Side::Short))
        .collect();
    let fields = PyDict::new(py);
    fields.set_item("symbol", map.symbol)?;
    fields.set_item("range", map.range)?;
    fields.set_item("updated_at", map.updated_at.0)?;
    fields.set_item("current_price", map.current_price)?;
    fields.set_item("bin_width", map.bin_width)?;
    fields.set_item("leverages", map.leverages.into_pyarray(py))?;
    fields.set_item(
        "prices",
        map.bins
            .iter()
            .map(|bin| bin.price)
            .collect::<Vec<_>>()
            .into_pyarray(py),
    )?;
    fields.set_item("sides", sides.into_pyarray(py))?;
    fields.set_item("tiers", tiers.into_pyarray(py).reshape(shape)?)?;
    fields.set_item(
        "total",
        map.bins
            .iter()
            .map(|bin| bin.total)
            .collect::<Vec<_>>()
            .into_pyarray(py),
    )?;
    if let Ground::Explained(explain) = &mut ground
        && let Some(fine) = explain.fine.take()
    {
        let bins = fine.bins();
        let usd = fine.usd.into_pyarray(py).reshape([shape[1], bins])?;
        let grid = (fine.grid.p0, fine.grid.h, fine.first, fine.longs_end, usd);
        fields.set_item("fine", grid)?;
    }
    fields.set_item("explain", explained(py, &ground)?)?;
    Ok(fields)
}

/// The windows as the wire spells them.
pub(super) fn overview<'py>(
    py: Python<'py>,
    overview: &TotalsByWindow,
) -> PyResult<Bound<'py, PyDict>> {
    let windows = PyDict::new(py);
    for (window, totals) in overview.present() {
        let WindowTotals {
            long_usd,
            short_usd,
            total_usd,
            cnt,
        } = totals;
        let row = PyDict::new(py);
        row.set_item("long_usd", long_usd)?;
        row.set_item("short_usd", short_usd)?;
        row.set_item("total_usd", total_usd)?;
        row.set_item("cnt", cnt)?;
        windows.set_item(window.to_string(), row)?;
    }
    Ok(windows)
}

/// The levels as the wire spells them.
pub(super) fn levels(py: Python<'_>, levels: TierLevels) -> PyResult<Bound<'_, PyDict>> {
    let tiers = PyDict::new(py);
    for (leverage, tier) in &levels.tiers {
        let LevelTier {
            long_price,
            long_intensity,
            short_price,
            short_intensity,
        } = *tier;
        let row = PyDict::new(py);
        row.set_item("longPrice", long_price)?;
        row.set_item("longIntensity", long_intensity)?;
        row.set_item("shortPrice", short_price)?;
        row.set_item("shortIntensity", short_intensity)?;
        tiers.set_item(leverage.to_string(), row)?;
    }
    let fields = PyDict::new(py);
    fields.set_item("symbol", levels.symbol)?;
    fields.set_item("price", levels.price)?;
    fields.set_item("updatedAt", levels.updated_at.0)?;
    fields.set_item("tiers", tiers)?;
    Ok(fields)
}

/// Max pain as the wire spells it.
pub(super) fn maxpain(py: Python<'_>, pain: MaxPain) -> PyResult<Bound<'_, PyDict>> {
    let range = |pain: &Pain| -> PyResult<Bound<'_, PyDict>> {
        let fields = PyDict::new(py);
        for (name, cluster) in [("long", pain.long), ("short", pain.short)] {
            let row = PyDict::new(py);
            row.set_item("price", cluster.price)?;
            row.set_item("usd", cluster.usd)?;
            row.set_item("distPct", cluster.dist_pct)?;
            fields.set_item(name, row)?;
        }
        fields.set_item("totalLong", pain.total_long)?;
        fields.set_item("totalShort", pain.total_short)?;
        Ok(fields)
    };
    let fields = PyDict::new(py);
    fields.set_item("symbol", pain.symbol)?;
    fields.set_item("price", pain.price)?;
    fields.set_item("updatedAt", pain.updated_at.0)?;
    for (name, half) in [("d1", pain.d1), ("d7", pain.d7)] {
        if let Some(half) = half {
            fields.set_item(name, range(&half)?)?;
        }
    }
    Ok(fields)
}
