//! `/api/liquidations/undercount`: an estimate of unpublished liquidations; an extension of the contract.

use crate::api::endpoint::endpoint;
use crate::model::{UndercountRow, Window};

endpoint! {
    /// Asks for an estimate of what sampled exchanges do not publish.
    #[derive(Copy)]
    Undercount = "undercount" at "/api/liquidations/undercount", "what sampled exchanges leave out, estimated";
    range: Window = "24h", "1h, 4h, 12h or 24h";
    => enveloped Vec<UndercountRow>
}
