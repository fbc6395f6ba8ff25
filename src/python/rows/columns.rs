//! Stores the rows of a reply as columns, before they become Python objects.

use std::borrow::Cow;
use std::convert::Infallible;

use crate::model::{
    self, Cell, DecimalColumn, GroupedOrder, Kind, Labels, Millis, Order, OrderColumns, Record,
    Side, Value, Visitor, Vocabulary, coin_of_pair,
};

/// Index of the pair column of orders.
const PAIR: usize = 1;
/// Name of the coin column, which data frames have and dict rows do not.
pub(crate) const COIN: &str = "coin";

/// The cells of one column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cells {
    /// Text as codes, each of which is an index into a list of distinct names.
    Text(Labels),
    /// Exact decimals.
    Decimal(DecimalColumn),
    /// Doubles.
    Float(Vec<f64>),
    /// Whole numbers.
    Int(Vec<i64>),
    /// Epoch milliseconds.
    Time(Vec<i64>),
    /// True or false.
    Bool(Vec<bool>),
}

impl Cells {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::Text(cells) => cells.len(),
            Self::Decimal(cells) => cells.len(),
            Self::Float(cells) => cells.len(),
            Self::Int(cells) | Self::Time(cells) => cells.len(),
            Self::Bool(cells) => cells.len(),
        }
    }

    fn take(&self, rows: &[usize]) -> Self {
        fn pick<T: Copy>(cells: &[T], rows: &[usize]) -> Vec<T> {
            rows.iter()
                .filter_map(|&row| cells.get(row).copied())
                .collect()
        }
        match self {
            Self::Text(cells) => Self::Text(cells.take(rows)),
            Self::Decimal(cells) => Self::Decimal(cells.take(rows)),
            Self::Float(cells) => Self::Float(pick(cells, rows)),
            Self::Int(cells) => Self::Int(pick(cells, rows)),
            Self::Time(cells) => Self::Time(pick(cells, rows)),
            Self::Bool(cells) => Self::Bool(pick(cells, rows)),
        }
    }
}

/// A named column.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) cells: Cells,
    /// Whether each cell is present. `None` means that all cells are.
    pub(crate) present: Option<Vec<bool>>,
}

impl Column {
    /// Appends the cells of another column. Returns `None` if name or kind of the columns differ.
    fn append(&mut self, more: &Self) -> Option<()> {
        let before = self.cells.len();
        (self.name == more.name).then_some(())?;
        match (&mut self.cells, &more.cells) {
            (Cells::Text(cells), Cells::Text(more)) => cells.append(more, 0..more.len()),
            (Cells::Decimal(cells), Cells::Decimal(more)) => cells.append(more, 0..more.len()),
            (Cells::Float(cells), Cells::Float(more)) => cells.extend_from_slice(more),
            (Cells::Int(cells), Cells::Int(more)) | (Cells::Time(cells), Cells::Time(more)) => {
                cells.extend_from_slice(more);
            }
            (Cells::Bool(cells), Cells::Bool(more)) => cells.extend_from_slice(more),
            _ => return None,
        }
        if self.present.is_some() || more.present.is_some() {
            let mut present = self.present.take().unwrap_or_else(|| vec![true; before]);
            match &more.present {
                Some(more) => present.extend_from_slice(more),
                None => present.resize(self.cells.len(), true),
            }
            self.present = Some(present);
        }
        Some(())
    }

    /// Returns each cell, or `None` in place of a missing cell.
    pub(crate) fn present<'a, T: Copy>(
        &'a self,
        cells: &'a [T],
    ) -> impl Iterator<Item = Option<T>> + 'a {
        let cells = cells.iter().enumerate();
        cells.map(|(row, &cell)| self.has(row).then_some(cell))
    }

    /// Whether `row` has a value.
    pub(crate) fn has(&self, row: usize) -> bool {
        self.present
            .as_ref()
            .is_none_or(|present| present.get(row).copied().unwrap_or(false))
    }
}

/// Rows as columns.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Columns {
    pub(crate) columns: Vec<Column>,
    pub(crate) rows: usize,
}

