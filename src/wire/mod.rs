//! JSON decoding at high speed: tolerant of spelling, never silently wrong.
//!
//! [`read`] decodes a whole body, [`intake()`] one on arrival. A fast pass reads large plain bodies and leaves all others to
//! the tolerant reader. Values go directly into the types of [`model`](crate::model), a matrix into one flat buffer. Paths
//! are only tracked in a second read after an error. Dialects of other services use the same parts: [`parse`], [`lenient`],
//! [`Matrix`] and [`BufferedBody`]. A number may be a string and a string a number: the type of the field decides. Decimals are
//! exact or an error. Instants of a reply that are not in milliseconds are converted.

mod damage;
mod envelope;
mod heatmap;
mod intake;
mod levels;
mod liqmap;
mod maxpain;
mod number;
mod orders;
mod overview;
mod quick;
mod reply;
mod rows;
mod time;
mod token;
mod verdict;

pub use damage::{DecodeError, printable};
pub use envelope::{Decode, intake, parse, read, reason};
pub use heatmap::Matrix;
pub use intake::{BodyReader, BufferedBody, Feed, Reading};
pub use number::{exact_decimal, nearest_double};
pub(crate) use quick::{Cursor, leading_number};
pub use token::{lenient, lenient_instant};
