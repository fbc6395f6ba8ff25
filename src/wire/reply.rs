//! What makes a model type a reply: one function per shape on the wire.

use serde::Deserializer;

use super::intake::Intake;

/// A reply of the contract.
pub trait Reply: Sized {
    /// How its body is taken in.
    type Intake: Intake<Reply = Self>;

    /// Reads the reply from where it stands in the body.
    #[doc(hidden)]
    fn reply<'de, D: Deserializer<'de>>(from: D) -> Result<Self, D::Error>;

    /// Reads the reply out of a whole body that is as plain as most are; `None` leaves the body to [`Self::reply`].
    #[doc(hidden)]
    fn quick(_body: &[u8], _enveloped: bool) -> Option<Self> {
        None
    }
}

/// A reply whose type is read like any other value.
macro_rules! reply {
    ($($type:ty),+) => {$(
        impl $crate::wire::reply::Reply for $type {
            type Intake = $crate::wire::intake::Whole<Self>;

            fn reply<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
                $crate::wire::token::Read::read(from)
            }
        }
    )+};
}

pub(super) use reply;
