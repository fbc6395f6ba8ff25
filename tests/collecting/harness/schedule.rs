//! A random schedule, made from its seed alone.

use fastrand::Rng;

use crate::doubles::{Ending, Garbage, Limit};

/// Venues with a control stream, so that missing data is detected, and after how
/// many milliseconds.
const CONTROLLED: [(&str, u64); 12] = [
    ("binance", 30_000),
    ("kraken", 30_000),
    ("aster", 30_000),
    ("okx", 30_000),
    ("bybit", 30_000),
    ("bitget", 31_000),
    ("htx", 91_000),
    ("deribit", 30_000),
    ("bitfinex", 41_000),
    ("dydx", 30_000),
    ("lighter", 31_000),
    ("lighter_rh", 31_000),
];
/// A topic that each venue may refuse, as its double names it.
const REFUSABLE: [(&str, &str); 5] = [
    ("bybit", "allLiquidation.SOLUSDT"),
    ("bybit", "allLiquidation.ETHUSD"),
    ("kraken", "PF_ETHUSD"),
    ("dydx", "ETH-USD"),
    ("lighter", "trade/1"),
];
/// A part of the market list that each venue may fail to answer.
const LISTS: [(&str, &str); 3] = [
    ("bybit", "category=inverse"),
    ("okx", "instType=FUTURES"),
    ("gate", "/futures/btc/"),
];
/// Venues without a number in their rows, which send several in a frame, and of which pages by REST are never cut between
/// rows of one instant for good: those of Bitget are, and a pair that is cut counts once there.
const ANONYMOUS: [&str; 5] = ["bybit", "coinex", "gate", "htx", "okx"];
/// Venues that number their messages.
const NUMBERED: [&str; 3] = ["deribit", "dydx", "kraken"];
/// Every venue.
pub(super) const VENUES: [&str; 17] = [
    "binance",
    "bybit",
    "okx",
    "gate",
    "bitget",
    "htx",
    "aster",
    "deribit",
    "kraken",
    "bitfinex",
    "dydx",
    "lighter",
    "lighter_rh",
    "coinex",
    "pacifica",
    "extended",
    "orderly",
];
/// Venues without sockets.
pub(super) const POLLED: [&str; 2] = ["coinex", "orderly"];
/// Venues with two redundant connections.
pub(super) const PAIRED: [&str; 7] = [
    "binance",
    "bybit",
    "aster",
    "lighter",
    "lighter_rh",
    "pacifica",
    "extended",
];

