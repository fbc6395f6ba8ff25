//! The pages of the endpoints: parse the query, compute the answer or read it from the cache, and set validators.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use axum::body::Bytes;
use axum::extract::Request;
use axum::handler::Handler;
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::contract::{
    self, BadQuery, CARRIED, Endpoint, GRID_TYPE, GridHashes, GridValues, Heatmap, RELATIVE,
    ReplyEnvelope, cut_grid, encode_grid, explain_grid,
};
use crate::market::{
    Dependency, EstimateBasis, Market, MarketQuery, QueryInputs, RequiredHistory, Revision,
    ServedMap, VenueCoverage, wall_clock,
};
use crate::model::{
    EarlierBar, FineCells, HeatmapGrid, Millis, PeriodCoverage, ServedBy, Sides, Window,
};
use crate::server::answers::answer_cache::{CacheKey, Estimated, Realised};
use crate::server::answers::query::{ParsedQuery, SINCE, VALUES, accepts_grid, prefers_explained};
use crate::server::answers::response::{encoded, encoded_within, json};
use crate::server::answers::response_cache::Lasting;
use crate::server::answers::validator::{Lifetime, Validator, numbers};
use crate::server::reject::Rejection;
use crate::server::shared::{Lane, PageState};

const OPEN_INTEREST: HeaderName = HeaderName::from_static(contract::OPEN_INTEREST);
const OPEN_INTEREST_AGE: HeaderName = HeaderName::from_static(contract::OPEN_INTEREST_AGE);
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static(contract::PREFERENCE_APPLIED);

/// Maximum attempts to compute an answer without a change of the market meanwhile. After the last attempt, the answer
/// gets a validator that matches no later answer.
const TRIES: usize = 8;

/// A time range is recent if it begins less than this many milliseconds before the newest observation. Queries about
/// recent time ranges are answered like queries about the present.
const RECENT: i64 = 48 * Millis::HOUR;

/// Response extension: the lane of an answer for the compression layer, and the answer's number if the body is cached.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) lane: Lane,
    pub(crate) number: Option<u64>,
}

/// The parsed query of any endpoint.
#[derive(Debug)]
struct ParsedRequest {
    name: &'static str,
    /// Query parameters with defaults filled in, without `as_of` and `explain`.
    query: Vec<(&'static str, String)>,
    as_of: Option<Millis>,
    explain: bool,
    /// The form of a heatmap in bytes. `None` means JSON.
    form: Option<GridValues>,
    /// The end of the last column of a heatmap that the client has.
    since: Option<Millis>,
    /// Whether the answer includes the coverage of the data: the times at which each exchange was collected.
    of_record: bool,
    /// The age of the time range that the query asks for, if any.
    of_range: Option<RangeAge>,
    /// The recorded source that the query asks for.
    recording: Option<String>,
}

/// How far a time range reaches back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RangeAge {
    /// It begins less than [`RECENT`] ago.
    Recent,
    /// It may span years.
    Past,
}

impl ParsedRequest {
    /// The lane of the answer: [`Lane::History`] for a historical query, else `usual`.
    fn lane(&self, usual: Lane) -> Lane {
        match self.of_range {
            _ if self.as_of.is_some() => Lane::History,
            Some(RangeAge::Past) => Lane::History,
            Some(RangeAge::Recent) => Lane::Slow,
            None if self.recording.is_some() => Lane::Slow,
            None => usual,
        }
    }

    fn spelled(&self) -> String {
        let as_of = self.as_of.map(|as_of| as_of.0);
        format!("{} {:?} {as_of:?} {:?}", self.name, self.query, self.form)
    }
}

/// Computes the body of an answer and its explanation. The endpoint's type is erased, so that the page code is compiled
/// only once.
type Make = Box<dyn Fn(&Market) -> Result<Made, Rejection> + Send>;

/// The body of an answer, and its explanation.
struct Made {
    body: Vec<u8>,
    /// The body in JSON, of a heatmap in bytes that is to be recorded.
    json: Option<Vec<u8>>,
    /// The hashes of a heatmap in bytes.
    hashes: Option<GridHashes>,
    explain: Option<EstimateBasis>,
    /// The coverage of the time that the answer is about, if it is explained and no estimate.
    coverage: Option<Vec<VenueCoverage>>,
    earlier: Option<EarlierBar>,
    period: Option<PeriodCoverage>,
    more: Option<bool>,
    served_by: Option<ServedBy>,
}

