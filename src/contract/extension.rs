//! The part of the contract that every service supports.
//!
//! A service may silently ignore unknown parameters and values. Therefore every parameter or value outside the list
//! below is an extension, which a client sends only to a service that announces it.

use std::fmt;

use super::endpoint::EndpointEntry;
use super::parameter::Parameter;

/// Name of a parameter of the contract, and its values if it is a choice.
type ContractParameter = (&'static str, &'static [&'static str]);

const WINDOWS: ContractParameter = ("range", &["1h", "4h", "12h", "24h"]);
const SYMBOL: ContractParameter = ("symbol", &[]);
const LIMIT: ContractParameter = ("limit", &[]);

/// Names of the endpoints of the contract, each with its parameters.
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

/// A parameter, or a value of a parameter, that only some services support.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// Name of the parameter.
    pub parameter: &'static str,
    /// Announced name of the value; `None` if the whole parameter is the extension.
    pub value: Option<&'static str>,
}

impl Extension {
    /// Creates an extension that is a whole parameter.
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
    /// Whether `parameter` is sent only to a service that announces it.
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

    /// Returns the extensions that a query string uses: first parameters, then values.
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

/// Returns the parameters of an endpoint of the contract; `None` for an extension endpoint.
fn contract(entry: &EndpointEntry) -> Option<&'static [ContractParameter]> {
    let known = CONTRACT.iter().find(|(name, _)| *name == entry.name);
    known.map(|(_, parameters)| *parameters)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::ENDPOINTS;

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
