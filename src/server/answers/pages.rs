//! The pages of the ten: a question is read, answered and named, or found to have been answered already.

use std::hash::{DefaultHasher, Hash, Hasher};

use axum::extract::Request;
use axum::handler::Handler;
use axum::http::{HeaderMap, HeaderName, HeaderValue};
use axum::response::{IntoResponse, Response};
use futures_util::future::BoxFuture;
use serde::Serialize;

use crate::api::{self, CARRIED, RELATIVE, ReplyEnvelope};
use crate::market::{
    Dependency, Explain, Market, MarketQuery, QueryInputs, RequiredHistory, Revision, ServedMap,
    VenueCoverage, wall_clock,
};
use crate::model::{EarlierBar, FineCells, Millis, Sides, Window};
use crate::server::answers::answer_cache::{Estimated, Key, Realised};
use crate::server::answers::query::{Question, prefers_explained};
use crate::server::answers::response::{encoded, encoded_within, json};
use crate::server::answers::response_cache::Lasting;
use crate::server::answers::validator::Validator;
use crate::server::reject::Rejection;
use crate::server::shared::{Lane, Shared};

const OPEN_INTEREST: HeaderName = HeaderName::from_static(api::OPEN_INTEREST);
const OPEN_INTEREST_AGE: HeaderName = HeaderName::from_static(api::OPEN_INTEREST_AGE);
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static(api::PREFERENCE_APPLIED);

/// How often an answer is made anew because the market has changed meanwhile, before it goes out without a name that
/// could ever be asked for again.
const TRIES: usize = 8;

/// What the compression is told of an answer: the lane it queues with, and its number where the body is as it is kept.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    pub(crate) lane: Lane,
    pub(crate) number: Option<u64>,
}

/// A question, whichever endpoint it is for.
#[derive(Debug)]
struct Asked {
    name: &'static str,
    /// Its parameters with their defaults spelled out, apart from the two below.
    query: Vec<(&'static str, String)>,
    as_of: Option<Millis>,
    explain: bool,
    /// Whether it tells of what was listened to.
    of_record: bool,
    /// Whether it is about a stretch of time, which may reach back for years.
    of_stretch: bool,
}

impl Asked {
    /// The lane of the answer: `usual`, if it is about now.
    fn lane(&self, usual: Lane) -> Lane {
        if self.as_of.is_some() || self.of_stretch {
            Lane::Past
        } else {
            usual
        }
    }

    fn spelled(&self) -> String {
        let as_of = self.as_of.map(|as_of| as_of.0);
        format!("{} {:?} {as_of:?}", self.name, self.query)
    }
}

/// What makes an answer's body, and how it came to be. Its endpoint is not seen from outside, so that all that is done
/// with an answer is compiled once, not for each of the ten.
type Make = Box<dyn Fn(&Market) -> Result<Made, Rejection> + Send>;

/// An answer's body, and what is to be said beside it.
struct Made {
    body: Vec<u8>,
    explain: Option<Explain>,
    earlier: Option<EarlierBar>,
}

/// What is to be done about a question.
struct Plan {
    asked: Asked,
    material: QueryInputs,
    make: Make,
}

/// The page of an endpoint; one kind of page for all of them, so that what a page does is compiled once.
#[derive(Clone, Copy)]
pub(crate) struct Page(fn(&Shared, &str, bool) -> Result<Plan, Rejection>);

impl Page {
    pub(crate) fn of<E: MarketQuery>() -> Self {
        Self(plan::<E>)
    }
}

impl Handler<(), Shared> for Page {
    type Future = BoxFuture<'static, Response>;

