//! One argument of a query: text from a query string, or a typed value from a caller in this process.

use crate::model::Specification;

/// One argument before it is checked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Argument<'a> {
    /// Text; every argument of a query string is text.
    Text(&'a str),
    /// A whole number.
    Whole(i128),
    /// A number that may have a fraction.
    Fraction(f64),
    /// The checked parameters of a model.
    Model(&'a Specification),
}

/// An owned [`Argument`].
#[derive(Clone, Debug, PartialEq)]
pub enum ArgumentValue {
    /// Text.
    Text(String),
    /// A whole number.
    Whole(i128),
    /// A number that may have a fraction.
    Fraction(f64),
    /// The checked parameters of a model.
    Model(Box<Specification>),
}

impl ArgumentValue {
    pub(crate) fn borrowed(&self) -> Argument<'_> {
        match self {
            Self::Text(text) => Argument::Text(text),
            Self::Whole(number) => Argument::Whole(*number),
            Self::Fraction(number) => Argument::Fraction(*number),
            Self::Model(own) => Argument::Model(own),
        }
    }
}
