//! Rules of query parameters: parsing, checking and formatting of values.

use std::fmt::Display;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::ser::SerializeStruct;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::contract::argument::Argument;
use crate::contract::instant::{allowed_instants, instant_schema};
use crate::contract::refusal::BadQuery;
use crate::model::{
    BinWidth, Chosen, Coin, MapSource, Model, PriceBound, Specification, Symbol, Vocabulary,
    did_you_mean, exchange_name, read_span,
};

/// Name of the preference and query parameter that request an explanation.
pub const EXPLAINED: &str = "explain";

/// Additional parameters of every endpoint of liqdata's server.
pub const EVERYWHERE: [Parameter; 2] = [
    Parameter {
        name: EXPLAINED,
        default: Some("0"),
        meaning: "whether the reply explains how it was computed",
        whole: true,
        fraction: false,
        optional: false,
        extension: true,
        allowed: || "0 or 1: whether the reply explains how it was computed".to_owned(),
        schema: || json!({"type": "integer", "enum": [0, 1]}),
        values: Vec::new,
        open: None,
    },
    Parameter {
        name: "as_of",
        default: None,
        meaning: "instant at which the market is described; if absent, that of the newest observation",
        whole: false,
        fraction: false,
        optional: true,
        extension: true,
        allowed: || {
            format!(
                "{}: the instant at which the market is described",
                allowed_instants()
            )
        },
        schema: instant_schema,
        values: Vec::new,
        open: None,
    },
];

/// A parameter of an endpoint, as the list of endpoints describes it.
#[derive(Clone, Copy, Debug)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a separate field in the list of endpoints"
)]
pub struct Parameter {
    /// Name in the query string and in the client's methods.
    pub name: &'static str,
    /// Default value, in the form of a query string.
    pub default: Option<&'static str>,
    /// One line of description.
    pub meaning: &'static str,
    /// Whether the value is an integer.
    pub whole: bool,
    /// Whether the value may have a fraction; a value that is neither is text.
    pub fraction: bool,
    /// Whether the parameter may be absent.
    pub optional: bool,
    /// Whether an extension endpoint received this parameter after the endpoint was introduced.
    ///
    /// An older service may have the endpoint without the parameter.
    /// [`EndpointEntry::is_extension`](super::EndpointEntry::is_extension) also covers the endpoints of the contract.
    pub extension: bool,
    allowed: fn() -> String,
    schema: fn() -> Value,
    values: fn() -> Vec<&'static str>,
    open: Option<&'static str>,
}

impl Parameter {
    /// Creates the parameter `name`, with values that follow the rule `R`.
    pub const fn new<R: Rule>(
        name: &'static str,
        default: Option<&'static str>,
        meaning: &'static str,
    ) -> Self {
        Self {
            name,
            default,
            meaning,
            whole: R::WHOLE,
            fraction: R::FRACTION,
            optional: R::OPTIONAL,
            extension: false,
            allowed: R::allowed,
            schema: R::schema,
            values: R::values,
            open: R::OPEN,
        }
    }

    /// Returns a JSON schema of the allowed values; the rule may be stricter.
    #[must_use]
    pub fn schema(&self) -> Value {
        (self.schema)()
    }

    /// Returns the same parameter, marked as an extension.
    ///
    /// Clients send an extension only to a service that announces it.
    #[must_use]
    pub const fn extension(self) -> Self {
        Self {
            extension: true,
            ..self
        }
    }

    /// Returns a description of the allowed values for error messages.
    #[must_use]
    pub fn allowed(&self) -> String {
        (self.allowed)()
    }

    /// Returns the announced names of the choices; empty if the parameter is not a choice.
    #[must_use]
    pub fn values(&self) -> Vec<&'static str> {
        let mut values = (self.values)();
        values.extend(self.open);
        values
    }

    /// Returns the name under which a service announces the value `text` of a choice.
    pub fn called(&self, text: &str) -> Option<&'static str> {
        let values = (self.values)();
        values
            .into_iter()
            .find(|value| *value == text)
            .or(self.open)
    }
}

impl Serialize for Parameter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut object = serializer.serialize_struct("Parameter", 7)?;
        object.serialize_field("name", self.name)?;
        object.serialize_field("default", &self.default)?;
        object.serialize_field("allowed", &self.allowed())?;
        object.serialize_field("values", &self.values())?;
        let kind = match (self.whole, self.fraction) {
            (true, _) => "int",
            (_, true) => "float",
            _ => "text",
        };
        object.serialize_field("type", kind)?;
        object.serialize_field("optional", &self.optional)?;
        object.serialize_field("meaning", self.meaning)?;
        object.end()
    }
}

