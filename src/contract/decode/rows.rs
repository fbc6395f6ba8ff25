//! Row decoding, driven by the columns that a row type declares.

use std::fmt;
use std::marker::PhantomData;
use std::vec::IntoIter;

use serde::de::{Deserializer, Error, MapAccess, Visitor};

use super::damage::{DecodeError, at};
use super::number::whole_number;
use super::orders::amount;
use super::quick::Cursor;
use super::reply::Reply;
use super::time::{InstantPlace, as_it_stands};
use super::token::{Key, Of, Read, Skip};
use crate::model::{Cell, Column, Kind, Millis, Record, Side, Source, Value};

impl<'de, R: Record> Read<'de> for R {
    fn read<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(Row(PhantomData))
    }
}

struct Row<R>(PhantomData<R>);

impl<'de, R: Record> Visitor<'de> for Row<R> {
    type Value = R;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a row")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<R, A::Error> {
        let mut slots: Vec<Option<StoredCell>> = R::COLUMNS.iter().map(|_| None).collect();
        while let Some(Key(key)) = members.next_key_seed(Of::new())? {
            let mut columns = R::COLUMNS.iter().zip(&mut slots);
            match columns.find(|(column, _)| *column.name == *key) {
                None => {
                    members.next_value_seed(Of::<Skip>::new())?;
                }
                Some((_, Some(_))) => return Err(at(key, "is given twice")),
                Some((column, slot)) => *slot = Some(StoredCell::next(column, &mut members)?),
            }
        }
        let row = R::read(&mut Slots(slots.into_iter(), PhantomData))?;
        match row.fault() {
            Some((column, message)) => Err(at(column, message)),
            None => Ok(row),
        }
    }
}

/// A decoded member of a row that is not complete yet.
enum StoredCell {
    Text(String),
    Other(Cell<'static>),
}

impl StoredCell {
    /// Reads the next member; the column decides its type, not the token.
    fn next<'de, A: MapAccess<'de>>(column: &Column, members: &mut A) -> Result<Self, A::Error> {
        fn next<'de, T: Read<'de>, A: MapAccess<'de>>(
            (column, members): (&Column, &mut A),
            stored: fn(T) -> StoredCell,
        ) -> Result<StoredCell, A::Error> {
            if column.optional {
                let value = members.next_value_seed(Of::<Option<T>>::new())?;
                return Ok(value.map_or(StoredCell::Other(Cell::Absent), stored));
            }
            members.next_value_seed(Of::new()).map(stored)
        }
        let from = (column, members);
        match column.kind {
            Kind::Text => next(from, Self::Text),
            Kind::Side => next(from, |side| Self::Other(Cell::Side(side))),
            Kind::Decimal => next(from, |value| Self::Other(Cell::Decimal(value))),
            Kind::Float => next(from, |value| Self::Other(Cell::Float(value))),
            Kind::Int => next(from, |value| Self::Other(Cell::Int(value))),
            Kind::Time => next(from, |at| Self::Other(Cell::Time(at))),
            Kind::Bool => next(from, |truth| Self::Other(Cell::Bool(truth))),
        }
    }
}

/// The members of a row in the order of its columns.
struct Slots<E>(IntoIter<Option<StoredCell>>, PhantomData<E>);

impl<E: Error> Source for Slots<E> {
    type Fault = E;

    fn next<T: Value>(&mut self, column: &'static Column) -> Result<T, E> {
        let stored = self.0.next().flatten();
        let cell = match &stored {
            Some(StoredCell::Text(text)) => Cell::Text(text),
            Some(StoredCell::Other(cell)) => *cell,
            None => Cell::Absent,
        };
        T::of(cell).ok_or_else(|| match cell {
            Cell::Absent => at(column.name, "is missing"),
            // An integer is rejected only in a column of counts, because it is negative.
            Cell::Int(value) => at(
                column.name,
                format_args!("\"{value}\" is not a whole number from 0 to {}", i64::MAX),
            ),
            cell => at(column.name, format_args!("{cell:?} is not allowed here")),
        })
    }
}

/// Reads the members of a plain row, which must be in the order of the columns.
struct Plain<'c, 'a> {
    from: &'c mut Cursor<'a>,
    before: u8,
}

impl Plain<'_, '_> {
    #[inline]
    fn cell<T: Value>(&mut self, column: &Column) -> Option<T> {
        let from = &mut *self.from;
        from.take(self.before)?;
        self.before = b',';
        from.take(b'"')?;
        from.exactly(column.name)?;
        from.exactly("\":")?;
        let whole = |from: &mut Cursor<'_>| {
            let plain = from.whole();
            plain.or_else(|| whole_number(from.string()?, "").ok())
        };
        T::of(match T::KIND {
            Kind::Text => Cell::Text(from.string()?),
            Kind::Side => Cell::Side(Side::read(from.string()?)?),
            Kind::Decimal => Cell::Decimal(amount(from)?.value()),
            Kind::Float => Cell::Float(from.double()?),
            Kind::Int => Cell::Int(whole(from)?),
            Kind::Time => Cell::Time(match from.whole() {
                Some(number) => Millis(number),
                None => as_it_stands(from.string()?).ok()?,
            }),
            Kind::Bool => return None,
        })
    }
}

impl Source for Plain<'_, '_> {
    type Fault = ();

    #[inline]
    fn next<T: Value>(&mut self, column: &'static Column) -> Result<T, ()> {
        self.cell(column).ok_or(())
    }
}

/// Replies with rows. `null` is an empty list, because some services send it for "no rows".
impl<R: Record> Reply for Vec<R> {
    type Fields = Option<Self>;

    fn of(sheet: Option<Self>) -> Result<Self, DecodeError> {
        Ok(sheet.unwrap_or_default())
    }

    fn instants(&mut self, mut visit: impl FnMut(InstantPlace, &mut Millis)) {
        for (row, cells) in self.iter_mut().enumerate() {
            cells.instants(|column, at| visit(InstantPlace::Cell(row, column.name), at));
        }
    }

    fn quick(body: &[u8], enveloped: bool) -> Option<Self> {
        enveloped.then_some(())?;
        let mut rows = Self::new();
        Cursor::of(body).rows(|from| {
            let mut plain = Plain { from, before: b'{' };
            let row = R::read(&mut plain).ok()?;
            plain.from.take(b'}')?;
            rows.push(row.fault().is_none().then_some(row)?);
            Some(())
        })?;
        Some(rows)
    }
}
