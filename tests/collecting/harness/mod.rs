//! Random fault schedules for the doubles of all exchanges, on a virtual clock: the coverage of the archive is compared
//! with the truth.
//!
//! A schedule is made from a seed ([`schedule`]): the exchanges, their faults, and when this process is killed, stopped or
//! suspended, its clock is off or its disk is full. It runs in one thread ([`run`]) over pipes in memory; the clock moves
//! when every task waits ([`virtual_environment`]). Then the archive is checked ([`oracle`]): no covered event is missing or
//! stored twice, and no gap is longer than its faults explain ([`expected_gaps`]).
//!
//! `LIQDATA_SEED=7` runs one schedule and prints it; `LIQDATA_SCHEDULES=5000` runs so many.

mod expected_gaps;
mod long_outage;
mod oracle;
mod rare_events;
mod refused_handshakes;
pub(crate) mod run;
mod schedule;
mod slow_connection;
pub(crate) mod virtual_environment;
mod week;

use std::sync::atomic::{AtomicU64, Ordering};

use rare_events::Met;
use schedule::Schedule;

use crate::bench::is_soak;

/// Schedules of `make test`, and of `make soak`.
const SCHEDULES: (u64, u64) = (24, 6000);
/// Schedules that once found a fault, with only the first draws of a seed.
const FOUND_FIRST: [u64; 27] = [
    693, 930, 934, 1252, 1347, 1487, 1624, 2175, 2277, 2492, 2782, 3087, 3304, 3346, 3385, 3511,
    3582, 3671, 3876, 4153, 4424, 4654, 5013, 5268, 5305, 5848, 5893,
];
/// Schedules that once found a fault, with all draws of a seed.
const FOUND_WHOLE: [u64; 7] = [119, 392, 692, 703, 1393, 2726, 3765];
/// Schedules that are performed at once.
const AT_ONCE: usize = 2;

fn number(variable: &str) -> Option<u64> {
    std::env::var(variable).ok()?.parse().ok()
}

#[test]
fn schedules_that_once_found_a_fault_find_none() {
    // A schedule takes seconds: the short form performs a third of them.
    let step = if is_soak() { 1 } else { 3 };
    let first = FOUND_FIRST.map(Schedule::of).into_iter();
    let all = first.chain(FOUND_WHOLE.map(Schedule::whole));
    for schedule in all.step_by(step) {
        let (seed, outcome) = (schedule.seed, run::perform(&schedule));
        let faults = outcome.faults.join("\n");
        assert!(
            outcome.faults.is_empty(),
            "seed {seed}:\n{}\n{faults}",
            outcome.log
        );
    }
}

#[test]
fn coverage_is_true_under_random_faults() {
    if let Some(seed) = number("LIQDATA_SEED") {
        let schedule = Schedule::whole(seed);
        let outcome = run::perform(&schedule);
        println!("{}", outcome.log);
        assert!(outcome.faults.is_empty(), "{}", outcome.faults.join("\n"));
        return;
    }
    let usual = if is_soak() { SCHEDULES.1 } else { SCHEDULES.0 };
    let schedules = number("LIQDATA_SCHEDULES").unwrap_or(usual);
    let next = AtomicU64::new(number("LIQDATA_FIRST_SEED").unwrap_or(0));
    let last = next.load(Ordering::Relaxed) + schedules;
    let begun = std::time::Instant::now();
    let run = || {
        let (mut failed, mut met) = (Vec::new(), Met::default());
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= last {
                return (failed, met);
            }
            let outcome = run::perform(&Schedule::whole(seed));
            met += outcome.met;
            if !outcome.faults.is_empty() {
                failed.push((seed, outcome));
            }
        }
    };
    let (mut failed, mut met) = (Vec::new(), Met::default());
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(run)).collect();
        for one in all {
            let (some, more) = one.join().unwrap();
            failed.extend(some);
            met += more;
        }
    });
    println!(
        "{schedules} schedules, {met:?}, {:.1} s, {} failed",
        begun.elapsed().as_secs_f64(),
        failed.len()
    );
    failed.sort_by_key(|(seed, _)| *seed);
    let Some((seed, first)) = failed.first() else {
        let is_some = schedules < SCHEDULES.0 || met.is_some_of_all();
        return assert!(is_some, "some rare events never happened: {met:?}");
    };
    let seeds: Vec<String> = failed
        .iter()
        .map(|(seed, outcome)| format!("LIQDATA_SEED={seed}: {}", outcome.faults[0]))
        .collect();
    panic!(
        "{} of {schedules} schedules failed:\n{}\n\nthe first, seed {seed}:\n{}\n{}",
        failed.len(),
        seeds.join("\n"),
        first.log,
        first.faults.join("\n")
    );
}