/// A parsed query, the data that it needs, and the function that computes its answer.
struct Plan {
    request: ParsedRequest,
    material: QueryInputs,
    make: Make,
}

/// The request handler of an endpoint. All endpoints share this type, so that the page code is compiled only once.
#[derive(Clone, Copy)]
pub(crate) struct EndpointPage(fn(&PageState, &str, Wishes) -> Result<Plan, Rejection>);

/// What the headers of a request ask for.
#[derive(Clone, Copy)]
struct Wishes {
    /// An explanation.
    explained: bool,
    /// A heatmap in bytes.
    grid: bool,
}

impl EndpointPage {
    pub(crate) fn of<E: MarketQuery>() -> Self {
        Self(plan::<E>)
    }
}

impl Handler<(), PageState> for EndpointPage {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, shared: PageState) -> Self::Future {
        let (parts, _) = request.into_parts();
        Box::pin(async move {
            let query = parts.uri.query().unwrap_or_default();
            let preferred = prefers_explained(&parts.headers);
            let wishes = Wishes {
                explained: preferred,
                grid: accepts_grid(&parts.headers),
            };
            let answered = match self.0(&shared, query, wishes) {
                Ok(plan) => respond(shared, &parts.headers, plan).await,
                Err(rejection) => Err(rejection),
            };
            let followed = answered.map(|mut response| {
                if preferred {
                    let explained = HeaderValue::from_static(contract::EXPLAINED);
                    response.headers_mut().insert(PREFERENCE_APPLIED, explained);
                }
                response
            });
            followed.into_response()
        })
    }
}

/// Parses the query string for an endpoint.
fn plan<E: MarketQuery>(
    shared: &PageState,
    query: &str,
    wishes: Wishes,
) -> Result<Plan, Rejection> {
    let ParsedQuery {
        endpoint,
        explain,
        as_of,
        values,
        since,
    } = ParsedQuery::<E>::read(query)?;
    let explain = explain || wishes.explained;
    let grid = wishes.grid && E::PATH == <Heatmap as Endpoint>::PATH;
    // Generated clients send every default.
    let has_values = values.is_some_and(|form| form != GridValues::default());
    for (name, is_given) in [(VALUES, has_values), (SINCE, since.is_some())] {
        if is_given && !grid {
            let allowed = format!("with the header Accept: {GRID_TYPE}");
            return Err(BadQuery::new(name, "has no effect on JSON", allowed).into());
        }
    }
    let form = grid.then(|| values.unwrap_or_default());
    let material = endpoint.material();
    let of_range = (material == QueryInputs::TimeRange).then(|| {
        let now = shared.market.now();
        match endpoint.begins(now) {
            Some(begins) if begins > now.back(RECENT) => RangeAge::Recent,
            _ => RangeAge::Past,
        }
    });
    if as_of.is_some() {
        shared.past.check("as_of")?;
    } else if of_range == Some(RangeAge::Past) {
        let is_named = endpoint.to_query().iter().any(|(name, _)| *name == "range");
        let is_range = E::PARAMETERS.contains(&"start");
        shared.past.check(match (is_range, is_named) {
            (true, true) => "range",
            (true, false) => "start",
            (false, _) => "as_of",
        })?;
    }
    let request = ParsedRequest {
        name: E::NAME,
        query: endpoint.to_query(),
        as_of,
        explain,
        form,
        since,
        of_record: matches!(material, QueryInputs::Recorded(_) | QueryInputs::TimeRange),
        of_range,
        recording: match &material {
            QueryInputs::Served(source) => Some(source.clone()),
            _ => None,
        },
    };
    let most = if request.of_range.is_some() || request.recording.is_some() {
        shared.longest
    } else {
        usize::MAX
    };
    let make: Make = Box::new(move |market| {
        let answered = market.answer_within(&endpoint, as_of, most)?;
        let (earlier, period, more) = if explain {
            let earlier = endpoint.earlier(market, as_of, &answered.reply)?;
            let more = endpoint.more(market, as_of, &answered.reply)?;
            (earlier, market.covered(&endpoint, as_of)?, more)
        } else {
            (None, None, None)
        };
        let coverage = if explain {
            coverage(market, &endpoint, as_of)?
        } else {
            None
        };
        let served_by = E::labels(&answered.reply).and_then(|labels| labels.served_by.clone());
        let grid = form.zip(E::grid(&answered.reply));
        let hashes = grid.map(|(_, grid)| GridHashes::of(grid));
        let bytes = grid.map(|(values, grid)| in_bytes(grid, values));
        // Served maps are recorded in JSON.
        let recorder = market.map_recorder().filter(|_| as_of.is_none());
        let is_recorded = recorder.is_some_and(|maps| maps.wants(E::NAME));
        let json = (bytes.is_none() || is_recorded)
            .then(|| enveloped::<E, _>(answered.reply, most))
            .transpose()?;
        let (body, json) = match (bytes, json) {
            (Some(bytes), json) => (bytes?, json),
            (None, json) => (json.unwrap_or_default(), None),
        };
        Ok(Made {
            body,
            json,
            hashes,
            explain: answered.explain,
            coverage,
            earlier,
            period,
            more,
            served_by,
        })
    });
    Ok(Plan {
        request,
        material,
        make,
    })
}

