//! Hyperliquid accounts: trades with their accounts, open positions and open interest.
//!
//! - Channel: public trades, which name buyer and seller; REST returns the positions of any account.
//! - Side: the side of the position.
//! - Units: amounts and prices are exact decimals read from text. Coins listed in thousands (`kPEPE`) are converted to
//!   single coins.
//! - Source: <https://hyperliquid.gitbook.io/hyperliquid-docs>

use rust_decimal::Decimal;
use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::feeds::error::Error;
use crate::model::{Millis, PositionRow, Side, coin_of_base};

/// Name of the exchange in rows.
pub const EXCHANGE: &str = "hyperliquid";

/// The two accounts of a trade and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct AccountTrade {
    /// Addresses of the buyer and the seller.
    pub accounts: [String; 2],
    /// Value of the trade in USD.
    pub usd: f64,
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

/// The ping message of the client.
pub const PING: &str = r#"{"method":"ping"}"#;
/// Body and weight of the request for the open interest of all coins.
pub const OPEN_COINS: (&str, u32) = (r#"{"type":"metaAndAssetCtxs"}"#, 20);
/// Weight of a request for the positions of an account.
pub const STATE_WEIGHT: u32 = 2;
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
    data: Option<&'a serde_json::value::RawValue>,
}

#[derive(Deserialize)]
struct Trade {
    px: String,
    sz: String,
    users: [String; 2],
}

/// Decodes the trades of a frame; empty for frames of other channels.
///
/// # Errors
///
/// [`Error`] for an unexpected frame.
pub fn trades(frame: &str) -> Result<Vec<AccountTrade>, Error> {
    let frame: Channel<'_> = read(frame)?;
    let (true, Some(data)) = (frame.channel == "trades", frame.data) else {
        return Ok(Vec::new());
    };
    let trades: Vec<Trade> = read(data.get())?;
    let found = trades.into_iter().enumerate().map(|(place, trade)| {
        let number = |name: &str, text: &str| {
            let number = text.parse::<f64>().ok().filter(|one| one.is_finite());
            number.ok_or_else(|| at(format!("data[{place}].{name}"), text, "a number"))
        };
        Ok(AccountTrade {
            usd: number("px", &trade.px)? * number("sz", &trade.sz)?,
            accounts: trade.users,
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

/// Whether a frame acknowledges a subscription.
#[must_use]
pub fn is_subscribed(frame: &str) -> bool {
    #[derive(Deserialize)]
    struct Said {
        channel: String,
        #[serde(rename = "data")]
        _data: Option<IgnoredAny>,
    }
    serde_json::from_str(frame).is_ok_and(|said: Said| said.channel == "subscriptionResponse")
}

/// Returns the error message if the frame refuses a subscription.
#[must_use]
pub fn refusal(frame: &str) -> Option<String> {
    let said: Channel<'_> = serde_json::from_str(frame).ok()?;
    (said.channel == "error").then(|| {
        let data = said.data.map_or("", |data| data.get());
        serde_json::from_str(data).unwrap_or_else(|_| data.to_owned())
    })
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
#[expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]
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
        let frame = r#"{"channel":"trades","data":[{"coin":"BTC","side":"B","px":"100.5","sz":"2","time":1,
            "hash":"0x0","tid":1,"users":["0xa","0xb"]}]}"#;
        let found = trades(frame).unwrap();
        assert_eq!(found[0].accounts, ["0xa", "0xb"]);
        assert!((found[0].usd - 201.0).abs() < 1e-9);
        assert!(trades(r#"{"channel":"pong"}"#).unwrap().is_empty());
        let bad = frame.replace("100.5", "NaN");
        assert!(trades(&bad).unwrap_err().to_string().contains("data[0].px"));
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
