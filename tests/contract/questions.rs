//! Questions, their query strings and their bounds.

use super::*;

fn asked_again<E: Endpoint + PartialEq>(question: &E) {
    let pairs = question.to_query();
    for (name, _) in &pairs {
        assert!(E::PARAMETERS.contains(name), "{} {name}", E::NAME);
    }
    let pairs = pairs
        .into_iter()
        .map(|(name, value)| (name.to_owned(), value))
        .collect();
    let query = Arguments::from_query(pairs, E::PARAMETERS).unwrap();
    assert_eq!(&E::from_arguments(&query).unwrap(), question);
}

#[test]
fn every_question_survives_its_query_string() {
    asked_again(&Overview::default());
    for range in ["1h", "4h", "12h", "24h"] {
        asked_again(&Exchanges::new(Some(range)).unwrap());
        for limit in [1, 30, 200] {
            asked_again(&Coins::new(Some(range), limit).unwrap());
        }
        for limit in [1, 20, 1000] {
            asked_again(&Largest::new(Some(range), limit).unwrap());
        }
    }
    for symbol in [
        None,
        Some("BTCUSDT"),
        Some("1000PEPEUSDT"),
        Some("BTC/USDT:USDT"),
    ] {
        for exchange in [None, Some("binance")] {
            for (limit, offset) in [(1, 0), (50, 1), (1000, i128::from(i64::MAX))] {
                asked_again(&Orders::new(symbol, exchange, limit, offset).unwrap());
            }
        }
    }
    asked_again(&Chart::new("ETHUSDT").unwrap());
    for range in ["12h", "24h", "3d", "7d", "1M", "3M", "6M", "1y", "all"] {
        for model in [2, 3] {
            asked_again(&Heatmap::new("1INCH", range, RawModel::Number(model), None).unwrap());
        }
    }
    for range in ["1d", "7d", "12h", "3d", "1M", "3M", "6M", "1y", "all"] {
        asked_again(&Liqmap::new("SOL", range, None, None, None).unwrap());
    }
    asked_again(&Levels::new("SOL", None).unwrap());
    asked_again(&Maxpain::new("SOL", None).unwrap());
}

fn question<E: Endpoint>(pairs: &[(&str, &str)]) -> Result<Vec<(&'static str, String)>, BadQuery> {
    let pairs = pairs
        .iter()
        .map(|&(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    let query = Arguments::from_query(pairs, E::PARAMETERS)?;
    Ok(E::from_arguments(&query)?.to_query())
}

#[test]
fn a_question_without_parameters_takes_the_contracts_defaults() {
    let text = |asked: Result<Vec<(&'static str, String)>, BadQuery>| {
        let pairs = asked.unwrap();
        let pairs: Vec<String> = pairs
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        pairs.join("&")
    };
    assert_eq!(text(question::<Overview>(&[])), "");
    assert_eq!(text(question::<Coins>(&[])), "range=24h&limit=30");
    assert_eq!(text(question::<Exchanges>(&[])), "range=24h");
    assert_eq!(text(question::<Largest>(&[])), "range=24h&limit=20");
    assert_eq!(text(question::<Orders>(&[])), "limit=50&offset=0");
    assert_eq!(text(question::<Chart>(&[])), "symbol=BTCUSDT");
    assert_eq!(
        text(question::<Heatmap>(&[])),
        "symbol=BTC&range=24h&model=2"
    );
    assert_eq!(text(question::<Liqmap>(&[])), "symbol=BTC&range=1d");
    assert_eq!(text(question::<Levels>(&[])), "symbol=BTC");
    assert_eq!(text(question::<Maxpain>(&[])), "symbol=BTC");
}

#[test]
fn another_name_of_a_range_is_sent_by_the_contracts() {
    for (asked, sent) in [("1d", "24h"), ("24h", "24h")] {
        let question = Exchanges::new(Some(asked)).unwrap();
        assert_eq!(question.to_query(), [("range", sent.to_owned())]);
    }
    for (asked, sent) in [("1d", "24h"), ("1w", "7d"), ("30d", "1M"), ("all", "all")] {
        let question = Heatmap::new("BTC", asked, RawModel::Number(2), None).unwrap();
        assert_eq!(question.to_query()[1], ("range", sent.to_owned()));
    }
    for (asked, sent) in [("24h", "1d"), ("1w", "7d"), ("30d", "1M")] {
        let question = Liqmap::new("BTC", asked, None, None, None).unwrap();
        assert_eq!(question.to_query()[1], ("range", sent.to_owned()));
    }
}

#[test]
fn a_parameter_out_of_bounds_is_refused_by_name() {
    #[track_caller]
    fn refused<E: Endpoint>(name: &str, values: &[&str]) {
        for &value in values {
            let refusal = question::<E>(&[(name, value)]).unwrap_err();
            assert_eq!(refusal.parameter, name, "{} {name}={value}", E::NAME);
            assert!(!refusal.allowed.is_empty());
        }
    }
    let windows = ["", "2h", "24H", "1D", "24h ", "2M"];
    refused::<Coins>("range", &windows);
    refused::<Exchanges>("range", &windows);
    refused::<Largest>("range", &windows);
    refused::<Heatmap>("range", &["", "1h", "1m", "90d", "1D", "All"]);
    refused::<Liqmap>("range", &["", "24H", "1D", "1m", "1Y"]);
    let limits = [
        "0",
        "-1",
        "",
        "ten",
        "1.5",
        "1e2",
        "170141183460469231731687303715884105728",
    ];
    refused::<Coins>("limit", &limits);
    refused::<Coins>("limit", &["201"]);
    refused::<Largest>("limit", &limits);
    refused::<Largest>("limit", &["1001", "65537"]);
    refused::<Orders>("limit", &limits);
    refused::<Orders>("limit", &["1001", "65537"]);
    refused::<Orders>("offset", &["-1", "", "x", "1.5", "9223372036854775808"]);
    refused::<Orders>("exchange", &["", " "]);
    refused::<Heatmap>("model", &["1", "4", "", "two", "-2", "2.0"]);
    let pairs_meant = ["", "  ", "BINANCE:BTCUSDT"];
    refused::<Orders>("symbol", &pairs_meant);
    refused::<Chart>("symbol", &pairs_meant);
    let coins_meant = ["", "  ", "okx:BTC"];
    refused::<Heatmap>("symbol", &coins_meant);
    refused::<Liqmap>("symbol", &coins_meant);
    refused::<Levels>("symbol", &coins_meant);
    refused::<Maxpain>("symbol", &coins_meant);
}

#[test]
fn a_parameter_that_is_unknown_or_given_twice_is_refused_by_name() {
    fn check<E: Endpoint>() {
        let refusal = question::<E>(&[("depth", "1")]).unwrap_err();
        assert_eq!(refusal.parameter, "depth", "{}", E::NAME);
        for &name in E::PARAMETERS {
            assert!(refusal.allowed.contains(name), "{}", E::NAME);
            let refusal = question::<E>(&[(name, "1"), (name, "1")]).unwrap_err();
            assert_eq!(refusal.parameter, name, "{}", E::NAME);
        }
    }
    check::<Overview>();
    check::<Coins>();
    check::<Exchanges>();
    check::<Largest>();
    check::<Orders>();
    check::<Chart>();
    check::<Heatmap>();
    check::<Liqmap>();
    check::<Levels>();
    check::<Maxpain>();
}
