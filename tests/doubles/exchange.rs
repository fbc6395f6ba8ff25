//! One venue on loopback.

use std::collections::HashSet;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Body;
use axum::http::Response;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use super::book::{Book, Setup};
use super::fault::{Act, Faults};
use super::frame::{Frame, Prepared};
use super::inner::Inner;
use super::pipe::{Memory, Pipe as _};
use super::rest::Ask;
use super::serve::{rest, run};
use super::socket::Order;
use super::tally::Tally;
use super::truth::{Liquidations, Truth};
use super::venues;

/// How long a test waits for what must come.
const PATIENCE: Duration = Duration::from_secs(30);

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

    /// A venue that is reached only through [`Exchange::connect`] and [`Exchange::ask`].
    pub fn in_memory(setup: Setup) -> Self {
        let dialect = venues::dialect(&setup.venue)
            .unwrap_or_else(|| panic!("{} is none of {:?}", setup.venue, venues::names()));
        let stream = Liquidations::new(dialect.venue(), dialect.markets(), setup.seed);
        Self {
            address: None,
            inner: Arc::new(Inner::of(dialect, setup)),
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

    /// The answer to a REST request without a connection; `target` is path and query.
    ///
    /// # Errors
    ///
    /// Where it refuses.
    pub fn ask(
        &self,
        target: &str,
    ) -> io::Result<impl Future<Output = Response<Body>> + Send + 'static> {
        if self.inner.faults.borrow().refuse {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let (inner, ask) = (Arc::clone(&self.inner), Ask::new(path, query));
        let target = target.to_owned();
        Ok(async move { rest(&inner, &target, &ask).await })
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

    /// An event as the REST back-fill reports it.
    pub fn reported_by_rest(&self, truth: &Truth) -> Truth {
        self.inner.dialect.reported_by_rest(truth)
    }

    /// Forgets all requests but for the numbers of sockets.
    pub fn forget(&self) {
        self.inner.count(|tally| {
            tally.rest = Vec::new();
            tally.subscribed = Vec::new();
            tally.refused = Vec::new();
            tally.strange = Vec::new();
        });
    }

    /// The memory of the recorded events, in bytes.
    pub fn recorded_bytes(&self) -> f64 {
        self.inner.book.recorded_bytes()
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

    /// Makes `count` liquidations happen now and sends them to every subscriber.
    pub fn liquidate(&self, count: usize) -> Vec<Truth> {
        let now = self.inner.book.now();
        self.liquidate_at(std::iter::repeat_n(now, count))
    }

    /// Makes one liquidation happen at each of the times and sends them to every subscriber.
    pub fn liquidate_at(&self, times: impl IntoIterator<Item = i64>) -> Vec<Truth> {
        let truths = self.imagine(times);
        self.publish(&truths);
        truths
    }

    /// Liquidations that are not published yet.
    pub fn imagine(&self, times: impl IntoIterator<Item = i64>) -> Vec<Truth> {
        let mut stream = self.stream.lock().unwrap();
        times.into_iter().map(|time| stream.next(time)).collect()
    }

    /// Liquidations of one contract that are not published yet; it need not be listed.
    pub fn imagine_of(&self, native_id: &str, times: impl IntoIterator<Item = i64>) -> Vec<Truth> {
        let mut stream = self.stream.lock().unwrap();
        times
            .into_iter()
            .map(|time| stream.next_of(native_id, time))
            .collect()
    }

    /// Makes these happen and sends them to every subscriber.
    pub fn publish(&self, truths: &[Truth]) {
        self.send(&Prepared {
            frames: self.inner.frames(truths),
        });
    }

    /// Makes these happen without sending them, so that only REST reports them.
    pub fn record(&self, truths: &[Truth]) {
        self.inner.book.record(truths);
    }

    /// The frames of `truths`, rendered for the topics that have a subscription now.
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

    /// Sends the prepared events, all at once.
    pub fn send(&self, prepared: &Prepared) {
        let mut frames = prepared.frames.clone();
        if self.inner.faults.borrow().shuffle {
            fastrand::Rng::with_seed(self.inner.book.seed()).shuffle(&mut frames);
        }
        self.tell(&frames);
    }

    /// Sends the prepared events at so many a second.
    pub async fn play(&self, prepared: &Prepared, events_a_second: u64) {
        const STEP: Duration = Duration::from_millis(10);
        let mut ticks = interval(STEP);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
        let mut frames = prepared.frames.as_slice();
        let (mut due, mut sent) = (0, 0);
        while !frames.is_empty() {
            ticks.tick().await;
            due += events_a_second;
            let mut count = 0;
            for frame in frames {
                if sent * 100 >= due {
                    break;
                }
                sent += frame.truths.len() as u64;
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
