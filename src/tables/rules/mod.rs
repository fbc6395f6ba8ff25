//! The rules that accept or refuse the rows of input tables.

mod bar_rules;
mod contract_book;
mod contracts;
mod interest_rules;
mod judge;
mod order_rules;
mod pair_rules;
mod spacings;
mod stated_interest;
mod stated_volumes;
mod total_rules;

pub(crate) use bar_rules::other_length;
pub(crate) use contract_book::ContractBook;
pub(crate) use judge::{AHEAD, Judge, Judged, TOO_LATE};
pub(crate) use spacings::{HOW, Spacings};
