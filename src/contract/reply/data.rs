//! The values of a reply without their static types, as another language needs them.

use std::borrow::Cow;
use std::convert::Infallible;

use crate::model::{Cell, Column, Record, Side, Value, Visitor, Vocabulary};

/// The value of a member.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// No value: the member is not sent.
    Absent,
    /// A value that is sent as `null`.
    Null,
    /// True or false.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number.
    Float(f64),
    /// An instant in epoch milliseconds.
    Time(i64),
    /// Text.
    Text(Cow<'static, str>),
    /// Numbers.
    Floats(Vec<f64>),
    /// Whole numbers.
    Ints(Vec<i64>),
    /// Instants in epoch milliseconds.
    Times(Vec<i64>),
    /// Sides.
    Sides(Vec<Side>),
    /// A table of numbers, row after row, and its numbers of rows and columns.
    Table(Vec<f64>, [usize; 2]),
    /// Members of an object.
    Object(Vec<Datum>),
    /// Members of the reply itself that belong together.
    Group(Vec<Datum>),
    /// Values of one type.
    List(Vec<Self>),
}

/// A member with its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Datum {
    /// Name in the JSON reply.
    pub name: Cow<'static, str>,
    /// Name of the field in Rust and in Python.
    pub field: Cow<'static, str>,
    /// Whether only some services send the member.
    pub extension: bool,
    /// The value.
    pub data: Data,
}

/// The values of a row.
pub(in crate::contract) fn row_data<R: Record>(row: &R) -> Vec<Datum> {
    struct Cells<'a, R> {
        row: &'a R,
        data: Vec<Datum>,
    }

    impl<R> Visitor<R> for Cells<'_, R> {
        type Fault = Infallible;

        fn column<T: Value>(
            &mut self,
            column: &'static Column,
            of: impl Fn(&R) -> &T,
        ) -> Result<(), Infallible> {
            let data = match of(self.row).cell() {
                Cell::Absent => Data::Absent,
                Cell::Text(text) => Data::Text(text.to_owned().into()),
                Cell::Side(side) => Data::Text(side.name().into()),
                Cell::Decimal(value) => Data::Text(value.to_string().into()),
                Cell::Float(value) => Data::Float(value),
                Cell::Int(value) => Data::Int(value),
                Cell::Time(at) => Data::Time(at.0),
                Cell::Bool(truth) => Data::Bool(truth),
            };
            self.data.push(Datum {
                name: column.name.into(),
                field: column.name.into(),
                extension: false,
                data,
            });
            Ok(())
        }
    }

    let mut cells = Cells {
        row,
        data: Vec::new(),
    };
    let Ok(()) = R::visit(&mut cells);
    cells.data
}
