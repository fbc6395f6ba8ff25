//! TLS as every connection of this program does it: the system's judgement of certificates, or the file that
//! `SSL_CERT_FILE` names.

use reqwest::ClientBuilder;
use rustls::ClientConfig;
use rustls::crypto::aws_lc_rs;
use rustls_platform_verifier::BuilderVerifierExt;

/// Why there is no HTTP client.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoClient {
    /// This machine shows no certificates to trust.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// The options cannot be used.
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

/// TLS with the trust of this machine.
pub(crate) fn trusting() -> Result<ClientConfig, rustls::Error> {
    let provider = aws_lc_rs::default_provider().into();
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_platform_verifier()?;
    Ok(builder.with_no_client_auth())
}

/// The HTTP client of `builder` with this TLS; one without any asks by plain HTTP alone, for which no machine needs
/// certificates.
pub(crate) fn client(
    builder: ClientBuilder,
    tls: Option<ClientConfig>,
) -> Result<reqwest::Client, NoClient> {
    let builder = match tls {
        Some(mut tls) => {
            tls.alpn_protocols = vec!["h2".into(), "http/1.1".into()];
            builder.tls_backend_preconfigured(tls)
        }
        None => builder.tls_certs_only([]),
    };
    Ok(builder.build()?)
}
