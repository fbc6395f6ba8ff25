//! The connections of a double: requests and their replies, and a WebSocket on an upgrade request.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::book::Book;
use super::fault::Limit;
use super::inner::Inner;
use super::pipe::Wire;
use super::rest::{Answer, Ask, parameters};
use super::session::Session;
use super::socket::Socket;
use super::tally::RestRequest;
use super::twist::twisted;

/// Serves a connection in a task of its own.
pub fn run(tasks: &Mutex<JoinSet<()>>, inner: &Arc<Inner>, wire: Wire) {
    let mut running = tasks.lock().unwrap();
    while running.try_join_next().is_some() {}
    running.spawn(connection(Arc::clone(inner), wire));
}

/// One connection: REST requests, and perhaps a WebSocket at its end.
async fn connection(inner: Arc<Inner>, stream: Wire) {
    let upgraded = Arc::new(Mutex::new(None));
    let service = {
        let (inner, upgraded) = (Arc::clone(&inner), Arc::clone(&upgraded));
        service_fn(move |request| answer(Arc::clone(&inner), Arc::clone(&upgraded), request))
    };
    let served = hyper::server::conn::http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades()
        .await;
    let opened = upgraded.lock().unwrap().take();
    let (Ok(()), Some(Opened { session, upgrade })) = (served, opened) else {
        return;
    };
    let Ok(upgraded) = upgrade.await else { return };
    let Ok(parts) = upgraded.downcast::<TokioIo<Wire>>() else {
        return;
    };
    let stream = WebSocketStream::from_partially_read(
        parts.io.into_inner(),
        parts.read_buf.to_vec(),
        Role::Server,
        None,
    )
    .await;
    let (sender, orders) = mpsc::unbounded_channel();
    let faults = inner.faults.subscribe();
    let mut session = session;
    inner.count(|tally| {
        session.number = tally.sockets.len();
        tally.sockets.push((Instant::now(), session.path.clone()));
        tally.open += 1;
    });
    inner.sockets.lock().unwrap().insert(session.number, sender);
    let socket = Socket {
        inner,
        session,
        stream,
        orders,
        faults,
        muted: false,
        skips: false,
        last_sent: HashMap::new(),
        deaf: false,
        last: None,
        late: Vec::new(),
    };
    socket.run().await;
}

/// A WebSocket after its handshake.
struct Opened {
    session: Session,
    upgrade: hyper::upgrade::OnUpgrade,
}

async fn answer(
    inner: Arc<Inner>,
    upgraded: Arc<Mutex<Option<Opened>>>,
    mut request: Request<Incoming>,
) -> Result<Response<Body>, Infallible> {
    let key = request.headers().get(header::SEC_WEBSOCKET_KEY).cloned();
    let path = request.uri().path().to_owned();
    let query = request.uri().query().unwrap_or_default().to_owned();
    let Some(key) = key else {
        let target = request.uri().to_string();
        return Ok(rest(&inner, &target, &Ask::new(&path, &query)).await);
    };
    let faults = Arc::clone(&inner.faults.borrow());
    if let Some(limit) = faults.handshake {
        return Ok(turned_away(limit));
    }
    if faults
        .shut
        .iter()
        .any(|shut| path.starts_with(shut.as_str()))
    {
        return Ok(turned_away(BROKEN));
    }
    if let Some(quota) = inner.dialect.door().filter(|_| inner.book.setup.limits) {
        let (used, left) = inner.used.lock().unwrap().book(&quota, 1, Instant::now());
        if used > quota.most {
            inner.count(|tally| tally.over_limit.push(format!("{}: {used}", quota.name)));
            return Ok(turned_away(Limit {
                status: quota.status,
                retry_after: Some(left),
            }));
        }
    }
    let mut session = Session {
        path,
        query: parameters(&query),
        ..Session::default()
    };
    if let Err(status) = inner.dialect.open(&mut session, &inner.book) {
        return Ok(turned_away(Limit {
            status,
            retry_after: None,
        }));
    }
    let upgrade = hyper::upgrade::on(&mut request);
    *upgraded.lock().unwrap() = Some(Opened { session, upgrade });
    let response = Response::builder()
        .status(StatusCode::SWITCHING_PROTOCOLS)
        .header(header::CONNECTION, "Upgrade")
        .header(header::UPGRADE, "websocket")
        .header(
            header::SEC_WEBSOCKET_ACCEPT,
            derive_accept_key(key.as_bytes()),
        )
        .header(header::DATE, date(&inner.book))
        .body(Body::empty());
    Ok(response.unwrap())
}

