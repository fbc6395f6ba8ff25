//! Body readers: receive a body in chunks and decode it.
//!
//! Most replies are small, so [`BufferedBody`] buffers the whole body and decodes it at the end. An incremental reader
//! decodes rows while they arrive, to save memory. Both kinds accept the same bodies and report the same errors.

use super::damage::DecodeError;
use crate::model::TimeUnit;

/// Maximum number of bytes reserved for an announced body length.
const EARLY_ROOM: usize = 8 << 20;

/// The outcome of reading a body.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading<R> {
    /// The requested reply.
    Reply(R),
    /// The requested reply, with its instants converted to milliseconds.
    Converted {
        /// The reply.
        reply: R,
        /// The unit of its instants in the body.
        unit: TimeUnit,
    },
    /// A refusal: `success: false`, or a reason in place of the reply.
    Refused {
        /// The most specific reason in the body.
        message: String,
    },
}

/// Receives the bytes of a body.
pub trait Feed: Send {
    /// Starts a new body; `announced` is its length in bytes, if known.
    fn begin(&mut self, announced: Option<usize>);

    /// Receives the next bytes.
    fn feed(&mut self, chunk: &[u8]);
}

/// Reads the body of a reply of type `R`.
pub trait BodyReader<R>: Feed {
    /// Ends the body and returns its content.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the body breaks the contract.
    fn finish(&mut self) -> Result<Reading<R>, DecodeError>;

    /// The buffered start of the body; incomplete if rows were decoded on arrival.
    fn buffered(&self) -> &[u8];
}

/// A body reader that buffers all bytes and decodes them at the end.
#[derive(Debug)]
pub struct BufferedBody<F> {
    body: Vec<u8>,
    read: F,
}

impl<F> BufferedBody<F> {
    /// A body reader that passes the complete body to `read`.
    pub fn read_by(read: F) -> Self {
        Self {
            body: Vec::new(),
            read,
        }
    }
}

impl<F: Send> Feed for BufferedBody<F> {
    fn begin(&mut self, announced: Option<usize>) {
        self.body = Vec::with_capacity(announced.unwrap_or(0).min(EARLY_ROOM));
    }

    fn feed(&mut self, chunk: &[u8]) {
        self.body.extend_from_slice(chunk);
    }
}

impl<R, F> BodyReader<R> for BufferedBody<F>
where
    F: Fn(&[u8]) -> Result<Reading<R>, DecodeError> + Send,
{
    fn finish(&mut self) -> Result<Reading<R>, DecodeError> {
        (self.read)(&self.body)
    }

    fn buffered(&self) -> &[u8] {
        &self.body
    }
}
