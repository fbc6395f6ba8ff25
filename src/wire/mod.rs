//! Bytes to values at the machine's speed: tolerant in what it accepts, never silently wrong.
//!
//! [`read`] takes a body apart, an [`intake()`] one that is still arriving. Large replies that are as plain as most are read
//! in a pass of their own, which leaves all else to the tolerant reader. That goes straight into the values of
//! [`model`](crate::model), a matrix into one flat buffer, without keeping track of where it is; only when it fails is the
//! body read again to name the place.
//! Shapes of other services are read with the same parts: [`parse`] and [`lenient`], [`Matrix`] for the cells of a heatmap,
//! [`Whole`] for a body that is read when it has ended.
//! Numbers may arrive as strings and strings as numbers: the field's type in the contract decides. Decimals are exact
//! or refused.

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

pub use damage::{Damage, printable};
pub use envelope::{Decode, intake, parse, read, reason};
pub use heatmap::Matrix;
pub use intake::{Feed, Intake, Reading, Whole};
pub use number::{exact_decimal, nearest_double};
pub(crate) use quick::{Cursor, leading_number};
pub use token::{lenient, lenient_instant};
