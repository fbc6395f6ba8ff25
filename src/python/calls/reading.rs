//! Decodes a given body as the client decodes the body of a response.

use crate::client;
use crate::contract::Endpoint;
use crate::contract::decode::{Decode, Reading, intake, read};
use crate::python::error::Failure;

/// Decodes a body as the reply to a query of type `Q`, complete or in pieces of `pieces` bytes.
pub(crate) fn reading<Q: Endpoint, R: Decode>(
    body: &[u8],
    pieces: Option<usize>,
) -> Result<R, Failure> {
    let reading = match pieces {
        None => read::<R>(body, Q::ENVELOPED),
        Some(length) => {
            let mut arriving = intake::<R>(Q::ENVELOPED);
            arriving.begin(Some(body.len()));
            for piece in body.chunks(length.max(1)) {
                arriving.feed(piece);
            }
            arriving.finish()
        }
    };
    match reading {
        Ok(Reading::Reply(reply) | Reading::Converted { reply, .. }) => Ok(reply),
        Ok(Reading::Refused { message }) => Err(client::Error::Refused {
            status: 200,
            body: String::new(),
            retry_after: None,
            message,
        }
        .into()),
        Err(damage) => Err(client::Error::from(damage).into()),
    }
}