    fn call(self, request: Request, shared: Shared) -> Self::Future {
        let (parts, _) = request.into_parts();
        Box::pin(async move {
            let query = parts.uri.query().unwrap_or_default();
            let preferred = prefers_explained(&parts.headers);
            let answered = match self.0(&shared, query, preferred) {
                Ok(plan) => respond(shared, &parts.headers, plan).await,
                Err(rejection) => Err(rejection),
            };
            let followed = answered.map(|mut response| {
                if preferred {
                    let explained = HeaderValue::from_static(api::EXPLAINED);
                    response.headers_mut().insert(PREFERENCE_APPLIED, explained);
                }
                response
            });
            followed.into_response()
        })
    }
}

/// What a query string asks of an endpoint, where an explained answer may be preferred.
fn plan<E: MarketQuery>(shared: &Shared, query: &str, preferred: bool) -> Result<Plan, Rejection> {
    let Question {
        endpoint,
        explain,
        as_of,
    } = Question::<E>::read(query)?;
    let explain = explain || preferred;
    let material = endpoint.material();
    if as_of.is_some() {
        shared.past.check("as_of")?;
    } else if material == QueryInputs::TimeRange {
        let stretch = E::PARAMETERS.contains(&"start");
        shared.past.check(if stretch { "start" } else { "as_of" })?;
    }
    let asked = Asked {
        name: E::NAME,
        query: endpoint.to_query(),
        as_of,
        explain,
        of_record: matches!(material, QueryInputs::Recorded(_) | QueryInputs::TimeRange),
        of_stretch: material == QueryInputs::TimeRange,
    };
    let most = if asked.of_stretch {
        shared.longest
    } else {
        usize::MAX
    };
    let make: Make = Box::new(move |market| {
        let answered = market.answer_within(&endpoint, as_of, most)?;
        let earlier = if explain {
            endpoint.earlier(market, as_of, &answered.reply)?
        } else {
            None
        };
        Ok(Made {
            body: enveloped::<E, _>(answered.reply, most)?,
            explain: answered.explain,
            earlier,
        })
    });
    Ok(Plan {
        asked,
        material,
        make,
    })
}

async fn respond(shared: Shared, headers: &HeaderMap, plan: Plan) -> Result<Response, Rejection> {
    let Plan {
        asked,
        material,
        make,
    } = plan;
    match material {
        QueryInputs::Estimated(needed) => estimated(shared, headers, asked, needed, make).await,
        QueryInputs::Realised(window) | QueryInputs::Recorded(window) => {
            realised(shared, headers, asked, window, make).await
        }
        QueryInputs::TimeRange => realised(shared, headers, asked, Window::H24, make).await,
    }
}

/// Sums and rankings: what a client holds, and what is kept, is compared by what the answer depends on.
async fn realised(
    shared: Shared,
    headers: &HeaderMap,
    asked: Asked,
    window: Window,
    make: Make,
) -> Result<Response, Rejection> {
    let question = format!("{} {}", asked.spelled(), asked.explain);
    let key = Key::Realised { question };
    let mut hasher = DefaultHasher::new();
    key.hash(&mut hasher);
    let (nonce, hash) = (shared.nonce, hasher.finish());
    let name = move |revision: Revision| Validator {
        tag: format!("{nonce:x}-{:x}-{hash:x}", revision.number),
        changed_at: revision.changed_at,
    };
    // An explanation tells of runs and gaps, which change without an order.
    let basis = if asked.explain || asked.of_record {
        Dependency::Record
    } else {
        Dependency::Observations
    };
    let current = shared.market.look_at(&basis).await?.revision;
    let named = name(current);
    if named.is_held(headers) {
        return Ok(named.not_modified());
    }
    let (theirs, of) = (shared.clone(), basis.clone());
    let lane = asked.lane(Lane::Quick);
    // What is long is not made again and again because of what has nothing to do with it.
    let tries = if lane == Lane::Past || asked.of_stretch {
        1
    } else {
        TRIES
    };
    let make = async move {
        let number = theirs.encoded(lane).number();
        let memory = theirs.memory.clone();
        let work = move |market: &Market| {
            let encode = || encode(&asked, window, market, &make);
            let (revision, body) = at_one_revision(market, &of, tries, encode)?;
            Ok(Realised {
                number,
                body: memory.count(body),
                revision,
            })
        };
        theirs.make(lane, work).await
    };
    let kept = shared.encoded(lane).realised(&key, current, make).await?;
    let validator = shared.named(kept.revision.map(name));
    let mut response = validator.on(json(kept.body));
    let extensions = response.extensions_mut();
    extensions.insert(Origin {
        lane,
        number: Some(kept.number),
    });
    if let Some(revision) = kept.revision.filter(|_| lane != Lane::Past) {
        extensions.insert(Lasting {
            basis,
            revision: revision.number,
            until: None,
            validator,
        });
    }
    Ok(response)
}

/// Estimates take their time: each is made once for what it depends on.
async fn estimated(
    shared: Shared,
    headers: &HeaderMap,
    asked: Asked,
    needed: RequiredHistory,
    make: Make,
) -> Result<Response, Rejection> {
    let basis = Dependency::Coin(needed.coin.clone());
    let standing = shared.market.look_at(&basis).await?;
    let revision = standing.revision.number;
    let key = Key::Estimate {
        question: asked.spelled(),
        revision,
    };
    let lane = asked.lane(Lane::Slow);
    let Asked { explain, as_of, .. } = asked;
    let make = estimate(shared.clone(), asked, needed, make);
    let kept = shared
        .encoded(lane)
        .estimate(&key, standing.now, make)
        .await?;
    let plain = Validator {
        tag: format!("{:x}-e{:x}", shared.nonce, kept.number),
        changed_at: kept.changed_at,
    };
    if !explain {
        if plain.is_held(headers) {
            return Ok(plain.not_modified());
        }
        let mut response = plain.on(json(kept.body.clone()));
        warn_of_units(&mut response, kept.explain.as_ref());
        let extensions = response.extensions_mut();
        extensions.insert(Origin {
            lane,
            number: Some(kept.number),
        });
        if lane != Lane::Past {
            extensions.insert(Lasting {
                basis,
                revision,
                until: kept.until,
                validator: plain,
            });
        }
        return Ok(response);
    }
    // The explanation tells the instant it was asked at.
    let name = move |revision: Revision| Validator {
        tag: format!("{}-{:x}", plain.tag, revision.number),
        changed_at: plain.changed_at.max(revision.changed_at),
    };
    let current = name(
        shared
            .market
            .look_at(&Dependency::Observations)
            .await?
            .revision,
    );
    if current.is_held(headers) {
        return Ok(current.not_modified());
    }
    let scale = kept.explain.clone();
    let work = move |market: &Market| {
        at_one_revision(market, &Dependency::Observations, TRIES, || {
            let estimate = kept.explain.as_ref();
            explained(&kept.body, market, as_of, (None, None), estimate)
        })
    };
    // Of an estimate that is there: its question has had its place in the lane of the past.
    let (revision, body) = shared.make(Lane::Quick, work).await?;
    let body = shared.memory.count(body);
    let mut response = shared.named(revision.map(name)).on(json(body));
    warn_of_units(&mut response, scale.as_ref());
    response
        .extensions_mut()
        .insert(Origin { lane, number: None });
    Ok(response)
}

/// Says of an estimate that its amounts are none, where they are not, or how old the open interest is that they are of.
fn warn_of_units(response: &mut Response, explain: Option<&Explain>) {
    let Some(explain) = explain else { return };
    let headers = response.headers_mut();
    if explain.is_relative() {
        headers.insert(OPEN_INTEREST, HeaderValue::from_static(RELATIVE));
    } else if let Some(age) = explain.open_interest_age_ms.filter(|age| *age > CARRIED) {
        headers.insert(OPEN_INTEREST_AGE, HeaderValue::from(age));
    }
}

/// Makes an estimate to be kept.
async fn estimate(
    shared: Shared,
    asked: Asked,
    needed: RequiredHistory,
    make: Make,
) -> Result<Estimated, Rejection> {
    let lane = asked.lane(Lane::Slow);
    let number = shared.encoded(lane).number();
    let memory = shared.memory.clone();
    let work = move |market: &Market| {
        let Made { body, explain, .. } = make(market)?;
        let closed = explain.as_ref().map(|explain| explain.closed);
        let estimated = Estimated {
            number,
            // At a fixed instant a bar does not get any older.
            until: closed
                .filter(|_| asked.as_of.is_none())
                .map(|closed| closed.on(needed.lasts)),
            body: memory.count(body),
            explain,
            changed_at: wall_clock(),
        };
        // What is made of the past now was not shown then.
        if asked.as_of.is_none()
            && let (Some(maps), Some(closed)) = (market.maps_kept(), closed)
        {
            maps.keep(served(&asked, &needed.coin, closed, &estimated));
        }
        Ok(estimated)
    };
    shared.make(lane, work).await
}

/// An estimate as it is kept for good.
fn served(asked: &Asked, coin: &str, closed: Millis, estimated: &Estimated) -> ServedMap {
    let params: Vec<String> = asked
        .query
        .iter()
        .filter(|(name, _)| *name != "symbol")
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    ServedMap {
        kind: asked.name,
        symbol: coin.to_owned(),
        params: params.join("&"),
        closed,
        computed_at: estimated.changed_at,
        body: estimated.body.clone(),
        explain: estimated.explain.clone(),
    }
}

/// What `work` makes, and the revision of the market that all of it is of; none where the market would not keep still.
fn at_one_revision<T>(
    market: &Market,
    basis: &Dependency,
    tries: usize,
    work: impl Fn() -> Result<T, Rejection>,
) -> Result<(Option<Revision>, T), Rejection> {
    let mut left = tries;
    loop {
        let before = market.standing(basis)?.revision;
        let made = work()?;
        left = left.saturating_sub(1);
        if market.standing(basis)?.revision == before {
            return Ok((Some(before), made));
        }
        if left == 0 {
            return Ok((None, made));
        }
    }
}

impl Shared {
    /// A name for an answer: the one given, or one that no other answer will ever have.
    fn named(&self, validator: Option<Validator>) -> Validator {
        validator.unwrap_or_else(|| Validator {
            tag: format!(
                "{:x}-once-{:x}",
                self.nonce,
                self.encoded(Lane::Quick).number()
            ),
            changed_at: wall_clock(),
        })
    }
}

/// The JSON of the answer that `make` makes.
fn encode(
    asked: &Asked,
    window: Window,
    market: &Market,
    make: &Make,
) -> Result<Vec<u8>, Rejection> {
    let plain = make(market)?;
    if !asked.explain {
        return Ok(plain.body);
    }
    let coverage = market.coverage(asked.as_of, window)?;
    let beside = (Some(coverage), plain.earlier);
    explained(&plain.body, market, asked.as_of, beside, None)
}

fn enveloped<E: MarketQuery, T: Serialize>(reply: T, most: usize) -> Result<Vec<u8>, Rejection> {
    if E::ENVELOPED {
        encoded_within(&ReplyEnvelope::around(reply), most)
    } else {
        encoded_within(&reply, most)
    }
}

/// How an answer came to be.
#[derive(Serialize)]
struct Explanation<'a> {
    source: &'a str,
    simulated: bool,
    as_of: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    coverage: Option<Vec<VenueCoverage>>,
    /// The first bar before those of the answer that cannot be made into them.
    #[serde(skip_serializing_if = "Option::is_none")]
    earlier: Option<EarlierBar>,
    #[serde(flatten)]
    estimate: Option<&'a Explain>,
    /// Which of a heatmap's cells are longs, and which are shorts.
    #[serde(skip_serializing_if = "Option::is_none")]
    sides: Option<Sides>,
    /// A liquidation map on the ledger's own grid.
    #[serde(skip_serializing_if = "Option::is_none")]
    fine: Option<FineCells>,
}

