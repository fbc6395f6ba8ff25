//! The settings of a collector: addresses of the exchanges, limits, and times.
//!
//! Every setting has a default, so an empty file is valid. The settings file is TOML:
//!
//! ```toml
//! coins = ["BTC", "ETH"]          # coins with bars and open interest
//! history_days = 30
//!
//! [exchanges.binance]
//! socket = "wss://stream.example" # a regional host, a relay, a replay server
//! rest = "https://rest.example"
//! paths = { "/fapi/v1/klines" = "/fapi/v2/klines" }
//!
//! [pace]
//! poll = 300.0                    # all times are in seconds
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use url::Url;

use crate::archive::Retention;
use crate::collect::settings::coin_selection::coins_of;
use crate::collect::settings::settings_error;
use crate::collect::settings::settings_error::ShapeError;
use crate::feeds::hyperliquid::MOST_WEIGHT;
use crate::feeds::{MARKET, VENUES, Venue, venue};
use crate::model::Millis;
use crate::net::{Backoff, SCHEMES, without_password};

/// An invalid setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {message}")]
pub struct SettingsError {
    /// Name of the setting, such as `exchanges.binance.rest`.
    pub setting: String,
    /// The error message, with the invalid value and what is allowed.
    pub message: String,
}

impl SettingsError {
    fn new(setting: impl Into<String>, message: String) -> Self {
        Self {
            setting: setting.into(),
            message,
        }
    }
}

impl From<ShapeError> for SettingsError {
    fn from((setting, message): ShapeError) -> Self {
        Self { setting, message }
    }
}

/// The addresses of one exchange.
#[derive(Clone, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(default)]
pub struct ExchangeAddress {
    /// The proxy, such as `socks5h://127.0.0.1:1080`. Empty: no proxy. Absent: the proxy of the environment variables.
    pub proxy: Option<String>,
    /// Replaced URL paths: maps a default path of the exchange to the path to request instead.
    pub paths: BTreeMap<String, String>,
    /// Base URLs by the name of the host, such as `socket` and `rest`.
    #[serde(flatten)]
    pub hosts: BTreeMap<String, String>,
}

impl fmt::Debug for ExchangeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let proxy = self.proxy.as_deref().map(without_password);
        f.debug_struct("ExchangeAddress")
            .field("proxy", &proxy)
            .field("paths", &self.paths)
            .field("hosts", &self.hosts)
            .finish()
    }
}

