//! The named arguments of a query.

use crate::api::argument::{Argument, ArgumentValue};
use crate::api::parameter::EVERYWHERE;
use crate::api::refusal::BadQuery;

/// The named arguments of a query.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Vec<(String, ArgumentValue)>);

impl Arguments {
    /// Checks the names of the arguments of an endpoint with these `parameters`.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a name that the endpoint does not have, and for one that is given twice.
    pub fn new(pairs: Vec<(String, ArgumentValue)>, parameters: &[&str]) -> Result<Self, BadQuery> {
        for (i, (name, value)) in pairs.iter().enumerate() {
            let everywhere = || EVERYWHERE.iter().any(|extension| extension.name == name);
            if !parameters.contains(&name.as_str()) && !everywhere() {
                let known = if parameters.is_empty() {
                    "no parameters".to_owned()
                } else {
                    parameters.join(", ")
                };
                return Err(BadQuery::new(
                    name.clone(),
                    "is not a parameter of this endpoint",
                    known,
                ));
            }
            if pairs.iter().take(i).any(|(earlier, _)| earlier == name) {
                let again = match value {
                    ArgumentValue::Text(text) => format!("{text:?}"),
                    value => format!("{value:?}"),
                };
                return Err(BadQuery::new(
                    name.clone(),
                    format!("is given twice, again as {again}"),
                    "one value",
                ));
            }
        }
        Ok(Self(pairs))
    }

    /// Makes arguments of the decoded pairs of a query string, for an endpoint with these `parameters`.
    ///
    /// # Errors
    ///
    /// As [`Arguments::new`].
    pub fn from_query(pairs: Vec<(String, String)>, parameters: &[&str]) -> Result<Self, BadQuery> {
        let pairs = pairs.into_iter();
        let pairs = pairs.map(|(name, text)| (name, ArgumentValue::Text(text)));
        Self::new(pairs.collect(), parameters)
    }

    /// The argument `name`, if given.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Argument<'_>> {
        let mut pairs = self.0.iter();
        let (_, value) = pairs.find(|(given, _)| given == name)?;
        Some(value.borrowed())
    }

    /// The argument `name`, if given as text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Argument::Text(text) => Some(text),
            _ => None,
        }
    }
}
