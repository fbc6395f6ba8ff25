//! A short run of every check of `fuzz/` from a fixed seed: the same inputs at each run.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use fastrand::Rng;

use crate::decoding::fuzz::{CHECKS, Check};

/// How many inputs each check gets.
const INPUTS: u64 = 3000;
/// And how many where each takes its time.
const SLOW_INPUTS: u64 = 300;
/// So many times as many where there is time (`make soak`).
const SOAK: u64 = 100;

/// An input that is shown where the check of it panics.
struct Shown<'a> {
    number: u64,
    input: &'a [u8],
}

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("input {}: {}", self.number, self.input.escape_ascii());
        }
    }
}

fn run(name: &str) {
    let check = Check::named(name).unwrap();
    let seeds = (check.seeds)();
    assert!(!seeds.is_empty());
    let soak = std::env::var_os("LIQDATA_SOAK").is_some();
    let times = if soak { SOAK } else { 1 };
    let inputs = times * if check.slow { SLOW_INPUTS } else { INPUTS };
    for number in 0..inputs {
        let input = match usize::try_from(number).ok().and_then(|at| seeds.get(at)) {
            Some(seed) => seed.clone(),
            None => check.input(&mut Rng::with_seed(number), &seeds),
        };
        let shown = Shown {
            number,
            input: &input,
        };
        (check.run)(shown.input);
    }
}

macro_rules! runs {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            run(stringify!($name));
        })+

        /// Each check is run here and is a target of `cargo fuzz`.
        #[test]
        fn every_check_is_run() {
            let run = BTreeSet::from([$(stringify!($name).to_owned()),+]);
            let all: BTreeSet<String> = CHECKS.iter().map(|check| check.name.to_owned()).collect();
            assert_eq!(run, all);
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets");
            let targets: BTreeSet<String> = fs::read_dir(folder)
                .unwrap()
                .map(|file| file.unwrap().path().file_stem().unwrap().display().to_string())
                .collect();
            assert_eq!(targets, all);
        }
    };
}

runs! { archive codings replies arriving numbers instants frames rest_bodies events questions }
