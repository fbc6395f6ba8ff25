//! `/llms.txt`: what a service is and what it answers, as text for language models.
//!
//! The lists come from the same table that checks requests. See <https://llmstxt.org> for the format.

use std::fmt::Write;

use super::endpoint::EndpointEntry;
use super::parameter::EVERYWHERE;
use crate::contract::openapi::{OPENAPI, sentence};

/// Path of the text for language models.
pub const LLMS: &str = "/llms.txt";

/// Path of the Model Context Protocol.
pub const MCP: &str = "/mcp";

/// Returns the text of a service. `guarded` says that answers need a token, `page` that it serves its page.
///
/// Links are relative, so that they hold below a path of a proxy.
#[must_use]
pub fn llms_text(
    version: &str,
    contract: &[EndpointEntry],
    extensions: &[EndpointEntry],
    guarded: bool,
    page: bool,
) -> String {
    let access = if guarded {
        "Answers need a token: `Authorization: Bearer TOKEN`. The person who runs this service gives it."
    } else {
        "Answers need no token."
    };
    let everywhere = EVERYWHERE.map(|each| each.name).join(" and ");
    let mut text = format!(
        "# liqdata\n\n> Crypto liquidation data: realised liquidations, and estimates of future ones.\n\n\
         This is a server of liqdata {version}. {access} Queries are GET requests with a query string, which \
         also takes {everywhere}; answers are JSON. A refusal has the parameter, a message and what is allowed. Times \
         are epoch milliseconds (UTC), `side` is that of the liquidated position, and a zero outside the coverage means \
         unknown. An estimate comes from a model that sees no accounts.\n\n## Service\n\n"
    );
    let path = |path: &str| path.trim_start_matches('/').to_owned();
    let page = page.then_some(("docs", "Queries", "try each query in the browser"));
    let service = [
        (
            &*path(OPENAPI),
            "OpenAPI",
            "every parameter and reply, for programs",
        ),
        (
            "api",
            "Index",
            "the endpoints, their parameters, and the coins of this service",
        ),
        (
            &*path(MCP),
            "MCP",
            "read-only tools for agents, over Streamable HTTP (POST)",
        ),
    ];
    for (link, name, meaning) in service.into_iter().chain(page) {
        let _ = writeln!(text, "- [{name}]({link}): {meaning}");
    }
    for (title, entries) in [("Endpoints", contract), ("Extensions", extensions)] {
        let _ = write!(text, "\n## {title}\n\n");
        for entry in entries {
            let names: Vec<&str> = entry.parameters.iter().map(|each| each.name).collect();
            let (link, meaning) = (path(entry.path), sentence(entry.meaning));
            let _ = write!(text, "- [{}]({link}): {meaning}", entry.name);
            if !names.is_empty() {
                let _ = write!(text, " Parameters: {}.", names.join(", "));
            }
            text.push('\n');
        }
    }
    let _ = write!(
        text,
        "\n## Optional\n\n\
         - [health](health): Whether the service runs; needs no token.\n\
         - [ready](ready): Whether it can answer; needs no token.\n\
         - [metrics](metrics): Numbers for Prometheus.\n"
    );
    text
}
