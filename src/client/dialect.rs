//! The seam between a question and a service: where it is asked there, and how what comes back is read.
//!
//! A client asks through a [`Dialect`]. The contract is the first ([`dialects`](super::dialects)); a service with a way
//! of its own is one more file there, which names paths and parameters, reads envelopes and units with the parts that
//! [`wire`](crate::wire) offers, and leaves out what the service does not have. Nothing is written in a dialect: who
//! serves, serves the contract, and [`ReplyEnvelope`](crate::api::ReplyEnvelope) stands in a room that both sides may use.

use std::borrow::Cow;
use std::fmt::{self, Debug};

use crate::api::{self, BadQuery, Endpoint, Stream};
use crate::model::{CascadeRow, Order};
use crate::wire::{Damage, Intake, Reading, Whole};

/// How a question is asked of a service: where, and what takes the body of the answer.
pub struct Request<R> {
    pub(crate) path: Cow<'static, str>,
    pub(crate) query: Vec<(&'static str, String)>,
    pub(crate) reply: Box<dyn Intake<R>>,
    /// What is wrong with a reply to this question, if it answers another.
    pub(crate) judge: Option<Judge<R>>,
}

/// Tells whether a reply answers the question.
type Judge<R> = Box<dyn Fn(&R) -> Result<(), Damage> + Send + Sync>;

impl<R> Request<R> {
    /// Asked at `path` below the service's address; `reply` takes the body.
    pub fn new(path: impl Into<Cow<'static, str>>, reply: Box<dyn Intake<R>>) -> Self {
        Self {
            path: path.into(),
            query: Vec::new(),
            reply,
            judge: None,
        }
    }

    /// Asked at `path` below the service's address; `read` reads the whole body.
    pub fn whole(
        path: impl Into<Cow<'static, str>>,
        read: impl Fn(&[u8]) -> Result<Reading<R>, Damage> + Send + 'static,
    ) -> Self {
        Self::new(path, Box::new(Whole::read_by(read)))
    }

    /// The same, where `judge` says whether a reply answers the question.
    #[must_use]
    pub fn judged(
        mut self,
        judge: impl Fn(&R) -> Result<(), Damage> + Send + Sync + 'static,
    ) -> Self {
        self.judge = Some(Box::new(judge));
        self
    }

    /// The same with these pairs in its query string.
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

/// A question that a client can ask.
pub trait Question: Endpoint {
    /// The question as `dialect` asks it; what is read is the reply, or what takes less room and becomes it.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] where the service does not answer it.
    fn request(&self, dialect: &dyn Dialect) -> Result<Request<Self::Decoded>, BadQuery>;
}

macro_rules! dialect {
    ([$($of_contract:ident($contract:ident))+] [$($beside:ident($other:ident))*]) => {
        dialect!($($of_contract($contract))+ $($beside($other))*);
    };
    ($($name:ident($question:ident))+) => {
        /// A service's way of being asked and of answering.
        ///
        /// Each method says how one question is asked; what a service does not have is left out and refused by name.
        pub trait Dialect: Debug + Send + Sync {
            /// The dialect's name.
            fn name(&self) -> &'static str;

            /// The header in which a caller's key goes, which [`Config::headers`](super::Config::headers) sends; `None`
            /// where everyone may ask.
            fn key_header(&self) -> Option<&'static str> {
                None
            }

            /// The reason in the body of a refusal; `None` where it gives none.
            fn reason(&self, body: &[u8]) -> Option<String>;

            $(
                #[doc = concat!("How `", stringify!($name), "` is asked.")]
                ///
                /// # Errors
                ///
                /// [`BadQuery`] where the service does not answer it, or not with these parameters.
                fn $name(
                    &self,
                    _question: &api::$question,
                ) -> Result<Request<<api::$question as Endpoint>::Decoded>, BadQuery> {
                    Err(unanswered(self.name(), stringify!($name)))
                }
            )+

            /// How the orders are asked for as they arrive, as server-sent events; the bodies are arrays of the data of
            /// those that came together.
            ///
            /// # Errors
            ///
            /// [`BadQuery`] where the service has no such stream.
            fn stream(&self, _question: &Stream) -> Result<Request<Vec<Order>>, BadQuery> {
                Err(unanswered(self.name(), Stream::NAME))
            }

            /// How the cascades are asked for as they close, in the same way.
            ///
            /// # Errors
            ///
            /// [`BadQuery`] where the service has no such stream.
            fn cascade_stream(
                &self,
                _question: &Stream,
            ) -> Result<Request<Vec<CascadeRow>>, BadQuery> {
                Err(unanswered(self.name(), Stream::NAME))
            }
        }

        $(
            impl Question for api::$question {
                fn request(&self, dialect: &dyn Dialect) -> Result<Request<Self::Decoded>, BadQuery> {
                    dialect.$name(self)
                }
            }
        )+
    };
}

api::endpoints!(dialect);

fn unanswered(dialect: &str, question: &str) -> BadQuery {
    BadQuery::new(
        "endpoint",
        format!("{dialect} does not answer {question}"),
        "what the service has; the contract has all",
    )
}
