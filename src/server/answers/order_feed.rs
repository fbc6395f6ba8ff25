//! Encodes the arriving orders of a market once for all event streams.
//!
//! While there are readers, one task reads the newest orders of the market and broadcasts them in pages, already encoded
//! as events. A reader that is behind, because it resumes or was too slow, reads the market itself until it reaches the
//! broadcast pages.

use std::future::pending;
use std::ops::Range;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::body::Bytes;
use tokio::sync::Semaphore;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::broadcast::{self, Receiver, Sender, WeakSender};

use crate::contract::Stream;
use crate::market::{ArrivalId, Market, OrderFollower, OrderUpdate};
use crate::model::Order;
use crate::server::answers::event::{write_data, write_id};
use crate::server::reject::Rejection;

/// Maximum number of orders per read from the market.
pub(crate) const PAGE: usize = 256;
/// Number of broadcast pages after which a slow reader reads the market itself.
const RETAINED: usize = 64;

/// Orders, each encoded as an event.
#[derive(Debug)]
struct EncodedOrders {
    orders: Vec<EncodedOrder>,
    /// The events of all orders, one after the other.
    events: Bytes,
}

/// An order, and where its event is in the events of the page.
#[derive(Debug)]
struct EncodedOrder {
    id: ArrivalId,
    order: Order,
    event: Range<usize>,
    /// Where the lines after the id are.
    data: Range<usize>,
}

impl EncodedOrders {
    fn of(orders: Vec<(ArrivalId, Order)>) -> Result<Self, Rejection> {
        let mut events = Vec::new();
        let mut encoded = Vec::with_capacity(orders.len());
        for (id, order) in orders {
            let start = events.len();
            write_id(&mut events, id);
            let data = events.len();
            write_data(&mut events, &order)?;
            encoded.push(EncodedOrder {
                id,
                order,
                event: start..events.len(),
                data: data..events.len(),
            });
        }
        Ok(Self {
            orders: encoded,
            events: events.into(),
        })
    }
}

/// The orders that a reader wants; never empty.
#[derive(Debug)]
pub(crate) struct SelectedOrders {
    encoded: Arc<EncodedOrders>,
    /// Indexes of the orders, in ascending order.
    indexes: Vec<usize>,
}

impl SelectedOrders {
    /// Selects the orders that match `condition`; `None` if there are none.
    fn of(encoded: Arc<EncodedOrders>, condition: impl Fn(&EncodedOrder) -> bool) -> Option<Self> {
        let orders = encoded.orders.iter().enumerate();
        let indexes: Vec<usize> = orders
            .filter_map(|(index, order)| condition(order).then_some(index))
            .collect();
        (!indexes.is_empty()).then_some(Self { encoded, indexes })
    }

    fn orders(&self) -> impl Iterator<Item = &EncodedOrder> {
        let order = |index: &usize| self.encoded.orders.get(*index);
        self.indexes.iter().filter_map(order)
    }

    /// The events of the orders. Adjacent events are shared with other readers, not copied.
    pub(crate) fn events(&self) -> Bytes {
        let mut range: Option<Range<usize>> = None;
        for EncodedOrder { event, .. } in self.orders() {
            match &mut range {
                None => range = Some(event.clone()),
                Some(range) if range.end == event.start => range.end = event.end,
                Some(_) => return self.copied(|events, order| write_id(events, order.id)),
            }
        }
        range.map_or_else(Bytes::new, |range| self.encoded.events.slice(range))
    }

    /// The events of the orders, with ids that `id` returns for their positions.
    pub(crate) fn events_named(&self, id: impl Fn(ArrivalId) -> String) -> Bytes {
        self.copied(|events, order| write_id(events, id(order.id)))
    }

    fn copied(&self, write_id: impl Fn(&mut Vec<u8>, &EncodedOrder)) -> Bytes {
        let mut events = Vec::new();
        for order in self.orders() {
            write_id(&mut events, order);
            let data = self.encoded.events.get(order.data.clone());
            events.extend_from_slice(data.unwrap_or_default());
        }
        events.into()
    }
}