impl Columns {
    /// Reduces the columns in `group` to those in `wanted`, in that order, at the position of the group's first column.
    pub(crate) fn keeping(mut self, group: &[String], wanted: &[String]) -> Self {
        let is_of = |column: &Column| group.contains(&column.name);
        let place = self.columns.iter().position(is_of).unwrap_or_default();
        let (mut of_group, mut found): (Vec<Column>, Vec<Column>) =
            std::mem::take(&mut self.columns)
                .into_iter()
                .partition(is_of);
        for (offset, name) in wanted.iter().enumerate() {
            if let Some(one) = of_group.iter().position(|column| column.name == *name) {
                let mut column = of_group.swap_remove(one);
                column.present = None;
                found.insert(place + offset, column);
            }
        }
        self.columns = found;
        self
    }

    /// Marks every cell as present, for columns that must have no missing cells.
    pub(crate) fn filled(mut self) -> Self {
        // Order groups may be missing. An order group is the id that the fills of one order share.
        for column in self.columns.iter_mut().filter(|one| !is_of_groups(one)) {
            column.present = None;
        }
        self
    }

    /// Adds or removes the group column of orders.
    pub(crate) fn grouped(mut self, wanted: bool) -> Self {
        let place = self.columns.iter().position(is_of_groups);
        match (place, wanted) {
            (Some(place), false) => drop(self.columns.remove(place)),
            (None, true) => self.columns.push(groups(&vec![None; self.rows])),
            (Some(_), true) | (None, false) => {}
        }
        self
    }

    /// Computes the coin of each order, for data frames. `None` if the rows are not orders.
    pub(crate) fn coins(&self) -> Option<Column> {
        let columns = self.columns.iter().filter(|column| !is_of_groups(column));
        let names = columns.map(|column| column.name.as_str());
        if !names.eq(Order::COLUMNS.iter().map(|column| column.name)) {
            return None;
        }
        let pairs = self.columns.get(PAIR)?;
        let Cells::Text(symbols) = &pairs.cells else {
            return None;
        };
        let coins = symbols.names().iter().map(|name| coin_of_pair(name).0);
        let coins: Vec<String> = coins.collect();
        Some(Column {
            name: COIN.to_owned(),
            cells: Cells::Text(Labels::from_parts(symbols.codes(), &coins)?),
            present: pairs.present.clone(),
        })
    }

    /// Returns the columns for data frames: those of orders also have the coin after the pair.
    pub(crate) fn framed(&self) -> Vec<Cow<'_, Column>> {
        let mut columns: Vec<_> = self.columns.iter().map(Cow::Borrowed).collect();
        if let Some(coins) = self.coins() {
            columns.insert(PAIR + 1, Cow::Owned(coins));
        }
        columns
    }

    /// Concatenates orders, with or without the group column. `None` if a part does not consist of orders.
    pub(crate) fn joined<'a>(parts: impl Iterator<Item = &'a Self>, groups: bool) -> Option<Self> {
        let parts: Vec<&Self> = parts.collect();
        let rows = parts.iter().map(|part| part.rows).sum();
        let joined = Self::from(OrderColumns::with_capacity(rows));
        let mut joined = joined.grouped(groups);
        for part in parts {
            joined.add(part)?;
        }
        Some(joined)
    }

    /// Appends rows. `None` if their columns differ.
    pub(crate) fn add(&mut self, more: &Self) -> Option<()> {
        (more.columns.len() == self.columns.len()).then_some(())?;
        for (column, more) in self.columns.iter_mut().zip(&more.columns) {
            column.append(more)?;
        }
        self.rows += more.rows;
        Some(())
    }

    /// Selects the rows at these indexes, in this order.
    pub(crate) fn take(&self, rows: &[usize]) -> Self {
        let columns = self
            .columns
            .iter()
            .map(|column| Column {
                name: column.name.clone(),
                cells: column.cells.take(rows),
                present: column
                    .present
                    .as_ref()
                    .map(|_| rows.iter().map(|&row| column.has(row)).collect()),
            })
            .collect();
        Self {
            columns,
            rows: rows.len(),
        }
    }
}

/// Whether this is the column of order groups.
fn is_of_groups(column: &Column) -> bool {
    column.name == GroupedOrder::GROUP
}

