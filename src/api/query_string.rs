//! The decoded pairs of a query string.

use crate::api::parameter::EVERYWHERE;
use crate::api::refusal::BadQuery;

/// The decoded pairs of a query string.
#[derive(Clone, Debug, Default)]
pub struct Query(Vec<(String, String)>);

impl Query {
    /// The query of an endpoint that knows `parameters`.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a name the endpoint does not know or that is given twice.
    pub fn new(pairs: Vec<(String, String)>, parameters: &[&str]) -> Result<Self, BadQuery> {
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
                return Err(BadQuery::new(
                    name.clone(),
                    format!("is given twice, again as {value:?}"),
                    "one value",
                ));
            }
        }
        Ok(Self(pairs))
    }

    /// The text of `name`, if given.
    #[must_use]
    pub fn text(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(given, _)| given == name)
            .map(|(_, value)| value.as_str())
    }
}
