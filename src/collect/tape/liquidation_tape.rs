//! The liquidation tape: finds liquidations among public trades by the fills of watched makers. No I/O.
//!
//! The trades of one account with one transaction hash are one order. A maker's fill names the liquidated account, so
//! one watched maker of an order shows all trades of the order. Recent trades are remembered, because trades and fills
//! arrive in any order. A fill of which no trade is known gives no row.

use std::collections::{BTreeSet, HashMap, VecDeque};

use crate::collect::positions::watch_list::WatchList;
use crate::collect::tape::recall::{LiquidatedUsd, Recall};
use crate::feeds::hyperliquid::{AccountTrade, LiquidationFill, MOST_USERS};
use crate::model::Millis;

/// Number of accounts that are ranked as makers.
const RANKED: usize = 200;
/// How long an order is remembered, in milliseconds.
const MEMORY: i64 = 2 * Millis::MINUTE;
/// Maximum number of remembered trades.
const MOST_TRADES: usize = 100_000;

/// An account and the hash of its transaction.
type TakerKey = (String, String);

/// The key of an order. Transactions without a hash of their own are distinguished by their time.
fn order_key(account: &str, hash: &str, time: Millis) -> TakerKey {
    let digits = hash.strip_prefix("0x").unwrap_or(hash);
    let hash = if digits.bytes().all(|digit| digit == b'0') {
        format!("{hash} {time}")
    } else {
        hash.to_owned()
    };
    (account.to_lowercase(), hash)
}

/// A recent order of a taker.
#[derive(Debug, Default)]
struct TakerOrder {
    trades: Vec<AccountTrade>,
    /// Whether a watched maker filled a part of it.
    is_watched: bool,
    is_liquidation: bool,
}

/// Accounts to subscribe to, and accounts to unsubscribe from.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rotation {
    pub(crate) begin: Vec<String>,
    pub(crate) end: Vec<String>,
}

/// Finds liquidations among trades.
#[derive(Debug)]
pub(crate) struct LiquidationTape {
    makers: WatchList,
    /// The accounts with a subscription, requested or acknowledged.
    requested: BTreeSet<String>,
    /// The accounts of which fills arrive.
    watched: BTreeSet<String>,
    orders: HashMap<TakerKey, TakerOrder>,
    /// The keys of the orders by their first arrival.
    arrivals: VecDeque<(Millis, TakerKey)>,
    /// Number of remembered trades.
    trades: usize,
    recall: Recall,
}

impl Default for LiquidationTape {
    fn default() -> Self {
        Self {
            makers: WatchList::new(RANKED),
            requested: BTreeSet::new(),
            watched: BTreeSet::new(),
            orders: HashMap::new(),
            arrivals: VecDeque::new(),
            trades: 0,
            recall: Recall::default(),
        }
    }
}

impl LiquidationTape {
    /// Adds public trades; returns those that are known to be liquidations.
    pub(crate) fn add_trades(
        &mut self,
        trades: Vec<AccountTrade>,
        now: Millis,
    ) -> Vec<AccountTrade> {
        self.forget(now);
        let mut found = Vec::new();
        // A new subscription repeats past trades. Older ones than those remembered may have been added before.
        let oldest = now.back(MEMORY);
        for trade in trades.into_iter().filter(|trade| trade.time >= oldest) {
            let (taker, maker) = trade.taker_and_maker();
            let (maker, usd) = (maker.to_owned(), trade.usd());
            let is_watched = self.watched.contains(&maker);
            let order = self.remembered(order_key(taker, &trade.hash, trade.time), now);
            let mut known = order.trades.iter();
            if known.any(|known| (known.id, &known.native) == (trade.id, &trade.native)) {
                continue;
            }
            order.is_watched |= is_watched;
            if order.is_liquidation {
                found.push(trade.clone());
            }
            order.trades.push(trade);
            self.trades += 1;
            self.makers.traded(&maker, usd, now);
        }
        found
    }

    /// Adds the fills of an account that are part of liquidations; returns the trades that they show to be
    /// liquidations.
    pub(crate) fn add_fills(
        &mut self,
        account: &str,
        fills: &[LiquidationFill],
        now: Millis,
    ) -> Vec<AccountTrade> {
        self.forget(now);
        if self.requested.contains(account) && self.watched.insert(account.to_owned()) {
            // The first message has the past fills, also those of the remembered orders.
            for order in self.orders.values_mut() {
                let mut makers = order.trades.iter().map(|trade| trade.taker_and_maker().1);
                order.is_watched |= makers.any(|maker| maker == account);
            }
        }
        let mut found = Vec::new();
        for fill in fills {
            let order = self.remembered(order_key(&fill.account, &fill.hash, fill.time), now);
            if !order.is_liquidation {
                order.is_liquidation = true;
                found.extend(order.trades.iter().cloned());
            }
        }
        found
    }

