//! Asking a service over HTTP.
