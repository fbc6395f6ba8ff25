//! What a collector may be told: where each venue is reached, and every time constant.
//!
//! Everything has a default, so an empty file is a complete one. A file is TOML:
//!
//! ```toml
//! coins = ["BTC", "ETH"]          # whose bars and open interest are collected
//! history_days = 30
//!
//! [venues.binance]
//! socket = "wss://stream.example" # a regional host, a relay, a replay server
//! rest = "https://rest.example"
//! paths = { "/fapi/v1/klines" = "/fapi/v2/klines" }
//!
//! [pace]
//! poll = 300.0                    # seconds, as all of these
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::Deserialize;
use url::Url;

use crate::collect::settings_error;
use crate::collect::settings_error::ShapeError;
use crate::collect::subscription::coin_selection::coins_of;
use crate::feeds::hyperliquid::MOST_WEIGHT;
use crate::feeds::{MARKET, VENUES, Venue, venue};
use crate::model::Millis;
use crate::net::Backoff;

/// A setting that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{setting}: {message}")]
pub struct SettingsError {
    /// Its name, such as `venues.binance.rest`.
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

/// Where one venue is reached.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ExchangeAddress {
    /// The proxy on the way to it, such as `socks5h://127.0.0.1:1080`; empty for none. Absent, it is that of the environment.
    pub proxy: Option<String>,
    /// Paths that have moved: the known one, and where it is now.
    pub paths: BTreeMap<String, String>,
    /// Addresses by the name of the host, such as `socket` and `rest`.
    #[serde(flatten)]
    pub hosts: BTreeMap<String, String>,
}

impl fmt::Debug for ExchangeAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The password in a proxy's address is nobody's business.
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

