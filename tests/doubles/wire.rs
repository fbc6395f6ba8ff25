//! Frames as a server puts them on the wire: unmasked, so one rendering serves every socket.

use tokio_tungstenite::tungstenite::Bytes;

pub const CONTINUATION: u8 = 0;
pub const TEXT: u8 = 1;
pub const BINARY: u8 = 2;
pub const CLOSE: u8 = 8;
pub const PING: u8 = 9;

/// One frame of any kind; `last` says whether it ends its message.
pub fn frame(opcode: u8, last: bool, payload: &[u8]) -> Bytes {
    let mut bytes = head(opcode, last, payload.len());
    bytes.extend_from_slice(payload);
    bytes.into()
}

/// The head of a frame of `length` bytes, which may never come.
pub fn head(opcode: u8, last: bool, length: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(length.min(1 << 20) + 10);
    bytes.push(opcode | if last { 0x80 } else { 0 });
    match length {
        0..=125 => bytes.push(u8::try_from(length).unwrap()),
        126..=0xffff => {
            bytes.push(126);
            bytes.extend_from_slice(&u16::try_from(length).unwrap().to_be_bytes());
        }
        _ => {
            bytes.push(127);
            bytes.extend_from_slice(&(length as u64).to_be_bytes());
        }
    }
    bytes
}

pub fn text(text: &str) -> Bytes {
    frame(TEXT, true, text.as_bytes())
}

/// A close frame with its code and reason.
pub fn close(code: u16, reason: &str) -> Bytes {
    let mut payload = code.to_be_bytes().to_vec();
    payload.extend_from_slice(reason.as_bytes());
    frame(CLOSE, true, &payload)
}
