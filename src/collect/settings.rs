//! The settings of a collector: addresses of the exchanges, limits, and times.
//!
//! Every setting has a default, so an empty file is valid. A file is TOML:
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

use crate::collect::settings_error;
use crate::collect::settings_error::ShapeError;
use crate::collect::subscription::coin_selection::coins_of;
use crate::feeds::hyperliquid::MOST_WEIGHT;
use crate::feeds::{MARKET, VENUES, Venue, venue};
use crate::model::Millis;
use crate::net::Backoff;

/// An invalid setting.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {message}")]
pub struct SettingsError {
    /// Name of the setting, such as `exchanges.binance.rest`.
    pub setting: String,
    /// What is wrong, with the value and what is allowed.
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
    /// The proxy, such as `socks5h://127.0.0.1:1080`; empty for none, absent for that of the environment.
    pub proxy: Option<String>,
    /// Replacements of paths: from the path that liqdata knows to the one to use.
    pub paths: BTreeMap<String, String>,
    /// Addresses by the name of the host, such as `socket` and `rest`.
    #[serde(flatten)]
    pub hosts: BTreeMap<String, String>,
}

impl fmt::Debug for ExchangeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The address of a proxy may hold a password.
        let proxy = self
            .proxy
            .as_deref()
            .map(|address| match address.rsplit_once('@') {
                Some((_, host)) => format!("***@{host}"),
                None => address.to_owned(),
            });
        f.debug_struct("ExchangeAddress")
            .field("proxy", &proxy)
            .field("paths", &self.paths)
            .field("hosts", &self.hosts)
            .finish()
    }
}

/// Times in seconds.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Pace {
    /// Time limit of opening a connection.
    pub connect: f64,
    /// Time limit of a REST request.
    pub request: f64,
    /// Longest first wait before a reconnect; it doubles with every failure.
    pub retry_first: f64,
    /// Upper bound of that wait.
    pub retry_most: f64,
    /// Time for which a connection must be live to reset that wait.
    pub healthy: f64,
    /// Time limit of the acknowledgement of a subscription.
    pub acknowledge: f64,
    /// Longest first wait before a refused topic is requested again; it grows to eight times that.
    pub resubscribe: f64,
    /// Time between two pings; 0 for the default of the exchange.
    pub ping: f64,
    /// Longest silence of a control stream with one message per second, in proportion for slower ones; 0 for the default
    /// of the exchange.
    pub control: f64,
    /// Age at which a socket is replaced; 0 for the default of the exchange.
    pub rotate: f64,
    /// How long a replaced socket stays open.
    pub overlap: f64,
    /// If an exchange is silent for this time while others send events, it is stale and reconnects.
    pub stale_exchange: f64,
    /// If one of two redundant connections has lacked events of the other one for this time, it is stale and
    /// reconnects.
    pub stale_connection: f64,
    /// Time between two reads of the markets.
    pub instruments: f64,
    /// Least time between two reads of the markets after an unknown one appeared.
    pub instruments_least: f64,
    /// How long a market list must be reported as empty or missing before its markets count as delisted.
    pub delist: f64,
    /// How long a row waits for the contract size of its market.
    pub pending: f64,
    /// How long dedupe keys are remembered, at least.
    pub dedupe: f64,
    /// Time between two polls of open interest, and of exchanges without WebSocket feeds.
    pub poll: f64,
    /// Time between two polls of bars.
    pub bars: f64,
    /// How late the REST data of an exchange may be; 0 for the default of the exchange.
    pub late: f64,
    /// Time between the close of a bar and its request.
    pub settle: f64,
    /// How long rows are gathered before a commit.
    pub commit: f64,
    /// Time between two checkpoints of the coverage.
    pub checkpoint: f64,
    /// How long live rows wait for a full write queue before they are dropped.
    pub patience: f64,
    /// Time between two attempts to write to an archive that refuses.
    pub rewrite: f64,
    /// Largest age of an order from a WebSocket feed.
    pub oldest: f64,
    /// Largest time that an order may be ahead of our clock.
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

/// How the positions of single accounts are polled.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Positions {
    /// The WebSocket address of trades that name both accounts.
    pub socket: String,
    /// The address of requests for the positions of an account.
    pub rest: String,
    /// How many accounts are polled in a round.
    pub accounts: usize,
    /// Time between the starts of two rounds, in seconds.
    pub every: f64,
    /// Most request weight per minute; the exchange allows 1200 for one address.
    pub weight: u32,
}

impl Default for Positions {
    fn default() -> Self {
        Self {
            socket: "wss://api.hyperliquid.xyz".to_owned(),
            rest: "https://api.hyperliquid.xyz".to_owned(),
            accounts: 400,
            every: 900.0,
            weight: 600,
        }
    }
}

