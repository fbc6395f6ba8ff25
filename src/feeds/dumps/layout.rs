//! What a file format is: the columns that tell it, and what each of them means.

use crate::feeds::dumps::format::Format;
use crate::model::Millis;

/// The accepted names of a column, in order of preference.
pub(crate) type Names = &'static [&'static str];

/// A file format as data.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) format: Format,
    /// The program or the exchange that writes such files, for messages.
    pub(crate) writer: &'static str,
    /// The columns by which a file is recognised.
    pub(crate) needs: &'static [Names],
    /// Columns of tables, each with its names in the file. If empty, the file has names of tables.
    pub(crate) columns: &'static [(&'static str, Names)],
    pub(crate) clock: Clock,
    pub(crate) label: Label,
    pub(crate) side: SideMeaning,
    pub(crate) amount: AmountMeaning,
    pub(crate) price: PriceMeaning,
    pub(crate) key: OrderKey,
    /// The exchanges that the file may name; if empty, any.
    pub(crate) exchanges: &'static [ListedExchange],
    /// Whether symbols have the form `BTC-USDT-PERP`, whatever the exchange.
    pub(crate) is_normalised: bool,
    /// The exchange of all rows, if the format belongs to one.
    pub(crate) exchange: Option<&'static str>,
    /// Whether the name of the file names the contract.
    pub(crate) is_named_by_file: bool,
    pub(crate) refused: &'static [RefusedRows],
}

/// An exchange in the files of a recording program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedExchange {
    /// Its name in the files.
    pub(crate) theirs: &'static str,
    /// Its name in liqdata.
    pub(crate) own: &'static str,
    /// Whether the side is that of the position, although the format gives that of the order.
    pub(crate) is_side_of_position: bool,
    /// Why its liquidations cannot be read.
    pub(crate) unreadable: Option<&'static str>,
}

/// How the cells of the time column are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Clock {
    /// As those of tables: epoch milliseconds, or ISO 8601.
    Table,
    /// An epoch time of which the size gives the unit, or ISO 8601.
    AnyEpoch,
}

/// What the instant of a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    /// The open of a bar, the time of a reading, the time of an order.
    Instant,
    /// The end of the bar.
    End,
    /// The start of a period at the end of which the reading was taken.
    Start,
    /// From the first instant on, the reading was taken this many milliseconds after the label.
    Moved(Millis, i64),
}

/// The meaning of the side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SideMeaning {
    /// That of the liquidated position.
    Position,
    /// That of the order that closed the position.
    Order,
}

/// What the amount counts: volume, quantity or open interest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AmountMeaning {
    /// Not stated: the rules of tables decide.
    Unstated,
    /// Units of the listed pair.
    Coins,
    /// USD.
    Usd,
    /// Contracts of Binance: coins, unless the name is that of a coin-margined contract.
    ///
    /// Of these, the column `coins` has the coins, or the name gives the size.
    Binance,
    /// Contracts, of which the caller gives the size.
    Contracts,
    /// The unit of the exchange, see [`Layout::exchanges`].
    Listed,
}

/// Which price the price is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PriceMeaning {
    Unknown,
    /// The average price of the fills; if it is 0, the price of the order in the column `order_price`.
    Average,
    /// The price that the exchange publishes.
    Listed,
}

/// The key by which an order is recognised in other files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OrderKey {
    /// Of the values; equal rows are as many orders.
    Values,
    /// Of the values and the exchange; equal rows are one order.
    Binance,
    /// Of the column `id`; of the values if it is blank.
    Id(&'static str),
}

/// Rows that are not read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RefusedRows {
    pub(crate) column: Names,
    /// The words that a row must have; if empty, any.
    pub(crate) allowed: &'static [&'static str],
    /// The words that a row must not have.
    pub(crate) refused: &'static [&'static str],
    pub(crate) reason: &'static str,
}

/// A file of a known format.
#[derive(Clone, Debug)]
pub(crate) struct FileTable {
    pub(crate) layout: Layout,
    /// The columns that are read: the name of each in a table, and its index in the file.
    pub(crate) columns: Vec<(String, usize)>,
    /// The names of all columns of the file, for messages.
    pub(crate) header: Vec<String>,
}

/// A format with the names and the meanings of tables.
pub(crate) const TABLE: Layout = Layout {
    format: Format::Orders,
    writer: "a table",
    needs: &[],
    columns: &[],
    clock: Clock::Table,
    label: Label::Instant,
    side: SideMeaning::Position,
    amount: AmountMeaning::Unstated,
    price: PriceMeaning::Unknown,
    key: OrderKey::Values,
    exchanges: &[],
    is_normalised: false,
    exchange: None,
    is_named_by_file: false,
    refused: &[],
};

/// The index of the column with the first of these names that a header has.
///
/// Letter case matters only where two names differ by nothing else.
pub(crate) fn place(header: &[String], names: Names) -> Option<usize> {
    names.iter().find_map(|name| {
        let exact = header.iter().position(|cell| cell.trim() == *name);
        exact.or_else(|| {
            header
                .iter()
                .position(|cell| cell.trim().eq_ignore_ascii_case(name))
        })
    })
}
