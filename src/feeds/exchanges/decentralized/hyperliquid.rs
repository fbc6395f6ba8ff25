//! Hyperliquid accounts: trades with their accounts, fills of liquidations, open positions and open interest.
//!
//! - Channel: public trades, which name buyer and seller; fills of at most [`MOST_USERS`] accounts, which name the
//!   liquidated account; REST returns the positions of any account.
//! - Side: the side of the position; of a liquidation, `side` of the trade is `A` (the taker sold) for a long.
//! - Units: amounts and prices are exact decimals read from text. Coins listed in thousands (`kPEPE`) are converted to
//!   single coins.
//! - Source: <https://hyperliquid.gitbook.io/hyperliquid-docs>

use rust_decimal::Decimal;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::feeds::decoding::event::{Event, PriceKind, product, stripped};
use crate::feeds::decoding::market_name::MarketName;
use crate::feeds::error::Error;
use crate::model::{Millis, PositionRow, Side, coin_of_base, nearest_f64};

/// Name of the exchange in rows.
pub const EXCHANGE: &str = "hyperliquid";

/// Settlement currency of the perpetual contracts that are not builders' markets.
const QUOTE: &str = "USDC";
/// Value of `dir` in a fill of an account that was deleveraged instead of liquidated.
pub(crate) const DELEVERAGED: &str = "Auto-Deleveraging";

/// Pair and coin of a perpetual contract.
pub(crate) fn pair_and_coin(native: &str) -> (String, String) {
    let market = MarketName::new(native, QUOTE);
    (market.symbol(), market.coin())
}

/// A trade with its two accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccountTrade {
    /// The exchange's name of the coin.
    pub native: String,
    /// Addresses of the buyer and the seller.
    pub accounts: [String; 2],
    /// Whether the buyer is the taker.
    pub is_buy: bool,
    /// Price in USDC.
    pub price: Decimal,
    /// Quantity in units of `native`.
    pub size: Decimal,
    /// Time of the block.
    pub time: Millis,
    /// Hash of the transaction; zero for the trades of a TWAP order.
    pub hash: String,
    /// Id of the trade.
    pub id: u64,
}

impl AccountTrade {
    /// Returns the value in USD.
    #[must_use]
    pub fn usd(&self) -> f64 {
        nearest_f64(self.price) * nearest_f64(self.size)
    }

    /// Returns the addresses of taker and maker.
    #[must_use]
    pub fn taker_and_maker(&self) -> (&str, &str) {
        let [buyer, seller] = &self.accounts;
        if self.is_buy {
            (buyer, seller)
        } else {
            (seller, buyer)
        }
    }

    /// Returns the event if the trade liquidated its taker. Its key is that of the same fill in a file of a node.
    ///
    /// # Errors
    ///
    /// [`Error`] if the value does not fit a decimal.
    pub fn liquidation(&self) -> Result<Event, Error> {
        let (symbol, coin) = pair_and_coin(&self.native);
        let (side, letter) = if self.is_buy {
            (Side::Short, 'B')
        } else {
            (Side::Long, 'A')
        };
        let value = product(self.price, self.size)
            .ok_or_else(|| at_place("sz".to_owned(), &self.size.to_string()))?;
        Ok(Event {
            exchange: EXCHANGE,
            symbol,
            coin,
            side,
            price: stripped(self.price),
            price_kind: PriceKind::Fill,
            qty: Some(stripped(self.size)),
            value_usd: Some(stripped(value)),
            timestamp: Some(self.time),
            received_at: None,
            native_id: self.native.clone(),
            sampled: true,
            dedupe_key: format!("{EXCHANGE}|{}|{}|{letter}", self.native, self.id),
            group_id: None,
        })
    }
}

/// A fill in a liquidation, as the counterparty sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LiquidationFill {
    /// Address of the liquidated account.
    pub account: String,
    /// Hash of the transaction.
    pub hash: String,
    /// Time of the block.
    pub time: Millis,
}

/// A message of the WebSocket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccountMessage {
    /// Public trades.
    Trades(Vec<AccountTrade>),
    /// The fills of an account that are part of liquidations. The first message after a subscription has past fills.
    Fills {
        /// Address of the account.
        account: String,
        /// Fills in liquidations; other fills and those of deleveraged accounts are left out.
        fills: Vec<LiquidationFill>,
    },
    /// A subscription was acknowledged; its type, such as `trades`.
    Subscribed(String),
    /// A request was refused, with the reason.
    Refused(String),
    /// Another message.
    Other,
}

