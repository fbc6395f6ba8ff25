//! Checksums of files and of bulk.

use std::io::Read;

use sha2::{Digest, Sha256};

/// The SHA-256 of bytes, in hexadecimal.
pub(super) fn checksum(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// That of everything that is left to read.
pub(super) fn checksum_of(from: &mut impl Read) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&hash.finalize())),
            read => hash.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}
