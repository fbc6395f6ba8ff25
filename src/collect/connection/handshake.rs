//! The WebSocket handshake, and the cooldown after a refusal.

use std::time::Duration;

use tokio::time::Instant;
use tokio_tungstenite::tungstenite::Error as WebSocketError;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::{HeaderName, HeaderValue};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::{WebSocketStream, client_async_with_config};
use url::Url;

use crate::collect::limits::cooldown::{ban_length, cooldown_length, header_length, is_refusal};
use crate::collect::venue_context::VenueContext;
use crate::feeds::ConnectionPlan;
use crate::net::{ByteStream, Connector, date};

pub(crate) type Socket = WebSocketStream<Box<dyn ByteStream>>;

/// Opens the socket that a connection plan describes.
pub(crate) async fn open(
    context: &VenueContext,
    connector: &Connector,
    plan: &ConnectionPlan,
) -> Result<Socket, String> {
    let address = context
        .settings
        .address(context.venue, plan.host, &plan.path);
    let url = Url::parse(&address).map_err(|error| format!("{address}: {error}"))?;
    let mut request = address
        .as_str()
        .into_client_request()
        .map_err(|error| format!("{address}: {error}"))?;
    for (name, value) in plan.headers {
        request.headers_mut().insert(
            HeaderName::from_static(name),
            HeaderValue::from_static(value),
        );
    }
    let stream = connector.open(&url).await;
    let stream = stream.map_err(|error| format!("{address}: {error}"));
    context
        .board
        .attempted(stream.as_ref().map_err(String::as_str));
    let stream = stream?;
    let most = Some(context.settings.frame_bytes);
    let config = WebSocketConfig::default()
        .max_message_size(most)
        .max_frame_size(most);
    let started = Instant::now();
    let (stream, reply) = client_async_with_config(request, stream, Some(config))
        .await
        .map_err(|error| format!("{address}: {}", refusal(context, plan.host, &error)))?;
    if let Some(date) = date(reply.headers()) {
        context.measure_clock(date, started.elapsed());
    }
    Ok(stream)
}

/// The reason of a failed handshake, without the body of the reply. Starts a cooldown after a refusal (HTTP 403, 418,
/// 429) if the exchange states or documents its length.
fn refusal(context: &VenueContext, host: &'static str, error: &WebSocketError) -> String {
    let WebSocketError::Http(reply) = error else {
        return error.to_string();
    };
    let status = reply.status();
    let reason = format!("the handshake was answered with {status}");
    if !is_refusal(status.as_u16()) {
        return reason;
    }
    let body = reply.body().as_deref().unwrap_or_default();
    let body = String::from_utf8_lossy(body);
    let (venue, now) = (context.venue, context.clock.now());
    let stated =
        header_length(reply.headers()).or_else(|| ban_length(venue, status.as_u16(), &body, now));
    let wait = cooldown_length(stated, Duration::ZERO);
    if wait.is_zero() {
        return reason;
    }
    context.cool_down(host, wait);
    let seconds = wait.as_secs();
    format!("{reason}: next attempt in {seconds} s, as the exchange asks")
}
