//! The shapes in which a heatmap's matrix may come.

use super::*;

pub(super) fn heatmap(
    prices: usize,
    times: usize,
    matrix: &str,
) -> Result<HeatmapGrid, DecodeError> {
    let prices: Vec<usize> = (1..=prices).collect();
    let times: Vec<usize> = (0..times).map(|i| 1_781_136_000_000 + i).collect();
    let body = format!(
        r#"{{"symbol": "BTC", "range": "24h", "model": 2, "updatedAt": 0, "currentPrice": 1,
            "matrix": {matrix}, "prices": {prices:?}, "times": {times:?}}}"#
    );
    HeatmapGrid::decode(body.as_bytes())
}

#[test]
fn the_matrix_is_read_in_every_shape_the_lengths_allow() {
    for (prices, times, matrix, cells) in [
        (2, 3, "[[1, 2, 3], [4, 5, 6]]", vec![1, 2, 3, 4, 5, 6]),
        (3, 2, "[[1, 2, 3], [4, 5, 6]]", vec![1, 4, 2, 5, 3, 6]),
        (2, 2, "[[1, 2], [3, 4]]", vec![1, 2, 3, 4]),
        (2, 4, "[[0, 1, 7], [3, 0, 9]]", vec![0, 0, 0, 9, 7, 0, 0, 0]),
        // Three wide and as many rows as price levels or times: dense comes before triples.
        (2, 3, "[[0, 1, 7], [1, 0, 9]]", vec![0, 1, 7, 1, 0, 9]),
        (3, 2, "[[0, 1, 7], [1, 0, 9]]", vec![0, 1, 1, 0, 7, 9]),
        (
            3,
            3,
            "[[0, 1, 7], [1, 0, 9], [2, 2, 2]]",
            vec![0, 1, 7, 1, 0, 9, 2, 2, 2],
        ),
        (3, 3, "[[0, 1, 7]]", vec![0, 0, 0, 7, 0, 0, 0, 0, 0]),
        (2, 3, "[]", vec![0; 6]),
        (0, 0, "[]", vec![]),
        (0, 3, "[]", vec![]),
        (2, 0, "[[], []]", vec![]),
        (2, 0, "[]", vec![]),
    ] {
        let read = heatmap(prices, times, matrix).unwrap();
        let cells: Vec<f64> = cells.into_iter().map(f64::from).collect();
        assert_eq!(read.matrix, cells, "{prices} × {times}: {matrix}");
    }
}

#[test]
fn a_matrix_of_no_known_shape_is_refused_with_its_row() {
    for (prices, times, matrix, path) in [
        (2, 3, "[[1, 2, 3], [4, 5]]", "matrix[1]"),
        (2, 3, "[[1, 2], [3, 4, 5]]", "matrix[0]"),
        (
            4,
            3,
            "[[1, 2, 3], [4, 5, 6], [7, 8, 9], [1, 2]]",
            "matrix[3]",
        ),
        (2, 4, "[[1, 2, 3, 4]]", "matrix[1]"),
        (
            2,
            4,
            "[[1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]]",
            "matrix[2]",
        ),
        (2, 4, "[[1, 2, 3, 4, 5], [1, 2, 3, 4, 5]]", "matrix[0]"),
        (2, 4, "[[0, 0, 1], [0, 2, 1]]", "matrix[1]"),
        (2, 4, "[[0, 0, 1], [4, 0, 1]]", "matrix[1]"),
        (2, 4, "[[0, 0, 1], [0.5, 0, 1]]", "matrix[1]"),
        (2, 4, "[[0, 0, 1], [-1, 0, 1]]", "matrix[1]"),
        (2, 4, "[[0, 0, 1], [null, 0, 1]]", "matrix[1]"),
        (2, 4, "[[0, 0, 1], [1, 0, 1], [0, 0, 1]]", "matrix[2]"),
        (2, 4, "[[0, 0, null], [0, 0, 1]]", "matrix[1]"),
        (0, 0, "[[]]", "matrix[0]"),
        (2, 3, "[1, 2, 3, 4, 5, 6]", "matrix[0]"),
        (2, 3, r#"[{"0": 1}]"#, "matrix[0]"),
        (2, 3, r#"{"0": [1, 2, 3]}"#, "matrix"),
        (2, 3, "null", "matrix"),
    ] {
        let damage = heatmap(prices, times, matrix).unwrap_err();
        assert_eq!(damage.path, path, "{prices} × {times}: {matrix}: {damage}");
    }
}

#[test]
fn a_null_cell_is_not_a_number_and_is_written_as_null() {
    let read = heatmap(1, 4, r#"[[null, -0, "-0.0", "2.5e-3"]]"#).unwrap();
    assert!(read.matrix[0].is_nan());
    assert_eq!(read.matrix[1].to_bits(), (-0.0_f64).to_bits());
    assert_eq!(read.matrix[2].to_bits(), (-0.0_f64).to_bits());
    assert_eq!(read.matrix[3].to_bits(), 0.0025_f64.to_bits());
    let written = serde_json::to_string(&read).unwrap();
    assert!(
        written.contains(r#""matrix":[[null,-0.0,-0.0,0.0025]]"#),
        "{written}"
    );
}

#[test]
fn long_axes_without_cells_do_not_take_memory() {
    let damage = heatmap(100_000, 100_000, "[]").unwrap_err();
    assert_eq!(damage.path, "matrix");
    let damage = heatmap(100_000, 100_000, "[[0, 0, 1]]").unwrap_err();
    assert_eq!(damage.path, "matrix");
    let bins = vec![r#"{"price": 1, "side": "long", "tiers": {}, "total": 0}"#; 20_000].join(",");
    let leverages: Vec<usize> = (0..20_000).collect();
    let body = format!(
        r#"{{"symbol": "BTC", "range": "1d", "updatedAt": 0, "currentPrice": 1, "binWidth": 1,
            "leverages": {leverages:?}, "bins": [{bins}]}}"#
    );
    assert_eq!(
        LiquidationMap::decode(body.as_bytes()).unwrap_err().path,
        "bins"
    );
}

#[test]
fn times_are_read_in_every_spelling() {
    let spelled = r#""times": ["1781131500000", 1781132400000, 1.7811333e12, "2026-06-10T23:30:00Z",
                     "2026-06-11T01:45:00+02:00", "2026-06-11 00:00:00"], "t":"#;
    // 23:45 in UTC, 1781135100000, is the fifth column.
    let body = with("heatmap", r#""times":"#, spelled);
    assert_eq!(
        answer("heatmap", &body),
        answer("heatmap", &fixture("heatmap"))
    );
}
