//! Decompresses bodies within a size limit.
//!
//! Uncompressed and zstd bodies are passed on as they arrive. A gzip body is buffered, then inflated in one call into a
//! reused buffer. This takes two thirds of the time of inflating it in pieces. A gzip body above [`AT_ONCE`] is
//! inflated as it arrives.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use reqwest::header::{CONTENT_ENCODING, HeaderMap, HeaderValue};
use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};
use zstd::zstd_safe::get_frame_content_size;

use crate::client::connection::spare_buffers::SpareBuffers;
use crate::contract::decode::Feed;

/// The value of the `Accept-Encoding` header, preferred encoding first.
pub(crate) const ACCEPTED: &str = "zstd, gzip";
/// The accepted encodings, as error messages list them.
const ALLOWED: &str = "gzip, zstd or none";
/// Maximum size in bytes of a gzip body inflated in one call, both compressed and decompressed.
const AT_ONCE: usize = 64 << 20;
/// Maximum compression ratio of deflate, rounded up.
const SWELLING: usize = 1040;
/// The first bytes of a gzip member.
const GZIP: &[u8; 3] = b"\x1f\x8b\x08";
/// Minimum total size of a gzip header and trailer, in bytes.
const FRAME: usize = 18;
/// Maximum size of the header of a zstd frame, in bytes.
const HEAD: usize = 18;
/// Size in bytes of the output buffer for zstd.
const PIECE: usize = 128 << 10;

/// Why a body cannot be decompressed.
#[derive(Debug)]
pub(crate) enum Spoiled {
    /// The body exceeds the size limit.
    Over,
    /// The body has an encoding that was not requested.
    Unknown(String),
    /// The body is malformed.
    Damaged(String),
}

/// The destination of decompressed bytes, with a size limit.
struct Sink<'a> {
    intake: &'a mut dyn Feed,
    cap: usize,
    bytes: usize,
    over: bool,
}

impl Sink<'_> {
    fn take(&mut self, bytes: &[u8]) -> Result<(), Spoiled> {
        if bytes.len() > self.cap - self.bytes {
            self.over = true;
            return Err(Spoiled::Over);
        }
        self.bytes += bytes.len();
        self.intake.feed(bytes);
        Ok(())
    }
}

impl Write for Sink<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.take(bytes)
            .map_err(|_| io::Error::other("over the cap"))?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A body being decompressed.
pub(crate) struct Unpacking<'a> {
    stage: Stage<'a>,
    spare: SpareBuffers,
}

enum Stage<'a> {
    Plain(Sink<'a>),
    Gzip {
        decoder: Box<MultiGzDecoder<Sink<'a>>>,
        /// Whether the body is buffered until it is complete.
        keeping: bool,
    },
    Zstd(Box<Zstd<'a>>),
}

struct Zstd<'a> {
    decoder: Decoder<'static>,
    room: Vec<u8>,
    /// Whether the current frame is incomplete.
    open: bool,
    /// Whether the decoder may have more output, because the last output filled the buffer.
    full: bool,
    /// The first bytes of the current frame. Its header may state the decompressed size.
    head: Vec<u8>,
    /// Number of bytes decompressed from the current frame.
    out: u64,
    sink: Sink<'a>,
}

