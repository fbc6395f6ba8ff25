//! A heatmap that is read while it arrives is what its whole body gives: the same values, or the same verdict.

use liqdata::contract::decode::intake;
use liqdata::model::HeatmapGrid;

use super::verdict::{Verdict, verdict};

/// A body, which arrives whole, byte by byte, and in pieces cut at places that its bytes decide.
///
/// # Panics
///
/// Where a body that arrives in pieces gets another verdict than the whole one.
pub fn check(body: &[u8]) {
    let whole = verdict::<HeatmapGrid>(body, false);
    let seed = body.iter().fold(body.len() as u64, |seed, &byte| {
        (seed ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut rng = fastrand::Rng::with_seed(seed);
    let cuts: Vec<usize> = (0..rng.usize(1..12)).map(|_| rng.usize(..)).collect();
    let every: Vec<usize> = (0..body.len()).collect();
    for (cuts, announced) in [(&[][..], true), (&cuts, rng.bool()), (&every, false)] {
        let (arrived, _) = arriving(body, cuts, announced);
        assert!(agree(&arrived, &whole), "{arrived:?} against {whole:?}");
    }
}

/// Whether the verdict on a body that arrived is that on its whole.
#[must_use]
pub fn agree(arrived: &Verdict, whole: &Verdict) -> bool {
    match whole {
        // A line break between two rows may have become another blank.
        Verdict::Damaged(damage) if damage.message.contains(" line ") => arrived.agrees(whole),
        whole => arrived == whole,
    }
}

/// The verdict on a body that arrives in pieces cut at `cuts`, and whether it was read on its way.
#[must_use]
pub fn arriving(body: &[u8], cuts: &[usize], announced: bool) -> (Verdict, bool) {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (body.len() + 1)).collect();
    cuts.push(body.len());
    cuts.sort_unstable();
    let mut taken = intake::<HeatmapGrid>(false);
    taken.begin(announced.then_some(body.len()));
    let mut start = 0;
    for end in cuts {
        taken.feed(body.get(start..end).unwrap_or_default());
        start = end;
    }
    let verdict = Verdict::from(taken.finish());
    (verdict, taken.buffered().len() < body.len())
}