/// Parses, checks and formats the values of one kind of parameter.
///
/// Vocabularies (closed sets of words), [`Coin`] and [`Symbol`] implement this trait themselves. Every other rule is a
/// type without data, named after the value that it checks.
pub trait Rule {
    /// The checked value, as stored in a query.
    type Value;
    /// The unchecked value: text, a number or nothing.
    type Raw<'a>;
    /// Whether the value is an integer.
    const WHOLE: bool = false;
    /// Whether the value may have a fraction.
    const FRACTION: bool = false;
    /// Whether the parameter may be absent.
    const OPTIONAL: bool = false;
    /// Name in the list of endpoints for every value outside [`values`](Self::values), such as "Model" for a caller's own
    /// model; `None` if there are no such values.
    const OPEN: Option<&'static str> = None;

    /// Returns a description of the allowed values for error messages.
    fn allowed() -> String;

    /// Returns the values of a choice as a query string spells them; empty if the parameter is not a choice.
    #[must_use]
    fn values() -> Vec<&'static str> {
        Vec::new()
    }

    /// Returns a JSON schema of the allowed values; the rule may be stricter.
    #[must_use]
    fn schema() -> Value {
        let kind = match (Self::WHOLE, Self::FRACTION) {
            (true, _) => "integer",
            (_, true) => "number",
            // No rule accepts an empty text.
            _ => return json!({"type": "string", "minLength": 1}),
        };
        json!({"type": kind})
    }

    /// Extracts the unchecked value of an argument; an absent text argument becomes an empty text.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] if the argument has another type.
    fn raw<'a>(
        name: &'static str,
        argument: Option<Argument<'a>>,
    ) -> Result<Self::Raw<'a>, BadQuery>;

    /// Checks the unchecked value `raw` of the parameter `name`.
    ///
    /// # Errors
    ///
    /// [`BadQuery`] for a value that is not allowed.
    fn check(name: &'static str, raw: Self::Raw<'_>) -> Result<Self::Value, BadQuery>;

    /// Formats the value for a query string; `None` omits the parameter.
    fn text(value: &Self::Value) -> Option<String>;
}

/// Returns the text of an argument; empty if there is no argument.
///
/// # Errors
///
/// [`BadQuery`] for an argument that is not text.
pub fn text_of<'a, R: Rule>(
    name: &'static str,
    argument: Option<Argument<'a>>,
) -> Result<&'a str, BadQuery> {
    match argument {
        None => Ok(""),
        Some(Argument::Text(text)) => Ok(text),
        Some(other) => Err(BadQuery::new(
            name,
            format!("{other:?} has the wrong type"),
            R::allowed(),
        )),
    }
}

/// Implements [`Rule`] for values that are given as text.
macro_rules! texts {
    ($(impl [$($generic:tt)*] for $rule:ty = $value:ty {
        $allowed:expr; |$name:ident, $text:ident| $check:expr; $schema:tt $($values:expr)? $(; $open:literal)?
    })+) => {$(
        impl<$($generic)*> Rule for $rule {
            type Value = $value;
            type Raw<'a> = &'a str;
            $(const OPEN: Option<&'static str> = Some($open);)?

            fn allowed() -> String {
                $allowed
            }

            fn schema() -> Value {
                json!($schema)
            }

            $(fn values() -> Vec<&'static str> {
                $values
            })?

            fn raw<'a>(
                name: &'static str,
                argument: Option<Argument<'a>>,
            ) -> Result<&'a str, BadQuery> {
                text_of::<Self>(name, argument)
            }

            fn check($name: &'static str, $text: &str) -> Result<$value, BadQuery> {
                $check
            }

            fn text(value: &$value) -> Option<String> {
                Some(value.to_string())
            }
        }
    )+};
}