impl<'a> Unpacking<'a> {
    /// Starts a body with these headers and `announced` compressed bytes, if known. At most `cap` decompressed bytes go
    /// to `intake`.
    pub(crate) fn begin(
        headers: &HeaderMap,
        announced: Option<usize>,
        cap: usize,
        intake: &'a mut dyn Feed,
        spare: SpareBuffers,
    ) -> Result<Self, Spoiled> {
        let sink = |intake: &'a mut dyn Feed, announced| {
            intake.begin(announced);
            Sink {
                intake,
                cap,
                bytes: 0,
                over: false,
            }
        };
        let stage = match coding(headers)? {
            Coding::Plain if announced.is_some_and(|length| length > cap) => {
                return Err(Spoiled::Over);
            }
            Coding::Plain => Stage::Plain(sink(intake, announced)),
            // A gzip body states its decompressed size only in its last bytes.
            Coding::Gzip => Stage::Gzip {
                decoder: Box::new(MultiGzDecoder::new(sink(intake, None))),
                keeping: true,
            },
            Coding::Zstd => Stage::Zstd(Box::new(Zstd {
                decoder: zstd_decoder(cap).map_err(|error| damaged(&error))?,
                room: vec![0; PIECE],
                open: false,
                full: false,
                head: Vec::with_capacity(HEAD),
                out: 0,
                sink: sink(intake, None),
            })),
        };
        Ok(Self { stage, spare })
    }

    /// Decompresses the next piece of the body.
    pub(crate) fn take(&mut self, chunk: &[u8]) -> Result<(), Spoiled> {
        match &mut self.stage {
            Stage::Plain(sink) => sink.take(chunk),
            Stage::Zstd(zstd) => zstd.take(chunk),
            Stage::Gzip { decoder, keeping } if *keeping => {
                self.spare.packed.extend_from_slice(chunk);
                if self.spare.packed.len() > AT_ONCE {
                    *keeping = false;
                    inflate(decoder, &std::mem::take(&mut self.spare.packed))?;
                }
                Ok(())
            }
            Stage::Gzip { decoder, .. } => inflate(decoder, chunk),
        }
    }

    /// Ends the body. Returns its decompressed size and the buffers.
    pub(crate) fn finish(mut self) -> Result<(usize, SpareBuffers), Spoiled> {
        let bytes = match &mut self.stage {
            Stage::Plain(sink) => sink.bytes,
            Stage::Zstd(zstd) if zstd.open => {
                return Err(Spoiled::Damaged("the zstd frame is incomplete".to_owned()));
            }
            Stage::Zstd(zstd) => zstd.sink.bytes,
            Stage::Gzip { decoder, keeping } => {
                let SpareBuffers { packed, body } = &mut self.spare;
                let cap = decoder.get_ref().cap;
                let whole = if *keeping {
                    inflated(packed, body, cap)
                } else {
                    None
                };
                if let Some(whole) = whole {
                    let sink = decoder.get_mut();
                    sink.intake.begin(Some(whole.len()));
                    sink.take(whole)?;
                } else {
                    inflate(decoder, packed)?;
                    let finished = decoder.try_finish();
                    finished.map_err(|error| spoiled_by(decoder.get_ref(), &error))?;
                }
                decoder.get_ref().bytes
            }
        };
        Ok((bytes, self.spare.cleared()))
    }
}

impl Zstd<'_> {
    fn take(&mut self, chunk: &[u8]) -> Result<(), Spoiled> {
        let mut input = InBuffer::around(chunk);
        // After the end of a frame, the decoder is not called without input. It would ask for the header of a next
        // frame, and the complete body would seem incomplete.
        while input.pos() < chunk.len() || self.full {
            if self.head.is_empty() {
                self.begin_frame(chunk, &mut input)?;
                continue;
            }
            let mut output = OutBuffer::around(self.room.as_mut_slice());
            let before = input.pos();
            let hint = self.decoder.run(&mut input, &mut output);
            // `hint` is 0 at the end of a frame and positive within it.
            self.open = hint.map_err(|error| damaged(&error))? != 0;
            // At the end of a frame no output is pending.
            self.full = self.open && output.pos() == PIECE;
            let taken = chunk.get(before..input.pos()).unwrap_or_default();
            let room = HEAD.saturating_sub(self.head.len());
            self.head.extend(taken.iter().take(room));
            self.out = self.out.saturating_add(output.pos() as u64);
            self.sink.take(output.as_slice())?;
            if !self.open {
                self.check_length()?;
            }
        }
        Ok(())
    }

    /// Passes only the first byte of a frame to the decoder. For a complete frame in one piece, the decoder would take
    /// a faster path with different error checks.
    fn begin_frame(&mut self, chunk: &[u8], whole: &mut InBuffer<'_>) -> Result<(), Spoiled> {
        let Some(first) = chunk.get(whole.pos()..=whole.pos()) else {
            self.full = false;
            return Ok(());
        };
        let mut output = OutBuffer::around(self.room.as_mut_slice());
        let hint = self.decoder.run(&mut InBuffer::around(first), &mut output);
        self.open = hint.map_err(|error| damaged(&error))? != 0;
        self.head.extend(first);
        whole.set_pos(whole.pos() + 1);
        Ok(())
    }

    /// Refuses a frame if its content has another size than its header states. The decoder itself accepts a frame that
    /// is too short if its last block is empty.
    fn check_length(&mut self) -> Result<(), Spoiled> {
        let said = get_frame_content_size(&self.head).ok().flatten();
        if let Some(said) = said.filter(|said| *said != self.out) {
            let out = self.out;
            let why = format!("the zstd frame declares {said} bytes, but contains {out}");
            return Err(Spoiled::Damaged(why));
        }
        self.head.clear();
        self.out = 0;
        Ok(())
    }
}

