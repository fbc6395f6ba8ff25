//! A double of Hyperliquid as far as it concerns accounts: trades that name both sides and fills of liquidations over a
//! socket, and `info`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, DuplexStream};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::broadcast;
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_tungstenite::accept_async;
use tokio_tungstenite::tungstenite::Message;

/// Its requests and its answers.
#[derive(Debug, Default)]
struct Inner {
    /// Positions of each account: coin, signed size, entry, leverage with its kind, price of liquidation, value.
    positions: BTreeMap<String, Vec<Value>>,
    /// Coins with their open interest.
    open: Vec<(String, String)>,
    /// Statuses of the answers to the next questions, with their `Retry-After`.
    refusals: VecDeque<(u16, &'static str)>,
    /// Whether no account can be looked at.
    is_broken: bool,
    requests: Vec<(Instant, Value)>,
    subscribed: Vec<String>,
    /// Trades so far, which a new subscription repeats.
    trades: Vec<Value>,
    /// Fills of each account so far, which a new subscription repeats.
    fills: BTreeMap<String, Vec<Value>>,
    /// The accounts with a subscription to their fills.
    users: BTreeSet<String>,
    strange: Vec<String>,
}

/// Its host in memory, before `.invalid`.
pub const HOST: &str = "hyperliquid";

/// Maximum number of accounts with a subscription to their fills.
const MOST_USERS: usize = 10;
/// A message that closes all connections.
const CLOSE: &str = "close";

/// An order of a taker, as its trades and the fills of its makers show it.
#[derive(Debug)]
pub struct MarketOrder<'a> {
    pub coin: &'a str,
    pub taker: &'a str,
    pub is_buy: bool,
    pub hash: &'a str,
    pub time: i64,
    /// Id, maker and size of each trade.
    pub trades: &'a [(u64, &'a str, &'a str)],
    /// The liquidated account, and what the makers' fills are called.
    pub liquidation: Option<(&'a str, &'a str)>,
}

/// The double; it ends where it is dropped.
#[derive(Debug)]
pub struct Hyperliquid {
    address: String,
    inner: Arc<Mutex<Inner>>,
    tape: broadcast::Sender<String>,
    /// Accepts connections on loopback.
    task: Option<JoinHandle<()>>,
}

impl Drop for Hyperliquid {
    fn drop(&mut self) {
        self.task.iter().for_each(JoinHandle::abort);
    }
}