/// Coins with bars and open interest by default.
const DEFAULT_COINS: [&str; 6] = ["BTC", "ETH", "SOL", "XRP", "DOGE", "BNB"];

/// All settings of a collector.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Addresses by the name of the exchange.
    pub exchanges: BTreeMap<String, ExchangeAddress>,
    /// Coins of which bars and open interest are collected.
    pub coins: Vec<String>,
    /// Days of bars and open interest that are requested at the start.
    pub history_days: u32,
    /// Most hours of missing orders that are backfilled at the start. If absent: as many as the exchange has, but one
    /// day for a new archive.
    pub backfill_hours: Option<u32>,
    /// Number of connections to each feed of an exchange that offers no backfill: 1 or 2.
    pub redundancy: usize,
    /// Most requests of one backfill of orders; a longer one is split into halves.
    pub backfill_requests: u32,
    /// Days that raw frames of orders are stored; 0 stores none.
    pub raw_days: u32,
    /// Most bytes of stored raw frames on disk; 0 stores none.
    pub raw_bytes: u64,
    /// Whether each order stores its raw frame.
    pub raw: bool,
    /// Most bytes of a frame.
    pub frame_bytes: usize,
    /// Most rows in the write queue; beyond that, connections wait.
    pub queue_rows: usize,
    /// Most rows of one commit.
    pub commit_rows: usize,
    /// Most dedupe keys that are remembered.
    pub dedupe_keys: usize,
    /// Most rows that wait for the contract size of their market.
    pub pending_rows: usize,
    /// Most bytes of the dead letter file.
    pub dead_letter_bytes: u64,
    /// Most bytes of estimated maps per day that a server in the same process stores, compressed; 0 stores none.
    pub maps_bytes: u64,
    /// How positions are polled, if position polling is enabled.
    pub positions: Positions,
    /// Times in seconds.
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
            maps_bytes: 256 << 20,
            positions: Positions::default(),
            pace: Pace::default(),
        }
    }
}

/// Most seconds of a time: a year.
const YEAR: u32 = 31_536_000;

/// The bounds of numbers: name, least and largest value. If a name is that of a table, the bounds apply to each number
/// in it.
const BOUNDS: [(&str, u32, u32); 10] = [
    ("history_days", 0, 3650),
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
            value => check_number(name, value.unwrap_or(&Value::Null), least, most)?,
        }
    }
    Ok(())
}

fn check_number(name: &str, value: &Value, least: u32, most: u32) -> Result<(), SettingsError> {
    // JSON has no numbers for infinite values and NaN.
    let number = value.as_f64().unwrap_or(f64::NAN);
    if (f64::from(least)..=f64::from(most)).contains(&number) {
        return Ok(());
    }
    let message = format!("{value} is not allowed; allowed: {least} to {most}");
    refused(name, message)
}

/// A time of `seconds`.
pub(crate) fn span(seconds: f64) -> Duration {
    // Bounds were checked when the settings were read.
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// `seconds`, or the default of the exchange if they are 0.
pub(crate) fn span_or(seconds: f64, default: Duration) -> Duration {
    if seconds > 0.0 {
        span(seconds)
    } else {
        default
    }
}

/// Milliseconds of `seconds`.
pub(crate) fn millis(seconds: f64) -> i64 {
    i64::try_from(span(seconds).as_millis()).unwrap_or(i64::MAX)
}

/// The error of text that is no TOML or JSON.
fn unreadable(error: &impl fmt::Display) -> SettingsError {
    SettingsError::new("settings", error.to_string().trim_end().to_owned())
}

fn refused(setting: impl Into<String>, message: String) -> Result<(), SettingsError> {
    Err(SettingsError::new(setting, message))
}

impl Settings {
    /// Most milliseconds of orders that are backfilled at the start, if that is limited.
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

    /// Reads settings from a JSON object of the same shape.
    ///
    /// # Errors
    ///
    /// As [`Settings::read`].
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
    /// [`SettingsError`] of the first invalid one.
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
            "{name:?} is not allowed; its name here is {:?}",
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
            // The address is not repeated, as it may hold a password.
            let message = format!(
                "the address is not allowed; allowed: {} addresses, or an empty one for no proxy",
                schemes.map(|scheme| format!("{scheme}://")).join(", ")
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
    for (line, sign) in one.chars().enumerate() {
        let mut next = vec![line + 1];
        let (mut left, mut before) = (line + 1, line);
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
                "socks5h:// addresses, or",
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
    /// Settings of a wrong type, the name and the message of the error.
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