/// Times and time limits of a collector, in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Time limit of opening a connection.
    pub connect: f64,
    /// Time limit of a REST request.
    pub request: f64,
    /// Maximum first wait before a reconnect; the maximum doubles with every failure.
    pub retry_first: f64,
    /// Maximum wait before any reconnect.
    pub retry_most: f64,
    /// Time for which a connection must be live before the reconnect wait starts again at `retry_first`.
    pub healthy: f64,
    /// Time limit for the exchange to acknowledge a subscription.
    pub acknowledge: f64,
    /// Maximum first wait before a refused topic is requested again; later waits grow to at most eight times this
    /// setting.
    pub resubscribe: f64,
    /// Time between two pings; 0 for the default of the exchange.
    pub ping: f64,
    /// Maximum silence of a control stream, the steady messages that show that a connection delivers data. Applies to a
    /// stream with one message per second; slower streams get proportionally more. 0 selects the default of the
    /// exchange.
    pub control: f64,
    /// Age at which a socket is replaced; 0 for the default of the exchange.
    pub rotate: f64,
    /// How long a replaced socket stays open.
    pub overlap: f64,
    /// An exchange that is silent for this time while other exchanges send events is stale; its connections are
    /// reopened.
    pub stale_exchange: f64,
    /// A connection that has missed events of its redundant counterpart for this time is stale and is reopened.
    pub stale_connection: f64,
    /// Time between two reads of the market lists.
    pub instruments: f64,
    /// Minimum time between two reads of the market lists when an event of an unknown market triggers a read.
    pub instruments_least: f64,
    /// How long a market list must be reported as empty or missing before its markets count as delisted.
    pub delist: f64,
    /// How long a row waits for the contract size of its market.
    pub pending: f64,
    /// How long dedupe keys are remembered, unless there are more than `dedupe_keys`. Events with equal dedupe keys are
    /// duplicates.
    pub dedupe: f64,
    /// Time between two polls of open interest, and between two polls of an exchange without WebSocket feeds.
    pub poll: f64,
    /// Time between two polls of bars.
    pub bars: f64,
    /// Maximum delay between an event and its appearance in REST data; 0 selects the default of the exchange.
    pub late: f64,
    /// Time between the close of a bar and its request.
    pub settle: f64,
    /// How long rows are collected into one commit.
    pub commit: f64,
    /// Time between two writes of the coverage to the archive.
    pub checkpoint: f64,
    /// How long live rows wait for a full write queue before they are dropped.
    pub patience: f64,
    /// Time between two attempts to write to the archive after a failure.
    pub rewrite: f64,
    /// Maximum age of an order from a WebSocket feed.
    pub oldest: f64,
    /// Maximum time by which an order may be ahead of the collector's clock.
    pub ahead: f64,
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            connect: 10.0,
            request: 20.0,
            retry_first: 1.0,
            retry_most: 60.0,
            healthy: 60.0,
            acknowledge: 10.0,
            resubscribe: 60.0,
            ping: 0.0,
            control: 0.0,
            rotate: 0.0,
            overlap: 2.0,
            stale_exchange: 600.0,
            stale_connection: 40.0,
            instruments: 3600.0,
            instruments_least: 30.0,
            delist: 21_600.0,
            pending: 600.0,
            dedupe: 900.0,
            poll: 300.0,
            bars: 60.0,
            late: 0.0,
            settle: 5.0,
            commit: 0.1,
            checkpoint: 5.0,
            patience: 5.0,
            rewrite: 1.0,
            oldest: 86_400.0,
            ahead: 60.0,
        }
    }
}

impl Pace {
    /// The waits between attempts after failures.
    pub(crate) fn backoff(&self) -> Backoff {
        Backoff::new(span(self.retry_first), span(self.retry_most))
    }
}

/// How the trading positions of single accounts are polled.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Positions {
    /// WebSocket address of a trade feed that names the buyer's and the seller's account.
    pub socket: String,
    /// Base URL of requests for the positions of an account.
    pub rest: String,
    /// Number of accounts that are polled in turn.
    pub accounts: usize,
    /// Time between the starts of two rounds, each of which makes a snapshot, in seconds.
    pub every: f64,
    /// Maximum request weight per minute; the exchange allows 1200 per IP address.
    pub weight: u32,
}

impl Default for Positions {
    fn default() -> Self {
        Self {
            socket: "wss://api.hyperliquid.xyz".to_owned(),
            rest: "https://api.hyperliquid.xyz".to_owned(),
            accounts: 4500,
            every: 900.0,
            weight: 600,
        }
    }
}

/// Default coins of which bars and open interest are collected.
const DEFAULT_COINS: [&str; 6] = ["BTC", "ETH", "SOL", "XRP", "DOGE", "BNB"];