    /// Chooses the most active makers; returns the changes of the subscriptions.
    pub(crate) fn rotate(&mut self, now: Millis) -> Rotation {
        let ranked = self.makers.chosen(now).into_iter();
        let chosen: BTreeSet<String> = ranked.take(MOST_USERS).collect();
        let end: Vec<String> = self.requested.difference(&chosen).cloned().collect();
        for account in &end {
            self.watched.remove(account);
        }
        // Requests that were not acknowledged are repeated.
        let begin = chosen.difference(&self.watched).cloned().collect();
        self.requested = chosen;
        Rotation { begin, end }
    }

    /// Ends all subscriptions, because the connection was lost.
    pub(crate) fn disconnect(&mut self) {
        self.requested.clear();
        self.watched.clear();
    }

    /// Number of accounts of which fills arrive.
    pub(crate) fn watched(&self) -> usize {
        self.watched.len()
    }

    /// Takes the liquidated USD of the forgotten orders since the last call; `None` if there is none.
    pub(crate) fn take_liquidated(&mut self) -> Option<LiquidatedUsd> {
        self.recall.take()
    }

    /// Forgets all orders.
    pub(crate) fn close(&mut self) {
        self.forget(Millis(i64::MAX));
    }

    /// The remembered order of a key.
    fn remembered(&mut self, key: TakerKey, now: Millis) -> &mut TakerOrder {
        let arrivals = &mut self.arrivals;
        self.orders.entry(key).or_insert_with_key(|key| {
            arrivals.push_back((now, key.clone()));
            TakerOrder::default()
        })
    }

    /// Forgets old orders, and the oldest ones if there are too many trades. They count for the recall.
    fn forget(&mut self, now: Millis) {
        let oldest = now.back(MEMORY);
        while let Some((arrived, _)) = self.arrivals.front()
            && (*arrived < oldest || self.trades > MOST_TRADES)
            && let Some((_, key)) = self.arrivals.pop_front()
        {
            let order = self.orders.remove(&key).unwrap_or_default();
            self.trades -= order.trades.len();
            if let Some(first) = order.trades.first() {
                self.recall.add(
                    &first.native,
                    order.trades.len(),
                    order.trades.iter().map(AccountTrade::usd).sum(),
                    order.is_watched,
                    order.is_liquidation,
                );
            }
        }
    }
}

#[cfg(test)]
#[expect(clippy::indexing_slicing, reason = "tests")]
mod tests {
    use std::collections::{BTreeMap, HashSet};

    use rust_decimal::Decimal;

    use crate::collect::tape::liquidation_tape::*;

    const COINS: [&str; 4] = ["BTC", "ETH", "SOL", "kPEPE"];
    const MAKERS: usize = 2000;

    fn trade(
        id: u64,
        order: (&str, &str),
        maker: &str,
        coin: &str,
        usd: u32,
        at: Millis,
    ) -> AccountTrade {
        AccountTrade {
            native: coin.to_owned(),
            accounts: [maker.to_owned(), order.0.to_owned()],
            is_buy: false,
            price: Decimal::ONE,
            size: usd.into(),
            time: at,
            hash: order.1.to_owned(),
            id,
        }
    }

    fn fill(account: &str, hash: &str, at: Millis) -> LiquidationFill {
        LiquidationFill {
            account: account.to_owned(),
            hash: hash.to_owned(),
            time: at,
        }
    }

    fn ids(found: &[AccountTrade]) -> Vec<u64> {
        found.iter().map(|trade| trade.id).collect()
    }

    #[test]
    fn one_fill_shows_the_whole_order_before_and_after_its_trades() {
        let (mut tape, now) = (LiquidationTape::default(), Millis(1_000_000));
        let order = ("0xtaker", "0x1");
        let later = vec![trade(3, order, "0xc", "BTC", 9, now)];
        let first = vec![
            trade(1, order, "0xa", "BTC", 5, now),
            trade(2, order, "0xb", "BTC", 7, now),
            trade(4, ("0xtaker", "0x2"), "0xa", "BTC", 7, now),
            trade(5, ("0xother", "0x1"), "0xa", "BTC", 7, now),
        ];
        assert_eq!(tape.add_trades(first.clone(), now), []);
        let shown = tape.add_fills("0xa", &[fill("0xTaker", "0x1", now)], now);
        assert_eq!(ids(&shown), [1, 2]);
        assert_eq!(ids(&tape.add_trades(later.clone(), now)), [3]);
        // Repeated messages, and a fill of which no trade is known, give nothing.
        assert_eq!(tape.add_trades(first, now), []);
        assert_eq!(
            tape.add_fills("0xa", &[fill("0xtaker", "0x1", now)], now),
            []
        );
        assert_eq!(
            tape.add_fills("0xa", &[fill("0xbefore", "0x0a", now)], now),
            []
        );
        // Trades that are older than the memory may be known already.
        assert_eq!(tape.add_trades(later, now.on(MEMORY + 1)), []);
    }

