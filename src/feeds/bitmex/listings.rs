//! Markets by REST.

use rust_decimal::Decimal;

use crate::feeds::ask::{Ask, Limit, Page};
use crate::feeds::frame::{Place, says};
use crate::feeds::listen::Listing;
use crate::feeds::members::{Part, members};
use crate::feeds::{Error, Frame, Instrument};

/// Thirty are allowed in a minute without a login.
const REQUESTS: Limit = Limit::of("requests", 27, 60);

/// How the classes of futures begin; spot markets and indices begin otherwise.
const FUTURES: &str = "FF";
/// The class of contracts without an end, on a currency or on something else.
const PERPETUAL: [&str; 2] = ["FFWCSX", "FFWCSF"];

members!(Market<'a> {
    symbol = "symbol",
    class = "typ",
    state = "state",
    underlying = "underlying",
    quote = "quoteCurrency",
    is_inverse = "isInverse",
    is_quanto = "isQuanto",
    multiplier = "multiplier",
    to_settle = "underlyingToSettleMultiplier",
    to_position = "underlyingToPositionMultiplier",
});

pub(super) fn requests() -> Vec<Ask> {
    vec![Ask::new("/api/v1/instrument/active", REQUESTS)]
}

pub(super) fn read(frame: &Frame<'_>) -> Result<Page<Listing>, Error> {
    let markets: Part<Market<'_>> = frame.read()?;
    let rows = frame.each(&Place::ROOT, &markets, |place, item| {
        let market = place.object(item)?;
        let class = place.text("typ", market.class)?;
        if !class.starts_with(FUTURES) {
            return Ok(None);
        }
        let (kind, size) = contract(place, market)?;
        let instrument = Instrument::read(
            &place.text("underlying", market.underlying)?,
            &place.text("quoteCurrency", market.quote)?,
            kind,
            &size.to_string(),
        );
        Ok(Some(Listing {
            native_id: place.name("symbol", market.symbol)?.into_owned(),
            instrument: instrument.map_err(|message| place.fault(message))?,
            perpetual: PERPETUAL.contains(&&*class),
            trading: says(market.state, "Open"),
        }))
    })?;
    Ok(Page::last(rows))
}

/// What a contract is counted in, and how much of that one holds.
fn contract(place: &Place<'_>, market: &Market<'_>) -> Result<(&'static str, Decimal), Error> {
    if place.truth("isQuanto", market.is_quanto)? {
        let message = "is true: a contract holds neither so much of the base nor so many USD";
        return Err(place.member("isQuanto").fault(message));
    }
    if place.truth("isInverse", market.is_inverse)? {
        // Both count the smallest unit of the coin of settlement, and both are negative.
        let multiplier = place.number("multiplier", market.multiplier)?.value;
        let unit = place
            .number("underlyingToSettleMultiplier", market.to_settle)?
            .value;
        let size = divided(multiplier, unit)
            .ok_or_else(|| place.member("multiplier").fault("is no number of USD"))?;
        return Ok(("inverse", size));
    }
    let name = "underlyingToPositionMultiplier";
    let contracts = place.positive(name, market.to_position)?.value;
    let size = divided(Decimal::ONE, contracts)
        .ok_or_else(|| place.member(name).fault("does not divide one exactly"))?;
    Ok(("linear", size))
}

/// The quotient, where it is exact.
fn divided(value: Decimal, by: Decimal) -> Option<Decimal> {
    let quotient = value.checked_div(by)?.normalize();
    (quotient.checked_mul(by)? == value).then_some(quotient)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::feeds::bodies::listed;

    #[test]
    fn contracts_hold_what_their_multipliers_say() {
        let row = |symbol: &str, class: &str, rest: &str| {
            format!(
                r#"{{"symbol":"{symbol}","typ":"{class}","state":"Open","underlying":"XBT","quoteCurrency":"USD",{rest}}}"#
            )
        };
        let inverse = r#""isQuanto":false,"isInverse":true,"multiplier":-100000000,"underlyingToSettleMultiplier":-100000000"#;
        let linear = r#""isQuanto":false,"isInverse":false,"multiplier":1,"underlyingToPositionMultiplier":1000000"#;
        let uneven = r#""isQuanto":false,"isInverse":false,"underlyingToPositionMultiplier":3"#;
        let rows = [
            row("XBTUSD", "FFWCSX", inverse),
            row("XBTZ26", "FFCCSX", inverse),
            row("XBTUSDT", "FFWCSX", linear),
            row("ETHUSD", "FFWCSX", r#""isQuanto":true,"isInverse":false"#),
            row("XBT_USDT", "IFXXXP", linear),
            row("ODDUSDT", "FFWCSX", uneven),
        ];
        let (listed, faults) = listed("bitmex", &format!("[{}]", rows.join(",")));
        assert_eq!(
            listed,
            [
                "XBTUSD XBT/USD Inverse 1",
                "XBTZ26 XBT/USD Inverse 1 dated",
                "XBTUSDT XBT/USD Linear 0.000001",
            ]
        );
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(
            faults.iter().any(|fault| fault.contains("[3].isQuanto")),
            "{faults:?}"
        );
        assert!(
            faults
                .iter()
                .any(|fault| fault.contains("does not divide one")),
            "{faults:?}"
        );
    }

    #[test]
    fn only_exact_quotients_are_taken() {
        let of = |value, by| divided(Decimal::from(value), Decimal::from(by));
        assert_eq!(of(1, 1_000_000), Some(Decimal::new(1, 6)));
        assert_eq!(of(-100_000_000, -100_000_000), Some(Decimal::ONE));
        assert_eq!(of(1, 3), None);
        assert_eq!(of(1, 0), None);
    }
}