/// A fault of a venue.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// Connections end so, and none is let in.
    Refused(Ending),
    /// Connections end so, and handshakes are answered with a status.
    Handshake(Ending, Limit),
    /// Connections end so, and one of the venue's addresses refuses.
    Shut(Ending),
    HalfOpen,
    /// No data and no control.
    Mute,
    /// Connections end so, and no subscription is acknowledged.
    NoAcks(Ending),
    /// Connections end so, and a topic is refused.
    Topic(Ending, &'static str),
    /// One connection after another ends so.
    Cut(Ending),
    /// One connection to each address ends so.
    One(Ending),
    /// One connection to each address sends no events any more.
    Deaf,
    /// Messages take up to so many milliseconds to arrive, on each connection another time.
    Slow(u64),
    Garbage(Garbage),
    /// A part of the list of markets is not answered.
    List(&'static str),
    Rest(Limit),
    /// First pages are answered, and those behind them are not.
    LaterPages,
    RestHangs,
    RestCut,
    /// A market is listed.
    Announced,
    /// A market is listed no more, and then it is again.
    Withdrawn,
    /// REST reports events late, by as much as the venue's documents allow.
    Late,
    /// Every event happens twice with equal content.
    Equal,
    /// The next data frame on each connection is lost on its way.
    Skip,
    Duplicates,
    Disorder,
    /// The last events again to each new subscriber.
    Replay(usize),
    Notice,
}

/// A fault of this process.
#[derive(Clone, Copy, Debug)]
pub(super) enum Mishap {
    /// Killed, and not started for so long.
    Killed,
    /// Stopped, and not started for so long.
    Stopped,
    /// Frozen for so long; connections may end meanwhile.
    Frozen { cut: bool },
    /// Nothing can be written for so long; perhaps it is killed soon after.
    Full { killed: Option<u64> },
    /// The clock is set ahead by so many milliseconds, or behind, and set right after so long.
    Clock(i64),
    /// Killed and started again where the clock is so much ahead or behind.
    Restarted(i64),
}

/// When something goes wrong, in milliseconds from the beginning, and for how long.
#[derive(Clone, Debug)]
pub(super) struct Step<T> {
    pub(super) at: u64,
    pub(super) lasts: u64,
    pub(super) what: T,
}

impl<T> Step<T> {
    pub(super) fn end(&self) -> u64 {
        self.at + self.lasts
    }
}

/// For how many milliseconds a status turns a client away: as it says, or as the venue's documents do.
pub(super) fn is_long(venue: &str, limit: &Limit) -> u64 {
    let seconds = match (venue, limit.status, limit.retry_after) {
        (_, 403 | 418 | 429, Some(seconds)) => seconds,
        ("bybit", 403, None) => 600,
        _ => 0,
    };
    seconds * 1000
}

/// How late a venue may report by REST, in milliseconds.
pub(super) fn late(venue: &str) -> u64 {
    liqdata::feeds::venue(venue).unwrap().late().unsigned_abs()
}

/// One of the faults that are drawn after the others.
fn further_fault(rng: &mut Rng, venue: &'static str) -> Fault {
    let mut kinds = vec![
        Fault::Late,
        Fault::LaterPages,
        Fault::Handshake(ending(rng), ban(rng)),
        Fault::Rest(ban(rng)),
    ];
    if ANONYMOUS.contains(&venue) {
        kinds.extend([Fault::Equal, Fault::Equal]);
    }
    if NUMBERED.contains(&venue) {
        kinds.extend([Fault::Skip, Fault::Skip]);
    }
    kinds.swap_remove(rng.usize(..kinds.len()))
}

/// A schedule.
#[derive(Clone, Debug)]
pub(super) struct Schedule {
    pub(super) seed: u64,
    pub(super) venues: Vec<&'static str>,
    pub(super) faults: Vec<(&'static str, Step<Fault>)>,
    pub(super) mishaps: Vec<Step<Mishap>>,
    /// When the last thing is over.
    pub(super) lasts: u64,
    /// Seconds after which sockets are replaced; 0 for the venue's own.
    pub(super) rotate: f64,
    /// Seconds between two readings of the markets.
    pub(super) instruments: f64,
    /// Seconds between two polls of a venue without sockets.
    pub(super) poll: f64,
    /// Most rows that wait for the disk.
    pub(super) queue: usize,
    /// Milliseconds between two events of a venue, at most.
    pub(super) pause: u64,
}

/// Anything from `least` to `most`, as often shorter as longer than the geometric middle.
fn duration(rng: &mut Rng, least: u64, most: u64) -> u64 {
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "milliseconds of a schedule"
    )]
    let drawn = (least as f64 * (most as f64 / least as f64).powf(rng.f64())) as u64;
    drawn.clamp(least, most)
}

/// After how long it shows that a venue is mute.
pub(super) fn shows_after(venue: &str) -> u64 {
    let mut known = CONTROLLED.iter().filter(|(known, _)| *known == venue);
    known.next().map_or(u64::MAX, |(_, after)| *after)
}

fn ending(rng: &mut Rng) -> Ending {
    let endings = [Ending::Close, Ending::Fin, Ending::Reset, Ending::MidFrame];
    endings[rng.usize(..endings.len())]
}

fn limit(rng: &mut Rng) -> Limit {
    let status = [403, 418, 429, 500, 503][rng.usize(..5)];
    Limit {
        status,
        retry_after: rng.bool().then(|| rng.u64(1..200)),
    }
}

/// A status with which clients are turned away for long.
fn ban(rng: &mut Rng) -> Limit {
    let status = [403, 418, 429][rng.usize(..3)];
    Limit {
        status,
        retry_after: (rng.u8(..4) > 0).then(|| duration(rng, 200, 1000)),
    }
}

fn one_of<T: Copy>(rng: &mut Rng, venue: &str, all: &[(&str, T)]) -> Option<T> {
    let of_venue: Vec<T> = all
        .iter()
        .filter(|(name, _)| *name == venue)
        .map(|(_, one)| *one)
        .collect();
    rng.choice(of_venue)
}

