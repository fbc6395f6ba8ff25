//! A week of all exchanges with faults, in minutes: answers stay right and memory stays flat.

use std::sync::{Arc, Mutex};

use super::number;
use super::run::perform_looking;
use super::schedule::Schedule;
use crate::bench::is_soak;

/// How much more memory there may be after the last day than after the third, when all long-lived state exists, in MB.
const FLAT: f64 = 16.0;

/// The memory of this process in MB.
fn resident() -> f64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap();
    let pages = statm.split(' ').nth(1).unwrap();
    pages.parse::<f64>().unwrap() * 4096.0 / 1e6
}

#[test]
fn memory_stays_flat_over_a_week_with_faults() {
    let days = match (number("LIQDATA_DAYS"), is_soak()) {
        (Some(days), _) => days,
        (None, true) => 7,
        (None, false) => return,
    };
    let schedule = Schedule::week(number("LIQDATA_SEED").unwrap_or(1), days);
    let begun = std::time::Instant::now();
    let hours = Arc::new(Mutex::new(Vec::new()));
    let noted = Arc::clone(&hours);
    let outcome = perform_looking(&schedule, move |venues| {
        // The doubles record the events; that is no memory of the collector.
        let mut recorded = 0.0;
        for exchange in venues.values() {
            exchange.forget();
            recorded += exchange.recorded_bytes() / 1e6;
        }
        noted.lock().unwrap().push(resident() - recorded);
    });
    let hours = hours.lock().unwrap();
    let days: Vec<f64> = hours
        .chunks(24)
        .filter(|day| day.len() == 24)
        .map(|day| day.iter().sum::<f64>() / 24.0)
        .collect();
    println!(
        "{} faults, {} events, {:.0} s; memory by day in MB: {days:.1?}",
        schedule.faults.len(),
        outcome.met.events,
        begun.elapsed().as_secs_f64()
    );
    assert!(
        outcome.faults.is_empty(),
        "{}\n{}",
        outcome.log,
        outcome.faults.join("\n")
    );
    if let [_, _, third, .., last] = days[..] {
        assert!(last < third + FLAT, "{days:?}");
    }
}
