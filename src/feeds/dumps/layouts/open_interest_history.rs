//! Binance's `openInterestHist`, with the columns of the REST reply.
//!
//! For contracts in USDT, `sumOpenInterest` is in coins. Rows of coin-margined contracts have a pair and a contract
//! type, and there `sumOpenInterestValue` is in coins.

use crate::feeds::dumps::cells::{DumpLine, RowError, column, columns};
use crate::feeds::dumps::format::Format;
use crate::feeds::dumps::layouts::known_layout::KnownLayout;

/// Returns the layout if the header is that of `openInterestHist`.
pub(super) fn layout(header: &[String]) -> Option<KnownLayout> {
    let columns = columns(
        header,
        [
            &["timestamp"],
            &["symbol", "pair"],
            &["sumopeninterest"],
            &["sumopeninterestvalue"],
        ],
    )?;
    let [time, symbol, contracts, value] = columns;
    let kind = column(header, &["contracttype"]);
    let amount = if kind.is_some() { value } else { contracts };
    let read = move |line: DumpLine<'_>| {
        if let Some(kind) = kind
            && line.text(kind)? != "PERPETUAL"
        {
            let reason =
                "contracttype: the open interest does not belong to the perpetual contract";
            return Err(RowError::new(reason, line.text(kind)?));
        }
        let cells = [line.text(time)?, line.text(symbol)?, line.text(amount)?];
        Ok(cells.map(str::to_owned).to_vec())
    };
    let names = ["timestamp", "symbol", "open_interest"];
    let writer = "Binance's openInterestHist";
    Some(KnownLayout::new(writer, Format::OpenInterest, &names, read))
}
