//! TLS as every connection of this program does it: the system's judgement of certificates, or the file that
//! `SSL_CERT_FILE` names.

use reqwest::ClientBuilder;
use rustls::crypto::ring;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
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
    Ok(begun()?.with_platform_verifier()?.with_no_client_auth())
}

/// `ring` rather than rustls's own choice: a tenth of its build, and every algorithm the public authorities sign with.
fn begun() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
}

/// The HTTP client of `builder` with this TLS; one without any asks by plain HTTP alone, for which no machine needs
/// certificates.
pub(crate) fn client(
    builder: ClientBuilder,
    tls: Option<ClientConfig>,
) -> Result<reqwest::Client, NoClient> {
    let mut tls = match tls {
        Some(tls) => tls,
        None => begun()?
            .with_root_certificates(RootCertStore::empty())
            .with_no_client_auth(),
    };
    tls.alpn_protocols = vec!["h2".into(), "http/1.1".into()];
    Ok(builder.tls_backend_preconfigured(tls).build()?)
}
