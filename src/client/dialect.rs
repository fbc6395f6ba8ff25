//! `Dialect`: the paths and parameters of a service, and the decoders of its answers.
//!
//! The contract ([`crate::contract`]) is one dialect; [`dialects`](super::dialects) lists all of them. A service with
//! another API gets one more file in that folder. A dialect names paths and parameters, decodes envelopes and units
//! with the functions of [`wire`](crate::contract::decode), and omits the questions that the service does not answer. Only clients
//! use dialects: servers always speak the contract.

use std::borrow::Cow;
use std::fmt::{self, Debug};

use crate::contract::decode::{BodyReader, BufferedBody, DecodeError, Reading};
use crate::contract::{self, BadQuery, Endpoint, FeatureTable, Features, Stream};
use crate::model::{CascadeRow, Order};

/// An HTTP request for a question, and the decoder of its reply.
pub struct Request<R> {
    pub(crate) path: Cow<'static, str>,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) reply: Box<dyn BodyReader<R>>,
    /// The `Accept` header, if the reply has other forms than JSON.
    pub(crate) accept: Option<&'static str>,
    /// Checks that a reply belongs to this question.
    pub(crate) judge: Option<Judge<R>>,
}

/// Checks that a reply belongs to the question.
type Judge<R> = Box<dyn Fn(&R) -> Result<(), DecodeError> + Send + Sync>;

impl<R> Request<R> {
    /// A request for `path` below the service's address. `reply` decodes the body as it arrives.
    pub fn new(path: impl Into<Cow<'static, str>>, reply: Box<dyn BodyReader<R>>) -> Self {
        Self {
            path: path.into(),
            query: Vec::new(),
            reply,
            accept: None,
            judge: None,
        }
    }

    /// A request for `path` below the service's address. `read` decodes the complete body.
    pub fn whole(
        path: impl Into<Cow<'static, str>>,
        read: impl Fn(&[u8]) -> Result<Reading<R>, DecodeError> + Send + 'static,
    ) -> Self {
        Self::new(path, Box::new(BufferedBody::read_by(read)))
    }

    /// Adds a check that the reply belongs to the question.
    #[must_use]
    pub fn judged(
        mut self,
        judge: impl Fn(&R) -> Result<(), DecodeError> + Send + Sync + 'static,
    ) -> Self {
        self.judge = Some(Box::new(judge));
        self
    }

    /// Adds pairs to the query string.
    #[must_use]
    pub fn with(mut self, pairs: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.query.extend(pairs);
        self
    }
}

impl<R> Debug for Request<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Request")
            .field("path", &self.path)
            .field("query", &self.query)
            .finish_non_exhaustive()
    }
}

/// A question that a client can send.
pub trait DialectQuery: Endpoint {
    /// The request for this question in `dialect`. The decoded value is the reply, or a compact form of it.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] if the service does not answer the question.
    fn request(&self, dialect: &dyn Dialect) -> Result<Request<Self::Decoded>, BadQuery>;
}

macro_rules! dialect {
    ([$($of_contract:ident($contract:ident))+] [$($extension:ident($other:ident))*]) => {
        dialect!($($of_contract($contract))+ $($extension($other))*);
    };
    ($($name:ident($question:ident))+) => {
        /// The API of a service.
        ///
        /// Each method builds the request for one question. If a dialect lacks a method, its question is refused with a
        /// message that names the question.
        pub trait Dialect: Debug + Send + Sync {
            /// The dialect's name.
            fn name(&self) -> &'static str;

            /// The header for the caller's key, which [`Config::headers`](super::Config::headers) sets. `None` if no
            /// key is needed.
            fn key_header(&self) -> Option<&'static str> {
                None
            }

            /// The reason in the body of a refusal, if any.
            fn reason(&self, body: &[u8]) -> Option<String>;

            /// Whether the body says that a retry cannot help, whatever the HTTP status.
            fn is_final(&self, _body: &[u8]) -> bool {
                false
            }

            /// Whether the body asks to slow down, whatever the HTTP status.
            fn throttles(&self, _body: &[u8]) -> bool {
                false
            }

            /// Whether waits for the limit of the service, which `Retry-After` states, count neither against the
            /// deadline of a call nor against its attempts.
            fn waits_for_its_limit(&self) -> bool {
                false
            }

            /// The requests per minute that the service allows every client; `None` if unknown.
            fn per_minute(&self) -> Option<u32> {
                None
            }

            /// The header in which the service states the requests per minute that it allows this client.
            fn limit_header(&self) -> Option<&'static str> {
                None
            }

            $(
                #[doc = concat!("How `", stringify!($name), "` is asked.")]
                ///
                /// # Errors
                ///
                /// [`BadQuery`] if the service does not answer the question, or not with these parameters.
                fn $name(
                    &self,
                    _question: &contract::$question,
                ) -> Result<Request<<contract::$question as Endpoint>::Decoded>, BadQuery> {
                    Err(unanswered(self.name(), stringify!($name)))
                }
            )+

            /// The request for new orders as server-sent events. The decoder gets a JSON array with the data of one or
            /// more events.
            ///
            /// # Errors
            ///
            /// [`BadQuery`] if the service has no such stream.
            fn stream(&self, _question: &Stream) -> Result<Request<Vec<Order>>, BadQuery> {
                Err(unanswered(self.name(), Stream::NAME))
            }

            /// How `features` is asked.
            ///
            /// # Errors
            ///
            /// [`BadQuery`] if the service does not answer the question.
            fn features(&self, _question: &Features) -> Result<Request<FeatureTable>, BadQuery> {
                Err(unanswered(self.name(), Features::NAME))
            }

            /// The request for closed cascades as server-sent events, decoded as in [`Dialect::stream`].
            ///
            /// # Errors
            ///
            /// [`BadQuery`] if the service has no such stream.
            fn cascade_stream(
                &self,
                _question: &Stream,
            ) -> Result<Request<Vec<CascadeRow>>, BadQuery> {
                Err(unanswered(self.name(), Stream::NAME))
            }
        }

        $(
            impl DialectQuery for contract::$question {
                fn request(&self, dialect: &dyn Dialect) -> Result<Request<Self::Decoded>, BadQuery> {
                    dialect.$name(self)
                }
            }
        )+
    };
}

contract::endpoints!(dialect);

impl DialectQuery for Features {
    fn request(&self, dialect: &dyn Dialect) -> Result<Request<Self::Decoded>, BadQuery> {
        dialect.features(self)
    }
}

fn unanswered(dialect: &str, question: &str) -> BadQuery {
    BadQuery::new(
        "endpoint",
        format!("the dialect {dialect} does not support the query {question}"),
        "queries that the service supports; a service with the contract's interface supports all",
    )
}
