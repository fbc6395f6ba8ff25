//! The binding room: the only one that knows Python.
//!
//! A checked [`question::AskedQuestion`] is asked of a source (an HTTP client or a market in this process). What comes back
//! from a service is a [`call::Call`], which waits on the caller's own thread; no thread of the runtime ever attaches
//! to the interpreter.

mod archive;
mod arrays;
mod arrow;
mod batches;
mod bridge;
mod by_column;
mod call;
mod cells;
mod checked;
mod client;
mod cloud;
mod collector;
mod columns;
mod decimal;
mod defect;
mod error;
mod events;
mod feeds;
mod foreign;
mod freeing;
mod ground;
mod history;
mod in_coins;
mod ingest;
mod log_queue;
mod logs;
mod margin;
mod market;
mod moving;
mod parts;
mod question;
mod reading;
mod rebuild;
mod reply;
mod rows;
mod runtime;
mod server;
mod signals;
mod specification;
mod stream;
mod symbol;
mod tables;
mod untaken;
mod verify;
mod vouched;
mod walk;

use pyo3::prelude::*;

/// The native half of the package.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    const TOTALS: &str = crate::feeds::dumps::TOTALS;
    #[pymodule_export]
    const TAKES_TOTALS: &str = crate::feeds::dumps::TAKES_TOTALS;
    #[pymodule_export]
    use super::archive::ArchiveWriter;
    #[pymodule_export]
    use super::arrow::ArrowTable;
    #[pymodule_export]
    use super::batches::{ArrowBatches, ParquetFile};
    #[pymodule_export]
    use super::bridge::Bridge;
    #[pymodule_export]
    use super::call::Call;
    #[pymodule_export]
    use super::checked::TableCheck;
    #[pymodule_export]
    use super::client::Client;
    #[pymodule_export]
    use super::cloud::{archive_lists, export_journal, merge_archives};
    #[pymodule_export]
    use super::collector::Collector;
    #[pymodule_export]
    use super::feeds::{decode, decode_all};
    #[pymodule_export]
    use super::history::{History, walk_bounds};
    #[pymodule_export]
    use super::in_coins::ArchivePrices;
    #[pymodule_export]
    use super::ingest::{formats, ingest_files, ingest_parts, ingest_tables};
    #[pymodule_export]
    use super::logs::deliver_logs;
    #[pymodule_export]
    use super::margin::{bracketed, brackets, liquidation_price, max_leverage};
    #[pymodule_export]
    use super::market::Market;
    #[pymodule_export]
    use super::parts::TablePart;
    #[pymodule_export]
    use super::question::{AskedQuestion, endpoints, question};
    #[pymodule_export]
    use super::rebuild::rebuild;
    #[pymodule_export]
    use super::reply::read_reply;
    #[pymodule_export]
    use super::rows::Table;
    #[pymodule_export]
    use super::server::{Server, limits};
    #[pymodule_export]
    use super::specification::{Specification, model_version};
    #[pymodule_export]
    use super::stream::Stream;
    #[pymodule_export]
    use super::symbol::{coin, exchange, symbol};
    #[pymodule_export]
    use super::tables::{instant, span};
    #[pymodule_export]
    use super::verify::verify;
    #[pymodule_export]
    use super::walk::Walk;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name Python's tools look for")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        super::logs::start();
        super::defect::declare(module)
    }
}
