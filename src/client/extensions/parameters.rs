//! Parameters that only liqdata servers understand. Every question can have them.

use std::collections::BTreeMap;

use reqwest::header::{HeaderMap, HeaderValue};
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::contract::decode::{self, BodyReader, DecodeError, Feed, Reading};
use crate::contract::{At, EXPLAINED, Extension, PREFER, PREFERENCE_APPLIED, Rule, grid_parts};
use crate::model::{EarlierBar, Millis, PeriodCoverage, VenueCoverage};

/// Extra parameters of a question. They are sent only to a service that announces them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExtraParameters {
    /// The instant that the reply describes; `None` for the present.
    pub as_of: Option<Millis>,
    /// Whether to request an explanation.
    pub explain: bool,
    /// Whether to request an explanation by the `Prefer` header. Services without explanations ignore the header.
    pub preferred: bool,
}

impl ExtraParameters {
    /// The names of the extra parameters.
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

    /// Whether the body after this head contains an explanation.
    fn is_explained(self, head: &HeaderMap) -> bool {
        let followed = head.get(PREFERENCE_APPLIED);
        let followed = followed.is_some_and(|followed| followed.as_bytes() == EXPLAINED.as_bytes());
        self.explain || (self.preferred && followed)
    }

    /// The pairs of the query string.
    pub(crate) fn to_query(self) -> impl Iterator<Item = (&'static str, String)> {
        let as_of = self.as_of.as_ref().and_then(At::text);
        let explain = self.explain.then(|| "1".to_owned());
        let pairs = [("as_of", as_of), ("explain", explain)];
        pairs
            .into_iter()
            .filter_map(|(name, text)| Some((name, text?)))
    }
}

/// The member `explain` of a body, which the decoder of the reply ignores.
#[derive(Deserialize)]
struct Sent<'a> {
    #[serde(borrow)]
    explain: Option<&'a RawValue>,
}

/// The explanation of an answer.
#[derive(Debug, Default)]
pub(crate) struct Explanation {
    /// The complete explanation as JSON, if requested.
    pub(crate) text: Option<String>,
    /// Coverage of each exchange in the time range of the reply.
    pub(crate) coverage: Option<Vec<VenueCoverage>>,
    /// The first bar in the requested range that the reply omits because it cannot be converted to the requested
    /// interval.
    pub(crate) earlier: Option<EarlierBar>,
    /// How much of the period of the reply is covered.
    pub(crate) period: Option<PeriodCoverage>,
    /// Whether more orders match than the page has.
    pub(crate) more: Option<bool>,
}

/// The members of an explanation that the client decodes.
#[derive(Deserialize)]
struct Parts<'a> {
    #[serde(borrow)]
    coverage: Option<&'a RawValue>,
    earlier: Option<EarlierBar>,
    covered: Option<f64>,
    #[serde(default)]
    covered_windows: BTreeMap<String, f64>,
    data_from: Option<Millis>,
    more: Option<bool>,
}

impl Explanation {
    /// # Errors
    ///
    /// [`DecodeError`] if it is malformed.
    fn read(sent: &RawValue, is_asked: bool) -> Result<Self, DecodeError> {
        let parts: Parts<'_> = serde_json::from_str(sent.get())
            .map_err(|fault| DecodeError::at("explain", fault.to_string()))?;
        let coverage = parts.coverage.map(|rows| {
            match decode::read::<Vec<VenueCoverage>>(rows.get().as_bytes(), false) {
                Ok(Reading::Reply(rows) | Reading::Converted { reply: rows, .. }) => Ok(rows),
                Ok(Reading::Refused { message }) => {
                    Err(DecodeError::at("explain.coverage", message))
                }
                Err(damage) => Err(damage.below("explain.coverage")),
            }
        });
        Ok(Self {
            text: is_asked.then(|| sent.get().to_owned()),
            coverage: coverage.transpose()?,
            earlier: parts.earlier,
            more: parts.more,
            period: parts.covered.map(|covered| PeriodCoverage {
                covered,
                covered_windows: parts.covered_windows,
                data_from: parts.data_from,
            }),
        })
    }
}

