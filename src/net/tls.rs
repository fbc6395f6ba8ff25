//! TLS as every connection of this program does it: the system's judgement of certificates, or the file that
//! `SSL_CERT_FILE` names.

use std::path::Path;

use reqwest::ClientBuilder;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
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

/// The variable of the environment that names the file of certificates to trust.
const NAMED: &str = "SSL_CERT_FILE";

/// TLS with the trust of this machine.
pub(crate) fn trusting() -> Result<ClientConfig, rustls::Error> {
    if let Some(file) = std::env::var_os(NAMED).filter(|file| !file.is_empty()) {
        check(Path::new(&file)).map_err(rustls::Error::General)?;
    }
    Ok(begun()?.with_platform_verifier()?.with_no_client_auth())
}

/// Refuses a file of certificates that has none: where `SSL_CERT_DIR` is set as well, nobody else says so, and whoever is
/// asked then was to be trusted by that file alone.
fn check(file: &Path) -> Result<(), String> {
    let shown = file.display();
    let mut certificates = CertificateDer::pem_file_iter(file)
        .map_err(|fault| format!("{NAMED}: {shown} cannot be read: {fault}"))?;
    match certificates.next() {
        Some(Ok(_)) => Ok(()),
        Some(Err(fault)) => Err(format!("{NAMED}: {shown} has no certificate: {fault}")),
        None => Err(format!(
            "{NAMED}: {shown} has no certificate; allowed: a PEM file"
        )),
    }
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
