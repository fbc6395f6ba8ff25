//! Whether a venue's rows mean what they are taken for: asked of the venue itself, where the documents can be read in more
//! than one way.

use crate::collect::quarantine::retract::DOUBT;
use crate::collect::settings::span;
use crate::collect::venue_tasks::{Failure, VenueTasks};
use crate::model::Millis;

/// What a venue's own replies say of how its rows are read.
#[derive(Debug)]
enum Proof {
    /// They bear it out, or nothing is in doubt.
    Holds,
    /// They disprove it.
    Fails(String),
    /// They could not be had.
    Open(String),
}

impl VenueTasks {
    async fn proof(&self) -> Proof {
        let asking = async {
            for ask in self.intake.venue.proofs(self.intake.clock.now()) {
                let body = self.rest.get(&ask).await?;
                if let Some(disproof) = self.intake.disproof(&body)? {
                    return Ok(Proof::Fails(disproof));
                }
            }
            Ok::<_, Failure>(Proof::Holds)
        };
        let patience = span(self.intake.settings.pace.request);
        match tokio::time::timeout(patience, asking).await {
            Ok(Ok(proof)) => proof,
            Ok(Err(fault)) => Proof::Open(fault.to_string()),
            Err(_) => Proof::Open(format!("no reply within {} s", patience.as_secs_f64())),
        }
    }

    /// Whether the venue's rows may be kept: not where its own replies disprove how they are read. What cannot be asked
    /// disproves nothing.
    pub(crate) async fn is_proven(&self) -> bool {
        let board = &self.intake.board;
        match self.proof().await {
            Proof::Holds => {}
            Proof::Fails(disproof) => {
                board.notes().polled = Some(false);
                board.trouble(format!(
                    "nothing is kept, its rows do not mean what they are taken for: {disproof}"
                ));
                return false;
            }
            Proof::Open(doubt) => {
                board.trouble(format!("what its rows mean is not proven: {doubt}"));
            }
        }
        true
    }

    /// Returns once nothing disproves how the venue's rows are read; that is asked as often as for its markets.
    pub(crate) async fn until_proven(&self) {
        while !self.is_proven().await {
            tokio::time::sleep(span(self.intake.settings.pace.instruments)).await;
        }
        self.intake.board.notes().polled = None;
    }

    /// Returns once the venue's replies disprove how its rows are read, with when that was asked, and the reason of the gap:
    /// what was kept since they last bore it out is in doubt.
    pub(crate) async fn until_disproved(&self) -> (Millis, String) {
        let mut borne_out = self.intake.clock.now();
        loop {
            tokio::time::sleep(span(self.intake.settings.pace.instruments)).await;
            let asked = self.intake.clock.now();
            match self.proof().await {
                Proof::Holds => borne_out = asked,
                Proof::Fails(disproof) => {
                    let reason = format!("{DOUBT}: {disproof}");
                    self.intake.gap(borne_out, asked, &reason);
                    return (asked, reason);
                }
                Proof::Open(_) => {}
            }
        }
    }

    /// Whether the venue has to prove what its rows mean.
    pub(crate) fn is_in_doubt(&self) -> bool {
        !self.intake.venue.proofs(self.intake.clock.now()).is_empty()
    }
}