/// Open interest of a coin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenCoin {
    /// The exchange's name of the coin.
    pub native: String,
    /// The coin, such as `PEPE` for `kPEPE`.
    pub coin: String,
    /// Open interest in single coins, as the exchange counts it.
    pub open_interest: Decimal,
}

/// Returns the message that subscribes to the trades of a coin.
#[must_use]
pub fn trades_of(native: &str) -> String {
    let subscription = serde_json::json!({"type": "trades", "coin": native});
    serde_json::json!({"method": "subscribe", "subscription": subscription}).to_string()
}

/// Returns the message that begins or ends the subscription to the fills of an account.
#[must_use]
pub fn fills_of(account: &str, is_begin: bool) -> String {
    let method = if is_begin { "subscribe" } else { "unsubscribe" };
    let subscription = serde_json::json!({"type": "userFills", "user": account});
    serde_json::json!({"method": method, "subscription": subscription}).to_string()
}

/// The ping message of the client.
pub const PING: &str = r#"{"method":"ping"}"#;
/// Body and weight of the request for the open interest of all coins.
pub const OPEN_COINS: (&str, u32) = (r#"{"type":"metaAndAssetCtxs"}"#, 20);
/// Weight of a request for the positions of an account.
pub const STATE_WEIGHT: u32 = 2;
/// Maximum number of accounts with subscriptions, per IP address.
pub const MOST_USERS: usize = 10;
/// Maximum request weight per IP address and minute.
pub const MOST_WEIGHT: u32 = 1200;

/// Returns the body of the request for the positions of an account.
#[must_use]
pub fn state_of(account: &str) -> String {
    serde_json::json!({"type": "clearinghouseState", "user": account}).to_string()
}

#[derive(Deserialize)]
struct Channel<'a> {
    channel: String,
    #[serde(borrow)]
    data: Option<&'a RawValue>,
}

#[derive(Deserialize)]
struct Trade {
    coin: String,
    side: String,
    px: String,
    sz: String,
    time: i64,
    hash: String,
    tid: u64,
    users: [String; 2],
}

#[derive(Deserialize)]
struct Fills {
    user: String,
    fills: Vec<Fill>,
}

