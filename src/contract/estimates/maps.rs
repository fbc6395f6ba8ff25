//! `/api/maps`: estimated maps that the service recorded; an extension of the contract.

use crate::contract::endpoint::endpoint;
use crate::contract::time::{Bound, words};
use crate::model::{Coin, MapKind, MapRow};

endpoint! {
    /// Asks for the recorded estimated maps.
    Maps = "maps" at "/api/maps", "estimated maps as they were served";
    symbol: Option<Coin>, "coin; if absent, all";
    kind: Option<MapKind>, "only maps of this endpoint";
    version: Option<ModelVersion>, "only maps of this model version; unknown for maps that were recorded without a \
                                    version";
    start: Option<Bound>, "only maps with a last bar that closed at or after this instant";
    end: Option<Bound>, "only maps with a last bar that closed before this instant";
    => enveloped Vec<MapRow>; large
}

words! {
    /// Rule for the version of a model.
    ModelVersion = String {
        "a model version as recorded with its maps, or unknown";
        |text| (!text.trim().is_empty()).then(|| text.to_owned());
        |version| version.clone();
        {"type": "string", "pattern": r"\S"}
    }
}
