//! The replies of the ten endpoints, read whole: the quick readers and the tolerant ones agree on every body.

use std::fmt::Debug;

use liqdata::contract::decode::{Decode, Reading, read};
use liqdata::model::{
    ChartRow, CoinTotals, ExchangeTotals, GroupedOrder, HeatmapGrid, LiquidationMap, MaxPain,
    Millis, Order, OrderColumns, TierLevels, TimeUnit, TotalsByWindow,
};
use serde::Serialize;

use super::verdict::{Verdict, surprising, verdict};

/// A letter that says which endpoint replies, then the body.
///
/// # Panics
///
/// Where the readers disagree, or a reply that is written again is read as another.
pub fn check(input: &[u8]) {
    let Some((&kind, body)) = input.split_first() else {
        return;
    };
    match kind.wrapping_sub(b'a') % 10 {
        0 => enveloped::<TotalsByWindow>(body),
        1 => enveloped::<Vec<ExchangeTotals>>(body),
        2 => enveloped::<Vec<CoinTotals>>(body),
        3 => enveloped::<Vec<ChartRow>>(body),
        4 | 5 => {
            enveloped::<Vec<Order>>(body);
            orders(body);
        }
        6 => bare::<HeatmapGrid>(body, |heatmap| {
            // ISO 8601 names instants that look like another unit when they are written in milliseconds.
            let is_usual = |at: &Millis| TimeUnit::of(at.0) == Some(TimeUnit::Milliseconds);
            heatmap.times.iter().all(is_usual)
        }),
        7 => bare::<LiquidationMap>(body, |_| true),
        8 => enveloped::<TierLevels>(body),
        _ => enveloped::<MaxPain>(body),
    }
}

fn enveloped<R: Decode + Serialize + Debug>(body: &[u8]) {
    tolerantly::<R>(body, true);
    if let Ok(Reading::Reply(reply)) = read::<R>(body, true) {
        let again = format!("{{\"success\":true,\"data\":{}}}", written(&reply));
        let again = verdict::<R>(again.as_bytes(), true);
        assert_eq!(again, Verdict::Reply(format!("{reply:?}")), "written again");
    }
}

fn bare<R: Decode + Serialize + Debug>(body: &[u8], comes_back: fn(&R) -> bool) {
    tolerantly::<R>(body, false);
    let whole = verdict::<R>(body, false);
    // Decoding alone takes no quick way and knows no refusals.
    match (R::decode(body), &whole) {
        // A code can say that a body with a reply is a refusal.
        (Ok(_), Verdict::Refused(_)) => {}
        (Ok(reply), whole) => assert_eq!(whole, &Verdict::Reply(format!("{reply:?}"))),
        (Err(damage), Verdict::Damaged(whole)) if whole.path != "success" => {
            assert_eq!(&damage, whole);
        }
        (Err(_), Verdict::Damaged(_) | Verdict::Refused(_)) => {}
        (Err(damage), Verdict::Reply(reply)) => panic!("{damage} against {reply}"),
    }
    if let Ok(Reading::Reply(reply)) = read::<R>(body, false)
        && comes_back(&reply)
    {
        let again = verdict::<R>(written(&reply).as_bytes(), false);
        assert_eq!(again, whole, "written again");
    }
}

/// The same verdict where only the tolerant readers take the body.
fn tolerantly<R: Decode + Debug>(body: &[u8], enveloped: bool) {
    if let Some(other) = surprising(body) {
        let (quick, tolerant) = (
            verdict::<R>(body, enveloped),
            verdict::<R>(&other, enveloped),
        );
        assert!(quick.agrees(&tolerant), "{quick:?} against {tolerant:?}");
    }
}

/// Orders in columns are the orders in rows.
fn orders(body: &[u8]) {
    let columns = match read::<OrderColumns>(body, true) {
        Ok(Reading::Reply(columns) | Reading::Converted { reply: columns, .. }) => {
            Verdict::Reply(format!("{:?}", Vec::<GroupedOrder>::from(columns)))
        }
        Ok(Reading::Refused { message }) => Verdict::Refused(message),
        Err(damage) => Verdict::Damaged(damage),
    };
    assert_eq!(columns, verdict::<Vec<GroupedOrder>>(body, true));
}

fn written(reply: &impl Serialize) -> String {
    match serde_json::to_string(reply) {
        Ok(text) => text,
        Err(error) => panic!("cannot be written: {error}"),
    }
}