/// The time of the venue, as its replies show it.
fn date(book: &Book) -> String {
    let millis = u64::try_from(book.now()).unwrap();
    httpdate::fmt_http_date(SystemTime::UNIX_EPOCH + Duration::from_millis(millis))
}

const BROKEN: Limit = Limit {
    status: 503,
    retry_after: None,
};

fn turned_away(limit: Limit) -> Response<Body> {
    let mut response = Response::builder().status(limit.status);
    if let Some(seconds) = limit.retry_after {
        response = response.header(header::RETRY_AFTER, seconds);
    }
    response
        .body(Body::from("{\"msg\":\"turned away\"}"))
        .unwrap()
}

pub async fn rest(inner: &Inner, target: &str, ask: &Ask) -> Response<Body> {
    let faults = Arc::clone(&inner.faults.borrow());
    let counted = |status: u16| {
        inner.count(|tally| {
            tally.rest.push(RestRequest {
                at: Instant::now(),
                path: ask.path.clone(),
                query: ask.query.clone(),
                status,
            });
        });
    };
    if faults.rest_hangs {
        counted(0);
        std::future::pending::<()>().await;
    }
    if faults
        .broken
        .iter()
        .any(|part| target.contains(part.as_str()))
    {
        counted(BROKEN.status);
        return turned_away(BROKEN);
    }
    if faults.later_pages && inner.is_later_page(target, ask) {
        counted(BROKEN.status);
        inner.count(|tally| tally.pages_refused += 1);
        return turned_away(BROKEN);
    }
    if let Some(limit) = faults.rest.filter(|_| faults.rest_times != Some(0)) {
        inner.faults.send_modify(|faults| {
            if let Some(times) = &mut Arc::make_mut(faults).rest_times {
                *times = times.saturating_sub(1);
            }
        });
        counted(limit.status);
        return turned_away(limit);
    }
    let mut headers = Vec::new();
    if let Some((quota, weight)) = inner.dialect.quota(ask) {
        let (used, left) = inner
            .used
            .lock()
            .unwrap()
            .book(&quota, weight, Instant::now());
        headers.push(("x-mbx-used-weight-1m", used.to_string()));
        if inner.book.setup.limits && used > quota.most {
            inner.count(|tally| tally.over_limit.push(format!("{}: {used}", quota.name)));
            counted(quota.status);
            return turned_away(Limit {
                status: quota.status,
                retry_after: Some(left),
            });
        }
    }
    let gone = faults
        .gone
        .iter()
        .any(|part| ask.path.starts_with(part.as_str()) || target.contains(part.as_str()));
    let mut answer = if gone {
        Answer::not_found()
    } else {
        inner.dialect.rest(ask, &inner.book)
    };
    if faults.new_field || faults.removed_field.is_some() {
        answer.body = twisted(answer.body, &faults);
    }
    if faults.rest_cut {
        let half = answer.body.len() / 2;
        answer.body.truncate(
            (0..=half)
                .rev()
                .find(|at| answer.body.is_char_boundary(*at))
                .unwrap_or(0),
        );
    }
    counted(answer.status);
    let mut response = Response::builder()
        .status(answer.status)
        .header(header::DATE, date(&inner.book))
        .header(header::CONTENT_TYPE, "application/json");
    for (name, value) in headers.into_iter().chain(answer.headers) {
        response = response.header(name, value);
    }
    response.body(Body::from(answer.body)).unwrap()
}