fn fault(rng: &mut Rng, venue: &'static str) -> Option<Fault> {
    Some(match rng.u8(..29) {
        0 | 1 => Fault::Refused(ending(rng)),
        2 => Fault::Handshake(ending(rng), limit(rng)),
        3 => Fault::Shut(ending(rng)),
        4 | 5 => Fault::HalfOpen,
        6 if shows_after(venue) < u64::MAX => Fault::Mute,
        7 => Fault::NoAcks(ending(rng)),
        8 | 9 => Fault::Topic(ending(rng), one_of(rng, venue, &REFUSABLE)?),
        10..=12 => Fault::Cut(ending(rng)),
        13 => Fault::Garbage(
            [
                Garbage::InvalidUtf8,
                Garbage::Binary,
                Garbage::TruncatedJson,
                Garbage::Alien,
                Garbage::HugeHead,
                Garbage::BadOpcode,
            ][rng.usize(..6)],
        ),
        14 => Fault::List(one_of(rng, venue, &LISTS)?),
        15 => Fault::Rest(limit(rng)),
        16 => Fault::RestHangs,
        17 => Fault::RestCut,
        18 => Fault::Announced,
        // A delisted market cannot be requested.
        19 if !POLLED.contains(&venue) => Fault::Withdrawn,
        20 => Fault::Duplicates,
        21 => Fault::Disorder,
        22 => Fault::Replay(rng.usize(1..60)),
        23 => Fault::Notice,
        24 => Fault::One(ending(rng)),
        25 if PAIRED.contains(&venue) => Fault::Deaf,
        26 | 27 => Fault::Slow(duration(rng, 100, 30_000)),
        _ => return None,
    })
}

impl Schedule {
    /// A week in which something goes wrong with every venue each second hour or so, and with this process each day.
    pub(super) fn week(seed: u64, days: u64) -> Self {
        const DAY: u64 = 24 * 3_600_000;
        let mut rng = Rng::with_seed(seed);
        let mut faults = Vec::new();
        for venue in VENUES {
            let mut at = 0;
            while at < days * DAY {
                at += rng.u64(600_000..4 * 3_600_000);
                if let Some(what) = fault(&mut rng, venue) {
                    let lasts = duration(&mut rng, 30_000, 1_200_000);
                    faults.push((venue, Step { at, lasts, what }));
                }
            }
        }
        faults.sort_by_key(|(_, step)| step.at);
        let kinds = [
            Mishap::Frozen { cut: false },
            Mishap::Full { killed: None },
            Mishap::Frozen { cut: true },
            Mishap::Full { killed: None },
        ];
        let mishaps = (0..days).zip(kinds.into_iter().cycle());
        let mishaps = mishaps.map(|(day, what)| Step {
            at: day * DAY + rng.u64(DAY / 4..DAY / 2),
            lasts: duration(&mut rng, 5000, 600_000),
            what,
        });
        Self {
            seed,
            venues: VENUES.to_vec(),
            faults,
            mishaps: mishaps.collect(),
            lasts: days * DAY,
            rotate: 0.0,
            instruments: 3600.0,
            poll: 300.0,
            queue: 65_536,
            pause: 120_000,
        }
    }

    /// The schedule of a seed: the faults of [`Schedule::of`] and more.
    pub(super) fn whole(seed: u64) -> Self {
        let mut schedule = Self::of(seed);
        let mut rng = Rng::with_seed(seed ^ 0xbe51_de5e_ed00_77aa);
        for venue in schedule.venues.clone() {
            for _ in 0..rng.usize(..4) {
                let at = rng.u64(..schedule.lasts);
                let what = further_fault(&mut rng, venue);
                let lasts = duration(&mut rng, 200, 300_000);
                // Late rows by REST matter where the socket did not deliver them.
                if matches!(what, Fault::Late) && rng.u8(..4) > 0 {
                    let (what, soon) = (Fault::Refused(ending(&mut rng)), rng.u64(..=lasts));
                    let lasts = duration(&mut rng, 200, 120_000);
                    let at = at + soon;
                    schedule.faults.push((venue, Step { at, lasts, what }));
                }
                schedule.faults.push((venue, Step { at, lasts, what }));
            }
        }
        schedule.faults.sort_by_key(|(_, step)| step.at);
        // Until refused clients are accepted again, and late rows are reported.
        let ends = schedule.faults.iter().map(|(venue, step)| {
            let after = match &step.what {
                Fault::Handshake(_, limit) | Fault::Rest(limit) => is_long(venue, limit),
                Fault::Late => late(venue),
                _ => 0,
            };
            step.end() + after
        });
        schedule.lasts = ends.fold(schedule.lasts, u64::max);
        schedule
    }