#[derive(Deserialize)]
struct Fill {
    hash: String,
    time: i64,
    #[serde(default)]
    dir: String,
    #[serde(default)]
    liquidation: Option<Liquidation>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Liquidation {
    liquidated_user: String,
}

#[derive(Deserialize)]
struct Request {
    method: String,
    subscription: Subscription,
}

#[derive(Deserialize)]
struct Subscription {
    #[serde(rename = "type")]
    kind: String,
}

/// Decodes a frame.
///
/// # Errors
///
/// [`Error`] for an unexpected frame.
pub fn account_message(frame: &str) -> Result<AccountMessage, Error> {
    let frame: Channel<'_> = read(frame)?;
    let Some(data) = frame.data.map(RawValue::get) else {
        return Ok(AccountMessage::Other);
    };
    Ok(match frame.channel.as_str() {
        "trades" => AccountMessage::Trades(trades(data)?),
        "userFills" => {
            let Fills { user, fills } = read(data)?;
            let fills = fills.into_iter().filter_map(|fill| {
                let liquidation = fill.liquidation.filter(|_| fill.dir != DELEVERAGED)?;
                Some(LiquidationFill {
                    account: liquidation.liquidated_user,
                    hash: fill.hash,
                    time: Millis(fill.time),
                })
            });
            AccountMessage::Fills {
                account: user,
                fills: fills.collect(),
            }
        }
        "subscriptionResponse" => {
            let request: Request = read(data)?;
            if request.method == "subscribe" {
                AccountMessage::Subscribed(request.subscription.kind)
            } else {
                AccountMessage::Other
            }
        }
        "error" => {
            AccountMessage::Refused(serde_json::from_str(data).unwrap_or_else(|_| data.to_owned()))
        }
        _ => AccountMessage::Other,
    })
}

fn trades(data: &str) -> Result<Vec<AccountTrade>, Error> {
    let trades: Vec<Trade> = read(data)?;
    let found = trades.into_iter().enumerate().map(|(place, trade)| {
        let of = |name: &'static str| move || format!("data[{place}].{name}");
        Ok(AccountTrade {
            is_buy: match trade.side.as_str() {
                "B" => true,
                "A" => false,
                other => return Err(at(of("side")(), other, "A or B")),
            },
            price: exact(of("px"), &trade.px)?,
            size: exact(of("sz"), &trade.sz)?,
            native: trade.coin,
            accounts: trade.users,
            time: Millis(trade.time),
            hash: trade.hash,
            id: trade.tid,
        })
    });
    found.collect()
}

#[derive(Deserialize)]
struct Universe {
    universe: Vec<Listed>,
}

#[derive(Deserialize)]
struct Listed {
    name: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Context {
    open_interest: String,
}

/// Decodes the open interest of every coin from the reply to [`OPEN_COINS`].
///
/// # Errors
///
/// [`Error`] for an unexpected reply.
pub fn open_coins(body: &str) -> Result<Vec<OpenCoin>, Error> {
    let (universe, contexts): (Universe, Vec<Context>) = read(body)?;
    if universe.universe.len() != contexts.len() {
        let (listed, found) = (universe.universe.len(), contexts.len());
        return Err(Error::whole(format!("{listed} coins and {found} contexts")));
    }
    let coins = universe.universe.into_iter().zip(contexts).enumerate();
    let found = coins.map(|(place, (listed, context))| {
        let (coin, scale) = coin_of_base(&listed.name);
        let text = &context.open_interest;
        let open = exact(|| format!("[1][{place}].openInterest"), text)?;
        Ok(OpenCoin {
            native: listed.name,
            coin,
            open_interest: scaled(open, scale, text)?,
        })
    });
    found.collect()
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct State {
    asset_positions: Vec<AssetPosition>,
}

#[derive(Deserialize)]
struct AssetPosition {
    position: Position,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Position {
    coin: String,
    szi: String,
    entry_px: Option<String>,
    leverage: Leverage,
    liquidation_px: Option<String>,
    #[serde(rename = "positionValue")]
    value: String,
}

#[derive(Deserialize)]
struct Leverage {
    #[serde(rename = "type")]
    kind: String,
    value: f64,
}

/// Decodes the open positions of `account` from the reply to [`state_of`], received at `at`.
///
/// The positions become part of a snapshot of many accounts, which is not complete yet. Their time is therefore `at`,
/// and the share is absent.
///
/// # Errors
///
/// [`Error`] for an unexpected reply.
pub fn positions(account: &str, body: &str, at: Millis) -> Result<Vec<PositionRow>, Error> {
    let state: State = read(body)?;
    let mut rows = Vec::with_capacity(state.asset_positions.len());
    for (place, AssetPosition { position }) in state.asset_positions.into_iter().enumerate() {
        let of = |name: &'static str| move || format!("assetPositions[{place}].position.{name}");
        let (coin, scale) = coin_of_base(&position.coin);
        let size = exact(of("szi"), &position.szi)?;
        if size.is_zero() {
            continue;
        }
        let price = |name: &'static str, text: Option<String>| {
            let Some(text) = text else { return Ok(None) };
            let price = exact(of(name), &text)?;
            if scale == 1 {
                return Ok(Some(price));
            }
            // Division by a power of ten is exact.
            let one = price.checked_div(scale.into()).map(|one| one.normalize());
            one.map(Some).ok_or_else(|| at_place(of(name)(), &text))
        };
        rows.push(PositionRow {
            exchange: EXCHANGE.to_owned(),
            account: account.to_owned(),
            coin,
            side: if size.is_sign_negative() {
                Side::Short
            } else {
                Side::Long
            },
            qty: scaled(size.abs(), scale, &position.szi)?,
            entry_price: price("entryPx", position.entry_px)?,
            leverage: Some(position.leverage.value),
            margin_mode: Some(position.leverage.kind),
            liquidation_price: price("liquidationPx", position.liquidation_px)?,
            value_usd: exact(of("positionValue"), &position.value)?.abs(),
            observed_at: at,
            timestamp: at,
            seen_share: None,
        });
    }
    Ok(rows)
}

fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, Error> {
    serde_json::from_str(text).map_err(|fault| Error::whole(fault.to_string()))
}

fn exact(path: impl FnOnce() -> String, text: &str) -> Result<Decimal, Error> {
    Decimal::from_str_exact(text).map_err(|_| at(path(), text, "an exact decimal"))
}

fn scaled(amount: Decimal, scale: u32, text: &str) -> Result<Decimal, Error> {
    let made = amount.checked_mul(scale.into());
    made.ok_or_else(|| at_place(String::new(), text))
}

fn at(path: String, text: &str, wanted: &str) -> Error {
    Error::Unexpected {
        path,
        message: format!("{text:?} is not {wanted}"),
    }
}

fn at_place(path: String, text: &str) -> Error {
    at(path, text, "an amount that fits a decimal exactly")
}

#[cfg(test)]
#[expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "tests"
)]
mod tests {
    use crate::feeds::hyperliquid::*;

