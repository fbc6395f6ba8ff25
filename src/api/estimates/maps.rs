//! `/api/maps`: estimated maps that the service recorded; an extension of the contract.

use crate::api::endpoint::endpoint;
use crate::api::time::{Bound, words};
use crate::model::{Coin, MapKind, MapRow};

endpoint! {
    /// Asks for the recorded estimated maps.
    Maps = "maps" at "/api/maps", "estimated maps as they were served";
    symbol: Option<Coin>, "coin; all where absent";
    kind: Option<MapKind>, "only answers to this question";
    version: Option<ModelVersion>, "only those of this version of a model; unknown for those of which none was kept";
    start: Option<Bound>, "only maps with a last bar that closed then or later";
    end: Option<Bound>, "only maps with a last bar that closed before then";
    => enveloped Vec<MapRow>; large
}

words! {
    /// Rule for the version of a model.
    ModelVersion = String {
        "the version of a model, as its maps have it, or unknown";
        |text| (!text.trim().is_empty()).then(|| text.to_owned());
        |version| version.clone()
    }
}