/// The coverage of the time that an answer is about; `None` for estimates and recorded maps.
fn coverage<E: MarketQuery>(
    market: &Market,
    endpoint: &E,
    as_of: Option<Millis>,
) -> Result<Option<Vec<VenueCoverage>>, Rejection> {
    Ok(match endpoint.material() {
        QueryInputs::Realised(window) | QueryInputs::Recorded(window) => {
            Some(market.coverage(as_of, window)?)
        }
        QueryInputs::TimeRange => match market.coverage_of(endpoint, as_of)? {
            None => Some(market.coverage(as_of, Window::H24)?),
            coverage => coverage,
        },
        QueryInputs::Served(_) | QueryInputs::Estimated(_) => None,
    })
}

async fn respond(
    shared: PageState,
    headers: &HeaderMap,
    plan: Plan,
) -> Result<Response, Rejection> {
    let Plan {
        request,
        material,
        make,
    } = plan;
    match material {
        QueryInputs::Estimated(needed) => estimated(shared, headers, request, needed, make).await,
        QueryInputs::Realised(_)
        | QueryInputs::Recorded(_)
        | QueryInputs::TimeRange
        | QueryInputs::Served(_) => realised(shared, headers, request, make).await,
    }
}

/// Answers a query about observed data, such as totals and rankings. Validator and cache entry are valid until the data
/// that the answer depends on change.
async fn realised(
    shared: PageState,
    headers: &HeaderMap,
    request: ParsedRequest,
    make: Make,
) -> Result<Response, Rejection> {
    let question = format!("{} {}", request.spelled(), request.explain);
    let key = CacheKey::Realised { question };
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let (nonce, hash) = (shared.nonce, hasher.finish());
    let lifetime = Lifetime::of(&shared.market, request.as_of);
    let name = move |revision: Revision| Validator {
        tag: format!("{nonce:x}-{:x}-{hash:x}", revision.number),
        changed_at: revision.changed_at,
        lifetime,
    };
    // An explanation includes collection sessions and gaps, which can change without a new order.
    let basis = if let Some(source) = &request.recording {
        Dependency::Recording(source.clone())
    } else if request.explain || request.of_record {
        Dependency::Record
    } else {
        Dependency::Observations
    };
    let current = shared.market.look_at(&basis).await?.revision;
    let named = name(current);
    if named.is_current(headers) {
        return Ok(named.not_modified());
    }
    let (theirs, of) = (shared.clone(), basis.clone());
    let (lane, form) = (request.lane(Lane::Quick), request.form);
    // A slow answer is computed only once, even if the market changes during the computation.
    let tries =
        if request.of_range.is_some() || request.recording.is_some() || request.as_of.is_some() {
            1
        } else {
            TRIES
        };
    let make = async move {
        let number = theirs.encoded(lane).number();
        let memory = theirs.memory.clone();
        let work = move |market: &Market| {
            let encode = || encode(&request, market, &make);
            let (revision, body) = at_one_revision(market, &of, tries, encode)?;
            Ok(Realised {
                number,
                body: memory.count(body),
                revision,
            })
        };
        theirs.make(lane, work).await
    };
    let cached = shared.encoded(lane).realised(&key, current, make).await?;
    let validator = shared.named(cached.revision.map(name));
    let mut response = validator.on(of_form(form, cached.body));
    let extensions = response.extensions_mut();
    extensions.insert(Origin {
        lane,
        number: Some(cached.number),
    });
    if let Some(revision) = cached.revision.filter(|_| lane != Lane::History) {
        extensions.insert(Lasting {
            basis,
            revision: revision.number,
            until: None,
            validator,
        });
    }
    Ok(response)
}