texts! {
    impl [V: Vocabulary + Display] for V = V {
        V::spellings();
        |name, text| V::parse(text)
            .ok_or_else(|| {
                let otherwise = V::otherwise().filter(|_| text == "1M" || read_span(text).is_some());
                let otherwise = otherwise.map(|how| format!("; {how}")).unwrap_or_default();
                BadQuery::new(name, format!("{text:?} is not allowed"), Self::allowed() + &otherwise)
            });
        {"type": "string", "enum": (spelled::<V>())} V::ALL.iter().map(|one| one.name()).collect()
    }
    impl [] for Coin = Self {
        r#"a coin such as "BTC""#.to_owned();
        |name, text| {
            let symbol = read(name, text, &Self::allowed())?;
            Self::new(symbol.coin()).ok_or_else(|| blank(name, text, Self::allowed()))
        };
        {"type": "string", "minLength": 1}
    }
    impl [] for Symbol = Self {
        r#"a trading pair such as "BTCUSDT", or a coin such as "BTC" for all its pairs"#.to_owned();
        |name, text| read(name, text, &Self::allowed());
        {"type": "string", "minLength": 1}
    }
    impl [] for MapSource = Self {
        r#""estimate", "positions", or the name of a recorded source, such as "coinglass""#.to_owned();
        |name, text| Self::parse(text)
            .ok_or_else(|| BadQuery::new(name, format!("{text:?} is not allowed"), Self::allowed()));
        {"type": "string", "pattern": "^[A-Za-z0-9][A-Za-z0-9.-]*$"} Self::OWN.to_vec(); "a recorded source"
    }
    impl [] for Exchange = String {
        r#"an exchange's name such as "binance""#.to_owned();
        |name, text| {
            let venue = exchange_name(text);
            if venue.is_empty() {
                return Err(blank(name, text, Self::allowed()));
            }
            Ok(venue)
        };
        {"type": "string", "minLength": 1}
    }
}

/// A switch, which is off or on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Switch {
    /// Off.
    Off,
    /// On.
    On,
}

impl Vocabulary for Switch {
    const ALL: &'static [Self] = &[Self::Off, Self::On];

    fn name(self) -> &'static str {
        match self {
            Self::Off => "0",
            Self::On => "1",
        }
    }
}

impl Display for Switch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns all names and aliases of a vocabulary.
fn spelled<V: Vocabulary>() -> Vec<&'static str> {
    let spelled = V::ALL
        .iter()
        .flat_map(|one| [Some(one.name()), one.alias()]);
    spelled.flatten().collect()
}

fn blank(name: &'static str, text: &str, allowed: String) -> BadQuery {
    BadQuery::new(name, format!("{text:?} is blank"), allowed)
}

/// Parses a coin or a trading pair in any accepted spelling.
///
/// Options are rejected. A symbol with an exchange prefix is rejected too, because `exchange` is a separate parameter.
pub fn read(name: &'static str, text: &str, allowed: &str) -> Result<Symbol, BadQuery> {
    let symbol = Symbol::read(text).ok_or_else(|| blank(name, text, allowed.to_owned()))?;
    if let Some(why) = symbol.unclear(text) {
        return Err(BadQuery::new(name, format!("{text:?} is {why}"), allowed));
    }
    symbol.gives_orders().map_err(|reason| {
        BadQuery::new(name, format!("{text:?} has no rows: {reason}"), allowed)
    })?;
    match symbol.exchange() {
        None => Ok(symbol.of_any_contract()),
        Some(exchange) => Err(BadQuery::new(
            name,
            format!(
                "{text:?} also names an exchange; {} Where an exchange can be selected, give exchange={exchange:?}",
                did_you_mean(symbol.name())
            ),
            allowed.to_owned(),
        )),
    }
}

/// Rule for the name of an exchange, in lower case.
#[derive(Debug)]
pub struct Exchange;

/// Implements [`Rule`] for integers.
macro_rules! numbers {
    ($(impl [$($generic:tt)*] for $rule:ty = $value:ty {
        $allowed:expr; |$number:ident| $check:expr; $wrong:literal; $schema:tt
    })+) => {$(
        impl<$($generic)*> Rule for $rule {
            type Value = $value;
            type Raw<'a> = i128;
            const WHOLE: bool = true;

            fn allowed() -> String {
                $allowed
            }

            fn schema() -> Value {
                json!($schema)
            }

            fn raw(name: &'static str, argument: Option<Argument<'_>>) -> Result<i128, BadQuery> {
                if let Some(Argument::Whole(number)) = argument {
                    return Ok(number);
                }
                let text = text_of::<Self>(name, argument)?;
                text.parse().map_err(|_| {
                    BadQuery::new(name, format!("{text:?} is not a whole number"), Self::allowed())
                })
            }

            fn check(name: &'static str, $number: i128) -> Result<$value, BadQuery> {
                let found: Option<$value> = $check;
                found.ok_or_else(|| {
                    BadQuery::new(name, format!(concat!("{} ", $wrong), $number), Self::allowed())
                })
            }

            fn text(value: &$value) -> Option<String> {
                Some(value.to_string())
            }
        }
    )+};
}

