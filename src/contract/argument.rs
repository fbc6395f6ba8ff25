//! One argument of a query, before it is checked.
//!
//! It is text from a query string, or a typed value from a caller in the same process.

use crate::model::Specification;

/// One unchecked argument of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument<'a> {
    /// Text; all arguments of a query string have this type.
    Text(&'a str),
    /// An integer.
    Whole(i128),
    /// A floating-point number.
    Fraction(f64),
    /// A model given by its checked parameters.
    Model(&'a Specification),
}

/// An owned [`Argument`].
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    /// Text.
    Text(String),
    /// An integer.
    Whole(i128),
    /// A floating-point number.
    Fraction(f64),
    /// A model given by its checked parameters.
    Model(Box<Specification>),
}

impl ArgumentValue {
    pub fn borrowed(&self) -> Argument<'_> {
        match self {
            Self::Text(text) => Argument::Text(text),
            Self::Whole(number) => Argument::Whole(*number),
            Self::Fraction(number) => Argument::Fraction(*number),
            Self::Model(own) => Argument::Model(own),
        }
    }
}
