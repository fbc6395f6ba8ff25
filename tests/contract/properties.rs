//! What holds for every number, heatmap and edit.

use super::*;
use crate::shapes::heatmap;

/// Digits and the power of ten of the last one, without zeros at either end, by string work alone.
fn stripped(integer: &str, fraction: &str, exponent: i64) -> (String, i64) {
    let all = format!("{integer}{fraction}");
    let short = all.trim_end_matches('0');
    let dropped = i64::try_from(all.len() - short.len()).unwrap();
    let written = i64::try_from(fraction.len()).unwrap();
    let digits = short.trim_start_matches('0').to_owned();
    if digits.is_empty() {
        return (digits, 0);
    }
    (digits, exponent - written + dropped)
}

/// Whether 96 bits of mantissa, 28 digits and a scale of 28 hold the number exactly.
fn fits(digits: &str, power: i64) -> bool {
    const LARGEST: &str = "79228162514264337593543950335";
    if digits.len() > 28 || !(-28..=28).contains(&power) {
        return false;
    }
    let zeros = usize::try_from(power.max(0)).unwrap();
    let full = format!("{digits}{}", "0".repeat(zeros));
    full.len() < LARGEST.len() || (full.len() == LARGEST.len() && full.as_str() <= LARGEST)
}

/// Instants that do not look like another unit than milliseconds.
fn millis() -> impl Strategy<Value = i64> {
    prop_oneof![
        8 => 100_000_000_000..100_000_000_000_000_i64,
        1 => *Millis::CALENDAR.start()..1_000_000_000,
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_decimal_is_exact_or_refused(
        negative: bool,
        integer in "0|[1-9][0-9]{0,30}|[1-9]0{0,30}",
        fraction in "|[0-9]{1,32}|[0-9]{1,6}0{1,40}|0{20,29}[0-9]",
        exponent in prop_oneof![Just(None), (-40_i64..40).prop_map(Some)],
    ) {
        let mut text = if negative { format!("-{integer}") } else { integer.clone() };
        if !fraction.is_empty() {
            text = format!("{text}.{fraction}");
        }
        if let Some(exponent) = exponent {
            text = format!("{text}e{exponent}");
        }
        let (digits, power) = stripped(&integer, &fraction, exponent.unwrap_or(0));
        match exact_decimal(&text) {
            Ok(value) => {
                prop_assert!(digits.is_empty() || fits(&digits, power), "{text} became {value}");
                let plain = value.abs().to_string();
                let (whole, rest) = plain.split_once('.').unwrap_or((&plain, ""));
                prop_assert_eq!(stripped(whole, rest, 0), (digits.clone(), power));
                prop_assert_eq!(value.is_sign_negative(), negative && !digits.is_empty());
            }
            Err(_) => prop_assert!(!digits.is_empty() && !fits(&digits, power), "{text} was refused"),
        }
    }

    #[test]
    fn a_decimal_that_fits_has_the_same_text(integer in "0|[1-9][0-9]{0,15}", fraction in "[0-9]{1,12}") {
        let text = format!("{integer}.{fraction}");
        prop_assert_eq!(exact_decimal(&text).unwrap().to_string(), text);
    }

    #[test]
    fn only_jsons_own_numbers_are_numbers(text in "[-+0-9.eE_ N]{0,8}") {
        let is_number = serde_json::from_str::<Value>(&text).is_ok_and(|value| value.is_number())
            && text.trim() == text;
        let read = exact_decimal(&text);
        prop_assert!(is_number || read.is_err(), "{text:?}");
        if is_number && !text.contains(['e', 'E']) {
            prop_assert!(read.is_ok(), "{text:?}");
        }
    }

    #[test]
    fn a_cell_is_the_nearest_double_bit_for_bit(
        texts in prop::collection::vec(
            prop_oneof![
                "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,25})?([eE][+-]?[0-9]{1,2})?",
                any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(|value| format!("{value:?}")),
                any::<f64>().prop_filter("finite", |value| value.is_finite()).prop_map(|value| format!("{value:.17e}")),
            ],
            1..20,
        ),
    ) {
        let row = format!("[[{}]]", texts.join(","));
        let quoted = format!("[[\"{}\"]]", texts.join("\",\""));
        let want: Vec<u64> = texts.iter().map(|text| text.parse::<f64>().unwrap().to_bits()).collect();
        for matrix in [row, quoted] {
            let read = heatmap(1, texts.len(), &matrix).unwrap();
            let bits: Vec<u64> = read.matrix.iter().map(|cell| cell.to_bits()).collect();
            prop_assert_eq!(&bits, &want);
        }
    }
}

fn number() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        -1e9..1e9,
        any::<f64>().prop_filter("finite", |value| value.is_finite()),
    ]
}

