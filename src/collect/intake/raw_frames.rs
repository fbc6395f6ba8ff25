//! Which of what comes in is kept as it came: every frame and body of which rows were made, or of which it cannot be told
//! whether rows are in it, and the lists of markets by which they are read.
//!
//! Heartbeats, control streams, trades that are no liquidations and what tells nothing but what was heard before are not.

use crate::archive::{RawLine, RawLineKind};
use crate::collect::intake::intake::Intake;
use crate::collect::venue_tasks::VenueTasks;
use crate::feeds::Ask;
use crate::model::Millis;

/// A request as it is written down: its path and query.
pub(crate) fn asked(ask: &Ask) -> String {
    let query = ask.query.iter();
    let query: Vec<String> = query
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    format!("{}?{}", ask.path, query.join("&"))
}

impl Intake {
    /// Keeps a frame of a socket.
    pub(crate) fn keep_frame(&self, text: &str, now: Millis) {
        if self.delivery.raw.is_on() {
            self.delivery.raw.offer(RawLine {
                frame: text.to_owned(),
                ..RawLine::new(self.name(), now, RawLineKind::Socket)
            });
        }
    }

    /// Keeps the body of a reply.
    pub(crate) fn keep_body(&self, ask: &Ask, body: &str, now: Millis) {
        if self.delivery.raw.is_on() {
            self.delivery.raw.offer(RawLine {
                market: ask.market.clone(),
                from: Some(ask.from),
                until: Some(ask.until),
                frame: body.to_owned(),
                ..RawLine::new(self.name(), now, RawLineKind::Request)
            });
        }
    }
}

impl VenueTasks {
    /// A page of a list of markets, as it is kept; `None` where nothing is.
    pub(crate) fn page(&self, list: usize, page: usize, ask: &Ask, body: &str) -> Option<RawLine> {
        let number = |number: usize| u32::try_from(number).ok();
        self.intake.delivery.raw.is_on().then(|| RawLine {
            list: number(list),
            page: number(page),
            request: Some(asked(ask)),
            frame: body.to_owned(),
            ..RawLine::new(
                self.intake.name(),
                self.intake.clock.now(),
                RawLineKind::Markets,
            )
        })
    }

    /// Keeps a list of markets that is another than before.
    pub(crate) fn keep_markets(&self, list: usize, pages: Vec<RawLine>) {
        if let Ok(list) = u32::try_from(list)
            && !pages.is_empty()
        {
            let raw = &self.intake.delivery.raw;
            raw.markets(self.intake.name(), list, pages);
        }
    }
}