/// An encoded answer with the extra field `explain` behind its own.
fn explained(
    plain: &[u8],
    market: &Market,
    as_of: Option<Millis>,
    (coverage, earlier): (Option<Vec<VenueCoverage>>, Option<EarlierBar>),
    estimate: Option<&Explain>,
) -> Result<Vec<u8>, Rejection> {
    let explanation = encoded(&Explanation {
        source: market.source_told(),
        simulated: market.is_simulated(),
        as_of: as_of.or_else(|| market.known_until()),
        coverage,
        earlier,
        estimate,
        sides: estimate.and_then(Explain::sides),
        fine: estimate.and_then(Explain::fine_cells),
    })?;
    beside(plain, &explanation)
}

/// The JSON object `plain`, which has a field, with the field `explain`.
fn beside(plain: &[u8], explanation: &[u8]) -> Result<Vec<u8>, Rejection> {
    let Some(open) = plain.strip_suffix(b"}") else {
        log::error!("an answer is no JSON object");
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
        let both = beside(plain, br#"{"source":"here"}"#).unwrap();
        assert_eq!(both.get(..plain.len() - 1), plain.get(..plain.len() - 1));
        let read: Value = serde_json::from_slice(&both).unwrap();
        assert_eq!(
            read,
            json!({"success": true, "data": [{"a": 1.5}], "explain": {"source": "here"}})
        );
        assert!(beside(b"[]", b"{}").is_err());
    }
}