numbers! {
    impl [const MAX: u16] for RowLimit<MAX> = u16 {
        format!("a whole number from 1 to {MAX}");
        |number| u16::try_from(number).ok().filter(|limit| (1..=MAX).contains(limit));
        "is out of bounds";
        {"type": "integer", "minimum": 1, "maximum": MAX}
    }
    impl [] for Offset = u64 {
        format!("a whole number from 0 to {}", i64::MAX);
        |number| i64::try_from(number).ok().and_then(|offset| u64::try_from(offset).ok());
        "is out of bounds";
        {"type": "integer", "minimum": 0, "maximum": (i64::MAX)}
    }
}

/// Rule for the number of rows, from 1 to `MAX`.
#[derive(Debug)]
pub struct RowLimit<const MAX: u16>;

/// Rule for the number of rows to skip.
#[derive(Debug)]
pub struct Offset;

impl Rule for BinWidth {
    type Value = Self;
    type Raw<'a> = f64;
    const FRACTION: bool = true;

    fn allowed() -> String {
        "a finite number above 0: the width of a price bin".to_owned()
    }

    fn schema() -> Value {
        json!({"type": "number", "exclusiveMinimum": 0})
    }

    fn raw(name: &'static str, argument: Option<Argument<'_>>) -> Result<f64, BadQuery> {
        if let Some(Argument::Fraction(number)) = argument {
            return Ok(number);
        }
        let text = text_of::<Self>(name, argument)?;
        text.parse()
            .map_err(|_| BadQuery::new(name, format!("{text:?} is not a number"), Self::allowed()))
    }

    fn check(name: &'static str, number: f64) -> Result<Self, BadQuery> {
        Self::new(number).ok_or_else(|| {
            BadQuery::new(
                name,
                format!("{number:?} is out of bounds"),
                Self::allowed(),
            )
        })
    }

    fn text(value: &Self) -> Option<String> {
        Some(value.get().to_string())
    }
}

impl Rule for PriceBound {
    type Value = Self;
    type Raw<'a> = f64;
    const FRACTION: bool = true;

    fn allowed() -> String {
        "a finite price above 0".to_owned()
    }

    fn schema() -> Value {
        BinWidth::schema()
    }

    fn raw(name: &'static str, argument: Option<Argument<'_>>) -> Result<f64, BadQuery> {
        if let Some(Argument::Fraction(number)) = argument {
            return Ok(number);
        }
        let text = text_of::<Self>(name, argument)?;
        text.parse()
            .map_err(|_| BadQuery::new(name, format!("{text:?} is not a number"), Self::allowed()))
    }

    fn check(name: &'static str, number: f64) -> Result<Self, BadQuery> {
        Self::new(number).ok_or_else(|| {
            let message = format!("{number:?} is out of bounds");
            BadQuery::new(name, message, Self::allowed())
        })
    }

    fn text(value: &Self) -> Option<String> {
        Some(value.get().to_string())
    }
}

/// Rule for a model: its number, or a [`Specification`] as base64url JSON.
#[derive(Debug)]
pub struct ModelChoice;

/// An unchecked choice of a model.
#[derive(Clone, Copy, Debug)]
pub enum RawModel<'a> {
    /// A model number.
    Number(i128),
    /// The parameters of a model as base64url JSON.
    Coded(&'a str),
    /// The checked parameters of a model.
    Own(&'a Specification),
}

impl From<i128> for RawModel<'_> {
    fn from(number: i128) -> Self {
        Self::Number(number)
    }
}

impl Rule for ModelChoice {
    type Value = Chosen;
    type Raw<'a> = RawModel<'a>;
    const WHOLE: bool = true;
    const OPEN: Option<&'static str> = Some("Model");

    fn allowed() -> String {
        "2 or 3, or a Model (base64url JSON in a query string)".to_owned()
    }

    fn schema() -> Value {
        json!({"anyOf": [
            {"type": "integer", "enum": [2, 3]},
            {
                "type": "string", "pattern": "^[A-Za-z0-9_-]+$",
                "contentEncoding": "base64url", "contentMediaType": "application/json",
            },
        ]})
    }