/// Creates the group column of orders.
fn groups(groups: &[Option<String>]) -> Column {
    let texts = groups
        .iter()
        .map(|group| group.as_deref().unwrap_or_default());
    Column {
        name: GroupedOrder::GROUP.to_owned(),
        cells: Cells::Text(texts.collect()),
        present: Some(groups.iter().map(Option::is_some).collect()),
    }
}

/// Creates a text column of order sides (long or short).
fn sides(values: impl Iterator<Item = Side>) -> Cells {
    let names = [Side::Long, Side::Short].map(|side| side.name().to_owned());
    let codes: Vec<u32> = values.map(|side| u32::from(side == Side::Short)).collect();
    Labels::from_parts(&codes, &names).map_or_else(|| Cells::Text(Labels::default()), Cells::Text)
}

/// Collects the columns of rows, one after another.
struct Taking<'a, R> {
    rows: &'a [R],
    columns: Vec<Column>,
}

impl<R> Visitor<R> for Taking<'_, R> {
    type Fault = Infallible;

    fn column<T: Value>(
        &mut self,
        column: &'static model::Column,
        of: impl Fn(&R) -> &T,
    ) -> Result<(), Infallible> {
        let cells = self.rows.iter().map(|row| of(row).cell());
        // A missing cell is stored as the default value of its kind.
        let cells = match T::KIND {
            Kind::Text => Cells::Text(
                cells
                    .map(|cell| {
                        if let Cell::Text(text) = cell {
                            text
                        } else {
                            ""
                        }
                    })
                    .collect(),
            ),
            Kind::Side => sides(cells.filter_map(Value::of)),
            Kind::Decimal => Cells::Decimal(
                cells
                    .map(|cell| Value::of(cell).unwrap_or_default())
                    .collect(),
            ),
            Kind::Float => Cells::Float(
                cells
                    .map(|cell| Value::of(cell).unwrap_or(f64::NAN))
                    .collect(),
            ),
            Kind::Int => Cells::Int(
                cells
                    .map(|cell| Value::of(cell).unwrap_or_default())
                    .collect(),
            ),
            Kind::Time => Cells::Time(
                cells
                    .map(|cell| Millis::of(cell).unwrap_or_default().0)
                    .collect(),
            ),
            Kind::Bool => Cells::Bool(
                cells
                    .map(|cell| Value::of(cell).unwrap_or_default())
                    .collect(),
            ),
        };
        let present = T::OPTIONAL.then(|| {
            let cells = self.rows.iter().map(|row| of(row).cell());
            cells.map(|cell| cell != Cell::Absent).collect()
        });
        self.columns.push(Column {
            name: column.name.to_owned(),
            cells,
            present,
        });
        Ok(())
    }
}

impl<R: Record> From<&[R]> for Columns {
    fn from(rows: &[R]) -> Self {
        let columns = Vec::with_capacity(R::COLUMNS.len());
        let mut taking = Taking { rows, columns };
        let Ok(()) = R::visit(&mut taking);
        Self {
            columns: taking.columns,
            rows: rows.len(),
        }
    }
}

impl<R: Record> From<Vec<R>> for Columns {
    fn from(rows: Vec<R>) -> Self {
        rows.as_slice().into()
    }
}

impl From<OrderColumns> for Columns {
    fn from(orders: OrderColumns) -> Self {
        let rows = orders.len();
        let cells = [
            Cells::Text(orders.exchange),
            Cells::Text(orders.symbol),
            sides(orders.side.into_iter()),
            Cells::Decimal(orders.price),
            Cells::Decimal(orders.qty),
            Cells::Decimal(orders.value_usd),
            Cells::Time(orders.timestamp.into_iter().map(|at| at.0).collect()),
        ];
        let columns = Order::COLUMNS
            .iter()
            .zip(cells)
            .map(|(column, cells)| Column {
                name: column.name.to_owned(),
                cells,
                present: None,
            });
        let groups = (!orders.group_id.is_empty()).then(|| groups(&orders.group_id));
        Self {
            columns: columns.chain(groups).collect(),
            rows,
        }
    }
}
