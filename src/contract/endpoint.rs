//! Endpoints: typed queries, and the table that lists all endpoints.

use std::fmt::Debug;

use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};

use super::parameter::Parameter;
use super::refusal::BadQuery;
use crate::contract::arguments::Arguments;
use crate::contract::reply::{EndpointReply, ReplyShape};

/// An endpoint of the contract: a query with checked parameters.
///
/// # Examples
///
/// ```
/// use liqdata::contract::{Coins, Endpoint};
///
/// let question = Coins::new(Some("24h"), 30)?;
/// assert_eq!(Coins::PATH, "/api/liquidations/coins");
/// assert_eq!(question.to_query(), [("range", "24h".to_owned()), ("limit", "30".to_owned())]);
/// assert_eq!(Coins::new(Some("24h"), 0).unwrap_err().parameter, "limit");
/// # Ok::<(), liqdata::contract::BadQuery>(())
/// ```
pub trait Endpoint: Clone + Debug + Send + Sync + Sized + 'static {
    /// Name of the endpoint in URLs, clients and the command line.
    const NAME: &'static str;
    /// Path after the base URL of the service.
    const PATH: &'static str;
    /// Whether the reply is wrapped in `{"success", "data"}`.
    const ENVELOPED: bool;
    /// Names of the query parameters, in the order of the contract.
    const PARAMETERS: &'static [&'static str];
    /// Entry of this endpoint in the table of endpoints.
    const ENTRY: EndpointEntry;
    /// Type of the reply.
    type Reply: EndpointReply;
    /// Type that a client decodes and then converts to the reply; columns, for example, decode faster than rows.
    type Decoded: Into<Self::Reply> + Send + 'static;

    /// Creates the query from named arguments; a parameter without an argument has its default.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value outside the contract.
    fn from_arguments(arguments: &Arguments) -> Result<Self, BadQuery>;

    /// Returns the query string as pairs, including defaults.
    fn to_query(&self) -> Vec<(&'static str, String)>;
}

/// An entry of the table of endpoints, which `/api` lists.
#[derive(Clone, Copy, Debug)]
pub struct EndpointEntry {
    /// Name of the endpoint in URLs, clients and the command line.
    pub name: &'static str,
    /// Path after the base URL of the service.
    pub path: &'static str,
    /// Whether the reply is wrapped in `{"success", "data"}`.
    pub enveloped: bool,
    /// The parameters, in the order in which the contract lists them.
    pub parameters: &'static [Parameter],
    /// One line of description.
    pub meaning: &'static str,
    /// The schema of the reply.
    pub reply: ReplyShape,
    /// Whether the reply may be so large that clients decode it on another thread.
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

/// Defines an endpoint and its [`EndpointEntry`].
///
/// The macro creates the query type, its checks, and the conversion from and to a query string. A parameter is written
/// `name: Rule = "default", "meaning";`, without the default if the parameter may be absent. A parameter with
/// `unless other` after its default excludes the parameter `other`, and has its default only if that is absent.
/// Parameters marked `[extension]` come last, and `new` does not take them. The mark `; large` after the reply type says that replies may
/// be large.
macro_rules! endpoint {
    (
        $(#[$about:meta])*
        $endpoint:ident = $name:literal at $path:literal, $meaning:literal;
        $($parameter:ident: $rule:ty $(= $default:literal $(unless $($other:ident)or+)?)?, $means:literal;)*
        $([extension] $extension:ident: $extension_rule:ty $(= $usual:literal)?, $extension_means:literal;)*
        => $envelope:ident $reply:ty $(, decoded as $decoded:ty)? $(; $large:ident)?
    ) => {
        endpoint!(@question [$(#[$about])*] $endpoint
            $($parameter $rule, $means;)* $($extension $extension_rule, $extension_means;)*);

        impl $endpoint {
            /// Creates the query from these parameters.
            ///
            /// # Errors
            ///
            /// [`BadQuery`](crate::contract::BadQuery) for a value outside the contract.
            pub fn new(
                $($parameter: <$rule as $crate::contract::Rule>::Raw<'_>),*
            ) -> Result<Self, $crate::contract::BadQuery> {
                Ok(Self {
                    $($parameter: <$rule as $crate::contract::Rule>::check(stringify!($parameter), $parameter)?,)*
                    $($extension: None,)*
                })
            }
        }

        impl $crate::contract::Endpoint for $endpoint {
            const NAME: &'static str = $name;
            const PATH: &'static str = $path;
            const ENVELOPED: bool = endpoint!(@$envelope);
            const PARAMETERS: &'static [&'static str] = &[$(stringify!($parameter),)* $(stringify!($extension)),*];
            const ENTRY: $crate::contract::EndpointEntry = $crate::contract::EndpointEntry {
                name: $name,
                path: $path,
                enveloped: Self::ENVELOPED,
                parameters: &[
                    $($crate::contract::Parameter::new::<$rule>(
                        stringify!($parameter),
                        endpoint!(@default $($default)?),
                        $means,
                    ),)*
                    $($crate::contract::Parameter::new::<$extension_rule>(
                        stringify!($extension),
                        endpoint!(@default $($usual)?),
                        $extension_means,
                    ),)*
                ],
                meaning: $meaning,
                reply: <$reply as $crate::contract::EndpointReply>::SHAPE,
                large: endpoint!(@large $($large)?),
            };
            type Reply = $reply;
            type Decoded = endpoint!(@decoded $reply $(, $decoded)?);

            fn from_arguments(
                _arguments: &$crate::contract::Arguments,
            ) -> Result<Self, $crate::contract::BadQuery> {
                $($($(let _arguments = &_arguments.without_default(
                    stringify!($parameter),
                    $default,
                    &[$(stringify!($other)),+],
                )?;)?)?)*
                let _asked = Self::new($(<$rule as $crate::contract::Rule>::raw(
                    stringify!($parameter),
                    _arguments
                        .get(stringify!($parameter))
                        .or(endpoint!(@default $($default)?)
                            .filter(|_| true $($($(&& _arguments.get(stringify!($other)).is_none())+)?)?)
                            .map($crate::contract::Argument::Text)),
                )?),*)?;
                Ok(Self {
                    $($parameter: _asked.$parameter,)*
                    $($extension: <$extension_rule as $crate::contract::Rule>::check(
                        stringify!($extension),
                        <$extension_rule as $crate::contract::Rule>::raw(
                            stringify!($extension),
                            _arguments.get(stringify!($extension)),
                        )?,
                    )?,)*
                })
            }

            fn to_query(&self) -> Vec<(&'static str, String)> {
                let pairs: [Option<(&'static str, String)>; Self::PARAMETERS.len()] = [
                    $(<$rule as $crate::contract::Rule>::text(&self.$parameter)
                        .map(|text| (stringify!($parameter), text)),)*
                    $(<$extension_rule as $crate::contract::Rule>::text(&self.$extension)
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
                pub $parameter: <$rule as $crate::contract::Rule>::Value,
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

pub(crate) use endpoint;
