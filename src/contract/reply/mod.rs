//! Declaration of replies: each member is declared once, and everything else follows.
//!
//! [`reply!`](declare::reply) declares the members of a reply that is an object, [`object!`](declare::object) those of an
//! object inside a reply: JSON name, field of the Rust type, type, unit and meaning. From the declaration come the JSON
//! encoder, the tolerant and the fast decoder, the values for Python, the schema in `OpenAPI`, and the table of the
//! reference page. The type itself is in [`model`](crate::model). Rows are declared by `record!` there.

mod data;
mod declare;
mod field;
mod member;
mod members;
mod schema;
mod value;

pub(super) use data::row_data;
pub use data::{Data, Datum};
pub(crate) use declare::{object, reply};
pub use field::{Candidate, Field, Group, OptionalGroup};
pub use member::{EndpointReply, Member, ObjectShape, ReplyShape, RowShape};
pub use members::Members;
pub(super) use members::{Slots, moved, plain, shape};
pub(super) use schema::{object as object_schema, row, titled};
pub use value::{ByNumber, Cells, Fraction, ListOf, MemberValue, Nullable, Words};
