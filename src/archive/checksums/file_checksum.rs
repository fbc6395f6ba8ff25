//! SHA-256 of files and of bulk texts.

use std::io::Read;

use sha2::{Digest, Sha256};

/// The SHA-256 of bytes, in hexadecimal.
pub(crate) fn checksum(bytes: &[u8]) -> String {
    hexadecimal(&Sha256::digest(bytes))
}

/// Number of bytes read between two calls of `goes_on`.
const PIECE: usize = 1 << 20;

/// SHA-256 of the remaining bytes of `from`.
///
/// Returns the error `Interrupted` if `goes_on` returns false.
pub(crate) fn checksum_of(
    from: &mut impl Read,
    goes_on: &mut dyn FnMut() -> bool,
) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 16];
    let mut since = 0;
    loop {
        match from.read(&mut buffer)? {
            0 => return Ok(hexadecimal(&hash.finalize())),
            read => {
                hash.update(buffer.get(..read).unwrap_or_default());
                since += read;
            }
        }
        if since >= PIECE {
            since = 0;
            if !goes_on() {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
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
