//! One WebSocket of a double, from its handshake to its end.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Bytes, Message};

use super::fault::{Act, Ending, Faults, Garbage};
use super::frame::Frame;
use super::inner::Inner;
use super::pipe::{Pipe as _, Wire};
use super::session::{Say, Session};
use super::tally::Skipped;
use super::wire;

/// Most orders taken at once, so that a burst is few writes.
const BATCH: usize = 512;

/// An order to a socket.
#[derive(Clone, Debug)]
pub enum Order {
    Data(Arc<Frame>),
    Act(Act),
    /// A message as it is, such as a recorded one.
    Say(String),
}

pub struct Socket {
    pub inner: Arc<Inner>,
    pub session: Session,
    pub stream: WebSocketStream<Wire>,
    pub orders: mpsc::UnboundedReceiver<Order>,
    pub faults: watch::Receiver<Arc<Faults>>,
    pub muted: bool,
    /// The next data frame is lost on its way.
    pub skips: bool,
    /// When each numbered stream was sent last.
    pub last_sent: HashMap<String, i64>,
    /// Takes bytes and says nothing.
    pub deaf: bool,
    pub last: Option<Bytes>,
    /// Data that is delayed.
    pub late: Vec<u8>,
}

/// Whether the connection goes on.
type Onward = ControlFlow<()>;

impl Socket {
    /// Speaks until either side ends.
    pub async fn run(mut self) {
        let mut beats = interval(self.inner.book.setup.second);
        beats.set_missed_tick_behavior(MissedTickBehavior::Skip);
        beats.tick().await;
        let (mut beat, mut last_message) = (0, 0);
        if self.flush().await.is_break() {
            return;
        }
        let mut batch = Vec::with_capacity(BATCH);
        loop {
            if self.deaf || self.faults.borrow_and_update().half_open {
                return self.swallow().await;
            }
            let onward = tokio::select! {
                // What was published before a client's farewell came goes out before it is answered.
                biased;
                taken = self.orders.recv_many(&mut batch, BATCH) => {
                    if taken == 0 {
                        return;
                    }
                    self.orders(&mut batch).await
                }
                message = self.stream.next() => {
                    last_message = beat;
                    match message {
                        Some(Ok(message)) => self.message(message).await,
                        Some(Err(_)) | None => return,
                    }
                }
                _ = beats.tick() => {
                    beat += 1;
                    if self.inner.dialect.patience().is_some_and(|most| beat - last_message > most) {
                        self.session.close(1000, "no message for too long");
                    } else {
                        let muted = self.is_muted();
                        self.inner.dialect.beat(&mut self.session, beat, muted, &self.inner.book);
                    }
                    self.flush().await
                }
                changed = self.faults.changed() => {
                    if changed.is_err() {
                        return;
                    }
                    Onward::Continue(())
                }
            };
            match onward {
                Onward::Continue(()) => {}
                Onward::Break(()) => return,
            }
        }
    }

    fn is_muted(&self) -> bool {
        self.muted || self.deaf || self.session.dead_end || self.faults.borrow().mute
    }

    async fn orders(&mut self, batch: &mut Vec<Order>) -> Onward {
        let mut bytes = Vec::new();
        let (mut frames, mut events, mut queued) = (0, 0, 0);
        for order in batch.drain(..) {
            match order {
                Order::Data(frame) => {
                    queued += 1;
                    let (some_frames, some_events) = self.data(&frame, &mut bytes);
                    frames += some_frames;
                    events += some_events;
                }
                Order::Say(text) => bytes.extend_from_slice(&self.inner.dialect.wrap(&text)),
                Order::Act(act) => {
                    self.write(&bytes).await?;
                    bytes.clear();
                    self.act(act).await?;
                }
            }
        }
        if self.faults.borrow().late {
            self.late.append(&mut bytes);
        }
        let written = self.write(&bytes).await;
        self.inner.count(|tally| {
            tally.queued -= queued;
            if written.is_continue() {
                tally.frames_sent += frames;
                tally.events_sent += events;
            }
        });
        written
    }

