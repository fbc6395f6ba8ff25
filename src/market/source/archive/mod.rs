//! A market in an archive: the orders of the last day in memory, everything else read on demand.
//!
//! Another process may write to the archive. Before each reply, one cheap check of the archive's version detects new
//! rows (`archive_source`). `views`, `live`, `coverage` and `history` implement the traits of a source. New rows are
//! added to the day in memory (`live_day`). `archive_reader` reads all other rows and caches days (`day_cache`), fits
//! (`fit_cache`), positions (`position_days`) and cascades (`cascades`). `bar_series` merges the bars of several exchanges.

mod archive_reader;
pub(in crate::market) mod archive_source;
mod bar_series;
mod cascades;
mod coverage;
mod day_cache;
mod fit_cache;
mod history;
mod ledgers;
mod live;
mod live_day;
mod position_days;
mod views;
