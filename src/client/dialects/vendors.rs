//! The vendors of liquidation data: how their HTTP APIs take a key, state a refusal and limit requests.
//!
//! Their replies are decoded in Python from the body as it is ([`Document`](crate::client::Document)), so these dialects
//! answer no query of the contract.

use serde::Deserialize;
use serde_json::Value;

use crate::client::dialect::Dialect;

/// Bodies above this size are data, not refusals.
const LARGEST_REFUSAL: usize = 4096;

/// Codes in a body that a retry cannot change: wrong parameter, key, plan or path.
const FINAL_CODES: [&str; 8] = ["400", "401", "403", "404", "30001", "40001", "-3", "-7"];

/// The code in a body that asks to slow down.
const THROTTLED_CODE: &str = "429";

/// The API of a vendor.
#[derive(Clone, Copy, Debug)]
pub struct VendorDialect {
    name: &'static str,
    key_header: &'static str,
    /// Requests per minute, if the limit is the same for all keys.
    per_minute: Option<u32>,
    /// The header that states the requests per minute of a key.
    limit_header: Option<&'static str>,
}

/// All vendors.
static VENDORS: [VendorDialect; 6] = [
    VendorDialect {
        name: "CoinGlass",
        key_header: "CG-API-KEY",
        per_minute: None,
        limit_header: Some("api-key-max-limit"),
    },
    VendorDialect {
        name: "Coinalyze",
        key_header: "api_key",
        per_minute: Some(40),
        limit_header: None,
    },
    VendorDialect {
        name: "CoinAnk",
        key_header: "apikey",
        per_minute: None,
        limit_header: None,
    },
    VendorDialect {
        name: "Hyblock",
        key_header: "x-api-key",
        per_minute: None,
        limit_header: None,
    },
    VendorDialect {
        name: "DataMaxi",
        key_header: "X-DTMX-APIKEY",
        per_minute: None,
        limit_header: None,
    },
    VendorDialect {
        name: "Velo",
        key_header: "Authorization",
        per_minute: None,
        limit_header: None,
    },
];

impl VendorDialect {
    /// Finds a vendor by name.
    #[must_use]
    pub fn named(name: &str) -> Option<&'static Self> {
        VENDORS.iter().find(|vendor| vendor.name == name)
    }
}

/// The members of a refusal.
#[derive(Deserialize)]
struct VendorRefusal {
    code: Option<Value>,
    #[serde(alias = "message", alias = "error")]
    msg: Option<Value>,
}

impl VendorRefusal {
    fn read(body: &[u8]) -> Option<Self> {
        if body.len() > LARGEST_REFUSAL {
            return None;
        }
        serde_json::from_slice(body).ok()
    }

    /// The code as text, whether it is sent as text or as a number.
    fn code(&self) -> Option<String> {
        match self.code.as_ref()? {
            Value::String(text) => Some(text.clone()),
            Value::Number(number) => Some(number.to_string()),
            _ => None,
        }
    }
}

impl Dialect for VendorDialect {
    fn name(&self) -> &'static str {
        self.name
    }

    fn key_header(&self) -> Option<&'static str> {
        Some(self.key_header)
    }

    fn reason(&self, body: &[u8]) -> Option<String> {
        match VendorRefusal::read(body)?.msg? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    fn is_final(&self, body: &[u8]) -> bool {
        let code = VendorRefusal::read(body).and_then(|refusal| refusal.code());
        code.is_some_and(|code| FINAL_CODES.contains(&code.as_str()))
    }

    fn throttles(&self, body: &[u8]) -> bool {
        let code = VendorRefusal::read(body).and_then(|refusal| refusal.code());
        code.is_some_and(|code| code == THROTTLED_CODE)
    }

    fn waits_for_its_limit(&self) -> bool {
        true
    }

    fn per_minute(&self) -> Option<u32> {
        self.per_minute
    }

    fn limit_header(&self) -> Option<&'static str> {
        self.limit_header
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn the_code_of_a_body_decides_whether_a_retry_can_help() {
        let vendor = VendorDialect::named("CoinGlass").unwrap();
        for (body, is_final, throttles) in [
            (r#"{"code":"401","msg":"Upgrade plan"}"#, true, false),
            (r#"{"code":40001,"msg":"Upgrade plan"}"#, true, false),
            (r#"{"success":false,"code":"-3"}"#, true, false),
            (r#"{"code":"429","msg":"Too many"}"#, false, true),
            (r#"{"code":"500","msg":"busy"}"#, false, false),
            (r#"{"code":"0","data":[]}"#, false, false),
            ("busy", false, false),
        ] {
            let found = (
                vendor.is_final(body.as_bytes()),
                vendor.throttles(body.as_bytes()),
            );
            assert_eq!(found, (is_final, throttles), "{body}");
        }
    }
}
