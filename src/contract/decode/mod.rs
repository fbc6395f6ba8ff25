//! JSON decoding at high speed: tolerant of spelling, never silently wrong.
//!
//! [`read`] decodes a whole body, [`intake()`] a body that arrives in chunks. The fast reader (`quick`) decodes large plain
//! bodies; the tolerant reader decodes all others. Values go directly into the types of [`model`](crate::model), a matrix
//! into one flat buffer. After an error, a second read finds the path of the fault. Decoders for other services use the same
//! parts: [`parse`], [`lenient`], [`Matrix`] and [`BufferedBody`].
//!
//! The type of a field decides how a JSON string or number is read: a number may be sent as a string, a text as a number.
//! A decimal that cannot be represented exactly is an error. Instants in another unit are converted to milliseconds.

mod damage;
mod envelope;
mod heatmap;
mod intake;
mod number;
mod orders;
mod quick;
mod reply;
mod rows;
mod time;
mod token;
mod verdict;

pub use damage::{DecodeError, printable};
pub(super) use damage::{at, excerpt};
pub(super) use envelope::alone;
pub use envelope::{Decode, intake, parse, read, reason};
pub(super) use heatmap::spread;
pub use heatmap::{Matrix, SparseCells, sparse_cells};
pub use intake::{BodyReader, BufferedBody, Feed, Reading};
pub(super) use number::whole_number;
pub use number::{exact_decimal, nearest_double};
pub(super) use quick::first;
pub use quick::{Cursor, leading_number};
pub use reply::Reply;
pub use time::InstantPlace;
pub use token::Read;
pub(super) use token::{AxisInstant, CellToken, Key, Of, Skip, fill};
pub use token::{lenient, lenient_instant};
