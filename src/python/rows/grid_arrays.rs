//! Converts replies that are not rows to Python objects.
//!
//! Heatmaps and liquidation maps become numpy arrays that own the decoded buffers. Totals, levels and max pain become
//! dicts.

use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::model::{
    EstimateLabels, HeatmapGrid, LevelTier, LiquidationMap, MaxPain, Pain, Side, SideUsd,
    TierLevels, TotalsByWindow, Vocabulary, WindowTotals, Within,
};
use crate::python::rows::provenance::{Provenance, ProvenanceParts};
use crate::python::rows::rows::times;
use crate::python::runtime::imports;

/// Converts a heatmap to its fields. The matrix is moved, not copied.
pub(crate) fn heatmap<'py>(
    py: Python<'py>,
    map: HeatmapGrid,
    provenance: &Provenance,
) -> PyResult<Bound<'py, PyDict>> {
    imports::numpy(py)?;
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
    labels(&fields, map.labels)?;
    if let Some(outside) = map.outside {
        let sides = PyDict::new(py);
        sides.set_item("long_usd", outside.long_usd.into_pyarray(py))?;
        sides.set_item("short_usd", outside.short_usd.into_pyarray(py))?;
        fields.set_item("outside", sides)?;
    }
    let account = ProvenanceParts::of(provenance);
    if let Some(sides) = account.sides
        && sides.has(shape[1])
    {
        let parted = (
            sides.row.into_pyarray(py),
            sides.long.into_pyarray(py),
            sides.short.into_pyarray(py),
            sides.price.into_pyarray(py),
        );
        fields.set_item("parted", parted)?;
    }
    fields.set_item("explain", loaded(py, account.text)?)?;
    Ok(fields)
}

/// Adds the labels that the service sent.
fn labels(fields: &Bound<'_, PyDict>, labels: EstimateLabels) -> PyResult<()> {
    let EstimateLabels {
        units,
        view,
        simulated,
        served_by,
    } = labels;
    if let Some(units) = units {
        fields.set_item("units", units.name())?;
    }
    if let Some(view) = view {
        fields.set_item("view", view.name())?;
    }
    if let Some(simulated) = simulated {
        fields.set_item("simulated", simulated)?;
    }
    if let Some(served) = served_by {
        fields.set_item("recording", served.source)?;
        fields.set_item("recorded_at", served.recorded_at.0)?;
    }
    Ok(())
}

fn side_usd<'py>(py: Python<'py>, usd: &SideUsd) -> PyResult<Bound<'py, PyDict>> {
    let sides = PyDict::new(py);
    sides.set_item("long_usd", usd.long_usd)?;
    sides.set_item("short_usd", usd.short_usd)?;
    Ok(sides)
}

fn near<'py>(py: Python<'py>, within: &Within) -> PyResult<Bound<'py, PyDict>> {
    let distances = PyDict::new(py);
    for (percent, usd) in within {
        distances.set_item(percent.to_string(), side_usd(py, usd)?)?;
    }
    Ok(distances)
}

/// Parses JSON into Python objects.
fn loaded(py: Python<'_>, json: Option<String>) -> PyResult<Option<Bound<'_, PyAny>>> {
    let loaded = |text| py.import("json")?.call_method1("loads", (text,));
    json.map(loaded).transpose()
}

/// Converts a liquidation map to its fields. In `sides`, 0 means long and 1 means short.
pub(crate) fn liqmap<'py>(
    py: Python<'py>,
    map: LiquidationMap,
    provenance: &Provenance,
) -> PyResult<Bound<'py, PyDict>> {
    imports::numpy(py)?;
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
    let account = ProvenanceParts::of(provenance);
    if let Some(fine) = account.fine
        && let Some(bins) = fine.bins(shape[1])
    {
        let usd = fine.usd.into_pyarray(py).reshape([shape[1], bins])?;
        let grid = (fine.p0, fine.h, fine.first, fine.longs_end, usd);
        fields.set_item("fine", grid)?;
    }
    fields.set_item("explain", loaded(py, account.text)?)?;
    labels(&fields, map.labels)?;
    if let Some(outside) = &map.outside {
        fields.set_item("outside", side_usd(py, outside)?)?;
    }
    if let Some(within) = &map.within {
        fields.set_item("within", near(py, within)?)?;
    }
    if let Some(measured) = map.measured {
        let parts = PyDict::new(py);
        parts.set_item("seen_share", measured.seen_share)?;
        parts.set_item("observed_at", measured.observed_at.0)?;
        parts.set_item("positions", measured.positions)?;
        parts.set_item("accounts", measured.accounts)?;
        parts.set_item("unplaced_usd", measured.unplaced_usd)?;
        parts.set_item("crossed_usd", measured.crossed_usd)?;
        fields.set_item("measured", parts)?;
    }
    Ok(fields)
}

/// Converts totals by time window to a dict with the keys of the HTTP API.
pub(crate) fn overview<'py>(
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

/// Converts liquidation levels to a dict with the keys of the HTTP API.
pub(crate) fn levels<'py>(
    py: Python<'py>,
    levels: TierLevels,
    provenance: &Provenance,
) -> PyResult<Bound<'py, PyDict>> {
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
    self::labels(&fields, levels.labels)?;
    fields.set_item("explain", loaded(py, ProvenanceParts::of(provenance).text)?)?;
    Ok(fields)
}

/// Converts max pain to a dict with the keys of the HTTP API.
pub(crate) fn maxpain<'py>(
    py: Python<'py>,
    pain: MaxPain,
    provenance: &Provenance,
) -> PyResult<Bound<'py, PyDict>> {
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
    labels(&fields, pain.labels)?;
    if let Some(within) = &pain.within {
        let ranges = PyDict::new(py);
        for (name, range) in [("d1", &within.d1), ("d7", &within.d7)] {
            if let Some(range) = range {
                ranges.set_item(name, near(py, range)?)?;
            }
        }
        fields.set_item("within", ranges)?;
    }
    fields.set_item("explain", loaded(py, ProvenanceParts::of(provenance).text)?)?;
    Ok(fields)
}
