//! `/mcp`: the Model Context Protocol over HTTP, without sessions and streams.
//!
//! The server admits a message and bounds it. The program around the server answers it, see [`AgentAnswers`]. Every
//! message is one POST with one JSON object in reply.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::body::{Body, Bytes};
use axum::extract::{Extension, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use axum::response::Response;
use futures_util::StreamExt;
use serde_json::Value;
use tokio::sync::oneshot;

use crate::contract::BadQuery;
use crate::market::Refusal;
use crate::server::reject::Rejection;
use crate::server::shared::{AnswerPermit, Lane, PageState};

/// Maximum size of a message, in bytes.
const LONGEST: usize = 64 << 10;

/// The arguments of a tool that make a call historical.
const OF_HISTORY: [&str; 3] = ["as_of", "start", "end"];

/// Answers the messages of agents. The server has no interpreter of the protocol.
pub trait AgentAnswers: Send + Sync + 'static {
    /// Accepts a message under a number, without waiting for its answer.
    fn ask(&self, number: u64, call: AgentCall);

    /// The client of this message no longer waits.
    fn cancel(&self, number: u64);
}

/// The answers to agents of a server; cheap to clone.
#[derive(Clone)]
pub struct Agents {
    answers: Arc<dyn AgentAnswers>,
    next: Arc<AtomicU64>,
}

impl fmt::Debug for Agents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agents").finish_non_exhaustive()
    }
}

impl Agents {
    /// Messages are answered by `answers`. Their numbers begin with 1.
    #[must_use]
    pub fn new(answers: Arc<dyn AgentAnswers>) -> Self {
        Self {
            answers,
            next: Arc::new(AtomicU64::new(1)),
        }
    }
}

/// A message of an agent, which has a place among the computed answers until this is dropped.
#[derive(Debug)]
pub struct AgentCall {
    /// Headers of the request.
    pub headers: HeaderMap,
    /// One message in JSON.
    pub body: Bytes,
    reply: oneshot::Sender<AgentReply>,
    _place: AnswerPermit,
}

/// The answer to a message.
#[derive(Debug)]
pub struct AgentReply {
    /// The HTTP status.
    pub status: u16,
    /// The content type. `None` for an answer without a body.
    pub content_type: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl AgentCall {
    /// Sends the answer. Without one, the client gets an internal error.
    pub fn answer(self, reply: AgentReply) {
        // This fails only if the client has gone.
        let _ = self.reply.send(reply);
    }
}

/// A message that is under way. Dropping it cancels the message.
struct UnderWay {
    agents: Agents,
    number: u64,
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.agents.answers.cancel(self.number);
    }
}

/// Answers a POST of one message.
pub(crate) async fn answer_agent(
    State(shared): State<PageState>,
    agents: Option<Extension<Agents>>,
    request: Request,
) -> Result<Response, Rejection> {
    let Some(Extension(agents)) = agents else {
        return Err(Rejection::NoAgents);
    };
    let (parts, body) = request.into_parts();
    let body = bounded(body).await?;
    let message: Value = serde_json::from_slice(&body)
        .map_err(|fault| BadQuery::new("body", fault.to_string(), "one JSON-RPC message"))?;
    let place = shared.place(lane(&shared, &message)?).await?;
    let (reply, answered) = oneshot::channel();
    let under_way = UnderWay {
        number: agents.next.fetch_add(1, Ordering::Relaxed),
        agents,
    };
    let call = AgentCall {
        headers: parts.headers,
        body,
        reply,
        _place: place,
    };
    under_way.agents.answers.ask(under_way.number, call);
    let reply = answered.await.map_err(|_| Rejection::Defect)?;
    let mut response = Response::new(Body::from(shared.memory.count(reply.body)));
    *response.status_mut() = StatusCode::from_u16(reply.status).map_err(Refusal::defect)?;
    if let Some(kind) = reply.content_type {
        let kind = HeaderValue::try_from(kind).map_err(Refusal::defect)?;
        response.headers_mut().insert(CONTENT_TYPE, kind);
    }
    Ok(response)
}

/// Refuses every method but POST: the server begins no stream, and has no session to end.
pub(crate) async fn only_post(method: Method) -> Rejection {
    Rejection::OnlyPost { method }
}

/// Reads a body. The rest of one that is too long is dropped as it arrives, so that its client reads the refusal.
async fn bounded(body: Body) -> Result<Bytes, Rejection> {
    let mut parts = body.into_data_stream();
    let (mut read, mut length) = (Vec::new(), 0_usize);
    while let Some(part) = parts.next().await {
        let part = part.map_err(|fault| {
            BadQuery::new("body", fault.to_string(), "one whole JSON-RPC message")
        })?;
        length = length.saturating_add(part.len());
        if length <= LONGEST {
            read.extend_from_slice(&part);
        } else {
            read = Vec::new();
        }
    }
    if length > LONGEST {
        return Err(Rejection::MessageTooLong {
            length,
            allowed: LONGEST,
        });
    }
    Ok(read.into())
}

/// The lane of a message. A call of a tool computes an answer; other messages are quick.
fn lane(shared: &PageState, message: &Value) -> Result<Lane, Rejection> {
    if message
        .get("method")
        .is_none_or(|name| name != "tools/call")
    {
        return Ok(Lane::Quick);
    }
    let arguments = message.pointer("/params/arguments");
    let given = |name: &&str| {
        arguments
            .and_then(|arguments| arguments.get(*name))
            .is_some_and(|value| !value.is_null())
    };
    let Some(name) = OF_HISTORY.into_iter().find(given) else {
        return Ok(Lane::Slow);
    };
    shared.past.check(name)?;
    Ok(Lane::History)
}

/// Whether the program that answers reads this header.
#[must_use]
pub fn is_of_agents(name: &HeaderName) -> bool {
    *name == CONTENT_TYPE || name.as_str().starts_with("mcp-")
}
