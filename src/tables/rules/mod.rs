//! What a row of a table may be: one set of rules for all tables.

mod bar_rules;
mod contract_book;
mod contracts;
mod interest_rules;
mod judge;
mod order_rules;
mod total_rules;

pub(crate) use contract_book::ContractBook;
pub(crate) use judge::{Judge, Judged};