/// Answers a query for an estimate. Each estimate is computed once per revision of its data.
async fn estimated(
    shared: PageState,
    headers: &HeaderMap,
    request: ParsedRequest,
    needed: RequiredHistory,
    make: Make,
) -> Result<Response, Rejection> {
    let basis = dependency(&needed);
    let standing = shared.market.look_at(&basis).await?;
    let revision = standing.revision.number;
    let key = CacheKey::Estimate {
        question: request.spelled(),
        revision,
    };
    let lane = request.lane(Lane::Slow);
    let ParsedRequest {
        explain,
        as_of,
        form,
        since,
        ..
    } = request;
    let make = estimate(shared.clone(), request, needed, make);
    let cached = shared
        .encoded(lane)
        .estimate(&key, standing.now, make)
        .await?;
    let prefix = format!("{:x}-e", shared.nonce);
    let encoded = shared.encoded(lane);
    let had = since.and_then(|since| {
        let now = encoded.hashes(cached.number)?;
        let (number, earlier) = numbers(headers, &prefix)
            .into_iter()
            .find_map(|number| Some((number, encoded.hashes(number)?)))?;
        // A client that has the same map of another answer needs nothing.
        let number = if *now == *earlier {
            number
        } else {
            cached.number
        };
        Some((number, now.unchanged(&earlier, since)))
    });
    let (number, left_out) = had.unwrap_or((cached.number, None));
    let plain = Validator {
        tag: format!("{prefix}{number:x}"),
        changed_at: cached.changed_at,
        lifetime: Lifetime::of(&shared.market, as_of),
    };
    let cut = left_out.and_then(|left_out| cut_grid(&cached.body, left_out));
    let is_cut = cut.is_some();
    let body_sent = cut.map_or_else(|| cached.body.clone(), |cut| shared.memory.count(cut));
    if !explain {
        if plain.is_current(headers) {
            return Ok(plain.not_modified());
        }
        let mut response = plain.on(of_form(form, body_sent));
        warn_of_units(&mut response, cached.explain.as_ref());
        if is_cut {
            return Ok(unstored(response, lane));
        }
        let extensions = response.extensions_mut();
        extensions.insert(Origin {
            lane,
            number: Some(cached.number),
        });
        if lane != Lane::History {
            extensions.insert(Lasting {
                basis,
                revision,
                until: cached.until,
                validator: plain,
            });
        }
        return Ok(response);
    }
    // The explanation includes the market's current instant, so this validator also depends on the market revision.
    let name = move |revision: Revision| Validator {
        tag: format!("{}-{:x}", plain.tag, revision.number),
        changed_at: plain.changed_at.max(revision.changed_at),
        lifetime: plain.lifetime,
    };
    let observed = shared.market.look_at(&Dependency::Observations).await?;
    let current = name(observed.revision);
    if current.is_current(headers) {
        return Ok(current.not_modified());
    }
    let scale = cached.explain.clone();
    let work = move |market: &Market| {
        at_one_revision(market, &Dependency::Observations, TRIES, || {
            let estimate = cached.explain.as_ref();
            explained(&body_sent, market, as_of, AnswerRecord::default(), estimate)
        })
    };
    // The estimate is already computed within the limit of its lane. Adding the explanation is quick.
    let (revision, body) = shared.make(Lane::Quick, work).await?;
    let body = shared.memory.count(body);
    let mut response = shared.named(revision.map(name)).on(of_form(form, body));
    warn_of_units(&mut response, scale.as_ref());
    response
        .extensions_mut()
        .insert(Origin { lane, number: None });
    if is_cut {
        return Ok(unstored(response, lane));
    }
    Ok(response)
}

/// The data that an estimate depends on.
fn dependency(needed: &RequiredHistory) -> Dependency {
    if needed.positions {
        Dependency::Record
    } else {
        Dependency::Coin(needed.coin.clone())
    }
}

/// Marks an answer that is valid only together with what the client has.
fn unstored(mut response: Response, lane: Lane) -> Response {
    let unstored = HeaderValue::from_static("no-store");
    response.headers_mut().insert(CACHE_CONTROL, unstored);
    response
        .extensions_mut()
        .insert(Origin { lane, number: None });
    response
}