/// All settings of a collector.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Addresses of the exchanges, by exchange name.
    pub exchanges: BTreeMap<String, ExchangeAddress>,
    /// Coins of which bars and open interest are collected.
    pub coins: Vec<String>,
    /// Number of past days of bars and open interest to request at the start.
    pub history_days: u32,
    /// Maximum number of hours of missing orders to backfill at the start. If absent, all hours that the exchange still
    /// offers, but one day for a new archive.
    pub backfill_hours: Option<u32>,
    /// Number of connections to each feed of an exchange that offers no backfill: 1 or 2.
    pub redundancy: usize,
    /// Maximum number of requests in one backfill of orders; a time range that needs more is split into halves.
    pub backfill_requests: u32,
    /// Number of days for which raw frames of orders are stored; 0 stores none.
    pub raw_days: u32,
    /// Maximum size of the stored raw frames on disk, in bytes; 0 stores none.
    pub raw_bytes: u64,
    /// Whether the raw frame of each order is stored in its row.
    pub raw: bool,
    /// Maximum size of a WebSocket frame, in bytes.
    pub frame_bytes: usize,
    /// Maximum number of rows in the write queue; while it is full, connections wait.
    pub queue_rows: usize,
    /// Maximum number of rows in one commit.
    pub commit_rows: usize,
    /// Maximum number of dedupe keys that are remembered.
    pub dedupe_keys: usize,
    /// Maximum number of rows that wait for the contract size of their market.
    pub pending_rows: usize,
    /// Maximum size of the file of rejected messages (dead letters), in bytes.
    pub dead_letter_bytes: u64,
    /// Queries with estimated maps that a server in the same process stores, such as `heatmap?symbol=BTC`.
    pub maps: Vec<String>,
    /// Number of days for which stored maps are kept.
    pub maps_days: u32,
    /// Maximum compressed size of all stored maps, in bytes; the oldest days are deleted. 0 stores none.
    pub maps_bytes: u64,
    /// Number of days for which orders are kept; if absent, for ever.
    pub orders_days: Option<u32>,
    /// Number of days for which bars are kept; if absent, for ever.
    pub bars_days: Option<u32>,
    /// Number of days for which open interest is kept; if absent, for ever.
    pub open_interest_days: Option<u32>,
    /// Number of days for which positions are kept; if absent, for ever.
    pub positions_days: Option<u32>,
    /// How positions are polled, if position polling is enabled.
    pub positions: Positions,
    /// Times and time limits, in seconds.
    pub pace: Pace,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            exchanges: BTreeMap::new(),
            coins: DEFAULT_COINS.map(str::to_owned).to_vec(),
            history_days: 30,
            backfill_hours: None,
            redundancy: 2,
            backfill_requests: 10_000,
            raw_days: 30,
            raw_bytes: 2 << 30,
            raw: false,
            frame_bytes: 16 << 20,
            queue_rows: 65_536,
            commit_rows: 1000,
            dedupe_keys: 1_000_000,
            pending_rows: 100_000,
            dead_letter_bytes: 64 << 20,
            maps: Vec::new(),
            maps_days: 30,
            maps_bytes: 1 << 30,
            orders_days: None,
            bars_days: None,
            open_interest_days: None,
            positions_days: None,
            positions: Positions::default(),
            pace: Pace::default(),
        }
    }
}

/// Maximum of every time setting: one year, in seconds.
const YEAR: u32 = 31_536_000;

/// Maximum of the retention settings.
const MOST_DAYS: u32 = 36_500;

/// The bounds of number settings: name, minimum, maximum. If the name is that of a table, the bounds apply to each
/// number in the table.
const BOUNDS: [(&str, u32, u32); 15] = [
    ("history_days", 0, 3650),
    ("orders_days", 1, MOST_DAYS),
    ("bars_days", 1, MOST_DAYS),
    ("open_interest_days", 1, MOST_DAYS),
    ("positions_days", 1, MOST_DAYS),
    ("maps_days", 1, MOST_DAYS),
    ("redundancy", 1, 2),
    ("frame_bytes", 1, 1 << 30),
    ("queue_rows", 1, 1 << 30),
    ("commit_rows", 1, 1 << 30),
    ("dedupe_keys", 1, 1 << 30),
    ("positions.accounts", 1, 100_000),
    ("positions.weight", 20, MOST_WEIGHT),
    ("positions.every", 0, YEAR),
    ("pace", 0, YEAR),
];