/// Supported encodings.
enum Coding {
    Plain,
    Gzip,
    Zstd,
}

fn coding(headers: &HeaderMap) -> Result<Coding, Spoiled> {
    let mut named = headers.get_all(CONTENT_ENCODING).iter();
    let Some(first) = named.next() else {
        return Ok(Coding::Plain);
    };
    let name = first.as_bytes().trim_ascii();
    let several = named.next().is_some();
    match name.to_ascii_lowercase().as_slice() {
        _ if several => {}
        b"" | b"identity" => return Ok(Coding::Plain),
        b"gzip" | b"x-gzip" => return Ok(Coding::Gzip),
        b"zstd" => return Ok(Coding::Zstd),
        _ => {}
    }
    let name = crate::client::error::shortened(&String::from_utf8_lossy(name));
    let others = if several { " and others" } else { "" };
    Err(Spoiled::Unknown(format!(
        "the body's content-encoding is {name:?}{others}; allowed: {ALLOWED}"
    )))
}

/// A decoder with a maximum window of `cap` bytes, but at least the 8 MiB of RFC 9659 and at most 128 MiB.
fn zstd_decoder(cap: usize) -> io::Result<Decoder<'static>> {
    let mut decoder = Decoder::new()?;
    let most = cap.max(1).ilog2().clamp(23, 27);
    decoder.set_parameter(DParameter::WindowLogMax(most))?;
    Ok(decoder)
}

fn inflate(decoder: &mut MultiGzDecoder<Sink<'_>>, chunk: &[u8]) -> Result<(), Spoiled> {
    let written = decoder.write_all(chunk);
    written.map_err(|error| spoiled_by(decoder.get_ref(), &error))
}

/// Inflates a complete gzip body in one call. `None` leaves an unusual or damaged body to the streaming decoder.
fn inflated<'a>(packed: &[u8], room: &'a mut Vec<u8>, cap: usize) -> Option<&'a [u8]> {
    if packed.len() < FRAME || !packed.starts_with(GZIP) {
        return None;
    }
    let size: &[u8; 4] = packed.last_chunk()?;
    // libdeflater inflates only the first member of a gzip file, so the streaming decoder must inflate a file with
    // several members. If the first and the last member have different sizes, the comparison with `length` below
    // detects that. If they have the same size, the first member ends with `size`, and the beginning of a second member
    // follows. The beginning alone occurs by chance in many large files.
    let between = [size.as_slice(), GZIP].concat();
    if memchr::memmem::find(packed, &between).is_some() {
        return None;
    }
    let length = usize::try_from(u32::from_le_bytes(*size)).ok()?;
    let most = cap.min(AT_ONCE).min(packed.len().saturating_mul(SWELLING));
    if length > most {
        return None;
    }
    if room.len() < length {
        room.resize(length, 0);
    }
    let whole = room.get_mut(..length)?;
    let written = libdeflater::Decompressor::new().gzip_decompress(packed, whole);
    // libdeflater ignores data after the first member. The checksum shows that the last 8 bytes are the trailer of the
    // first member.
    let sum = packed.last_chunk::<8>()?.first_chunk::<4>()?;
    (written == Ok(length) && u32::from_le_bytes(*sum) == libdeflater::crc32(whole))
        .then_some(whole)
}