    /// The frame as this socket gets it, behind `bytes`; how many frames and events were added.
    fn data(&mut self, frame: &Frame, bytes: &mut Vec<u8>) -> (u64, u64) {
        if self.is_muted() {
            return (0, 0);
        }
        let faults = Arc::clone(&self.faults.borrow());
        let times = 1 + u64::from(faults.duplicate);
        let (mut frames, mut events) = (0, 0);
        for topic in &*frame.topics {
            if self.session.topics.contains(topic) {
                let rendered = frame.rendered(topic, &faults, &self.inner);
                let rendered = self.inner.dialect.stamp(&mut self.session, &rendered);
                let stream = self.inner.dialect.stream(frame.truths[0].market);
                if std::mem::take(&mut self.skips) {
                    self.note_skipped(stream, frame);
                    continue;
                }
                if let Some(stream) = stream {
                    // Out of order, an event with its own number may come before the lost one.
                    let newest = frame.truths.iter().map(|truth| truth.seq).max();
                    let newest = newest.filter(|_| !stream.is_empty());
                    self.note_sent(stream.to_owned(), newest);
                }
                for _ in 0..times {
                    bytes.extend_from_slice(&rendered);
                }
                self.last = Some(rendered);
                frames += times;
                events += frame.truths.len() as u64 * times;
            }
        }
        (frames, events)
    }

    /// Notes that a frame of a stream is sent, and its newest event where events are numbered.
    fn note_sent(&mut self, stream: String, newest: Option<u64>) {
        let now = self.inner.book.now();
        let number = self.session.number;
        self.inner.count(|tally| {
            let is_behind = |one: &Skipped| {
                newest.is_none_or(|newest| one.events.iter().all(|event| *event < newest))
            };
            let open = tally.skipped.iter_mut();
            let open =
                open.filter(|one| one.socket == number && one.stream == stream && is_behind(one));
            open.for_each(|one| one.behind = one.behind.or(Some(now)));
        });
        self.last_sent.insert(stream, now);
    }

    fn note_skipped(&self, stream: Option<&'static str>, frame: &Frame) {
        let Some(stream) = stream else { return };
        let skipped = Skipped {
            socket: self.session.number,
            stream: stream.to_owned(),
            events: frame.truths.iter().map(|truth| truth.seq).collect(),
            before: self.last_sent.get(stream).copied(),
            behind: None,
            gone: None,
        };
        self.inner.count(|tally| tally.skipped.push(skipped));
    }

    async fn message(&mut self, message: Message) -> Onward {
        match message {
            Message::Text(text) => {
                let faults = Arc::clone(&self.faults.borrow());
                if let Some(quota) = self.inner.dialect.messages(&text) {
                    let now = Instant::now();
                    let (used, _) = self.inner.used.lock().unwrap().book(&quota, 1, now);
                    if self.inner.book.setup.limits && used > quota.most {
                        let over = format!("{}: {used}", quota.name);
                        self.inner.count(|tally| tally.over_limit.push(over));
                        self.session.close(1008, "too many messages");
                        return self.flush().await;
                    }
                }
                self.inner
                    .dialect
                    .hear(&mut self.session, &text, &self.inner.book);
                if faults.no_acks && !self.session.acknowledged.is_empty() {
                    for topic in self.session.acknowledged.drain(..) {
                        self.session.topics.remove(&topic);
                    }
                    self.session.out.clear();
                    self.session.sent_streams.clear();
                }
                let fresh = self.session.acknowledged.clone();
                self.flush().await?;
                self.replay(&fresh, faults.replay).await
            }
            Message::Ping(_) => {
                self.session.pings += 1;
                self.flush().await
            }
            Message::Pong(_) => {
                self.session.note_pong();
                self.flush().await
            }
            Message::Binary(bytes) => {
                self.session
                    .strange
                    .push(format!("{} bytes of binary", bytes.len()));
                self.flush().await
            }
            // The next read ends it, after the close frame was answered; until then these bytes come before the answer.
            Message::Close(_) => {
                let late = std::mem::take(&mut self.late);
                let _ = self.stream.get_mut().write_all(&late).await;
                Onward::Continue(())
            }
            Message::Frame(_) => Onward::Continue(()),
        }
    }