/// Checks the numbers of `settings` against [`BOUNDS`].
fn check_bounds(settings: &Value) -> Result<(), SettingsError> {
    for (name, least, most) in BOUNDS {
        let pointer = format!("/{}", name.replace('.', "/"));
        match settings.pointer(&pointer) {
            Some(Value::Object(table)) => {
                for (field, value) in table {
                    check_number(&format!("{name}.{field}"), value, least, most)?;
                }
            }
            // An optional setting is absent.
            Some(Value::Null) if name.ends_with("_days") => {}
            value => check_number(name, value.unwrap_or(&Value::Null), least, most)?,
        }
    }
    Ok(())
}

fn check_number(name: &str, value: &Value, least: u32, most: u32) -> Result<(), SettingsError> {
    // JSON has no numbers for infinity and NaN; they become null.
    let number = value.as_f64().unwrap_or(f64::NAN);
    if (f64::from(least)..=f64::from(most)).contains(&number) {
        return Ok(());
    }
    let message = format!("{value} is not allowed; allowed: {least} to {most}");
    refused(name, message)
}

/// Converts `seconds` to a [`Duration`].
pub(crate) fn span(seconds: f64) -> Duration {
    // Bounds were checked when the settings were read.
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// Converts `seconds` to a [`Duration`]; 0 gives the `default` of the exchange.
pub(crate) fn span_or(seconds: f64, default: Duration) -> Duration {
    if seconds > 0.0 {
        span(seconds)
    } else {
        default
    }
}

/// Converts `seconds` to milliseconds.
pub(crate) fn millis(seconds: f64) -> i64 {
    i64::try_from(span(seconds).as_millis()).unwrap_or(i64::MAX)
}

/// The error for text that is not valid TOML or JSON.
fn unreadable(error: &impl fmt::Display) -> SettingsError {
    SettingsError::new("settings", error.to_string().trim_end().to_owned())
}

fn refused(setting: impl Into<String>, message: String) -> Result<(), SettingsError> {
    Err(SettingsError::new(setting, message))
}

impl Settings {
    /// How long rows are kept.
    pub(crate) fn retention(&self) -> Retention {
        Retention {
            orders: self.orders_days,
            bars: self.bars_days,
            open_interest: self.open_interest_days,
            positions: self.positions_days,
            maps: Some(self.maps_days),
            maps_bytes: Some(self.maps_bytes),
        }
    }

    /// Number of past days of a table with a retention of so many `days` to request at the start.
    pub(crate) fn history_of(&self, days: Option<u32>) -> i64 {
        i64::from(self.history_days.min(days.unwrap_or(u32::MAX)))
    }

    /// Maximum length of the backfill of orders at the start, in milliseconds. `None`: no limit.
    pub(crate) fn backfill_limit(&self) -> Option<i64> {
        let hours = self.backfill_hours.map(i64::from);
        hours.map(|hours| hours.saturating_mul(Millis::HOUR))
    }

    /// Reads settings from TOML.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] with the setting, its value and what is allowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::collect::Settings;
    ///
    /// let settings = Settings::read("[exchanges.okx]\nrest = \"http://127.0.0.1:8080/okx\"")?;
    /// assert_eq!(settings.history_days, 30);
    /// let refused = Settings::read("[exchanges.okx]\nrest = \"ftp://example\"").unwrap_err();
    /// assert_eq!(refused.setting, "exchanges.okx.rest");
    /// # Ok::<(), liqdata::collect::SettingsError>(())
    /// ```
    pub fn read(text: &str) -> Result<Self, SettingsError> {
        let read = toml::from_str::<toml::Value>(text).map_err(|error| unreadable(&error))?;
        settings_error::check_tables(&read)?;
        Self::checked(settings_error::read(read)?)
    }

    /// Reads settings from a JSON object with the structure of the TOML file.
    ///
    /// # Errors
    ///
    /// The same errors as [`Settings::read`].
    pub fn read_json(text: &str) -> Result<Self, SettingsError> {
        let read = serde_json::from_str::<Value>(text);
        let read = read.map_err(|error| unreadable(&error))?;
        settings_error::check_tables(&read)?;
        Self::checked(settings_error::read(read)?)
    }

    fn checked(read: Self) -> Result<Self, SettingsError> {
        read.check()?;
        Ok(read)
    }

    /// Checks every setting.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] for the first invalid setting.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (name, address) in &self.exchanges {
            check_exchange(name, address)?;
        }
        if let Err(message) = coins_of(&self.coins) {
            return refused("coins", message);
        }
        let all = serde_json::to_value(self).map_err(|error| unreadable(&error))?;
        check_bounds(&all)?;
        check_address("positions.socket", &self.positions.socket, ["ws", "wss"])?;
        check_address("positions.rest", &self.positions.rest, ["http", "https"])
    }

    /// The URL of `path` at a host of an exchange.
    pub(crate) fn address(&self, venue: &Venue, host: &str, path: &str) -> String {
        let known = venue.hosts();
        let default = known
            .iter()
            .find(|(name, _)| *name == host)
            .map_or("", |(_, address)| *address);
        let replaced = self.exchanges.get(venue.name());
        let base = replaced
            .and_then(|address| address.hosts.get(host))
            .map_or(default, String::as_str);
        let path = replaced
            .and_then(|address| address.paths.get(path))
            .map_or(path, String::as_str);
        format!("{}{path}", base.trim_end_matches('/'))
    }
}

