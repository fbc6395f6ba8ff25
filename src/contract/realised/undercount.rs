//! `/api/liquidations/undercount`: an estimate of unpublished liquidations; an extension of the contract.

use crate::contract::endpoint::endpoint;
use crate::model::{UndercountRow, Window};

endpoint! {
    /// Asks for an estimate of liquidations that exchanges do not publish.
    ///
    /// The estimate concerns exchanges with incomplete feeds.
    #[derive(Copy)]
    Undercount = "undercount" at "/api/liquidations/undercount", "estimate of the liquidations that sampled exchanges \
                  leave out";
    range: Window = "24h", "1h, 4h, 12h or 24h";
    => enveloped Vec<UndercountRow>
}