fn any_labels() -> impl Strategy<Value = EstimateLabels> {
    let units = prop::option::of(prop::sample::select(Units::ALL));
    let view = prop::option::of(prop::sample::select(EstimateView::ALL));
    let served_by = prop::option::of(("[a-z]{1,8}", millis()));
    let of_price = prop::option::of(millis());
    (
        units,
        view,
        prop::option::of(any::<bool>()),
        served_by,
        of_price,
    )
        .prop_map(
            |(units, view, simulated, served_by, price_at)| EstimateLabels {
                units,
                view,
                simulated,
                served_by: served_by.map(|(source, recorded_at)| ServedBy {
                    source,
                    recorded_at: Millis(recorded_at),
                }),
                price_at: price_at.map(Millis),
            },
        )
}

fn any_side_usd() -> impl Strategy<Value = SideUsd> {
    (number(), number()).prop_map(|(long_usd, short_usd)| SideUsd {
        long_usd,
        short_usd,
    })
}

fn any_heatmap() -> impl Strategy<Value = HeatmapGrid> {
    (0_usize..7, 0_usize..7).prop_flat_map(|(prices, times)| {
        let cell = prop_oneof![4 => number(), 1 => Just(f64::NAN), 4 => Just(0.0)];
        (
            prop::collection::vec(number(), prices),
            prop::collection::vec(millis(), times),
            prop::collection::vec(cell, prices * times),
            (number(), millis(), ".{0,6}"),
            any_labels(),
            prop::option::of(prop::collection::vec((number(), number()), times)),
        )
            .prop_map(
                |(prices, times, matrix, (current_price, updated_at, symbol), labels, outside)| {
                    HeatmapGrid {
                        symbol,
                        range: "24h".to_owned(),
                        model: 3,
                        updated_at: Millis(updated_at),
                        current_price,
                        prices,
                        times: times.into_iter().map(Millis).collect(),
                        matrix,
                        labels,
                        outside: outside.map(|usd| {
                            let (long_usd, short_usd) = usd.into_iter().unzip();
                            ColumnUsd {
                                long_usd,
                                short_usd,
                            }
                        }),
                        step: None,
                        row_step: None,
                        edges: None,
                        exact_share: None,
                        exact: None,
                    }
                },
            )
    })
}

/// Equal, NaN to NaN and the sign of zero included.
fn same(a: &HeatmapGrid, b: &HeatmapGrid) -> bool {
    let bits =
        |map: &HeatmapGrid| -> Vec<u64> { map.matrix.iter().map(|cell| cell.to_bits()).collect() };
    let frame = |map: &HeatmapGrid| HeatmapGrid {
        matrix: Vec::new(),
        ..map.clone()
    };
    frame(a) == frame(b) && bits(a) == bits(b)
}

