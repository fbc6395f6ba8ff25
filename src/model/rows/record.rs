//! Rows that declare their columns once: the name, type, unit and meaning of each stand beside the field that holds it.
//!
//! Tables in SQL and Parquet, arrays, dicts and what is said of a column all follow from the declaration. A visitor is
//! shown every column with its type known, so that whole columns are moved and no cell asks what it is.

use rust_decimal::Decimal;

use crate::model::{Millis, Side, Vocabulary};

/// What the cells of a column are.
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

/// One column of a kind of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Column {
    /// Its name, everywhere.
    pub name: &'static str,
    /// What its cells are.
    pub kind: Kind,
    /// Whether a cell may be absent.
    pub optional: bool,
    /// What numbers are counted in, such as `USD`; empty where that is plain.
    pub unit: &'static str,
    /// What it means, in a sentence.
    pub meaning: &'static str,
}

/// One cell, lent by its row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Cell<'a> {
    /// Nothing.
    Absent,
    /// Of [`Kind::Text`].
    Text(&'a str),
    /// Of [`Kind::Side`].
    Side(Side),
    /// Of [`Kind::Decimal`].
    Decimal(Decimal),
    /// Of [`Kind::Float`].
    Float(f64),
    /// Of [`Kind::Int`].
    Int(i64),
    /// Of [`Kind::Time`].
    Time(Millis),
    /// Of [`Kind::Bool`].
    Bool(bool),
}

/// What may stand in a column.
pub trait Value: Sized {
    /// What the column's cells are.
    const KIND: Kind;
    /// Whether they may be absent.
    const OPTIONAL: bool = false;

    /// The value as a cell.
    fn cell(&self) -> Cell<'_>;

    /// The value of a cell; `None` where the cell cannot be one.
    fn of(cell: Cell<'_>) -> Option<Self>;
}

/// A row that says what its columns are.
pub trait Record: Sized {
    /// Its columns, in order.
    const COLUMNS: &'static [Column];

    /// Shows every column to `visitor`, in order.
    ///
    /// # Errors
    ///
    /// The visitor's own, at which it is shown no more.
    fn visit<V: Visitor<Self>>(visitor: &mut V) -> Result<(), V::Fault>;

    /// The row whose values `source` gives, in order.
    ///
    /// # Errors
    ///
    /// The source's own.
    fn read<S: Source>(source: &mut S) -> Result<Self, S::Fault>;

    /// What the row cannot mean, whoever tells it: the column, and its value with what is allowed.
    fn fault(&self) -> Option<(&'static str, String)> {
        None
    }
}

/// Who is shown the columns of rows.
pub trait Visitor<R> {
    /// Why it wants to see no more.
    type Fault;

    /// Takes a column, and how its value is found in a row.
    ///
    /// # Errors
    ///
    /// Its own.
    fn column<T: Value>(
        &mut self,
        column: &'static Column,
        of: impl Fn(&R) -> &T,
    ) -> Result<(), Self::Fault>;
}

/// Who has the values of a row.
pub trait Source {
    /// Why a value cannot be had.
    type Fault;

    /// The value of the next column, which is `column`.
    ///
    /// # Errors
    ///
    /// Its own.
    fn next<T: Value>(&mut self, column: &'static Column) -> Result<T, Self::Fault>;
}

/// Lets a type stand in columns: as which kind of cell, and how it becomes one and is made of one.
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
    // The words of a closed vocabulary.
    ($type:ty as words) => {
        $crate::model::value!($type as Text, word => $crate::model::Vocabulary::name(*word),
            text => $crate::model::Vocabulary::parse(text));
    };
}

value!(String as Text, text => text, text => Some(text.to_owned()));
// A name of the program's own, which no text that is read becomes.
value!(&'static str as Text, text => text, _text => None);
value!(Side as Side, side => *side, side => Some(side));
value!(Decimal as Decimal, value => *value, value => Some(value));
value!(f64 as Float, value => *value, value => Some(value));
value!(i64 as Int, value => *value, value => Some(value));
// Counts are read from 64 bits with a sign and counted from memory, so they fit.
value!(u64 as Int, value => i64::try_from(*value).unwrap_or(i64::MAX), value => u64::try_from(value).ok());
value!(Millis as Time, at => *at, at => Some(at));
value!(bool as Bool, truth => *truth, truth => Some(truth));

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
}

/// Declares the columns of a row: a struct whose documented fields they are, or for a struct that has them in others which
/// value is which; what a nested struct says of a column need not be said again. `checked` names what tells the faults of a
/// row.
macro_rules! record {
    (
        $(#[doc = $about:literal])*
        $(#[derive($($derived:ident),+)])*
        $(#[checked($check:path)])?
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
    ) => {
        impl $crate::model::Record for $row {
            const COLUMNS: &'static [$crate::model::Column] = &[
                $($crate::model::record!(@column $field: $type, [$($unit)?], [$($meaning)*]),)+
            ];

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

pub(crate) use {record, value};
