//! The trait for estimates: views of the observations of a source.

use std::fmt::Debug;

use crate::engine::View;
use crate::market::refusal::Refusal;
use crate::model::{Damage, Millis};

/// The history of a coin that a reply is computed from.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RequiredHistory {
    /// Coin symbol.
    pub coin: String,
    /// Length of the window in milliseconds.
    pub range: i64,
    /// Name of the window.
    pub range_name: &'static str,
    /// Whether realised orders are part of the estimate.
    pub orders: bool,
    /// The exchange of these orders; all exchanges if absent.
    pub exchange: Option<String>,
    /// Age in milliseconds at which the last bar is too old for the estimate.
    pub lasts: i64,
}

/// Views of the observations as of an instant; without `as_of`, as of now.
pub(crate) trait ViewSource: Debug + Send + Sync {
    /// Calls `work` with the orders known at `as_of`, and with the history that `needed` asks for.
    fn view(
        &self,
        as_of: Option<Millis>,
        needed: Option<&RequiredHistory>,
        work: &mut dyn FnMut(&View<'_>),
    ) -> Result<(), Refusal>;

    /// The damaged files that may affect the estimate of `needed`; the last bar of the estimate closed at `closed`.
    fn damage_behind(
        &self,
        _needed: &RequiredHistory,
        _closed: Millis,
    ) -> Result<Vec<Damage>, Refusal> {
        Ok(Vec::new())
    }

    /// Whether one view of now shows every earlier instant as it was known then.
    fn shows_the_past(&self) -> bool {
        true
    }

    /// The instant that `as_of` asks about.
    fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        Ok(as_of)
    }

    /// The instant that the source was opened as of, if any.
    fn opened_as_of(&self) -> Option<Millis> {
        None
    }
}

/// The result of `work` on a view of `source`.
pub(crate) fn view_of<T>(
    source: &(impl ViewSource + ?Sized),
    as_of: Option<Millis>,
    needed: Option<&RequiredHistory>,
    work: impl FnOnce(&View<'_>) -> T,
) -> Result<T, Refusal> {
    let (mut work, mut made) = (Some(work), None);
    source.view(as_of, needed, &mut |view| {
        made = work.take().map(|work| work(view));
    })?;
    made.ok_or_else(|| Refusal::defect("a source of observations showed no view"))
}