    #[test]
    fn without_a_hash_the_time_separates_the_orders_of_an_account() {
        let (mut tape, now) = (LiquidationTape::default(), Millis(1_000_000));
        let order = ("0xtaker", "0x0000");
        let trades = vec![
            trade(1, order, "0xa", "BTC", 5, now),
            trade(2, order, "0xa", "BTC", 5, now.on(1)),
        ];
        tape.add_trades(trades, now);
        let shown = tape.add_fills("0xa", &[fill("0xtaker", "0x0000", now.on(1))], now);
        assert_eq!(ids(&shown), [2]);
    }

    #[test]
    fn the_most_active_makers_are_watched_and_replaced() {
        let (mut tape, now) = (LiquidationTape::default(), Millis(1_000_000));
        let of = |tape: &mut LiquidationTape, number: u64, usd: u32| {
            let (hash, maker) = (format!("0x{number}a"), format!("0x{number:02}"));
            let made = trade(number, ("0xtaker", &hash), &maker, "BTC", usd, now);
            tape.add_trades(vec![made], now);
        };
        for number in 1..=12 {
            of(&mut tape, number, 100 - u32::try_from(number).unwrap_or(0));
        }
        let begun = tape.rotate(now);
        assert_eq!(begun.begin.len(), MOST_USERS);
        assert!(!begun.begin.contains(&"0x11".to_owned()));
        for account in &begun.begin {
            tape.add_fills(account, &[], now);
        }
        assert_eq!(tape.rotate(now), Rotation::default());
        of(&mut tape, 13, 1000);
        let expected = Rotation {
            begin: vec!["0x13".to_owned()],
            end: vec!["0x10".to_owned()],
        };
        assert_eq!(tape.rotate(now), expected);
        tape.disconnect();
        assert_eq!(tape.rotate(now).begin.len(), MOST_USERS);
    }

    /// A market with known liquidations: many makers with heavy-tailed activity, which differs by coin and changes.
    struct Simulation {
        random: fastrand::Rng,
        /// The makers of each coin, most active first.
        makers: Vec<Vec<usize>>,
        cumulated: Vec<f64>,
        tape: LiquidationTape,
        now: Millis,
        trades: u64,
        /// The USD of each trade of a liquidation, by id.
        liquidated: BTreeMap<u64, f64>,
        found: HashSet<u64>,
        /// The last fills of each maker in liquidations.
        fills: HashMap<String, Vec<LiquidationFill>>,
        watched: BTreeSet<String>,
        usd: LiquidatedUsd,
    }

    impl Simulation {
        fn new(seed: u64) -> Self {
            let mut random = fastrand::Rng::with_seed(seed);
            let makers = COINS.iter().map(|_| {
                let mut makers: Vec<usize> = (0..MAKERS).collect();
                // The same makers are active in all coins, but not in the same order.
                for _ in 0..60 {
                    makers.swap(random.usize(..60), random.usize(..60));
                }
                makers
            });
            let makers = makers.collect();
            let mut sum = 0.0;
            let cumulated = (1..=MAKERS).map(|rank| {
                sum += f64::from(u32::try_from(rank).unwrap_or(1)).powf(-1.3);
                sum
            });
            let cumulated = cumulated.collect();
            Self {
                random,
                makers,
                cumulated,
                tape: LiquidationTape::default(),
                now: Millis(1_790_000_000_000),
                trades: 0,
                liquidated: BTreeMap::new(),
                found: HashSet::new(),
                fills: HashMap::new(),
                watched: BTreeSet::new(),
                usd: LiquidatedUsd {
                    found: 0.0,
                    estimated: 0.0,
                },
            }
        }

        fn maker(&mut self, coin: usize) -> String {
            let at = self.random.f64() * self.cumulated[MAKERS - 1];
            let rank = self.cumulated.partition_point(|sum| *sum < at);
            format!("0x{:040x}", self.makers[coin][rank])
        }

