//! A heatmap that is read while it arrives is what its whole body gives: the same values, or the same verdict.

use liqdata::contract::decode::{Reading, intake, read};
use liqdata::model::HeatmapGrid;
use proptest::prelude::*;
use proptest::sample::Index;

use crate::decoding::fuzz::checks::arriving::{agree, arriving};
use crate::decoding::fuzz::checks::verdict::{Verdict, verdict as whole};

fn verdict(body: &[u8]) -> Verdict {
    whole::<HeatmapGrid>(body, false)
}

const NUMBERS: &str = "-?(0|[1-9][0-9]{0,6})(\\.[0-9]{1,17})?(e-?[0-9]{1,2})?|0|0|0";
const BLANKS: &str = "[ \n\t\r]{0,3}";

/// A matrix of rows of numbers, blanks where they may be.
fn matrix(prices: usize, times: usize) -> impl Strategy<Value = Vec<Vec<String>>> {
    let cell =
        (BLANKS, NUMBERS, BLANKS).prop_map(|(before, number, behind)| before + &number + &behind);
    prop::collection::vec(prop::collection::vec(cell, times), prices)
}

fn axis(length: u64) -> String {
    let values: Vec<String> = (1..=length)
        .map(|at| (1_790_000_000_000_u64 + at * 60_000).to_string())
        .collect();
    format!("[{}]", values.join(", "))
}

/// A body of these rows, its members in the order of `order`.
fn body(
    rows: &[Vec<String>],
    prices: usize,
    times: usize,
    order: &[usize],
    blanks: &str,
) -> String {
    let rows: Vec<String> = rows
        .iter()
        .map(|row| format!("[{}]", row.join(",")))
        .collect();
    let members = [
        "\"symbol\": \"BTC é\"".to_owned(),
        "\"range\":\"24h\"".to_owned(),
        "\"model\": 2".to_owned(),
        "\"updatedAt\":1790000000000".to_owned(),
        "\"currentPrice\": 82651.9".to_owned(),
        format!("\"prices\": {}", axis(prices as u64)),
        format!("\"times\":{}", axis(times as u64)),
        format!(
            "\"matrix\"{blanks}:{blanks}[{}{blanks}]",
            rows.join(&format!("{blanks},{blanks}"))
        ),
    ];
    let members: Vec<&str> = order
        .iter()
        .filter_map(|&at| members.get(at))
        .map(String::as_str)
        .collect();
    format!("{{{}}}", members.join(","))
}

/// What is put into a body, or over what stands there, to make it another.
const SURPRISES: &[&str] = &[
    "null",
    "\"1.5\"",
    "\"x\"",
    "NaN",
    "[",
    "]",
    ",",
    "{",
    "}",
    "1e400",
    "-",
    "01",
    "\"success\":false,",
    "\"extra\":[1],",
    "\"matrix\":[[1]],",
    "\u{feff}",
    "<html>",
    "\\",
    "\"",
    "true",
    "[[]]",
    "  ",
    "1,2",
    "e5",
];

fn sizes() -> impl Strategy<Value = (usize, usize)> {
    (1_usize..6, 1_usize..9)
}

