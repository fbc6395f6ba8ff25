//! One venue on loopback.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::convert::Infallible;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use axum::body::Body;
use axum::http::{Request, Response, StatusCode, header};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Bytes;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::Role;

use super::book::{Book, Setup};
use super::dialect::Dialect;
use super::fault::{Act, Faults, Limit};
use super::pipe::{Memory, Pipe as _, Wire};
use super::quota::Used;
use super::rest::{Answer, Ask, parameters};
use super::session::Session;
use super::socket::{Order, Socket};
use super::tally::{RestRequest, Tally};
use super::truth::{Liquidations, Truth};
use super::twist::twisted;
use super::venues;

/// Two requests within so long that differ in numbers and times alone are two pages of one answer.
const PAGES: Duration = Duration::from_secs(10);
/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

/// Events that share a frame, and the frame on each topic that somebody has asked for.
pub struct Frame {
    pub truths: Vec<Truth>,
    pub topics: Arc<[String]>,
    bytes: Mutex<Vec<(String, Bytes)>>,
}

impl fmt::Debug for Frame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Frame of {} events", self.truths.len())
    }
}

impl Frame {
    /// The frame on a topic, as bytes for the wire.
    pub fn rendered(&self, topic: &str, faults: &Faults, inner: &Inner) -> Bytes {
        if faults.new_field || faults.removed_field.is_some() {
            return self.render(topic, faults, inner);
        }
        let mut bytes = self.bytes.lock().unwrap();
        if let Some((_, bytes)) = bytes.iter().find(|(name, _)| name == topic) {
            return bytes.clone();
        }
        let fresh = self.render(topic, faults, inner);
        bytes.push((topic.to_owned(), fresh.clone()));
        fresh
    }

    fn render(&self, topic: &str, faults: &Faults, inner: &Inner) -> Bytes {
        let texts = inner.dialect.render(topic, &self.truths, &inner.book);
        let mut bytes = Vec::new();
        for text in texts {
            bytes.extend_from_slice(&inner.dialect.wrap(&twisted(text, faults)));
        }
        bytes.into()
    }
}

/// Frames that are rendered before they are sent.
#[derive(Clone, Debug, Default)]
pub struct Prepared {
    frames: Vec<Arc<Frame>>,
}

impl Prepared {
    pub fn truths(&self) -> Vec<Truth> {
        self.frames
            .iter()
            .flat_map(|frame| frame.truths.iter().cloned())
            .collect()
    }
}

/// What the tasks of a double share.
pub struct Inner {
    pub dialect: &'static dyn Dialect,
    pub book: Book,
    faults: watch::Sender<Arc<Faults>>,
    tally: Mutex<Tally>,
    /// Counts the changes of the tally.
    changes: watch::Sender<u64>,
    sockets: Mutex<BTreeMap<usize, mpsc::UnboundedSender<Order>>>,
    pub used: Mutex<Used>,
    /// By what was asked for: the first page and when that was.
    first_pages: Mutex<HashMap<String, (String, Instant)>>,
    topics: Mutex<HashMap<&'static str, Arc<[String]>>>,
}

impl fmt::Debug for Inner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Inner of {:?}", self.book)
    }
}

impl Inner {
    pub fn count(&self, change: impl FnOnce(&mut Tally)) {
        change(&mut self.tally.lock().unwrap());
        self.changes.send_modify(|number| *number += 1);
    }

    /// A socket has ended, with so many frames not written.
    pub fn gone(&self, number: usize, lost: u64) {
        self.sockets.lock().unwrap().remove(&number);
        let now = self.book.now();
        self.count(|tally| {
            let skipped = tally.skipped.iter_mut();
            let skipped = skipped.filter(|one| one.socket == number);
            skipped.for_each(|one| one.gone = Some(now));
            tally.open -= 1;
            tally.queued -= lost;
        });
    }

    /// Whether a request goes on behind the first page of an answer.
    fn goes_on(&self, asked: &str, ask: &Ask) -> bool {
        let is_name = |value: &str| !value.starts_with(|first: char| first.is_ascii_digit());
        let mut named = ask.path.clone();
        for (name, value) in ask.query.iter().filter(|(_, value)| is_name(value)) {
            named.extend([" ", name, "=", value]);
        }
        let mut pages = self.first_pages.lock().unwrap();
        let fresh = || (asked.to_owned(), Instant::now());
        let (first, at) = pages.entry(named).or_insert_with(fresh);
        if first != asked && at.elapsed() < PAGES {
            return true;
        }
        (*first, *at) = fresh();
        false
    }

