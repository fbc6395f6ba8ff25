//! Declaration of replies: each member is declared once, and everything else follows.
//!
//! [`reply!`](object::reply) declares the members of a reply that is an object, [`object!`](object::object) those of an
//! object inside a reply: JSON name, field of the Rust type, type, unit and meaning. From the declaration come the JSON
//! encoder, the tolerant and the fast decoder, the values for Python, the schema in `OpenAPI`, and the table of the
//! reference page. The type itself is in [`model`](crate::model). Rows are declared by `record!` there.

mod data;
mod field;
mod member;
mod object;
mod schema;
mod value;

pub(super) use data::row_data;
pub use data::{Data, Datum};
pub(crate) use field::{Candidate, Field, Group, OptionalGroup};
pub use member::{EndpointReply, Member, ObjectShape, ReplyShape};
pub use object::Members;
pub(super) use object::Slots;
pub(super) use object::{moved, plain, shape};
pub(crate) use object::{object, reply};
pub(super) use schema::{object as object_schema, row, titled};
pub(crate) use value::{ByNumber, Cells, Fraction, ListOf, MemberValue, Nullable, Words};
