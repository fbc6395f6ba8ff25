//! Row types that declare name, type, unit and meaning of each column once.
//!
//! The declaration defines the row type's SQL and Parquet tables, arrays, dicts and column descriptions. A visitor is
//! called with each column and its static type, so whole columns are converted without a type check per cell.

use rust_decimal::Decimal;

use crate::model::{Millis, Side, Vocabulary};

/// The type of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// Text.
    Text,
    /// The side of a position, as text.
    Side,
    /// Exact decimals.
    Decimal,
    /// Doubles.
    Float,
    /// Whole numbers.
    Int,
    /// Instants in epoch milliseconds.
    Time,
    /// True or false.
    Bool,
}

impl Vocabulary for Kind {
    const ALL: &'static [Self] = &[
        Self::Text,
        Self::Side,
        Self::Decimal,
        Self::Float,
        Self::Int,
        Self::Time,
        Self::Bool,
    ];

    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Side => "side",
            Self::Decimal => "decimal",
            Self::Float => "float",
            Self::Int => "int",
            Self::Time => "time",
            Self::Bool => "bool",
        }
    }
}

/// One column of a row type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Name of the column in every format.
    pub name: &'static str,
    /// Type of the column's cells.
    pub kind: Kind,
    /// Whether a cell may be absent.
    pub optional: bool,
    /// Unit of numbers, such as `USD`; empty if there is none.
    pub unit: &'static str,
    /// Meaning of the column in one sentence.
    pub meaning: &'static str,
}

/// One cell, borrowed from its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// No value.
    Absent,
    /// A cell of [`Kind::Text`].
    Text(&'a str),
    /// A cell of [`Kind::Side`].
    Side(Side),
    /// A cell of [`Kind::Decimal`].
    Decimal(Decimal),
    /// A cell of [`Kind::Float`].
    Float(f64),
    /// A cell of [`Kind::Int`].
    Int(i64),
    /// A cell of [`Kind::Time`].
    Time(Millis),
    /// A cell of [`Kind::Bool`].
    Bool(bool),
}

/// A type that can be the value of a column.
pub trait Value: Sized {
    /// The type of the column's cells.
    const KIND: Kind;
    /// Whether a cell may be absent.
    const OPTIONAL: bool = false;

    /// The value as a cell.
    fn cell(&self) -> Cell<'_>;

    /// Converts a cell to the value; `None` if the cell has another type.
    fn of(cell: Cell<'_>) -> Option<Self>;

    /// The instant in the value, if the type contains one.
    #[inline]
    fn instant_mut(&mut self) -> Option<&mut Millis> {
        None
    }
}

/// A row type that declares its columns.
pub trait Record: Sized {
    /// The columns, in order.
    const COLUMNS: &'static [Column];

    /// Columns that this project's server adds to a row in JSON; readers may ignore them.
    const ADDED: &'static [Column] = &[];

    /// Calls `visitor` with each column, in order.
    ///
    /// # Errors
    ///
    /// The visitor's error, which ends the visit.
    fn visit<V: Visitor<Self>>(visitor: &mut V) -> Result<(), V::Fault>;

    /// Builds a row from the column values that `source` returns, in order.
    ///
    /// # Errors
    ///
    /// The source's error.
    fn read<S: Source>(source: &mut S) -> Result<Self, S::Fault>;

    /// Calls `visit` with each instant of the row and the column that contains it.
    fn instants(&mut self, visit: impl FnMut(&'static Column, &mut Millis));

    /// The name of the first invalid column, and a message with its value and the allowed values.
    fn fault(&self) -> Option<(&'static str, String)> {
        None
    }
}

/// A generic callback for the columns of a row type.
pub trait Visitor<R> {
    /// The error of the visitor.
    type Fault;

    /// Processes one column; `of` returns the value of the column in a row.
    ///
    /// # Errors
    ///
    /// The visitor's error, which ends the visit.
    fn column<T: Value>(
        &mut self,
        column: &'static Column,
        of: impl Fn(&R) -> &T,
    ) -> Result<(), Self::Fault>;
}

/// Returns the column values of a row, one by one.
pub trait Source {
    /// The error of the source.
    type Fault;

    /// Returns the value of the next column; `column` describes it.
    ///
    /// # Errors
    ///
    /// An error if the source has no such value.
    fn next<T: Value>(&mut self, column: &'static Column) -> Result<T, Self::Fault>;
}

/// Implements [`Value`] for a type: its cell type and both conversions.
#[macro_export]
macro_rules! value {
    ($type:ty as $kind:ident, $lent:ident => $cell:expr, $made:ident => $back:expr) => {
        impl $crate::model::Value for $type {
            const KIND: $crate::model::Kind = $crate::model::Kind::$kind;

            #[inline]
            fn cell(&self) -> $crate::model::Cell<'_> {
                let $lent = self;
                $crate::model::Cell::$kind($cell)
            }

            #[inline]
            fn of(cell: $crate::model::Cell<'_>) -> Option<Self> {
                match cell {
                    $crate::model::Cell::$kind($made) => $back,
                    _ => None,
                }
            }
        }
    };
    // A member of a closed vocabulary is stored by name.
    ($type:ty as words) => {
        $crate::model::value!($type as Text, word => $crate::model::Vocabulary::name(*word),
            text => $crate::model::Vocabulary::parse(text));
    };
}

value!(String as Text, text => text, text => Some(text.to_owned()));
// A static name can be written but not read.
value!(&'static str as Text, text => text, _text => None);
value!(Side as Side, side => *side, side => Some(side));
value!(Decimal as Decimal, value => *value, value => Some(value));
value!(f64 as Float, value => *value, value => Some(value));
value!(i64 as Int, value => *value, value => Some(value));
// Counts are stored as signed 64-bit integers; counts in memory are always small enough.
value!(u64 as Int, value => i64::try_from(*value).unwrap_or(i64::MAX), value => u64::try_from(value).ok());
value!(bool as Bool, truth => *truth, truth => Some(truth));

impl Value for Millis {
    const KIND: Kind = Kind::Time;

    #[inline]
    fn cell(&self) -> Cell<'_> {
        Cell::Time(*self)
    }

    #[inline]
    fn of(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Time(at) => Some(at),
            _ => None,
        }
    }

    #[inline]
    fn instant_mut(&mut self) -> Option<&mut Self> {
        Some(self)
    }
}

impl<T: Value> Value for Option<T> {
    const KIND: Kind = T::KIND;
    const OPTIONAL: bool = true;