    fn topics_of(&self, truth: &Truth) -> Arc<[String]> {
        let mut topics = self.topics.lock().unwrap();
        let known = topics
            .entry(truth.market.native_id)
            .or_insert_with(|| self.dialect.topics(truth.market).into());
        Arc::clone(known)
    }

    /// Events cut into the frames a venue would send them in.
    pub fn frames(&self, truths: &[Truth]) -> Vec<Arc<Frame>> {
        let most = self.dialect.most().min(self.book.setup.rows).max(1);
        let mut frames = Vec::new();
        let mut rest = truths;
        while let Some(first) = rest.first() {
            let topics = self.topics_of(first);
            let together = rest
                .iter()
                .take(most)
                .take_while(|truth| self.topics_of(truth) == topics)
                .count();
            let (taken, left) = rest.split_at(together);
            frames.push(Arc::new(Frame {
                truths: taken.to_vec(),
                topics,
                bytes: Mutex::default(),
            }));
            rest = left;
        }
        frames
    }

    fn order(&self, frames: &[Arc<Frame>]) {
        let sockets = self.sockets.lock().unwrap();
        let queued = frames.len() as u64 * sockets.len() as u64;
        self.count(|tally| tally.queued += queued);
        let mut lost = 0;
        for frame in frames {
            for orders in sockets.values() {
                lost += u64::from(orders.send(Order::Data(Arc::clone(frame))).is_err());
            }
        }
        self.count(|tally| tally.queued -= lost);
    }
}

/// One venue that is open.
#[derive(Debug)]
pub struct Exchange {
    inner: Arc<Inner>,
    /// Where it listens; absent in memory.
    address: Option<SocketAddr>,
    stream: Mutex<Liquidations>,
    listener: Mutex<Option<AbortHandle>>,
    /// Everything that runs; dropped with the exchange.
    tasks: Arc<Mutex<JoinSet<()>>>,
}

impl Drop for Exchange {
    fn drop(&mut self) {
        self.tasks.lock().unwrap().abort_all();
    }
}

impl Exchange {
    /// Opens a venue with everything as it usually is.
    pub async fn open(venue: &str) -> Self {
        Self::with(Setup::of(venue)).await
    }

