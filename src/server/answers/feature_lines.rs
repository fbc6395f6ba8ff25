//! `/api/features`: CSV lines, of which a few are computed at a time while the client reads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderValue, Uri};
use axum::response::{IntoResponse, Response};
use futures_util::stream::unfold;

use crate::contract::{Arguments, BadQuery, EVERYWHERE, Endpoint, Features};
use crate::market::FeaturePlan;
use crate::server::admission::history_limit::Ticket;
use crate::server::answers::query::pairs;
use crate::server::reject::Rejection;
use crate::server::shared::{Lane, PageState};

/// The content type of the lines.
pub(crate) const CSV: HeaderValue = HeaderValue::from_static(Features::CSV);

/// Number of instants of the first part.
const FIRST: usize = 16;
/// Maximum number of rows of a part.
const MOST_ROWS: usize = 4096;
/// A part that takes less is followed by a larger one, so that the walks through the bars are few.
const SHORT: Duration = Duration::from_millis(250);
/// A part that takes more is followed by a smaller one, so that other queries get their turn and the work of a client
/// that has gone ends soon.
const LONG: Duration = Duration::from_secs(1);

/// Handles a request for features.
pub(crate) async fn features(
    State(shared): State<PageState>,
    uri: Uri,
) -> Result<Response, Rejection> {
    let query = pairs(uri.query().unwrap_or_default())?;
    let query = Arguments::from_query(query, Features::PARAMETERS)?;
    if let Some(extra) = EVERYWHERE
        .iter()
        .find(|extra| query.get(extra.name).is_some())
    {
        let allowed = Features::PARAMETERS.join(", ");
        let refusal = BadQuery::new(extra.name, "is not a parameter of this endpoint", allowed);
        return Err(refusal.into());
    }
    let plan = FeaturePlan::of(Features::from_arguments(&query)?, shared.market.now())?;
    shared.past.check("at")?;
    shared.memory.check()?;
    let mut lines = FeatureLines {
        _ticket: shared.past.enter()?,
        shared,
        plan: Arc::new(plan),
        done: 0,
        size: FIRST,
    };
    let first = lines.next().await?;
    let rest = unfold((lines, first), |(mut lines, part)| async move {
        match part {
            Some(part) => Some((Ok::<Bytes, Rejection>(part), (lines, None))),
            None => match lines.next().await {
                Ok(part) => Some((Ok(part?), (lines, None))),
                Err(rejection) => {
                    log::warn!("features ended early: {rejection}");
                    Some((Err(rejection), (lines.ended(), None)))
                }
            },
        }
    });
    let mut response = Body::from_stream(rest).into_response();
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, CSV);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    Ok(response)
}

/// The lines that a client has yet to get. Dropping this ends the work after the part under way.
struct FeatureLines {
    /// All parts together count as one historical query.
    _ticket: Ticket,
    shared: PageState,
    plan: Arc<FeaturePlan>,
    /// Number of finished instants.
    done: usize,
    /// Number of instants of the next part.
    size: usize,
}

impl FeatureLines {
    /// Computes the next lines; `None` after the last ones.
    async fn next(&mut self) -> Result<Option<Bytes>, Rejection> {
        let (coins, instants) = self.plan.size();
        if self.done >= instants {
            return Ok(None);
        }
        let part = self.done..instants.min(self.done + self.size);
        let (plan, memory) = (Arc::clone(&self.plan), self.shared.memory.clone());
        self.done = part.end;
        let work = move |market: &crate::market::Market| {
            let began = Instant::now();
            let is_first = part.start == 0;
            let lines = market.planned_features(&plan, part)?.csv(is_first);
            Ok((memory.count(lines), began.elapsed()))
        };
        let (lines, took) = self.shared.compute(Lane::History, work).await?;
        if took < SHORT {
            self.size = (2 * self.size).min(MOST_ROWS / coins.max(1));
        } else if took > LONG {
            self.size /= 2;
        }
        self.size = self.size.max(1);
        Ok(Some(lines))
    }

    /// The same without further lines.
    fn ended(mut self) -> Self {
        self.done = usize::MAX;
        self
    }
}
