//! Maps with known positions of accounts.

use liqdata::archive::{Archive, Batch, Measurement, MeasurementKind, PositionRow};
use liqdata::contract::{Heatmap, RawModel};
use liqdata::market::Market;
use liqdata::model::{MapView, Millis, Side, Span};
use rust_decimal::Decimal;

use crate::archive::folder::Folder;
use crate::archive::rows::position;
use crate::archived::world::{START, two_days};

/// A polled snapshot of one account.
fn snapshot(minute: i64, coin: &str) -> Batch {
    let timestamp = START + minute * Millis::MINUTE;
    Batch {
        positions: vec![PositionRow {
            side: Side::Long,
            qty: Decimal::from(20),
            liquidation_price: Some(Decimal::from(30_000)),
            value_usd: Decimal::from(1_200_000),
            ..position("one", coin, timestamp)
        }],
        measurements: vec![Measurement {
            exchange: "hyperliquid".to_owned(),
            kind: MeasurementKind::Accounts,
            at: Millis(timestamp),
            value: 1,
        }],
        ..Batch::default()
    }
}

/// The end of each column, and its sum over all prices.
fn columns(market: &Market, view: MapView) -> Vec<(i64, f64)> {
    let mut question = Heatmap::new("BTC", "24h", RawModel::Number(2), None).unwrap();
    question.view = Some(view);
    question.span = Some(Span::All);
    let reply = market.answer(&question, None).unwrap().reply;
    let sent = serde_json::to_value(&reply).unwrap();
    let rows = sent["matrix"].as_array().unwrap();
    let sum = |column: usize| rows.iter().filter_map(|row| row[column].as_f64()).sum();
    let ends = reply.times.iter().enumerate();
    ends.map(|(column, end)| (end.0, sum(column))).collect()
}

#[test]
fn a_coin_without_positions_in_a_polled_snapshot_is_modelled_until_the_next_one() {
    let folder = Folder::new();
    let mut writer = Archive::create_or_open(folder.archive()).unwrap();
    writer.append(&two_days()).unwrap();
    let [opened, closed, again] = [2160, 2340, 2520];
    for (minute, coin) in [(opened, "BTC"), (closed, "ETH"), (again, "BTC")] {
        writer.append(&snapshot(minute, coin)).unwrap();
    }
    let compare = || {
        let market = Market::open(folder.archive(), None).unwrap();
        let modelled = columns(&market, MapView::Modelled);
        let blended = columns(&market, MapView::Blended);
        assert_eq!(modelled.len(), blended.len());
        for ((end, plain), (_, sum)) in modelled.into_iter().zip(blended) {
            let minute = (end - START) / Millis::MINUTE;
            let is_known = (opened..closed).contains(&minute) || minute >= again;
            assert_eq!(plain != sum, is_known, "minute {minute}: {plain} {sum}");
        }
    };
    compare();
    writer.compact(Millis(START + 2 * Millis::DAY)).unwrap();
    compare();
}