/// Adds headers that report relative units and the age of the open interest.
fn warn_of_units(response: &mut Response, explain: Option<&EstimateBasis>) {
    let Some(explain) = explain else { return };
    let headers = response.headers_mut();
    if explain.is_relative() {
        headers.insert(OPEN_INTEREST, HeaderValue::from_static(RELATIVE));
    } else if let Some(age) = explain.open_interest_age_ms.filter(|age| *age > CARRIED) {
        headers.insert(OPEN_INTEREST_AGE, HeaderValue::from(age));
    }
}

/// Computes an estimate for the cache.
async fn estimate(
    shared: PageState,
    request: ParsedRequest,
    needed: RequiredHistory,
    make: Make,
) -> Result<Estimated, Rejection> {
    let lane = request.lane(Lane::Slow);
    let encoded = shared.encoded(lane).clone();
    let number = encoded.number();
    let memory = shared.memory.clone();
    let work = move |market: &Market| {
        let Made {
            body,
            json,
            hashes,
            explain,
            ..
        } = make(market)?;
        if let Some(hashes) = hashes {
            encoded.keep_hashes(number, Arc::new(hashes));
        }
        let closed = explain.as_ref().map(|explain| explain.closed);
        let estimated = Estimated {
            number,
            // A historical estimate does not change while time passes.
            until: closed
                .filter(|_| request.as_of.is_none())
                .map(|closed| closed.on(needed.lasts)),
            body: memory.count(body),
            explain,
            changed_at: wall_clock(),
        };
        // Only estimates about the present are recorded as served maps.
        if request.as_of.is_none()
            && let (Some(maps), Some(closed)) = (market.map_recorder(), closed)
        {
            let body = json.map_or_else(|| estimated.body.clone(), |json| memory.count(json));
            let map = served(&request, &needed.coin, closed, &estimated, body);
            maps.record(map, &request.query);
        }
        Ok(estimated)
    };
    shared.make(lane, work).await
}

/// The archive record of a served estimate.
fn served(
    request: &ParsedRequest,
    coin: &str,
    closed: Millis,
    estimated: &Estimated,
    body: Bytes,
) -> ServedMap {
    let params: Vec<String> = request
        .query
        .iter()
        .filter(|(name, _)| *name != "symbol")
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    ServedMap {
        kind: request.name,
        symbol: coin.to_owned(),
        params: params.join("&"),
        closed,
        computed_at: estimated.changed_at,
        body,
        explain: estimated.explain.clone(),
    }
}

/// Runs `work` until the market has the same revision before and after it, at most `tries` times. Returns `None` as the
/// revision if no attempt succeeds.
fn at_one_revision<T>(
    market: &Market,
    basis: &Dependency,
    tries: usize,
    work: impl Fn() -> Result<T, Rejection>,
) -> Result<(Option<Revision>, T), Rejection> {
    let mut left = tries;
    loop {
        let before = market.state(basis)?.revision;
        let made = work()?;
        left = left.saturating_sub(1);
        if market.state(basis)?.revision == before {
            return Ok((Some(before), made));
        }
        if left == 0 {
            return Ok((None, made));
        }
    }
}

impl PageState {
    /// Returns the given validator, or a unique one that matches no later answer.
    fn named(&self, validator: Option<Validator>) -> Validator {
        validator.unwrap_or_else(|| Validator {
            tag: format!(
                "{:x}-once-{:x}",
                self.nonce,
                self.encoded(Lane::Quick).number()
            ),
            changed_at: wall_clock(),
            lifetime: Lifetime::UntilCommit,
        })
    }
}

/// Computes an answer with `make` and encodes it as JSON.
fn encode(request: &ParsedRequest, market: &Market, make: &Make) -> Result<Vec<u8>, Rejection> {
    let plain = make(market)?;
    if !request.explain {
        return Ok(plain.body);
    }
    if let Some(served_by) = plain.served_by {
        let explanation = encoded(&RecordedExplanation {
            as_served: served_by.to_string(),
            as_of: served_by.recorded_at,
            served_by,
        })?;
        return with_explanation(&plain.body, &explanation);
    }
    let record = AnswerRecord {
        coverage: plain.coverage,
        earlier: plain.earlier,
        period: plain.period,
        more: plain.more,
    };
    explained(&plain.body, market, request.as_of, record, None)
}

