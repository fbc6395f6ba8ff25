//! `/openapi.json`: the table of endpoints as an `OpenAPI` 3.1 document.
//!
//! The descriptions of endpoints come from the same table that checks requests. Only the pages about the service, such
//! as its status, are written by hand.

use serde_json::{Map, Value, json};

use super::endpoint::{Endpoint, EndpointEntry};
use super::llms::LLMS;
use super::parameter::{EVERYWHERE, EXPLAINED, Parameter};
use crate::contract::estimates::grid_bytes::{GRID_TYPE, GridValues};
use crate::contract::realised::cascades::Cascades;
use crate::contract::realised::stream::Stream;
use crate::contract::reply::{ReplyShape, RowShape, object_schema as object, row, titled};
use crate::model::{CascadeRow, Vocabulary};

/// Path of the `OpenAPI` document.
pub const OPENAPI: &str = "/openapi.json";

/// Errors that any page may return: status code and description.
const REFUSALS: [(&str, &str); 7] = [
    (
        "400",
        "A value outside the contract; the body names the parameter.",
    ),
    ("401", "The request has no valid token."),
    (
        "404",
        "The service has no data for this request, or the page does not exist.",
    ),
    (
        "406",
        "The service supports none of the encodings that the request accepts.",
    ),
    (
        "421",
        "The host name of the request is not one of this service.",
    ),
    ("429", "Too many requests; Retry-After says when to retry."),
    (
        "503",
        "The service cannot reply now; Retry-After says when to retry, if known.",
    ),
];

/// Returns the document of a service; `guarded` adds the bearer token.
///
/// `version` is the version of the service.
#[must_use]
pub fn openapi(
    version: &str,
    contract: &[EndpointEntry],
    extensions: &[EndpointEntry],
    guarded: bool,
) -> Value {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for (tag, entries) in [("contract", contract), ("extensions", extensions)] {
        for entry in entries {
            let get = named(operation(entry, tag), &mut schemas);
            paths.insert(entry.path.to_owned(), json!({"get": get}));
        }
    }
    for (path, get) in pages(guarded) {
        paths.insert(path.to_owned(), json!({"get": named(get, &mut schemas)}));
    }
    named(refusal(), &mut schemas);
    schemas.insert("Explanation".to_owned(), explanation());
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": "liqdata",
            "version": version,
            "description": "Crypto liquidation data: realised liquidations, and estimates of future ones.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        // Relative to the document, so that a service below a path of a proxy is found.
        "servers": [{"url": "."}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "responses": responses(),
        },
    });
    if guarded {
        let scheme = json!({"token": {"type": "http", "scheme": "bearer"}});
        if let Some(components) = document
            .get_mut("components")
            .and_then(Value::as_object_mut)
        {
            components.insert("securitySchemes".to_owned(), scheme);
        }
        // The page and the text for language models hold no data and need no token; the index at the path of the page
        // does. The probes say less without one.
        for open in ["", "health", "ready", "llms.txt"] {
            let open = format!("/paths/~1{open}/get");
            if let Some(open) = document.pointer_mut(&open)
                && let Some(open) = open.as_object_mut()
            {
                open.insert("security".to_owned(), json!([{}, {"token": []}]));
            }
        }
        if let Some(document) = document.as_object_mut() {
            document.insert("security".to_owned(), json!([{"token": []}]));
        }
    } else if let Some(document) = document.as_object_mut() {
        document.insert("security".to_owned(), json!([]));
    }
    complete(&mut document);
    document
}

/// Adds what generated clients need: the sizes of numbers, and the types of constants.
///
/// Generators use 32 bits for a number without a format. Instants and amounts need more.
fn complete(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(complete),
        Value::Object(members) => {
            let is = |name: &str| {
                members.get("type").is_some_and(|kind| {
                    let kinds = kind.as_array();
                    kind == name || kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind == name))
                })
            };
            let (is_integer, is_number) = (is("integer"), is("number"));
            let most = members.get("maximum").and_then(Value::as_i64);
            let is_short = most.is_some_and(|most| i32::try_from(most).is_ok())
                || members.contains_key("enum");
            if is_integer && !is_short {
                members.insert("format".to_owned(), json!("int64"));
            }
            if is_number {
                members.insert("format".to_owned(), json!("double"));
            }
            let kind = match members.get("const") {
                Some(Value::Bool(_)) => Some("boolean"),
                Some(Value::String(_)) => Some("string"),
                _ => None,
            };
            if let Some(kind) = kind {
                members.insert("type".to_owned(), json!(kind));
            }
            members.values_mut().for_each(complete);
        }
        _ => {}
    }
}