        /// A number of trades: 1 in half of the orders, with a long tail; more in liquidations.
        fn size(&mut self, is_liquidation: bool) -> usize {
            let tail = if is_liquidation { 0.6 } else { 0.45 };
            let mut size = 1;
            while size < 60 && self.random.f64() < tail + 0.006 * f64::from(size) {
                size += 1;
            }
            usize::try_from(size).unwrap_or(1)
        }

        fn store(&mut self, found: &[AccountTrade]) {
            for trade in found {
                assert!(self.liquidated.contains_key(&trade.id), "no liquidation");
                assert!(self.found.insert(trade.id), "a row is repeated");
            }
        }

        fn order(&mut self, number: u64, is_liquidation: bool) {
            let (coin, size) = (self.random.usize(..COINS.len()), self.size(is_liquidation));
            let (taker, hash) = (format!("0x{number:040x}"), format!("0xf{number:063x}"));
            let (now, unit) = (self.now, (self.random.f64() * 3.0).exp());
            let mut maker = self.maker(coin);
            let mut trades = Vec::new();
            let mut makers = BTreeSet::new();
            for _ in 0..size {
                // A maker often fills several parts of an order.
                if self.random.f64() < 0.7 {
                    maker = self.maker(coin);
                }
                let usd = 10.0 + unit * (self.random.f64() * 2.0).exp();
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "below 10,000"
                )]
                let usd = usd as u32;
                self.trades += 1;
                makers.insert(maker.clone());
                let of = (taker.as_str(), hash.as_str());
                trades.push(trade(self.trades, of, &maker, COINS[coin], usd, now));
            }
            let made = fill(&taker, &hash, now);
            if is_liquidation {
                for trade in &trades {
                    self.liquidated.insert(trade.id, trade.usd());
                }
                for maker in &makers {
                    let fills = self.fills.entry(maker.clone()).or_default();
                    fills.push(made.clone());
                }
            }
            let is_first = self.random.bool();
            if is_first {
                let found = self.tape.add_trades(trades.clone(), now);
                self.store(&found);
            }
            makers.retain(|maker| is_liquidation && self.watched.contains(maker));
            for maker in &makers {
                let found = self.tape.add_fills(maker, std::slice::from_ref(&made), now);
                self.store(&found);
            }
            if !is_first {
                let found = self.tape.add_trades(trades, now);
                self.store(&found);
            }
        }

        /// Changes the subscriptions; each new one begins with the past fills of the maker.
        fn rotate(&mut self) {
            let Rotation { begin, end } = self.tape.rotate(self.now);
            self.watched.retain(|account| !end.contains(account));
            for account in begin {
                let fills = self.fills.get(&account).cloned().unwrap_or_default();
                let past = fills.len().saturating_sub(200);
                let found = self.tape.add_fills(&account, &fills[past..], self.now);
                self.store(&found);
                self.watched.insert(account);
            }
            assert!(self.watched.len() <= MOST_USERS);
        }

        fn record(&mut self) {
            if let Some(usd) = self.tape.take_liquidated() {
                self.usd.found += usd.found;
                self.usd.estimated += usd.estimated;
            }
        }

        /// Runs five hours; half of the orders are liquidations.
        fn run(mut self) -> (f64, f64) {
            let orders = 40_000;
            for number in 1..=orders {
                self.now = self.now.on(self.random.i64(0..900));
                self.order(number, number % 2 == 0);
                if number % 1200 == 0 || number == 50 {
                    self.rotate();
                }
                if number % 7000 == 0 {
                    // The connection is lost, and the last trades are repeated.
                    self.tape.disconnect();
                    self.watched.clear();
                    self.rotate();
                }
                if number % 8000 == 0 {
                    self.record();
                }
                if number == orders / 2 {
                    // Some of the most active makers leave, others take over.
                    for makers in &mut self.makers {
                        makers.swap(2, 40);
                        makers.swap(5, 100);
                    }
                }
            }
            self.tape.close();
            self.record();
            let usd = |is: &dyn Fn(&u64) -> bool| -> f64 {
                let rows = self.liquidated.iter().filter(|(id, _)| is(id));
                rows.map(|(_, usd)| usd).sum()
            };
            let found = usd(&|id| self.found.contains(id));
            assert!((self.usd.found - found).abs() < 1.0);
            (found / usd(&|_| true), self.usd.found / self.usd.estimated)
        }
    }

    #[test]
    fn the_estimated_recall_is_the_true_recall_within_a_point() {
        for seed in 1..=3 {
            let (truth, estimate) = Simulation::new(seed).run();
            assert!((0.5..0.95).contains(&truth), "{truth}");
            assert!((estimate - truth).abs() < 0.01, "{truth} {estimate}");
        }
    }
}