fn spoiled_by(sink: &Sink<'_>, error: &io::Error) -> Spoiled {
    if sink.over {
        return Spoiled::Over;
    }
    damaged(error)
}

fn damaged(error: &io::Error) -> Spoiled {
    Spoiled::Damaged(error.to_string())
}

/// Test double that collects the bytes passed to it since the last start.
#[derive(Default)]
struct Taken(Vec<u8>);

impl Feed for Taken {
    fn begin(&mut self, _announced: Option<usize>) {
        self.0.clear();
    }

    fn feed(&mut self, chunk: &[u8]) {
        self.0.extend_from_slice(chunk);
    }
}

/// Decompresses a body that arrives in `pieces`, with the decoder of the client. For property tests.
///
/// # Errors
///
/// The reason as text.
#[doc(hidden)]
pub fn unpacked<'a>(
    coding: &str,
    pieces: impl Iterator<Item = &'a [u8]>,
    cap: usize,
) -> Result<Vec<u8>, String> {
    let mut headers = HeaderMap::new();
    let name = HeaderValue::from_str(coding).map_err(|error| error.to_string())?;
    headers.insert(CONTENT_ENCODING, name);
    let mut taken = Taken::default();
    let unpack = || {
        let mut unpacking =
            Unpacking::begin(&headers, None, cap, &mut taken, SpareBuffers::default())?;
        for piece in pieces {
            unpacking.take(piece)?;
        }
        unpacking.finish()
    };
    match unpack() {
        Ok(_) => Ok(taken.0),
        Err(Spoiled::Over) => Err("over the cap".to_owned()),
        Err(Spoiled::Unknown(why) | Spoiled::Damaged(why)) => Err(why),
    }
}

