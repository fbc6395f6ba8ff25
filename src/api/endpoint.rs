//! What an endpoint is: a question whose parameters have been checked, and its row in the table of endpoints.

use std::fmt::Debug;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::Value;

use super::parameter::Parameter;
use super::refusal::BadQuery;
use crate::api::arguments::Arguments;
use crate::model::{Column, Kind, Record, Vocabulary};

/// One endpoint of the contract: a question whose parameters have been checked.
///
/// # Examples
///
/// ```
/// use liqdata::api::{Coins, Endpoint};
///
/// let question = Coins::new("24h", 30)?;
/// assert_eq!(Coins::PATH, "/api/liquidations/coins");
/// assert_eq!(question.to_query(), [("range", "24h".to_owned()), ("limit", "30".to_owned())]);
/// assert_eq!(Coins::new("24h", 0).unwrap_err().parameter, "limit");
/// # Ok::<(), liqdata::api::BadQuery>(())
/// ```
pub trait Endpoint: Clone + Debug + Send + Sync + Sized + 'static {
    /// The endpoint's one name in every layer.
    const NAME: &'static str;
    /// Path below the base address.
    const PATH: &'static str;
    /// Whether the reply stands in `{"success", "data"}` or at the top level.
    const ENVELOPED: bool;
    /// Names of the query parameters, in the contract's order.
    const PARAMETERS: &'static [&'static str];
    /// All there is to say of it.
    const ENTRY: EndpointEntry;
    /// What comes back.
    type Reply: EndpointReply;
    /// The same where it is best held otherwise, such as thousands of rows by their columns.
    type Decoded: Into<Self::Reply> + Send + 'static;

    /// The query of these arguments; a parameter without one takes its default.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    fn from_arguments(arguments: &Arguments) -> Result<Self, BadQuery>;

    /// The query string's pairs, defaults spelled out.
    fn to_query(&self) -> Vec<(&'static str, String)>;
}

/// What comes back, and what it is made of.
pub trait EndpointReply: Serialize + Clone + Debug + PartialEq + Send + Sync + 'static {
    /// How it stands in the body.
    const SHAPE: ReplyShape;
}

impl<R: Record + Serialize + Clone + Debug + PartialEq + Send + Sync + 'static> EndpointReply
    for Vec<R>
{
    const SHAPE: ReplyShape = ReplyShape::Rows(R::COLUMNS);
}

/// How a reply stands in the body, with what it is made of.
#[derive(Clone, Copy, Debug)]
pub enum ReplyShape {
    /// A list of objects with the same members.
    Rows(&'static [Column]),
    /// One object.
    Object(&'static [Member]),
    /// Server-sent events, a row each.
    Events(&'static [Column]),
}

impl ReplyShape {
    fn name(self) -> &'static str {
        match self {
            Self::Rows(_) => "rows",
            Self::Object(_) => "object",
            Self::Events(_) => "events",
        }
    }

    /// The columns of its rows, or the members of its object.
    #[must_use]
    pub fn members(self) -> Vec<Member> {
        match self {
            Self::Object(members) => members.to_vec(),
            Self::Rows(columns) | Self::Events(columns) => columns.iter().map(Member::of).collect(),
        }
    }
}

/// A column of a reply's rows, or a member of its object.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Member {
    /// Its name on the wire.
    pub name: &'static str,
    /// What it holds: the name of a [`Kind`], `list` or `object`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// What its numbers are counted in; empty where that is plain.
    pub unit: &'static str,
    /// What it means, in a line.
    pub meaning: &'static str,
    /// What it is made of in turn, as a schema of JSON, where it is a list or an object.
    #[serde(skip)]
    pub within: Option<fn() -> Value>,
}

impl Member {
    pub(crate) const fn new(
        name: &'static str,
        kind: &'static str,
        unit: &'static str,
        meaning: &'static str,
        within: Option<fn() -> Value>,
    ) -> Self {
        Self {
            name,
            kind,
            unit,
            meaning,
            within,
        }
    }

    /// Whether it may be left out: what is told of a stretch of time, of which nothing may be known.
    pub(crate) fn may_be_missing(&self) -> bool {
        self.kind == "object"
    }

    fn of(column: &Column) -> Self {
        let kind = match column.kind {
            Kind::Side => Kind::Text,
            kind => kind,
        };
        Self::new(column.name, kind.name(), column.unit, column.meaning, None)
    }
}

/// One row of the table of endpoints, as `/api` lists it.
#[derive(Clone, Copy, Debug)]
pub struct EndpointEntry {
    /// The endpoint's one name in every layer.
    pub name: &'static str,
    /// Path below the base address.
    pub path: &'static str,
    /// Whether the reply stands in `{"success", "data"}` or at the top level.
    pub enveloped: bool,
    /// What may be asked, in the contract's order.
    pub parameters: &'static [Parameter],
    /// What it answers, in a line.
    pub meaning: &'static str,
    /// How the reply stands in the body, with what it is made of.
    pub reply: ReplyShape,
    /// Whether the reply may be large, so that reading it takes longer than handing it from thread to thread.
    pub large: bool,
}

impl Serialize for EndpointEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("EndpointEntry", 7)?;
        object.serialize_field("name", self.name)?;
        object.serialize_field("path", self.path)?;
        object.serialize_field("enveloped", &self.enveloped)?;
        object.serialize_field("parameters", self.parameters)?;
        object.serialize_field("meaning", self.meaning)?;
        object.serialize_field("reply", self.reply.name())?;
        object.serialize_field("columns", &self.reply.members())?;
        object.end()
    }
}