macro_rules! settings {
    ($(#[$of:meta])* $all:ident { $($(#[$doc:meta])* $name:ident: $type:ty = $default:expr,)+ }) => {
        $(#[$of])*
        #[derive(Clone, Debug, PartialEq, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct $all {
            $($(#[$doc])* pub $name: $type,)+
        }

        impl Default for $all {
            fn default() -> Self {
                Self { $($name: $default,)+ }
            }
        }
    };
}

macro_rules! pace {
    ($($(#[$doc:meta])* $name:ident: $seconds:literal,)+) => {
        settings! {
            /// How long and how often, in seconds.
            #[derive(Copy)]
            Pace { $($(#[$doc])* $name: f64 = $seconds,)+ }
        }

        impl Pace {
            /// The waits before what failed is tried again.
            pub(crate) fn backoff(&self) -> Backoff {
                Backoff::new(span(self.retry_first), span(self.retry_most))
            }

            fn check(&self) -> Result<(), SettingsError> {
                $(check_seconds(concat!("pace.", stringify!($name)), self.$name)?;)+
                Ok(())
            }
        }
    };
}

pace! {
    /// Most patience with the opening of a connection.
    connect: 10.0,
    /// Most patience with one request.
    request: 20.0,
    /// Upper end of the first wait before a connection is tried again; it doubles with every failure.
    retry_first: 1.0,
    /// Upper end of the longest wait.
    retry_most: 60.0,
    /// After so long a healthy connection the waits begin anew.
    healthy: 60.0,
    /// Most patience with the acknowledgement of a subscription.
    acknowledge: 10.0,
    /// Upper end of the first wait before a topic that was refused is asked for again; it grows to eight times as long.
    again: 60.0,
    /// Time between two pings; 0 leaves it to the venue.
    ping: 0.0,
    /// Longest silence of a control stream that tells each second, and of those that tell more rarely in proportion; 0 leaves
    /// it to the venue.
    control: 0.0,
    /// Age at which a socket is replaced; 0 leaves it to the venue.
    rotate: 0.0,
    /// How long a socket that was replaced is still listened to.
    overlap: 2.0,
    /// A venue that is silent for so long while others report is taken for mute.
    mute: 600.0,
    /// One of two sockets that has told nothing for so long since the other told news is taken for mute.
    owed: 40.0,
    /// Time between two readings of the markets.
    instruments: 3600.0,
    /// Least time between two readings of the markets where an unknown one turned up.
    instruments_least: 30.0,
    /// How long a list of markets has to be told as empty, or as not there, until that is believed.
    gone: 21_600.0,
    /// How long a row waits for the multiplier of its market.
    hold: 600.0,
    /// How long a key is remembered, at least.
    remember: 900.0,
    /// Time between two polls of open interest, and of the venues that have no channel.
    poll: 300.0,
    /// Time between two polls of bars.
    bars: 60.0,
    /// How late a venue may tell what it is asked for; 0 leaves it to the venue.
    late: 0.0,
    /// How long a bar is left alone after its close.
    settle: 5.0,
    /// How long rows are gathered before they are committed.
    commit: 0.1,
    /// How often it is written down that the listening goes on.
    seen: 5.0,
    /// Most patience with a full queue before rows are given up.
    patience: 5.0,
    /// Time between two attempts to write where the archive refuses.
    rewrite: 1.0,
    /// Largest age of an order that comes over a socket.
    oldest: 86_400.0,
    /// How far ahead of our clock an order may be.
    ahead: 60.0,
}

/// A time of `seconds`.
pub(crate) fn span(seconds: f64) -> Duration {
    // Checked when the settings were read.
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}

/// `seconds`, or what the venue says where they are 0.
pub(crate) fn span_or(seconds: f64, otherwise: Duration) -> Duration {
    if seconds > 0.0 {
        span(seconds)
    } else {
        otherwise
    }
}

/// Milliseconds of `seconds`.
pub(crate) fn millis(seconds: f64) -> i64 {
    i64::try_from(span(seconds).as_millis()).unwrap_or(i64::MAX)
}

/// Why a text is neither TOML nor JSON.
fn unreadable(error: &impl fmt::Display) -> SettingsError {
    SettingsError::new("settings", error.to_string().trim_end().to_owned())
}

fn refused(setting: impl Into<String>, message: String) -> Result<(), SettingsError> {
    Err(SettingsError::new(setting, message))
}

fn check_seconds(setting: &str, seconds: f64) -> Result<(), SettingsError> {
    if (0.0..=31_536_000.0).contains(&seconds) {
        Ok(())
    } else {
        let message = format!("{seconds} is not allowed; seconds from 0 to 31536000 are");
        refused(setting, message)
    }
}

/// Whose bars and open interest are collected where nobody says.
const DEFAULT_COINS: [&str; 6] = ["BTC", "ETH", "SOL", "XRP", "DOGE", "BNB"];

settings! {
    /// How the positions of single accounts are looked at.
    Positions {
        /// Where trades are heard that name both accounts.
        socket: String = "wss://api.hyperliquid.xyz".to_owned(),
        /// Where an account's positions are asked for.
        rest: String = "https://api.hyperliquid.xyz".to_owned(),
        /// How many accounts are looked at in a round.
        accounts: usize = 400,
        /// Time between the beginnings of two rounds, in seconds.
        every: f64 = 900.0,
        /// Most weight of the questions of a minute; the exchange takes 1200 of one address.
        weight: u32 = 600,
    }
}

impl Positions {
    fn check(&self) -> Result<(), SettingsError> {
        check_address("positions.socket", &self.socket, ["ws", "wss"])?;
        check_address("positions.rest", &self.rest, ["http", "https"])?;
        if !(1..=MOST_ACCOUNTS).contains(&self.accounts) {
            let message = format!("{} is not allowed; 1 to {MOST_ACCOUNTS} are", self.accounts);
            return refused("positions.accounts", message);
        }
        if !(20..=MOST_WEIGHT).contains(&self.weight) {
            let message = format!("{} is not allowed; 20 to {MOST_WEIGHT} are", self.weight);
            return refused("positions.weight", message);
        }
        check_seconds("positions.every", self.every)
    }
}

/// Most accounts that are looked at.
const MOST_ACCOUNTS: usize = 100_000;

settings! {
    /// Everything a collector may be told.
    Settings {
        /// Where the venues are reached, by name.
        venues: BTreeMap<String, ExchangeAddress> = BTreeMap::new(),
        /// The coins whose bars and open interest are collected.
        coins: Vec<String> = DEFAULT_COINS.map(str::to_owned).to_vec(),
        /// How many days of bars and open interest are asked for at the start.
        history_days: u32 = 30,
        /// How many hours of missed liquidations are asked for at the start, at most; absent, as many as the venue has of
        /// what is missing in the archive, and a day where nothing was recorded yet.
        missed_hours: Option<u32> = None,
        /// How many sockets listen to the same where a venue cannot be asked again for what was missed: 1 or 2.
        ears: usize = 2,
        /// Most requests of one back-fill of liquidations of one venue; what takes more is asked for in halves.
        missed_requests: u32 = 10_000,
        /// For how many days the frames are kept from which orders are read, beside the orders; 0 keeps none.
        raw_days: u32 = 30,
        /// Most bytes of them, as they lie on the disk; 0 keeps none.
        raw_bytes: u64 = 2 << 30,
        /// Whether each order keeps the frame it was read from.
        raw: bool = false,
        /// Most bytes of a frame.
        frame_bytes: usize = 16 << 20,
        /// Most rows that wait to be committed; beyond it the sockets are made to wait.
        queue_rows: usize = 65_536,
        /// Most rows of one commit.
        commit_rows: usize = 1000,
        /// Most keys that are remembered.
        remembered: usize = 1_000_000,
        /// Most rows that wait for the multiplier of their market.
        held_rows: usize = 100_000,
        /// Most bytes of the file of what was set aside.
        aside_bytes: u64 = 64 << 20,
        /// Most bytes of the estimated maps of a day that a server in the same process keeps, compressed; 0 keeps none.
        maps_bytes: u64 = 256 << 20,
        /// How positions are looked at, where that is asked for.
        positions: Positions = Positions::default(),
        /// Time constants.
        pace: Pace = Pace::default(),
    }
}

impl Settings {
    /// How far back missed liquidations are asked for at most, in milliseconds, where that is limited.
    pub(crate) fn missed_reach(&self) -> Option<i64> {
        let hours = self.missed_hours.map(i64::from);
        hours.map(|hours| hours.saturating_mul(Millis::HOUR))
    }

    /// The settings of a TOML text.
    ///
    /// # Errors
    ///
    /// [`SettingsError`], which names the setting, its value and what is allowed.
    ///
    /// # Examples
    ///
    /// ```
    /// use liqdata::collect::Settings;
    ///
    /// let settings = Settings::read("[venues.okx]\nrest = \"http://127.0.0.1:8080/okx\"")?;
    /// assert_eq!(settings.history_days, 30);
    /// let refused = Settings::read("[venues.okx]\nrest = \"ftp://example\"").unwrap_err();
    /// assert_eq!(refused.setting, "venues.okx.rest");
    /// # Ok::<(), liqdata::collect::SettingsError>(())
    /// ```
    pub fn read(text: &str) -> Result<Self, SettingsError> {
        let read = toml::from_str::<toml::Value>(text).map_err(|error| unreadable(&error))?;
        settings_error::check_tables(&read)?;
        Self::checked(settings_error::read(read)?)
    }

    /// The settings of a JSON object of the same shape.
    ///
    /// # Errors
    ///
    /// As of [`Settings::read`].
    pub fn read_json(text: &str) -> Result<Self, SettingsError> {
        let read = serde_json::from_str::<serde_json::Value>(text);
        let read = read.map_err(|error| unreadable(&error))?;
        settings_error::check_tables(&read)?;
        Self::checked(settings_error::read(read)?)
    }

    fn checked(read: Self) -> Result<Self, SettingsError> {
        read.check()?;
        Ok(read)
    }

    /// Looks over every setting.
    ///
    /// # Errors
    ///
    /// [`SettingsError`] for the first one that cannot be used.
    pub fn check(&self) -> Result<(), SettingsError> {
        for (name, reach) in &self.venues {
            check_reach(name, reach)?;
        }
        if let Err(message) = coins_of(&self.coins) {
            return refused("coins", message);
        }
        for (setting, value) in [
            ("frame_bytes", self.frame_bytes),
            ("queue_rows", self.queue_rows),
            ("commit_rows", self.commit_rows),
            ("remembered", self.remembered),
        ] {
            if !(1..=1 << 30).contains(&value) {
                let message = format!("{value} is not allowed; 1 to {} are", 1 << 30);
                return refused(setting, message);
            }
        }
        if !(1..=2).contains(&self.ears) {
            return refused("ears", format!("{} is not allowed; 1 or 2 are", self.ears));
        }
        if self.history_days > 3650 {
            let message = format!("{} is not allowed; 0 to 3650 are", self.history_days);
            return refused("history_days", message);
        }
        self.positions.check()?;
        self.pace.check()
    }

    /// The address of `path` at one of a venue's hosts.
    pub(crate) fn address(&self, venue: &Venue, host: &str, path: &str) -> String {
        let known = venue.hosts();
        let default = known
            .iter()
            .find(|(name, _)| *name == host)
            .map_or("", |(_, address)| *address);
        let reach = self.venues.get(venue.name());
        let base = reach
            .and_then(|reach| reach.hosts.get(host))
            .map_or(default, String::as_str);
        let path = reach
            .and_then(|reach| reach.paths.get(path))
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
        "{address:?} is not allowed; a {} or {} address without user info, query or fragment is",
        schemes[0], schemes[1]
    );
    refused(setting, message)
}

fn check_reach(name: &str, reach: &ExchangeAddress) -> Result<(), SettingsError> {
    let Ok(known) = venue(name) else {
        let names: Vec<&str> = VENUES.iter().map(|venue| venue.name()).collect();
        let message = format!("{name:?} is no venue; allowed: {}", names.join(", "));
        return refused("venues", message);
    };
    if known.name() != name {
        let message = format!("{name:?} is spelled {:?} here", known.name());
        return refused("venues", message);
    }
    for (host, address) in &reach.hosts {
        let setting = format!("venues.{name}.{host}");
        let hosts: Vec<&str> = known.hosts().iter().map(|(host, _)| *host).collect();
        if !hosts.contains(&host.as_str()) {
            let message = format!(
                "is no setting of {name}; allowed: {}, paths, proxy",
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
    if let Some(address) = reach.proxy.as_deref().filter(|address| !address.is_empty()) {
        let schemes = ["http", "https", "socks5", "socks5h"];
        let usable =
            Url::parse(address).is_ok_and(|url| schemes.contains(&url.scheme()) && url.has_host());
        if !usable {
            // Not repeated, since there may be a password in it.
            let message = format!(
                "the address is not allowed; one of {} is, or an empty one for no proxy",
                schemes.map(|scheme| format!("{scheme}://")).join(", ")
            );
            return refused(format!("venues.{name}.proxy"), message);
        }
    }
    match reach.paths.iter().find(|(_, path)| !path.starts_with('/')) {
        Some((known, path)) => {
            let message = format!("{path:?} is not allowed; a path begins with /");
            refused(format!("venues.{name}.paths.{known:?}"), message)
        }
        None => check_paths(known, reach),
    }
}

/// Looks whether every path that has moved is one that the venue is asked by.
fn check_paths(venue: &Venue, reach: &ExchangeAddress) -> Result<(), SettingsError> {
    let known = venue.paths();
    let fits = |path: &str, known: &str| match known.split_once(MARKET) {
        Some((before, after)) => path
            .strip_prefix(before)
            .and_then(|rest| rest.strip_suffix(after))
            .is_some_and(|market| !market.is_empty() && !market.contains('/')),
        None => path == known,
    };
    for path in reach.paths.keys() {
        if known.iter().any(|known| fits(path, known)) {
            continue;
        }
        let mut allowed: Vec<&str> = known.iter().map(String::as_str).collect();
        allowed.sort_by_key(|known| distance(path, known));
        let message = format!(
            "is no path of {}; allowed: {}",
            venue.name(),
            allowed.join(", ")
        );
        return refused(format!("venues.{}.paths.{path:?}", venue.name()), message);
    }
    Ok(())
}

/// How many letters have to be put in, taken out or replaced to make one text of another.
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
        let toml = "coins = [\"BTC\"]\nhistory_days = 3\n[venues.okx]\nrest = \"http://127.0.0.1:1\"\n[pace]\npoll = 300\n";
        let json = r#"{"coins": ["BTC"], "history_days": 3, "venues": {"okx": {"rest": "http://127.0.0.1:1"}},
            "pace": {"poll": 300}}"#;
        assert_eq!(Settings::read(toml), Settings::read_json(json));
        let refused = Settings::read_json(r#"{"pace": {"pol": 1}}"#).unwrap_err();
        assert_eq!(refused.setting, "pace.pol");
        assert!(
            refused.message.contains("no setting; allowed: connect, "),
            "{refused}"
        );
    }

    #[test]
    fn hosts_and_paths_are_replaced() {
        let settings = Settings::read(
            "[venues.binance]\nrest = \"http://127.0.0.1:1/b/\"\npaths = {\"/fapi/v1/klines\" = \"/k\"}\n\
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
    fn every_path_of_a_venue_may_be_told_to_have_moved() {
        for venue in VENUES {
            assert!(!venue.paths().is_empty(), "{}", venue.name());
            for path in venue.paths() {
                let path = path.replace(MARKET, "XBT_1");
                let text = format!("[venues.{}.paths]\n{path:?} = \"/moved\"", venue.name());
                Settings::read(&text).unwrap();
            }
        }
        for (one, other, changes) in [("", "ab", 2), ("kitten", "sitting", 3), ("ab", "ab", 0)] {
            assert_eq!(distance(one, other), changes);
        }
    }

    #[test]
    fn a_setting_that_cannot_be_used_is_named() {
        for (text, setting, part) in [
            ("[venues.mtgox]", "venues", "allowed: binance"),
            ("[venues.gateio]", "venues", "\"gate\""),
            (
                "[venues.okx]\nrset = \"http://a\"",
                "venues.okx.rset",
                "allowed: socket, rest, paths",
            ),
            (
                "[venues.okx]\nsocket = \"http://a\"",
                "venues.okx.socket",
                "ws or wss",
            ),
            (
                "[venues.okx]\nrest = \"http://me:you@a\"",
                "venues.okx.rest",
                "without user info",
            ),
            (
                "[venues.okx]\nproxy = \"ftp://a\"",
                "venues.okx.proxy",
                "socks5h:// is, or",
            ),
            ("[pace]\npoll = -1.0", "pace.poll", "-1"),
            (
                "[pace]\npol = 1.0",
                "pace.pol",
                "no setting; allowed: connect, ",
            ),
            ("pase = 1", "pase", "no setting; allowed: venues, coins, "),
            ("queue_rows = 0", "queue_rows", "0 is not allowed"),
            ("ears = 3", "ears", "3 is not allowed; 1 or 2"),
            ("coins = [\" \"]", "coins", "is blank; a coin"),
            ("coins = [\"?\"]", "coins", "no name of a coin"),
            (
                "[venues.okx.paths]\n\"/api/v5/market/histroy-candles\" = \"/x\"",
                "venues.okx.paths.\"/api/v5/market/histroy-candles\"",
                "is no path of okx; allowed: /api/v5/market/history-candles, ",
            ),
            ("history_days = ", "settings", "history_days"),
            (
                "[positions]\nweight = 1300",
                "positions.weight",
                "20 to 1200 are",
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
    /// Each setting of a shape that it cannot have, its name, and what is said of it.
    const MISSHAPEN: [(&str, &str, &str); 9] = [
        (
            "pace = 3",
            "pace",
            "3 is not allowed; a table of settings is",
        ),
        (
            "pace = [1]",
            "pace",
            "a list is not allowed; a table of settings is",
        ),
        (
            "pace.poll = \"soon\"",
            "pace.poll",
            "\"soon\" is not allowed; a number is",
        ),
        (
            "coins = \"BTC\"",
            "coins",
            "\"BTC\" is not allowed; a list is",
        ),
        ("coins = [1.5]", "coins[0]", "1.5 is not allowed; text is"),
        (
            "ears = -1",
            "ears",
            "-1 is not allowed; a whole number of at least 0 is",
        ),
        (
            "history_days = 5000000000",
            "history_days",
            "5000000000 is not allowed; a whole number from 0 to 4294967295 is",
        ),
        ("raw = 1", "raw", "1 is not allowed; true or false is"),
        (
            "venues.okx = 1",
            "venues.okx",
            "1 is not allowed; a table of settings is",
        ),
    ];

    #[test]
    fn a_setting_of_another_shape_is_named_with_its_value_and_what_is_allowed() {
        for (text, setting, message) in MISSHAPEN {
            let refused = Settings::read(text).unwrap_err();
            let said = (refused.setting.as_str(), refused.message.as_str());
            assert_eq!(said, (setting, message), "{text}");
            let json = toml::from_str::<toml::Value>(text).unwrap();
            let json = serde_json::to_string(&json).unwrap();
            assert_eq!(Settings::read_json(&json), Err(refused), "{json}");
        }
        for text in ["[1]", "1", "null"] {
            let refused = Settings::read_json(text).unwrap_err();
            assert_eq!(refused.setting, "settings");
            let allowed = "is not allowed; a table of settings is";
            assert!(refused.message.ends_with(allowed), "{refused}");
        }
    }
}