/// Decompresses the beginning of a body, to at most `most` bytes. Returns an uncompressed body unchanged.
pub(crate) fn beginning(headers: &HeaderMap, came: Vec<u8>, most: usize) -> Vec<u8> {
    if matches!(coding(headers), Ok(Coding::Plain)) {
        return came;
    }
    let mut text = Taken::default();
    if let Ok(mut unpacking) =
        Unpacking::begin(headers, None, most, &mut text, SpareBuffers::default())
    {
        if let Stage::Gzip { keeping, .. } = &mut unpacking.stage {
            *keeping = false;
        }
        // Errors are ignored, because a truncated body still has a readable beginning.
        let _ = unpacking.take(&came);
        let _ = unpacking.finish();
    }
    text.0
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;

    use crate::client::call::decompress::*;

    /// Test double that collects the bytes passed to it since the last start.
    #[derive(Default)]
    struct Received {
        bytes: Vec<u8>,
        announced: Option<usize>,
    }

    impl Feed for Received {
        fn begin(&mut self, announced: Option<usize>) {
            self.bytes.clear();
            self.announced = announced;
        }

        fn feed(&mut self, chunk: &[u8]) {
            self.bytes.extend_from_slice(chunk);
        }
    }

    fn named(coding: &'static str) -> HeaderMap {
        [(CONTENT_ENCODING, HeaderValue::from_static(coding))]
            .into_iter()
            .collect()
    }

    /// Decompresses `packed` in pieces of `piece` bytes.
    fn received(
        coding: &'static str,
        packed: &[u8],
        piece: usize,
        cap: usize,
    ) -> Result<Received, Spoiled> {
        let mut taken = Received::default();
        let headers = named(coding);
        let mut unpacking =
            Unpacking::begin(&headers, None, cap, &mut taken, SpareBuffers::default())?;
        for chunk in packed.chunks(piece) {
            unpacking.take(chunk)?;
        }
        let (bytes, _) = unpacking.finish()?;
        assert_eq!(bytes, taken.bytes.len());
        Ok(taken)
    }

    fn gzip(body: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(body).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_zstd_frame_that_ends_short_of_what_its_head_says_is_refused_however_it_arrives() {
        // The header of this frame states one byte of content, but the only block is empty.
        let short = b"\x28\xb5\x2f\xfd\x20\x01\x01\0\0";
        let whole = zstd::encode_all(b"[1,2]".as_slice(), 1).unwrap();
        let behind = [whole.as_slice(), short].concat();
        for piece in [1, 4, 1000] {
            for packed in [short.as_slice(), &behind] {
                let found = received("zstd", packed, piece, 100);
                assert!(
                    matches!(found, Err(Spoiled::Damaged(_))),
                    "in pieces of {piece}"
                );
            }
            let both = received("zstd", &[whole.as_slice(), &whole].concat(), piece, 100);
            assert_eq!(both.unwrap().bytes, b"[1,2][1,2]");
        }
    }

    #[test]
    fn a_damaged_zstd_frame_comes_to_the_same_however_it_arrives() {
        // An empty frame, followed by a frame with an empty compressed last block.
        let frames = b"\x28\xb5\x2f\xfd\x20\0\x01\0\0\x28\xb5\x2f\xfd\x20\0\x05\0\0";
        let taken = |piece| received("zstd", frames, piece, 100).map(|taken| taken.bytes);
        let found = [1, 7, 1000].map(|piece| taken(piece).ok());
        assert!(found.iter().all(|one| one == &found[0]), "{found:?}");
    }

    #[test]
    fn what_follows_a_gzip_body_is_refused_even_where_it_ends_as_that_does() {
        let mut packed = gzip(b"[1]");
        packed.extend_from_slice(b"rubbish\x03\0\0\0");
        for piece in [1, 1000] {
            assert!(received("gzip", &packed, piece, 100).is_err());
        }
    }

    #[test]
    fn a_zstd_frame_that_ends_with_a_piece_of_room_or_before_an_empty_chunk_is_whole() {
        for size in [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE] {
            let body = vec![b'7'; size];
            let frame = zstd::encode_all(body.as_slice(), 1).unwrap();
            assert_eq!(received("zstd", &frame, 1 << 20, size).unwrap().bytes, body);
            let chunks = [b"".as_slice(), &frame, b""];
            assert_eq!(unpacked("zstd", chunks.into_iter(), size).unwrap(), body);
        }
    }

    #[test]
    fn several_members_of_a_gzip_body_are_all_read() {
        let twice = [gzip(b"[1,2]"), gzip(b"[1,2]")].concat();
        assert_eq!(
            received("gzip", &twice, 7, 100).unwrap().bytes,
            b"[1,2][1,2]"
        );
        let frames = [
            zstd::encode_all(&b"[1"[..], 1).unwrap(),
            zstd::encode_all(&b",2]"[..], 1).unwrap(),
        ]
        .concat();
        assert_eq!(received("zstd", &frames, 7, 100).unwrap().bytes, b"[1,2]");
    }

    #[test]
    fn a_members_beginning_by_chance_does_not_make_several() {
        let body = [b"[\"".as_slice(), GZIP, b"\"]"].concat();
        let mut encoder = GzEncoder::new(Vec::new(), Compression::none());
        encoder.write_all(&body).unwrap();
        let one = encoder.finish().unwrap();
        assert!(memchr::memmem::find(one.get(1..).unwrap(), GZIP).is_some());
        let mut room = vec![b'x'; 100];
        assert_eq!(inflated(&one, &mut room, 100), Some(body.as_slice()));
        let others = [gzip(b"[1,2]"), gzip(b"[3]"), gzip(b"[]"), gzip(b"[4,5]")];
        for count in [2, 4] {
            let several = others.get(..count).unwrap().concat();
            assert_eq!(inflated(&several, &mut room, 100), None, "{count}");
        }
        let twice = [one.as_slice(), &one].concat();
        assert_eq!(inflated(&twice, &mut room, 100), None);
        assert_eq!(
            received("gzip", &twice, 7, 100).unwrap().bytes,
            [body.as_slice(), &body].concat()
        );
    }

    #[test]
    fn what_is_incomplete_damaged_or_followed_by_rubbish_is_refused() {
        let body: Vec<u8> = (0..5000_u32)
            .flat_map(|at| (at * at).to_le_bytes())
            .collect();
        let zipped = gzip(&body);
        let framed = zstd::encode_all(body.as_slice(), 1).unwrap();
        for (coding, packed) in [("gzip", zipped), ("zstd", framed)] {
            assert_eq!(received(coding, &packed, 999, 1 << 20).unwrap().bytes, body);
            for cut in [1, 5, 20, packed.len() / 2, packed.len() - 1] {
                let part = packed.get(..cut).unwrap();
                assert!(
                    matches!(
                        received(coding, part, 999, 1 << 20),
                        Err(Spoiled::Damaged(_))
                    ),
                    "{coding} {cut}"
                );
            }
            let rubbish = [packed.as_slice(), b"rubbish"].concat();
            assert!(
                matches!(
                    received(coding, &rubbish, 999, 1 << 20),
                    Err(Spoiled::Damaged(_))
                ),
                "{coding}"
            );
        }
        let mut wrong = gzip(&body);
        let at = wrong.len() - 6;
        *wrong.get_mut(at).unwrap() ^= 1;
        assert!(matches!(
            received("gzip", &wrong, 999, 1 << 20),
            Err(Spoiled::Damaged(_))
        ));
    }

    #[test]
    fn no_more_than_the_cap_is_taken() {
        let body = vec![b' '; 100_000];
        for (coding, packed) in [
            ("gzip", gzip(&body)),
            ("zstd", zstd::encode_all(body.as_slice(), 1).unwrap()),
            ("identity", body.clone()),
        ] {
            assert_eq!(
                received(coding, &packed, 50, body.len()).unwrap().bytes,
                body
            );
            assert!(
                matches!(
                    received(coding, &packed, 50, body.len() - 1),
                    Err(Spoiled::Over)
                ),
                "{coding}"
            );
        }
    }

    #[test]
    fn a_length_that_is_a_lie_makes_no_room() {
        let mut packed = gzip(b"[]");
        let at = packed.len() - 4;
        packed
            .get_mut(at..)
            .unwrap()
            .copy_from_slice(&u32::MAX.to_le_bytes());
        let mut room = Vec::new();
        assert_eq!(inflated(&packed, &mut room, usize::MAX), None);
        assert_eq!(room.capacity(), 0);
        assert!(matches!(
            received("gzip", &packed, 50, 1000),
            Err(Spoiled::Damaged(_))
        ));
    }

    #[test]
    fn other_codings_are_named() {
        for coding in ["br", "gzip, gzip", "deflate"] {
            let message = match received(coding, b"", 1, 100) {
                Err(Spoiled::Unknown(message)) => message,
                _ => String::new(),
            };
            assert!(
                message.contains(coding) && message.contains(ALLOWED),
                "{message}"
            );
        }
    }

    #[test]
    fn the_beginning_of_a_broken_body_is_shown() {
        let packed = gzip(b"{\"error\": \"slow down\"}");
        let cut = packed.get(..packed.len() - 3).unwrap().to_vec();
        assert_eq!(
            beginning(&named("gzip"), cut, 1000),
            b"{\"error\": \"slow down\"}"
        );
        assert_eq!(beginning(&named("br"), b"x".to_vec(), 1000), b"");
        assert_eq!(beginning(&HeaderMap::new(), b"x".to_vec(), 1000), b"x");
    }

    proptest! {
        #[test]
        fn every_body_comes_out_as_it_went_in(body in prop::collection::vec(prop_oneof![Just(b'0'), any::<u8>()], 0..5000), piece in 1_usize..6000) {
            prop_assert_eq!(&received("gzip", &gzip(&body), piece, 5000).unwrap().bytes, &body);
            let framed = zstd::encode_all(body.as_slice(), 3).unwrap();
            prop_assert_eq!(&received("zstd", &framed, piece, 5000).unwrap().bytes, &body);
            prop_assert_eq!(&received("identity", &body, piece, 5000).unwrap().bytes, &body);
        }
    }
}