    /// The last `count` events again, to who has just subscribed.
    async fn replay(&mut self, fresh: &[String], count: usize) -> Onward {
        if count == 0 || fresh.is_empty() || self.is_muted() {
            return Onward::Continue(());
        }
        let dialect = self.inner.dialect;
        let again = self.inner.book.last(count, |truth| {
            dialect
                .topics(truth.market)
                .iter()
                .any(|topic| fresh.contains(topic))
        });
        let mut bytes = Vec::new();
        let (mut frames, mut events) = (0, 0);
        for frame in self.inner.frames(&again) {
            let (some_frames, some_events) = self.data(&frame, &mut bytes);
            frames += some_frames;
            events += some_events;
        }
        self.write(&bytes).await?;
        self.inner.count(|tally| {
            tally.frames_sent += frames;
            tally.events_sent += events;
        });
        Onward::Continue(())
    }

    /// Writes the messages of the dialect, and counts the messages it received.
    async fn flush(&mut self) -> Onward {
        let said = std::mem::take(&mut self.session.out);
        let mut bytes = Vec::new();
        let mut closing = false;
        for say in said {
            match say {
                Say::Text(text) => bytes.extend_from_slice(&self.inner.dialect.wrap(&text)),
                Say::Ping => {
                    bytes.extend_from_slice(&wire::frame(wire::PING, true, b"are you there"))
                }
                Say::Close(code, reason) => {
                    bytes.extend_from_slice(&wire::close(code, &reason));
                    closing = true;
                }
            }
        }
        let session = &mut self.session;
        let number = session.number;
        let acknowledged = std::mem::take(&mut session.acknowledged);
        let refused = std::mem::take(&mut session.refused);
        let pings = std::mem::take(&mut session.pings);
        let answers = std::mem::take(&mut session.pongs);
        let strange = std::mem::take(&mut session.strange);
        let over_limit = std::mem::take(&mut session.over_limit);
        let quiet = acknowledged.is_empty() && refused.is_empty() && pings + answers == 0;
        for stream in std::mem::take(&mut self.session.sent_streams) {
            self.note_sent(stream, None);
        }
        let written = self.write(&bytes).await;
        if !quiet || !strange.is_empty() || !over_limit.is_empty() {
            self.inner.count(|tally| {
                tally
                    .subscribed
                    .extend(acknowledged.into_iter().map(|topic| (number, topic)));
                tally
                    .refused
                    .extend(refused.into_iter().map(|topic| (number, topic)));
                tally.pings += pings;
                tally.pongs += answers;
                tally.strange.extend(strange);
                tally.over_limit.extend(over_limit);
            });
        }
        written?;
        if closing {
            Onward::Break(())
        } else {
            Onward::Continue(())
        }
    }

    /// Writes bytes that are frames already.
    async fn write(&mut self, bytes: &[u8]) -> Onward {
        if bytes.is_empty() {
            return Onward::Continue(());
        }
        let slow = self.faults.borrow().slow;
        if let Some(wait) = slow {
            tokio::time::sleep(wait).await;
        }
        // A pong of the library's own may stand half written before these bytes.
        let flushed = futures_util::SinkExt::<Message>::flush(&mut self.stream).await;
        if flushed.is_err() || self.stream.get_mut().write_all(bytes).await.is_err() {
            return Onward::Break(());
        }
        Onward::Continue(())
    }

