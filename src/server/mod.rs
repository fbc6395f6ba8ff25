//! Answering the contract over HTTP.