    fn values() -> Vec<&'static str> {
        Model::ALL.iter().map(|known| known.name()).collect()
    }

    fn raw<'a>(
        name: &'static str,
        argument: Option<Argument<'a>>,
    ) -> Result<RawModel<'a>, BadQuery> {
        Ok(match argument {
            Some(Argument::Whole(number)) => RawModel::Number(number),
            Some(Argument::Model(own)) => RawModel::Own(own),
            other => {
                let text = text_of::<Self>(name, other)?;
                text.parse().map_or(RawModel::Coded(text), RawModel::Number)
            }
        })
    }

    fn check(name: &'static str, raw: RawModel<'_>) -> Result<Chosen, BadQuery> {
        let bad = |problem| BadQuery::new(name, problem, Self::allowed());
        match raw {
            RawModel::Number(number) => Model::ALL
                .iter()
                .find(|known| i128::from(known.number()) == number)
                .map(|known| Chosen::Numbered(*known))
                .ok_or_else(|| bad(format!("{number} is not allowed"))),
            RawModel::Own(own) => Ok(Chosen::Own(Box::new(own.clone()))),
            RawModel::Coded(text) => {
                let unknown = || {
                    bad(format!(
                        "{text:?} is neither a model number nor the encoded parameters of a model"
                    ))
                };
                let own = URL_SAFE_NO_PAD.decode(text).map_err(|_| unknown())?;
                let own = specification(&own).map_err(|fault| {
                    if fault.parameter == "model" {
                        return unknown();
                    }
                    let problem = format!("{}: {}", fault.parameter, fault.message);
                    BadQuery::new(name, problem, fault.allowed)
                })?;
                Ok(Chosen::Own(Box::new(own)))
            }
        }
    }

    fn text(value: &Chosen) -> Option<String> {
        Some(match value {
            Chosen::Numbered(model) => model.to_string(),
            Chosen::Own(own) => coded(own),
        })
    }
}

/// Parses and checks the parameters of a model from JSON.
///
/// # Errors
///
/// [`BadQuery`] with the name of the first invalid parameter.
pub fn specification(json: &[u8]) -> Result<Specification, BadQuery> {
    let mut read = serde_json::Deserializer::from_slice(json);
    let own: Specification = serde_path_to_error::deserialize(&mut read).map_err(|fault| {
        let path = fault.path().to_string();
        let name = path.split(['.', '[']).next().unwrap_or_default();
        let given: Option<serde_json::Value> = serde_json::from_slice(json).ok();
        match given.as_ref().and_then(|given| given.get(name)) {
            Some(value) => BadQuery::new(
                name.to_owned(),
                format!("{value} is not allowed"),
                Specification::allowed(name),
            ),
            None => BadQuery::new(
                "model",
                fault.inner().to_string(),
                Specification::allowed(""),
            ),
        }
    })?;
    own.check()
        .map_err(|fault| BadQuery::new(fault.name, fault.problem, fault.allowed))?;
    Ok(own)
}

/// Encodes the parameters of a model as base64url JSON for a query string.
fn coded(own: &Specification) -> String {
    // Serialisation of numbers, lists and text cannot fail.
    URL_SAFE_NO_PAD.encode(serde_json::to_string(own).unwrap_or_default())
}

impl<R: Rule> Rule for Option<R> {
    type Value = Option<R::Value>;
    type Raw<'a> = Option<R::Raw<'a>>;
    const WHOLE: bool = R::WHOLE;
    const FRACTION: bool = R::FRACTION;
    const OPTIONAL: bool = true;
    const OPEN: Option<&'static str> = R::OPEN;

    fn allowed() -> String {
        R::allowed()
    }

    fn values() -> Vec<&'static str> {
        R::values()
    }

    fn schema() -> Value {
        R::schema()
    }

    fn raw<'a>(
        name: &'static str,
        argument: Option<Argument<'a>>,
    ) -> Result<Self::Raw<'a>, BadQuery> {
        argument
            .map(|argument| R::raw(name, Some(argument)))
            .transpose()
    }

    fn check(name: &'static str, raw: Self::Raw<'_>) -> Result<Self::Value, BadQuery> {
        raw.map(|raw| R::check(name, raw)).transpose()
    }

    fn text(value: &Self::Value) -> Option<String> {
        value.as_ref().and_then(R::text)
    }
}
