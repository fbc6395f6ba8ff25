//! The transport of connections to a double: TCP, or a pipe in memory where time is not this machine's.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf};
use tokio::net::TcpStream;

/// Bytes that are on their way at most.
const ROOM: usize = 1 << 20;

/// A connection as its double has it.
pub trait Pipe: AsyncRead + AsyncWrite + Send + Unpin {
    /// Once it is dropped the other end gets a reset.
    fn reset(&mut self);
}

impl Pipe for TcpStream {
    fn reset(&mut self) {
        let _ = self.set_zero_linger();
    }
}

/// A connection of either kind.
pub type Wire = Box<dyn Pipe>;

/// One end of a pipe in memory.
#[derive(Debug)]
pub struct Memory {
    stream: DuplexStream,
    /// Whether it ends with a reset.
    reset: Arc<AtomicBool>,
}

impl Memory {
    /// Both ends of a pipe.
    pub fn pair() -> (Self, Self) {
        let (one, other) = tokio::io::duplex(ROOM);
        let reset = Arc::new(AtomicBool::new(false));
        let end = |stream| Self {
            stream,
            reset: Arc::clone(&reset),
        };
        (end(one), end(other))
    }
}

impl Pipe for Memory {
    fn reset(&mut self) {
        self.reset.store(true, Ordering::Relaxed);
    }
}

impl AsyncRead for Memory {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        let is_over = matches!(read, Poll::Ready(Ok(()))) && buffer.filled().len() == before;
        if is_over && self.reset.load(Ordering::Relaxed) {
            return Poll::Ready(Err(io::ErrorKind::ConnectionReset.into()));
        }
        read
    }
}

impl AsyncWrite for Memory {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