/// Encodes a heatmap in bytes.
fn in_bytes(grid: &HeatmapGrid, values: GridValues) -> Result<Vec<u8>, Rejection> {
    encode_grid(grid, values).map_err(|failure| {
        log::error!("a heatmap could not be encoded: {failure}");
        Rejection::Defect
    })
}

/// A response with a body in JSON, or with a heatmap in bytes.
fn of_form(form: Option<GridValues>, body: Bytes) -> Response {
    let mut response = json(body);
    if form.is_some() {
        let kind = HeaderValue::from_static(GRID_TYPE);
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    response
}

fn enveloped<E: MarketQuery, T: Serialize>(reply: T, most: usize) -> Result<Vec<u8>, Rejection> {
    if E::ENVELOPED {
        encoded_within(&ReplyEnvelope::around(reply), most)
    } else {
        encoded_within(&reply, most)
    }
}

/// How the rows of an answer were observed.
#[derive(Default, Serialize)]
struct AnswerRecord {
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<Vec<VenueCoverage>>,
    /// The first bar before the answer's bars that cannot be converted to their interval.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<EarlierBar>,
    /// How much of the period of the answer is covered.
    #[serde(flatten)]
    period: Option<PeriodCoverage>,
    /// Whether more orders match than the page has.
    #[serde(skip_serializing_if = "Option::is_none")]
    more: Option<bool>,
}

/// The explanation of an answer: the data and parameters that it is based on.
#[derive(Serialize)]
struct Explanation<'a> {
    source: &'a str,
    simulated: bool,
    as_of: Option<Millis>,
    #[serde(flatten)]
    record: AnswerRecord,
    #[serde(flatten)]
    estimate: Option<&'a EstimateBasis>,
    /// Split of the heatmap's columns into long and short cells.
    #[serde(skip_serializing_if = "Option::is_none")]
    sides: Option<Sides>,
    /// The liquidation map on the fine price grid of the engine's ledger, which stores estimated positions.
    #[serde(skip_serializing_if = "Option::is_none")]
    fine: Option<FineCells>,
}

/// The explanation of a recorded map: the service that served it, and when.
#[derive(Serialize)]
struct RecordedExplanation {
    #[serde(flatten)]
    served_by: ServedBy,
    as_of: Millis,
    /// The same as a sentence.
    #[serde(rename = "asServed")]
    as_served: String,
}

/// Adds the field `explain` to an encoded answer.
fn explained(
    plain: &[u8],
    market: &Market,
    as_of: Option<Millis>,
    record: AnswerRecord,
    estimate: Option<&EstimateBasis>,
) -> Result<Vec<u8>, Rejection> {
    let explanation = encoded(&Explanation {
        source: market.public_source(),
        simulated: market.is_simulated(),
        as_of: as_of.or_else(|| market.known_until()),
        record,
        estimate,
        sides: estimate.and_then(EstimateBasis::sides),
        fine: estimate.and_then(|basis| basis.fine.clone()),
    })?;
    with_explanation(plain, &explanation)
}

/// Adds the field `explain` to `plain`: a JSON object with at least one member, or a heatmap in bytes.
fn with_explanation(plain: &[u8], explanation: &[u8]) -> Result<Vec<u8>, Rejection> {
    if let Some(grid) = explain_grid(plain, explanation) {
        return Ok(grid);
    }
    let Some(open) = plain.strip_suffix(b"}") else {
        log::error!("an answer is not a JSON object");
        return Err(Rejection::Defect);
    };
    Ok([open, b",\"explain\":", explanation, b"}"].concat())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use serde_json::{Value, json};

    use crate::server::answers::pages::*;

    #[test]
    fn an_explanation_stands_behind_the_fields_and_touches_none_of_them() {
        let plain = br#"{"success":true,"data":[{"a":1.50}]}"#;
        let both = with_explanation(plain, br#"{"source":"here"}"#).unwrap();
        assert_eq!(both.get(..plain.len() - 1), plain.get(..plain.len() - 1));
        let read: Value = serde_json::from_slice(&both).unwrap();
        assert_eq!(
            read,
            json!({"success": true, "data": [{"a": 1.5}], "explain": {"source": "here"}})
        );
        assert!(with_explanation(b"[]", b"{}").is_err());
    }
}
