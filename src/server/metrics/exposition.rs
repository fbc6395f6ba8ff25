//! `GET /metrics` in the Prometheus text format.

use std::fmt::Write as _;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use axum::extract::{Extension, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use rust_decimal::Decimal;

use crate::market::{CollectedVenue, CollectorStatus, wall_clock};
use crate::server::answers::query::nothing;
use crate::server::metrics::market_state::MarketState;
use crate::server::metrics::traffic::{BOUNDS, Traffic};
use crate::server::reject::Rejection;
use crate::server::shared::PageState;

/// Content type of version 0.0.4 of the text format.
const KIND: HeaderValue = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");

/// Handles `GET /metrics`. The counters `traffic` are present only for a request over a connection.
pub(crate) async fn metrics(
    State(shared): State<PageState>,
    traffic: Option<Extension<Arc<Traffic>>>,
    uri: Uri,
) -> Result<Response, Rejection> {
    nothing(uri.query().unwrap_or_default())?;
    let state = shared.state.last(&shared.market).await?;
    let mut page = Page::default();
    page.server(&shared);
    if let Some(Extension(traffic)) = traffic {
        page.traffic(&traffic);
    }
    page.market(&state);
    page.record(&state);
    page.collector(state.filling.as_ref());
    page.process();
    Ok(([(CONTENT_TYPE, KIND)], page.0).into_response())
}

/// The text of the page, to which metrics are appended.
#[derive(Default)]
struct Page(String);

impl Page {
    /// Starts a metric: writes its help text and its type.
    fn metric(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl std::fmt::Display) {
        self.0.push_str(name);
        for (index, (label, text)) in labels.iter().enumerate() {
            let before = if index == 0 { '{' } else { ',' };
            let _ = write!(self.0, "{before}{label}=\"{}\"", escaped(text));
        }
        let _ = writeln!(
            self.0,
            "{} {value}",
            if labels.is_empty() { "" } else { "}" }
        );
    }

    /// Writes a metric with a single sample.
    fn one(&mut self, name: &str, kind: &str, help: &str, value: impl std::fmt::Display) {
        self.metric(name, kind, help);
        self.sample(name, &[], value);
    }

    fn server(&mut self, shared: &PageState) {
        let name = "liqdata_build_info";
        self.metric(name, "gauge", "Version of liqdata.");
        self.sample(name, &[("version", env!("CARGO_PKG_VERSION"))], 1);
        self.one(
            "liqdata_answers_made_total",
            "counter",
            "Answers that were computed, not served from a cache.",
            shared.answers_made(),
        );
        self.one(
            "liqdata_answer_memory_bytes",
            "gauge",
            "Memory of cached answers and of answers being read.",
            shared.memory.used(),
        );
        self.one(
            "liqdata_answer_memory_limit_bytes",
            "gauge",
            "Memory limit for answers.",
            shared.memory.most(),
        );
        self.one(
            "liqdata_past_questions",
            "gauge",
            "Historical queries that run or wait.",
            shared.past.under_way(),
        );
        self.one(
            "liqdata_past_questions_limit",
            "gauge",
            "Limit for historical queries that run or wait.",
            shared.past.most(),
        );
        self.one(
            "liqdata_past_questions_refused_total",
            "counter",
            "Historical queries that were refused.",
            shared.past.refused(),
        );
    }

    fn traffic(&mut self, traffic: &Traffic) {
        self.one(
            "liqdata_http_connections",
            "gauge",
            "Open connections.",
            traffic.connections(),
        );
        self.one(
            "liqdata_http_connections_turned_away_total",
            "counter",
            "Connections that were refused.",
            traffic.turned_away.load(Relaxed),
        );
        self.one(
            "liqdata_streams",
            "gauge",
            "Open event streams.",
            traffic.followed(),
        );
        self.one(
            "liqdata_streams_limit",
            "gauge",
            "Limit for event streams.",
            traffic.streams,
        );
        let (answers, latencies) = {
            let asked = traffic.asked();
            (asked.answers.clone(), asked.latencies.clone())
        };
        let name = "liqdata_http_requests_total";
        self.metric(name, "counter", "Requests by endpoint and status.");
        for ((endpoint, status), count) in answers {
            let status = status.to_string();
            self.sample(name, &[("endpoint", endpoint), ("status", &status)], count);
        }
        let name = "liqdata_http_request_duration_seconds";
        self.metric(
            name,
            "histogram",
            "Time from a complete request head to the first byte of its answer.",
        );
        for (endpoint, latencies) in latencies {
            let mut sum = 0;
            let bounds = BOUNDS.iter().map(ToString::to_string);
            let bounds = bounds.chain(["+Inf".to_owned()]);
            for (bound, count) in bounds.zip(latencies.classes) {
                sum += count;
                let labels = [("endpoint", endpoint), ("le", bound.as_str())];
                self.sample(&format!("{name}_bucket"), &labels, sum);
            }
            let labels = [("endpoint", endpoint)];
            let seconds = latencies.sum.as_secs_f64();
            self.sample(&format!("{name}_sum"), &labels, seconds);
            self.sample(&format!("{name}_count"), &labels, sum);
        }
    }

    fn market(&mut self, state: &MarketState) {
        self.one(
            "liqdata_market_readable",
            "gauge",
            "Whether the market can be read: 1 or 0.",
            u8::from(state.readable),
        );
        // Without observations there is no age, so the metrics below have no sample.
        let newest = [
            (
                "liqdata_market_newest_timestamp_seconds",
                "Time of the newest observation; absent while there is none.",
                state.now.map(|now| now.0),
            ),
            (
                "liqdata_market_age_seconds",
                "Age of the newest observation; absent while there is none.",
                state.now.map(|now| (wall_clock().0 - now.0).max(0)),
            ),
        ];
        for (name, help, value) in newest {
            self.metric(name, "gauge", help);
            if let Some(value) = value {
                self.sample(name, &[], seconds(value));
            }
        }
        self.one(
            "liqdata_damaged_files",
            "gauge",
            "Damaged archive files; their rows are missing from answers.",
            state.damaged,
        );
        let of_day = [
            (
                "liqdata_exchange_covered_ratio",
                "Covered share of the last 24 hours, for exchanges with a coverage record.",
            ),
            (
                "liqdata_exchange_gaps",
                "Known gaps within the last 24 hours.",
            ),
            ("liqdata_exchange_orders", "Orders of the last 24 hours."),
            (
                "liqdata_exchange_last_order_timestamp_seconds",
                "Exchange time of the last order.",
            ),
        ];
        for (index, (name, help)) in of_day.into_iter().enumerate() {
            self.metric(name, "gauge", help);
            for venue in &state.venues {
                let labels = [("exchange", venue.exchange.as_str())];
                match index {
                    0 => venue
                        .connected_share
                        .into_iter()
                        .for_each(|share| self.sample(name, &labels, share)),
                    1 => self.sample(name, &labels, venue.gaps),
                    2 => self.sample(name, &labels, venue.cnt),
                    _ => venue
                        .last_event
                        .into_iter()
                        .for_each(|at| self.sample(name, &labels, seconds(at.0))),
                }
            }
        }
    }

    /// Writes the metrics of the archive and its writer.
    fn record(&mut self, state: &MarketState) {
        let name = "liqdata_archive_written";
        self.metric(
            name,
            "gauge",
            "Whether a collector has the archive open for writing: 1 or 0; absent without an archive.",
        );
        if let Some(written) = state.written {
            self.sample(name, &[], u8::from(written));
        }
        let name = "liqdata_archive_log_bytes";
        self.metric(
            name,
            "gauge",
            "Write-ahead log of the archive; more than 64 MiB while a stopped reader keeps it from being emptied.",
        );
        if let Some(bytes) = state.log_bytes {
            self.sample(name, &[], bytes);
        }
        let name = "liqdata_archive_bytes";
        self.metric(
            name,
            "gauge",
            "Size of the archive by part: files of a table, superseded files, journal, raw frames, other folders.",
        );
        for (part, bytes) in &state.bytes {
            self.sample(name, &[("part", part)], bytes);
        }
        let of_disk = [
            (
                "liqdata_disk_free_bytes",
                "Free space of the archive's disk; absent without an archive.",
                state.disk.map(|(free, ..)| free),
            ),
            (
                "liqdata_disk_size_bytes",
                "Size of the archive's disk; absent without an archive.",
                state.disk.map(|(_, size, _)| size),
            ),
            (
                "liqdata_disk_low",
                "Whether less than 10 GiB and less than a tenth of the archive's disk are free: 1 or 0.",
                state.disk.map(|(.., is_low)| u64::from(is_low)),
            ),
        ];
        for (name, help, value) in of_disk {
            self.metric(name, "gauge", help);
            if let Some(value) = value {
                self.sample(name, &[], value);
            }
        }
        let name = "liqdata_exchange_listened_until_timestamp_seconds";
        self.metric(
            name,
            "gauge",
            "Time until which a session of the exchange is recorded.",
        );
        for (exchange, until) in &state.listened_until {
            self.sample(name, &[("exchange", exchange)], seconds(until.0));
        }
        let name = "liqdata_exchange_quarantine";
        self.metric(
            name,
            "gauge",
            "Rows quarantined as unreadable, unpriced or of a doubtful unit, on the UTC days of the last 24 hours.",
        );
        for venue in &state.venues {
            let counts = [
                ("rejected", venue.rejected),
                ("unpriced", venue.unpriced),
                ("quarantined", venue.quarantined),
            ];
            for (reason, count) in counts {
                if let Some(count) = count {
                    let labels = [("exchange", venue.exchange.as_str()), ("reason", reason)];
                    self.sample(name, &labels, count);
                }
            }
        }
    }

    /// Writes the metrics of a collector in this process. Without a collector they have no samples.
    fn collector(&mut self, filling: Option<&CollectorStatus>) {
        let of_all = [
            (
                "liqdata_collector_waiting_rows",
                "Received rows that are not durable yet.",
                filling.map(|one| one.waiting),
            ),
            (
                "liqdata_collector_stalled",
                "Whether writing to the archive fails: 1 or 0.",
                filling.map(|one| u64::from(one.is_stalled)),
            ),
        ];
        for (name, help, value) in of_all {
            self.metric(name, "gauge", help);
            if let Some(value) = value {
                self.sample(name, &[], value);
            }
        }
        let venues = filling.map_or(&[][..], |one| &one.venues);
        self.of_venues(
            venues,
            "liqdata_collector_live",
            "gauge",
            "Whether all feeds of the exchange are connected: 1 or 0.",
            |venue| Some(u8::from(venue.is_live).into()),
        );
        self.of_venues(
            venues,
            "liqdata_collector_connections_total",
            "counter",
            "Connections opened to the exchange, reconnects included.",
            |venue| Some(venue.connections.into()),
        );
        self.of_venues(
            venues,
            "liqdata_collector_events_total",
            "counter",
            "New liquidations of the exchange.",
            |venue| Some(venue.events.into()),
        );
        self.of_venues(
            venues,
            "liqdata_collector_gaps_total",
            "counter",
            "Recorded gaps of the exchange.",
            |venue| Some(venue.gaps.into()),
        );
        self.of_venues(
            venues,
            "liqdata_collector_last_received_timestamp_seconds",
            "gauge",
            "Time of the last message from the exchange.",
            |venue| venue.last_received.map(|at| seconds(at.0)),
        );
        self.of_venues(
            venues,
            "liqdata_collector_last_event_timestamp_seconds",
            "gauge",
            "Exchange time of the latest event.",
            |venue| venue.last_event.map(|at| seconds(at.0)),
        );
        let name = "liqdata_collector_quarantine_total";
        self.metric(
            name,
            "counter",
            "Messages not stored: unreadable, unpriced, of a doubtful unit, or refused by the archive.",
        );
        for venue in venues {
            for (reason, count) in [
                ("rejected", venue.rejected),
                ("unpriced", venue.unpriced),
                ("quarantined", venue.quarantined),
                ("lost", venue.lost),
            ] {
                let labels = [("exchange", venue.exchange), ("reason", reason)];
                self.sample(name, &labels, count);
            }
        }
    }

    /// Writes a metric with one sample for each exchange that has a value.
    fn of_venues(
        &mut self,
        venues: &[CollectedVenue],
        name: &str,
        kind: &str,
        help: &str,
        value: impl Fn(&CollectedVenue) -> Option<Decimal>,
    ) {
        self.metric(name, kind, help);
        for venue in venues {
            if let Some(value) = value(venue) {
                self.sample(name, &[("exchange", venue.exchange)], value);
            }
        }
    }

    /// Writes metrics of this process from `/proc`. Writes none on systems other than Linux.
    fn process(&mut self) {
        if let Some(bytes) = resident() {
            self.one(
                "process_resident_memory_bytes",
                "gauge",
                "Resident memory size in bytes.",
                bytes,
            );
        }
        if let Ok(files) = fs::read_dir("/proc/self/fd") {
            self.one(
                "process_open_fds",
                "gauge",
                "Number of open file descriptors.",
                files.count(),
            );
        }
    }
}

fn resident() -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Escapes a label value.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\")
        .replace('"', "\\\"")
        .replace('\n', "\\n")
}

/// Milliseconds as an exact decimal number of seconds.
fn seconds(millis: i64) -> Decimal {
    Decimal::new(millis, 3)
}
