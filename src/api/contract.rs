//! What of a question the contract itself has: its endpoints' parameters, and the values of those that are a choice.
//!
//! A service that speaks the contract need not know more, and may pass over what it does not know without a word. All
//! else is asked only of a service that announces it; what does not stand here is that, without being marked.

use std::fmt;

use super::endpoint::EndpointEntry;
use super::parameter::Parameter;

/// A parameter of the contract, with its values where it lists them.
type ContractParameter = (&'static str, &'static [&'static str]);

const WINDOWS: ContractParameter = ("range", &["1h", "4h", "12h", "24h"]);
const SYMBOL: ContractParameter = ("symbol", &[]);
const LIMIT: ContractParameter = ("limit", &[]);

/// The contract's endpoints, each with what it can be asked.
const CONTRACT: &[(&str, &[ContractParameter])] = &[
    ("overview", &[]),
    ("coins", &[WINDOWS, LIMIT]),
    ("exchanges", &[WINDOWS]),
    ("largest", &[WINDOWS, LIMIT]),
    (
        "orders",
        &[SYMBOL, ("exchange", &[]), LIMIT, ("offset", &[])],
    ),
    ("chart", &[SYMBOL]),
    (
        "heatmap",
        &[
            SYMBOL,
            ("range", &["12h", "24h", "3d", "7d", "1M"]),
            ("model", &["2", "3"]),
        ],
    ),
    ("liqmap", &[SYMBOL, ("range", &["1d", "7d"])]),
    ("levels", &[SYMBOL]),
    ("maxpain", &[SYMBOL]),
];

/// Something of a question that only some services have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The parameter.
    pub parameter: &'static str,
    /// The value of it, by the name that it is announced under; none where the parameter itself is not the contract's.
    pub value: Option<&'static str>,
}

impl Extension {
    /// The parameter itself.
    #[must_use]
    pub fn parameter(parameter: &'static str) -> Self {
        Self {
            parameter,
            value: None,
        }
    }
}

impl fmt::Display for Extension {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.value {
            None => f.write_str(self.parameter),
            Some(value) => write!(f, "{}={value}", self.parameter),
        }
    }
}

impl EndpointEntry {
    /// Whether `parameter` is asked of a service only that says it has it.
    #[must_use]
    pub fn is_extension(&self, parameter: &str) -> bool {
        match contract(self) {
            Some(known) => known.iter().all(|(name, _)| *name != parameter),
            None => self
                .parameters
                .iter()
                .any(|known| known.name == parameter && known.extension),
        }
    }

    /// What of a query string is asked of a service only that says it has it: parameters first, then values.
    #[must_use]
    pub fn beyond(&self, query: &[(&'static str, String)]) -> Vec<Extension> {
        let asked = |parameter: &Parameter| {
            let name = parameter.name;
            let (_, text) = query.iter().find(|(given, _)| *given == name)?;
            if self.is_extension(name) {
                return Some(Extension::parameter(name));
            }
            let (_, values) = contract(self)?.iter().find(|(known, _)| *known == name)?;
            let known = values.is_empty() || values.contains(&text.as_str());
            (!known).then(|| Extension {
                parameter: name,
                value: parameter.called(text),
            })
        };
        let beyond = self.parameters.iter().filter_map(asked);
        let (values, parameters): (Vec<_>, Vec<_>) = beyond.partition(|one| one.value.is_some());
        [parameters, values].concat()
    }
}

/// What the contract has of an endpoint; none where the endpoint itself stands beside it.
fn contract(entry: &EndpointEntry) -> Option<&'static [ContractParameter]> {
    let known = CONTRACT.iter().find(|(name, _)| *name == entry.name);
    known.map(|(_, parameters)| *parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::ENDPOINTS;

    #[test]
    fn all_that_the_contract_has_is_asked_in_its_words() {
        let names: Vec<&str> = CONTRACT.iter().map(|(name, _)| *name).collect();
        let wanted: Vec<&str> = ENDPOINTS.iter().map(|entry| entry.name).collect();
        assert_eq!(names, wanted);
        for ((_, known), entry) in CONTRACT.iter().zip(ENDPOINTS) {
            for (name, values) in *known {
                let parameter = entry.parameters.iter().find(|found| found.name == *name);
                let taken = parameter.map(Parameter::values).unwrap_or_default();
                assert!(parameter.is_some(), "{} lacks {name}", entry.name);
                let lost = values.iter().find(|value| !taken.contains(value));
                assert_eq!(lost, None, "{} {name}", entry.name);
            }
        }
    }

    #[test]
    fn a_value_beyond_the_contract_is_called_as_it_is_announced() {
        for entry in ENDPOINTS {
            for parameter in entry.parameters {
                for value in parameter.values() {
                    let query = [(parameter.name, value.to_owned())];
                    for beyond in entry.beyond(&query) {
                        let listed = beyond
                            .value
                            .is_none_or(|named| parameter.values().contains(&named));
                        assert!(listed, "{} {beyond}", entry.name);
                    }
                }
            }
        }
    }
}
