//! Last prices of all markets, from market lists or from separate requests.
//!
//! They serve as reference prices for coins that have no other reference price. Markets without a price, such as those
//! that are not traded yet, are skipped.

use rust_decimal::Decimal;

use crate::contract::decode::exact_decimal;
use crate::feeds::decoding::event::is_above_zero;
use crate::feeds::decoding::frame::Frame;
use crate::feeds::decoding::json_path::{JsonPath, text_of};
use crate::feeds::decoding::raw_json::{JsonMember, JsonShape};
use crate::feeds::error::Error;
use crate::feeds::rest::request::RestRequest;

/// The last price of a market, per unit in which the exchange lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LastPrice {
    /// The exchange's name of the contract.
    pub native_id: String,
    /// The last price.
    pub price: Decimal,
}

impl LastPrice {
    /// Reads the last price of a market; `None` if the exchange sends none.
    pub(crate) fn read(native_id: JsonMember<'_>, price: JsonMember<'_>) -> Option<Self> {
        let native_id = text_of(native_id)?.into_owned();
        let price = exact_decimal(&text_of(price)?).ok()?;
        is_above_zero(price).then_some(Self { native_id, price })
    }
}

/// How an exchange publishes the last prices of its markets.
#[derive(Debug)]
pub(crate) struct PriceEndpoints {
    /// Builds the requests for prices; empty if the market lists contain the prices.
    pub(crate) asks: fn() -> Vec<RestRequest>,
    /// Decodes the prices in a reply.
    pub(crate) read: fn(&Frame<'_>) -> Result<Vec<LastPrice>, Error>,
}

impl PriceEndpoints {
    /// Describes an exchange that publishes its prices in the market lists.
    pub(crate) const fn listed(read: fn(&Frame<'_>) -> Result<Vec<LastPrice>, Error>) -> Self {
        Self {
            asks: Vec::new,
            read,
        }
    }
}

/// Reads the prices from a market list.
pub(crate) fn quoted<T>(
    place: &JsonPath<'_>,
    rows: &JsonShape<T>,
    read: impl Fn(&T) -> Option<LastPrice>,
) -> Result<Vec<LastPrice>, Error> {
    let rows = place.list(rows)?.iter().filter_map(|row| match row {
        JsonShape::Object(row) => read(row),
        _ => None,
    });
    Ok(rows.collect())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use crate::feeds::instruments::Instruments;
    use crate::feeds::venue;

    /// Recorded replies, each with the prices expected from it.
    const BODIES: [(&str, &str, &[&str]); 12] = [
        (
            "okx",
            r#"{"code":"0","msg":"","data":[
                {"instType":"SWAP","instId":"CELO-USDT-SWAP","markPx":"0.2701","ts":"1795321936652"},
                {"instType":"SWAP","instId":"NEW-USDT-SWAP","markPx":"","ts":"1795321936652"}]}"#,
            &["CELO-USDT-SWAP 0.2701"],
        ),
        (
            "bitget",
            r#"{"code":"00000","msg":"success","requestTime":1795321936797,"data":[
                {"category":"USDT-FUTURES","symbol":"APEUSDT","lastPrice":"0.1649","indexPrice":"0.165","markPrice":"0.1651"},
                {"category":"USDT-FUTURES","symbol":"NEWUSDT","lastPrice":"0","markPrice":"0"}]}"#,
            &["APEUSDT 0.1651"],
        ),
        (
            "htx",
            r#"{"status":"ok","ticks":[
                {"id":1795321936,"ask":[2449.1,12],"business_type":"swap","contract_code":"ETH-USDT","open":"2430","close":"2449.05"},
                {"contract_code":"BTC-USDT-CW","close":"85420"}],"ts":1795321936836}"#,
            &["ETH-USDT 2449.05", "BTC-USDT-CW 85420"],
        ),
        (
            "deribit",
            r#"{"jsonrpc":"2.0","result":[
                {"instrument_name":"ETH-PERPETUAL","last":2449.05,"mark_price":2449.1,"ask_price":null,"open_interest":1.2e8},
                {"instrument_name":"ETH-26MAR27","last":null,"mark_price":2501.5}],"testnet":false}"#,
            &["ETH-PERPETUAL 2449.1", "ETH-26MAR27 2501.5"],
        ),
        (
            "kraken",
            r#"{"result":"success","serverTime":"2026-11-22T04:32:16.891Z","tickers":[
                {"symbol":"PF_ETHUSD","last":2449.5,"pair":"ETH:USD","markPrice":2450.1234567891,"suspended":false},
                {"symbol":"in_xbtusd","last":85420.5}]}"#,
            &["PF_ETHUSD 2450.1234567891"],
        ),
        (
            "coinex",
            r#"{"code":0,"data":[
                {"market":"LATUSDT","last":"0.0082","index_price":"0.00815","mark_price":"0.008158","period":86400}],"message":"OK"}"#,
            &["LATUSDT 0.008158"],
        ),
        (
            "lighter",
            r#"{"code":200,"order_book_details":[
                {"symbol":"SOL","market_id":2,"last_trade_price":180.4,"mark_price":"180.51"},
                {"symbol":"NEW","market_id":77,"last_trade_price":0.1234},
                {"symbol":"OLD","market_id":9,"last_trade_price":0}],"spot_order_book_details":[
                {"symbol":"ETH/USDC","market_id":2048,"last_trade_price":2449.1}]}"#,
            &["2 180.51", "77 0.1234"],
        ),
        (
            "aster",
            r#"[{"symbol":"1000PEPEUSDT","markPrice":"0.01139363","indexPrice":"0.01138180","estimatedSettlePrice":"0.01138116",
                "lastFundingRate":"0.00038246","nextFundingTime":1597392000000,"interestRate":"0.00010000","time":1597370495002},
                {"symbol":"NEWUSDT","markPrice":"0.00000000","indexPrice":"0.00000000"}]"#,
            &["1000PEPEUSDT 0.01139363"],
        ),
        (
            "bitfinex",
            r#"[["tBTCF0:USTF0",1596124822000,null,60010,60000,null,1396531.67460709,null,1596153600000,0.00002,3,null,0.00001,
                null,null,60005.5,null,null,123.5,null,null,null,0.0005,0.0025],
                ["tNEWF0:USTF0",1596124822000,null,2,2,null,1,null,1596153600000,0,3,null,0,null,null,null,null,null,0],
                ["tPEPEF0:USTF0",1596124822000,null,2,2,null,1,null,1596153600000,0,3,null,0,null,null,8.12e-06,null,null,0]]"#,
            &["tBTCF0:USTF0 60005.5", "tPEPEF0:USTF0 0.00000812"],
        ),
        (
            "extended",
            r#"{"status":"OK","data":[
                {"name":"BTC-USD","assetName":"BTC","active":true,"status":"ACTIVE","marketStats":{"lastPrice":"77259",
                    "bidPrice":"77259","markPrice":"77259.680250000004","indexPrice":"77299.020412500001"}},
                {"name":"NEW-USD","status":"PRELISTED","marketStats":{"lastPrice":"0","markPrice":"0"}},
                {"name":"OLD-USD","status":"DELISTED","marketStats":null}]}"#,
            &["BTC-USD 77259.680250000004"],
        ),
        (
            "orderly",
            r#"{"success":true,"timestamp":1702989203989,"data":{"rows":[
                {"symbol":"PERP_ETH_USDC","index_price":1901.31,"mark_price":1901.32,"24h_close":1901.1,"open_interest":"1.5"},
                {"symbol":"PERP_1000PEPE_USDC","index_price":0.0114,"mark_price":0.01139},
                {"symbol":"PERP_NEW_USDC","index_price":null,"mark_price":null}]}}"#,
            &["PERP_ETH_USDC 1901.32", "PERP_1000PEPE_USDC 0.01139"],
        ),
        (
            "pacifica",
            r#"{"success":true,"data":[
                {"funding":"0.00010529","mark":"1.084819","mid":"1.08615","next_funding":"0.00011096","open_interest":"3634796",
                    "oracle":"1.084524","symbol":"XPL","timestamp":1759222967974,"yesterday_price":"1.3412"},
                {"mark":"0.011393","oracle":"0.011381","symbol":"kPEPE"},
                {"mark":"0","oracle":"0","symbol":"NEW"}],"error":null,"code":null}"#,
            &["XPL 1.084819", "kPEPE 0.011393"],
        ),
    ];

    #[test]
    fn prices_are_read_from_bodies_as_the_documents_write_them() {
        for (name, body, wanted) in BODIES {
            let (venue, none) = (venue(name).unwrap(), Instruments::default());
            let read = venue.read_prices(&venue.frame(body, None, &none)).unwrap();
            let read: Vec<String> = read
                .iter()
                .map(|quoted| format!("{} {}", quoted.native_id, quoted.price))
                .collect();
            assert_eq!(read, wanted, "{name}");
            assert!(!venue.price_requests().is_empty(), "{name}");
        }
    }

    #[test]
    fn a_refusal_gives_no_prices() {
        for (name, body) in [
            (
                "okx",
                r#"{"code":"50011","msg":"Too Many Requests","data":[]}"#,
            ),
            (
                "bitget",
                r#"{"code":"40017","msg":"Parameter verification failed","data":null}"#,
            ),
            (
                "htx",
                r#"{"status":"error","err_code":1030,"err_msg":"Invalid input","ts":1}"#,
            ),
            (
                "deribit",
                r#"{"jsonrpc":"2.0","error":{"code":-32602,"message":"Invalid params"}}"#,
            ),
            ("kraken", r#"{"result":"error","error":"apiLimitExceeded"}"#),
            (
                "coinex",
                r#"{"code":3008,"data":{},"message":"service too busy"}"#,
            ),
            (
                "lighter",
                r#"{"code":23000,"message":"Too Many Requests!"}"#,
            ),
            ("aster", r#"{"code":-1003,"msg":"Too many requests"}"#),
            ("bitfinex", r#"["error",10020,"keys: invalid"]"#),
            ("bitfinex", r#"{"error":"ERR_RATE_LIMIT"}"#),
            (
                "extended",
                r#"{"status":"ERROR","error":{"code":1010,"message":"Maintenance mode"}}"#,
            ),
            (
                "orderly",
                r#"{"success":false,"code":-1003,"message":"rate limit exceed"}"#,
            ),
            (
                "pacifica",
                r#"{"success":false,"data":null,"error":"Rate limited","code":429}"#,
            ),
        ] {
            let (venue, none) = (venue(name).unwrap(), Instruments::default());
            let read = venue.read_prices(&venue.frame(body, None, &none));
            assert!(read.is_err(), "{name}: {read:?}");
        }
    }
}
