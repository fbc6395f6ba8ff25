//! HTX zips its frames and pings with a token.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;
use liqdata::feeds::{Instruments, answer, decode};

use crate::feeds::read;

fn gzip(text: &str) -> Vec<u8> {
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    zipped.write_all(text.as_bytes()).unwrap();
    zipped.finish().unwrap()
}

#[test]
fn htx_frames_may_be_gzip() {
    let frame = r#"{"op":"notify","topic":"public.ETH-USDT.liquidation_orders","ts":1,"data":[{"symbol":"ETH","contract_code":"ETH-USDT","direction":"sell","offset":"close","volume":75.0,"price":3144.12,"created_at":1790000600212,"amount":0.75,"trade_turnover":2358.09}]}"#;
    let none = Instruments::default();
    let zipped = gzip(frame);
    assert_eq!(
        decode("htx", &zipped, None, &none).unwrap(),
        read("huobi", frame)
    );
    assert_eq!(
        decode("htx", &gzip(r#"{"op":"ping","ts":"1"}"#), None, &none),
        Ok(Vec::new())
    );
    let cut = &zipped[..zipped.len() / 2];
    let error = decode("htx", cut, None, &none).unwrap_err();
    assert!(error.to_string().contains("decompressed"), "{error}");
}

#[test]
fn a_gzip_frame_that_decompresses_beyond_the_limit_is_refused() {
    let mut zipped = GzEncoder::new(Vec::new(), Compression::fast());
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..65 {
        zipped.write_all(&blanks).unwrap();
    }
    let bomb = zipped.finish().unwrap();
    let error = decode("htx", &bomb, None, &Instruments::default()).unwrap_err();
    assert!(error.to_string().contains("larger than"), "{error}");
}

#[test]
fn pings_of_htx_are_answered_with_their_token() {
    for (ping, pong) in [
        (
            r#"{"op":"ping","ts":"1790000605591"}"#,
            r#"{"op":"pong","ts":"1790000605591"}"#,
        ),
        (
            r#"{"op":"ping","ts":1790000605591}"#,
            r#"{"op":"pong","ts":1790000605591}"#,
        ),
        (r#"{"ping":1790000605591}"#, r#"{"pong":1790000605591}"#),
    ] {
        assert_eq!(
            answer("htx", ping.as_bytes()).unwrap().as_deref(),
            Some(pong)
        );
        assert_eq!(answer("htx", &gzip(ping)).unwrap().as_deref(), Some(pong));
        assert_eq!(read("htx", ping), []);
    }
    let repeated = r#"{"op":"sub","err-code":2014,"err-msg":"Repeated subscription.","ts":1}"#;
    assert_eq!(answer("htx", repeated.as_bytes()), Ok(None));
    assert_eq!(read("htx", repeated), []);
    assert_eq!(answer("bybit", br#"{"op":"ping"}"#), Ok(None));
}