    pub async fn with(setup: Setup) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", setup.port)).await.unwrap();
        let mut exchange = Self::in_memory(setup);
        exchange.address = Some(listener.local_addr().unwrap());
        exchange.listen(listener);
        exchange
    }

    /// A venue that nobody reaches but by [`Exchange::connect`] and [`Exchange::ask`].
    pub fn in_memory(setup: Setup) -> Self {
        let dialect = venues::dialect(&setup.venue)
            .unwrap_or_else(|| panic!("{} is none of {:?}", setup.venue, venues::names()));
        let stream = Liquidations::new(dialect.venue(), dialect.markets(), setup.seed);
        Self {
            address: None,
            inner: Arc::new(Inner {
                dialect,
                book: Book::new(setup, dialect.markets()),
                faults: watch::Sender::new(Arc::default()),
                tally: Mutex::default(),
                changes: watch::Sender::new(0),
                sockets: Mutex::default(),
                used: Mutex::default(),
                first_pages: Mutex::default(),
                topics: Mutex::default(),
            }),
            stream: Mutex::new(stream),
            listener: Mutex::default(),
            tasks: Arc::default(),
        }
    }

    /// A connection in memory.
    ///
    /// # Errors
    ///
    /// Where it refuses.
    pub fn connect(&self) -> io::Result<Memory> {
        self.inner
            .count(|tally| tally.connections.push(Instant::now()));
        if self.inner.faults.borrow().refuse {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (near, far) = Memory::pair();
        run(&self.tasks, &self.inner, Box::new(far));
        Ok(near)
    }

    /// The answer to a REST request without a connection; the address is path and query.
    ///
    /// # Errors
    ///
    /// Where it refuses.
    pub fn ask(
        &self,
        asked: &str,
    ) -> io::Result<impl Future<Output = Response<Body>> + Send + 'static> {
        if self.inner.faults.borrow().refuse {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (path, query) = asked.split_once('?').unwrap_or((asked, ""));
        let (inner, ask) = (Arc::clone(&self.inner), Ask::new(path, query));
        let asked = asked.to_owned();
        Ok(async move { rest(&inner, &asked, &ask).await })
    }

    pub fn venue(&self) -> &'static str {
        self.inner.dialect.venue()
    }

    fn host(&self) -> String {
        let of_memory = || format!("{}.invalid", self.venue());
        self.address
            .map_or_else(of_memory, |address| address.to_string())
    }

    /// The base of every WebSocket path, without a slash at its end.
    pub fn ws(&self) -> String {
        format!("ws://{}", self.host())
    }

    /// The base of every REST path, without a slash at its end.
    pub fn rest(&self) -> String {
        format!("http://{}", self.host())
    }

    pub fn book(&self) -> &Book {
        &self.inner.book
    }

    /// An event as the REST back-fill tells it.
    pub fn told_by_rest(&self, truth: &Truth) -> Truth {
        self.inner.dialect.told_by_rest(truth)
    }

    /// Forgets what was asked, but for the numbers of sockets.
    pub fn forget(&self) {
        self.inner.count(|tally| {
            tally.rest = Vec::new();
            tally.subscribed = Vec::new();
            tally.refused = Vec::new();
            tally.strange = Vec::new();
        });
    }

    /// The bytes of what has happened here.
    pub fn held(&self) -> f64 {
        self.inner.book.held()
    }

    /// Everything that has happened here.
    pub fn truth(&self) -> Vec<Truth> {
        self.inner.book.truth()
    }

    /// Changes the switches.
    pub fn fault(&self, change: impl FnOnce(&mut Faults)) {
        self.inner
            .faults
            .send_modify(|faults| change(Arc::make_mut(faults)));
        self.inner.book.set(&self.faults());
    }

    pub fn faults(&self) -> Faults {
        (**self.inner.faults.borrow()).clone()
    }

    /// Turns every switch off.
    pub fn mend(&self) {
        self.inner.faults.send_replace(Arc::default());
        self.inner.book.set(&Faults::default());
    }

    /// Does something once to every socket that is open; how many those were.
    pub fn act(&self, act: Act) -> usize {
        let sockets = self.inner.sockets.lock().unwrap();
        sockets
            .values()
            .filter(|orders| orders.send(Order::Act(act)).is_ok())
            .count()
    }

    /// Does something once to the socket that came as number `number`, counted from 0; whether it is open.
    pub fn act_on(&self, number: usize, act: Act) -> bool {
        let sockets = self.inner.sockets.lock().unwrap();
        sockets
            .get(&number)
            .is_some_and(|orders| orders.send(Order::Act(act)).is_ok())
    }

    /// Sends a message as it is, such as a recorded one, to every socket that is open; how many those were.
    pub fn say(&self, text: &str) -> usize {
        let sockets = self.inner.sockets.lock().unwrap();
        sockets
            .values()
            .filter(|orders| orders.send(Order::Say(text.to_owned())).is_ok())
            .count()
    }

    /// Makes `count` liquidations happen now and tells every subscriber.
    pub fn liquidate(&self, count: usize) -> Vec<Truth> {
        let now = self.inner.book.now();
        self.liquidate_at(std::iter::repeat_n(now, count))
    }

    /// Makes one liquidation happen at each of the times and tells every subscriber.
    pub fn liquidate_at(&self, times: impl IntoIterator<Item = i64>) -> Vec<Truth> {
        let truths = self.imagine(times);
        self.publish(&truths);
        truths
    }

    /// Liquidations that nobody is told of yet.
    pub fn imagine(&self, times: impl IntoIterator<Item = i64>) -> Vec<Truth> {
        let mut stream = self.stream.lock().unwrap();
        times.into_iter().map(|time| stream.next(time)).collect()
    }

    /// Liquidations of one contract that nobody is told of yet; it need not be listed.
    pub fn imagine_of(&self, native_id: &str, times: impl IntoIterator<Item = i64>) -> Vec<Truth> {
        let mut stream = self.stream.lock().unwrap();
        times
            .into_iter()
            .map(|time| stream.next_of(native_id, time))
            .collect()
    }

    /// Makes these happen and tells every subscriber.
    pub fn publish(&self, truths: &[Truth]) {
        self.send(&Prepared {
            frames: self.inner.frames(truths),
        });
    }

    /// Makes these happen and tells nobody, so that only REST knows.
    pub fn record(&self, truths: &[Truth]) {
        self.inner.book.record(truths);
    }

    /// The frames of `truths`, rendered for the topics that somebody is subscribed to now.
    pub fn prepare(&self, truths: &[Truth]) -> Prepared {
        let frames = self.inner.frames(truths);
        let wanted: HashSet<String> = {
            let tally = self.inner.tally.lock().unwrap();
            tally
                .subscribed
                .iter()
                .map(|(_, topic)| topic.clone())
                .collect()
        };
        let faults = self.faults();
        for frame in &frames {
            for topic in frame.topics.iter().filter(|topic| wanted.contains(*topic)) {
                frame.rendered(topic, &faults, &self.inner);
            }
        }
        Prepared { frames }
    }

    /// Makes what was prepared happen, all at once.
    pub fn send(&self, prepared: &Prepared) {
        let mut frames = prepared.frames.clone();
        if self.inner.faults.borrow().shuffle {
            fastrand::Rng::with_seed(self.inner.book.seed()).shuffle(&mut frames);
        }
        self.tell(&frames);
    }

    /// Makes what was prepared happen at so many events a second.
    pub async fn play(&self, prepared: &Prepared, events_a_second: u64) {
        const STEP: Duration = Duration::from_millis(10);
        let mut ticks = interval(STEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut frames = prepared.frames.as_slice();
        let (mut due, mut told) = (0, 0);
        while !frames.is_empty() {
            ticks.tick().await;
            due += events_a_second;
            let mut count = 0;
            for frame in frames {
                if told * 100 >= due {
                    break;
                }
                told += frame.truths.len() as u64;
                count += 1;
            }
            let (now, later) = frames.split_at(count);
            self.tell(now);
            frames = later;
        }
    }

    fn tell(&self, frames: &[Arc<Frame>]) {
        let truths: Vec<Truth> = frames
            .iter()
            .flat_map(|frame| frame.truths.iter().cloned())
            .collect();
        self.inner.book.record(&truths);
        self.inner.order(frames);
    }

    pub fn tally(&self) -> Tally {
        self.inner.tally.lock().unwrap().clone()
    }

    /// Waits until the tally is as wanted.
    ///
    /// # Panics
    ///
    /// Where that takes longer than half a minute.
    pub async fn until(&self, wanted: impl Fn(&Tally) -> bool) -> Tally {
        let mut changes = self.inner.changes.subscribe();
        let arrived = timeout(PATIENCE, async {
            while !wanted(&self.inner.tally.lock().unwrap()) {
                changes.changed().await.unwrap();
            }
        });
        let arrived = arrived.await;
        let tally = self.tally();
        assert!(
            arrived.is_ok(),
            "{} waited in vain: {tally:?}",
            self.venue()
        );
        tally
    }

    /// Waits until every frame that was sent is written.
    pub async fn drained(&self) {
        self.until(|tally| tally.queued == 0).await;
    }

    /// Closes the listening socket, so that the kernel refuses connections; open ones stay.
    pub async fn shut(&self) {
        let handle = self.listener.lock().unwrap().take();
        if let Some(handle) = handle {
            handle.abort();
            while !handle.is_finished() {
                tokio::task::yield_now().await;
            }
        }
    }

    /// Listens again where it did.
    pub async fn reopen(&self) {
        self.shut().await;
        self.listen(TcpListener::bind(self.address.unwrap()).await.unwrap());
    }

    fn listen(&self, listener: TcpListener) {
        let inner = Arc::clone(&self.inner);
        let tasks = Arc::clone(&self.tasks);
        let weak = Arc::downgrade(&tasks);
        let handle = tasks.lock().unwrap().spawn(async move {
            loop {
                let Ok((mut stream, _)) = listener.accept().await else {
                    continue;
                };
                inner.count(|tally| tally.connections.push(Instant::now()));
                if inner.faults.borrow().refuse {
                    stream.reset();
                    continue;
                }
                let Some(tasks) = weak.upgrade() else { return };
                let _ = stream.set_nodelay(true);
                run(&tasks, &inner, Box::new(stream));
            }
        });
        *self.listener.lock().unwrap() = Some(handle);
    }
}

/// Speaks on a connection, beside everything else that runs.
fn run(tasks: &Mutex<JoinSet<()>>, inner: &Arc<Inner>, wire: Wire) {
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
        told: HashMap::new(),
        deaf: false,
        last: None,
        late: Vec::new(),
    };
    socket.run().await;
}

/// A WebSocket whose handshake is answered.
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
        let asked = request.uri().to_string();
        return Ok(rest(&inner, &asked, &Ask::new(&path, &query)).await);
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

async fn rest(inner: &Inner, asked: &str, ask: &Ask) -> Response<Body> {
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
        .any(|part| asked.contains(part.as_str()))
    {
        counted(BROKEN.status);
        return turned_away(BROKEN);
    }
    if faults.later_pages && inner.goes_on(asked, ask) {
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
        .any(|part| ask.path.starts_with(part.as_str()) || asked.contains(part.as_str()));
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