fn check_address(setting: &str, address: &str, schemes: [&str; 2]) -> Result<(), SettingsError> {
    let usable = Url::parse(address).is_ok_and(|url| {
        schemes.contains(&url.scheme())
            && url.has_host()
            && url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none()
    });
    if usable {
        return Ok(());
    }
    let message = format!(
        "{address:?} is not allowed; allowed: a {} or {} address without user info, query or fragment",
        schemes[0], schemes[1]
    );
    refused(setting, message)
}

fn check_exchange(name: &str, exchange: &ExchangeAddress) -> Result<(), SettingsError> {
    let Ok(known) = venue(name) else {
        let names: Vec<&str> = VENUES.iter().map(|venue| venue.name()).collect();
        let message = format!("{name:?} is not an exchange; allowed: {}", names.join(", "));
        return refused("exchanges", message);
    };
    if known.name() != name {
        let message = format!(
            "{name:?} is not allowed; the name of this exchange is {:?}",
            known.name()
        );
        return refused("exchanges", message);
    }
    for (host, address) in &exchange.hosts {
        let setting = format!("exchanges.{name}.{host}");
        let hosts: Vec<&str> = known.hosts().iter().map(|(host, _)| *host).collect();
        if !hosts.contains(&host.as_str()) {
            let message = format!(
                "is not a setting of {name}; allowed: {}, paths, proxy",
                hosts.join(", ")
            );
            return refused(setting, message);
        }
        let schemes = if host == "socket" {
            ["ws", "wss"]
        } else {
            ["http", "https"]
        };
        check_address(&setting, address, schemes)?;
    }
    if let Some(address) = exchange
        .proxy
        .as_deref()
        .filter(|address| !address.is_empty())
    {
        let schemes = ["http", "https", "socks5", "socks5h"];
        let usable =
            Url::parse(address).is_ok_and(|url| schemes.contains(&url.scheme()) && url.has_host());
        if !usable {
            let message = format!(
                "{:?} is not the address of a proxy; allowed: {SCHEMES} with a host and a port, or an empty text for no \
                 proxy",
                without_password(address)
            );
            return refused(format!("exchanges.{name}.proxy"), message);
        }
    }
    match exchange
        .paths
        .iter()
        .find(|(_, path)| !path.starts_with('/'))
    {
        Some((known, path)) => {
            let message = format!("{path:?} is not allowed; allowed: a path that begins with /");
            refused(format!("exchanges.{name}.paths.{known:?}"), message)
        }
        None => check_paths(known, exchange),
    }
}

