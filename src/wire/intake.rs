//! Bodies on their way in: a reply is made as its body arrives where that is worth it.
//!
//! Most replies are small, so [`Whole`] keeps their bodies until they have ended. An intake that takes a body apart while
//! it arrives keeps no more of it than it must; what is accepted, what is refused and why is the same either way.

use super::damage::Damage;

/// The most room made for a body on its own word alone.
const EARLY_ROOM: usize = 8 << 20;

/// What a body says.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading<R> {
    /// The reply that was asked for.
    Reply(R),
    /// `success: false`.
    Refused {
        /// The best reason the body gives.
        message: String,
    },
}

/// Takes bytes as they arrive.
pub trait Feed: Send {
    /// Begins anew, for a body of `announced` bytes where that was said.
    fn begin(&mut self, announced: Option<usize>);

    /// Takes what has arrived next.
    fn feed(&mut self, chunk: &[u8]);
}

/// Takes the body of a reply of the type `R`.
pub trait Intake<R>: Feed {
    /// What the body says, which has ended.
    ///
    /// # Errors
    ///
    /// [`Damage`] where the body breaks the contract.
    fn finish(&mut self) -> Result<Reading<R>, Damage>;

    /// What is kept of the body, from its beginning; of a body that was read as it arrived less than all of it.
    fn kept(&self) -> &[u8];
}

/// A body that is kept as it is and read when it has ended.
#[derive(Debug)]
pub struct Whole<F> {
    body: Vec<u8>,
    read: F,
}

impl<F> Whole<F> {
    /// An intake for bodies that `read` reads.
    pub fn read_by(read: F) -> Self {
        Self {
            body: Vec::new(),
            read,
        }
    }
}

impl<F: Send> Feed for Whole<F> {
    fn begin(&mut self, announced: Option<usize>) {
        self.body = Vec::with_capacity(announced.unwrap_or(0).min(EARLY_ROOM));
    }

    fn feed(&mut self, chunk: &[u8]) {
        self.body.extend_from_slice(chunk);
    }
}

impl<R, F> Intake<R> for Whole<F>
where
    F: Fn(&[u8]) -> Result<Reading<R>, Damage> + Send,
{
    fn finish(&mut self) -> Result<Reading<R>, Damage> {
        (self.read)(&self.body)
    }

    fn kept(&self) -> &[u8] {
        &self.body
    }
}
