//! Checks of every decoder that hold for any input, and what feeds them.
//!
//! Each of the [`CHECKS`] takes bytes, hands them to a decoder and panics where a promise is broken. Two programs feed
//! them: `cargo fuzz`, which is led by the code that an input reaches (`make fuzz`), and a short run from a fixed seed
//! that belongs to the tests (`tests/contract/decoding/smoke.rs`). Both begin with the same [`seeds`] and know the same ways to
//! change them ([`mutate`]).

pub mod checks;
pub mod mutate;
pub mod seeds;

use fastrand::Rng;

/// One check.
#[derive(Clone, Copy, Debug)]
pub struct Check {
    /// Its name, which is that of its target.
    pub name: &'static str,
    /// Panics where `input` shows that a promise is broken.
    pub run: fn(&[u8]),
    /// What good inputs look like.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Texts worth putting in: names, numbers and punctuation that the decoder knows, and others that it does not.
    pub tokens: &'static [&'static str],
    /// Whether an input takes milliseconds.
    pub slow: bool,
}

/// Every check.
pub const CHECKS: [Check; 10] = [
    Check {
        name: "archive",
        run: checks::archive::check,
        seeds: seeds::archive,
        tokens: mutate::CHANGES,
        slow: true,
    },
    Check {
        name: "codings",
        run: checks::codings::check,
        seeds: seeds::codings,
        tokens: mutate::CODINGS,
        slow: false,
    },
    Check {
        name: "replies",
        run: checks::replies::check,
        seeds: seeds::replies,
        tokens: mutate::JSON,
        slow: false,
    },
    Check {
        name: "arriving",
        run: checks::arriving::check,
        seeds: seeds::heatmaps,
        tokens: mutate::JSON,
        slow: false,
    },
    Check {
        name: "numbers",
        run: checks::numbers::check,
        seeds: seeds::numbers,
        tokens: mutate::NUMBERS,
        slow: false,
    },
    Check {
        name: "instants",
        run: checks::instants::check,
        seeds: seeds::instants,
        tokens: mutate::INSTANTS,
        slow: false,
    },
    Check {
        name: "frames",
        run: checks::frames::check,
        seeds: seeds::frames,
        tokens: mutate::JSON,
        slow: false,
    },
    Check {
        name: "rest_bodies",
        run: checks::rest_bodies::check,
        seeds: seeds::rest_bodies,
        tokens: mutate::JSON,
        slow: false,
    },
    Check {
        name: "events",
        run: checks::events::check,
        seeds: seeds::events,
        tokens: mutate::EVENTS,
        slow: false,
    },
    Check {
        name: "questions",
        run: checks::questions::check,
        seeds: seeds::questions,
        tokens: mutate::QUESTIONS,
        slow: false,
    },
];

impl Check {
    /// The check of that name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        CHECKS.into_iter().find(|check| check.name == name)
    }

    /// An input made of `seeds`, as `rng` decides.
    #[must_use]
    pub fn input(&self, rng: &mut Rng, seeds: &[Vec<u8>]) -> Vec<u8> {
        let mut input = rng.choice(seeds).cloned().unwrap_or_default();
        for _ in 0..rng.usize(0..6) {
            mutate::mutate(rng, &mut input, self.tokens, seeds);
        }
        input
    }
}

/// A target of `cargo fuzz` for the check of that name.
///
/// A third of its inputs are changed by the rules of [`mutate`], the others by those of libFuzzer; now and then it starts
/// anew from a seed.
#[macro_export]
macro_rules! target {
    ($name:literal) => {
        static CHECK: std::sync::LazyLock<($crate::Check, Vec<Vec<u8>>)> =
            std::sync::LazyLock::new(|| {
                let check = $crate::Check::named($name).expect("a check of that name");
                (check, (check.seeds)())
            });

        libfuzzer_sys::fuzz_target!(|input: &[u8]| (CHECK.0.run)(input));

        libfuzzer_sys::fuzz_mutator!(|data: &mut [u8], size: usize, max_size: usize, seed: u32| {
            let mut rng = fastrand::Rng::with_seed(u64::from(seed));
            let (check, seeds) = &*CHECK;
            let input = match rng.u8(0..64) {
                0 => check.input(&mut rng, seeds),
                1..=21 => {
                    let mut input = data[..size].to_vec();
                    $crate::mutate::mutate(&mut rng, &mut input, check.tokens, seeds);
                    input
                }
                _ => return libfuzzer_sys::fuzzer_mutate(data, size, max_size),
            };
            let length = input.len().min(max_size);
            data[..length].copy_from_slice(&input[..length]);
            length
        });
    };
}
