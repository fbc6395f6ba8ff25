//! Bodies on their way in: a reply is made as its body arrives where that is worth it.
//!
//! Most replies are small, so [`Whole`] keeps their bodies for [`read`](super::read). An intake that takes a body apart
//! while it arrives keeps no more of it than it must, and is as strict as the quick readers: at the first surprise it
//! becomes a whole body again, and what is accepted, what is refused and why is for [`read`](super::read) to say.

use std::marker::PhantomData;

use super::Decode;
use super::damage::Damage;

/// The most room made for a body on its own word alone.
const EARLY_ROOM: usize = 8 << 20;

/// Takes bytes as they arrive.
pub trait Feed: Send {
    /// Begins anew, for a body of `announced` bytes where that was said.
    fn begin(&mut self, announced: Option<usize>);

    /// Takes what has arrived next.
    fn feed(&mut self, chunk: &[u8]);
}

/// Takes the body of one kind of reply.
pub trait Intake: Feed + Default {
    /// The reply.
    type Reply;

    /// What has become of the body, which has ended; `enveloped` where the endpoint's replies are.
    fn finish(self, enveloped: bool) -> Arrived<Self::Reply>;
}

/// Takes the body of a reply of the type `R`.
///
/// # Examples
///
/// ```
/// use liqdata::model::HeatmapGrid;
/// use liqdata::wire::{Arrived, Feed, Intake, intake};
///
/// let body = br#"{"symbol": "BTC", "range": "24h", "model": 2, "currentPrice": 1.5,
///     "updatedAt": 1790000000000, "prices": [1, 2], "times": [1789999940000, 1790000000000], "matrix": [[0, 1], [2.5, 0]]}"#;
/// let mut arriving = intake::<HeatmapGrid>();
/// arriving.begin(Some(body.len()));
/// for chunk in body.chunks(100) {
///     arriving.feed(chunk);
/// }
/// let Arrived::Reply(heatmap) = arriving.finish(false) else {
///     panic!("it is as plain as most are");
/// };
/// assert_eq!(heatmap.matrix, [0.0, 1.0, 2.5, 0.0]);
/// ```
#[must_use]
pub fn intake<R: Decode>() -> R::Intake {
    R::Intake::default()
}

/// What becomes of a body.
#[derive(Debug)]
pub enum Arrived<R> {
    /// It has been read on its way.
    Reply(R),
    /// It has been read on its way, and breaks the contract.
    Damage(Damage),
    /// It is still to be read, or another like it: the same values at the same places.
    Body(Vec<u8>),
}

/// A body that is kept as it is.
#[derive(Debug)]
pub struct Whole<R> {
    body: Vec<u8>,
    reply: PhantomData<fn() -> R>,
}

impl<R> Default for Whole<R> {
    fn default() -> Self {
        Self {
            body: Vec::new(),
            reply: PhantomData,
        }
    }
}

impl<R> Feed for Whole<R> {
    fn begin(&mut self, announced: Option<usize>) {
        self.body = Vec::with_capacity(announced.unwrap_or(0).min(EARLY_ROOM));
    }

    fn feed(&mut self, chunk: &[u8]) {
        self.body.extend_from_slice(chunk);
    }
}

impl<R> Intake for Whole<R> {
    type Reply = R;

    fn finish(self, _enveloped: bool) -> Arrived<R> {
        Arrived::Body(self.body)
    }
}
