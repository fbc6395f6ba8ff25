//! Compressed bodies: what comes out of a coding does not depend on how it arrived, is no larger than the cap, and of gzip is
//! what another decoder makes of it, or at least what its checksum says.
//!
//! The first byte of an input is the coding, the second the cap in thousands, the rest the body.

use std::io::Read;

use flate2::Crc;
use flate2::read::MultiGzDecoder;
use liqdata::client::unpacked;

const CODINGS: [&str; 3] = ["gzip", "zstd", "identity"];

/// A compressed body.
///
/// # Panics
///
/// Where a promise of the above is broken.
pub fn check(input: &[u8]) {
    let [which, cap, body @ ..] = input else {
        return;
    };
    let coding = CODINGS[usize::from(*which) % CODINGS.len()];
    let cap = usize::from(*cap) * 1000;
    let whole = unpacked(coding, std::iter::once(body), cap);
    if let Ok(found) = &whole {
        assert!(found.len() <= cap, "{} bytes over {cap}", found.len());
    }
    for piece in [1, 7, 1000] {
        let arrived = unpacked(coding, body.chunks(piece), cap);
        assert_eq!(
            arrived.as_ref().ok(),
            whole.as_ref().ok(),
            "in pieces of {piece}"
        );
    }
    match coding {
        "identity" => assert_eq!(whole.is_ok(), body.len() <= cap),
        "gzip" => gzip(body, cap, whole.as_deref().ok()),
        _ => {}
    }
}

/// Held against a decoder that reads a file to its end.
fn gzip(body: &[u8], cap: usize, found: Option<&[u8]>) {
    let mut plain = Vec::new();
    let most = u64::try_from(cap).unwrap_or(u64::MAX) + 1;
    let read = MultiGzDecoder::new(body).take(most).read_to_end(&mut plain);
    // Rubbish that ends with the checksum and the size of what stands before it is not told from the end of that.
    let repeated = body
        .last_chunk::<8>()
        .is_some_and(|end| body.windows(8).filter(|other| other == end).count() > 1);
    if let Some(found) = found
        && !body.is_empty()
        && !repeated
    {
        if read.is_ok() {
            assert_eq!(found, plain);
            return;
        }
        // Two lengths that deflate reserves are read as the longest by one decoder and refused by the other; nothing is lost
        // by it, as the checksum and the size at the end say.
        let mut sum = Crc::new();
        sum.update(found);
        let end = [sum.sum().to_le_bytes(), sum.amount().to_le_bytes()].concat();
        assert!(found.starts_with(&plain), "other than the other: {read:?}");
        assert!(body.ends_with(&end), "taken with a wrong sum: {read:?}");
    }
}