    /// The first draws of a seed.
    pub(super) fn of(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed ^ 0x5eed_0f11_9da7_a000);
        let mut venues = VENUES.to_vec();
        rng.shuffle(&mut venues);
        venues.truncate(1 + rng.usize(..3));
        venues.sort_unstable();
        let lasts = rng.u64(120..600) * 1000;
        let mut faults = Vec::new();
        for venue in &venues {
            for _ in 0..rng.usize(1..5) {
                let at = if rng.u8(..6) == 0 {
                    0
                } else {
                    rng.u64(..lasts)
                };
                let Some(what) = fault(&mut rng, venue) else {
                    continue;
                };
                let lasts = match what {
                    // A silence shorter than the death test cannot be detected.
                    Fault::Mute => duration(&mut rng, shows_after(venue), 300_000),
                    _ => duration(&mut rng, 200, 300_000),
                };
                // Messages in flight are lost where the connection ends.
                if matches!(what, Fault::Slow(_)) && rng.bool() {
                    let what = if rng.bool() {
                        Fault::Cut(ending(&mut rng))
                    } else {
                        Fault::One(ending(&mut rng))
                    };
                    let at = at + rng.u64(..=lasts);
                    let lasts = 1;
                    faults.push((*venue, Step { at, lasts, what }));
                }
                faults.push((*venue, Step { at, lasts, what }));
            }
        }
        let mut mishaps = Vec::new();
        if rng.u8(..100) < 30 {
            let what = if rng.bool() {
                Mishap::Killed
            } else {
                Mishap::Stopped
            };
            let lasts = duration(&mut rng, 50, 200_000);
            mishaps.push((what, lasts));
        }
        if rng.u8(..100) < 25 {
            let cut = rng.bool();
            mishaps.push((Mishap::Frozen { cut }, duration(&mut rng, 2000, 600_000)));
        }
        if rng.u8(..100) < 20 {
            let killed = rng.bool().then(|| duration(&mut rng, 100, 10_000));
            mishaps.push((Mishap::Full { killed }, duration(&mut rng, 1000, 200_000)));
        }
        if rng.u8(..100) < 25 {
            let off = i64::try_from(duration(&mut rng, 100, 100_000)).unwrap();
            let off = if rng.bool() { off } else { -off };
            let what = if rng.u8(..3) == 0 {
                Mishap::Restarted(off)
            } else {
                Mishap::Clock(off)
            };
            mishaps.push((what, duration(&mut rng, 1000, 300_000)));
        }
        let mut mishaps: Vec<Step<Mishap>> = mishaps
            .into_iter()
            .map(|(what, long)| Step {
                at: rng.u64(..lasts),
                lasts: long,
                what,
            })
            .collect();
        // One after the other: each moves the process as a whole.
        mishaps.sort_by_key(|step| step.at);
        let mut free = 0;
        mishaps.retain(|step| {
            let fits = step.at >= free;
            if fits {
                free = step.end() + 1000;
            }
            fits
        });
        faults.sort_by_key(|(_, step)| step.at);
        let ends = faults.iter().map(|(_, step)| step.end());
        let ends = ends.chain(mishaps.iter().map(Step::end)).max();
        Self {
            seed,
            venues,
            faults,
            mishaps,
            lasts: lasts.max(ends.unwrap_or(0)),
            rotate: if rng.u8(..4) == 0 {
                rng.f64() * 200.0 + 20.0
            } else {
                0.0
            },
            instruments: [30.0, 120.0, 3600.0][rng.usize(..3)],
            poll: 30.0,
            queue: if rng.bool() { 20 } else { 65_536 },
            pause: [2000, 8000, 30_000][rng.usize(..3)],
        }
    }
}