fn operation(entry: &EndpointEntry, tag: &str) -> Value {
    let events = matches!(entry.reply, ReplyShape::Events(_));
    let mut parameters: Vec<Value> = entry
        .parameters
        .iter()
        .map(|known| parameter(known, entry.is_extension(known.name)))
        .collect();
    let content = if events {
        parameters.push(json!({
            "name": "Last-Event-ID", "in": "header", "required": false,
            "schema": {"type": "string"},
            "description": "The same as last_event_id; the header takes precedence.",
        }));
        let text = || json!({"type": "string"});
        let event = object(
            [
                ("event", text()),
                ("id", text()),
                ("data", text()),
                ("retry", json!({"type": "integer"})),
            ],
            &["data"],
        );
        json!({"text/event-stream": {
            "schema": event,
            "x-events": {
                "message": schema_of(entry),
                (Stream::CASCADE): row_of(Cascades::NAME, RowShape::of::<CascadeRow>()),
            },
        }})
    } else if let ReplyShape::Csv(columns) = entry.reply {
        let schema =
            json!({"type": "string", "description": "A line of names, then a line for each row."});
        json!({"text/csv": {"schema": schema, "x-columns": columns()}})
    } else {
        parameters.extend(EVERYWHERE.iter().map(|known| parameter(known, true)));
        parameters.push(json!({
            "name": "Prefer", "in": "header", "required": false,
            "schema": {"type": "string"}, "example": EXPLAINED,
            "description": "explain is the same as explain=1, for services that may not support that parameter; \
             Preference-Applied confirms it. Other preferences have no effect.",
        }));
        let mut content = json!({"application/json": {"schema": reply(entry)}});
        if entry.name == "heatmap" {
            let forms = words::<GridValues>();
            parameters.push(json!({
                "name": "values", "in": "query", "required": false, "x-extension": true,
                "schema": {"type": "string", "enum": forms, "default": GridValues::default().name()},
                "description": format!("The type of the values; only with Accept: {GRID_TYPE}."),
            }));
            parameters.push(json!({
                "name": "since", "in": "query", "required": false, "x-extension": true,
                "schema": {"type": "integer"},
                "description": format!("The end of the last column that the client has, in epoch milliseconds. If the \
                 heatmap that If-None-Match names has all columns up to it unchanged, they are left out; only with \
                 Accept: {GRID_TYPE}."),
            }));
            if let Some(content) = content.as_object_mut() {
                let bytes = json!({"schema": {"type": "string", "format": "binary"}});
                content.insert(GRID_TYPE.to_owned(), bytes);
            }
        }
        content
    };
    let mut get = described(entry.name, entry.meaning, &parameters, &content);
    if let Some(get) = get.as_object_mut() {
        get.insert("tags".to_owned(), json!([tag]));
    }
    get
}

fn described(name: &str, meaning: &str, parameters: &[Value], content: &Value) -> Value {
    let mut responses = Map::new();
    responses.insert(
        "200".to_owned(),
        json!({"description": "The answer.", "content": content}),
    );
    responses.insert(
        "304".to_owned(),
        json!({"description": "The earlier answer that If-None-Match or If-Modified-Since refers to is still valid."}),
    );
    for (status, _) in REFUSALS {
        let document = format!("#/components/responses/{status}");
        responses.insert(status.to_owned(), json!({"$ref": document}));
    }
    json!({
        "operationId": name,
        "summary": sentence(meaning),
        "parameters": parameters,
        "responses": responses,
    })
}

pub(super) fn sentence(meaning: &str) -> String {
    let mut letters = meaning.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}

