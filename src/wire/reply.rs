//! What makes a model type a reply: one shape on the wire, and what is made of it.

use super::damage::Damage;
use super::intake::Intake;
use super::token::Read;

/// A reply of the contract.
pub trait Reply: Sized {
    /// The reply as it stands in a body.
    #[doc(hidden)]
    type Sheet: for<'de> Read<'de>;

    /// The reply that stands so in a body.
    #[doc(hidden)]
    fn of(sheet: Self::Sheet) -> Result<Self, Damage>;

    /// What the reply says of the question it answers: names of parameters with what they were taken for.
    #[doc(hidden)]
    fn echo(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Reads the reply out of a whole body that is as plain as most are; `None` leaves the body to the tolerant reader.
    #[doc(hidden)]
    fn quick(_body: &[u8], _enveloped: bool) -> Option<Self> {
        None
    }

    /// What reads the reply, which stands alone, while it arrives; `None` where a body is kept until it is whole.
    #[doc(hidden)]
    fn arriving() -> Option<Box<dyn Intake<Self>>> {
        None
    }
}

/// A reply whose type is read like any other value, with the fields that echo the question.
macro_rules! reply {
    ($type:ty $(, $echo:ident)*) => {
        impl $crate::wire::reply::Reply for $type {
            type Sheet = Self;

            fn echo(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($echo), self.$echo.to_string())),*]
            }

            fn of(sheet: Self) -> Result<Self, $crate::wire::Damage> {
                Ok(sheet)
            }
        }
    };
}

pub(super) use reply;
