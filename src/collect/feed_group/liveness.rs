//! Liveness: whether a connection delivers data at all.
//!
//! A connection may acknowledge every topic and answer pings, yet deliver nothing. Liquidations are rare, so most
//! exchanges have a control stream that is never silent for long. With a control stream, a connection is live only
//! after the first message, and a pong proves receipt only once another message follows. If the exchange refuses the
//! topic of the control stream, pongs alone prove receipt.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::feeds::Control;
use crate::model::Millis;

/// The state of the control stream of one connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ControlState {
    /// No message of the control stream or event has arrived yet.
    PendingExchange,
    /// A message of the control stream or an event has arrived.
    Seen,
    /// There is no control stream, or it was given up.
    Absent,
}

/// After this many sockets in a row without an answer to the control topic, the topic counts as unknown to the
/// exchange.
const IGNORED: u32 = 3;

/// Counts the sockets in a row on which the exchange ignored the topic of the control stream.
#[derive(Debug, Default)]
pub(crate) struct IgnoredControl(AtomicU32);

impl IgnoredControl {
    /// Counts one more socket on which the topic was ignored.
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// Resets the count: the topic was answered, or a control message arrived.
    pub(crate) fn reset(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether enough sockets show that the exchange no longer knows the topic.
    pub(crate) fn is_certain(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= IGNORED
    }
}

/// The liveness of one connection.
#[derive(Debug)]
pub(crate) struct Liveness {
    state: ControlState,
    /// Send time of the last answered ping. Receipt is proven up to this time once a message follows.
    pending: Option<Millis>,
}

impl Liveness {
    pub(crate) fn new(control: Control) -> Self {
        Self {
            state: match control {
                Control::Topic(_) | Control::ByItself => ControlState::PendingExchange,
                Control::None => ControlState::Absent,
            },
            pending: None,
        }
    }

    /// Whether there is a control stream.
    pub(crate) fn is_watched(&self) -> bool {
        self.state != ControlState::Absent
    }

    /// Whether the first message of the control stream is missing.
    pub(crate) fn is_awaited(&self) -> bool {
        self.state == ControlState::PendingExchange
    }

    /// Records that a message arrived. Returns the instant up to which earlier pongs now prove receipt.
    pub(crate) fn on_traffic(&mut self) -> Option<Millis> {
        if self.state == ControlState::PendingExchange {
            self.state = ControlState::Seen;
        }
        self.pending.take()
    }

    /// Records that a message arrived on a control stream that was given up.
    pub(crate) fn restore(&mut self) {
        self.state = ControlState::Seen;
    }

    /// Gives up the control stream. Returns the instant up to which earlier pongs now prove receipt.
    pub(crate) fn drop_control(&mut self) -> Option<Millis> {
        self.state = ControlState::Absent;
        self.pending.take()
    }

    /// Records that the ping sent at `sent` was answered. Returns the instant up to which the answer proves receipt,
    /// unless a message must follow first.
    pub(crate) fn on_answer(&mut self, sent: Option<Millis>) -> Option<Millis> {
        if self.is_watched() {
            self.pending = sent.or(self.pending);
            return None;
        }
        sent
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::feed_group::liveness::*;

    #[test]
    fn a_pong_proves_receipt_once_a_message_follows() {
        let mut liveness = Liveness::new(Control::Topic("always"));
        assert!(liveness.is_awaited());
        assert_eq!(liveness.on_answer(Some(Millis(5))), None);
        assert_eq!(liveness.on_answer(None), None);
        assert_eq!(liveness.on_traffic(), Some(Millis(5)));
        assert_eq!(
            (liveness.on_traffic(), liveness.is_awaited()),
            (None, false)
        );
    }

    #[test]
    fn without_a_control_stream_a_pong_is_proof_enough() {
        let mut liveness = Liveness::new(Control::None);
        assert_eq!(liveness.on_answer(Some(Millis(5))), Some(Millis(5)));
        let mut liveness = Liveness::new(Control::Topic("always"));
        assert_eq!(liveness.on_answer(Some(Millis(5))), None);
        assert_eq!(liveness.drop_control(), Some(Millis(5)));
        assert_eq!(liveness.on_answer(Some(Millis(6))), Some(Millis(6)));
        liveness.restore();
        assert_eq!(liveness.on_answer(Some(Millis(7))), None);
        assert!(Liveness::new(Control::ByItself).is_awaited());
    }
}
