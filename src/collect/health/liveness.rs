//! Whether a socket is told anything at all: who acknowledges everything and answers pings may be mute.
//!
//! Where something is never silent for long beside what a socket is for, the socket is not called live before that has told
//! something, and what an answer to a ping proves is certain once something was told behind it. Where the venue refuses the
//! topic, answers are all there is.

use std::sync::atomic::{AtomicU32, Ordering};

use crate::feeds::Control;
use crate::model::Millis;

/// What is held of what is never silent for long on one socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ControlState {
    /// It has not told anything yet.
    PendingExchange,
    /// It has.
    Seen,
    /// There is none.
    Absent,
}

/// So many sockets of a line in a row have to be told nothing of the topic, neither a word nor an answer, until it is taken for
/// one that the venue does not know any more.
const PASSED_OVER: u32 = 3;

/// How many sockets in a row a line had that took everything but what is never silent, of which nothing was said.
#[derive(Debug, Default)]
pub(crate) struct IgnoredControl(AtomicU32);

impl IgnoredControl {
    /// One more.
    pub(crate) fn count(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    /// It was answered, or told something.
    pub(crate) fn end(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// Whether there is no such topic any more, as far as can be told.
    pub(crate) fn is_certain(&self) -> bool {
        self.0.load(Ordering::Relaxed) >= PASSED_OVER
    }
}

/// The pulse of one socket.
#[derive(Debug)]
pub(crate) struct Liveness {
    state: ControlState,
    /// What an answer to a ping proves once something is told behind it.
    unsure: Option<Millis>,
}

impl Liveness {
    pub(crate) fn new(control: Control) -> Self {
        Self {
            state: match control {
                Control::Topic(_) | Control::ByItself => ControlState::PendingExchange,
                Control::None => ControlState::Absent,
            },
            unsure: None,
        }
    }

    /// Whether there is anything that is never silent for long.
    pub(crate) fn is_watched(&self) -> bool {
        self.state != ControlState::Absent
    }

    /// Whether nothing is live before it has told something.
    pub(crate) fn is_awaited(&self) -> bool {
        self.state == ControlState::PendingExchange
    }

    /// It has told something; gives what answers before that prove.
    pub(crate) fn hear(&mut self) -> Option<Millis> {
        if self.state == ControlState::PendingExchange {
            self.state = ControlState::Seen;
        }
        self.unsure.take()
    }

    /// What is never silent has told something after all.
    pub(crate) fn come_back(&mut self) {
        self.state = ControlState::Seen;
    }

    /// There is nothing that is never silent; gives what answers before that prove.
    pub(crate) fn leave(&mut self) -> Option<Millis> {
        self.state = ControlState::Absent;
        self.unsure.take()
    }

    /// A ping that was said then is answered; gives what that proves.
    pub(crate) fn answer(&mut self, said: Option<Millis>) -> Option<Millis> {
        if self.is_watched() {
            self.unsure = said.or(self.unsure);
            return None;
        }
        said
    }
}

#[cfg(test)]
mod tests {
    use crate::collect::health::liveness::*;

    #[test]
    fn an_answer_proves_something_once_something_is_told_behind_it() {
        let mut pulse = Liveness::new(Control::Topic("always"));
        assert!(pulse.is_awaited());
        assert_eq!(pulse.answer(Some(Millis(5))), None);
        assert_eq!(pulse.answer(None), None);
        assert_eq!(pulse.hear(), Some(Millis(5)));
        assert_eq!((pulse.hear(), pulse.is_awaited()), (None, false));
    }

    #[test]
    fn where_there_is_nothing_that_always_tells_an_answer_is_proof_enough() {
        let mut pulse = Liveness::new(Control::None);
        assert_eq!(pulse.answer(Some(Millis(5))), Some(Millis(5)));
        let mut pulse = Liveness::new(Control::Topic("always"));
        assert_eq!(pulse.answer(Some(Millis(5))), None);
        assert_eq!(pulse.leave(), Some(Millis(5)));
        assert_eq!(pulse.answer(Some(Millis(6))), Some(Millis(6)));
        pulse.come_back();
        assert_eq!(pulse.answer(Some(Millis(7))), None);
        assert!(Liveness::new(Control::ByItself).is_awaited());
    }
}