    async fn act(&mut self, act: Act) -> Onward {
        match act {
            Act::Garbage(garbage) => self.garbage(garbage).await,
            Act::Repeat => {
                let last = self.last.clone().unwrap_or_default();
                self.write(&last).await
            }
            Act::HalfOpen => {
                self.deaf = true;
                Onward::Continue(())
            }
            Act::Mute => {
                self.muted = true;
                Onward::Continue(())
            }
            Act::Skip => {
                self.skips = true;
                Onward::Continue(())
            }
            Act::Ping => {
                self.session.ping();
                self.flush().await
            }
            Act::Notice => {
                let notice = self.inner.dialect.notice(&self.inner.book);
                self.session.out.extend(notice.map(Say::Text));
                self.flush().await
            }
            Act::Disconnect(ending) => self.end(ending).await,
        }
    }

    async fn garbage(&mut self, garbage: Garbage) -> Onward {
        let frame: Vec<u8> = match garbage {
            Garbage::InvalidUtf8 => {
                wire::frame(wire::TEXT, true, b"{\"e\":\"\xff\xfe\xc0\"}").to_vec()
            }
            Garbage::Binary => {
                wire::frame(wire::BINARY, true, &[0x1f, 0x8b, 0, 7, 255, 3, 9]).to_vec()
            }
            Garbage::TruncatedJson => self
                .inner
                .dialect
                .wrap("{\"data\":[{\"price\":\"12.5")
                .to_vec(),
            Garbage::Alien => self
                .inner
                .dialect
                .wrap("{\"greetings\":\"from elsewhere\"}")
                .to_vec(),
            Garbage::HugeHead => wire::head(wire::TEXT, true, 100 << 20),
            Garbage::BadOpcode => wire::frame(0x0b, true, b"{}").to_vec(),
            Garbage::Huge => return self.huge().await,
        };
        self.write(&frame).await
    }

    /// 100 MB of text in fragments of 1 MB.
    async fn huge(&mut self) -> Onward {
        let piece = vec![b'7'; 1 << 20];
        for number in 0..100 {
            let opcode = if number == 0 {
                wire::TEXT
            } else {
                wire::CONTINUATION
            };
            self.write(&wire::frame(opcode, number == 99, &piece))
                .await?;
        }
        Onward::Continue(())
    }

    async fn end(&mut self, ending: Ending) -> Onward {
        match ending {
            Ending::Close => {
                let _ = self.write(&wire::close(1001, "going away")).await;
                let _ = self.stream.get_mut().shutdown().await;
                // What the client still has to say is read, or the kernel would answer it with RST.
                let _ = tokio::time::timeout(Duration::from_secs(1), self.drain()).await;
            }
            Ending::Fin => {
                let _ = self.stream.get_mut().shutdown().await;
                let _ = tokio::time::timeout(Duration::from_secs(1), self.drain()).await;
            }
            Ending::Reset => {
                self.stream.get_mut().reset();
            }
            Ending::MidFrame => {
                let whole = self
                    .last
                    .clone()
                    .unwrap_or_else(|| wire::text("{\"half\":true}"));
                let _ = self.write(&whole[..whole.len() / 2]).await;
                self.stream.get_mut().reset();
            }
        }
        Onward::Break(())
    }

    /// Takes bytes and says nothing, until the client has gone or the test ends it.
    async fn swallow(mut self) {
        let mut bytes = vec![0; 1 << 16];
        loop {
            tokio::select! {
                order = self.orders.recv() => match order {
                    Some(Order::Data(_)) => self.inner.count(|tally| tally.queued -= 1),
                    Some(Order::Act(Act::Disconnect(ending))) => {
                        let _ = self.end(ending).await;
                        return;
                    }
                    Some(Order::Act(_) | Order::Say(_)) => {}
                    None => return,
                },
                read = self.stream.get_mut().read(&mut bytes) => match read {
                    Ok(0) | Err(_) => return,
                    Ok(_) => {}
                },
            }
        }
    }

    async fn drain(&mut self) {
        let mut bytes = vec![0; 1 << 16];
        while let Ok(read) = self.stream.get_mut().read(&mut bytes).await {
            if read == 0 {
                return;
            }
        }
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let mut lost = 0;
        self.orders.close();
        while let Ok(order) = self.orders.try_recv() {
            lost += u64::from(matches!(order, Order::Data(_)));
        }
        self.inner.gone(self.session.number, lost);
    }
}