    #[inline]
    fn cell(&self) -> Cell<'_> {
        self.as_ref().map_or(Cell::Absent, T::cell)
    }

    #[inline]
    fn of(cell: Cell<'_>) -> Option<Self> {
        match cell {
            Cell::Absent => Some(None),
            cell => T::of(cell).map(Some),
        }
    }

    #[inline]
    fn instant_mut(&mut self) -> Option<&mut Millis> {
        self.as_mut()?.instant_mut()
    }
}

/// Declares the columns of a row type.
///
/// The declaration is either a struct with documented fields, or an `impl` block that maps columns to nested fields.
/// In an `impl` block the documentation of a column may be omitted. `checked` names the function that finds the first
/// invalid column of a row, and `adds` the columns of [`Record::ADDED`].
#[macro_export]
macro_rules! record {
    (
        $(#[doc = $about:literal])*
        $(#[derive($($derived:ident),+)])*
        $(#[checked($check:path)])?
        $(#[adds($added:path)])?
        pub struct $row:ident {
            $(
                $(#[doc = $meaning:literal])+
                $(#[unit($unit:literal)])?
                $(#[serde($($serde:tt)+)])?
                pub $field:ident: $type:ty,
            )+
        }
    ) => {
        $(#[doc = $about])*
        $(#[derive($($derived),+)])*
        pub struct $row {
            $(
                $(#[doc = $meaning])+
                $(#[serde($($serde)+)])?
                pub $field: $type,
            )+
        }

        $crate::model::record! {
            impl $row {
                $(
                    $(#[doc = $meaning])+
                    $(#[unit($unit)])?
                    $field: $type = $field,
                )+
            }
            made of { $($field),+ }
            $(checked by $check)?
            $(, adds $added)?
        }
    };
    (
        impl $row:ident {
            $(
                $(#[doc = $meaning:literal])*
                $(#[unit($unit:literal)])?
                $field:ident: $type:ty = $($path:ident).+,
            )+
        }
        made of { $($made:tt)+ }
        $(checked by $check:path)?
        $(, adds $added:path)?
    ) => {
        impl $crate::model::Record for $row {
            const COLUMNS: &'static [$crate::model::Column] = &[
                $($crate::model::record!(@column $field: $type, [$($unit)?], [$($meaning)*]),)+
            ];
            $(const ADDED: &'static [$crate::model::Column] = $added;)?

            fn visit<V: $crate::model::Visitor<Self>>(visitor: &mut V) -> Result<(), V::Fault> {
                $(
                    let column = const {
                        &$crate::model::record!(@column $field: $type, [$($unit)?], [$($meaning)*])
                    };
                    visitor.column::<$type>(column, |row| &row.$($path).+)?;
                )+
                Ok(())
            }

            fn read<S: $crate::model::Source>(source: &mut S) -> Result<Self, S::Fault> {
                $(
                    let column = const {
                        &$crate::model::record!(@column $field: $type, [$($unit)?], [$($meaning)*])
                    };
                    let $field: $type = source.next(column)?;
                )+
                Ok(Self { $($made)+ })
            }

            #[inline]
            fn instants(
                &mut self,
                mut visit: impl FnMut(&'static $crate::model::Column, &mut $crate::model::Millis),
            ) {
                $(
                    if let Some(at) = $crate::model::Value::instant_mut(&mut self.$($path).+) {
                        let column = const {
                            &$crate::model::record!(@column $field: $type, [$($unit)?], [$($meaning)*])
                        };
                        visit(column, at);
                    }
                )+
            }

            $(
                fn fault(&self) -> Option<(&'static str, String)> {
                    $check(self)
                }
            )?
        }
    };
    (@column $field:ident: $type:ty, [$($unit:literal)?], [$($meaning:literal)*]) => {
        $crate::model::Column {
            name: stringify!($field),
            kind: <$type as $crate::model::Value>::KIND,
            optional: <$type as $crate::model::Value>::OPTIONAL,
            unit: concat!($($unit)?),
            meaning: concat!($($meaning),*).trim_ascii(),
        }
    };
}

pub use crate::{record, value};
