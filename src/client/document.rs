//! Requests that are answered with the body as it is.

use reqwest::header::{HeaderMap, HeaderName};

use crate::client::call::attempts::Posted;
use crate::client::client::Client;
use crate::client::error::Error;
use crate::client::extensions::parameters::Headed;
use crate::contract::decode::Feed;

/// Maximum number of bytes reserved for an announced body length.
const EARLY_ROOM: usize = 8 << 20;

/// A request for a path below the service's address.
#[derive(Clone, Debug, Default)]
pub struct DocumentRequest {
    /// The path, with a leading slash.
    pub path: String,
    /// The pairs of the query string.
    pub query: Vec<(String, String)>,
    /// How many requests this one counts as in the limit of the service.
    pub weight: u32,
    /// The pairs of a form. With them the request is a POST.
    pub form: Option<Vec<(String, String)>>,
}

/// A successful answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// The HTTP status.
    pub status: u16,
    /// The headers, in the order of the answer.
    pub headers: Vec<(String, String)>,
    /// The decompressed body.
    pub body: Vec<u8>,
}

/// Collects a body.
#[derive(Default)]
struct Collected {
    body: Vec<u8>,
}

impl Feed for Collected {
    fn begin(&mut self, announced: Option<usize>) {
        self.body = Vec::with_capacity(announced.unwrap_or(0).min(EARLY_ROOM));
    }

    fn feed(&mut self, chunk: &[u8]) {
        self.body.extend_from_slice(chunk);
    }
}

impl Headed for Collected {
    fn see(&mut self, _: &HeaderMap) {}

    fn body(&self) -> &[u8] {
        &self.body
    }
}

impl Client {
    /// Sends a request and returns the answer with its body as it is.
    ///
    /// # Errors
    ///
    /// [`Error`]: no answer, no answer in time, or a refusal by HTTP status.
    pub async fn document(&self, request: &DocumentRequest) -> Result<Document, Error> {
        let config = self.config();
        let start = config.address(&request.path, &request.query);
        let posted = Posted {
            weight: request.weight,
            form: request.form.as_deref(),
        };
        let mut collected = Collected::default();
        let headers = HeaderMap::new();
        let answer = self
            .answer_to(&request.path, &start, posted, &headers, &mut collected)
            .await
            .map_err(|error| config.secrets().redact(error))?;
        let text = |(name, value): (&HeaderName, &reqwest::header::HeaderValue)| {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            (name.as_str().to_owned(), value)
        };
        Ok(Document {
            status: answer.status.as_u16(),
            headers: answer.headers.iter().map(text).collect(),
            body: collected.body,
        })
    }
}
