//! The named arguments of a query.

use crate::contract::argument::{Argument, ArgumentValue};
use crate::contract::parameter::EVERYWHERE;
use crate::contract::refusal::BadQuery;

/// The named arguments of a query.
#[derive(Clone, Debug, Default)]
pub struct Arguments(Vec<(String, ArgumentValue)>);

impl Arguments {
    /// Creates the arguments of an endpoint; each name must be one of `parameters`.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a name that is not in `parameters`, and for a name that is given twice.
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

    /// Creates the arguments of an endpoint from a decoded query string.
    ///
    /// Each name must be one of `parameters`.
    ///
    /// # Errors
    ///
    /// The same as for [`Arguments::new`].
    pub fn from_query(pairs: Vec<(String, String)>, parameters: &[&str]) -> Result<Self, BadQuery> {
        let pairs = pairs.into_iter();
        let pairs = pairs.map(|(name, text)| (name, ArgumentValue::Text(text)));
        Self::new(pairs.collect(), parameters)
    }

    /// Returns the argument `name`, or `None` if it was not given.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Argument<'_>> {
        let mut pairs = self.0.iter();
        let (_, value) = pairs.find(|(given, _)| given == name)?;
        Some(value.borrowed())
    }

    /// Returns the arguments without `name` if it is given with its default and with one of `others`.
    ///
    /// Clients that are generated from a description send every default.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] if another value is given together with one of `others`.
    pub fn without_default(
        &self,
        name: &'static str,
        default: &str,
        others: &[&str],
    ) -> Result<Self, BadQuery> {
        let with = others
            .iter()
            .find_map(|other| Some((other, self.get(other)?)));
        let (Some(given), Some((other, with))) = (self.get(name), with) else {
            return Ok(self.clone());
        };
        if self.text(name) == Some(default) {
            let rest = self.0.iter().filter(|(given, _)| given != name);
            return Ok(Self(rest.cloned().collect()));
        }
        let text = |argument: Argument<'_>| match argument {
            Argument::Text(text) => format!("{text:?}"),
            other => format!("{other:?}"),
        };
        Err(BadQuery::new(
            name,
            format!(
                "{} is given together with {other} = {}",
                text(given),
                text(with)
            ),
            format!("either {name}, or start and end"),
        ))
    }

    /// Returns the argument `name` if it was given as text.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Argument::Text(text) => Some(text),
            _ => None,
        }
    }
}
