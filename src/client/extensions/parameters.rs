//! What can be asked beside the parameters of a question, where the service announces it.

use reqwest::header::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::api::{At, EXPLAINED, Extension, PREFER, PREFERENCE_APPLIED, Rule};
use crate::model::{EarlierBar, Millis, VenueCoverage};
use crate::wire::{self, Damage, Feed, Intake, Reading};

/// What is asked beside the parameters of a question: extensions of our server, sent only where a service announces them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Beside {
    /// The instant to answer as of; now where absent.
    pub as_of: Option<Millis>,
    /// Whether the answer is to say how it came to be.
    pub explain: bool,
    /// Whether it may say so where the service knows of that: a preference, which every other service passes over.
    pub preferred: bool,
}

impl Beside {
    /// The names of what is asked.
    pub(crate) fn names(self) -> Vec<Extension> {
        self.to_query()
            .map(|(name, _)| Extension::parameter(name))
            .collect()
    }

    /// The headers of the request.
    pub(crate) fn headers(self) -> HeaderMap {
        let mut headers = HeaderMap::new();
        if self.preferred && !self.explain {
            headers.insert(PREFER, HeaderValue::from_static(EXPLAINED));
        }
        headers
    }

    /// Whether the body under this head says how the answer came to be.
    fn is_explained(self, head: &HeaderMap) -> bool {
        let followed = head.get(PREFERENCE_APPLIED);
        let followed = followed.is_some_and(|followed| followed.as_bytes() == EXPLAINED.as_bytes());
        self.explain || (self.preferred && followed)
    }

    /// The query string's pairs.
    pub(crate) fn to_query(self) -> impl Iterator<Item = (&'static str, String)> {
        let as_of = self.as_of.as_ref().and_then(At::text);
        let explain = self.explain.then(|| "1".to_owned());
        let pairs = [("as_of", as_of), ("explain", explain)];
        pairs
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
    }
}

/// The one member of a body that is no part of the reply.
#[derive(Deserialize)]
struct Told<'a> {
    #[serde(borrow)]
    explain: Option<&'a RawValue>,
}

/// How an answer came to be.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// All of it, as JSON, where that was asked.
    pub(crate) text: Option<String>,
    /// What each exchange's totals cover.
    pub(crate) coverage: Option<Vec<VenueCoverage>>,
    /// The first bar before those of the reply that cannot be made into them.
    pub(crate) earlier: Option<EarlierBar>,
}

/// What of it is read.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    coverage: Option<&'a RawValue>,
    earlier: Option<EarlierBar>,
}

impl Account {
    /// # Errors
    ///
    /// [`Damage`] where it is none.
    fn read(told: &RawValue, is_asked: bool) -> Result<Self, Damage> {
        let parts: Parts<'_> = serde_json::from_str(told.get())
            .map_err(|fault| Damage::at("explain", fault.to_string()))?;
        let coverage = parts.coverage.map(|rows| {
            match wire::read::<Vec<VenueCoverage>>(rows.get().as_bytes(), false) {
                Ok(Reading::Reply(rows)) => Ok(rows),
                Ok(Reading::Refused { message }) => Err(Damage::at("explain.coverage", message)),
                Err(damage) => Err(damage.below("explain.coverage")),
            }
        });
        Ok(Self {
            text: is_asked.then(|| told.get().to_owned()),
            coverage: coverage.transpose()?,
            earlier: parts.earlier,
        })
    }
}

/// Takes the body of an answer whose head it has seen.
pub(crate) trait Headed: Feed {
    /// Sees the head of the answer whose body begins next.
    fn see(&mut self, head: &HeaderMap);
}

/// Takes a body that says beside the reply how it came to be; without that it is handed on as it comes.
pub(crate) struct Explained<'a, R> {
    reply: &'a mut dyn Intake<R>,
    beside: Beside,
    /// The body once more, where it says so.
    body: Option<Vec<u8>>,
}

impl<'a, R> Explained<'a, R> {
    /// Around what takes the reply to a question with so much `beside`.
    pub(crate) fn around(reply: &'a mut dyn Intake<R>, beside: Beside) -> Self {
        Self {
            reply,
            beside,
            body: None,
        }
    }

    /// What the body says, which has ended, and how the reply came to be where it tells that.
    ///
    /// # Errors
    ///
    /// [`Damage`] where the body breaks the contract, and where it does not say what was asked.
    pub(crate) fn finish(&mut self) -> Result<(Reading<R>, Account), Damage> {
        let reading = self.reply.finish()?;
        let Some(body) = self.body.take() else {
            return Ok((reading, Account::default()));
        };
        if matches!(reading, Reading::Refused { .. }) {
            return Ok((reading, Account::default()));
        }
        let told: Option<Told<'_>> = serde_json::from_slice(&body).ok();
        match told.and_then(|told| told.explain) {
            Some(told) => Ok((reading, Account::read(told, self.beside.explain)?)),
            None => Err(Damage::at("explain", "is missing, which was asked for")),
        }
    }

    /// What is kept of the body.
    pub(crate) fn kept(&self) -> &[u8] {
        self.reply.kept()
    }
}

impl<R> Headed for Explained<'_, R> {
    fn see(&mut self, head: &HeaderMap) {
        self.body = self.beside.is_explained(head).then(Vec::new);
    }
}

impl<R> Feed for Explained<'_, R> {
    fn begin(&mut self, announced: Option<usize>) {
        self.reply.begin(announced);
        if let Some(body) = &mut self.body {
            body.clear();
        }
    }

    fn feed(&mut self, chunk: &[u8]) {
        self.reply.feed(chunk);
        if let Some(body) = &mut self.body {
            body.extend_from_slice(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::client::extensions::parameters::*;
    use crate::wire::Whole;

    const BODY: &[u8] =
        br#"{"success":true,"data":[],"explain":{"coverage":[],"earlier":null,"more":"text"}}"#;

    /// How many bytes are held of a body under this head a second time, and the text of what it tells.
    fn held(beside: Beside, preference_applied: Option<&'static str>) -> (usize, Option<String>) {
        let mut reply = Whole::read_by(|body: &[u8]| wire::read::<Vec<VenueCoverage>>(body, true));
        let mut explained = Explained::around(&mut reply, beside);
        let mut head = HeaderMap::new();
        if let Some(applied) = preference_applied {
            head.insert(PREFERENCE_APPLIED, HeaderValue::from_static(applied));
        }
        explained.see(&head);
        explained.begin(None);
        explained.feed(BODY);
        let kept = explained.body.as_ref().map_or(0, Vec::capacity);
        let text = explained
            .finish()
            .ok()
            .and_then(|(_, account)| account.text);
        (kept, text)
    }

    #[test]
    fn a_body_is_held_twice_only_where_it_says_how_the_answer_came_to_be() {
        let preferred = Beside {
            preferred: true,
            ..Beside::default()
        };
        let asked = Beside {
            explain: true,
            ..Beside::default()
        };
        assert_eq!(held(preferred, None), (0, None));
        assert_eq!(held(preferred, Some("return=minimal")), (0, None));
        assert_eq!(held(Beside::default(), Some(EXPLAINED)), (0, None));
        let (kept, text) = held(preferred, Some(EXPLAINED));
        assert!(kept >= BODY.len() && text.is_none());
        let (kept, text) = held(asked, None);
        assert!(kept >= BODY.len() && text.is_some_and(|text| text.contains("more")));
    }
}
