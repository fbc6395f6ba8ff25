//! One pass over a time range: requests its orders from an exchange, page by page.

use std::collections::{BTreeMap, VecDeque};

use crate::archive::CommitHandle;
use crate::collect::rest_client::RestError;
use crate::collect::venue_tasks::{RequestFailure, VenueTasks};
use crate::feeds::RestRequest;
use crate::model::Millis;

/// Result of one pass.
#[derive(Debug)]
pub(crate) struct Pass {
    /// Number of new orders.
    pub(crate) rows: u64,
    /// Number of requests sent.
    pub(crate) requests: u32,
    /// Number of requests planned at the start.
    pub(crate) planned: usize,
    /// Number of requests that were not sent because the pass was given up.
    pub(crate) left: usize,
    pub(crate) outcome: PassOutcome,
}

/// How complete a pass is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PassOutcome {
    /// All requests were answered, and all rows are durable.
    Whole,
    /// Some requests failed.
    Partial,
    /// The exchange no longer offers these requests.
    Gone,
    /// There are more requests than the settings allow.
    TooMany,
}

impl Pass {
    /// Describes a pass with too many requests.
    pub(crate) fn given_up(&self) -> String {
        let (requests, left) = (self.requests, self.left);
        format!(
            "backfill stopped after {requests} requests (backfill_requests); {left} requests are left"
        )
    }
}

/// Requests the orders of a time range. No orders before `watermark` are missing.
pub(crate) async fn request_range(
    tasks: &VenueTasks,
    from: Millis,
    until: Millis,
    watermark: Option<Millis>,
) -> Pass {
    let context = &tasks.context;
    let venue = context.venue;
    let mut pass = Pass {
        rows: 0,
        requests: 0,
        planned: 0,
        left: 0,
        outcome: PassOutcome::Whole,
    };
    if venue.look_back() == 0 || from >= until {
        return pass;
    }
    // Only markets that were already read are requested.
    let knows_all = context.knows_all_markets();
    let mut requests: VecDeque<RestRequest> = venue
        .missed(&context.traded_since(from), from, until)
        .into();
    pass.planned = requests.len();
    let board = &context.board;
    board.plan_requests(requests.len());
    let mut receipts = Vec::new();
    while let Some(request) = requests.pop_front() {
        if pass.requests >= context.settings.backfill_requests {
            pass.left = requests.len() + 1;
            board.cancel_requests(pass.left);
            pass.outcome = PassOutcome::TooMany;
            break;
        }
        match send(tasks, &request, &mut receipts).await {
            Ok(rest) => {
                board.plan_requests(rest.len());
                requests.extend(rest);
            }
            // An exchange may refuse requests about a closed market. The pass records a gap of that market and
            // continues with the other markets.
            Err(
                fault @ (RequestFailure::Rest(RestError::Status { .. }) | RequestFailure::Reply(_)),
            ) if note_closed_market(tasks, &request, watermark, &fault) => {}
            // The exchange no longer has this endpoint, so the pass ends. Live collection continues.
            Err(RequestFailure::Rest(fault)) if fault.is_absent() => {
                context.trouble(format!("no backfill: {fault}"));
                pass.outcome = PassOutcome::Gone;
                board.cancel_requests(requests.len());
                requests.clear();
            }
            Err(fault) => {
                context.trouble(format!("backfill: {fault}"));
                pass.outcome = PassOutcome::Partial;
            }
        }
        pass.requests += 1;
        board.notes().status.requests_done += 1;
    }
    for receipt in receipts {
        match context.delivery.stored(receipt).await {
            Some(rows) => pass.rows += rows,
            None => pass.outcome = PassOutcome::Partial,
        }
    }
    if pass.outcome == PassOutcome::Whole && !knows_all {
        context.trouble("backfill: not all markets are known yet".to_owned());
        pass.outcome = PassOutcome::Partial;
    }
    pass
}

async fn send(
    tasks: &VenueTasks,
    request: &RestRequest,
    receipts: &mut Vec<CommitHandle>,
) -> Result<Vec<RestRequest>, RequestFailure> {
    let body = tasks.rest.get(request).await?;
    let report = match tasks.intake.receive_body(request, &body).await {
        Ok(report) => {
            receipts.extend(report.receipt);
            if !report.all {
                return Err(RequestFailure::NotTaken);
            }
            report.rest
        }
        Err(fault) => Err(fault),
    };
    report.map_err(|fault| {
        let faults = std::slice::from_ref(&fault);
        let now = tasks.context.clock.now();
        tasks.intake.reject(&body, faults, now);
        fault.into()
    })
}

/// Records the gap of a closed market after its request was refused. Returns false if the request is not about a
/// closed market.
fn note_closed_market(
    tasks: &VenueTasks,
    request: &RestRequest,
    watermark: Option<Millis>,
    fault: &RequestFailure,
) -> bool {
    let markets = tasks.context.markets.load();
    let mut closed = markets.closed_since(request.from);
    let Some(closed) = closed.find(|listing| request.names(&listing.native_id)) else {
        return false;
    };
    let reason = format!("the market closed, and the exchange refuses requests about it: {fault}");
    tasks
        .context
        .trouble(format!("{}: {reason}", closed.native_id));
    let since = watermark.map_or(request.from, |watermark| watermark.max(request.from));
    if since < request.until {
        let topics = BTreeMap::from([(closed.native_id.clone(), (since, reason))]);
        tasks.intake.coverage.topic_gaps(&topics, request.until);
    }
    true
}