    const STATE: &str = r#"{"assetPositions":[
        {"position":{"coin":"BTC","entryPx":"26951.0","leverage":{"type":"cross","value":20},"liquidationPx":"173198.69592357",
            "marginUsed":"10.582271","positionValue":"211.64542","szi":"-0.00785","unrealizedPnl":"-0.08007"},"type":"oneWay"},
        {"position":{"coin":"kPEPE","entryPx":"0.012","leverage":{"type":"isolated","value":3,"rawUsd":"-1.0"},
            "liquidationPx":null,"positionValue":"24.0","szi":"2000.0"},"type":"oneWay"}],
        "marginSummary":{"accountValue":"1182.312496"},"time":1708622398623,"withdrawable":"1010.57173"}"#;

    #[test]
    fn a_state_becomes_positions_in_single_units() {
        let rows = positions("0xa", STATE, Millis(7)).unwrap();
        assert_eq!(rows.len(), 2);
        let (short, long) = (&rows[0], &rows[1]);
        assert_eq!((short.coin.as_str(), short.side), ("BTC", Side::Short));
        assert_eq!(short.qty, Decimal::new(785, 5));
        assert_eq!(
            short.liquidation_price,
            Some(Decimal::new(17_319_869_592_357, 8))
        );
        assert_eq!(
            (short.leverage, short.margin_mode.as_deref()),
            (Some(20.0), Some("cross"))
        );
        assert_eq!((long.coin.as_str(), long.side), ("PEPE", Side::Long));
        assert_eq!(long.qty, 2_000_000.into());
        assert_eq!(long.entry_price, Some(Decimal::new(12, 6)));
        assert_eq!((long.liquidation_price, long.value_usd), (None, 24.into()));
    }

    #[test]
    fn trades_name_both_accounts_and_other_channels_none() {
        let frame = r#"{"channel":"trades","data":[{"coin":"kPEPE","side":"B","px":"100.50","sz":"2","time":1,
            "hash":"0x0","tid":7,"users":["0xa","0xb"]}]}"#;
        let AccountMessage::Trades(found) = account_message(frame).unwrap() else {
            panic!("no trades");
        };
        assert_eq!(found[0].taker_and_maker(), ("0xa", "0xb"));
        assert!((found[0].usd() - 201.0).abs() < 1e-9);
        let event = found[0].liquidation().unwrap();
        assert_eq!((event.coin.as_str(), event.side), ("PEPE", Side::Short));
        assert_eq!(event.dedupe_key, "hyperliquid|kPEPE|7|B");
        let other = account_message(r#"{"channel":"pong"}"#);
        assert_eq!(other.unwrap(), AccountMessage::Other);
        for (was, is, place) in [("100.50", "NaN", "px"), ("\"B\"", "\"C\"", "side")] {
            let fault = account_message(&frame.replace(was, is)).unwrap_err();
            assert!(fault.to_string().contains(&format!("data[0].{place}")));
        }
    }

    #[test]
    fn fills_name_the_liquidated_account_unless_it_was_deleveraged() {
        let fill = |dir: &str, rest: &str| {
            format!(
                r#"{{"coin":"BTC","px":"66653.0","sz":"0.001","side":"A","time":5,"startPosition":"-0.0213","dir":"{dir}",
                "closedPnl":"0.0","hash":"0xe2","oid":55,"crossed":false,"fee":"0.009997","tid":7{rest}}}"#
            )
        };
        let cause =
            r#","liquidation":{"liquidatedUser":"0x36","markPx":"66607.0","method":"market"}"#;
        let rows = [
            fill("Open Short", cause),
            fill("Open Short", ""),
            fill(DELEVERAGED, cause),
        ];
        let frame = format!(
            r#"{{"channel":"userFills","data":{{"isSnapshot":true,"user":"0xa","fills":[{}]}}}}"#,
            rows.join(",")
        );
        let expected = AccountMessage::Fills {
            account: "0xa".to_owned(),
            fills: vec![LiquidationFill {
                account: "0x36".to_owned(),
                hash: "0xe2".to_owned(),
                time: Millis(5),
            }],
        };
        assert_eq!(account_message(&frame).unwrap(), expected);
    }

    #[test]
    fn contexts_stand_in_the_order_of_the_coins() {
        let body = r#"[{"universe":[{"name":"BTC","szDecimals":5},{"name":"kPEPE","szDecimals":0}]},
            [{"openInterest":"688.11","markPx":"14.3","midPx":null},{"openInterest":"5"}]]"#;
        let found = open_coins(body).unwrap();
        assert_eq!(found[0].open_interest, Decimal::new(68_811, 2));
        assert_eq!(
            (found[1].coin.as_str(), found[1].open_interest),
            ("PEPE", 5000.into())
        );
        assert!(open_coins(r#"[{"universe":[]},[{"openInterest":"1"}]]"#).is_err());
    }
}