fn parameter(parameter: &Parameter, extensions: bool) -> Value {
    let mut schema = parameter.schema();
    if let Some(default) = parameter.default {
        let whole = default.parse::<i64>().ok().filter(|_| parameter.whole);
        let default = whole.map_or_else(|| json!(default), |number| json!(number));
        add_default(&mut schema, &default);
    }
    json!({
        "name": parameter.name,
        "in": "query",
        "required": !parameter.optional && parameter.default.is_none(),
        // A value is one text. Otherwise generators of Java take alternatives for objects.
        "explode": false,
        "schema": schema,
        "description": format!("{} Allowed: {}.", sentence(parameter.meaning), parameter.allowed()),
        "x-extension": extensions,
    })
}

/// Adds a default to a schema; if there are alternatives, to the one of its type.
///
/// A default next to alternatives makes generators write Go that does not compile.
fn add_default(schema: &mut Value, default: &Value) {
    let kind = if default.is_number() {
        "integer"
    } else {
        "string"
    };
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    match members.get_mut("anyOf").and_then(Value::as_array_mut) {
        Some(alternatives) => alternatives
            .iter_mut()
            .filter(|one| one.get("type").is_some_and(|known| known == kind))
            .for_each(|one| add_default(one, default)),
        None => {
            members.insert("default".to_owned(), default.clone());
        }
    }
}

/// Returns the JSON schema of a whole reply, including the envelope.
fn reply(entry: &EndpointEntry) -> Value {
    let explained = json!({"$ref": "#/components/schemas/Explanation"});
    if entry.enveloped {
        let reply = object(
            [
                ("success", json!({"const": true})),
                ("data", schema_of(entry)),
                ("explain", explained),
            ],
            &["success", "data"],
        );
        return titled(&format!("{}Reply", type_name(entry.name)), reply);
    }
    let mut schema = schema_of(entry);
    if let Some(members) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        members.insert("explain".to_owned(), explained);
    }
    schema
}

fn words<W: Vocabulary>() -> Vec<&'static str> {
    W::ALL.iter().map(|word| word.name()).collect()
}

/// Returns the JSON schema of a reply without its envelope; for a stream, that of one event.
fn schema_of(entry: &EndpointEntry) -> Value {
    match entry.reply {
        ReplyShape::Rows(shape) => json!({"type": "array", "items": row_of(entry.name, shape)}),
        ReplyShape::Events(shape) => row_of(entry.name, shape),
        ReplyShape::Object(object) => (object.schema)(),
        ReplyShape::Csv(_) => json!({"type": "string"}),
    }
}

/// Returns the JSON schema of a row of the endpoint `name`.
fn row_of(name: &str, shape: RowShape) -> Value {
    titled(&format!("{}Row", type_name(name)), row(shape))
}

/// The name of an endpoint as the name of a type, such as `OpenInterest`.
fn type_name(name: &str) -> String {
    let words = name.split('_').map(|word| {
        let (first, rest) = word.split_at(1.min(word.len()));
        format!("{}{rest}", first.to_ascii_uppercase())
    });
    words.collect()
}

/// Moves every schema with a title to `schemas`, and refers to it by its title.
fn named(value: Value, schemas: &mut Map<String, Value>) -> Value {
    match value {
        Value::Array(items) => items.into_iter().map(|item| named(item, schemas)).collect(),
        Value::Object(members) => {
            let inner = members
                .into_iter()
                .map(|(name, value)| (name, named(value, schemas)));
            let mut schema: Map<String, Value> = inner.collect();
            let Some(Value::String(title)) = schema.remove("title") else {
                return Value::Object(schema);
            };
            let around = ["description", "x-extension", "x-unit"];
            let around = around.map(|name| schema.remove_entry(name));
            let mut reference: Map<String, Value> = around.into_iter().flatten().collect();
            reference.insert(
                "$ref".to_owned(),
                json!(format!("#/components/schemas/{title}")),
            );
            schemas.insert(title, Value::Object(schema));
            Value::Object(reference)
        }
        other => other,
    }
}

