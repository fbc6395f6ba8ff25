//! The trait of reply types: their decoded form and the conversion to the reply.

use super::damage::DecodeError;
use super::intake::BodyReader;
use super::token::Read;

/// A reply type of the contract.
pub trait Reply: Sized {
    /// The decoded form of the reply.
    #[doc(hidden)]
    type Fields: for<'de> Read<'de>;

    /// Converts the decoded form to the reply.
    #[doc(hidden)]
    fn of(sheet: Self::Fields) -> Result<Self, DecodeError>;

    /// The echoed parameters of the query, by name.
    #[doc(hidden)]
    fn echo(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// Reads a plain body quickly; `None` leaves it to the tolerant reader.
    #[doc(hidden)]
    fn quick(_body: &[u8], _enveloped: bool) -> Option<Self> {
        None
    }

    /// The incremental reader of a bare reply; `None` if bodies are buffered.
    #[doc(hidden)]
    fn arriving() -> Option<Box<dyn BodyReader<Self>>> {
        None
    }
}

/// Implements [`Reply`] for a type that is read like any other value, with its echoed fields.
macro_rules! reply {
    ($type:ty $(, $echo:ident)*) => {
        impl $crate::wire::reply::Reply for $type {
            type Fields = Self;

            fn echo(&self) -> Vec<(&'static str, String)> {
                vec![$((stringify!($echo), self.$echo.to_string())),*]
            }

            fn of(sheet: Self) -> Result<Self, $crate::wire::DecodeError> {
                Ok(sheet)
            }
        }
    };
}

pub(super) use reply;
