//! Views of an archive, for estimates and for totals of liquidation orders.

use crate::engine::View;
use crate::market::refusal::Refusal;
use crate::market::source::archive::archive_source::ArchiveSource;
use crate::market::source::archive::day_cache;
use crate::market::source::archive::ledgers::LedgerQuestion;
use crate::market::source::view_source::RequiredHistory;
use crate::market::source::view_source::ViewSource;
use crate::model::{Damage, Millis};

impl ViewSource for ArchiveSource {
    fn view(
        &self,
        as_of: Option<Millis>,
        needed: Option<&RequiredHistory>,
        work: &mut dyn FnMut(&View<'_>),
    ) -> Result<(), Refusal> {
        let reader = self.reader(as_of);
        self.current()?;
        let at = self.asked(as_of)?;
        if let Some(needed) = needed {
            let (now, number) = if let Some(at) = at {
                (at, None)
            } else {
                let live = self.live()?;
                let number = live.of_coin(&needed.coin).number;
                (live.ring.now(), Some(number))
            };
            if let Some(ledger) = &needed.ledger {
                let found = reader.ledger_history(LedgerQuestion {
                    needed,
                    ledger,
                    now,
                    as_of: at,
                    number,
                })?;
                let view = found.observations.at_instant(now).with_fits(reader);
                work(&view.with_ledgers(&found.checkpoints));
                return Ok(());
            }
            let found = reader
                .days
                .observations(&reader.archive, needed, now, at, number)?;
            work(&found.at_instant(now).with_fits(reader));
        } else if let Some(at) = at {
            work(&self.ring(reader, at)?.view(&self.nothing));
        } else {
            work(&self.live()?.ring.view(&self.nothing));
        }
        Ok(())
    }

    fn damage_behind(
        &self,
        needed: &RequiredHistory,
        closed: Millis,
    ) -> Result<Vec<Damage>, Refusal> {
        let kinds: &[&str] = if needed.orders {
            &["bars", "open_interest", "orders"]
        } else {
            &["bars", "open_interest"]
        };
        let from = day_cache::rests_from(needed, closed);
        let found = self
            .back
            .archive
            .integrity()
            .damage_within(kinds, from, closed.on(1))?;
        Ok(found.into_iter().map(Into::into).collect())
    }

    /// Bars and open interest are filtered by time of receipt too, so each instant needs its own history.
    fn shows_the_past(&self) -> bool {
        false
    }

    fn opened_as_of(&self) -> Option<Millis> {
        self.as_of
    }

    fn instant(&self, as_of: Option<Millis>) -> Result<Option<Millis>, Refusal> {
        self.current()?;
        self.asked(as_of)
    }
}