/// Receives the headers and the body of an answer.
pub(crate) trait Headed: Feed {
    /// Receives the headers, before the body.
    fn see(&mut self, head: &HeaderMap);

    /// The whole body, if it is kept.
    fn body(&self) -> &[u8] {
        &[]
    }
}

/// Decodes a body and its explanation. Passes the body on as it arrives; copies it only if it contains an explanation.
pub(crate) struct Explained<'a, R> {
    reply: &'a mut dyn BodyReader<R>,
    extra: ExtraParameters,
    /// A copy of the body, if it contains an explanation.
    body: Option<Vec<u8>>,
}

impl<'a, R> Explained<'a, R> {
    /// Wraps the decoder of a reply.
    pub(crate) fn around(reply: &'a mut dyn BodyReader<R>, extra: ExtraParameters) -> Self {
        Self {
            reply,
            extra,
            body: None,
        }
    }

    /// Ends the body. Returns the reply and the explanation, if any.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] if the body breaks the contract or lacks a requested explanation.
    pub(crate) fn finish(&mut self) -> Result<(Reading<R>, Explanation), DecodeError> {
        let reading = self.reply.finish()?;
        let Some(body) = self.body.take() else {
            return Ok((reading, Explanation::default()));
        };
        if matches!(reading, Reading::Refused { .. }) {
            return Ok((reading, Explanation::default()));
        }
        let json = grid_parts(&body).map_or(&*body, |(head, _)| head);
        let sent: Option<Sent<'_>> = serde_json::from_slice(json).ok();
        match sent.and_then(|sent| sent.explain) {
            Some(sent) => Ok((reading, Explanation::read(sent, self.extra.explain)?)),
            None => Err(DecodeError::at(
                "explain",
                "is missing, although it was requested",
            )),
        }
    }

    /// The buffered part of the body.
    pub(crate) fn buffered(&self) -> &[u8] {
        self.reply.buffered()
    }
}

impl<R> Headed for Explained<'_, R> {
    fn see(&mut self, head: &HeaderMap) {
        self.body = self.extra.is_explained(head).then(Vec::new);
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
    use crate::contract::decode::BufferedBody;

    const BODY: &[u8] =
        br#"{"success":true,"data":[],"explain":{"coverage":[],"earlier":null,"another":"text"}}"#;

    /// Returns the size of the body's copy and the text of its explanation. `preference_applied` is a header of the
    /// answer.
    fn read(
        extra: ExtraParameters,
        preference_applied: Option<&'static str>,
    ) -> (usize, Option<String>) {
        let mut reply =
            BufferedBody::read_by(|body: &[u8]| decode::read::<Vec<VenueCoverage>>(body, true));
        let mut explained = Explained::around(&mut reply, extra);
        let mut head = HeaderMap::new();
        if let Some(applied) = preference_applied {
            head.insert(PREFERENCE_APPLIED, HeaderValue::from_static(applied));
        }
        explained.see(&head);
        explained.begin(None);
        explained.feed(BODY);
        let buffered = explained.body.as_ref().map_or(0, Vec::capacity);
        let text = explained
            .finish()
            .ok()
            .and_then(|(_, account)| account.text);
        (buffered, text)
    }

    #[test]
    fn a_body_is_buffered_twice_only_with_an_explanation() {
        let preferred = ExtraParameters {
            preferred: true,
            ..ExtraParameters::default()
        };
        let asked = ExtraParameters {
            explain: true,
            ..ExtraParameters::default()
        };
        assert_eq!(read(preferred, None), (0, None));
        assert_eq!(read(preferred, Some("return=minimal")), (0, None));
        assert_eq!(read(ExtraParameters::default(), Some(EXPLAINED)), (0, None));
        let (buffered, text) = read(preferred, Some(EXPLAINED));
        assert!(buffered >= BODY.len() && text.is_none());
        let (buffered, text) = read(asked, None);
        assert!(buffered >= BODY.len() && text.is_some_and(|text| text.contains("another")));
    }
}
