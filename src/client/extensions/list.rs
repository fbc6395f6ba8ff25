//! The list of extensions that a service announces.
//!
//! An extension is an endpoint, a parameter or a parameter value that is not part of the contract.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, PoisonError};

use serde_json::Value;

use crate::contract::{EVERYWHERE, Extension};

/// The cached list of the service: the last one that contained every wanted entry.
#[derive(Debug, Default)]
pub(crate) struct KnownExtensions(Mutex<Option<List>>);

impl KnownExtensions {
    /// Whether the cached list has all of `wanted` for `question`.
    pub(crate) fn takes(&self, question: &str, wanted: &[Extension]) -> bool {
        let list = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let takes = |list: &List| wanted.iter().all(|beyond| list.takes(question, beyond));
        list.as_ref().is_some_and(takes)
    }

    pub(crate) fn note(&self, list: List) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(list);
    }
}

/// A parsed list.
#[derive(Debug, Default)]
pub(crate) struct List {
    extensions: HashSet<String>,
    everywhere: HashSet<String>,
    /// For each question, its parameters and their listed values.
    parameters: HashMap<String, HashMap<String, HashSet<String>>>,
}

impl List {
    /// Parses a list. Malformed input gives an empty list.
    pub(crate) fn read(body: &[u8]) -> Self {
        let list: Value = serde_json::from_slice(body).unwrap_or_default();
        let mut parameters = HashMap::new();
        for entry in ["extensions", "endpoints"]
            .iter()
            .flat_map(|kind| entries(list.get(*kind)))
        {
            if let Some(name) = name(entry) {
                parameters.insert(name, choices(entry.get("parameters")));
            }
        }
        Self {
            extensions: names(list.get("extensions")),
            everywhere: names(list.get("everywhere")),
            parameters,
        }
    }

    /// Whether the list has the extension endpoint `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.extensions.contains(name)
    }

    /// Whether the list has the parameter or value `beyond` for `question`.
    pub(crate) fn takes(&self, question: &str, beyond: &Extension) -> bool {
        if EVERYWHERE
            .iter()
            .any(|known| known.name == beyond.parameter)
        {
            return self.everywhere.contains(beyond.parameter);
        }
        let parameters = self.parameters.get(question);
        let values = parameters.and_then(|parameters| parameters.get(beyond.parameter));
        values.is_some_and(|values| beyond.value.is_none_or(|value| values.contains(value)))
    }
}

fn entries(list: Option<&Value>) -> impl Iterator<Item = &Value> {
    list.and_then(Value::as_array).into_iter().flatten()
}

fn name(entry: &Value) -> Option<String> {
    Some(entry.get("name")?.as_str()?.to_owned())
}

fn choices(list: Option<&Value>) -> HashMap<String, HashSet<String>> {
    let values = |entry: &Value| {
        let values = entries(entry.get("values")).filter_map(Value::as_str);
        values.map(str::to_owned).collect()
    };
    entries(list)
        .filter_map(|entry| Some((name(entry)?, values(entry))))
        .collect()
}

fn names(list: Option<&Value>) -> HashSet<String> {
    entries(list).filter_map(name).collect()
}
