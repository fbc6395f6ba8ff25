//! The Python binding: the only module that uses `pyo3` and `numpy`.
//!
//! A checked query ([`calls::question::AskedQuestion`]) goes to a source: an HTTP client or a market in this process. A
//! pending reply is a [`calls::call::Call`], and the caller's own thread waits for it. Threads of the Tokio runtime
//! never attach to the Python interpreter.

mod archive;
mod calls;
mod error;
mod feeds;
mod ingest;
mod margin;
mod rows;
mod runtime;
mod sources;
mod symbol;

use pyo3::prelude::*;

/// The native module of the package.
#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use super::feeds::{decode, decode_all, decode_reply};
    #[pymodule_export]
    use super::margin::{bracketed, brackets, liquidation_price, max_leverage};
    #[pymodule_export]
    use super::symbol::{coin, exchange, symbol};
    #[pymodule_export]
    use crate::python::archive::cloud::{
        archive_lists, export_journal, merge_archives, snapshot_journal,
    };
    #[pymodule_export]
    use crate::python::archive::collector::Collector;
    #[pymodule_export]
    use crate::python::archive::rebuild::rebuild;
    #[pymodule_export]
    use crate::python::archive::undo::{ingested_rows, ingests, new_ingest_id, undo_ingest};
    #[pymodule_export]
    use crate::python::archive::verify::verify;
    #[pymodule_export]
    use crate::python::archive::writer::ArchiveWriter;
    #[pymodule_export]
    use crate::python::calls::asyncio_waker::Bridge;
    #[pymodule_export]
    use crate::python::calls::call::Call;
    #[pymodule_export]
    use crate::python::calls::question::{
        AskedQuestion, endpoints, feature_columns, feature_query_length, openapi, question,
    };
    #[pymodule_export]
    use crate::python::calls::reading::grid_bytes;
    #[pymodule_export]
    use crate::python::calls::reply::read_reply;
    #[pymodule_export]
    use crate::python::calls::specification::{Specification, model_version};
    #[pymodule_export]
    use crate::python::calls::stream::Stream;
    #[pymodule_export]
    use crate::python::calls::time_unit::time_unit;
    #[pymodule_export]
    use crate::python::calls::vendors::{scattered, sparse, without_secrets};
    #[pymodule_export]
    use crate::python::calls::walk::Walk;
    #[pymodule_export]
    use crate::python::ingest::content::file_content;
    #[pymodule_export]
    use crate::python::ingest::ingest::{formats, ingest_files};
    #[pymodule_export]
    use crate::python::ingest::ingest_tables::ingest_tables;
    #[pymodule_export]
    use crate::python::ingest::texts::{instant, span};
    #[pymodule_export]
    use crate::python::rows::arrow::ArrowTable;
    #[pymodule_export]
    use crate::python::rows::batches::{ArrowBatches, ParquetFile};
    #[pymodule_export]
    use crate::python::rows::map_arrays::{
        cluster_columns, column_step, interval_ends, map_clusters, swept,
    };
    #[pymodule_export]
    use crate::python::rows::reply_object::Reply;
    #[pymodule_export]
    use crate::python::rows::rows::Table;
    #[pymodule_export]
    use crate::python::runtime::logs::deliver_logs;
    #[pymodule_export]
    use crate::python::sources::agents::{AgentMessage, Agents};
    #[pymodule_export]
    use crate::python::sources::client::Client;
    #[pymodule_export]
    use crate::python::sources::market::Market;
    #[pymodule_export]
    use crate::python::sources::order_walk::{History, walk_bounds};
    #[pymodule_export]
    use crate::python::sources::server::{Server, count_alerts, limits, live_module, page_files};

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "the name Python's tools look for")]
    const __version__: &str = env!("CARGO_PKG_VERSION");

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        crate::python::runtime::logs::start();
        crate::python::runtime::defect::declare(module)
    }
}