fn plain() -> impl Strategy<Value = (String, Vec<usize>, bool)> {
    sizes().prop_flat_map(|(prices, times)| {
        (
            matrix(prices, times),
            Just((0..8).collect::<Vec<usize>>()).prop_shuffle(),
            BLANKS,
            prop::collection::vec(any::<usize>(), 0..12),
            any::<bool>(),
        )
            .prop_map(move |(rows, order, blanks, cuts, announced)| {
                (body(&rows, prices, times, &order, &blanks), cuts, announced)
            })
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_plain_body_is_decoded_while_it_arrives((body, cuts, announced) in plain()) {
        let (arrived, on_its_way) = arriving(body.as_bytes(), &cuts, announced);
        prop_assert_eq!(&arrived, &verdict(body.as_bytes()), "{}", body);
        prop_assert!(matches!(arrived, Verdict::Reply(_)), "{:?}", arrived);
        prop_assert!(on_its_way, "{}", body);
    }

    #[test]
    fn incremental_and_whole_decoding_agree(
        (body, cuts, announced) in plain(),
        surprises in prop::collection::vec((prop::sample::select(SURPRISES), any::<Index>(), 0_usize..3), 1..3),
        byte in prop::option::weighted(0.1, (any::<u8>(), any::<Index>())),
    ) {
        let mut changed = body.into_bytes();
        for (surprise, at, over) in surprises {
            let at = at.index(changed.len() + 1);
            let end = (at + over * surprise.len()).min(changed.len());
            changed.splice(at..end, surprise.bytes());
        }
        if let Some((byte, at)) = byte {
            let at = at.index(changed.len());
            *changed.get_mut(at).unwrap() = byte;
        }
        let shown = String::from_utf8_lossy(&changed);
        let (arrived, _) = arriving(&changed, &cuts, announced);
        let whole = verdict(&changed);
        prop_assert!(agree(&arrived, &whole), "{:?} against {:?}: {}", arrived, whole, &shown);
    }

    #[test]
    fn an_error_after_the_matrix_has_its_position_in_the_body((body, cuts, announced) in plain()) {
        let mut damaged = body.into_bytes();
        damaged.truncate(damaged.len() - 1);
        damaged.push(0x80);
        let (arrived, _) = arriving(&damaged, &cuts, announced);
        prop_assert_eq!(arrived, verdict(&damaged), "{}", String::from_utf8_lossy(&damaged));
    }

    #[test]
    fn rows_of_another_shape_decode_like_the_whole_body(
        (prices, times) in sizes(),
        shape in (0_usize..6, 0_usize..9),
        odd in prop::option::of((any::<Index>(), 0_usize..9)),
        cuts in prop::collection::vec(any::<usize>(), 0..12),
    ) {
        let mut rows = vec![vec!["1".to_owned(); shape.1]; shape.0];
        if let Some((row, length)) = odd && !rows.is_empty() {
            let row = row.index(rows.len());
            rows[row] = vec!["2.5".to_owned(); length];
        }
        let body = body(&rows, prices, times, &[0, 1, 2, 3, 4, 5, 6, 7], "");
        let (arrived, _) = arriving(body.as_bytes(), &cuts, true);
        prop_assert_eq!(arrived, verdict(body.as_bytes()), "{}", body);
    }
}

#[test]
fn an_unexpected_value_after_many_rows_is_located() {
    let mut rows = vec![vec!["0.125".to_owned(); 50]; 400];
    rows[399][7] = "\"x\"".to_owned();
    let body = body(&rows, 400, 50, &[0, 1, 2, 3, 4, 5, 6, 7], "");
    for step in [1, 7, 1000, 1 << 16] {
        let cuts: Vec<usize> = (0..body.len()).step_by(step).collect();
        let (Verdict::Damaged(damage), false) = arriving(body.as_bytes(), &cuts, true) else {
            panic!("a cell that is no number was read");
        };
        assert_eq!(damage.path, "matrix[399]");
        assert!(damage.message.starts_with("cell 7: "), "{}", damage.message);
    }
}

#[test]
fn a_buffered_refusal_is_a_prefix_of_the_body() {
    let rows = vec![vec!["0.125".to_owned(); 50]; 40];
    let body = body(&rows, 40, 50, &[0, 1, 2, 3, 4, 5, 6, 7], "");
    let refusal = format!("{},\"success\":false}}", body.trim_end_matches('}'));
    for step in [1, 7, 1000, 1 << 16] {
        let mut taken = intake::<HeatmapGrid>(false);
        taken.begin(Some(refusal.len()));
        refusal
            .as_bytes()
            .chunks(step)
            .for_each(|chunk| taken.feed(chunk));
        assert!(matches!(taken.finish(), Ok(Reading::Refused { .. })));
        let buffered = taken.buffered();
        assert!(buffered.ends_with(b"[") && refusal.as_bytes().starts_with(buffered));
    }
}

#[test]
fn an_axis_without_cells_allocates_no_memory() {
    let axis: Vec<String> = (0..100_000).map(|at| at.to_string()).collect();
    let axis = axis.join(",");
    let body = format!("{{\"prices\":[{axis}],\"times\":[{axis}],\"matrix\":[[1]]}}");
    // 10^10 cells would be 80 GB.
    let (arrived, _) = arriving(body.as_bytes(), &[], true);
    assert_eq!(arrived, verdict(body.as_bytes()));
    let (arrived, _) = arriving(body.as_bytes(), &[], false);
    assert!(matches!(arrived, Verdict::Damaged(_)));
}

#[test]
fn axes_without_cells_allocate_at_most_the_body_limit() {
    const MOST: usize = 64 << 20;
    let head = "\"symbol\":\"BTC\",\"range\":\"24h\",\"model\":2,\"updatedAt\":1790000000000,\"currentPrice\":1.5";
    let axis = |length: usize| vec!["1790000000000"; length].join(",");
    for (prices, allowed) in [(MOST / 8 / 1024, true), (MOST / 8 / 1024 + 1, false)] {
        let body = format!(
            "{{{head},\"prices\":[{}],\"times\":[{}],\"matrix\":[]}}",
            axis(prices),
            axis(1024)
        );
        match read::<HeatmapGrid>(body.as_bytes(), false) {
            Ok(Reading::Reply(heatmap)) => assert!(allowed && heatmap.matrix.len() == MOST / 8),
            Ok(refused) => panic!("{refused:?}"),
            Err(damage) => {
                assert!(!allowed, "{damage}");
                assert_eq!(damage.path, "matrix");
            }
        }
    }
}
