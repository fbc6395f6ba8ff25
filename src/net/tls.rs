//! TLS for outgoing connections. It trusts the system's certificate store, or the file that `SSL_CERT_FILE` names.
//!
//! Without `SSL_CERT_FILE`, the files that `REQUESTS_CA_BUNDLE` and `CURL_CA_BUNDLE` name are trusted too.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use reqwest::ClientBuilder;
use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ConfigBuilder, RootCertStore, WantsVerifier};
use rustls_platform_verifier::Verifier;

use crate::net::plain_length;

/// Why an HTTP client cannot be built.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoClient {
    /// The machine has no trusted certificates.
    #[error(transparent)]
    Tls(#[from] rustls::Error),
    /// The options of the HTTP client are invalid.
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

/// The environment variable that names a file of trusted certificates.
const NAMED: &str = "SSL_CERT_FILE";
/// Variables with which other programs name such a file.
const OTHERS: [&str; 2] = ["REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"];
/// How `rustls` reports a certificate that no trusted authority has signed.
const UNTRUSTED: &str = "UnknownIssuer";

/// A TLS configuration that trusts the certificates that this machine trusts.
pub(crate) fn trusting() -> Result<ClientConfig, rustls::Error> {
    let mut further = Vec::new();
    if let Some(file) = named(NAMED) {
        check(&file).map_err(rustls::Error::General)?;
    } else {
        let files = OTHERS.into_iter().filter_map(named);
        for file in files.filter(|file| check(file).is_ok()) {
            let read = CertificateDer::pem_file_iter(file);
            further.extend(read.into_iter().flatten().flatten());
        }
    }
    let begun = begun()?;
    let verifier = Verifier::new_with_extra_roots(further, Arc::clone(begun.crypto_provider()))?;
    let begun = begun.dangerous();
    let trusting = begun.with_custom_certificate_verifier(Arc::new(verifier));
    Ok(trusting.with_no_client_auth())
}

/// The file that an environment variable names.
fn named(variable: &str) -> Option<PathBuf> {
    let file = std::env::var_os(variable).filter(|file| !file.is_empty());
    file.map(PathBuf::from)
}

/// The text of an error; if no trusted authority has signed a certificate, it says how to name one.
pub(crate) fn explained(error: String) -> String {
    if !error.contains(UNTRUSTED) {
        return error;
    }
    let trusted = match named(NAMED) {
        Some(file) => format!("{}, which {NAMED} names", file.display()),
        None => "the certificates of this machine".to_owned(),
    };
    format!(
        "{error} (its authority is not among {trusted}; behind a proxy that inspects TLS, set {NAMED} to a PEM file \
         with the proxy's root certificate)"
    )
}

/// Rejects a certificate file without certificates.
///
/// If `SSL_CERT_DIR` is also set, the library would silently ignore such a file.
fn check(file: &Path) -> Result<(), String> {
    let path = file.display();
    let unread = |fault: &dyn std::fmt::Display| format!("{NAMED}: {path} cannot be read: {fault}");
    plain_length(file).map_err(|fault| unread(&fault))?;
    let mut certificates = CertificateDer::pem_file_iter(file).map_err(|fault| unread(&fault))?;
    match certificates.next() {
        Some(Ok(_)) => Ok(()),
        Some(Err(fault)) => Err(format!("{NAMED}: {path} has no certificate: {fault}")),
        None => Err(format!(
            "{NAMED}: {path} has no certificate; allowed: a PEM file"
        )),
    }
}

/// Starts a TLS configuration with `ring` as its cryptography provider.
///
/// `ring` compiles in a tenth of the time of the default provider, and it verifies every signature algorithm that
/// public certificate authorities use.
fn begun() -> Result<ConfigBuilder<ClientConfig, WantsVerifier>, rustls::Error> {
    ClientConfig::builder_with_provider(ring::default_provider().into())
        .with_safe_default_protocol_versions()
}

/// Builds an HTTP client with this TLS configuration.
///
/// Without a configuration the client trusts no certificate, so it can only use plain HTTP.
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
