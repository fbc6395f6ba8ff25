//! The list of what a service has beside the contract.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::api::EVERYWHERE;

/// The last list of a service in which something was found that was looked for.
#[derive(Debug, Default)]
pub(super) struct Known(Mutex<Option<List>>);

impl Known {
    /// Whether it lists all of `parameters` of `question`.
    pub(super) fn takes(&self, question: &str, parameters: &[&str]) -> bool {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let takes = |list: &List| parameters.iter().all(|name| list.takes(question, name));
        list.as_ref().is_some_and(takes)
    }

    pub(super) fn note(&self, list: List) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(list);
    }
}

/// What a service lists.
#[derive(Debug, Default)]
pub(super) struct List {
    extensions: HashSet<String>,
    everywhere: HashSet<String>,
    /// The parameters of each question.
    parameters: HashMap<String, HashSet<String>>,
}

impl List {
    /// Reads a list; what is none lists nothing.
    pub(super) fn read(body: &[u8]) -> Self {
        let list: Value = serde_json::from_slice(body).unwrap_or_default();
        let mut parameters = HashMap::new();
        for entry in ["extensions", "endpoints"]
            .iter()
            .flat_map(|kind| entries(list.get(*kind)))
        {
            if let Some(name) = name(entry) {
                parameters.insert(name, names(entry.get("parameters")));
            }
        }
        Self {
            extensions: names(list.get("extensions")),
            everywhere: names(list.get("everywhere")),
            parameters,
        }
    }

    /// Whether it has the question `name`, which is none of the contract.
    pub(super) fn has(&self, name: &str) -> bool {
        self.extensions.contains(name)
    }

    /// Whether `question` can be asked with `parameter`, which is none of the contract.
    pub(super) fn takes(&self, question: &str, parameter: &str) -> bool {
        if EVERYWHERE.iter().any(|known| known.name == parameter) {
            return self.everywhere.contains(parameter);
        }
        let parameters = self.parameters.get(question);
        parameters.is_some_and(|parameters| parameters.contains(parameter))
    }
}

fn entries(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn name(entry: &Value) -> Option<String> {
    Some(entry.get("name")?.as_str()?.to_owned())
}

fn names(list: Option<&Value>) -> HashSet<String> {
    entries(list).filter_map(name).collect()
}
