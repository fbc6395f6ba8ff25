//! `/api/liquidations/undercount`: what sampled exchanges leave out, estimated; an extension beside the ten.

use crate::api::endpoint::endpoint;
use crate::model::{UndercountRow, Window};

endpoint! {
    /// Asks for what sampled exchanges leave out.
    #[derive(Copy)]
    Undercount = "undercount" at "/api/liquidations/undercount", "what sampled exchanges leave out, estimated";
    range: Window = "24h", "1h, 4h, 12h or 24h";
    => enveloped Vec<UndercountRow>
}
