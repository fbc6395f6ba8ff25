//! A connection that delivers messages late, but in order.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep_until};

/// Most bytes taken at once.
const MOST: usize = 1 << 16;

/// A connection that delivers its data late.
pub(super) struct Slow<S> {
    stream: S,
    /// How long at most, in milliseconds.
    lag: Arc<AtomicU64>,
    /// The part of that on this connection.
    share: f64,
    on_the_way: VecDeque<(Instant, Vec<u8>)>,
    /// When the end arrives.
    end: Option<Instant>,
    timer: Pin<Box<Sleep>>,
}

impl<S: AsyncRead + Unpin> Slow<S> {
    pub(super) fn new(stream: S, lag: Arc<AtomicU64>) -> Self {
        Self {
            stream,
            lag,
            share: fastrand::f64(),
            on_the_way: VecDeque::new(),
            end: None,
            timer: Box::pin(sleep_until(Instant::now())),
        }
    }

    /// When data that is sent now arrives: not before earlier data.
    fn arrives(&self) -> Instant {
        #[expect(clippy::cast_precision_loss, reason = "milliseconds of a schedule")]
        let lag = self.lag.load(Ordering::Relaxed) as f64 * self.share;
        let at = Instant::now() + Duration::from_secs_f64(lag / 1000.0);
        self.on_the_way.back().map_or(at, |(last, _)| at.max(*last))
    }

    /// Takes new data; data in flight is lost where the connection breaks.
    fn take(&mut self, context: &mut Context<'_>) -> io::Result<()> {
        while self.end.is_none() {
            let mut bytes = vec![0; MOST];
            let mut buffer = ReadBuf::new(&mut bytes);
            match Pin::new(&mut self.stream).poll_read(context, &mut buffer) {
                Poll::Pending => break,
                Poll::Ready(read) => read?,
            }
            let count = buffer.filled().len();
            let arrives = self.arrives();
            if count == 0 {
                self.end = Some(arrives);
            } else {
                bytes.truncate(count);
                self.on_the_way.push_back((arrives, bytes));
            }
        }
        Ok(())
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Slow<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.take(context)?;
        let now = Instant::now();
        let next = self.on_the_way.front().map(|(arrives, _)| *arrives);
        let Some(next) = next.or(self.end) else {
            return Poll::Pending;
        };
        if next > now {
            self.timer.as_mut().reset(next);
            if self.timer.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
        }
        if let Some((_, bytes)) = self.on_the_way.front_mut() {
            let count = bytes.len().min(buffer.remaining());
            buffer.put_slice(&bytes[..count]);
            bytes.drain(..count);
            if bytes.is_empty() {
                self.on_the_way.pop_front();
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Slow<S> {
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
