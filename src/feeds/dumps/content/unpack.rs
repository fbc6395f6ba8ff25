//! Decompression of gzip and zstd, and decoding of text to UTF-8.

use std::io::{self, BufReader, Cursor, Read};

use flate2::read::MultiGzDecoder;

use crate::feeds::dumps::content::file_content::{FileContent, SAMPLE};
use crate::feeds::dumps::content::utf16::Utf16Text;

/// Maximum number of nested compressions that are removed.
const LAYERS: usize = 3;

/// A source on which every read fails with this error.
pub(in crate::feeds::dumps) struct Broken(pub(in crate::feeds::dumps) io::Error);

impl Read for Broken {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(self.0.kind(), self.0.to_string()))
    }
}

/// Reads the first bytes of a source; also returns a source that starts with these bytes again.
///
/// If the source fails, the bytes before the failure are still returned.
fn sampled<'a>(mut from: Box<dyn Read + 'a>, most: usize) -> (Vec<u8>, Box<dyn Read + 'a>) {
    let mut head = Vec::new();
    let limit = u64::try_from(most).unwrap_or(u64::MAX);
    let read = from.by_ref().take(limit).read_to_end(&mut head);
    let rest = match read {
        Ok(_) => from,
        Err(fault) => Box::new(Broken(fault)),
    };
    (head.clone(), Box::new(Cursor::new(head).chain(rest)))
}

/// Removes gzip and zstd compression, also if it is nested.
pub(crate) fn unpacked<'a>(mut from: Box<dyn Read + 'a>) -> Box<dyn Read + 'a> {
    for _ in 0..LAYERS {
        let (head, whole) = sampled(from, SAMPLE);
        from = match FileContent::of(&head) {
            FileContent::Gzip => Box::new(MultiGzDecoder::new(BufReader::new(whole))),
            FileContent::Zstd => match zstd::stream::read::Decoder::new(whole) {
                Ok(plain) => Box::new(plain),
                Err(fault) => Box::new(Broken(fault)),
            },
            _ => return whole,
        };
    }
    from
}

/// Returns the text as UTF-8; the error says why the file is not text.
pub(crate) fn text_of<'a>(from: Box<dyn Read + 'a>) -> Result<Box<dyn Read + 'a>, &'static str> {
    let (head, whole) = sampled(from, SAMPLE);
    let content = FileContent::of(&head);
    match content {
        FileContent::Utf16Le => return Ok(Box::new(Utf16Text::new(whole, false))),
        FileContent::Utf16Be => return Ok(Box::new(Utf16Text::new(whole, true))),
        _ => {}
    }
    content.unreadable().map_or(Ok(whole), Err)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::io::Write as _;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use crate::feeds::dumps::content::unpack::*;

    fn read(bytes: Vec<u8>) -> Result<String, String> {
        let mut text = String::new();
        let bytes = text_of(unpacked(Box::new(Cursor::new(bytes)))).map_err(str::to_owned);
        let read = bytes?.read_to_string(&mut text);
        read.map(|_| text).map_err(|fault| fault.to_string())
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut packed = GzEncoder::new(Vec::new(), Compression::default());
        packed.write_all(bytes).unwrap();
        packed.finish().unwrap()
    }

    #[test]
    fn packed_text_is_the_text() {
        let text = "t;price\n1;2,5\n";
        let zstd = |bytes: &[u8]| zstd::encode_all(bytes, 1).unwrap();
        for packed in [
            gzip(text.as_bytes()),
            zstd(text.as_bytes()),
            [zstd(b"t;price\n"), zstd(b"1;2,5\n")].concat(),
            zstd(&gzip(text.as_bytes())),
            text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            gzip(
                &text
                    .encode_utf16()
                    .flat_map(u16::to_le_bytes)
                    .collect::<Vec<_>>(),
            ),
        ] {
            assert_eq!(read(packed).as_deref(), Ok(text));
        }
    }

    #[test]
    fn a_cut_packed_file_gives_an_error_and_a_nested_one_its_name() {
        let packed = zstd::encode_all("1,2\n".repeat(90_000).as_bytes(), 1).unwrap();
        assert!(read(packed.get(..packed.len() - 3).unwrap().to_vec()).is_err());
        assert!(read(gzip(b"PAR1\x15\x04")).unwrap_err().contains("Parquet"));
        assert!(
            read(gzip(b"PK\x03\x04\x14\0"))
                .unwrap_err()
                .contains("zip inside")
        );
    }
}