impl Hyperliquid {
    pub async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let inner = Arc::new(Mutex::new(Inner::default()));
        let (tape, _) = broadcast::channel(1000);
        let (of, from) = (Arc::clone(&inner), tape.clone());
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(served(stream, Arc::clone(&of), from.subscribe()));
            }
        });
        Self {
            address,
            inner,
            tape,
            task: Some(task),
        }
    }

    /// A double without a network, for a paused clock.
    pub fn in_memory() -> Self {
        Self {
            address: format!("{HOST}.invalid"),
            inner: Arc::default(),
            tape: broadcast::channel(1000).0,
            task: None,
        }
    }

    /// Opens a socket in memory.
    pub fn connect(&self) -> DuplexStream {
        let (near, far) = tokio::io::duplex(1 << 20);
        let (inner, tape) = (Arc::clone(&self.inner), self.tape.subscribe());
        tokio::spawn(spoken(far, inner, tape));
        near
    }

    /// The status and the body of the answer to a request.
    pub fn ask(&self, body: &str) -> (u16, String) {
        answer(body, &mut self.inner.lock().unwrap())
            .unwrap_or_else(|(status, _)| (status, String::new()))
    }

    pub fn socket(&self) -> String {
        format!("ws://{}", self.address)
    }

    pub fn rest(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Lists a coin of which so much is open.
    pub fn lists(&self, coin: &str, open_interest: &str) {
        let mut inner = self.inner.lock().unwrap();
        inner.open.push((coin.to_owned(), open_interest.to_owned()));
    }

    /// Gives an account a position in place of those it has; none closes them.
    pub fn holds(&self, account: &str, positions: Vec<Value>) {
        self.inner
            .lock()
            .unwrap()
            .positions
            .insert(account.to_owned(), positions);
    }

    /// Answers the next question with a status.
    pub fn refuse(&self, status: u16, retry_after: &'static str) {
        self.inner
            .lock()
            .unwrap()
            .refusals
            .push_back((status, retry_after));
    }

    /// Answers no question for an account, or all of them again.
    pub fn breaks(&self, is_broken: bool) {
        self.inner.lock().unwrap().is_broken = is_broken;
    }

    /// Sends a trade to every subscriber.
    pub fn trades(&self, coin: &str, buyer: &str, seller: &str) {
        let row = json!({"coin": coin, "side": "B", "px": "100.0", "sz": "1.5", "time": 1_787_259_217_020_i64,
            "hash": "0x0", "tid": 8_777_071, "users": [buyer, seller]});
        let _ = self
            .tape
            .send(json!({"channel": "trades", "data": [row]}).to_string());
    }

    /// Sends the trades of an order to every subscriber, and the fills of its makers.
    pub fn takes(&self, order: &MarketOrder<'_>) {
        let mut inner = self.inner.lock().unwrap();
        let (taken, made) = if order.is_buy { ("B", "A") } else { ("A", "B") };
        let mut rows = Vec::new();
        for (id, maker, size) in order.trades {
            let users = if order.is_buy {
                [order.taker, maker]
            } else {
                [maker, order.taker]
            };
            rows.push(
                json!({"coin": order.coin, "side": taken, "px": "100.0", "sz": size, "time": order.time,
                "hash": order.hash, "tid": id, "users": users}),
            );
            let mut fill = json!({"coin": order.coin, "px": "100.0", "sz": size, "side": made, "time": order.time,
                "startPosition": "0.0", "dir": "Open Long", "closedPnl": "0.0", "hash": order.hash, "oid": 1,
                "crossed": false, "fee": "0.0", "tid": id});
            if let Some((account, direction)) = order.liquidation {
                fill["dir"] = json!(direction);
                fill["liquidation"] =
                    json!({"liquidatedUser": account, "markPx": "100.0", "method": "market"});
            }
            inner.adds_fill(maker, fill.clone());
            let data = json!({"user": maker, "fills": [fill]});
            let _ = self
                .tape
                .send(json!({"channel": "userFills", "data": data}).to_string());
        }
        inner.trades.extend(rows.iter().cloned());
        let _ = self
            .tape
            .send(json!({"channel": "trades", "data": rows}).to_string());
    }

    /// Adds a past fill of an account, which only new subscriptions send.
    pub fn filled(&self, account: &str, fill: Value) {
        self.inner.lock().unwrap().adds_fill(account, fill);
    }

    /// Closes all connections.
    pub fn closes(&self) {
        let _ = self.tape.send(CLOSE.to_owned());
    }

    /// The accounts with a subscription to their fills.
    pub fn users(&self) -> BTreeSet<String> {
        self.inner.lock().unwrap().users.clone()
    }

    /// The coins with a subscription to their trades.
    pub fn subscribed(&self) -> Vec<String> {
        self.inner.lock().unwrap().subscribed.clone()
    }

    /// The requested accounts, in order.
    pub fn requested_accounts(&self) -> Vec<String> {
        let inner = self.inner.lock().unwrap();
        let users = inner
            .requests
            .iter()
            .filter_map(|(_, one)| one["user"].as_str());
        users.map(str::to_owned).collect()
    }

    /// The requests in order: when each came, its weight, and its account.
    pub fn requests(&self) -> Vec<(Instant, u32, Option<String>)> {
        let inner = self.inner.lock().unwrap();
        let requests = inner.requests.iter();
        requests
            .map(|(at, one)| match one["user"].as_str() {
                Some(user) => (*at, 2, Some(user.to_owned())),
                None => (*at, 20, None),
            })
            .collect()
    }

    /// The messages it does not know.
    pub fn strange(&self) -> Vec<String> {
        self.inner.lock().unwrap().strange.clone()
    }
}

impl Inner {
    fn adds_fill(&mut self, account: &str, fill: Value) {
        self.fills.entry(account.to_owned()).or_default().push(fill);
    }
}

/// A position as `clearinghouseState` has it.
pub fn position(coin: &str, size: &str, liquidation: Option<&str>, value: &str) -> Value {
    json!({"type": "oneWay", "position": {"coin": coin, "szi": size, "entryPx": "99.5",
        "leverage": {"type": "cross", "value": 20}, "liquidationPx": liquidation, "marginUsed": "1.0", "maxLeverage": 40,
        "positionValue": value, "returnOnEquity": "0.0", "unrealizedPnl": "0.0"}})
}

async fn served(stream: TcpStream, inner: Arc<Mutex<Inner>>, tape: broadcast::Receiver<String>) {
    let mut head = [0; 4];
    while stream
        .peek(&mut head)
        .await
        .is_ok_and(|read| read < head.len() && read > 0)
    {}
    if head.starts_with(b"GET") {
        spoken(stream, inner, tape).await;
    } else {
        answered(stream, &inner).await;
    }
}