fn refusal() -> Value {
    let text = || json!({"type": ["string", "null"]});
    let fault = object(
        [
            ("parameter", text()),
            ("message", json!({"type": "string"})),
            ("allowed", text()),
        ],
        &["parameter", "message", "allowed"],
    );
    let refusal = object(
        [
            ("success", json!({"const": false})),
            ("error", titled("Fault", fault)),
        ],
        &["success", "error"],
    );
    titled("Refusal", refusal)
}

fn explanation() -> Value {
    json!({
        "type": "object",
        "description": "How the answer was computed; present with explain=1.",
        "properties": {
            "source": {"type": "string"},
            "simulated": {"type": "boolean"},
            "as_of": {"type": "integer", "description": "epoch milliseconds"},
        },
        "required": ["source", "simulated", "as_of"],
    })
}

fn responses() -> Value {
    let schema = json!({"$ref": "#/components/schemas/Refusal"});
    let document = REFUSALS.iter().map(|(status, meaning)| {
        let content = json!({"application/json": {"schema": schema}});
        (
            (*status).to_owned(),
            json!({"description": meaning, "content": content}),
        )
    });
    Value::Object(document.collect())
}

/// Returns the descriptions of the pages about the service.
fn pages(guarded: bool) -> [(&'static str, Value); 7] {
    let whole = || json!({"type": "integer"});
    // An integer that is null until the service has data.
    let maybe = || json!({"type": ["integer", "null"]});
    let plain = |schema: Value| json!({"application/json": {"schema": schema}});
    // Without a token a probe learns its outcome only.
    let always = |members: &'static [&'static str]| {
        let needed = if guarded { members.get(..1) } else { None };
        needed.unwrap_or(members)
    };
    let health = object(
        [("success", json!({"const": true})), ("now", maybe())],
        always(&["success", "now"]),
    );
    let health = titled("Health", health);
    let file = object(
        [
            ("holds", json!({"type": "string"})),
            ("rows", whole()),
            ("first", whole()),
            ("last", whole()),
            ("reason", json!({"type": "string"})),
        ],
        &["holds", "rows", "first", "last", "reason"],
    );
    let file = titled("DamagedFile", file);
    let ready = object(
        [
            ("success", json!({"const": true})),
            ("now", maybe()),
            ("age", maybe()),
            ("damaged", json!({"type": "array", "items": file})),
        ],
        always(&["success", "now", "age", "damaged"]),
    );
    let ready = titled("Readiness", ready);
    let max_age = json!({
        "name": "max_age", "in": "query", "required": false,
        "schema": {"type": "integer", "minimum": 0, "maximum": u32::MAX},
        "description": "The service refuses the request if its newest observation is older than this many seconds.",
    });
    let index = || {
        json!({
            "title": "Index",
            "type": "object",
            "required": ["success", "service", "version", "endpoints", "everywhere", "extensions"],
            "properties": {
                "success": {"const": true},
                "service": {"const": "liqdata"},
                "version": {"type": "string"},
                "coins": {"type": "array", "items": {"type": "string"}},
                "endpoints": {"type": "array", "items": {"type": "object"}},
                "everywhere": {"type": "array", "items": {"type": "object"}},
                "extensions": {"type": "array", "items": {"type": "object"}},
            },
        })
    };
    let list = "the endpoints of this service, with their parameters";
    let text = json!({"text/plain": {"schema": {"type": "string"}}});
    // The page, where the service has it; JSON for a client that prefers it.
    let root = json!({
        "application/json": {"schema": index()},
        "text/html": {"schema": {"type": "string"}},
    });
    [
        ("/", described("root", list, &[], &root)),
        ("/api", described("index", list, &[], &plain(index()))),
        (
            "/health",
            described("health", "whether the service runs", &[], &plain(health)),
        ),
        (
            "/ready",
            described("ready", "whether it can answer", &[max_age], &plain(ready)),
        ),
        (
            "/metrics",
            described("metrics", "numbers for Prometheus", &[], &text),
        ),
        (
            LLMS,
            described("llms", "this service, for language models", &[], &text),
        ),
        (
            OPENAPI,
            described(
                "openapi",
                "this description",
                &[],
                &plain(json!({"type": "object"})),
            ),
        ),
    ]
}