fn cell(value: f64) -> Value {
    serde_json::to_value(value).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_heatmap_round_trips(map in any_heatmap()) {
        let text = serde_json::to_vec(&map).unwrap();
        let read = HeatmapGrid::decode(&text).unwrap();
        prop_assert!(same(&read, &map), "{read:?} is not {map:?}");
    }

    #[test]
    fn a_heatmap_with_a_row_per_time_round_trips(map in any_heatmap()) {
        let (prices, times) = (map.prices.len(), map.times.len());
        prop_assume!(prices != times);
        let mut body = serde_json::to_value(&map).unwrap();
        body["matrix"] = (0..times)
            .map(|t| (0..prices).map(|p| cell(map.matrix[p * times + t])).collect::<Value>())
            .collect();
        let read = HeatmapGrid::decode(body.to_string().as_bytes()).unwrap();
        prop_assert!(same(&read, &map), "{read:?} is not {map:?}");
    }

    #[test]
    fn a_heatmap_in_triples_round_trips(map in any_heatmap(), reversed: bool) {
        let (prices, times) = (map.prices.len(), map.times.len());
        let mut triples = Vec::new();
        for p in 0..prices {
            for t in 0..times {
                let value = map.matrix[p * times + t];
                // Zeros are what triples leave out; a negative one has to be named.
                if value.to_bits() != 0 {
                    triples.push(json!([t, p, cell(value)]));
                }
            }
        }
        if reversed {
            triples.reverse();
        }
        prop_assume!((triples.len(), 3) != (prices, times) && (triples.len(), 3) != (times, prices));
        let mut body = serde_json::to_value(&map).unwrap();
        body["matrix"] = Value::Array(triples);
        let read = HeatmapGrid::decode(body.to_string().as_bytes()).unwrap();
        prop_assert!(same(&read, &map), "{read:?} is not {map:?}");
    }

    #[test]
    fn a_liquidation_map_round_trips(
        leverages in prop::collection::btree_set(any::<i64>(), 0..5),
        bins in prop::collection::vec((number(), any::<bool>(), number(), prop::collection::vec(prop::option::of(number()), 5)), 0..6),
        labels in any_labels(),
        outside in prop::option::of(any_side_usd()),
        within in prop::option::of(prop::collection::btree_map(1_i64..100, any_side_usd(), 0..5)),
    ) {
        let leverages: Vec<i64> = leverages.into_iter().collect();
        let tiers: Vec<f64> = bins
            .iter()
            .flat_map(|(.., tiers)| tiers.iter().take(leverages.len()).map(|usd| usd.unwrap_or(f64::NAN)))
            .collect();
        let map = LiquidationMap {
            symbol: "BTC".to_owned(),
            range: "7d".to_owned(),
            updated_at: Millis(0),
            current_price: 1.5,
            bin_width: 0.5,
            leverages,
            bins: bins
                .iter()
                .map(|&(price, long, total, _)| MapBin { price, side: if long { Side::Long } else { Side::Short }, total })
                .collect(),
            tiers: Vec::new(),
            measured: None,
            labels,
            outside,
            within,
            fine: None,
            bounds: None,
            clusters: None,
            exact_share: None,
            exact: None,
        };
        let text = serde_json::to_value(LiquidationMap { tiers: tiers.clone(), ..map.clone() }).unwrap();
        let mut read = LiquidationMap::decode(text.to_string().as_bytes()).unwrap();
        let bits = |cells: Vec<f64>| -> Vec<u64> { cells.into_iter().map(f64::to_bits).collect() };
        prop_assert_eq!(bits(std::mem::take(&mut read.tiers)), bits(tiers));
        prop_assert_eq!(read, map);
    }

    #[test]
    fn orders_round_trip(rows in prop::collection::vec(
        (".{0,8}", ".{0,8}", any::<bool>(), 0..10_i128.pow(28), 0_u32..29, millis()), 0..5,
    )) {
        let rows: Vec<Order> = rows
            .into_iter()
            .map(|(exchange, symbol, long, mantissa, scale, timestamp)| {
                let price = rust_decimal::Decimal::from_i128_with_scale(mantissa, scale);
                Order {
                    exchange,
                    symbol,
                    side: if long { Side::Long } else { Side::Short },
                    price,
                    qty: -price,
                    value_usd: price,
                    timestamp: Millis(timestamp),
                }
            })
            .collect();
        let text = serde_json::to_vec(&rows).unwrap();
        prop_assert_eq!(Vec::<Order>::decode(&text).unwrap(), rows);
    }

    #[test]
    fn random_bytes_are_damage_without_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        for &name in NAMES {
            prop_assert!(ask(name, &bytes).is_err());
        }
    }

    #[test]
    fn a_fixture_with_random_edits_is_read_or_refused(
        name in prop::sample::select(NAMES),
        edits in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![
            any::<u8>(),
            prop::sample::select(b"\"[]{},:0e-.".to_vec()),
        ]), 1..4),
    ) {
        let mut body = fixture(name).into_bytes();
        for (at, byte) in edits {
            let at = at.index(body.len());
            body[at] = byte;
        }
        // What is still read must be a reading that holds: written and read again it is the same.
        if let Ok(Reading::Reply(text)) = ask(name, &body) {
            prop_assert_eq!(answer(name, &text), text);
        }
    }
}
