//! What an estimate rests on: a service's remark, or the engine's whole account.

use crate::client::Remarks;
use crate::engine::Explain;

/// What an estimate rests on, as far as that is known.
#[derive(Debug)]
pub(super) enum Ground {
    /// A service said nothing of it.
    Untold,
    /// A service says that open interest is unknown, so that amounts are none.
    Relative,
    /// An engine in this process says all of it.
    Explained(Box<Explain>),
}

impl From<Remarks> for Ground {
    fn from(remarks: Remarks) -> Self {
        if remarks.relative {
            Self::Relative
        } else {
            Self::Untold
        }
    }
}

impl From<Option<Explain>> for Ground {
    fn from(explain: Option<Explain>) -> Self {
        explain.map_or(Self::Untold, |explain| Self::Explained(Box::new(explain)))
    }
}