/// Orders that were read together.
#[derive(Clone, Debug)]
struct Page {
    /// The position before the first order.
    after: ArrivalId,
    /// The position after the last order.
    last: ArrivalId,
    encoded: Arc<EncodedOrders>,
}

/// The sender while the task runs, and the position after the last broadcast order.
#[derive(Debug)]
struct Broadcast {
    sender: WeakSender<Page>,
    last: ArrivalId,
}

/// The broadcast orders of a market; cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct OrderFeed {
    market: Arc<Market>,
    /// Concurrency limit of the reads.
    lane: Arc<Semaphore>,
    running: Arc<Mutex<Option<Broadcast>>>,
}

/// A receiver of broadcast pages.
#[derive(Debug)]
struct Subscription {
    pages: Receiver<Page>,
    /// The position after which the receiver gets every order.
    from: ArrivalId,
}

impl OrderFeed {
    pub(crate) fn new(market: Arc<Market>, lane: Arc<Semaphore>) -> Self {
        Self {
            market,
            lane,
            running: Arc::default(),
        }
    }

    fn running(&self) -> MutexGuard<'_, Option<Broadcast>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A follower of all orders that `question` selects.
    async fn follower(&self, question: Stream) -> Result<OrderFollower, Rejection> {
        let (market, lane) = (Arc::clone(&self.market), Arc::clone(&self.lane));
        Ok(OrderFollower::begin(market, question, PAGE, lane).await?)
    }

    /// Subscribes to the broadcast pages. Starts the task if it does not run.
    async fn subscribe(&self) -> Result<Subscription, Rejection> {
        let subscribed = |running: &Option<Broadcast>| {
            let Broadcast { sender, last } = running.as_ref()?;
            let pages = sender.upgrade()?.subscribe();
            Some(Subscription { pages, from: *last })
        };
        if let Some(subscription) = subscribed(&self.running()) {
            return Ok(subscription);
        }
        let follower = self.follower(Stream::default()).await?;
        let last = follower.place().ok_or(Rejection::Defect)?;
        let mut running = self.running();
        // Another reader may have started the task in the meantime.
        if let Some(subscription) = subscribed(&running) {
            return Ok(subscription);
        }
        let (sender, pages) = broadcast::channel(RETAINED);
        *running = Some(Broadcast {
            sender: sender.downgrade(),
            last,
        });
        drop(running);
        tokio::spawn(self.clone().broadcast(follower, sender));
        Ok(Subscription { pages, from: last })
    }

    /// Broadcasts orders until there are no readers, the market ends or cannot be read. Each reader then reads the market
    /// itself, which reports the end or the error.
    async fn broadcast(self, mut follower: OrderFollower, sender: Sender<Page>) {
        loop {
            let before = follower.place();
            let update = tokio::select! {
                update = follower.next() => update,
                () = sender.closed() => {
                    // `subscribe` takes the same lock, so no reader is lost.
                    let mut running = self.running();
                    if sender.receiver_count() == 0 {
                        *running = None;
                        return;
                    }
                    continue;
                }
            };
            let (after, orders) = match (update, before) {
                (Ok(OrderUpdate::Orders(orders)), Some(before)) => (before, orders),
                // Without orders, the page makes every reader look for its own gap.
                (Ok(OrderUpdate::Gap { newest, .. }), _) => (newest, Vec::new()),
                _ => return,
            };
            let last = orders.last().map_or(after, |(id, _)| *id);
            let Ok(encoded) = EncodedOrders::of(orders) else {
                return;
            };
            let mut running = self.running();
            if let Some(broadcast) = running.as_mut() {
                broadcast.last = last;
            }
            let encoded = Arc::new(encoded);
            // This fails only without readers.
            let _ = sender.send(Page {
                after,
                last,
                encoded,
            });
        }
    }
}

/// The next item of a stream of orders.
#[derive(Debug)]
pub(crate) enum OrderEvents {
    /// Orders that match the query; never empty.
    Orders(SelectedOrders),
    /// Orders are missing: the stream cannot resume from the position `asked`, and continues from `newest`.
    Gap {
        asked: Option<String>,
        newest: ArrivalId,
    },
    /// The market does not grow any more.
    End,
}