/// Checks that every replaced path is one that the exchange uses.
fn check_paths(venue: &Venue, exchange: &ExchangeAddress) -> Result<(), SettingsError> {
    let known = venue.paths();
    let fits = |path: &str, known: &str| match known.split_once(MARKET) {
        Some((before, after)) => path
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|market| !market.is_empty() && !market.contains('/')),
        None => path == known,
    };
    for path in exchange.paths.keys() {
        if known.iter().any(|known| fits(path, known)) {
            continue;
        }
        let mut allowed: Vec<&str> = known.iter().map(String::as_str).collect();
        allowed.sort_by_key(|known| distance(path, known));
        let message = format!(
            "is not a path of {}; allowed: {}",
            venue.name(),
            allowed.join(", ")
        );
        return refused(
            format!("exchanges.{}.paths.{path:?}", venue.name()),
            message,
        );
    }
    Ok(())
}

/// The edit distance of two texts.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (number, sign) in one.chars().enumerate() {
        let mut next = vec![number + 1];
        let (mut left, mut before) = (number + 1, number);
        for (letter, above) in other.iter().zip(row.iter().skip(1)) {
            let replaced = before + usize::from(*letter != sign);
            left = replaced.min(left + 1).min(above + 1);
            before = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn an_empty_file_is_complete() {
        assert_eq!(Settings::read("").unwrap(), Settings::default());
        Settings::default().check().unwrap();
    }

    #[test]
    fn toml_and_json_of_one_shape_are_the_same_settings() {
        let toml = "coins = [\"BTC\"]\nhistory_days = 3\n[exchanges.okx]\nrest = \"http://127.0.0.1:1\"\n[pace]\npoll = 300\n";
        let json = r#"{"coins": ["BTC"], "history_days": 3, "exchanges": {"okx": {"rest": "http://127.0.0.1:1"}},
            "pace": {"poll": 300}}"#;
        assert_eq!(Settings::read(toml), Settings::read_json(json));
        let refused = Settings::read_json(r#"{"pace": {"pol": 1}}"#).unwrap_err();
        assert_eq!(refused.setting, "pace.pol");
        assert!(
            refused
                .message
                .contains("not a setting; allowed: connect, "),
            "{refused}"
        );
    }

    #[test]
    fn hosts_and_paths_are_replaced() {
        let settings = Settings::read(
            "[exchanges.binance]\nrest = \"http://127.0.0.1:1/b/\"\npaths = {\"/fapi/v1/klines\" = \"/k\"}\n\
             [pace]\npoll = 2.5\n",
        )
        .unwrap();
        let binance = venue("binance").unwrap();
        let address = |host, path| settings.address(binance, host, path);
        assert_eq!(address("rest", "/fapi/v1/klines"), "http://127.0.0.1:1/b/k");
        assert_eq!(address("rest", "/x"), "http://127.0.0.1:1/b/x");
        assert_eq!(
            address("socket", "/market/ws"),
            "wss://fstream.binance.com/market/ws"
        );
        assert_eq!(span(settings.pace.poll), Duration::from_millis(2500));
    }

    #[test]
    fn every_path_of_an_exchange_can_be_replaced() {
        for venue in VENUES {
            assert!(!venue.paths().is_empty(), "{}", venue.name());
            for path in venue.paths() {
                let path = path.replace(MARKET, "XBT_1");
                let text = format!("[exchanges.{}.paths]\n{path:?} = \"/moved\"", venue.name());
                Settings::read(&text).unwrap();
            }
        }
        for (one, other, changes) in [("", "ab", 2), ("kitten", "sitting", 3), ("ab", "ab", 0)] {
            assert_eq!(distance(one, other), changes);
        }
    }

    #[test]
    fn an_invalid_setting_is_named() {
        for (text, setting, part) in [
            ("[exchanges.mtgox]", "exchanges", "allowed: binance"),
            ("[exchanges.gateio]", "exchanges", "\"gate\""),
            (
                "[exchanges.okx]\nrset = \"http://a\"",
                "exchanges.okx.rset",
                "allowed: socket, rest, paths",
            ),
            (
                "[exchanges.okx]\nsocket = \"http://a\"",
                "exchanges.okx.socket",
                "ws or wss",
            ),
            (
                "[exchanges.okx]\nrest = \"http://me:you@a\"",
                "exchanges.okx.rest",
                "without user info",
            ),
            (
                "[exchanges.okx]\nproxy = \"ftp://a\"",
                "exchanges.okx.proxy",
                "socks5h:// with a host and a port, or",
            ),
            ("[pace]\npoll = -1.0", "pace.poll", "-1"),
            (
                "[pace]\npol = 1.0",
                "pace.pol",
                "not a setting; allowed: connect, ",
            ),
            (
                "pase = 1",
                "pase",
                "not a setting; allowed: exchanges, coins, ",
            ),
            ("queue_rows = 0", "queue_rows", "0 is not allowed"),
            (
                "redundancy = 3",
                "redundancy",
                "3 is not allowed; allowed: 1 to 2",
            ),
            ("coins = [\" \"]", "coins", "is blank; a coin"),
            ("coins = [\"?\"]", "coins", "not a coin name"),
            (
                "[exchanges.okx.paths]\n\"/api/v5/market/histroy-candles\" = \"/x\"",
                "exchanges.okx.paths.\"/api/v5/market/histroy-candles\"",
                "is not a path of okx; allowed: /api/v5/market/history-candles, ",
            ),
            ("history_days = ", "settings", "history_days"),
            (
                "[positions]\nweight = 1300",
                "positions.weight",
                "allowed: 20 to 1200",
            ),
            (
                "[positions]\nrest = \"ws://a\"",
                "positions.rest",
                "http or https",
            ),
        ] {
            let refused = Settings::read(text).unwrap_err();
            assert_eq!(refused.setting, setting, "{text}");
            assert!(refused.message.contains(part), "{refused}");
        }
    }
    /// Settings of a wrong type, each with the setting name and the message of the expected error.
    const MISSHAPEN: [(&str, &str, &str); 9] = [
        (
            "pace = 3",
            "pace",
            "3 is not allowed; allowed: a table of settings",
        ),
        (
            "pace = [1]",
            "pace",
            "a list is not allowed; allowed: a table of settings",
        ),
        (
            "pace.poll = \"soon\"",
            "pace.poll",
            "\"soon\" is not allowed; allowed: a number",
        ),
        (
            "coins = \"BTC\"",
            "coins",
            "\"BTC\" is not allowed; allowed: a list",
        ),
        (
            "coins = [1.5]",
            "coins[0]",
            "1.5 is not allowed; allowed: text",
        ),
        (
            "redundancy = -1",
            "redundancy",
            "-1 is not allowed; allowed: a whole number of at least 0",
        ),
        (
            "history_days = 5000000000",
            "history_days",
            "5000000000 is not allowed; allowed: a whole number from 0 to 4294967295",
        ),
        ("raw = 1", "raw", "1 is not allowed; allowed: true or false"),
        (
            "exchanges.okx = 1",
            "exchanges.okx",
            "1 is not allowed; allowed: a table of settings",
        ),
    ];

    #[test]
    fn a_setting_of_another_type_is_named_with_its_value_and_what_is_allowed() {
        for (text, setting, message) in MISSHAPEN {
            let refused = Settings::read(text).unwrap_err();
            let error = (refused.setting.as_str(), refused.message.as_str());
            assert_eq!(error, (setting, message), "{text}");
            let json = toml::from_str::<toml::Value>(text).unwrap();
            let json = serde_json::to_string(&json).unwrap();
            assert_eq!(Settings::read_json(&json), Err(refused), "{json}");
        }
        for text in ["[1]", "1", "null"] {
            let refused = Settings::read_json(text).unwrap_err();
            assert_eq!(refused.setting, "settings");
            let allowed = "is not allowed; allowed: a table of settings";
            assert!(refused.message.ends_with(allowed), "{refused}");
        }
    }
}