async fn spoken(
    stream: impl AsyncRead + AsyncWrite + Unpin,
    inner: Arc<Mutex<Inner>>,
    mut tape: broadcast::Receiver<String>,
) {
    let Ok(mut socket) = accept_async(stream).await else {
        return;
    };
    let mut coins: Vec<String> = Vec::new();
    let mut users: BTreeSet<String> = BTreeSet::new();
    loop {
        let said = tokio::select! {
            said = socket.next() => said,
            trade = tape.recv() => {
                let closed = || inner.lock().unwrap().users.retain(|user| !users.contains(user));
                let Some(trade) = trade.ok().filter(|text| text != CLOSE) else {
                    return closed();
                };
                let frame: Value = serde_json::from_str(&trade).unwrap();
                let is_wanted = match frame["data"]["user"].as_str() {
                    Some(user) => users.contains(user),
                    None => coins.iter().any(|coin| frame["data"][0]["coin"] == **coin),
                };
                if is_wanted && socket.send(Message::text(trade)).await.is_err() {
                    return closed();
                }
                continue;
            }
        };
        let Some(Ok(Message::Text(text))) = said else {
            return;
        };
        let request: Value = serde_json::from_str(&text).unwrap_or_default();
        let subscription = &request["subscription"];
        let mut past = None;
        let user = subscription["user"].as_str().unwrap_or_default().to_owned();
        let reply = match (request["method"].as_str(), subscription["type"].as_str()) {
            (Some("ping"), _) => json!({"channel": "pong"}),
            (Some("subscribe"), Some("userFills")) => {
                let mut inner = inner.lock().unwrap();
                if inner.users.len() < MOST_USERS && inner.users.insert(user.clone()) {
                    users.insert(user.clone());
                    let fills = inner.fills.get(&user).cloned().unwrap_or_default();
                    let data = json!({"isSnapshot": true, "user": user, "fills": fills});
                    past = Some(json!({"channel": "userFills", "data": data}));
                    json!({"channel": "subscriptionResponse", "data": request})
                } else {
                    inner.strange.push(format!("too many accounts: {text}"));
                    json!({"channel": "error", "data": "Cannot track more than 10 total users."})
                }
            }
            (Some("unsubscribe"), Some("userFills")) => {
                users.remove(&user);
                inner.lock().unwrap().users.remove(&user);
                json!({"channel": "subscriptionResponse", "data": request})
            }
            (Some("subscribe"), Some("trades")) => {
                let coin = subscription["coin"].as_str().unwrap().to_owned();
                let mut inner = inner.lock().unwrap();
                inner.subscribed.push(coin.clone());
                if inner.open.iter().any(|(listed, _)| *listed == coin) {
                    let known = inner.trades.iter().filter(|row| row["coin"] == *coin);
                    let known: Vec<Value> = known.cloned().collect();
                    past = Some(json!({"channel": "trades", "data": known}));
                    coins.push(coin);
                    json!({"channel": "subscriptionResponse", "data": request})
                } else {
                    json!({"channel": "error", "data": format!("Invalid subscription {request}")})
                }
            }
            _ => {
                inner.lock().unwrap().strange.push(text.to_string());
                json!({"channel": "error", "data": "unknown"})
            }
        };
        for message in std::iter::once(reply).chain(past) {
            if socket
                .send(Message::text(message.to_string()))
                .await
                .is_err()
            {
                return;
            }
        }
    }
}

/// Answers the questions of one connection, one after the other.
async fn answered(mut stream: TcpStream, inner: &Mutex<Inner>) {
    let mut read = Vec::new();
    loop {
        let body = loop {
            let text = String::from_utf8_lossy(&read).into_owned();
            if let Some((head, rest)) = text.split_once("\r\n\r\n") {
                let length = head.lines().find_map(|line| {
                    let (name, value) = line.split_once(": ")?;
                    name.eq_ignore_ascii_case("content-length")
                        .then(|| value.parse::<usize>().unwrap())
                });
                if let Some(body) = rest.get(..length.unwrap_or(0)) {
                    read = rest.as_bytes()[body.len()..].to_vec();
                    break body.to_owned();
                }
            }
            let mut some = [0; 4096];
            match stream.read(&mut some).await {
                Ok(0) | Err(_) => return,
                Ok(count) => read.extend_from_slice(&some[..count]),
            }
        };
        let reply = reply(&body, &mut inner.lock().unwrap());
        if stream.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

fn reply(body: &str, inner: &mut Inner) -> String {
    match answer(body, inner) {
        Ok((status, answer)) => format!(
            "HTTP/1.1 {status} OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{answer}",
            answer.len()
        ),
        Err((status, header)) => {
            format!("HTTP/1.1 {status} No\r\n{header}content-length: 0\r\n\r\n")
        }
    }
}

/// The status and the body of an answer, or the status and a header of a refusal.
fn answer(body: &str, inner: &mut Inner) -> Result<(u16, String), (u16, String)> {
    if let Some((status, after)) = inner.refusals.pop_front() {
        return Err((status, format!("retry-after: {after}\r\n")));
    }
    let request: Value = serde_json::from_str(body).unwrap_or_default();
    let answer = match request["type"].as_str() {
        Some("metaAndAssetCtxs") => {
            let names = inner
                .open
                .iter()
                .map(|(coin, _)| json!({"name": coin, "szDecimals": 5, "maxLeverage": 40}));
            let contexts = inner
                .open
                .iter()
                .map(|(_, open)| json!({"openInterest": open, "markPx": "100.0"}));
            json!([{"universe": names.collect::<Vec<_>>()}, contexts.collect::<Vec<_>>()])
        }
        Some("clearinghouseState") if inner.is_broken => return Err((422, String::new())),
        Some("clearinghouseState") => {
            let user = request["user"].as_str().unwrap_or_default();
            let positions = inner.positions.get(user).cloned().unwrap_or_default();
            json!({"assetPositions": positions, "marginSummary": {"accountValue": "1.0"}, "time": 1_787_259_217_020_i64,
                "withdrawable": "0.0"})
        }
        _ => {
            inner.strange.push(body.to_owned());
            json!(null)
        }
    };
    inner.requests.push((Instant::now(), request));
    Ok((200, answer.to_string()))
}
