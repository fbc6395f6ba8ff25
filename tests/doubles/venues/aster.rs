//! Aster: Binance's shape on the old paths, which still carry data here.

use crate::doubles::book::Book;
use crate::doubles::dialect::Dialect;
use crate::doubles::market::{Market, Unit};
use crate::doubles::quota::Quota;
use crate::doubles::rest::{Answer, Ask};
use crate::doubles::session::Session;
use crate::doubles::truth::Truth;
use crate::doubles::venues::binance::{
    UM, beat_with, force_order, futures, speak, take_path, topics,
};

#[derive(Debug)]
pub struct Aster;

static MARKETS: [Market; 4] = [
    Market::new(
        "BTCUSDT",
        ["BTC", "USDT"],
        Unit::Base,
        UM,
        (826_505, 1),
        (1, 3),
    ),
    Market::new(
        "ETHUSDT",
        ["ETH", "USDT"],
        Unit::Base,
        UM,
        (244_620, 2),
        (1, 3),
    ),
    Market::new(
        "PAIRUSDT",
        ["PAIR", "USDT"],
        Unit::Base,
        UM,
        (44_461, 7),
        (1, 0),
    ),
    Market::new(
        "NEWUSDT",
        ["NEW", "USDT"],
        Unit::Base,
        UM,
        (1234, 4),
        (1, 0),
    )
    .unlisted(),
];

impl Dialect for Aster {
    fn venue(&self) -> &'static str {
        "aster"
    }

    fn markets(&self) -> &'static [Market] {
        &MARKETS
    }

    fn open(&self, session: &mut Session, _book: &Book) -> Result<(), u16> {
        let path = session.path.clone();
        take_path(session, &path)
    }

    fn hear(&self, session: &mut Session, text: &str, book: &Book) {
        speak(session, text, 10, 200, book);
    }

    fn beat(&self, session: &mut Session, beat: u64, muted: bool, book: &Book) {
        beat_with(session, beat, muted, (300, 900), book);
    }

    fn topics(&self, market: &Market) -> Vec<String> {
        topics(market)
    }

    fn render(&self, topic: &str, truths: &[Truth], _book: &Book) -> Vec<String> {
        truths
            .iter()
            .map(|truth| force_order(topic, truth, false))
            .collect()
    }

    fn quota(&self, _ask: &Ask) -> Option<(Quota, u64)> {
        Some((Quota::new("weight of 2400 in a minute", 2400, 60, 429), 1))
    }

    fn rest(&self, ask: &Ask, book: &Book) -> Answer {
        match ask.behind("/fapi/v3/").or(ask.behind("/fapi/v1/")) {
            Some(rest) => futures(rest, UM, ask, book),
            None => Answer::not_found(),
        }
    }
}