/// Makes an endpoint of its row: the question with its check, its way to a query string and back, and its [`EndpointEntry`].
///
/// A parameter is `name: Rule = "default", "meaning";`, without the default where nothing at all may be given. Behind them
/// stand those with `[extension]` before it, which `new` leaves out. Behind the reply
/// stands `; large` where it may be that.
macro_rules! endpoint {
    (
        $(#[$about:meta])*
        $endpoint:ident = $name:literal at $path:literal, $meaning:literal;
        $($parameter:ident: $rule:ty $(= $default:literal)?, $means:literal;)*
        $([extension] $extension:ident: $extension_rule:ty, $extension_means:literal;)*
        => $envelope:ident $reply:ty $(, decoded as $decoded:ty)? $(; $large:ident)?
    ) => {
        endpoint!(@question [$(#[$about])*] $endpoint
            $($parameter $rule, $means;)* $($extension $extension_rule, $extension_means;)*);

        impl $endpoint {
            /// The question of these parameters.
            ///
            /// # Errors
            ///
            /// [`BadQuery`](crate::api::BadQuery) for a value outside the contract.
            pub fn new(
                $($parameter: <$rule as $crate::api::Rule>::Raw<'_>),*
            ) -> Result<Self, $crate::api::BadQuery> {
                Ok(Self {
                    $($parameter: <$rule as $crate::api::Rule>::check(stringify!($parameter), $parameter)?,)*
                    $($extension: None,)*
                })
            }
        }

        impl $crate::api::Endpoint for $endpoint {
            const NAME: &'static str = $name;
            const PATH: &'static str = $path;
            const ENVELOPED: bool = endpoint!(@$envelope);
            const PARAMETERS: &'static [&'static str] = &[$(stringify!($parameter),)* $(stringify!($extension)),*];
            const ENTRY: $crate::api::EndpointEntry = $crate::api::EndpointEntry {
                name: $name,
                path: $path,
                enveloped: Self::ENVELOPED,
                parameters: &[
                    $($crate::api::Parameter::new::<$rule>(
                        stringify!($parameter),
                        endpoint!(@default $($default)?),
                        $means,
                    ),)*
                    $($crate::api::Parameter::new::<$extension_rule>(
                        stringify!($extension),
                        None,
                        $extension_means,
                    ),)*
                ],
                meaning: $meaning,
                reply: <$reply as $crate::api::EndpointReply>::SHAPE,
                large: endpoint!(@large $($large)?),
            };
            type Reply = $reply;
            type Decoded = endpoint!(@decoded $reply $(, $decoded)?);

            fn from_arguments(
                _arguments: &$crate::api::Arguments,
            ) -> Result<Self, $crate::api::BadQuery> {
                let _asked = Self::new($(<$rule as $crate::api::Rule>::raw(
                    stringify!($parameter),
                    _arguments
                        .get(stringify!($parameter))
                        .or(endpoint!(@default $($default)?).map($crate::api::Argument::Text)),
                )?),*)?;
                Ok(Self {
                    $($parameter: _asked.$parameter,)*
                    $($extension: <$extension_rule as $crate::api::Rule>::check(
                        stringify!($extension),
                        <$extension_rule as $crate::api::Rule>::raw(
                            stringify!($extension),
                            _arguments.get(stringify!($extension)),
                        )?,
                    )?,)*
                })
            }

            fn to_query(&self) -> Vec<(&'static str, String)> {
                let pairs: [Option<(&'static str, String)>; Self::PARAMETERS.len()] = [
                    $(<$rule as $crate::api::Rule>::text(&self.$parameter)
                        .map(|text| (stringify!($parameter), text)),)*
                    $(<$extension_rule as $crate::api::Rule>::text(&self.$extension)
                        .map(|text| (stringify!($extension), text)),)*
                ];
                pairs.into_iter().flatten().collect()
            }
        }
    };
    (@question [$(#[$about:meta])*] $endpoint:ident) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $endpoint;
    };
    (@question [$(#[$about:meta])*] $endpoint:ident $($parameter:ident $rule:ty, $means:literal;)+) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $endpoint {
            $(
                #[doc = concat!("The parameter `", stringify!($parameter), "`: ", $means, ".")]
                pub $parameter: <$rule as $crate::api::Rule>::Value,
            )+
        }
    };
    (@decoded $reply:ty) => { $reply };
    (@decoded $reply:ty, $decoded:ty) => { $decoded };
    (@default) => { None };
    (@default $default:literal) => { Some($default) };
    (@large) => { false };
    (@large large) => { true };
    (@enveloped) => { true };
    (@bare) => { false };
}

/// Says what the object of a reply is made of: `"name" kind "unit": "meaning";`, the unit where there is one, and `=> schema`
/// behind the meaning of a list or an object, which gives what that is made of.
macro_rules! object {
    (@within) => { None };
    (@within $within:expr) => { Some($within) };
    ($reply:ty; $($name:literal $kind:ident $($unit:literal)?: $meaning:literal $(=> $within:expr)?;)+) => {
        impl $crate::api::EndpointReply for $reply {
            const SHAPE: $crate::api::ReplyShape = $crate::api::ReplyShape::Object(&[$(
                $crate::api::Member::new(
                    $name,
                    stringify!($kind),
                    concat!($($unit)?),
                    $meaning,
                    object!(@within $($within)?),
                )
            ),+]);
        }
    };
}
pub(crate) use {endpoint, object};
