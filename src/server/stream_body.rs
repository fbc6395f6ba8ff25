//! A body that has no end of its own: it ends with the server, and holds a place of which there are only so many.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use hyper::body::Frame;
use tokio::sync::{OwnedSemaphorePermit, watch};

/// Tells a body that the server stops.
#[derive(Clone)]
pub(super) struct Stopping(watch::Receiver<()>);

impl Stopping {
    /// The signal, which is given when the sender is dropped.
    pub(super) fn new() -> (watch::Sender<()>, Self) {
        let (sender, receiver) = watch::channel(());
        (sender, Self(receiver))
    }
}

/// The body.
pub(super) struct StreamBody {
    body: Body,
    stopped: Pin<Box<dyn Future<Output = ()> + Send>>,
    _place: OwnedSemaphorePermit,
}

impl StreamBody {
    pub(super) fn new(body: Body, stopping: Stopping, place: OwnedSemaphorePermit) -> Self {
        let mut signal = stopping.0;
        Self {
            body,
            stopped: Box::pin(async move { while signal.changed().await.is_ok() {} }),
            _place: place,
        }
    }
}

impl HttpBody for StreamBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.stopped.as_mut().poll(context).is_ready() {
            return Poll::Ready(None);
        }
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }
}