/// Reads the orders of one event stream.
pub(crate) struct OrderReader {
    feed: OrderFeed,
    question: Stream,
    /// `None` once the broadcast has ended.
    subscription: Option<Subscription>,
    /// Reads the market while this reader is behind the broadcast pages.
    follower: Option<Box<OrderFollower>>,
    /// The position after the last order; `None` if the requested position is invalid.
    position: Option<ArrivalId>,
}

impl OrderReader {
    /// Starts after the position in `question`, or after the newest order.
    pub(crate) async fn begin(feed: &OrderFeed, question: Stream) -> Result<Self, Rejection> {
        let subscription = feed.subscribe().await?;
        let follower = feed.follower(question.clone()).await?;
        Ok(Self {
            feed: feed.clone(),
            subscription: Some(subscription),
            position: follower.place(),
            follower: Some(Box::new(follower)),
            question,
        })
    }

    /// The position after the last order; `None` if the requested position is invalid.
    pub(crate) fn position(&self) -> Option<ArrivalId> {
        let follower = self.follower.as_ref();
        follower.map_or(self.position, |follower| follower.place())
    }

    /// Waits for the next item. Cancel safe: no order is lost if the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<OrderEvents, Rejection> {
        loop {
            self.position = self.position();
            if self.is_current() {
                self.follower = None;
            } else if self.follower.is_none() {
                let question = Stream {
                    last_event_id: self.position.map(|position| position.to_string()),
                    ..self.question.clone()
                };
                self.follower = Some(Box::new(self.feed.follower(question).await?));
            }
            let (subscription, follower) = (&mut self.subscription, &mut self.follower);
            tokio::select! {
                biased;
                received = async { match subscription {
                    Some(subscription) => subscription.pages.recv().await,
                    None => pending().await,
                } } => match received {
                    Ok(page) => if let Some(orders) = self.take(page) {
                        return Ok(OrderEvents::Orders(orders));
                    },
                    // The next page shows that pages are missing.
                    Err(RecvError::Lagged(_)) => {}
                    Err(RecvError::Closed) => self.subscription = None,
                },
                update = async { match follower {
                    Some(follower) => follower.next().await,
                    None => pending().await,
                } } => return match update? {
                    OrderUpdate::Orders(orders) => {
                        let encoded = Arc::new(EncodedOrders::of(orders)?);
                        let orders = SelectedOrders::of(encoded, |_| true);
                        Ok(OrderEvents::Orders(orders.ok_or(Rejection::Defect)?))
                    }
                    OrderUpdate::Gap { asked, newest } => Ok(OrderEvents::Gap { asked, newest }),
                    OrderUpdate::End => Ok(OrderEvents::End),
                },
            }
        }
    }

    /// Whether the subscription contains every order after the position.
    fn is_current(&self) -> bool {
        match (&self.subscription, self.position) {
            (Some(subscription), Some(position)) => is_from(subscription.from, position),
            _ => false,
        }
    }

    /// Takes a broadcast page. Returns its orders that match the query, if there are any.
    fn take(&mut self, page: Page) -> Option<SelectedOrders> {
        let position = self.position();
        if let Some(subscription) = &mut self.subscription {
            subscription.from = page.last;
        }
        // Orders between the position and the page are missing, so the follower must read up to the end of the page.
        let position = position.filter(|position| is_from(page.after, *position))?;
        let question = &self.question;
        let wanted = |order: &EncodedOrder| {
            order.id.number > position.number && question.wants(&order.order)
        };
        let orders = SelectedOrders::of(page.encoded, wanted);
        if is_from(position, page.last) {
            self.position = Some(page.last);
            self.follower = None;
        }
        orders
    }
}

/// Whether `position` is `start` or comes after it.
fn is_from(start: ArrivalId, position: ArrivalId) -> bool {
    start.series == position.series && start.number <= position.number
}
